"""Lets faults befall commands, and counts them: ``python -m tests.faults``.

It begins itself again in a namespace of its own, where it may mount full and read-only disks that
nobody else sees; where there is none, these are skipped, and it says so.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults.commands import CAMPAIGN, COMMANDS, prepare
from tests.faults.faults import FAULTS, rounds

_INSIDE = "PHILLY_FAULTS_INSIDE"


def main() -> None:
    """Let each fault befall each command as often as asked, and print the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="of each kill; a tenth of others")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--command", action="append", choices=COMMANDS)
    asked = parser.parse_args()
    if _INSIDE not in os.environ and (unshare := shutil.which("unshare")):
        os.environ[_INSIDE] = "1"
        if not subprocess.run([unshare, "-rm", "true"], check=False).returncode:
            again = [unshare, "-rm", sys.executable, "-m", "tests.faults", *sys.argv[1:]]
            os.execv(unshare, again)  # noqa: S606 - it becomes the same command, elsewhere
    total = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        prepare(at / "once")
        for fault in asked.fault or FAULTS:
            if why := FAULTS[fault].why_not(at):
                print(f"{fault}: skipped: {why}", flush=True)
                continue
            for command in asked.command or COMMANDS:
                many = fault == "kill -9" and command in CAMPAIGN
                count = asked.rounds if many else max(1, asked.rounds // 10)
                dice = random.Random(f"{asked.seed} {fault} {command}")
                found = rounds(fault, command, count, at, dice)
                total[fault] += sum(found.values()) - found["in time"]
                print(f"{fault:12} {command:18}", dict(sorted(found.items())), flush=True)
    print(*(f"{name}: {count:,}" for name, count in total.items()), sep="; ")
    print(f"{total.total():,} faults, 0 losses (seed {asked.seed})")


if __name__ == "__main__":
    main()
