"""Compute the change of utilisation at attempt starts and ends, for every clock offset."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.trace import MINUTE_US, FloatArray, IntArray, Trace, timestamps_us

WINDOW_MIN = 10
"""Length of the windows before and after an event, in minutes."""
WIDEST_MIN = 720
"""Largest offset of the samples' clock, in minutes."""

_SIDE = WIDEST_MIN + 2 * WINDOW_MIN
_MINUTES = 2 * _SIDE + 1
_OFFSETS = 2 * WIDEST_MIN + 1


def clock_steps(trace: Trace, name: str) -> pd.DataFrame:
    """Compare the ten minutes after events with the ten before, by week and offset.

    A sample longer than a minute covers each of its minutes; a minute with several samples has
    their mean. The minute of the event is in neither window. An event counts at an offset where
    all twenty minutes have samples.

    Parameters
    ----------
    name
        Relation of the samples: ``gpu_clock_readings`` or ``host_clock_readings``.

    Returns
    -------
    pandas.DataFrame
        A row per ``week`` (Monday of the event's week), ``event`` (start or end) and
        ``offset_min`` with events: number of ``events``, mean ``step_pct`` in percentage points,
        and its standard deviation ``sd_pct`` (NaN for one event).
    """
    samples = trace.answer(name).to_arrow_table()
    event, util = (samples[column].to_numpy() for column in ("event_no", "pct"))
    since, at = (timestamps_us(samples[column]) for column in ("since", "event_at"))
    minute = (since - at) // MINUTE_US + _SIDE
    lasts = np.ceil(samples["minutes"].to_numpy()).astype(np.int64)
    if lasts.max(initial=1) > 1:
        nth = np.arange(lasts.sum()) - np.repeat(np.cumsum(lasts) - lasts, lasts)
        event, minute, util = (np.repeat(values, lasts) for values in (event, minute, util))
        minute += nth
        inside = (minute >= 0) & (minute < _MINUTES)
        event, minute, util = event[inside], minute[inside], util[inside]
    events = trace.answer("clock_events").select("number", "week", "event").order("all").df()
    group, names = pd.factorize(pd.MultiIndex.from_frame(events[["week", "event"]]))
    place = events.groupby(group).cumcount().to_numpy()
    # narrow integers, which NumPy sorts by radix
    of_row = group.astype(np.min_scalar_type(len(names)))[event - 1]
    ends = np.cumsum(np.bincount(of_row, minlength=len(names)))
    rows = np.split(np.argsort(of_row, kind="stable"), ends)[:-1]
    summaries = [_summary(np.empty((0, _OFFSETS))).assign(week=events["week"][:0], event="")]
    for (week, kind), readings, drawn in zip(names, rows, np.bincount(group), strict=True):
        if not len(readings):  # jobs may run for months after the last sample
            continue
        cell = place[event[readings] - 1] * _MINUTES + minute[readings]
        steps = _steps(cell, util[readings], drawn)
        summaries.append(_summary(steps).assign(week=week, event=kind))
    return pd.concat(summaries, ignore_index=True)


def _steps(cell: IntArray, util: FloatArray, events: int) -> FloatArray:
    """Return the step of each event at each offset; NaN where a minute has no sample."""
    shape = (events, _MINUTES)
    readings = np.bincount(cell, minlength=events * _MINUTES).reshape(shape)
    total = np.bincount(cell, util, minlength=events * _MINUTES).reshape(shape)
    missing = _tens(readings == 0)
    tens = np.where(missing, np.nan, _tens(total / np.maximum(readings, 1)))
    before = tens[:, WINDOW_MIN : WINDOW_MIN + _OFFSETS]
    after = tens[:, 2 * WINDOW_MIN + 1 : 2 * WINDOW_MIN + 1 + _OFFSETS]
    steps: FloatArray = (after - before) / WINDOW_MIN
    return steps


def _tens(values: NDArray[np.generic]) -> FloatArray:
    """Return rolling sums of ten minutes, by the first minute."""
    sums = np.cumsum(values, axis=1, dtype=float)
    sums[:, WINDOW_MIN:] -= sums[:, :-WINDOW_MIN].copy()
    tens: FloatArray = sums[:, WINDOW_MIN - 1 :]
    return tens


def _summary(steps: FloatArray) -> pd.DataFrame:
    """Return number, mean and standard deviation of the steps at each offset with events."""
    events = (~np.isnan(steps)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(steps, axis=0) / events
        sd = np.sqrt(
            np.nansum((steps - mean) ** 2, axis=0) / np.where(events > 1, events - 1, np.nan)
        )
    table = pd.DataFrame(
        {
            "offset_min": np.arange(-WIDEST_MIN, WIDEST_MIN + 1),
            "events": events,
            "step_pct": mean,
            "sd_pct": sd,
        }
    )
    return table[table["events"] > 0]
