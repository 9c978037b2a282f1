"""Compare waits, run times and counts with a plain-Python reading of the raw job log."""

from collections import Counter, defaultdict

import pandas as pd
import pytest

from philly_analysis import analyze
from philly_analysis.trace.trace import Trace
from tests.truth import reference
from tests.truth.conftest import Case

CASES = [
    "sample",
    pytest.param("multigpu", marks=pytest.mark.real_data),
    pytest.param("large_jobs", marks=pytest.mark.real_data),
]


def exactly(value: float) -> object:
    """A float but for the order of its sum."""
    return pytest.approx(value, rel=1e-12, abs=1e-9)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found


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
        assert gpu_h == exactly(mine.gpu_h) if mine.gpu_h else not gpu_h


def test_findings_from_the_job_log(case: Case, jobs: list[reference.Job]) -> None:
    with Trace(case.trace) as trace:
        names = ("run_time", "queueing_delay", "job_status", "retries")
        found = {n: r.table for n, r in analyze(trace, names).items()}
    end = reference.log_end(jobs)
    runs = {j.job_id: reference.run(j, end) for j in jobs}
    by_id = {j.job_id: j for j in jobs}

    groups: dict[tuple[str | None, str], list[float]] = defaultdict(list)
    for (job_id, _), (wait, flag) in reference.waits(jobs).items():
        gang = reference.bucket(by_id[job_id].gpus)
        if flag is None and gang:
            groups[None, gang].append(wait)
            groups[by_id[job_id].vc or "(none)", gang].append(wait)
    table = found["queueing_delay"]
    assert len(table) == 101 * len(groups)
    for row in table.to_dict("records"):
        group = groups[None if pd.isna(row["vc"]) else row["vc"], row["gang"]]
        assert row["waits"] == len(group)
        assert row["zeros"] == group.count(0)
        wait_s = reference.interpolated(group, row["percentile"])
        assert row["wait_s"] == pytest.approx(wait_s, rel=1e-9)

    lengths: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for job in jobs:
        mine = runs[job.job_id]
        if mine.span is not None and mine.flag is None and (gang := reference.bucket(job.gpus)):
            lengths[gang].append((mine.span, mine.censored))
    table = found["run_time"]
    assert len(table) == 101 * len(lengths)
    curves = {gang: reference.product_limit(seen) for gang, seen in lengths.items()}
    for row in table.to_dict("records"):
        seen = lengths[row["gang"]]
        assert (row["jobs"], row["censored"]) == (len(seen), sum(censored for _, censored in seen))
        least = row["percentile"] / 100 - 1e-9
        reached = [t for t, f in curves[row["gang"]] if f >= least]
        assert row["run_s"] == reached[0] if reached else pd.isna(row["run_s"]), row

    table = found["job_status"]
    assert dict(zip(table["status"], table["jobs"], strict=True)) == Counter(j.status for j in jobs)
    for row in table.to_dict("records"):
        ended = [runs[j.job_id] for j in jobs if j.status == row["status"]]
        assert row["gpu_h"] == exactly(sum(r.gpu_h or 0 for r in ended))
        assert row["running"] == sum(r.censored for r in ended)

    for row in found["retries"].to_dict("records"):
        made = [
            (len(j.attempts), j.status)
            for j in jobs
            if j.attempts and j.gpus and row["gang"] in ("all", reference.bucket(j.gpus))
        ]
        assert row["jobs"] == len(made)
        assert row["attempts"] == sum(n for n, _ in made)
        assert row["retries_per_job"] == pytest.approx(sum(n - 1 for n, _ in made) / len(made))
        assert row["retried_pct"] == pytest.approx(100 * sum(n > 1 for n, _ in made) / len(made))
        failed = sum(status == "Failed" for _, status in made)
        assert row["unsuccessful_pct"] == pytest.approx(100 * failed / len(made))
