"""Check failure rates and training time ratios by hand, by simulation, and by Meta's figures."""

import math
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from philly_analysis import analyze
from philly_analysis.analyses import reliability
from philly_analysis.analyses.shared.training_ratio import (
    Recovery,
    optimum_interval,
    training_ratio,
)
from philly_analysis.errors import InputError
from philly_analysis.results import Rate, Result
from philly_analysis.simulator import Failures, simulate
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import Workload, fleet
from tests.support.clusters import MakeTrace, frame, write_tables

JOB = ("job_id", "vc", "user", "gpus", "submitted_at")
ENDED = ("job_id", "attempt", "started_at", "ended_at", "end_reason")
DAY = 1440
"""Minutes."""

RSC_1, RSC_2 = 6.50, 2.34
"""Failures per 1,000 node-days of Meta's clusters (Kokolis et al., HPCA 2025)."""


@pytest.fixture
def lost(make_trace: MakeTrace) -> Result:
    """Two servers of 8 GPUs. m0 fails under a and b at once; the gang c is lost; e is unharmed.

    a and b hold half of m0 until day 1, c holds both servers until day 4, e holds m1 until day 10.
    Jobs a, c and e wait for 10, 20 and 30 minutes.
    """
    jobs = [("a", "v", "u", 4, -10), ("b", "v", "u", 4, -10), ("c", "v", "u", 16, DAY - 20),
            ("e", "v", "u", 8, 4 * DAY - 30)]  # fmt: skip
    attempts = [("a", 1, 0, DAY, "node_failure"), ("b", 1, 0, DAY, "failed"),
                ("c", 1, DAY, 4 * DAY, "node_failure"),
                ("e", 1, 4 * DAY, 10 * DAY, "failed")]  # fmt: skip
    held = {("a", "m0"): range(4), ("b", "m0"): range(4, 8), ("c", "m0"): range(8),
            ("c", "m1"): range(8), ("e", "m1"): range(8)}  # fmt: skip
    output = [("b", "GPU ECC error", "AE", None), ("c", "CUDA failure", "AE", "nvlink_error"),
              ("e", "MPI runtime failure", "IF", None)]  # fmt: skip
    failures = pl.DataFrame(output, ["job_id", "reason", "tier", "fine"], orient="row")
    trace = make_trace(
        frame("jobs", JOB, jobs),
        frame("attempts", ENDED, attempts),
        machines={"m0": 8, "m1": 8},
        placements=[(j, 1, m, g) for (j, m), gpus in held.items() for g in gpus],
        failures=failures.with_columns(attempt=pl.lit(1, pl.Int32)),
    )
    return analyze(trace, "reliability")


def row_of(table: pd.DataFrame, gpus: int) -> dict[str, Any]:
    """Return the row of a gang size."""
    [row] = table[table["gpus"] == gpus].to_dict("records")
    return {str(name): value for name, value in row.items()}


def test_failures_by_cause_of_a_log_drawn_by_hand(lost: Result) -> None:
    assert lost.table["gpus"].dtype == "float64", "a result of objects is not cached"
    causes = lost.table[lost.table["gpus"].isna()].set_index(["tier", "cause"])
    # m0 is in use for 4 days, m1 for 9; 104 GPU-days are 8 of a and b, 48 of c, 48 of e
    assert causes["part_days"].unique() == pytest.approx([13])
    assert causes["gpu_days"].unique() == pytest.approx([104])
    # a and b are one failure, named for a, whose output is unknown
    seen = causes["failures"][causes["failures"] > 0].to_dict()
    assert seen == {
        ("hardware", "all"): 2,
        ("hardware", "lost server"): 1,
        ("hardware", "NVLink error"): 1,
        ("infrastructure", "all"): 1,
        ("infrastructure", "MPI runtime failure"): 1,
    }
    rows = {(r["tier"], r["cause"]): r for r in causes.reset_index().to_dict("records")}
    row = rows["hardware", "all"]
    assert row["per_1000_part_days"] == pytest.approx(2000 / 13)
    assert row["per_1000_gpu_days"] == pytest.approx(2000 / 104)
    # Garwood's interval, from quantiles of the gamma distribution
    low, high = stats.gamma.ppf(0.025, 2), stats.gamma.ppf(0.975, 3)
    ends = [row[f"per_1000_part_days_{end}"] for end in ("low", "high")]
    assert ends == pytest.approx([1000 * low / 13, 1000 * high / 13])
    none = rows["hardware", "GPU off the bus"]
    assert none["per_1000_part_days_high"] == pytest.approx(1000 * -math.log(0.05) / 13)


