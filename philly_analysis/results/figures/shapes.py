"""The shapes in use: cumulative curves, columns, bars, shares, ranges."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from philly_analysis.results.figures.axes import percent_axis, time_axis
from philly_analysis.results.figures.drawing import canvas
from philly_analysis.results.figures.style import (
    ACCENT,
    CYCLE,
    GANG_COLORS,
    INK,
    empty,
    ordered,
    plain,
    readable,
    title,
)
from philly_analysis.study import GANGS


def cdf(
    ax: Axes,
    table: pd.DataFrame,
    *,
    value: str,
    by: str,
    colors: Mapping[str, str],
    percentile: str = "percentile",
    counts: Mapping[str, int] | None = None,
    say: Callable[[str], str] = str,
) -> None:
    """Draw one cumulative curve per group from a percentile grid.

    Parameters
    ----------
    table
        Long table with the columns `by`, `percentile` (0-100) and `value`.
    colors
        Colour by group; its order is that of the curves. Groups of the table that have none
        come after it, in colours of their own: no curve is left out.
    counts
        Number of observations by group, added to its name.
    say
        Gives the name of a group.
    """
    for i, group in enumerate(ordered(table[by], list(colors))):
        rows = table[table[by] == group].sort_values(percentile)
        color = colors.get(group, CYCLE[i % len(CYCLE)])
        n = f"  n={counts[group]:,}" if counts and group in counts else ""
        ax.plot(rows[value], rows[percentile], color=color, label=f"{say(group)}{n}")
    percent_axis(ax, "share of observations")


def columns(ax: Axes, begins: Iterable[Any], heights: Iterable[float], *, color: str) -> None:
    """Draw a column per day, each from its midnight to the next, from the axis up.

    One shape: drawn as a bar each, the days of a few years take seconds.
    """
    days = pd.Series([*heights], pd.DatetimeIndex([*begins]), float).asfreq("D", fill_value=0.0)
    edges = pd.date_range(days.index[0], periods=len(days) + 1)
    ax.stairs(days.fillna(0.0), edges, fill=True, color=color)
    ax.set_ylim(bottom=0)


def bars(
    ax: Axes,
    groups: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    colors: Mapping[str, str],
    stacked: bool = False,
    label: str = "{:.1f}",
) -> None:
    """Draw bars per group, one per part, side by side or stacked, each with its number.

    Of a stack, parts of less than a fifteenth of the highest are too low for theirs.
    """
    whole = np.sum([np.nan_to_num(np.asarray(h, float)) for h in parts.values()], axis=0)
    least = max(whole, default=0) / 15 if stacked else 0
    x = np.arange(len(groups))
    width = 0.62 if stacked else 0.8 / max(len(parts), 1)
    bottom = np.zeros(len(groups))
    for i, (name, heights) in enumerate(parts.items()):
        values = np.asarray(heights, float)
        color = colors.get(name, CYCLE[i % len(CYCLE)])
        at = x if stacked else x + (i - (len(parts) - 1) / 2) * width
        drawn = ax.bar(
            at,
            values,
            width * 0.94,
            bottom=bottom if stacked else 0,
            color=color,
            label=name,
        )
        ax.bar_label(
            drawn,
            labels=[
                "" if not np.isfinite(v) or v == 0 or v < least else label.format(v) for v in values
            ],
            label_type="center" if stacked else "edge",
            fontsize=7.5,
            color=readable(color) if stacked else INK,
            padding=0 if stacked else 1,
        )
        if stacked:
            bottom = bottom + np.nan_to_num(values)
    ax.set_xticks(x, list(groups))
    ax.grid(visible=False, axis="x")


def shares(
    ax: Axes,
    groups: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    colors: Mapping[str, str],
    least: float = 9,
) -> None:
    """Draw a bar per group, from the top, divided as its parts are, in percent of their sum.

    Parts of `least` percent and more carry their number, in black or white, whichever is read
    better.
    """
    y = np.arange(len(groups))[::-1]
    sums = np.sum([np.asarray(values, float) for values in parts.values()], axis=0)
    left = np.zeros(len(groups))
    for name, values in parts.items():
        width = 100 * np.asarray(values, float) / np.where(sums > 0, sums, 1)
        drawn = ax.barh(y, width, 0.7, left=left, color=colors[name], label=name)
        ax.bar_label(
            drawn,
            [f"{w:.0f} %" if w >= least else "" for w in width],
            label_type="center",
            fontsize=8,
            color=readable(colors[name]),
        )
        left += width
    ax.set_yticks(y, list(groups))
    ax.set_xlim(0, 100)
    ax.xaxis.set_major_locator(NullLocator())
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)


def share_bars(
    ax: Axes, names: Sequence[str], fracs: Sequence[float], colors: Sequence[str]
) -> None:
    """Draw a share, 0 to 1, per name, each with its number in percent, without an axis."""
    pct = [100 * frac for frac in fracs]
    drawn = ax.bar(range(len(names)), pct, 0.7, color=colors)
    ax.bar_label(drawn, [f"{p:.0f} %" for p in pct], fontsize=8, padding=1)
    ax.set_xticks(range(len(names)), list(names))
    ax.set_ylim(0, max(pct) * 1.15 or 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False)


def gang_bars(ax: Axes, table: pd.DataFrame, *, part: str, whole: str) -> None:
    """Draw a share per gang bucket, each with what it is a share of.

    Parameters
    ----------
    table
        A row per ``gang``.
    part, whole
        The columns that the share is of.
    """
    rows = table.set_index("gang")
    gangs = ordered(rows.index, GANGS)
    names = [f"{gang}\nn={rows[whole][gang]:,}" for gang in gangs]
    fracs = [rows[part][gang] / rows[whole][gang] for gang in gangs]
    share_bars(ax, names, fracs, [GANG_COLORS[gang] for gang in gangs])


def ranges(ax: Axes, table: pd.DataFrame, *, name: str, count: str, color: str = ACCENT) -> None:
    """Draw one line of quantiles per row: 5-95 % thin, 25-75 % thick, the median as a dot.

    Parameters
    ----------
    table
        Columns `name` and `count`, and ``p5_s``, ``p25_s``, ``p50_s``, ``p75_s``, ``p95_s`` in
        seconds; drawn from the top in its order, on a logarithmic axis from one second.
    """
    y = np.arange(len(table))[::-1]
    q = {p: table[f"p{p}_s"].clip(lower=1).to_numpy(float) for p in (5, 25, 50, 75, 95)}
    ax.hlines(y, q[5], q[95], color=color, alpha=0.35, linewidth=1.5)
    ax.hlines(y, q[25], q[75], color=color, alpha=0.8, linewidth=4)
    ax.plot(q[50], y, "o", color=CYCLE[1], markersize=4)
    labels = [f"{plain(n)}  n={k:,}" for n, k in zip(table[name], table[count], strict=True)]
    ax.set_yticks(y, labels, fontsize=7.5)
    time_axis(ax)
    ax.xaxis.set_major_locator(FixedLocator([1, 60, 3_600, 86_400, 2_592_000]))
    ax.grid(visible=False, axis="y")


def ranges_by_kind(
    table: pd.DataFrame, kinds: Mapping[str, str], *, count: str, label: str, most: int = 16
) -> Figure:
    """Draw quantiles per group, one panel per kind of group.

    Parameters
    ----------
    table
        What :func:`ranges` draws, with a column ``kind``.
    kinds
        Word for each kind, in the order of the panels.
    most
        Groups shown per kind, those of the highest `count`; weeks are all shown.
    """
    fig, axes = canvas(len(kinds), width=9.6, height=4.4)
    if table.empty:
        return empty(fig, "nothing to compare")
    for ax, (kind, word) in zip(axes, kinds.items(), strict=True):
        rows = table[table["kind"] == kind]
        shown = rows if kind == "week" else rows.nlargest(most, count)
        ranges(ax, shown, name="name", count=count)
        ax.set_xlabel(label)
        more = f", {most} of {len(rows):,}" if len(shown) < len(rows) else ""
        title(ax, f"{word}s{more}")
    return fig
