"""Compare the archive notebook's definitions with its own loops."""

from collections import Counter, defaultdict
from datetime import datetime, timedelta

import pytest

from philly_analysis.trace.trace import Trace
from tests.truth import reference
from tests.truth.conftest import Case


@pytest.fixture(
    params=[
        "sample",
        pytest.param("multigpu", marks=pytest.mark.real_data),
        pytest.param("large_jobs", marks=pytest.mark.real_data),
    ]
)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def jobs(case: Case) -> list[reference.Job]:
    return [j for j in reference.read_jobs(case.raw) if j.attempts and j.attempts[0].held]


@pytest.mark.slow
def test_run_times(case: Case, jobs: list[reference.Job]) -> None:
    expected = {}
    for job in jobs:
        start, end = job.attempts[0].start, job.attempts[-1].end
        if start is not None and end is not None:
            expected[job.job_id] = (len(job.attempts[0].held), (end - start).total_seconds())
    with Trace(case.trace) as trace:
        rows = trace.sql("select job_id, gpus, run_s from notebook_runs").fetchall()
    assert {job_id: (gpus, run_s) for job_id, gpus, run_s in rows} == expected


def test_waits_repeat_stale_values_and_leave_out_zeros(
    case: Case, jobs: list[reference.Job]
) -> None:
    expected: dict[tuple[str | None, int], list[float]] = defaultdict(list)
    for job in jobs:
        since: datetime | None = job.submitted
        delay = 0.0
        delays = []
        for attempt in job.attempts:
            if since is not None and attempt.start is not None:
                delay = (attempt.start - since).total_seconds()
            delays.append(delay)
            since = attempt.end
        expected[job.vc, len(job.attempts[0].held)] += filter(None, delays)
    with Trace(case.trace) as trace:
        rows = trace.sql("select vc, gpus, wait_s from notebook_waits").fetchall()
    found: dict[tuple[str | None, int], list[float]] = defaultdict(list)
    for vc, gpus, wait_s in rows:
        found[vc, gpus].append(wait_s)
    assert {k: sorted(v) for k, v in found.items()} == {
        k: sorted(v) for k, v in expected.items() if v
    }


def test_placement_entries_count_as_servers(case: Case, jobs: list[reference.Job]) -> None:
    expected = {
        job.job_id: (first.entries, len({m for m, _ in first.held}))
        for job in jobs
        if len((first := job.attempts[0]).held) >= 5
    }
    with Trace(case.trace) as trace:
        rows = trace.sql("select job_id, entries, servers from notebook_locality").fetchall()
    assert {job_id: tuple(counts) for job_id, *counts in rows} == expected


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("sample", marks=pytest.mark.slow),
        pytest.param("multigpu", marks=pytest.mark.real_data),
    ],
)
def test_utilisation_of_minutes_matched_as_strings(
    name: str, request: pytest.FixtureRequest
) -> None:
    case = request.getfixturevalue(name)
    jobs = reference.read_jobs(case.raw)
    by_string: dict[str, dict[int, reference.Values]] = {}
    for machine, by_minute in reference.read_gpus(case.raw).items():
        # in order of time, so that the second pass of the repeated hour overwrites the first
        by_string[machine] = {}
        for at, values in sorted(by_minute.items()):
            behind = 7 if at < reference.minute(datetime(2017, 11, 5, 9)) else 8
            by_string[machine][at - 60 * behind] = values
    minutes: Counter[tuple[int, str, bool]] = Counter()
    sums: dict[tuple[int, str, bool], float] = defaultdict(float)
    for job in jobs:
        gpus = len(job.attempts[0].held) if job.attempts else 0
        if gpus not in (1, 4, 8, 16):
            continue
        for a in job.attempts:
            if a.start is None or a.end is None:
                continue
            key = (gpus, job.status, a.entries <= gpus / 8)
            for machine, gpu in a.held:
                for at in range(
                    reference.minute(a.start),
                    reference.minute(a.end - timedelta(microseconds=1)) + 1,
                ):
                    at_once = by_string.get(machine, {}).get(at) or []
                    util = at_once[gpu] if gpu < len(at_once) else None
                    if util is not None:
                        minutes[key] += 1
                        sums[key] += util
    with Trace(case.trace) as trace:
        rows = trace.sql(
            "select gpus, status, dedicated, sum(minutes), sum(sum_pct) "
            "from notebook_gpu_util_bins where bin is not null group by all"
        ).fetchall()
    assert {tuple(row[:3]): row[3] for row in rows} == minutes
    for row in rows:
        assert row[4] == pytest.approx(sums[tuple(row[:3])], rel=1e-9)
