"""Hold ingest to a real Slurm: to what its jobs wrote, and to what its snapshots state.

The recording in this folder is read in each run of the tests; a new one is made by the slow tests.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest
from philly_analysis.trace.trace import Trace
from tests.slurm_lab import truth
from tests.slurm_lab.cluster import missing, running_cluster
from tests.slurm_lab.recorder import record
from tests.slurm_lab.recording import SHIPPED, unpack
from tests.slurm_lab.stated import CAUSES, cause_of, stated_causes, stated_reasons, stated_spans

READ = ("sacct.txt", "scontrol-job-*", "scontrol-node-*")
"""Collected files that ingest reads."""

REASONS = {
    "AssocGrpGRES",
    "AssocMaxJobsLimit",
    "BeginTime",
    "Dependency",
    "DependencyNeverSatisfied",
    "JobArrayTaskLimit",
    "JobHeldAdmin",
    "JobHeldUser",
    "Licenses",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "Priority",
    "QOSGrpGRES",
    "QOSMaxGRESPerUser",
    "QOSMaxJobsPerUserLimit",
    "ReqNodeNotAvail",
    "Reservation",
    "Resources",
}
"""Reasons that each recording has."""

LATE_S = 2
"""Seconds, at most, from the start in the log to the first line of a job's script."""


@pytest.fixture(scope="module", params=["shipped", pytest.param("live", marks=pytest.mark.slow)])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    if request.param == "shipped":
        unpack(SHIPPED, folder)
    else:
        if reason := missing():
            pytest.skip(reason)
        with running_cluster() as cluster:
            record(cluster, folder)
    return folder


@pytest.fixture(scope="module")
def trace(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    folder = tmp_path_factory.mktemp("slurm")
    raw = folder / "raw"
    raw.mkdir()
    for pattern in READ:
        for file in (recording / "collected").glob(pattern):
            shutil.copy(file, raw)
    ingest("slurm", raw, folder / "trace")
    with Trace(folder / "trace") as opened:
        yield opened


def rows(trace: Trace, sql: str) -> list[dict[str, Any]]:
    return trace.sql(sql).pl().to_dicts()


def seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


def test_every_command_succeeded(recording: Path) -> None:
    failed = [s for s in truth.steps(recording) if s["printed"].startswith("failed")]
    assert not failed


def test_every_job_is_in_the_trace(recording: Path, trace: Trace) -> None:
    numbers: dict[str, int] = defaultdict(int)
    for job in rows(trace, "from jobs"):
        numbers[job["scheduler_id"].partition("_")[0].partition("+")[0]] += 1
    submitted = truth.submitted(recording)
    assert sum(submitted.values()) >= 300
    assert dict(numbers) == submitted


def started_attempts(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    attempts = defaultdict(list)
    ordered = "from attempts where started_at is not null order by job_id, attempt"
    for attempt in rows(trace, ordered):
        attempts[attempt["job_id"]].append(attempt)
    return attempts


def test_every_attempt_starts_when_the_job_says(recording: Path, trace: Trace) -> None:
    attempts = started_attempts(trace)
    for job, runs in truth.runs(recording).items():
        late = [
            run.started - seconds(attempt["started_at"])
            for run, attempt in zip(runs, attempts[job], strict=True)
        ]
        assert all(0 <= one < LATE_S for one in late), job


def test_gpus_and_servers_are_those_that_the_job_has(recording: Path, trace: Trace) -> None:
    held: dict[tuple[str, int], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    unknown = set()
    for placement in rows(trace, "from placements"):
        attempt = placement["job_id"], placement["attempt"]
        held[attempt][placement["machine_id"]].add(placement["gpu"])
        if placement["gpu"] is None:
            unknown.add(attempt)
    attempts = started_attempts(trace)
    compared = 0
    for job, runs in truth.runs(recording).items():
        for run, attempt in zip(runs, attempts[job], strict=True):
            place = job, attempt["attempt"]
            assert attempt["gpus"] == sum(map(len, run.gpus.values()))
            if attempt["gpus"] and place not in unknown:
                assert dict(held[place]) == run.gpus
                compared += 1
            elif attempt["gpus"]:
                assert set(held[place]) == set(run.gpus)
    assert compared > 200
