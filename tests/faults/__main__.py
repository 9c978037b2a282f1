"""Inject faults into commands and traces, and count them: ``python -m tests.faults``.

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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.faults import concurrency, damage
from tests.faults.commands import CAMPAIGN, COMMANDS, prepare
from tests.faults.faults import FAULTS, rounds

_INSIDE = "PHILLY_FAULTS_INSIDE"
_KILL = next(iter(FAULTS))
Rounds = Callable[[int, Path, random.Random], Counter[str]]


def table() -> Iterator[tuple[str, str, Rounds]]:
    """Yield each fault, what it befalls, and what does so many rounds of it."""
    for fault in FAULTS:
        for command in COMMANDS:
            yield fault, command, partial(rounds, fault, command)
    for pair in concurrency.PAIRS:
        yield "at once", pair, partial(concurrency.race, pair)
    yield "replaced", "a reader", concurrency.read_while_replaced
    for kind in damage.DAMAGE:
        yield "damage", kind, partial(damage.spoil, kind)
    yield "moved", "a trace", damage.moved


def main() -> None:
    """Let each fault befall what it may as often as asked, and print the counts."""
    lines = list(table())
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="of each kill; of others a tenth")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", action="append", choices=dict.fromkeys(f for f, _, _ in lines))
    parser.add_argument("--on", action="append", choices=dict.fromkeys(on for _, on, _ in lines))
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
        why_not = {fault: happens.why_not(at) for fault, happens in FAULTS.items()}
        for fault, on, befall in lines:
            if (asked.fault and fault not in asked.fault) or (asked.on and on not in asked.on):
                continue
            if why := why_not.get(fault):
                print(f"{fault:10} {on:25} skipped: {why}", flush=True)
                continue
            whole = fault in ("damage", "replaced") or (fault == _KILL and on in CAMPAIGN)
            count = asked.rounds if whole else max(1, asked.rounds // 10)
            found = befall(count, at, random.Random(f"{asked.seed} {fault} {on}"))
            total[fault] += sum(found.values()) - found["in time"]
            print(f"{fault:10} {on:25}", dict(sorted(found.items())), flush=True)
    print(*(f"{name}: {count:,}" for name, count in total.items()), sep="; ")
    print(f"{total.total():,} faults, 0 losses (seed {asked.seed})")


if __name__ == "__main__":
    main()
