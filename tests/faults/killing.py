"""Kills with -9 at random moments, and looks at what is left: ``python -m tests.faults.killing``.

Each round runs a command on a small trace, kills its process group after a random part of the time
that it takes, and then asks: is what stood there whole, or the new one? Does the same command work
when it is given again, with the outcome that it has undisturbed? Is nothing left beside it?
"""

import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq

from philly_analysis.errors import PhillyError
from philly_analysis.manifest import Manifest
from philly_analysis.whole import settled

ROOT = Path(__file__).parents[2]
CALL = "import sys; from philly_analysis.cli import main; sys.argv[0] = 'philly'; main()"


@dataclass(frozen=True)
class Case:
    """A command to kill, whose outcome is the trace ``out``, and the report of it if there is one.

    Attributes
    ----------
    typed
        The command; ``{at}`` is the folder of a round, ``{once}`` of what is prepared once.
    finds
        Which of the prepared traces stands at ``out``; empty: none.
    """

    typed: str
    finds: str = ""

    def words(self, at: Path) -> list[str]:
        return [word.format(at=at, once=at.parent / "once") for word in shlex.split(self.typed)]

    def prepare(self, at: Path) -> None:
        if self.finds:
            shutil.copytree(at.parent / "once" / self.finds, at / "out")

    def outcome(self, at: Path) -> str:
        """Say what stands there as text that is equal for equal outcomes; empty: nothing."""
        return content(at / "out") + page(at / "reports" / "out")


def content(trace: Path) -> str:
    """Return a digest of all rows of all tables of a trace; nothing where there is none.

    Raises
    ------
    PhillyError, OSError
        What stands there is no whole trace.
    """
    if not settled(trace).exists():
        return ""
    manifest = Manifest.read(trace)
    told = sha256()
    for name in sorted(n for n in manifest.files if "/" not in n):
        tables = [pq.read_table(path) for path in manifest.paths(trace, name)]
        rows = sorted(repr(row) for table in tables for row in table.to_pylist())
        assert len(rows) == manifest.rows.get(name, len(rows)), f"{name}: rows are missing"
        told.update("\n".join([name, *rows]).encode())
    return told.hexdigest()


def page(folder: Path) -> str:
    """Tell whether a report is whole: its page ends, and each table it links to is there."""
    report = folder / "report.html"
    if not folder.exists():
        return ""
    text = report.read_text("utf-8")
    assert text.rstrip().endswith("</html>"), "half a page"
    return "a page"


def derived(trace: Path) -> str:
    """Read every stored relation, and return a digest of their rows."""
    told = []
    for folder in sorted((trace / "derived").glob("*.parquet")):
        rows = sorted(
            repr(row)
            for file in sorted(folder.glob("*.parquet"))
            for row in pq.read_table(file).to_pylist()
        )
        told.append(f"{folder.name.rpartition('-')[0]} {sha256(repr(rows).encode()).hexdigest()}")
    return "\n".join(told)


CASES = {
    "ingest": Case("ingest philly {once}/raw {at}/out"),
    "ingest --force": Case("ingest philly {once}/raw {at}/out --force", finds="other"),
    "ingest --append": Case("ingest slurm {once}/sacct2.txt {at}/out --append", finds="slurm"),
    "simulate": Case("simulate {once}/trace fifo {at}/out"),
    "simulate --force": Case("simulate {once}/trace fifo {at}/out --force", finds="other"),
    "stored relations": Case(
        "query {at}/out 'select count(*) from gpu_use, waits, wait_causes'", finds="trace"
    ),
    "report": Case("report {at}/out --out {at}/reports", finds="trace"),
}


def start(words: list[str], scratch: Path) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", CALL, *words],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(words: list[str], scratch: Path) -> None:
    """Run a command to its end.

    Raises
    ------
    AssertionError
        It fails.
    """
    process = start(words, scratch)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()[-1000:]


def prepare(once: Path) -> None:
    """Make what the rounds start from: small raw logs, and traces of them."""
    scratch = once / "tmp"
    scratch.mkdir(parents=True)
    made = [sys.executable, "data/generate.py", str(once / "raw"), "--days", "2", "--jobs", "150"]
    subprocess.run([*made, "--machines", "8"], cwd=ROOT, check=True, capture_output=True)
    finish(["ingest", "philly", str(once / "raw"), str(once / "trace")], scratch)
    finish(["sample", "philly-attempts", str(once / "other"), "--jobs", "40"], scratch)
    lines = ["JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList"] + [
        f"{n}|COMPLETED|2026-01-0{1 + n // 400}T00:{n % 60:02}:00|2026-01-0{1 + n // 400}T01:00:00"
        f"|2026-01-0{1 + n // 400}T02:00:00|gres/gpu=1|n{n % 5}"
        for n in range(1200)
    ]
    (once / "sacct1.txt").write_text("\n".join(lines[:600]) + "\n")
    (once / "sacct2.txt").write_text("\n".join([lines[0], *lines[500:]]) + "\n")
    finish(["ingest", "slurm", str(once / "sacct1.txt"), str(once / "slurm")], scratch)


def left_behind(place: Path) -> list[str]:
    """Return what only a killed process can have left: partial and old folders, locks, spill."""
    return [
        str(path.relative_to(place))
        for path in place.rglob("*")
        if any(word in path.name for word in (".partial", ".old-", ".lock-", "ingest-"))
    ]


def rounds(name: str, count: int, at: Path, dice: random.Random) -> Counter[str]:
    """Kill one command so often; return how often what was found.

    Raises
    ------
    AssertionError
        Something was lost, or left, or does not work any more.
    """
    case, found = CASES[name], Counter[str]()
    place = at / "undisturbed"
    place.mkdir()
    (place / "tmp").mkdir()
    case.prepare(place)
    before = case.outcome(place)
    began = time.monotonic()
    finish(case.words(place), place / "tmp")
    takes = time.monotonic() - began
    after, kept = case.outcome(place), derived(place / "out")
    shutil.rmtree(place)
    for number in range(count):
        place = at / f"round-{number}"
        (place / "tmp").mkdir(parents=True)
        case.prepare(place)
        process = start(case.words(place), place / "tmp")
        time.sleep(dice.uniform(0, 1.1 * takes))
        ended = process.poll() is not None
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        try:
            stands = case.outcome(place)
        except (PhillyError, OSError, AssertionError) as error:
            raise AssertionError(f"{name}, round {number}: {error}") from error
        assert stands in (before, after), f"{name}, round {number}: neither old nor new"
        found["ended first" if ended else "killed"] += 1
        found["old stands" if stands == before else "new stands"] += 1
        again = case.words(place)
        if name in ("ingest", "simulate") and stands == after:
            again.append("--force")
        finish(again, place / "tmp")
        assert case.outcome(place) == after, f"{name}, round {number}: another outcome"
        assert derived(place / "out") == kept, f"{name}, round {number}: other relations"
        assert left_behind(place) == [], f"{name}, round {number}: {left_behind(place)}"
        shutil.rmtree(place)
    return found


def main() -> None:
    """Kill each command as often as asked, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=CASES)
    asked = parser.parse_args()
    dice, total = random.Random(asked.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder, "once"))
        for name in [asked.only] if asked.only else CASES:
            found = rounds(name, asked.rounds, Path(folder), dice)
            total += found
            print(f"{name:16}", dict(sorted(found.items())), flush=True)
    print(f"{total['killed']} kills survived, 0 losses (seed {asked.seed})")


if __name__ == "__main__":
    main()
