"""Define what claims compute from their rows: effects with resampling, counts and panels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from philly_analysis.atlas.resampling import Floats, Resampling, median, ratio, top_share
from philly_analysis.study import GANGS, PASS, STATUSES

Statistic: TypeAlias = Callable[[pd.DataFrame, Resampling], Floats]
"""The effect in each bootstrap sample, from the rows and their resampling."""
Counts: TypeAlias = Callable[[pd.DataFrame], Mapping[str, "pd.Series[float]"]]
"""Number of observations in each row, by group of the comparison."""
Panel: TypeAlias = Callable[[pd.DataFrame], pd.DataFrame]
"""The data of a small figure: columns ``x``, ``y`` and ``n``."""
Group: TypeAlias = tuple[str, Sequence[object]]
"""A group of rows: its name, and its values of a column."""
Unit = Literal["times", "%", "points", "s"]
Shape = Literal["bars", "lengths", "shares", "hours"]

_GANGS = {gang: gang for gang in GANGS}
_THIRD_OF_DAY_H = 8


@dataclass(frozen=True, slots=True)
class Measure:
    """What a claim computes from its rows.

    Attributes
    ----------
    statistic
        The effect in each bootstrap sample.
    groups
        Observations in each group of the comparison; one group if it compares nothing.
    panel, shape
        Data of the small figure of one cluster, and how it is drawn.
    unit
        Unit of the effect.
    events
        Events in each group, for a ratio of two shares.
    most
        Upper bound of the effect where the bootstrap does not find one: it is then the upper end
        of the interval. No sample has heavier rows than the heaviest observed, so a share of the
        top is underestimated and hardly ever overestimated.
    """

    statistic: Statistic
    groups: Counts
    panel: Panel
    shape: Shape
    unit: Unit
    events: Counts | None = None
    most: float | None = None


def share_of(
    part: str,
    total: str,
    counted: str,
    gangs: Sequence[str] = GANGS,
    *,
    counts: str | None = None,
    scale: float = 100,
    among: Sequence[str] | None = None,
) -> Measure:
    """Measure one sum over another, in percent, with a bar per gang bucket.

    Parameters
    ----------
    part, total
        Columns of the numerator and the denominator.
    counted
        Name of the observations.
    gangs
        Gang buckets of the bars.
    counts
        Column of the number of observations; None: `total`.
    among
        Gang buckets that count; None: all rows.
    """
    of = counts or total

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        if among:
            rows = rows.where(rows["gang"].isin(among), 0)
        return scale * ratio(r.sums(rows[part]), r.sums(rows[total]))

    groups = _count_by(of, "gang", (counted, among)) if among else _count(of, counted)
    panel = bars(part, total, "gang", {g: g for g in gangs}, counts=of, scale=scale)
    return Measure(statistic, groups, panel, "bars", "%")


def share_in(
    part: str,
    by: str,
    values: Sequence[object],
    labels: Mapping[str, object] = _GANGS,
    *,
    counted: str,
) -> Measure:
    """Measure the share of a sum in some groups of rows, in percent, with a bar per group.

    Parameters
    ----------
    part
        Column of the sum.
    by, values
        Column of the groups, and those of the numerator.
    labels
        Groups of the bars by label.
    counted
        Column of the number of observations, which is also their name.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        return 100 * ratio(r.sums(rows[part].where(rows[by].isin(values), 0)), r.sums(rows[part]))

    panel = parts(part, by, labels, counts=counted)
    return Measure(statistic, _count(counted, counted), panel, "bars", "%")


def ratio_of_shares(
    part: str,
    total: str,
    by: str,
    upper: Group,
    lower: Group,
    values: Mapping[str, object] = _GANGS,
    *,
    counted: tuple[str, str],
) -> Measure:
    """Measure the share of events in one group over that in another.

    Parameters
    ----------
    part, total
        Columns of the events and of the observations.
    upper, lower
        Names and values of the groups, in the column `by`.
    values
        Values of the column `by` by label, for the bars.
    counted
        Names of observations and events, with a field for the group.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        above, below = (
            ratio(r.sums(rows[part].where(some, 0)), r.sums(rows[total].where(some, 0)))
            for some in (rows[by].isin(values) for _, values in (upper, lower))
        )
        return ratio(above, below)

    groups, events = (
        _count_by(column, by, *((name.format(group), some) for group, some in (upper, lower)))
        for column, name in zip((total, part), counted, strict=True)
    )
    return Measure(statistic, groups, bars(part, total, by, values), "bars", "times", events=events)


def median_of(value: str, counted: str) -> Measure:
    """Measure the median of a duration, with unknown values as infinite."""

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        return median(r, rows[value].fillna(np.inf))

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        v = np.sort(rows[value].fillna(np.inf).to_numpy(float))
        x = np.geomspace(1, 2_592_000, 61)
        y = 100 * np.searchsorted(v, x, "right") / max(len(v), 1)
        return pd.DataFrame({"x": x, "y": y, "n": len(v)})

    return Measure(statistic, _count(None, counted), panel, "lengths", "s")


def top_tenth_of(value: str, counted: str) -> Measure:
    """Measure the share of the tenth of rows with the largest values, in percent."""

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        return 100 * top_share(r, rows[value], 0.1)

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        v = np.sort(rows[value].to_numpy(float))[::-1]
        upto = np.concatenate([[0.0], np.cumsum(v)])
        x = np.concatenate([np.linspace(0, 10, 21), np.linspace(12, 100, 45)])
        at = np.interp(x / 100 * len(v), np.arange(len(v) + 1), upto)
        return pd.DataFrame({"x": x, "y": 100 * at / max(upto[-1], 1e-300), "n": len(v)})

    return Measure(statistic, _count(None, counted), panel, "shares", "%", most=100)


def cost_ratio() -> Measure:
    """Measure the share of GPU time of jobs that did not pass, over their share of jobs."""

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        lost = rows["status"] != PASS
        return ratio(
            *(ratio(r.sums(rows[c].where(lost, 0)), r.sums(rows[c])) for c in ("gpu_h", "jobs"))
        )

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        lost = rows[rows["status"] != PASS]
        of = {"of jobs": "jobs", "of GPU time": "gpu_h"}
        y = [100 * lost[c].sum() / max(rows[c].sum(), 1e-300) for c in of.values()]
        return pd.DataFrame({"x": list(of), "y": y, "n": [rows[c].sum() for c in of.values()]})

    passed, others = ("jobs that passed", (PASS,)), ("jobs that did not", STATUSES[1:])
    groups = _count_by("jobs", "status", passed, others)
    return Measure(statistic, groups, panel, "bars", "times")


def spread_minus_packed() -> Measure:
    """Measure the utilisation of spread gangs minus that of packed ones, in percentage points.

    The comparison is within gang size and status, weighted by the minutes of spread gangs; strata
    with one kind only are excluded.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
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

    spread, packed = ("spread attempts", (True,)), ("packed attempts", (False,))
    groups = _count_by("attempts", "spread", spread, packed)
    values = {"packed": False, "spread": True}
    panel = bars("sum_pct", "minutes", "spread", values, scale=1)
    return Measure(statistic, groups, panel, "bars", "points")


