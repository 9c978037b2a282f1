"""Hold ingest to a real Slurm: to what its jobs wrote, and to what its snapshots state.

The recording in this folder is read in each run of the tests; a new one is made by the slow tests.
"""

import csv
import os
import re
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from matplotlib.patches import Rectangle

from docs import measured
from philly_analysis.trace.trace import Trace
from tests.slurm_lab import truth
from tests.slurm_lab.cluster import missing, processes, running_cluster
from tests.slurm_lab.conftest import Lab
from tests.slurm_lab.stated import CAUSES, cause_of, stated_causes, stated_reasons, stated_spans
from tests.slurm_lab.table import HEADER, TABLE, shares

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
def recording(request: pytest.FixtureRequest, lab: Lab) -> Path:
    if request.param == "live" and (reason := missing()):
        pytest.skip(reason)
    return lab.recording(request.param)


@pytest.fixture(scope="module")
def trace(recording: Path, lab: Lab) -> Iterator[Trace]:
    with Trace(lab.trace(recording)) as opened:
        yield opened


def rows(trace: Trace, sql: str) -> list[dict[str, Any]]:
    return list(trace.sql(sql).pl().to_dicts())


def seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


def test_every_command_succeeded(recording: Path) -> None:
    failed = [s for s in truth.steps(recording) if s["printed"].startswith("failed")]
    assert not failed


def test_every_job_is_in_the_trace(recording: Path, trace: Trace) -> None:
    numbers: dict[str, int] = defaultdict(int)
    for job in rows(trace, "from jobs"):
        numbers[re.split("[_+]", job["scheduler_id"])[0]] += 1
    submitted = truth.submitted(recording)
    assert sum(submitted.values()) >= 300
    # sacct prints no job that never became eligible
    absent = {job for job in submitted if job not in numbers}
    assert absent <= never_eligible(recording)
    assert dict(numbers) == {job: n for job, n in submitted.items() if job not in absent}


def never_eligible(recording: Path) -> set[str]:
    """Jobs without an eligible time in all of their snapshots."""
    times = defaultdict(set)
    for file in (recording / "collected").glob("scontrol-job-*"):
        for job, eligible in re.findall(
            r"JobId=(\d+) .*?EligibleTime=(\S+)", file.read_text(), re.S
        ):
            times[job].add(eligible)
    return {job for job, eligible in times.items() if eligible == {"Unknown"}}


