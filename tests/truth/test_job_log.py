"""Compare waits, run times and counts with a plain-Python reading of the raw job log."""

from collections import Counter

import pytest

from philly_analysis.trace.trace import Trace
from tests.truth import reference
from tests.truth.conftest import Case

CASES = [
    "sample",
    pytest.param("multigpu", marks=pytest.mark.real_data),
    pytest.param("large_jobs", marks=pytest.mark.real_data),
]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    log_case: Case = request.getfixturevalue(request.param)
    return log_case


@pytest.fixture
def jobs(case: Case) -> list[reference.Job]:
    return reference.read_jobs(case.raw)


def test_jobs_and_attempts(case: Case, jobs: list[reference.Job]) -> None:
    with Trace(case.trace) as trace:
        rows = trace.sql("select job_id, vc, user, gpus, submitted_at, status, flag from jobs")
        held = rows.fetchall()
        attempts = trace.sql(
            "select job_id, attempt, started_at, ended_at, flag from attempts"
        ).fetchall()
        placements = trace.sql("select job_id, attempt, machine_id, gpu from placements").fetchall()
    assert sorted(held) == sorted(
        (j.job_id, j.vc, j.user, j.gpus, j.submitted, j.status, j.flag) for j in jobs
    )
    assert {(r[0], r[1]): r[2:] for r in attempts} == {
        (j.job_id, a.number): (a.start, a.end, a.flag) for j in jobs for a in j.attempts
    }
    assert Counter(placements) == Counter(
        (j.job_id, a.number, *gpu) for j in jobs for a in j.attempts for gpu in a.held
    )


def test_waits_to_the_second(case: Case, jobs: list[reference.Job]) -> None:
    with Trace(case.trace) as trace:
        rows = trace.sql("select job_id, attempt, wait_s, flag from waits").fetchall()
    assert {(r[0], r[1]): r[2:] for r in rows} == reference.waits(jobs)


def test_run_times_to_the_second(case: Case, jobs: list[reference.Job]) -> None:
    with Trace(case.trace) as trace:
        rows = trace.sql(
            "select job_id, span_s, sum_s, last_s, censored, gpu_h, flag, attempts from job_runs"
        ).fetchall()
    assert len(rows) == len(jobs)
    by_id = {row[0]: row[1:] for row in rows}
    end = reference.log_end(jobs)
    for job in jobs:
        mine = reference.run(job, end)
        span, total, last, censored, gpu_h, flag, attempts = by_id[job.job_id]
        assert (span, total, last) == (mine.span, mine.total, mine.last), job
        assert (censored, flag, attempts) == (mine.censored, mine.flag, len(job.attempts)), job
        wanted = pytest.approx(mine.gpu_h, rel=1e-12, abs=1e-9) if mine.gpu_h else None
        assert (gpu_h or None) == wanted, job
