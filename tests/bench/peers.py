"""The simulator beside published ones: the same jobs under the same policy, in the same run.

``python -m tests.bench.peers --peer accasim=PYTHON --peer tiresias=PYTHON,FOLDER`` exports jobs,
runs each program on them and then ``philly simulate``, each in a process of its own, and prints
what they took and the mean completion times, which say whether both did the same. Nothing of the
programs is kept here: PYTHON is an interpreter that has what the program needs, FOLDER holds a copy
of it. A program that was not named is skipped, and where to get it is said.
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
from philly_analysis.workload.machines import servers
from tests.bench.simulator import Work, measure

JOBS, GPUS, LOAD = (5_000, 10_000), 128, 0.7


@dataclass(frozen=True, slots=True)
class Took:
    """What a process took, and the mean completion time that it found (s)."""

    cpu_s: float
    mean_jct_s: float


@dataclass(frozen=True, slots=True)
class Peer:
    """A published simulator.

    Attributes
    ----------
    get
        Where to get it.
    format
        The export that it reads.
    policies
        Its policies, and ours that are the same.
    words
        What its interpreter is told: of the export, the file or folder, and of the policy.
    mean_jct_s
        Reads what it found, in the folder where it ran; the export is given, too.
    """

    get: str
    format: str
    policies: dict[str, str]
    words: Callable[[Path, str], list[str]]
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
    said = re.search(r"Avg\. waiting times: ([\d.]+)", stats.read_text("utf-8"))
    jobs = [row.split() for row in out.read_text("utf-8").splitlines() if row[:1] != ";"]
    assert said, stats.read_text("utf-8")
    return float(said[1]) + sum(float(job[3]) for job in jobs) / len(jobs)


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


PEERS = {
    "accasim": Peer(
        "pip install accasim==1.1.3, Python 3.9",
        "swf",
        {"FirstInFirstOut": "fifo", "ShortestJobFirst": "sjf"},
        _accasim,
        _accasim_jct_s,
    ),
    "tiresias": Peer(
        "github.com/SymbioticLab/Tiresias at 959f9b0, the folder simulator; Python 2.7 with numpy",
        "tiresias",
        {"fifo": "fifo", "shortest": "srtf"},
        _tiresias,
        _tiresias_jct_s,
    ),
}


def cpu_s(words: Sequence[str], folder: Path, **env: str) -> float:
    """Run a command in a folder, and return its CPU seconds."""
    before = getrusage(RUSAGE_CHILDREN)
    there = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | env
    done = subprocess.run(words, cwd=folder, env=there, capture_output=True, check=False, text=True)
    if done.returncode:
        raise RuntimeError(f"{words[:2]} failed: {done.stderr[-2000:]}")
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theirs(peer: Peer, given: str, out: Path, policy: str, scratch: Path) -> Took:
    """Run a program as it was given: an interpreter and, after a comma, a folder to copy."""
    python, _, program = given.partition(",")
    folder = scratch / policy
    if program:
        shutil.copytree(program, folder)
    folder.mkdir(exist_ok=True)
    for file in out.glob("yarn-*.csv") if out.is_dir() else ():  # read from where it runs
        (folder / file.name).write_bytes(file.read_bytes())
    return Took(cpu_s([python, *peer.words(out, policy)], folder), peer.mean_jct_s(folder, out))


def ours(jobs: Path, policy: str, scratch: Path) -> Took:
    """Run ``philly simulate`` on the same jobs, as the export made runs of them."""
    made = scratch / f"{jobs.name}-{policy}"
    words = ["simulate", str(jobs), policy, str(made), "--gpus", str(GPUS), "--load", str(LOAD)]
    philly = [sys.executable, "-c", "from philly_analysis.cli.app import main; main()"]
    root = str(Path(__file__).parents[2])
    lasted_s = cpu_s([*philly, *words, "--run-policy", "sum"], scratch, PYTHONPATH=root)
    with Trace(made) as trace:
        [[mean_s]] = trace.sql(
            "select avg(epoch(e) - epoch(submitted_at)) from jobs join (select job_id, "
            "max(ended_at) as e from attempts group by job_id) using (job_id)"
        ).fetchall()
    return Took(lasted_s, float(mean_s))


def beside(given: dict[str, str], jobs: int) -> Iterator[str]:
    """Yield a line for each program and policy: its cost beside ours."""
    for name in sorted(PEERS.keys() - given.keys()):
        yield f"{name}: skipped, as no --peer {name}=… was given; get it from {PEERS[name].get}"
    if not given:
        return
    with tempfile.TemporaryDirectory(prefix="philly-peers-") as folder:
        scratch = Path(folder)
        trace = scratch / "jobs"
        drawn = load_model("philly").sample(jobs=jobs, gpus=GPUS, seed=1)
        drawn.to_trace(trace, source="sample")
        work = Work(at_load(list(drawn.specs()), LOAD, GPUS), servers(GPUS), {})
        here: dict[str, Took] = {}
        for name, program in given.items():
            peer, out = PEERS[name], scratch / name
            export(trace, peer.format, out, gpus=GPUS, load=LOAD)
            (scratch / f"{name}-runs").mkdir()
            for policy, same in peer.policies.items():
                if same not in here:
                    here[same] = ours(trace, same, scratch)
                there = theirs(peer, program, out, policy, scratch / f"{name}-runs")
                alone = measure(same, work).cpu_s
                yield (
                    f"{jobs:,} jobs, {name} {policy}: {there.cpu_s:.1f} CPU s, mean JCT "
                    f"{there.mean_jct_s:,.1f} s; philly simulate {same}: {here[same].cpu_s:.1f} "
                    f"CPU s, {here[same].mean_jct_s:,.1f} s; of it the engine {alone:.1f} CPU s"
                )


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON[,FOLDER]")
    parser.add_argument("--jobs", type=int, action="append", help="default: 5,000 and 10,000")
    given = parser.parse_args()
    for jobs in given.jobs or JOBS:
        for line in beside(dict(word.split("=", 1) for word in given.peer), jobs):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
