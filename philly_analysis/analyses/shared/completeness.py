"""Detect traces that lack jobs of their cluster, whose causes of waits cannot be determined.

GPUs of missing jobs look free, so that waits for GPUs have no cause, or a wrong cause.
"""

from collections.abc import Iterable

from philly_analysis.results import share
from philly_analysis.trace import Trace

_PREFERRED = ("given", "p99", "none")
_WINDOW = {"window"}
"""Criteria of samples that have all jobs of their time."""

_LITTLE_USED = 0.25
"""Share of GPUs allocated below which other jobs are suspected to use GPUs."""

_MOSTLY = 0.5
"""Share of unexplained waiting time from which a little used cluster's trace is incomplete."""


def missing_jobs(trace: Trace) -> str:
    """Return why the trace is known to lack jobs of its cluster, as a clause; empty if it is not.

    The first reason is that the jobs are declared to be a sample, by other criteria than their
    time. The second reason is low use with long waits: less than a quarter of the GPUs is
    allocated, and most of the waiting time has no cause. The waiting gangs had room within their
    quotas.
    """
    sample = trace.manifest.sample
    if sample is not None and set(sample.by) != _WINDOW:
        return "the trace has a sample of the jobs"
    if not (trace.has("idle_gpus") and trace.has("delay_causes")):
        return ""
    idle = trace.answer("idle_gpus").df()[["held_gpu_h", "capacity_gpu_h"]].sum()
    causes = trace.answer("delay_causes").df()
    waits = causes[causes["method"] == preferred(causes["method"])]
    wait_s = float(waits["time_s"].sum())
    unknown_s = float(waits.loc[waits["cause"] == "unknown", "time_s"].sum())
    if not wait_s > 0 or not idle["capacity_gpu_h"] > 0:
        return ""
    used, unknown = idle["held_gpu_h"] / idle["capacity_gpu_h"], unknown_s / wait_s
    if used >= _LITTLE_USED or unknown < _MOSTLY:
        return ""
    return (
        f"the jobs use {share(used)} of the GPUs, and yet there was room within the quota for "
        f"{share(unknown)} of the waiting time"
    )


def preferred(methods: Iterable[str]) -> str:
    """Return the best of the methods by which quotas are known."""
    available = set(methods)
    return next((m for m in _PREFERRED if m in available), "none")
