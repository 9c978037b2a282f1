"""Compare arrivals, concentration, groups and run policies with NumPy and known numbers."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis.analyses import (
    arrivals,
    concentration,
    queueing_delay_by_group,
    run_policy,
    run_time_by_group,
    waits_by_day,
)
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.trace import Trace
from philly_analysis.trace.writer import write_trace
from tests.analyses.clusters import random_tables, trace_of, write_tables
from tests.support.facts import number


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with Trace(write_tables(tmp_path_factory.mktemp("s") / "t", random_tables(5, 300))) as opened:
        yield opened


def test_gini_of_known_distributions() -> None:
    assert concentration.gini(pd.Series([3, 3, 3, 3])) == 0
    assert concentration.gini(pd.Series([0, 0, 0, 5])) == 0.75
    assert concentration.gini(pd.Series([1, 2, 3, 4])) == pytest.approx(0.25)
    assert concentration.gini(pd.Series([7])) is None


def test_concentration_adds_up(trace: Trace) -> None:
    table = concentration.compute(trace).table
    jobs = trace.sql('select "user", vc, gpu_h from job_runs').df()
    for kind in ("user", "vc"):
        rows = table[table["kind"] == kind].sort_values("rank")
        sums = jobs.groupby(kind)["gpu_h"].agg(["sum", "size"]).sort_values("sum", ascending=False)
        assert rows["name"].to_list() == sums.index.to_list()
        np.testing.assert_allclose(
            rows["gpu_h_pct"], 100 * sums["sum"].cumsum() / sums["sum"].sum()
        )
        np.testing.assert_allclose(
            rows["jobs_pct"], 100 * sums["size"].cumsum() / sums["size"].sum()
        )


def test_arrivals_by_hour_of_the_week(trace: Trace) -> None:
    result = arrivals.compute(trace)
    at = trace.sql("select submitted_at from jobs where gpus > 0").df()["submitted_at"]
    counts = at.groupby([at.dt.day_of_week + 1, at.dt.hour]).size()
    table = result.table.set_index(["weekday", "hour"])
    assert table["jobs"][table["jobs"] > 0].to_dict() == counts.to_dict()
    hours = pd.Series(0, pd.date_range(at.min().floor("h"), at.max().floor("h"), freq="h"))
    hours = hours.add(at.dt.floor("h").value_counts(), fill_value=0)
    assert table["hours"].sum() == len(hours)
    assert result.fact("hourly_dispersion") == pytest.approx(hours.var(ddof=0) / hours.mean())
    gaps = at.sort_values().diff().dt.total_seconds().dropna()
    assert result.fact("gap_cv") == pytest.approx(gaps.std(ddof=0) / gaps.mean())
    assert result.fact("zero_gap_pct") == pytest.approx(100 * (gaps == 0).mean())


def test_waits_by_day_and_group_equal_numpy(trace: Trace) -> None:
    waits = trace.sql('select *, "user" as who from waits where flag is null and gpus > 0').df()
    days = waits_by_day.compute(trace).table
    by_day = waits.groupby(waits["since_at"].dt.date)["wait_s"]
    np.testing.assert_allclose(days["p90_s"], by_day.quantile(0.9))
    assert days["gpu_wait_h"].sum() == pytest.approx((waits["wait_s"] * waits["gpus"]).sum() / 3600)
    table = queueing_delay_by_group.compute(trace).table.set_index(["kind", "name"])
    monday = waits["since_at"].dt.to_period("W-SUN").dt.start_time.dt.strftime("%Y-%m-%d")
    for kind, key in (
        ("user", waits["who"].fillna("(none)")),
        ("vc", waits["vc"].fillna("(none)")),
        ("week", monday),
    ):
        groups = waits.groupby(key)["wait_s"]
        assert table.loc[kind]["waits"].to_dict() == groups.size().to_dict()
        for p in (5, 25, 50, 75, 95, 99):
            np.testing.assert_allclose(table.loc[kind][f"p{p}_s"], groups.quantile(p / 100))


def test_run_times_by_group_equal_numpy(trace: Trace) -> None:
    runs = trace.sql(
        "select coalesce(vc, '(none)') as vc, run_s from job_runs "
        "where flag is null and gpus > 0 and run_s is not null"
    ).df()
    table = run_time_by_group.compute(trace).table.set_index(["kind", "name"]).loc["vc"]
    np.testing.assert_allclose(table["p75_s"], runs.groupby("vc")["run_s"].quantile(0.75))
    assert table["jobs"].sum() == len(runs)


def test_three_policies_of_three_jobs(tmp_path: Path) -> None:
    jobs = [
        ("a", "v", "u", 1, 0, "Pass"),
        ("b", "v", "u", 1, 0, "Pass"),
        ("c", "v", "u", 1, 0, None),
    ]
    # b: 10 min, waits 20, 5 min; c still runs
    attempts = [("a", 1, 0, 60), ("b", 1, 0, 10), ("b", 2, 30, 35), ("c", 1, 0, None)]
    with Trace(trace_of(tmp_path / "t", jobs, attempts)) as trace:
        result = run_policy.compute(trace)
        assert result.fact("jobs") == 2 and result.fact("retried") == 1
        values = {p: number(result, f"median_retried_{p}_s") / 60 for p in ("span", "sum", "last")}
    assert values == {"span": 35, "sum": 15, "last": 5}
    assert result.fact("total_sum_h") == pytest.approx(75 / 60)


@pytest.mark.real_data
def test_burstiness_of_the_passed_jobs_of_the_study(traces: Path, tmp_path: Path) -> None:
    """Others measured on the same file: CV 15.1, hourly dispersion 164, 8 % zero gaps, 3.3."""
    rows = pl.read_csv(traces / "philly-passed-jobs" / "philly.csv.gz", try_parse_dates=True)
    jobs = rows.select(
        job_id=pl.int_range(pl.len()).cast(pl.String), gpus="num_gpus", submitted_at="timestamp"
    ).drop_nulls()  # one row has no time
    manifest = Manifest(name="passed", source="test", synthetic=False)
    with Trace(write_trace(tmp_path / "t", {"jobs": jobs}, manifest)) as trace:
        result = arrivals.compute(trace)
    assert result.fact("gap_cv") == pytest.approx(15.1, abs=0.1)
    assert result.fact("hourly_dispersion") == pytest.approx(164, rel=0.05)
    assert result.fact("zero_gap_pct") == pytest.approx(8, abs=1)
    assert result.fact("peak_to_trough") == pytest.approx(3.3, abs=0.2)
