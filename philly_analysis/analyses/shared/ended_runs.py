"""Count the runs that hardware and infrastructure ended, and the time in use of servers or GPUs."""

import numpy as np
import pandas as pd

from philly_analysis.analyses.gang_failures import Exposure
from philly_analysis.analyses.node_failures import (
    held_by,
    incidents,
    lost_attempts,
    lost_servers,
    records_failures,
)
from philly_analysis.failures import REASONS
from philly_analysis.results import Rate
from philly_analysis.trace import Trace

HARDWARE = ("GPU memory error", "GPU off the bus", "NVLink error", "lost server")
"""Causes that only a failed GPU or server explains."""

INFRASTRUCTURE = tuple(r.name for r in REASONS if r.tiers == ("IF",) and r.name != "Job preempted")
"""Reasons that the study attributes to infrastructure alone; preemption is no failure."""

ENDS = ("", "_low", "_high")
"""Suffixes of the columns of an estimate and the ends of its interval."""

_ATTEMPT = ["job_id", "attempt"]


def observes_failures(trace: Trace) -> bool:
    """Return whether the log shows that server failures are recorded: evidence of zero failures.

    One kind of evidence suffices: output of failed attempts, a recorded server failure on any job,
    with or without GPUs, or Slurm as the source. Slurm has a job state for server failures.
    """
    if "failures" in trace.tables or trace.manifest.source == "slurm":
        return records_failures(trace)
    lost = trace.answer("attempts").filter("end_reason = 'node_failure'")
    return bool(lost.limit(1).fetchall())


def ended_attempts(trace: Trace, seen: Exposure) -> pd.DataFrame:
    """Return the attempts that hardware or infrastructure ended, with cause and parts."""
    if "failures" in trace.tables:
        ended: pd.DataFrame = trace.answer("reliability_causes").df()
    else:
        ended = lost_attempts(trace).assign(tier="hardware", cause="lost server")
    if seen.part != "server":
        return ended.assign(parts=ended["gpus"])
    held = _held_servers(trace).drop_duplicates(_ATTEMPT)
    return ended.merge(held[[*_ATTEMPT, "servers"]].rename(columns={"servers": "parts"}))


def _held_servers(trace: Trace) -> pd.DataFrame:
    """Return the servers of attempts that hardware or infrastructure ended: a row for each."""
    if "failures" not in trace.tables:
        return lost_servers(trace)
    return held_by(trace, "reliability_causes")


def failures_of(trace: Trace, seen: Exposure, ended: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the attempts that begin a failure among the attempts of the same group.

    Attempts that one server failure ended count once per group, as in :mod:`node_failures`. In a
    log without servers, each attempt counts.
    """
    if seen.part != "server":
        return ended
    held = _held_servers(trace)
    groups = []
    for _, attempts in ended.groupby(by):
        rows = incidents(attempts, held)
        groups.append(attempts.merge(rows.loc[rows["begins"], _ATTEMPT].drop_duplicates()))
    return pd.concat(groups) if groups else ended


def time_in_use(trace: Trace, seen: Exposure) -> pd.DataFrame:
    """Return the time in use by parts of the gang: parts, part_days, gpu_days."""
    if seen.part == "server":
        used: pd.DataFrame = trace.answer("reliability").df()
        return used.rename(columns={"servers": "parts", "server_days": "part_days"})
    days = seen.gangs["parts"] * seen.gangs["gang_days"]
    return pd.DataFrame({"parts": seen.gangs["parts"], "part_days": days, "gpu_days": days})


def rates_row(failures: int, part_days: float, gpu_days: float) -> dict[str, float]:
    """Return failures, times in use, and failures per 1,000 days with 95 % intervals."""
    row: dict[str, float] = {"failures": failures, "part_days": part_days, "gpu_days": gpu_days}
    for of, days in (("part", part_days), ("gpu", gpu_days)):
        rate = Rate(failures, days)
        for end, value in zip(ENDS, (rate.per_unit, *rate.interval), strict=True):
            row[f"per_1000_{of}_days{end}"] = 1000 * value if days > 0 else np.nan
    return row
