"""Scheduling measures of a trace: completion times, waits, GPU allocation, fairness."""

import tomllib
from pathlib import Path

import pandas as pd

from philly_analysis.trace import HOLDS, Trace

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SCALARS = tuple((name, str(unit), str(meaning)) for name, (unit, meaning) in _TABLE.items())
"""Measures with one number per trace: name, unit, meaning. The order is the table's."""

CURVES = ("jct_s", "wait_s")
"""Measures that are distributions."""


def measures(trace: Trace, ended: pd.DataFrame | None = None) -> dict[str, float]:
    """Return the scalar measures for which a trace has the tables, by name.

    Parameters
    ----------
    ended
        Rows of the relation ``completions`` to measure; None: all.
    """
    if ended is None:
        ended = trace.answer("completions").df()
    numbers: dict[str, float] = {"jobs": len(ended)}
    if len(ended):
        for name in CURVES:
            times = ended[name]
            numbers[f"mean_{name}"] = float(times.mean())
            numbers |= {f"p{p}_{name}": float(times.quantile(p / 100)) for p in (50, 99)}
        by_vc = ended.groupby("vc", dropna=False)["slowdown"].mean().to_numpy()
        numbers["vc_fairness"] = float(by_vc.sum() ** 2 / (len(by_vc) * (by_vc**2).sum()))
    [(began_at, _, ended_at)] = trace.answer("snapshot").fetchall()
    if began_at and ended_at:
        numbers["makespan_s"] = (ended_at - began_at).total_seconds()
    if trace.has("idle_gpus"):
        hours = trace.answer("idle_gpus").df().drop(columns="week").sum()
        if hours["capacity_gpu_h"]:
            numbers["held_frac"] = float(hours["held_gpu_h"] / hours["capacity_gpu_h"])
        if hours["idle_gpu_h"]:
            numbers["fragmented_frac"] = float(hours["partly_gpu_h"] / hours["idle_gpu_h"])
    attempts = trace.answer("attempts").df()
    reasons = attempts.loc[attempts["job_id"].isin(ended["job_id"]), "end_reason"]
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
