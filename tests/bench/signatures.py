"""How fast the worst logs are classified: ``python -m tests.bench.signatures --mb 64``.

For each signature, logs in which nothing stands but its own words: the first line of its example,
and its hint. The slowest are printed, in MB/s of the log; of a log the first 4 and the last 12 MB
are read, so that a longer one is read faster.
"""

import argparse
import tempfile
import time
from pathlib import Path

from philly_analysis.failures import read_output, signatures
from philly_analysis.failures.output import classify_output


def speed(line: str, mb: int, folder: Path) -> float:
    """Return MB/s of CPU time over a log of a line again and again."""
    log, block = folder / "worst.log", (line + "\n").encode()
    block *= 1_000_000 // len(block) + 1
    with log.open("wb") as file:
        for _ in range(mb):
            file.write(block)
    begun = time.process_time()
    classify_output(read_output(log))
    return log.stat().st_size / 1e6 / (time.process_time() - begun)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--mb", type=int, default=64)
    asked.add_argument("--every", type=int, default=1, help="take every n-th signature")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        speeds = sorted(
            (speed(line, given.mb, Path(scratch)), rule.id, line[:60])
            for rule in signatures()[:: given.every]
            for line in (rule.example.split("\n")[0][:300], " ".join([rule.hints[0]] * 20))
        )
    for rate, name, line in speeds[:10]:
        print(f"{rate:8.0f} MB/s  {name:<28} {line}")


if __name__ == "__main__":
    main()
