"""Inject faults into commands and traces, and count them: ``python -m tests.faults``.

It restarts in a private namespace, where it may mount full and read-only disks; without one, it
skips these faults and prints why.
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
    """Yield each fault, its target, and the function that runs rounds of it."""
    for fault in FAULTS:
        for command in COMMANDS:
            yield fault, command, partial(rounds, fault, command)
    for pair in concurrency.PAIRS:
        yield "at once", pair, partial(concurrency.race, pair)
    yield "replaced", "a reader", concurrency.read_while_replaced
    for kind in damage.DAMAGE:
        yield "damage", kind, partial(damage.damage_files, kind)
    yield "moved", "a trace", damage.move


def main() -> None:
    """Inject each fault as often as requested, and print the counts."""
    lines = list(table())
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=100,
        help="of each kill; a tenth of other faults",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", action="append", choices=dict.fromkeys(f for f, _, _ in lines))
    parser.add_argument("--on", action="append", choices=dict.fromkeys(on for _, on, _ in lines))
    args = parser.parse_args()
    if _INSIDE not in os.environ and (unshare := shutil.which("unshare")):
        os.environ[_INSIDE] = "1"
        if not subprocess.run([unshare, "-rm", "true"], check=False).returncode:
            again = [unshare, "-rm", sys.executable, "-m", "tests.faults", *sys.argv[1:]]
            os.execv(unshare, again)  # noqa: S606 - the same command in a namespace
    total = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        prepare(at / "once")
        unavailable = {fault: injected.unavailable(at) for fault, injected in FAULTS.items()}
        for fault, on, inject in lines:
            if (args.fault and fault not in args.fault) or (args.on and on not in args.on):
                continue
            if why := unavailable.get(fault):
                print(f"{fault:10} {on:25} skipped: {why}", flush=True)
                continue
            full = fault in ("damage", "replaced") or (fault == _KILL and on in CAMPAIGN)
            count = args.rounds if full else max(1, args.rounds // 10)
            outcomes = inject(count, at, random.Random(f"{args.seed} {fault} {on}"))
            total[fault] += sum(outcomes.values()) - outcomes["not hit"]
            print(f"{fault:10} {on:25}", dict(sorted(outcomes.items())), flush=True)
    print(*(f"{name}: {count:,}" for name, count in total.items()), sep="; ")
    print(f"{total.total():,} faults, 0 losses (seed {args.seed})")


if __name__ == "__main__":
    main()
