"""Measure shares, ratios, medians and concentrations from the rows of a claim."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from philly_analysis.atlas.measure import Group, Measure, Unit, bars, count, count_by, parts
from philly_analysis.atlas.resampling import Floats, Resampling, median, ratio, top_share
from philly_analysis.study import GANGS, PASS, STATUSES

_GANGS = {gang: gang for gang in GANGS}


def share_of(
    part: str,
    total: str,
    counted: str,
    groups: Sequence[str] = GANGS,
    *,
    by: str = "gang",
    counts: str | None = None,
    scale: float = 100,
    among: Sequence[str] | None = None,
    unit: Unit = "%",
) -> Measure:
    """Measure one sum over another, in percent or per hundred, with a bar per group of rows.

    Parameters
    ----------
    part, total
        Columns of the numerator and the denominator.
    counted
        Name of the observations.
    groups, by
        Groups of the bars, and their column.
    counts
        Column of the number of observations; None: `total`.
    among
        Gang buckets that count; None: all rows.
    unit
        ``rate`` if the numerator is no part of the denominator.
    """
    of = counts or total

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        if among:
            rows = rows.where(rows["gang"].isin(among), 0)
        return scale * ratio(r.sums(rows[part]), r.sums(rows[total]))

    observed = count_by(of, "gang", (counted, among)) if among else count(of, counted)
    panel = bars(part, total, by, {group: group for group in groups}, counts=of, scale=scale)
    return Measure(statistic, observed, panel, "bars", unit)


def share_in(
    part: str,
    by: str,
    values: Sequence[object],
    labels: Mapping[str, object] = _GANGS,
    *,
    counted: str,
    unseen: Literal["nothing", "a block", "any"] = "nothing",
) -> Measure:
    """Measure the share of a sum in some groups of rows, in percent, with a bar per group.

    Parameters
    ----------
    part
        Column of the sum.
    by, values
        Column of the groups, and the groups of the numerator.
    labels
        Groups of the bars by label.
    counted
        Column of the number of observations, which is also their name.
    unseen
        What the numerator may lack: a block as heavy as the heaviest, or any number of blocks.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        return 100 * ratio(r.sums(rows[part].where(rows[by].isin(values), 0)), r.sums(rows[part]))

    def upper(rows: pd.DataFrame, r: Resampling) -> float:
        if unseen == "any":
            return 100.0
        heaviest = np.bincount(r.codes, rows[part]).max() if unseen == "a block" else 0.0
        inside = rows[part][rows[by].isin(values)].sum()
        return float(100 * (inside + heaviest) / (rows[part].sum() + heaviest))

    panel = parts(part, by, labels, counts=counted)
    return Measure(statistic, count(counted, counted), panel, "bars", "%", upper=upper)


def ratio_of_shares(
    part: str,
    total: str,
    by: str,
    upper: Group,
    lower: Group,
    values: Mapping[str, object] = _GANGS,
    *,
    counted: tuple[str, str],
    counts: str | None = None,
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
    counts
        Column of the number of observations; None: `total`.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        above, below = (
            ratio(r.sums(rows[part].where(some, 0)), r.sums(rows[total].where(some, 0)))
            for some in (rows[by].isin(values) for _, values in (upper, lower))
        )
        return ratio(above, below)

    groups, events = (
        count_by(column, by, *((name.format(group), some) for group, some in (upper, lower)))
        for column, name in zip((counts or total, part), counted, strict=True)
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

    return Measure(statistic, count(None, counted), panel, "lengths", "s")


def median_of_bins(value: str, weight: str, counted: str) -> Measure:
    """Measure the weighted median of a percentage in bins, with a bar per quarter of the range.

    Parameters
    ----------
    value, weight
        Columns of the upper end of a bin, in percent, and of what it weighs.
    counted
        Name of the observations, which are the weights.
    """
    quarters = {"0": (-1, 0)} | {f"≤ {end}": (end - 25, end) for end in (25, 50, 75, 100)}

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        return median(r, rows[value], rows[weight])

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        n = [
            rows[weight][rows[value].gt(a) & rows[value].le(b)].sum() for a, b in quarters.values()
        ]
        y = 100 * np.array(n, float) / max(float(sum(n)), 1e-300)
        return pd.DataFrame({"x": list(quarters), "y": y, "n": n})

    return Measure(statistic, count(weight, counted), panel, "bars", "%")


def ratio_of_medians(value: str, by: str, upper: Group, lower: Group, over: float) -> Measure:
    """Measure the median of a duration in one group of rows over that in another.

    Parameters
    ----------
    value, by
        Columns of the duration, with unknown values as infinite, and of the groups.
    upper, lower
        Names and values of the groups.
    over
        Duration in seconds: the bars are the shares of longer ones, by gang.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        medians = []
        for _, values in (upper, lower):
            some = rows[by].isin(values).to_numpy()
            part = Resampling(r.kind, r.codes[some], r.weights)
            medians.append(median(part, rows[value][some].fillna(np.inf)))
        quotient = ratio(*medians)
        return np.where(np.isinf(medians[1]), np.nan, quotient)

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        jobs = rows.assign(jobs=1, long=rows[value].fillna(np.inf).gt(over).astype(int))
        return bars("long", "jobs", by, _GANGS)(jobs)

    groups = count_by(None, by, upper, lower)
    return Measure(statistic, groups, panel, "bars", "times")


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

    return Measure(statistic, count(None, counted), panel, "shares", "%", upper=lambda _, r: 100)


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
    groups = count_by("jobs", "status", passed, others)
    return Measure(statistic, groups, panel, "bars", "times")


def spread_minus_packed() -> Measure:
    """Measure the utilisation of spread minus packed gangs, in percentage points.

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
    groups = count_by("attempts", "spread", spread, packed)
    values = {"packed": False, "spread": True}
    panel = bars("sum_pct", "minutes", "spread", values, scale=1)
    return Measure(statistic, groups, panel, "bars", "points")
