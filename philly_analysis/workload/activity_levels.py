"""Measure how many GPUs are allocated, and how many are waited for, over time."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats
from philly_analysis.trace import Trace

_INTERVALS = 96


def activity(trace: Trace, begin: datetime, end: datetime) -> pd.DataFrame:
    """Return the mean number of GPUs allocated and waited for, in 96 intervals of equal length.

    Parameters
    ----------
    begin, end
        Bounds of the first and the last interval, UTC without a zone.

    Returns
    -------
    pandas.DataFrame
        Columns at (start of the interval, UTC), allocated_gpus, waiting_gpus (gang sizes of waiting
        attempts, of attempts that started).
    """
    begin_s, end_s = (moment.replace(tzinfo=UTC).timestamp() for moment in (begin, end))
    edges_s = np.linspace(begin_s, end_s, _INTERVALS + 1)
    runs = trace.sql(
        "select epoch(started_at) as start_s, epoch(until_at) as end_s, gpus from attempt_runs "
        "where until_at > started_at and not guest"
    )
    waits = trace.sql(
        "select epoch(since_at) as start_s, epoch(started_at) as end_s, gpus from waits "
        "where started_at > since_at"
    )
    levels = {
        f"{name}_gpus": mean_level(spans["start_s"], spans["end_s"], spans["gpus"], edges_s)
        for name, spans in (("allocated", runs.fetchnumpy()), ("waiting", waits.fetchnumpy()))
    }
    at = pd.to_datetime(edges_s[:-1], unit="s").round("s")
    return pd.DataFrame({"at": at, **levels})


def mean_level(start: Floats, end: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return the mean sum of the weights of what is under way, in each interval.

    Parameters
    ----------
    start, end, weight
        Bounds and weight of each, shape (n,).
    edges
        Bounds of the intervals, rising, shape (k + 1,).

    Returns
    -------
    numpy.ndarray
        Shape (k,).
    """
    moments = np.concatenate([start, end])
    if not moments.size:
        return np.zeros(len(edges) - 1)
    order = np.argsort(moments)
    level = np.cumsum(np.concatenate([weight, -np.asarray(weight, float)])[order])
    moments = moments[order]
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(moments))])
    return np.asarray(np.diff(np.interp(edges, moments, area)) / np.diff(edges))
