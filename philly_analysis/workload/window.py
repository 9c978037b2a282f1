"""Allocated and unallocated GPU time while jobs are submitted."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from philly_analysis.trace import Trace

_EPOCH = datetime(1970, 1, 1)
_FREE = ("free_before", "free_after")


@dataclass(frozen=True, slots=True)
class Window:
    """The time of measurement: from the first to the last submission, less a warm-up.

    The drain, after the last submission, is not part of the window.
    """

    from_at: datetime
    until_at: datetime

    @property
    def seconds(self) -> float:
        """Length of the window."""
        return (self.until_at - self.from_at).total_seconds()


def submission_window(trace: Trace, warmup: float = 0.0) -> Window | None:
    """Return the window of measurement of a trace; None: all jobs are submitted at one moment.

    Parameters
    ----------
    warmup
        Share of the time from first to last submission that is cut at its start.
    """
    [(first, last)] = (
        trace.answer("gpu_jobs").aggregate("min(submitted_at), max(submitted_at)").fetchall()
    )
    if first is None or first >= last:
        return None
    from_at = first + timedelta(seconds=warmup * (last - first).total_seconds())
    from_at = max(from_at, _complete_from(trace) or from_at)
    return Window(from_at, last) if from_at < last else None


def _complete_from(trace: Trace) -> datetime | None:
    """Return the time from which the log is complete; None: from its beginning."""
    [(complete_from,)] = trace.answer("snapshot").select("complete_from").fetchall()
    since: datetime | None = complete_from
    return since


def gpu_time(trace: Trace, window: Window | None) -> dict[str, float]:
    """Return the shares of GPU time allocated, and of idle GPU time on partly used servers.

    Parameters
    ----------
    window
        Time of measurement; None: from the first start, or the time from which the log is
        complete, to the last end.
    """
    [(gpus,)] = trace.answer("cluster_size").select("gpus").fetchall()
    free = {at: pl.when(pl.col(at) < pl.col("gpus")).then(at).otherwise(0) for at in _FREE}
    changes = (
        trace.answer("machine_use")
        .pl()
        .select(
            at_us=pl.col("moment") // 2,
            used=pl.col("free_before") - pl.col("free_after"),
            stranded=free["free_after"] - free["free_before"],
        )
        .group_by("at_us")
        .agg(pl.all().sum())
        .sort("at_us")
    )
    if changes.is_empty():
        return {}
    began, ended = changes["at_us"][0], changes["at_us"][-1]
    since = _complete_from(trace) if window is None else window.from_at
    if since is not None:
        began = max(began, (since - _EPOCH) // timedelta(microseconds=1))
    if window is not None:
        ended = (window.until_at - _EPOCH) // timedelta(microseconds=1)
    spans = changes.select(
        pl.col("used", "stranded").cum_sum(),
        lasted=pl.col("at_us")
        .shift(-1, fill_value=max(ended, changes["at_us"][-1]))
        .clip(began, ended)
        - pl.col("at_us").clip(began, ended),
    )
    capacity = gpus * (ended - began)
    held, partly = ((spans[name] * spans["lasted"]).sum() for name in ("used", "stranded"))
    numbers = {"held_frac": held / capacity} if capacity > 0 else {}
    if capacity - held > 0:
        numbers["fragmented_frac"] = partly / (capacity - held)
    return numbers