@pytest.mark.slow
def test_gangs_of_a_log_drawn_by_hand(lost: Result) -> None:
    one, two = row_of(lost.table, 8), row_of(lost.table, 16)
    assert (one["failures"], one["part_days"], one["gpu_days"]) == pytest.approx((1, 7, 56))
    assert (two["failures"], two["part_days"], two["gpu_days"]) == pytest.approx((1, 6, 48))
    assert (one["wait_s"], two["wait_s"]) == (600, 1200)
    mttf_s = 86_400 * 13 / 2 / 2
    assert two["mttf_s"] == pytest.approx(mttf_s)
    # the first-order formula of Kokolis et al. with hourly checkpoints and 5 minutes of each cost
    first_order = (1 - (300 + 1800) / mttf_s) / (1 + 300 / 3600)
    assert two["ratio"] == pytest.approx(first_order, rel=1e-3)
    assert two["ratio_with_wait"] == pytest.approx(two["ratio"] / (1 + 1200 / mttf_s))
    assert two["optimum_s"] == pytest.approx(math.sqrt(2 * 300 * mttf_s) - 300)
    # one failure in 7 and one in 6 server-days: as even as two failures can be
    assert lost.fact("size_unevenness_p") == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("gpus", "hours"), [(16_384, 1.8), (131_072, 0.23)])
def test_metas_projected_times_to_failure_follow_from_its_rate(gpus: int, hours: float) -> None:
    """Check the published projections: 1.8 h and 0.23 h, at 6.50 failures per 1,000 node-days."""
    days = 1_000_000
    events = round(days * RSC_1 / 1000)
    mean_days, _, _ = Rate(events, days).mean_time(gpus / 8)
    assert 24 * mean_days == pytest.approx(hours, rel=0.025)


def test_metas_ratio_of_a_run_on_100_000_gpus_follows_from_its_rate() -> None:
    """Check the published claim: intervals and restarts of 2 minutes reach a ratio of 0.9."""
    mttf_s = 86_400 * 1000 / (RSC_2 * 100_000 / 8)
    two_minutes, ten_minutes = (Recovery(s, 0, s) for s in (120, 600))
    assert training_ratio(mttf_s, two_minutes) >= 0.9 > training_ratio(mttf_s, ten_minutes)


@pytest.mark.parametrize("gpus", [1024, 4096, 16_384])
@pytest.mark.parametrize("restart_s", [300, 1200])
def test_the_ratio_is_metas_formula_where_failures_are_rare(gpus: int, restart_s: float) -> None:
    """The paper reports that its formula is within about 5 % of a simulation."""
    mttf_s = 86_400 * 1000 / (RSC_1 * gpus / 8)
    interval_s = math.sqrt(2 * 300 * mttf_s)
    printed = (1 - (restart_s + interval_s / 2) / mttf_s) / (1 + 300 / interval_s)
    exact = float(training_ratio(mttf_s, Recovery(interval_s, 300, restart_s)))
    assert exact == pytest.approx(printed, rel=0.01 if gpus == 1024 else 0.12)


def run_time(rng: np.random.Generator, work: int, mttf: float, r: Recovery, wait_s: float) -> float:
    """Return how long a run takes that needs so many checkpoints, one event after another."""
    now = 0.0
    fails_at = rng.exponential(mttf)
    ready_at = r.restart_s
    while work:
        written_at = ready_at + r.checkpoint_s + r.write_s
        if written_at <= fails_at:
            work, ready_at = work - 1, written_at
            continue
        ready_at = fails_at + wait_s + r.restart_s
        # no failure is possible while the run waits
        fails_at += wait_s + rng.exponential(mttf)
        now = ready_at
    return max(now, ready_at)


@pytest.mark.parametrize(("mttf_s", "wait_s"), [(2e5, 0), (2e4, 600), (3e3, 0), (3e3, 1800)])
def test_the_ratio_is_that_of_runs_one_failure_after_another(mttf_s: float, wait_s: float) -> None:
    recovery = Recovery(checkpoint_s=1800, write_s=120, restart_s=240)
    rng = np.random.default_rng(1)
    checkpoints = 400
    times = [run_time(rng, checkpoints, mttf_s, recovery, wait_s) for _ in range(60)]
    ratio = float(training_ratio(mttf_s, recovery, wait_s))
    half = stats.t.ppf(0.995, 59) * np.std(times, ddof=1) / math.sqrt(60)
    expected = checkpoints * 1800 / ratio
    assert abs(np.mean(times) - expected) < half + recovery.restart_s