def started_attempts(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    attempts = defaultdict(list)
    ordered = "from attempts where started_at is not null order by job_id, attempt"
    for attempt in rows(trace, ordered):
        attempts[attempt["job_id"]].append(attempt)
    return attempts


def pairs(recording: Path, trace: Trace) -> Iterator[tuple[str, truth.Run, dict[str, Any]]]:
    """Yield each run of a job with its attempt."""
    attempts = started_attempts(trace)
    for job, runs in truth.runs(recording).items():
        for run, attempt in zip(runs, attempts[job], strict=True):
            yield job, run, attempt


def test_attempts_start_and_end_when_the_job_says(recording: Path, trace: Trace) -> None:
    requeued = truth.requeued_after_end(recording)
    late = {}
    for job, run, attempt in pairs(recording, trace):
        place = job, attempt["attempt"]
        late[*place, "start"] = run.started - seconds(attempt["started_at"])
        if run.ended and attempt["ended_at"] and place not in requeued:
            late[*place, "end"] = seconds(attempt["ended_at"]) - run.ended
    # times in the log are whole seconds
    assert {key: s for key, s in late.items() if not -1.1 <= s < LATE_S} == {}


def test_gpus_and_servers_are_those_that_the_job_has(recording: Path, trace: Trace) -> None:
    held: dict[tuple[str, int], dict[str, set[int | None]]] = defaultdict(lambda: defaultdict(set))
    for placement in rows(trace, "from placements"):
        place = placement["job_id"], placement["attempt"]
        held[place][placement["machine_id"]].add(placement["gpu"])
    indexed = 0
    for job, run, attempt in pairs(recording, trace):
        assert attempt["gpus"] == sum(map(len, run.gpus.values())), job
        servers = held[job, attempt["attempt"]]
        if attempt["gpus"]:
            assert set(servers) == set(run.gpus), job
            if None not in set().union(*servers.values()):
                assert dict(servers) == run.gpus, job
                indexed += 1
    assert indexed > 200


def test_ends_are_those_that_the_job_chose(recording: Path, trace: Trace) -> None:
    codes = truth.exit_codes(recording)
    checked = set()
    for job, run, attempt in pairs(recording, trace):
        code = codes.get(job)
        if run.ended is None or run.killed or code is None or attempt["ended_at"] is None:
            continue
        checked.add(code)
        assert attempt["end_reason"] in (("completed", "requeued") if code == "0" else ("failed",))
        if code in "012":
            assert attempt["exit_code"] == int(code)
    assert checked == {"0", "1", "2", "137", "KILL"}


def test_stated_reasons_cover_the_waits_of_the_log(recording: Path) -> None:
    stated: dict[str, float] = defaultdict(float)
    for span in stated_spans(recording):
        stated[span.job] += span.seconds
    until = max(span.until for span in stated_spans(recording))
    logged: dict[str, float] = defaultdict(float)
    for row in truth.accounting(recording):
        begins = row["Start"] if row["Start"][:2] == "20" else row["End"]
        waited_to = truth.unix_time(begins) if begins[:2] == "20" else until
        logged[row["JobID"]] += max(0.0, min(waited_to, until) - truth.unix_time(row["Submit"]))
    differences = {job: stated[job] - waited for job, waited in logged.items()}
    assert {job: s for job, s in differences.items() if abs(s) > 4} == {}
    assert abs(sum(differences.values())) < 0.02 * sum(logged.values())


def test_the_scenario_shows_each_cause(recording: Path) -> None:
    assert set(stated_reasons(recording)) >= REASONS
    for by_gpus in (False, True):
        causes = stated_causes(recording, by_gpus=by_gpus)
        assert all(causes[cause] > 0 for cause in CAUSES)
        assert causes["limit"] > 0.15 * sum(causes.values())


def test_stated_spans_are_halfway_between_snapshots(tmp_path: Path) -> None:
    header = "JOBID|JOBID|A|T|P|ACCOUNT|USER|QOS|STATE|REASON|NODES|TRES|SUBMIT|START|PRIO|NODELIST"
    line = "7|7|7|N/A|train|prod|mail|normal|{}|2|gres:gpu:a100:4|T|T|1|"
    readings = {
        "20260101T000000.000Z": "PENDING|Priority",
        "20260101T000002.000Z": "PENDING|ReqNodeNotAvail, UnavailableNodes:a1",
        "20260101T000003.000Z": "PENDING|AssocGrpGRES",
        "20260101T000007.000Z": "RUNNING|None",
    }
    (tmp_path / "collected").mkdir()
    for at, reading in readings.items():
        file = tmp_path / "collected" / f"squeue-{at}.txt"
        file.write_text(f"{header}\n{line.format(reading)}\n")
    assert stated_reasons(tmp_path) == {
        "Priority": (1.0, 8.0),
        "ReqNodeNotAvail": (1.5, 12.0),
        "AssocGrpGRES": (2.5, 20.0),
    }


@pytest.mark.slow
def test_an_interrupted_cluster_leaves_nothing() -> None:
    if reason := missing():
        pytest.skip(reason)
    folders = []

    def interrupt() -> None:
        with running_cluster() as cluster:
            folders.append(cluster.folder)
            cluster.command("sbatch", "--output=/dev/null", "--wrap=sleep 60")
            time.sleep(5)
            assert len(processes(cluster.folder)) > 12
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(InterruptedError):
        interrupt()
    [folder] = folders
    assert not folder.exists()
    assert not processes(folder)


def test_the_documented_shares_are_those_of_the_shipped_recording(lab: Lab) -> None:
    with TABLE.open() as file:
        documented = [tuple(row) for row in csv.reader(file)]
    assert documented == [HEADER, *shares(lab.recording("shipped"))]


def test_the_picture_has_the_documented_shares() -> None:
    [ax] = measured.stated_reasons().axes
    drawn = sorted(bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle))
    with TABLE.open() as file:
        listed = sorted(float(row["% of waiting time"]) for row in csv.DictReader(file))
    assert drawn == [share for share in listed if share >= 0.5]


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("QOSMaxJobsPerUserLimit", "limit"),
        ("JobArrayTaskLimit", "limit"),
        ("JobHeldAdmin", "held"),
        ("Priority", "priority"),
        ("ReqNodeNotAvail", "server"),
        ("None", "start-up"),
    ],
)
def test_each_reason_states_one_cause(reason: str, cause: str) -> None:
    assert cause_of(reason) == cause
