"""How fast the worst logs are classified: ``python -m tests.bench.signatures --mb 1 --mb 64``.

For each signature, logs in which nothing stands but its own words: the first line of its example
and its hint, the same ones again and again, each line with another number, or all in one line. The
slowest of each size and form are printed, in MB of log per second of CPU; and the rate of a log in
which the signatures take turns, line by line. Of a log the first 4 and the last 12 MB are read, so
that a longer one is read faster.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from philly_analysis.failures import Signature, read_output, signatures
from philly_analysis.failures.output import classify_output

BLOCK = 1_000_000


def _line(rule: Signature) -> str:
    return rule.example.split("\n")[0][:300]


def _numbered(rule: Signature) -> str:
    line = _line(rule)
    return "".join(f"{i} {line}\n" for i in range(BLOCK // (len(line) + 3) + 1))


FORMS: dict[str, Callable[[Signature], str]] = {
    "lines": lambda rule: _line(rule) + "\n",
    "hints": lambda rule: " ".join([rule.hints[0]] * 20) + "\n",
    "CRLF": lambda rule: _line(rule) + "\r\n",
    "numbered": _numbered,
    "one line": lambda rule: _line(rule) + " ",
}


def in_turn() -> str:
    """Return lines of which each is another signature's, with a number of its own."""
    lines = [_line(rule) for rule in signatures()]
    mean = sum(map(len, lines)) // len(lines)
    return "".join(f"{i} {lines[i % len(lines)]}\n" for i in range(BLOCK // mean))


def speed(text: str, mb: int, log: Path, tries: int) -> float:
    """Return MB/s of CPU time over a log of a text again and again, of the best of some tries."""
    block = text.encode()
    block *= BLOCK // len(block) + 1
    with log.open("wb") as file:
        for _ in range(mb):
            file.write(block)
    spent = []
    for _ in range(tries):
        begun = time.process_time()
        classify_output(read_output(log))
        spent.append(time.process_time() - begun)
    return log.stat().st_size / 1e6 / min(spent)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--mb", type=int, action="append", help="default: 1, 4, 16 and 64")
    asked.add_argument("--form", action="append", choices=FORMS, help="default: each")
    asked.add_argument("--every", type=int, default=1, help="take every n-th signature")
    asked.add_argument("--tries", type=int, default=3)
    given = asked.parse_args()
    rules = signatures()[:: given.every]
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "worst.log"
        speed(rules[0].example, 1, log, 1)
        for mb in given.mb or (1, 4, 16, 64):
            for form in given.form or FORMS:
                found = [(speed(FORMS[form](r), mb, log, given.tries), r.id) for r in rules]
                found.sort()
                median = found[len(found) // 2][0]
                slowest = ", ".join(f"{name} {rate:.0f}" for rate, name in found[:3])
                slow = sum(rate < 50 for rate, _ in found)
                print(
                    f"{mb:3} MB {form:<9} {found[0][0]:6.0f} MB/s, median {median:.0f}, "
                    f"{slow} of {len(found)} below 50; slowest: {slowest}",
                    flush=True,
                )
            rate = speed(in_turn(), mb, log, given.tries)
            print(f"{mb:3} MB of all signatures in turn {rate:.0f} MB/s", flush=True)


if __name__ == "__main__":
    main()
