"""Define a measure: what a claim computes from its rows, with counts and panels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pandas as pd

from philly_analysis.atlas.resampling import Floats, Resampling

Statistic: TypeAlias = Callable[[pd.DataFrame, Resampling], Floats]
"""The effect in each bootstrap sample, from the rows and their resampling."""
Counts: TypeAlias = Callable[[pd.DataFrame], Mapping[str, "pd.Series[float]"]]
"""Number of observations in each row, by group of the comparison."""
Panel: TypeAlias = Callable[[pd.DataFrame], pd.DataFrame]
"""The data of a small figure: columns ``x``, ``y`` and ``n``."""
Group: TypeAlias = tuple[str, Sequence[object]]
"""A group of rows: its name, and its values of a column."""
Unit = Literal["times", "%", "points", "s", "rate"]
Shape = Literal["bars", "lengths", "shares", "cycle"]


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
    upper
        Least upper end of the interval, where the bootstrap's end is too low: no sample has
        heavier rows than the heaviest observed.
    """

    statistic: Statistic
    groups: Counts
    panel: Panel
    shape: Shape
    unit: Unit
    events: Counts | None = None
    upper: Callable[[pd.DataFrame, Resampling], float] | None = None


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


def count(column: str | None, name: str) -> Counts:
    """Count a column, or rows if None, in one group."""
    return lambda rows: {name: _counted(rows, column)}


def count_by(column: str | None, by: str, *groups: Group) -> Counts:
    """Count a column, or rows if None, by groups of another."""
    return lambda rows: {
        name: _counted(rows, column).where(rows[by].isin(values), 0) for name, values in groups
    }


def _counted(rows: pd.DataFrame, column: str | None) -> "pd.Series[float]":
    return rows[column] if column else pd.Series(1, rows.index)
