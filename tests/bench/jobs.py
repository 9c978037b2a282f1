"""Measure ingest, report, append, fit, advice and simulation of Slurm logs with many jobs.

Each step runs as a command of its own. The log is text as `sacct` prints it, of servers whose
placements never overlap. CPU seconds, wall-clock seconds and peak memory per size go to a table and
a picture, which shows the growth per job.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from string import Template

import duckdb
import matplotlib as mpl
import pandas as pd

SIZES = (100_000, 1_000_000, 5_000_000, 10_000_000)
STEPS = ("ingest", "report", "append", "report after append", "fit", "advise", "simulate")
APPENDED_JOBS = 200
_LOG = Template(Path(__file__).with_name("jobs.sql").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class JobCost:
    """What a step cost at a number of jobs."""

    jobs: int
    step: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    """Of the largest process."""


def write_log(file: Path, jobs: int) -> None:
    """Write a log of so many jobs, by start."""
    with duckdb.connect(config={"temp_directory": str(file.parent / "spill")}) as con:
        con.execute(_LOG.substitute(out=file, jobs=jobs))


def split_log(log: Path, jobs: int, later: Path) -> None:
    """Leave the first jobs in a log, and move the other jobs, which started later, to a new log."""
    with log.open("r+b") as lines:
        header = lines.readline()
        for _ in range(jobs):
            lines.readline()
        end = lines.tell()
        later.write_bytes(header + lines.read())
        lines.truncate(end)


def run(jobs: int, step: str, *arguments: str | Path) -> JobCost:
    """Run a command of `philly`, and return its cost."""
    command = [sys.executable, "-m", "philly_analysis", *map(str, arguments)]
    start = time.perf_counter()
    process = os.posix_spawn(sys.executable, command, os.environ)
    _, status, used = os.wait4(process, 0)
    wall_s = time.perf_counter() - start
    if status:
        raise SystemExit(f"philly {arguments[0]} failed at {jobs:,} jobs")
    return JobCost(jobs, step, wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def bench(folder: Path, jobs: int, steps: frozenset[str]) -> list[JobCost]:
    """Run the steps in order at one number of jobs."""
    log, new, trace = folder / "sacct.txt", folder / "new.txt", folder / "trace"
    # the peak memory of a new process includes that of the process which started it
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        apart.submit(write_log, log, jobs + APPENDED_JOBS).result()
    split_log(log, jobs, new)
    commands: dict[str, tuple[str | Path, ...]] = {
        "ingest": ("ingest", "slurm", log, trace),
        "report": ("report", trace, "--out", folder / "reports"),
        "append": ("ingest", "slurm", new, trace, "--append"),
        "report after append": ("report", trace, "--out", folder / "reports"),
        "fit": ("fit", trace, folder / "model.json"),
        "advise": ("advise", trace, "--out", folder / "advice"),
        "simulate": ("simulate", trace, "easy", folder / "replay"),
    }
    return [run(jobs, step, *commands[step]) for step in STEPS if step in steps]


def draw(costs: pd.DataFrame, file: Path) -> None:
    """Draw CPU time and memory per job against the number of jobs."""
    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for (name, label), panel in zip(
        (("cpu_s", "CPU time per job (µs)"), ("peak_mb", "peak memory per job (B)")),
        panels,
        strict=True,
    ):
        for step, rows in costs.groupby("step", sort=False):
            panel.plot(rows["jobs"], 1e6 * rows[name] / rows["jobs"], marker="o", label=step)
        panel.set(xscale="log", yscale="log", xlabel="jobs", ylabel=label)
    panels[1].legend(frameon=False, fontsize="small")
    figure.savefig(file)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, action="append", help="default: each of " + str(SIZES))
    parser.add_argument("--step", choices=STEPS, action="append", help="default: each")
    parser.add_argument("--folder", type=Path, help="where to generate; default: $TMPDIR")
    parser.add_argument("--out", type=Path, default=Path("reports"), help="for table and picture")
    args = parser.parse_args()
    costs: list[JobCost] = []
    for jobs in args.jobs or SIZES:
        with tempfile.TemporaryDirectory(prefix="philly-jobs-", dir=args.folder) as folder:
            costs += bench(Path(folder), jobs, frozenset(args.step or STEPS))
        table = pd.DataFrame(map(asdict, costs))
        print(table.to_string(index=False, float_format="%.1f"), flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(args.out / "jobs.csv", index=False, float_format="%.1f")
    draw(table, args.out / "jobs.svg")


if __name__ == "__main__":
    main()
