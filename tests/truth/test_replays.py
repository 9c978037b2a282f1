"""Replay logs of an independent scheduler, and compare the second in which each job starts."""

import re
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest, simulate
from philly_analysis.workload import Workload
from tests.truth.replays import Rules, replayed
from tests.truth.scenarios import Scenario
from tests.truth.schedulers import BEGIN

RULES = {
    "FIFO": Rules("fifo"),
    "EASY, exact run times": Rules("easy"),
    "EASY, requested limits": Rules("easy", limits=True),
    "SJF": Rules("sjf"),
}
JOBS: dict[str, dict[str, Any]] = {
    "one server": {},
    "one server, CPU-bound": {"cpu_heavy": 0.3},
    "spreadable": {"spreadable": 1.0},
}


_REQUESTED = re.compile(r",node=\d+(?=\^\|\^cpu=)")
"""Requested number of servers: the end of ReqTRES, which AllocTRES follows."""


def agreement(
    scenario: Scenario, rules: Rules, folder: Path, *, requests: bool = True
) -> tuple[float, tuple[str, ...]]:
    """Return the share of jobs that start in the true second, and the notes of the what-if.

    Parameters
    ----------
    requests
        Whether the log has the requested number of servers (ReqTRES).
    """
    true_s = replayed(scenario, rules, folder / "log")
    if not requests:
        for file in (folder / "log").iterdir():
            file.write_text(_REQUESTED.sub("", file.read_text()))
    ingest("slurm", folder / "log", folder / "trace")
    workload = Workload.from_trace(folder / "trace")
    if rules.limits:
        workload = workload.with_estimates("requested")
    with simulate(workload, rules.order, folder / "replay") as replay:
        rows = replay.sql("select job_id, epoch(started_at) from attempts").fetchall()
        notes = replay.manifest.notes
    starts_s = {job_id: at - BEGIN.timestamp() for job_id, at in rows}
    equal = sum(starts_s.get(job_id) == at for job_id, at in true_s.items())
    return equal / len(true_s), notes


@pytest.mark.parametrize(
    ("rules", "jobs", "load", "count"),
    [
        ("EASY, requested limits", "one server, CPU-bound", 0.85, 600),
        *(
            pytest.param(rules, jobs, load, 4_000, marks=pytest.mark.slow)
            for rules in RULES
            for jobs in JOBS
            for load in (0.7, 0.85, 0.95)
        ),
    ],
)
def test_jobs_start_in_the_second_of_the_scheduler(
    rules: str, jobs: str, load: float, count: int, tmp_path: Path
) -> None:
    scenario = Scenario(load=load, jobs=count, seed=3, **JOBS[jobs])
    share, notes = agreement(scenario, RULES[rules], tmp_path)
    assert share >= 0.99
    text = " ".join(notes)
    assert ("a request of one server is a minimum" in text) == (jobs == "spreadable")
    if jobs != "spreadable":
        assert f"number of servers ({count:,} jobs), CPUs per server ({count:,} jobs)" in text


def test_jobs_without_a_recorded_request_get_as_many_servers_as_in_the_log(tmp_path: Path) -> None:
    scenario = Scenario(load=0.85, jobs=60, seed=3)
    share, notes = agreement(scenario, RULES["FIFO"], tmp_path, requests=False)
    assert share >= 0.99
    assert any("60 records that lack the requested number (ReqTRES, node)" in n for n in notes)
