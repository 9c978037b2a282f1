"""Compare arrivals, concentration and run policies with known numbers."""

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from philly_analysis.analyses import arrivals, concentration, run_policy
from philly_analysis.trace.trace import Trace
from tests.support.clusters import MakeTrace, write_tables
from tests.support.facts import number


def test_gini_of_known_distributions() -> None:
    assert concentration.gini(pd.Series([3, 3, 3, 3])) == 0
    assert concentration.gini(pd.Series([0, 0, 0, 5])) == 0.75
    assert concentration.gini(pd.Series([1, 2, 3, 4])) == pytest.approx(0.25)
    assert concentration.gini(pd.Series([7])) is None


def test_the_top_tenth_of_twenty_users_are_two(make_trace: MakeTrace) -> None:
    jobs = [(f"{i}", "v", f"u{i}", 1, 0, "Pass") for i in range(20)]
    result = concentration.compute(make_trace(jobs, [(f"{i}", 1, 0, i + 1) for i in range(20)]))
    assert result.fact("user_top_tenth_gpu_h_pct") == pytest.approx(100 * (20 + 19) / 210)
    assert result.fact("vc_top_tenth_gpu_h_pct") == 100


def test_the_busiest_hour_of_a_day_has_three_times_the_jobs_of_the_quietest(
    make_trace: MakeTrace,
) -> None:
    minutes = [60 * hour + m for hour in range(24) for m in ((0, 1, 2) if hour == 5 else (0,))]
    jobs = [(f"{m}", "v", "u", 1, m, "Pass") for m in minutes]
    result = arrivals.compute(make_trace(jobs, [("0", 1, 0, 1)]))
    assert result.fact("peak_to_trough") == 3


def test_three_policies_of_three_jobs(make_trace: MakeTrace) -> None:
    jobs = [(j, "v", "u", 1, 0, s) for j, s in (("a", "Pass"), ("b", "Pass"), ("c", None))]
    # b: 10 min, waits 20, 5 min; c still runs
    attempts = [("a", 1, 0, 60), ("b", 1, 0, 10), ("b", 2, 30, 35), ("c", 1, 0, None)]
    result = run_policy.compute(make_trace(jobs, attempts))
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
    with Trace(write_tables(tmp_path / "t", {"jobs": jobs}, synthetic=False)) as trace:
        result = arrivals.compute(trace)
    assert result.fact("gap_cv") == pytest.approx(15.1, abs=0.1)
    assert result.fact("hourly_dispersion") == pytest.approx(164, rel=0.05)
    assert result.fact("zero_gap_pct") == pytest.approx(8, abs=1)
    assert result.fact("peak_to_trough") == pytest.approx(3.3, abs=0.2)
