"""Draw cumulative curves and daily or weekly areas."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from philly_analysis.results.figures.axes import percent_axis
from philly_analysis.results.figures.style import CYCLE, INK, ordered


def cdf(
    ax: Axes,
    table: pd.DataFrame,
    *,
    value: str,
    by: str,
    colors: Mapping[str, str],
    counts: Mapping[str, int] | str | None = None,
    label: Callable[[str], str] = str,
) -> None:
    """Draw one cumulative curve per group from a percentile grid.

    Parameters
    ----------
    table
        Long table with the columns `by`, `percentile` (0-100) and `value`.
    colors
        Colour by group, in the order of the curves. Further groups have further colours.
    counts
        Number of observations by group, or its column; added to the group's label.
    label
        Returns the label of a group.
    """
    if isinstance(counts, str):
        counts = dict(zip(table[by], table[counts], strict=True))
    for i, group in enumerate(ordered(table[by], list(colors))):
        rows = table[table[by] == group].sort_values("percentile")
        color = colors.get(group, CYCLE[i % len(CYCLE)])
        n = f"  n={counts[group]:,}" if counts and group in counts else ""
        ax.plot(rows[value], rows["percentile"], color=color, label=f"{label(group)}{n}")
    percent_axis(ax, "share of observations")


def capacity_line(ax: Axes, gpus: int) -> None:
    """Draw a dotted line at the GPU count of a cluster, with a label."""
    ax.axhline(gpus, color=INK, linestyle=":", linewidth=1)
    ax.annotate(
        f"{gpus:,} GPUs",
        (1, gpus),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=8,
    )


def daily_columns(ax: Axes, days: Iterable[Any], heights: Iterable[float], *, color: str) -> None:
    """Draw a column per day from its midnight to the next, as one patch (fast for years)."""
    daily = pd.Series([*heights], pd.DatetimeIndex([*days]), float).asfreq("D", fill_value=0.0)
    edges = pd.date_range(daily.index[0], periods=len(daily) + 1)
    ax.stairs(daily.fillna(0.0), edges, fill=True, color=color)
    ax.set_ylim(bottom=0)


def stacked_steps(
    ax: Axes, table: pd.DataFrame, colors: Sequence[str], *, labels: Sequence[str] | None = None
) -> float:
    """Draw the columns of a table as stacked steps over time; return the highest sum.

    Parameters
    ----------
    table
        A row per day or week, with a regular DatetimeIndex; columns from the bottom up.
    """
    edges = pd.date_range(table.index[0], periods=len(table) + 1, freq=table.index.freq)  # type: ignore[attr-defined]
    bottom = np.zeros(len(table))
    for i, name in enumerate(table):
        top = bottom + table[name].to_numpy(float)
        label = None if labels is None else labels[i]
        ax.stairs(top, edges, baseline=bottom, fill=True, color=colors[i], label=label)
        bottom = top
    return float(bottom.max())
