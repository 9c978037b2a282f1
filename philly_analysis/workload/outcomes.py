"""Scheduling measures of a trace: completion times, waits, GPU allocation, fairness."""

import tomllib
from math import inf
from pathlib import Path

import pandas as pd

from philly_analysis.trace import HOLDS, Trace
from philly_analysis.workload.window import gpu_time, submission_window

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SCALARS = tuple((name, str(unit), str(meaning)) for name, (unit, meaning) in _TABLE.items())
"""Measures with one number per trace: name, unit, meaning. The order is the table's."""

CURVES = ("jct_s", "wait_s")
"""Measures that are distributions."""


def bounds(measure: str) -> tuple[float, float]:
    """Return the least and the largest possible value of a measure."""
    if measure.endswith(("_frac", "_fairness")):
        return 0.0, 1.0
    return (1.0 if measure.endswith("slowdown") else 0.0), inf


def measures(
    trace: Trace, ended: pd.DataFrame | None = None, *, warmup: float = 0.0
) -> dict[str, float]:
    """Return the scalar measures for which a trace has the tables, by name.

    The window of measurement is the time of submissions, less a warm-up. Jobs that are submitted
    in the window count with their whole times. Shares of GPU time count the time in the window, so
    that the drain after the last submission is no idle time.

    Parameters
    ----------
    ended
        Rows of the relation ``completions`` to measure; None: all.
    warmup
        Share of the time from first to last submission that is cut at its start.
    """
    if ended is None:
        ended = trace.answer("completions").df()
    window = submission_window(trace, warmup)
    if warmup and window is not None:
        ended = ended[ended["submitted_at"] >= window.from_at]
    numbers: dict[str, float] = {"jobs": len(ended)}
    if len(ended):
        for name in CURVES:
            times = ended[name]
            numbers[f"mean_{name}"] = float(times.mean())
            numbers |= {f"p{p}_{name}": float(times.quantile(p / 100)) for p in (50, 99)}
        served = ended[ended["served_s"] > 0]
        for name, values in (
            ("slowdown", served["jct_s"] / served["served_s"]),
            ("bounded_slowdown", ended["slowdown"]),
        ):
            if len(values):
                numbers[f"mean_{name}"] = float(values.mean())
                numbers[f"p99_{name}"] = float(values.quantile(0.99))
        by_vc = ended.groupby("vc", dropna=False)["slowdown"].mean().to_numpy()
        numbers["vc_fairness"] = float(by_vc.sum() ** 2 / (len(by_vc) * (by_vc**2).sum()))
    [(began_at, _, ended_at)] = trace.answer("snapshot").fetchall()
    if began_at and ended_at:
        numbers["makespan_s"] = (ended_at - began_at).total_seconds()
    if trace.has("idle_gpus"):
        numbers |= gpu_time(trace, window)
    attempts = trace.answer("attempts").df()
    of_ended = attempts["job_id"].isin(ended["job_id"])
    reasons = attempts.loc[of_ended, "end_reason"]
    if warmup:
        attempts = attempts[of_ended]
    if reasons.notna().any():
        ends = {"preempted": "preemptions", "migrated": "migrations", "resized": "resizes"}
        numbers |= {name: float((reasons == reason).sum()) for reason, name in ends.items()}
    if attempts["lost_s"].notna().any():
        numbers["lost_gpu_h"] = float((attempts["lost_s"] * attempts["gpus"]).sum()) / 3600
    if HOLDS.name in trace.tables:
        incomplete = trace.answer(HOLDS.name).df()
        idle = (incomplete["ended_at"] - incomplete["started_at"]).sum()
        numbers["waiting_gpu_h"] = idle.total_seconds() / 3600
    return numbers
