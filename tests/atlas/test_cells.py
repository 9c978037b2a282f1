"""Recompute cells of the atlas from the publishers' files, in plain Python."""

import csv
import gzip
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low

import pytest

from philly_analysis.atlas.claim import Evidence
from philly_analysis.atlas.public_clusters import shipped_answers

pytestmark = pytest.mark.real_data


@dataclass
class Job:
    """A job on GPUs, as its file has it."""

    gpus: int
    run: float
    user: str = ""
    status: str = ""


def rows(path: Path) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(gzip.decompress(path.read_bytes()).decode().splitlines())


def generated(file: str) -> Callable[[Path], Iterator[Job]]:
    """Read a file of Gen-Parallel-Workloads."""

    def read(traces: Path) -> Iterator[Job]:
        for r in rows(traces / file):
            yield Job(int(r["gpu_num"]), float(r["run_time"]), r["user"], r["new_status"])

    return read


def philly_attempts(traces: Path) -> Iterator[Job]:
    for r in rows(traces / "philly-attempts" / "philly_df_schedule.csv.gz"):
        yield Job(int(r["gpu_num"]), float(r["run_time"]))


def philly_passed(traces: Path) -> Iterator[Job]:
    for r in rows(traces / "philly-passed-jobs" / "philly.csv.gz"):
        yield Job(int(r["num_gpus"]), float(r["duration"]))


def itp(traces: Path) -> Iterator[Job]:
    for file in sorted((traces / "itp-2021").glob("cluster*.csv.gz")):
        for r in rows(file):
            yield Job(int(r["num_gpu"]), float(r["duration"]))


def theta(traces: Path) -> Iterator[Job]:
    for r in rows(traces / "thetagpu-2023" / "data_thetagpu.csv.gz"):
        yield Job(int(float(r["gpu_num"])), float(r["run_time"]), r["user"], r["new_status"])


def supercloud(traces: Path) -> Iterator[Job]:
    words = {
        "3": "Pass",
        "4": "Killed",
        "5": "Failed",
        "6": "Failed",
        "7": "Failed",
        "11": "Failed",
    }
    for r in rows(traces / "mit-supercloud-2021" / "slurm-log-queueing-clean.csv.gz"):
        gpus = re.findall(r"(?:^|,)100[12]=(\d+)", r["tres_alloc"])
        run = float(r["time_end"]) - float(r["time_start"])
        status = words.get(str(int(float(r["state"]))), "")
        yield Job(int(gpus[0]) if gpus else 0, run, r["id_user"], status)


SOURCES: dict[str, Callable[[Path], Iterator[Job]]] = {
    "Helios 15k": generated("helios-2020/helios_data_training.csv.gz"),
    "Philly first 15k": generated("philly-first-15k-attempts/philly_data_training.csv.gz"),
    "Blue Waters 15k": generated("bluewaters/blue_waters_data_training.csv.gz"),
    "Philly attempts": philly_attempts,
    "Philly passed": philly_passed,
    "Microsoft ITP": itp,
    "ThetaGPU": theta,
    "MIT SuperCloud": supercloud,
}


def gpu_time(jobs: list[Job]) -> float:
    return sum(j.gpus * j.run for j in jobs)


def part(jobs: list[Job], some: Callable[[Job], bool]) -> float:
    return 100 * gpu_time([j for j in jobs if some(j)]) / gpu_time(jobs)


def top_tenth(costs: list[float]) -> float:
    costs, whole = sorted(costs, reverse=True), len(costs) // 10
    return 100 * (sum(costs[:whole]) + (len(costs) / 10 - whole) * costs[whole]) / sum(costs)


def by_user(jobs: list[Job]) -> list[float]:
    costs: defaultdict[str, float] = defaultdict(float)
    for j in jobs:
        costs[j.user] += j.gpus * j.run
    return list(costs.values())


def run_times(jobs: list[Job], some: Callable[[Job], bool]) -> float:
    return median_low(j.run for j in jobs if some(j))


def failed(jobs: list[Job]) -> float:
    return sum(j.status == "Failed" for j in jobs) / len(jobs)


def lost(j: Job) -> bool:
    return j.status != "Pass"


CELLS: dict[str, Callable[[list[Job]], float]] = {
    "jobs_are_short": lambda jobs: run_times(jobs, lambda j: True),
    "gpu_time_is_in_few_jobs": lambda jobs: top_tenth([j.gpus * j.run for j in jobs]),
    "gpu_time_is_of_few_users": lambda jobs: top_tenth(by_user(jobs)),
    "most_jobs_use_one_gpu": lambda jobs: 100 * sum(j.gpus == 1 for j in jobs) / len(jobs),
    "gpu_time_is_in_large_gangs": lambda jobs: part(jobs, lambda j: j.gpus > 8),
    "long_jobs_use_most": lambda jobs: part(jobs, lambda j: j.run > 86_400),
    "large_gangs_run_longer": lambda jobs: (
        run_times(jobs, lambda j: j.gpus > 4) / run_times(jobs, lambda j: j.gpus == 1)
    ),
    "killed_jobs_cost_much": lambda jobs: part(jobs, lambda j: j.status == "Killed"),
    "unsuccessful_jobs_cost_most": lambda jobs: (
        part(jobs, lost) / (100 * sum(map(lost, jobs)) / len(jobs))
    ),
    "large_gangs_fail_more": lambda jobs: (
        failed([j for j in jobs if j.gpus > 4]) / failed([j for j in jobs if j.gpus == 1])
    ),
    "failures_come_early": lambda jobs: run_times(jobs, lambda j: j.status == "Failed"),
}

ANSWERS = [f for f in shipped_answers() if f.evidence is Evidence.ROWS]


@pytest.mark.parametrize("source", SOURCES)
def test_cells_are_those_of_the_files(source: str, traces: Path) -> None:
    jobs = [j for j in SOURCES[source](traces) if j.gpus > 0]
    answers = {f.claim: f for f in ANSWERS if f.source == source and f.claim in CELLS}
    assert len(answers) >= 3
    found = {claim: f.effect.value for claim, f in answers.items()}
    expected = {claim: CELLS[claim](jobs) for claim in answers}
    assert found == pytest.approx(expected, rel=1e-5)
