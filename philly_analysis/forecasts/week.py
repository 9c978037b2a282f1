"""Tabulate past waits by gang class and hour of the week, shrunk where few jobs were submitted."""

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.queue import Queue
from philly_analysis.study import GANGS

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHRINKAGE = 20.0
"""Waits of a coarser group that count beside the waits of an hour (chosen)."""
_NEAR_H = 1
"""Hours before and after an hour whose waits count for the hour."""
_WEEKEND = 5
_DAY_H, _WEEK_H = 24, 168


def week_table(queue: Queue) -> pd.DataFrame:
    """Return the waits of jobs by gang class and hour of the week of their submission.

    The waits within an hour of the same hour of the week count as they are. The waits of the same
    hours on other working days or weekend days count as at most twenty waits. All waits of the gang
    class count as at most twenty waits, too.

    Returns
    -------
    pandas.DataFrame
        One row per gang class with waits and hour of the week in UTC: gang, day, hour, jobs
        (submitted in that hour of the week), median_s, p90_s.
    """
    started = np.isfinite(queue.started_s)
    clock = pd.to_datetime(queue.entered_s[started], unit="s")
    hours = np.asarray(clock.day_of_week * _DAY_H + clock.hour)
    waits, gangs = queue.waits[started], queue.gangs[started]
    rows = []
    for gang, name in enumerate(GANGS):
        of_gang = gangs == gang
        for hour in range(_WEEK_H) if of_gang.any() else ():
            median_s, p90_s = _quantiles(waits[of_gang], hours[of_gang], hour)
            day, clock_h = divmod(hour, _DAY_H)
            jobs = int((hours[of_gang] == hour).sum())
            rows.append((name, DAYS[day], clock_h, jobs, median_s, p90_s))
    return pd.DataFrame(rows, columns=["gang", "day", "hour", "jobs", "median_s", "p90_s"])


def _quantiles(waits: Floats, hours: Floats, hour: int) -> tuple[float, float]:
    """Return the median and the 90th percentile of the shrunk waits of an hour of the week."""
    apart = np.abs((hours - hour + _WEEK_H / 2) % _WEEK_H - _WEEK_H / 2)
    same_hour = np.abs((hours - hour + _DAY_H / 2) % _DAY_H - _DAY_H / 2) <= _NEAR_H
    alike = same_hour & ((hours // _DAY_H >= _WEEKEND) == (hour // _DAY_H >= _WEEKEND))
    weights = (apart <= _NEAR_H).astype(float)
    for group in (alike, np.ones(len(waits), bool)):
        weights += group * min(1.0, _SHRINKAGE / max(group.sum(), 1))
    order = np.argsort(waits, kind="stable")
    sums = np.cumsum(weights[order])
    places = np.searchsorted(sums, np.array([0.5, 0.9]) * sums[-1])
    median_s, p90_s = waits[order][np.minimum(places, len(waits) - 1)]
    return float(median_s), float(p90_s)
