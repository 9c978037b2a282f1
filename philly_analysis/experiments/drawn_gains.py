"""Draw the gains of published systems beside the gains that their papers print."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.results.figures import CYCLE, INK, SOFT, canvas, darken

_PRINTED = CYCLE[3]
_LEFT, _RIGHT = -0.01, 1.03
_TICKS = (0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)


def draw_gains(verdict_rows: pd.DataFrame, colors: Mapping[str, str]) -> Figure:
    """Draw each headline for each source of jobs, with the verdict and the printed gain.

    Parameters
    ----------
    verdict_rows
        One row per headline and source of jobs: headline, says, words, source, printed, jobs, gain,
        low, high, p5, p95, times, verdict.
    colors
        Colour of each verdict.
    """
    headlines = verdict_rows["headline"].nunique()
    height = 0.21 * (len(verdict_rows) + 1.4 * headlines) + 0.9
    fig, [ax] = canvas(width=11.5, height=height)
    # text on both sides of the panel replaces the panel's labels
    fig.set_layout_engine("none")
    ax.set_position((0.152, 0.75 / height, 0.565, 1 - 0.8 / height))
    at = 0.0
    for headline, rows in verdict_rows.groupby("headline", sort=False):
        first = rows.iloc[0]
        _text(ax, _LEFT, at, str(headline), weight="bold", ha="right")
        _text(ax, 0.005, at, str(first["says"]), color=SOFT)
        printed = first["source"] != ""
        words = f"printed: {first['words']}" if printed else str(first["words"])
        _text(ax, _RIGHT, at, words, color=_PRINTED if printed else SOFT)
        if printed:
            between = (at + 0.5, at + len(rows) + 0.5)
            ax.plot([first["printed"]] * 2, between, color=_PRINTED, ls=":", lw=1.6)
        for i, row in enumerate(rows.to_dict("records"), 1):
            _row(ax, at + i, row, colors[str(row["verdict"])])
        at += len(rows) + 1.4
    ax.axvline(1, color=INK, lw=0.9)
    ax.set(xscale="log", ylim=(at - 0.7, -0.7), yticks=[])
    low = float(verdict_rows["p5"].min())
    high = float(np.nanmax(verdict_rows[["p95", "high", "printed"]].to_numpy(float)))
    ax.set_xlim(min(low, 0.9) / 1.1, high * 1.1)
    ticks = [tick for tick in _TICKS if min(low, 0.9) <= tick <= high * 1.1]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(
        "times better than without it; 1: no gain\n"
        "dot and bar: mean over months, 95 %; line: nine of ten months; dotted: as printed"
    )
    return fig


def _row(ax: Axes, at: float, row: Mapping[Hashable, Any], color: str) -> None:
    """Draw one headline for one source of jobs."""
    ax.plot([row["p5"], row["p95"]], [at, at], color=color, lw=0.9)
    bar = [row["low"], row["high"]]
    ax.plot(bar, [at, at], color=color, lw=4.5, alpha=0.45, solid_capstyle="butt")
    ax.plot([row["gain"]], [at], color=color, marker="o", ms=4.5)
    _text(ax, _LEFT, at, row["jobs"], ha="right")
    _text(
        ax,
        _RIGHT,
        at,
        f"{row['times'].replace(' times', '×')}  {row['verdict']}",
        color=darken(color),
    )


def _text(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    across = ax.get_yaxis_transform()
    behind = {"fc": "white", "ec": "none", "pad": 0.6}
    ax.text(x, y, text, transform=across, va="center", fontsize=8.5, bbox=behind, **style)
