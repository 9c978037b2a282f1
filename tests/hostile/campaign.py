"""Fuzz every reader: ``python -m tests.hostile.campaign --cases 1000000 --seed 1``.

Cases are spread over the readers by their weights. Each is seeded by the seed, the reader's name
and its own number, so that ``--reader NAME --case N`` runs it again. A reader runs in a process of
its own: a case that exceeds its limit of time or memory is a finding, and so is a process that
dies. The command prints a table of counts and the findings, and fails if there is one.
"""

import argparse
import faulthandler
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.hostile.readers import READERS, run_case

CASE_CPU_S = 20
"""CPU seconds after which a case counts as hanging."""
STUCK_S = 900
"""Seconds after which a batch of cases counts as hanging."""
MEMORY = 6 << 30
"""Bytes of address space that a reader may take."""
_WATCHED = 64


class HangError(Exception):
    """A case that takes too long."""


@dataclass(slots=True)
class Tally:
    """Count the outcomes of a reader's cases."""

    reader: str
    cases: int = 0
    accepted: int = 0
    refused: int = 0
    kept: int = 0
    rejected: int = 0
    cpu_s: float = 0.0
    worst_s: float = 0.0
    peak_mb: float = 0.0
    findings: dict[str, list[int]] = field(default_factory=dict)


@contextmanager
def limited() -> Iterator[None]:
    """Limit the CPU time of a case."""

    def hang(*_: object) -> None:
        raise HangError(f"more than {CASE_CPU_S} s")

    signal.signal(signal.SIGPROF, hang)
    signal.setitimer(signal.ITIMER_PROF, CASE_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def case_rng(seed: int, reader: str, number: int) -> Random:
    return Random(f"{seed}/{reader}/{number}")


def fuzz(reader: str, numbers: range, seed: int) -> Tally:
    """Run some cases of a reader."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tally = Tally(reader)
    with tempfile.TemporaryDirectory(prefix="philly-fuzz-") as scratch:
        folder = Path(scratch) / "case"
        folder.mkdir()
        for number in numbers:
            if number % _WATCHED == 0:
                faulthandler.dump_traceback_later(STUCK_S, exit=True)
            before = time.process_time()
            try:
                with limited():
                    outcome = run_case(READERS[reader], case_rng(seed, reader, number), folder)
            except Exception as error:  # noqa: BLE001 - every error is a finding
                tally.findings.setdefault(_named(error), []).append(number)
            else:
                tally.accepted += outcome is not None
                tally.refused += outcome is None
                if outcome:
                    tally.kept += outcome.kept
                    tally.rejected += outcome.rejected
            spent = time.process_time() - before
            tally.worst_s = max(tally.worst_s, spent)
            tally.cpu_s += spent
            tally.cases += 1
        faulthandler.cancel_dump_traceback_later()
    tally.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return tally


def _named(error: BaseException) -> str:
    """Return the type, place and first line of an error; equal findings have equal names."""
    places = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f[0]]
    ours = [f for f in places if "philly_analysis" in f.filename or "hostile" in f.filename]
    at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return (
        f"{type(error).__name__} at {at}: {str(error).splitlines()[0][:160] if str(error) else ''}"
    )


def shares(cases: int, readers: list[str]) -> dict[str, int]:
    """Spread cases over readers by weight."""
    total = sum(READERS[name].weight for name in readers)
    return {name: -(-cases * READERS[name].weight // total) for name in readers}


def campaign(cases: int, seed: int, readers: list[str], jobs: int) -> list[Tally]:
    """Run the cases of each reader in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    tallies = []
    wanted = shares(cases, readers)
    with ProcessPoolExecutor(jobs, spawn, max_tasks_per_child=1) as pool:
        runs = {name: pool.submit(fuzz, name, range(n), seed) for name, n in wanted.items()}
        for name, run in runs.items():
            try:
                tally = run.result()
            except BrokenProcessPool as error:
                tally = Tally(name, findings={f"the process died: {error}": []})
            tallies.append(tally)
            print(_row(tally), flush=True)
    return tallies


_HEAD = (
    f"{'reader':<18} {'cases':>9} {'accepted':>9} {'refused':>9} {'rows kept':>10} "
    f"{'rejected':>9} {'CPU s':>7} {'worst s':>7} {'peak MB':>7} {'findings':>8}"
)


def _row(t: Tally) -> str:
    checks = sum(max(1, len(numbers)) for numbers in t.findings.values())
    return (
        f"{t.reader:<18} {t.cases:>9,} {t.accepted:>9,} {t.refused:>9,} {t.kept:>10,} "
        f"{t.rejected:>9,} {t.cpu_s:>7.0f} {t.worst_s:>7.2f} {t.peak_mb:>7.0f} {checks:>8,}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", choices=READERS, help="default: each")
    parser.add_argument("--case", type=int, help="run one case again, and show its error")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    readers = args.reader or list(READERS)
    if args.case is not None:
        with tempfile.TemporaryDirectory(prefix="philly-fuzz-") as scratch, limited():
            rng = case_rng(args.seed, readers[0], args.case)
            print(run_case(READERS[readers[0]], rng, Path(scratch)))
        return 0
    print(f"seed {args.seed}\n{_HEAD}", flush=True)
    tallies = campaign(args.cases, args.seed, readers, args.jobs)
    total = Tally("all", *(sum(getattr(t, n) for t in tallies) for n in Tally.__slots__[1:7]))
    total.worst_s = max(t.worst_s for t in tallies)
    total.peak_mb = max(t.peak_mb for t in tallies)
    total.findings = {f"{t.reader}: {what}": n for t in tallies for what, n in t.findings.items()}
    print(_row(total))
    for what, numbers in sorted(total.findings.items()):
        print(f"- {what} ({max(1, len(numbers)):,} times; cases {numbers[:3]})")
    return 1 if total.findings else 0


if __name__ == "__main__":
    sys.exit(main())
