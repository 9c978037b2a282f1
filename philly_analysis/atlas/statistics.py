"""The effects that claims ask for, by drawing, and what is drawn of them."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from philly_analysis.atlas.resampling import Floats, Resampling, median, ratio, top_share
from philly_analysis.study import PASS

Statistic = Callable[[pd.DataFrame, Resampling], Floats]
Drawn = Callable[[pd.DataFrame], pd.DataFrame]

THIRD_OF_DAY = 8
"""Hours in a third of the day."""


def share(part: str, whole: str, scale: float = 100) -> Statistic:
    """Return the statistic: a sum over another, in percent."""

    def of(rows: pd.DataFrame, r: Resampling) -> Floats:
        return scale * ratio(r.sums(rows[part]), r.sums(rows[whole]))

    return of


def share_ratio(
    part: str, whole: str, by: str, upper: Sequence[object], lower: Sequence[object]
) -> Statistic:
    """Return the statistic: a share among some groups over the same share among others."""

    def of(rows: pd.DataFrame, r: Resampling) -> Floats:
        above, below = (
            ratio(r.sums(rows[part].where(some, 0)), r.sums(rows[whole].where(some, 0)))
            for some in (rows[by].isin(upper), rows[by].isin(lower))
        )
        return ratio(above, below)

    return of


def middle(value: str) -> Statistic:
    """Return the statistic: the median of what is known, what is not counting as longer."""

    def of(rows: pd.DataFrame, r: Resampling) -> Floats:
        return median(r, rows[value].fillna(np.inf))

    return of


def top_tenth(value: str) -> Statistic:
    """Return the statistic: what the tenth of rows with most of it hold, in percent."""

    def of(rows: pd.DataFrame, r: Resampling) -> Floats:
        return 100 * top_share(r, rows[value], 0.1)

    return of


def cost_ratio(rows: pd.DataFrame, r: Resampling) -> Floats:
    """Return the share of GPU time of jobs that did not pass, over their share of jobs."""
    lost = rows["status"] != PASS
    return ratio(
        ratio(r.sums(rows["gpu_h"].where(lost, 0)), r.sums(rows["gpu_h"])),
        ratio(r.sums(rows["jobs"].where(lost, 0)), r.sums(rows["jobs"])),
    )


def spread_less_packed(rows: pd.DataFrame, r: Resampling) -> Floats:
    """Return the utilisation of spread gangs less that of packed ones, in points.

    Compared within gang size and status, each weighted by the minutes of its spread gangs; what
    has no gang of the other kind is left out.
    """
    strata = rows.groupby(["gpus", "status"], dropna=False).ngroup()
    n = int(strata.max()) + 1 if len(rows) else 0
    spread = rows["spread"].astype(bool)
    minutes, sums = {}, {}
    for side in (True, False):
        mine = spread == side
        minutes[side] = r.tallies(strata, n, rows["minutes"].where(mine, 0))
        sums[side] = r.tallies(strata, n, rows["sum_pct"].where(mine, 0))
    both = (minutes[True] > 0) & (minutes[False] > 0)
    gap = ratio(sums[True], minutes[True]) - ratio(sums[False], minutes[False])
    weight = np.where(both, minutes[True], 0)
    return ratio((weight * np.where(both, gap, 0)).sum(axis=1), weight.sum(axis=1))


def day_ratio(rows: pd.DataFrame, r: Resampling) -> Floats:
    """Return jobs in the busiest third of the day over those in the quietest.

    The thirds are found on every other day and counted on the days between, both ways round
    (geometric mean): else chance alone would find a busy third.
    """
    odd = pd.to_datetime(rows["day"]).to_numpy("datetime64[D]").astype(np.int64) % 2 == 1
    halves = [
        r.tallies(rows["hour"], 24, rows["jobs"].where(half, 0).to_numpy()) for half in (odd, ~odd)
    ]
    thirds = [np.sum([np.roll(h, -i, axis=1) for i in range(THIRD_OF_DAY)], axis=0) for h in halves]
    found = []
    for chosen, counted in (thirds, thirds[::-1]):
        peak, trough = (
            np.take_along_axis(counted, at[:, None], axis=1)[:, 0]
            for at in (np.argmax(chosen, axis=1), np.argmin(chosen, axis=1))
        )
        found.append(ratio(peak, trough))
    mean: Floats = np.sqrt(found[0] * found[1])
    return mean


def bars(part: str, whole: str, by: str, order: Sequence[object], scale: float = 100) -> Drawn:
    """Return what to draw: a share by group, with the number that it is of."""

    def of(rows: pd.DataFrame) -> pd.DataFrame:
        sums = rows.groupby(by)[[part, whole]].sum().reindex(list(order)).fillna(0)
        y = scale * sums[part] / sums[whole].where(sums[whole] > 0)
        return pd.DataFrame({"x": sums.index.astype(str), "y": y.to_numpy(), "n": sums[whole]})

    return of


def lengths(value: str) -> Drawn:
    """Return what to draw: the share of rows that no more than so many seconds exceed."""

    def of(rows: pd.DataFrame) -> pd.DataFrame:
        v = np.sort(rows[value].fillna(np.inf).to_numpy(float))
        x = np.geomspace(1, 2_592_000, 61)
        y = 100 * np.searchsorted(v, x, "right") / max(len(v), 1)
        return pd.DataFrame({"x": x, "y": y, "n": len(v)})

    return of


def shares(value: str) -> Drawn:
    """Return what to draw: what the rows with most of it hold together."""

    def of(rows: pd.DataFrame) -> pd.DataFrame:
        v = np.sort(rows[value].to_numpy(float))[::-1]
        upto = np.concatenate([[0.0], np.cumsum(v)])
        x = np.concatenate([np.linspace(0, 10, 21), np.linspace(12, 100, 45)])
        at = np.interp(x / 100 * len(v), np.arange(len(v) + 1), upto)
        return pd.DataFrame({"x": x, "y": 100 * at / max(upto[-1], 1e-300), "n": len(v)})

    return of


def hours(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what to draw: jobs by hour of the day, over their mean."""
    jobs = rows.groupby("hour")["jobs"].sum().reindex(range(24)).fillna(0)
    mean = max(float(jobs.mean()), 1e-300)
    return pd.DataFrame({"x": jobs.index, "y": jobs.to_numpy() / mean, "n": jobs.to_numpy()})


def endings(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what to draw: the shares of jobs and of GPU time that did not pass."""
    lost = rows[rows["status"] != PASS]
    of = {"of jobs": "jobs", "of GPU time": "gpu_h"}
    y = [100 * lost[c].sum() / max(rows[c].sum(), 1e-300) for c in of.values()]
    return pd.DataFrame({"x": list(of), "y": y, "n": [rows[c].sum() for c in of.values()]})
