"""Draw the verdicts of an atlas as one figure: claims by clusters, on a common scale."""

from collections.abc import Hashable, Mapping
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Claim, Verdict
from philly_analysis.atlas.drawing import COLORS
from philly_analysis.results import Result
from philly_analysis.results.figures import INK, MUTED, SOFT, canvas, empty, literal

_MARKERS = {Verdict.HOLDS: "o", Verdict.REVERSED: "X", Verdict.ABSENT: "D", Verdict.UNDECIDED: "o"}
_SPAN = {"times": 8.0, "s": 30.0, "%": 50.0, "points": 25.0}
"""Factor, or difference, from the threshold to the edge of a cell, by unit."""
_CELL = 0.42
_ROW, _COLUMN, _LABELS, _EDGES = 0.37, 0.62, 2.75, 1.35
"""Inches of a row, a column, the labels of the rows, and of what is above and below the rows."""


def plot(result: Result) -> Figure:
    """Draw a cell per claim and cluster: the effect, to the right of the line where it holds.

    Claims and clusters are ordered by the number of effects. Claims without any are listed below.
    """
    table = result.table
    known = table.dropna(subset=["effect"])
    if known.empty:
        return empty(canvas()[0], "no trace can answer a claim")
    claims = list(known["claim"].value_counts().index)
    clusters = list(known["cluster"].value_counts().index)
    width = _LABELS + _COLUMN * len(clusters)
    fig, [ax] = canvas(width=width, height=_EDGES + _ROW * len(claims))
    for row in known.to_dict("records"):
        at = clusters.index(row["cluster"]), claims.index(row["claim"])
        _cell(ax, CLAIMS[row["claim"]], row, at)
    for x in range(len(clusters)):
        ax.axvline(x, color=MUTED, lw=0.6, zorder=0)
    ax.set_xlim(-0.5, len(clusters) - 0.5)
    ax.set_ylim(len(claims) - 0.5, -0.5)
    names = [fill(literal(str(name)), 10) for name in clusters]
    ax.set_xticks(range(len(clusters)), names, fontsize=7, fontweight="bold")
    ax.set_yticks(range(len(claims)), [fill(CLAIMS[name].title, 40) for name in claims])
    ax.tick_params(length=0, labeltop=True, labelbottom=False, top=False)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    for y in range(1, len(claims)):
        ax.axhline(y - 0.5, color="#e6e9ed", lw=0.8, zorder=0)
    verdicts = [v for v in Verdict if (known["verdict"] == v).any()]
    ax.legend(
        handles=[_handle(verdict) for verdict in verdicts],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.01),
        ncols=len(verdicts),
    )
    fig.supxlabel(_caption(table, set(claims)), fontsize=7.5, color=SOFT)
    return fig


def _cell(ax: Axes, claim: Claim, row: Mapping[Hashable, Any], at: tuple[int, int]) -> None:
    verdict = Verdict(row["verdict"])
    color = COLORS[verdict.word]
    x, y = at
    value, low, high = (_position(claim, v) for v in (row["effect"], row["low"], row["high"]))
    if not np.isnan(low):
        ax.plot([x + low, x + high], [y - 0.12] * 2, color=color, lw=1.8, solid_capstyle="round")
    face = "white" if verdict is Verdict.UNDECIDED else color
    ax.plot(x + value, y - 0.12, _MARKERS[verdict], color=color, mfc=face, ms=5)
    text = claim.format(row["effect"])
    label = ax.text(x, y + 0.27, text, ha="center", va="center", fontsize=6.5, color=INK)
    label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})


def _position(claim: Claim, value: float) -> float:
    """Return where a value is in its cell, from the threshold: to the right where it holds."""
    unit = claim.measure.unit
    if unit in ("times", "s"):
        with np.errstate(divide="ignore"):
            away = np.log(np.float64(value) / claim.threshold) / np.log(_SPAN[unit])
    else:
        away = (value - claim.threshold) / _SPAN[unit]
    return float(_CELL * np.clip(away if claim.above else -away, -1, 1))


def _handle(verdict: Verdict) -> Line2D:
    color = COLORS[verdict.word]
    face = "white" if verdict is Verdict.UNDECIDED else color
    label = verdict.word if verdict is Verdict.UNDECIDED else str(verdict)
    return Line2D([], [], color=color, marker=_MARKERS[verdict], mfc=face, ms=5, label=label)


def _caption(table: pd.DataFrame, answered: set[str]) -> str:
    parts = [
        "Each cell: the effect with its 95 % interval. The line is the claim's threshold; an "
        "effect to its right supports the claim. Empty: the trace lacks the data."
    ]
    silent = [CLAIMS[n].title for n in dict.fromkeys(table["claim"]) if n not in answered]
    if silent:
        parts.append(f"No trace here can answer: {'; '.join(silent)}.")
    return fill(" ".join(parts), 130)