def day_ratio() -> Measure:
    """Measure jobs in the busiest third of the day over those in the quietest.

    The thirds are found on every other day and counted on the days between, both ways
    (geometric mean): otherwise chance alone would find a busy third.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        odd = pd.to_datetime(rows["day"]).to_numpy("datetime64[D]").astype(np.int64) % 2 == 1
        halves = [
            r.tallies(rows["hour"], 24, rows["jobs"].where(half, 0).to_numpy())
            for half in (odd, ~odd)
        ]
        thirds = [
            np.sum([np.roll(h, -i, axis=1) for i in range(_THIRD_OF_DAY_H)], axis=0) for h in halves
        ]
        found = []
        for chosen, counted in (thirds, thirds[::-1]):
            peak, trough = (
                np.take_along_axis(counted, at[:, None], axis=1)[:, 0]
                for at in (np.argmax(chosen, axis=1), np.argmin(chosen, axis=1))
            )
            found.append(ratio(peak, trough))
        mean: Floats = np.sqrt(found[0] * found[1])
        return mean

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        jobs = rows.groupby("hour")["jobs"].sum().reindex(range(24)).fillna(0)
        mean = max(float(jobs.mean()), 1e-300)
        return pd.DataFrame({"x": jobs.index, "y": jobs.to_numpy() / mean, "n": jobs.to_numpy()})

    return Measure(statistic, _count("jobs", "jobs"), panel, "hours", "times")


def dispersion() -> Measure:
    """Measure the variance over the mean of hourly counts, from hour to hour.

    The variance is half the mean squared change against the hour before (von Neumann, Annals of
    Mathematical Statistics 12, 1941), so that slow changes of the load are not part of it. It is
    one for independent submissions, a Poisson process.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        return ratio(r.sums(rows["squared"]), 2 * r.sums(rows["jobs"]))

    levels = {level: level for level in ("0", "1-3", "4-15", ">15")}
    panel = parts("hours", "level", levels, counts="hours")
    return Measure(statistic, _count("jobs", "jobs"), panel, "bars", "times")


def bars(
    part: str,
    total: str,
    by: str,
    values: Mapping[str, object],
    *,
    counts: str | None = None,
    scale: float = 100,
) -> Panel:
    """Return the panel of a share by group, with the number of observations."""

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        columns = list(dict.fromkeys((part, total, counts or total)))
        sums = rows.groupby(by)[columns].sum().reindex(list(values.values())).fillna(0)
        y = scale * sums[part] / sums[total].where(sums[total] > 0)
        n = sums[counts or total].to_numpy()
        return pd.DataFrame({"x": list(values), "y": y.to_numpy(), "n": n})

    return panel


def parts(part: str, by: str, values: Mapping[str, object], *, counts: str) -> Panel:
    """Return the panel of the groups' shares in a sum, with the number of observations."""

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        sums = rows.groupby(by)[list({part, counts})].sum().reindex(list(values.values())).fillna(0)
        y = 100 * sums[part] / max(float(sums[part].sum()), 1e-300)
        return pd.DataFrame({"x": list(values), "y": y.to_numpy(), "n": sums[counts].to_numpy()})

    return panel


def _count(column: str | None, name: str) -> Counts:
    """Count a column, or rows if None, in one group."""
    return lambda rows: {name: rows[column] if column else pd.Series(1, rows.index)}


def _count_by(column: str, by: str, *groups: Group) -> Counts:
    """Count a column by groups of another."""
    return lambda rows: {
        name: rows[column].where(rows[by].isin(values), 0) for name, values in groups
    }
