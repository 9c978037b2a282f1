"""Draw bars: side by side, stacked, horizontal, and shares per gang bucket."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from philly_analysis.results.figures.axes import percent_axis
from philly_analysis.results.figures.legends import legend
from philly_analysis.results.figures.style import (
    CYCLE,
    GANG_COLORS,
    INK,
    contrasting,
    literal,
    ordered,
)
from philly_analysis.study import GANGS


def bars(
    ax: Axes,
    groups: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    colors: Mapping[str, str],
    stacked: bool = False,
    label: str = "{:.1f}",
) -> None:
    """Draw labelled bars per group, one per part, side by side or stacked.

    Parts of a stack below a fifteenth of the highest stack have no label.
    """
    values = {name: np.asarray(heights, float) for name, heights in parts.items()}
    total = np.sum([np.nan_to_num(v) for v in values.values()], axis=0)
    least = max(total, default=0) / 15 if stacked else 0
    x = np.arange(len(groups))
    width = 0.62 if stacked else 0.8 / max(len(parts), 1)
    bottom = np.zeros(len(groups))
    for i, (name, heights) in enumerate(values.items()):
        color = colors.get(name, CYCLE[i % len(CYCLE)])
        at = x if stacked else x + (i - (len(parts) - 1) / 2) * width
        drawn = ax.bar(at, heights, width * 0.94, bottom=bottom, color=color, label=name)
        ax.bar_label(
            drawn,
            ["" if not np.isfinite(v) or v == 0 or v < least else label.format(v) for v in heights],
            label_type="center" if stacked else "edge",
            fontsize=7.5,
            color=contrasting(color) if stacked else INK,
            padding=0 if stacked else 1,
        )
        if stacked:
            bottom = bottom + np.nan_to_num(heights)
    ax.set_xticks(x, list(groups))
    ax.grid(visible=False, axis="x")


def hbars(
    ax: Axes,
    names: Sequence[object],
    values: "pd.Series[Any]",
    labels: Sequence[str],
    *,
    color: Any,
    space: float = 1.2,
    fontsize: float = 8,
    names_fontsize: float | None = None,
    height: float = 0.8,
) -> None:
    """Draw a horizontal bar per name, from the bottom, with a label at its end.

    Parameters
    ----------
    space
        Length of the axis over the longest bar, for the labels.
    """
    drawn = ax.barh(range(len(names)), values, height, color=color)
    ax.bar_label(drawn, labels, fontsize=fontsize, padding=2)
    ax.set_yticks(range(len(names)), [literal(n) for n in names], fontsize=names_fontsize)
    ax.set_xlim(0, space * float(values.max()) or 1)
    ax.grid(visible=False, axis="y")


def stacked_shares(
    ax: Axes,
    groups: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    colors: Mapping[str, str],
) -> None:
    """Draw a horizontal bar per group, from the top, divided by the shares of its parts.

    Parts of at least 9 % have a label, in black or white for contrast.
    """
    y = np.arange(len(groups))[::-1]
    sums = np.sum([np.asarray(values, float) for values in parts.values()], axis=0)
    start = np.zeros(len(groups))
    for name, values in parts.items():
        width = 100 * np.asarray(values, float) / np.where(sums > 0, sums, 1)
        drawn = ax.barh(y, width, 0.7, left=start, color=colors[name], label=name)
        texts = [f"{w:.0f} %" if w >= 9 else "" for w in width]
        color = contrasting(colors[name])
        ax.bar_label(drawn, texts, label_type="center", fontsize=8, color=color)
        start += width
    ax.set_yticks(y, list(groups))
    ax.set_xlim(0, 100)
    ax.xaxis.set_major_locator(NullLocator())
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)


def job_shares(ax: Axes, table: pd.DataFrame, colors: Mapping[str, str], gpu_time: str) -> None:
    """Draw two stacked bars, shares of jobs and of GPU time, with a legend below.

    Parameters
    ----------
    table
        A row per part in its order, with ``jobs_pct`` and ``gpu_h_pct``.
    gpu_time
        Label of the bar of GPU time.
    """
    start = np.zeros(2)
    for part, row in table.iterrows():
        color = colors[str(part)]
        width = row[["gpu_h_pct", "jobs_pct"]].fillna(0).to_numpy(float)
        drawn = ax.barh([gpu_time, "jobs"], width, left=start, height=0.6, label=part, color=color)
        texts = [f"{w:.1f} %" if w >= 6 else "" for w in width]
        ax.bar_label(drawn, texts, label_type="center", color=contrasting(color), fontsize=8.5)
        start += width
    percent_axis(ax, "share", axis="x")
    ax.grid(visible=False, axis="y")
    legend(ax, beneath=True)


def share_bars(
    ax: Axes, names: Sequence[str], fracs: Sequence[float], colors: Sequence[str]
) -> None:
    """Draw a bar per share, 0 to 1, with its percentage and without an axis."""
    pct = [100 * frac for frac in fracs]
    drawn = ax.bar(range(len(names)), pct, 0.7, color=colors)
    ax.bar_label(drawn, [f"{p:.0f} %" for p in pct], fontsize=8, padding=1)
    ax.set_xticks(range(len(names)), list(names))
    ax.set_ylim(0, max(pct) * 1.15 or 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False)


def gang_shares(ax: Axes, table: pd.DataFrame, *, part: str, total: str) -> None:
    """Draw the share of a part per gang bucket, with the size of each bucket.

    Parameters
    ----------
    table
        A row per ``gang``.
    part, total
        Columns of the numerator and the denominator.
    """
    rows = table.set_index("gang")
    gangs = ordered(rows.index, GANGS)
    names = [f"{gang}\nn={rows[total][gang]:,}" for gang in gangs]
    fracs = [rows[part][gang] / rows[total][gang] for gang in gangs]
    share_bars(ax, names, fracs, [GANG_COLORS[gang] for gang in gangs])
