"""Compare waits and run times of the shared relations with a plain-Python reference."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, random_tables, seconds, trace_of, write_tables
from tests.analyses.references import log_end

Flawed = tuple[dict[str, pl.DataFrame], Trace]


def _by_job(tables: dict[str, pl.DataFrame]) -> dict[str, list[dict[str, Any]]]:
    attempts = defaultdict(list)
    for row in tables["attempts"].sort("job_id", "attempt").iter_rows(named=True):
        attempts[row["job_id"]].append(row)
    return attempts


@pytest.fixture(params=range(5))
def flawed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flawed]:
    tables = random_tables(request.param, jobs=80)
    with Trace(write_tables(tmp_path / "t", tables)) as trace:
        yield tables, trace


def test_waits_equal_a_plain_walk(flawed: Flawed) -> None:
    tables, trace = flawed
    attempts = _by_job(tables)
    expected = {}
    for job in tables["jobs"].filter(pl.col("gpus") > 0).iter_rows(named=True):
        since = job["submitted_at"]
        for a in attempts[job["job_id"]]:
            if since is not None and a["started_at"] is not None:
                expected[job["job_id"], a["attempt"]] = seconds(since, a["started_at"])
            since = a["ended_at"]
    rows = trace.sql("select job_id, attempt, wait_s, flag from waits").fetchall()
    assert {(j, a): w for j, a, w, _ in rows} == expected
    assert {f for _, _, w, f in rows if w < 0} <= {"negative_wait"}
    assert all(f is None for _, _, w, f in rows if w >= 0)
    assert any(w < 0 for _, _, w, _ in rows), "the random trace has overlapping attempts"


def test_run_times_equal_a_plain_walk(flawed: Flawed) -> None:
    tables, trace = flawed
    attempts, last_moment = _by_job(tables), log_end(tables)
    rows = {r["job_id"]: r for r in trace.answer("job_runs").pl().iter_rows(named=True)}
    jobs = tables["jobs"].filter(pl.col("gpus") > 0)
    assert len(rows) == jobs.height < tables["jobs"].height
    for job in jobs.iter_rows(named=True):
        made, row = attempts[job["job_id"]], rows[job["job_id"]]
        started = [a for a in made if a["started_at"] is not None]
        ends = {
            a["attempt"]: last_moment if a["ended_at"] is None and a is made[-1] else a["ended_at"]
            for a in started
        }
        assert row["attempts"] == len(made)
        assert row["censored"] == any(a is made[-1] and a["ended_at"] is None for a in started)
        if not started or ends[started[-1]["attempt"]] is None:
            assert row["span_s"] is None and row["sum_s"] is None
            continue
        known = [(a["started_at"], ends[a["attempt"]]) for a in started if ends[a["attempt"]]]
        held = [seconds(s, e) for s, e in known]
        first = min(a["started_at"] for a in started)
        assert row["span_s"] == seconds(first, max(e for _, e in known))
        assert row["sum_s"] == pytest.approx(sum(held))
        assert row["last_s"] == held[-1]
        assert row["run_s"] == row["span_s"]
        assert row["gpu_h"] == pytest.approx(sum(held) * job["gpus"] / 3600)


def test_an_attempt_that_never_started_does_not_hide_the_runs(tmp_path: Path) -> None:
    jobs = [("a", "v", "u", 1, 0, "Failed"), ("b", "v", "u", 1, 0, None)]
    attempts = [("a", 1, 5, 15), ("a", 2, None, None), ("b", 1, 0, None), ("b", 2, None, None)]
    with Trace(trace_of(tmp_path / "t", jobs, attempts)) as trace:
        rows = trace.sql("select span_s, censored, flag from job_runs order by job_id").fetchall()
    assert rows == [(600.0, False, None), (None, False, "end_unknown")]


def test_time_held_before_eligibility_is_told_apart(tmp_path: Path) -> None:
    columns = ("job_id", "gpus", "submitted_at", "eligible_at")
    jobs = frame("jobs", columns, [("a", 1, 0, 30), ("b", 1, 0, None), ("c", 1, 0, 90)])
    attempts = [("a", 1, 40, 50), ("a", 2, 60, 70), ("b", 1, 40, 50), ("c", 1, 40, 50)]
    with Trace(trace_of(tmp_path / "t", jobs, attempts)) as trace:
        rows = trace.sql(
            "select job_id, attempt, wait_s, held_s from waits order by all"
        ).fetchall()
    assert rows == [("a", 1, 2400, 1800), ("a", 2, 600, 0), ("b", 1, 2400, 0), ("c", 1, 2400, 2400)]


def test_every_attempt_and_job_is_measured_or_left_out_with_a_reason(flawed: Flawed) -> None:
    tables, trace = flawed
    out = dict(trace.sql("select what, sum(n)::int from exclusions group by all").fetchall())
    [(waits,)] = trace.sql("select count(*) from waits where flag is null and gpus > 0").fetchall()
    [(runs,)] = trace.sql(
        "select count(*) from job_runs where flag is null and gpus > 0 and run_s is not null"
    ).fetchall()
    assert waits + out["wait"] == tables["attempts"].height
    assert runs + out["run time"] == tables["jobs"].height


def test_gpu_hours_per_day_equal_a_walk_minute_by_minute(flawed: Flawed) -> None:
    _, trace = flawed
    expected: dict[tuple[date, str | None], float] = defaultdict(float)
    runs = trace.answer("attempt_runs").pl()
    for row in runs.filter(pl.col("until_at").is_not_null()).iter_rows(named=True):
        minute = row["started_at"]
        while minute < row["until_at"]:
            expected[minute.date(), row["vc"]] += row["gpus"] / 60
            minute += timedelta(minutes=1)
    rows = {(d, v): h for d, v, h in trace.answer("vc_days").fetchall()}
    assert rows == pytest.approx({k: v for k, v in expected.items() if v}, abs=1e-9)
