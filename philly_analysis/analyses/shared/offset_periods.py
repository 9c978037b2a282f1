"""Estimate periods with one clock offset from steps of utilisation, by dynamic programming."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.analyses.shared.clock_steps import WINDOW_MIN

SURE_Z = 6.0
"""Least z of a step that counts: random steps among 1,441 offsets do not reach it."""

SPLIT_GAIN = 30.0
"""Least gain in the sum of squared z for a further period; noise adds about 10."""

AGREE_MIN = 2
"""Largest offset, in minutes, that rounding of the log and job teardown explain."""

FEWEST_EVENTS = 10
"""Fewest attempt ends or starts at an offset for a step to count."""
Floats = NDArray[np.float64]
_Falls: TypeAlias = tuple[Floats, Floats, Floats]
"""By offset: fall of utilisation in standard errors, mean step, number of events."""


@dataclass(frozen=True, slots=True)
class Period:
    """A range of weeks with one offset between the clocks.

    Attributes
    ----------
    from_at, until_at
        Start of the first week, and end of the last week.
    offset_min
        Minutes that the samples' clock is ahead; None without a clear step.
    step_pct
        Mean change of utilisation at attempt ends for `offset_min`, in percentage points.
    z
        Largest step over all offsets, in standard errors.
    rival_z
        Largest step at offsets more than an hour from `offset_min`, in standard errors.
    events
        Attempt ends with samples at `offset_min`.
    """

    from_at: datetime
    until_at: datetime
    offset_min: int | None
    step_pct: float
    z: float
    rival_z: float
    events: int

    @property
    def agrees(self) -> bool:
        """Whether the offset is known and negligible."""
        return self.offset_min is not None and abs(self.offset_min) <= AGREE_MIN

    @property
    def dates(self) -> str:
        """First and last day as text."""
        return f"{self.from_at:%Y-%m-%d} to {self.until_at - timedelta(days=1):%Y-%m-%d}"


def periods(steps: pd.DataFrame) -> list[Period]:
    """Partition the weeks into the fewest periods with one offset each.

    Dynamic programming maximises the sum over periods of the largest squared z, less `SPLIT_GAIN`
    for each. Only attempt ends count: GPUs become idle at once but busy only after minutes.

    Parameters
    ----------
    steps
        ``week``, ``event``, ``offset_min``, ``events``, ``step_pct``, ``sd_pct``.

    Returns
    -------
    list of Period
        Periods in order of time; empty without attempt ends.
    """
    ends = steps[steps["event"] == "end"]
    if ends.empty:
        return []
    weeks = sorted(ends["week"].unique())
    offsets = np.unique(ends["offset_min"].to_numpy(int))

    def grid(column: str) -> Floats:
        wide = ends.pivot_table(index="week", columns="offset_min", values=column)
        return wide.reindex(index=weeks, columns=offsets).to_numpy(float, na_value=0.0)

    n, mean, sd = grid("events"), grid("step_pct"), grid("sd_pct")
    # cumulative sums over weeks, so that any range of weeks is one subtraction
    sums = np.zeros((3, len(weeks) + 1, len(offsets)))
    sums[:, 1:] = np.cumsum([n, n * mean, (n - 1).clip(0) * sd**2 + n * mean**2], axis=1)

    def falls(first: int, last: int) -> _Falls:
        return _z(*(sums[:, last] - sums[:, first]))

    # score of the best partition of the first weeks, with the first week of each period
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for last in range(1, len(weeks) + 1):
        partitions = [
            (
                score + float(np.max(falls(first, last)[0], initial=0)) ** 2 - SPLIT_GAIN,
                [*cuts, first],
            )
            for first, (score, cuts) in enumerate(best)
        ]
        best.append(max(partitions, key=itemgetter(0)))

    def period(first: int, last: int) -> Period:
        from_at, last_week = (pd.Timestamp(weeks[i]).to_pydatetime() for i in (first, last - 1))
        return _period(from_at, last_week + timedelta(weeks=1), offsets, falls(first, last))

    offset_periods: list[tuple[int, Period]] = []
    for first, last in pairwise([*best[-1][1], len(weeks)]):
        new = period(first, last)
        # steps of different size may split weeks of one offset
        if offset_periods and offset_periods[-1][1].offset_min == new.offset_min is not None:
            first, _ = offset_periods.pop()
            new = period(first, last)
        offset_periods.append((first, new))
    return [p for _, p in offset_periods]


def _z(n: Floats, total: Floats, squares: Floats) -> _Falls:
    """Return the fall of utilisation in standard errors, the mean step and the events."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        variance = (squares - n * mean**2) / (n - 1)
        z = np.where((n >= FEWEST_EVENTS) & (variance > 0), -mean / np.sqrt(variance / n), 0.0)
    return z, np.nan_to_num(mean), n


def _period(
    from_at: datetime, until_at: datetime, offsets: NDArray[np.int_], falls: _Falls
) -> Period:
    z, mean, n = falls
    peak = at = int(np.argmax(z))
    near = np.abs(offsets - offsets[peak])
    rival = float(np.max(z[near > 60], initial=0))
    sure = z[peak] >= SURE_Z and z[peak] > rival
    if sure:
        # z is largest where the window begins to cover the step, which is deepest in place
        here = (near <= WINDOW_MIN) & (n >= n[peak] / 2)
        deepest = float(np.min(mean[here]))
        error = abs(mean[peak] / z[peak])
        # the roundest of the offsets within one standard error
        fits = np.flatnonzero(here & (mean <= deepest + error))
        at = min(map(int, fits), key=lambda i: (_roundness(int(offsets[i])), mean[i]))
    return Period(
        from_at=from_at,
        until_at=until_at,
        offset_min=int(offsets[at]) if sure else None,
        step_pct=float(mean[at]),
        z=float(z[peak]),
        rival_z=rival,
        events=int(n[at]),
    )


def _roundness(offset_min: int) -> int:
    """Return the rank of an offset by plausibility: whole hours, quarters, minutes."""
    return next(i for i, unit in enumerate((60, 15, 5, 1)) if offset_min % unit == 0)
