"""Measure the failure classifier's speed on worst-case logs.

``python -m tests.bench.signatures --mb 1 --mb 64`` generates, for each signature, logs that repeat
the first line of its example or its hint: as they are, with CRLF, numbered, or as one line. It
prints the slowest signatures per size and form in MB of log per CPU second, and the rate for a log
in which the signatures alternate line by line. The classifier reads the first 4 MB and the last
12 MB of a log, so that longer logs are read faster.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from philly_analysis.failures import Signature, classify_outputs, read_output, signatures

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


def alternating() -> str:
    """Return numbered lines in which the signatures alternate."""
    lines = [_line(rule) for rule in signatures()]
    mean = sum(map(len, lines)) // len(lines)
    return "".join(f"{i} {lines[i % len(lines)]}\n" for i in range(BLOCK // mean))


def speed(text: str, mb: int, log: Path, tries: int) -> float:
    """Return the best of several rates, in MB per CPU second, on a log that repeats a text."""
    block = text.encode()
    block *= BLOCK // len(block) + 1
    with log.open("wb") as file:
        for _ in range(mb):
            file.write(block)
    spent = []
    for _ in range(tries):
        begun = time.process_time()
        list(classify_outputs([read_output(log)]))
        spent.append(time.process_time() - begun)
    return log.stat().st_size / 1e6 / min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, action="append", help="default: 1, 4, 16 and 64")
    parser.add_argument("--form", action="append", choices=FORMS, help="default: each")
    parser.add_argument("--every", type=int, default=1, help="take every n-th signature")
    parser.add_argument("--tries", type=int, default=3)
    args = parser.parse_args()
    rules = signatures()[:: args.every]
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "worst.log"
        speed(rules[0].example, 1, log, 1)
        for mb in args.mb or (1, 4, 16, 64):
            for form in args.form or FORMS:
                speeds = [(speed(FORMS[form](r), mb, log, args.tries), r.id) for r in rules]
                speeds.sort()
                median = speeds[len(speeds) // 2][0]
                slowest = ", ".join(f"{name} {rate:.0f}" for rate, name in speeds[:3])
                slow = sum(rate < 50 for rate, _ in speeds)
                print(
                    f"{mb:3} MB {form:<9} {speeds[0][0]:6.0f} MB/s, median {median:.0f}, "
                    f"{slow} of {len(speeds)} below 50; slowest: {slowest}",
                    flush=True,
                )
            rate = speed(alternating(), mb, log, args.tries)
            print(f"{mb:3} MB, all signatures in turn: {rate:.0f} MB/s", flush=True)


if __name__ == "__main__":
    main()
