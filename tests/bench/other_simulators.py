"""Compare the simulator's speed with published simulators on the same jobs and policies.

``python -m tests.bench.other_simulators --with accasim=PYTHON --with tiresias=PYTHON,FOLDER``
exports jobs, runs each program on them and then ``philly simulate``, each in its own process. It
prints CPU seconds and mean completion times; equal times show that both did the same. The programs
are not part of the project: PYTHON is an interpreter with the program's requirements, FOLDER holds
a copy of the program. A program that is not named is skipped, with a line on where to get it.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from philly_analysis import export, load_model
from philly_analysis.trace.trace import Trace
from philly_analysis.workload.load import at_load
from philly_analysis.workload.machines import default_servers
from tests.bench.simulator import Work, measure

JOBS, GPUS, LOAD = (5_000, 10_000), 128, 0.7


@dataclass(frozen=True, slots=True)
class Outcome:
    """CPU seconds of a process, and the mean completion time (s) that it computed."""

    cpu_s: float
    mean_jct_s: float


@dataclass(frozen=True, slots=True)
class OtherSimulator:
    """A published simulator.

    Attributes
    ----------
    source
        Where to get it.
    format
        Name of the export format that it reads.
    policies
        Our equivalent policy by the name of each of its policies.
    arguments
        Arguments of its interpreter, from the exported file or folder and the policy.
    mean_jct_s
        Reads its result from the folder where it ran and from the export.
    """

    source: str
    format: str
    policies: dict[str, str]
    arguments: Callable[[Path, str], list[str]]
    mean_jct_s: Callable[[Path, Path], float]


def _accasim(out: Path, policy: str) -> list[str]:
    config = {
        "system_name": "export",
        "start_time": 0,
        "equivalence": {"processor": {"core": 1}},
        "groups": {"g0": {"core": 8}},
        "resources": {"g0": GPUS // 8},
    }
    return [
        "-c",
        "import json\n"
        "from accasim.base.simulator_class import Simulator\n"
        "from accasim.base import scheduler_class\n"
        "from accasim.base.allocator_class import FirstFit\n"
        f"json.dump({config!r}, open('export.config', 'w'))\n"
        f"dispatcher = scheduler_class.{policy}(FirstFit())\n"
        f"Simulator({str(out)!r}, 'export.config', dispatcher).start_simulation()\n",
    ]


def _accasim_jct_s(folder: Path, out: Path) -> float:
    [stats] = (folder / "results").glob("stats-*")
    mean = re.search(r"Avg\. waiting times: ([\d.]+)", stats.read_text("utf-8"))
    jobs = [row.split() for row in out.read_text("utf-8").splitlines() if row[:1] != ";"]
    assert mean, stats.read_text("utf-8")
    return float(mean[1]) + sum(float(job[3]) for job in jobs) / len(jobs)


def _tiresias(out: Path, policy: str) -> list[str]:
    return [
        "run_sim.py",
        f"--cluster_spec={out / 'cluster.csv'}",
        f"--trace_file={out / 'jobs.csv'}",
        f"--schedule={policy}",
        "--scheme=count",
        "--log_path=result",
    ]


def _tiresias_jct_s(folder: Path, _: Path) -> float:
    with (folder / "result" / "job.csv").open(encoding="utf-8") as lines:
        found = [float(row["JCT"]) for row in csv.DictReader(lines)]
    return sum(found) / len(found)


SIMULATORS = {
    "accasim": OtherSimulator(
        "pip install accasim==1.1.3, Python 3.9",
        "swf",
        {"FirstInFirstOut": "fifo", "ShortestJobFirst": "sjf"},
        _accasim,
        _accasim_jct_s,
    ),
    "tiresias": OtherSimulator(
        "github.com/SymbioticLab/Tiresias at 959f9b0, the folder simulator; Python 2.7 with numpy",
        "tiresias",
        {"fifo": "fifo", "shortest": "srtf"},
        _tiresias,
        _tiresias_jct_s,
    ),
}


def cpu_s(command: Sequence[str], folder: Path, **env: str) -> float:
    """Run a command in a folder and return its CPU seconds."""
    before = getrusage(RUSAGE_CHILDREN)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | env
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{command[:2]} failed: {done.stderr[-2000:]}")
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theirs(
    simulator: OtherSimulator, program: str, out: Path, policy: str, scratch: Path
) -> Outcome:
    """Run a program, named by its interpreter and, after a comma, a folder to copy."""
    python, _, source = program.partition(",")
    folder = scratch / policy
    if source:
        shutil.copytree(source, folder)
    folder.mkdir(exist_ok=True)
    for file in out.glob("yarn-*.csv") if out.is_dir() else ():  # read from the working folder
        (folder / file.name).write_bytes(file.read_bytes())
    return Outcome(
        cpu_s([python, *simulator.arguments(out, policy)], folder),
        simulator.mean_jct_s(folder, out),
    )


def ours(jobs: Path, policy: str, scratch: Path) -> Outcome:
    """Run ``philly simulate`` on the same jobs, with run times as in the export."""
    out = scratch / f"{jobs.name}-{policy}"
    arguments = ["simulate", str(jobs), policy, str(out), "--gpus", str(GPUS), "--load", str(LOAD)]
    philly = [sys.executable, "-c", "from philly_analysis.cli import main; main()"]
    root = str(Path(__file__).parents[2])
    spent_s = cpu_s([*philly, *arguments, "--run-policy", "sum"], scratch, PYTHONPATH=root)
    with Trace(out) as trace:
        [[mean_s]] = trace.sql(
            "select avg(epoch(e) - epoch(submitted_at)) from jobs join (select job_id, "
            "max(ended_at) as e from attempts group by job_id) using (job_id)"
        ).fetchall()
    return Outcome(spent_s, float(mean_s))


def compared(programs: dict[str, str], jobs: int) -> Iterator[str]:
    """Yield one line per program and policy with its cost and ours."""
    for name in sorted(SIMULATORS.keys() - programs.keys()):
        yield f"{name}: skipped: --with {name}=… is missing; get it from {SIMULATORS[name].source}"
    if not programs:
        return
    with tempfile.TemporaryDirectory(prefix="philly-peers-") as folder:
        scratch = Path(folder)
        trace = scratch / "jobs"
        drawn = load_model("philly").sample(jobs=jobs, gpus=GPUS, seed=1)
        drawn.to_trace(trace, source="sample")
        work = Work(at_load(list(drawn.specs()), LOAD, GPUS), default_servers(GPUS), {})
        here: dict[str, Outcome] = {}
        for name, program in programs.items():
            simulator, out = SIMULATORS[name], scratch / name
            export(trace, simulator.format, out, gpus=GPUS, load=LOAD)
            (scratch / f"{name}-runs").mkdir()
            for policy, same in simulator.policies.items():
                if same not in here:
                    here[same] = ours(trace, same, scratch)
                there = theirs(simulator, program, out, policy, scratch / f"{name}-runs")
                alone = measure(same, work).cpu_s
                yield (
                    f"{jobs:,} jobs, {name} {policy}: {there.cpu_s:.1f} CPU s, mean JCT "
                    f"{there.mean_jct_s:,.1f} s; philly simulate {same}: {here[same].cpu_s:.1f} "
                    f"CPU s, {here[same].mean_jct_s:,.1f} s; its engine alone {alone:.1f} CPU s"
                )


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--with", dest="programs", action="append", default=[], metavar="NAME=PYTHON[,FOLDER]"
    )
    parser.add_argument("--jobs", type=int, action="append", help="default: 5,000 and 10,000")
    args = parser.parse_args()
    for jobs in args.jobs or JOBS:
        for line in compared(dict(word.split("=", 1) for word in args.programs), jobs):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