@pytest.mark.parametrize("mttf_s", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("write_s", [10, 300])
def test_no_interval_is_much_better_than_the_best(mttf_s: float, write_s: float) -> None:
    grid = [float(training_ratio(mttf_s, Recovery(s, write_s))) for s in np.geomspace(1, 1e7, 2000)]
    best = float(
        training_ratio(mttf_s, Recovery(float(optimum_interval(mttf_s, write_s)), write_s))
    )
    assert max(grid) == pytest.approx(best, rel=0.03)


def test_without_failures_a_run_only_writes_checkpoints() -> None:
    assert training_ratio(math.inf, Recovery(900, 100, 300), 600) == pytest.approx(0.9)
    assert optimum_interval(10, 20) == 10  # Daly: at most the mean time to failure
    with pytest.raises(InputError, match="negative time"):
        Recovery(write_s=-1)


@pytest.mark.slow
def test_zero_failures_bound_the_rate_if_the_log_would_record_them(tmp_path: Path) -> None:
    tables = {
        "jobs": frame("jobs", JOB, [("a", "v", "u", 8, 0), ("b", "v", "u", 0, 0)]),
        "attempts": frame("attempts", ENDED, [("a", 1, 0, DAY, "time_limit"),
                                              ("b", 1, 0, 10, "completed")]),
    }  # fmt: skip
    silent = analyze(write_tables(tmp_path / "silent", tables, "table"), "reliability")
    assert silent.table.empty and not silent.caveats
    [sentence] = silent.sentences
    assert "no evidence that it would record one" in sentence
    # Slurm names lost servers; and so does a log in which a job without GPUs lost its server
    lost = frame(
        "attempts", ENDED, [("a", 1, 0, DAY, "time_limit"), ("b", 1, 0, 9, "node_failure")]
    )
    for name, source, attempts in (("s", "slurm", tables["attempts"]), ("t", "table", lost)):
        folder = write_tables(tmp_path / name, tables | {"attempts": attempts}, source)
        result = analyze(folder, "reliability")
        assert result.fact("hardware_failures") == 0
        bound = result.fact("hardware_per_1000_gpu_days_high")
        assert bound == pytest.approx(1000 * -math.log(0.05) / 8)
        assert np.isnan(result.table["ratio"]).all()
        row = row_of(result.table, 1024)
        mttf_s = 86_400 * 8 / -math.log(0.05) / 1024
        assert row["ratio_low"] == pytest.approx(float(training_ratio(mttf_s, Recovery())))


@pytest.mark.slow
def test_other_times_of_checkpoints_are_a_parameter(lost: Result, tmp_path: Path) -> None:
    jobs = frame("jobs", JOB, [("a", "v", "u", 8, 0)])
    attempts = frame("attempts", ENDED, [("a", 1, 0, DAY, "node_failure")])
    with Trace(write_tables(tmp_path / "t", {"jobs": jobs, "attempts": attempts})) as trace:
        result = reliability.compute(trace, Recovery(checkpoint_s=600, write_s=0, restart_s=60))
    assert result.fact("checkpoint_s") == 600
    row = row_of(result.table, 8)
    assert row["ratio"] == pytest.approx(1 - (60 + 300) / 86_400, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2, 4, 8])
def test_the_ratio_agrees_with_a_simulation(servers: int, tmp_path: Path) -> None:
    """One long run on a cluster with spare servers, so that the run does not wait after failures.

    The simulator has checkpoints of no cost. The rate is estimated from the simulated traces.
    """
    origin, work_s, mttf_s = datetime(2026, 1, 5), 40 * 86_400, 2e5
    jobs = pl.DataFrame({"job_id": ["a"], "vc": ["v"], "user": ["u"], "gpus": [8 * servers],
                         "submitted_at": [origin], "status": ["Pass"]})  # fmt: skip
    attempts = pl.DataFrame({"job_id": ["a"], "attempt": [1], "gpus": [8 * servers],
                             "started_at": [origin],
                             "ended_at": [origin + timedelta(seconds=work_s)]})  # fmt: skip
    load = Workload(name="run", jobs=jobs, attempts=attempts)
    recovery = Recovery(checkpoint_s=7200, write_s=0, restart_s=0)
    times, estimates = [], []
    for seed in range(12):
        out = simulate(load, "fifo", tmp_path / str(seed), cluster=fleet("16x8:64:500"),
                       outages=Failures(machine_s=mttf_s, machine_repair_s=600),
                       checkpoint_s=recovery.checkpoint_s, seed=seed)  # fmt: skip
        with Trace(out) as trace:
            [(first, last)] = trace.sql(
                "select min(started_at), max(ended_at) from attempts"
            ).fetchall()
            times.append((last - first).total_seconds())
            found = row_of(reliability.compute(trace, recovery).table, 8 * servers)
            estimates.append([found["ratio_low"], found["ratio_high"]])
    ratio = float(training_ratio(mttf_s / servers, recovery))
    half = stats.t.ppf(0.995, 11) * np.std(times, ddof=1) / math.sqrt(12)
    assert abs(np.mean(times) - work_s / ratio) < half
    # a 95 % interval misses at most 3 of 12 with a probability of 0.998
    assert sum(low <= ratio <= high for low, high in estimates) >= 9
