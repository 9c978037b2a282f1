"""Recompute cells of the atlas from the publishers' files, in plain Python."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median_low

import pytest

from philly_analysis.atlas.claim import Evidence
from philly_analysis.atlas.public_clusters import shipped_answers
from tests.support.public_traces import LOGS, PublicJob, jobs_of

pytestmark = pytest.mark.real_data


def gpu_time(jobs: list[PublicJob]) -> float:
    return float(sum(j.gpus * j.run_s for j in jobs))


def part(jobs: list[PublicJob], some: Callable[[PublicJob], bool]) -> float:
    return 100 * gpu_time([j for j in jobs if some(j)]) / gpu_time(jobs)


def top_tenth(costs: list[float]) -> float:
    costs, whole = sorted(costs, reverse=True), len(costs) // 10
    return 100 * (sum(costs[:whole]) + (len(costs) / 10 - whole) * costs[whole]) / sum(costs)


def by_user(jobs: list[PublicJob]) -> list[float]:
    costs: defaultdict[str, float] = defaultdict(float)
    for j in jobs:
        costs[j.user] += j.gpus * j.run_s
    return list(costs.values())


def run_times(jobs: list[PublicJob], some: Callable[[PublicJob], bool]) -> float:
    return float(median_low(j.run_s for j in jobs if some(j)))


def failed(jobs: list[PublicJob]) -> float:
    return sum(j.status == "Failed" for j in jobs) / len(jobs)


def lost(j: PublicJob) -> bool:
    return j.status != "Pass"


CELLS: dict[str, Callable[[list[PublicJob]], float]] = {
    "jobs_are_short": lambda jobs: run_times(jobs, lambda j: True),
    "gpu_time_is_in_few_jobs": lambda jobs: top_tenth([j.gpus * j.run_s for j in jobs]),
    "gpu_time_is_of_few_users": lambda jobs: top_tenth(by_user(jobs)),
    "most_jobs_use_one_gpu": lambda jobs: 100 * sum(j.gpus == 1 for j in jobs) / len(jobs),
    "gpu_time_is_in_large_gangs": lambda jobs: part(jobs, lambda j: j.gpus > 8),
    "long_jobs_use_most": lambda jobs: part(jobs, lambda j: j.run_s > 86_400),
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


@pytest.mark.parametrize("source", [log for log in LOGS if log != "Alibaba openb"])
def test_cells_are_those_of_the_files(source: str, traces: Path) -> None:
    jobs = [j for j in jobs_of(traces, source) if j.gpus > 0]
    answers = {f.claim: f for f in ANSWERS if f.source == source and f.claim in CELLS}
    assert len(answers) >= 3
    effects = {claim: f.effect.value for claim, f in answers.items()}
    expected = {claim: CELLS[claim](jobs) for claim in answers}
    assert effects == pytest.approx(expected, rel=1e-5)
