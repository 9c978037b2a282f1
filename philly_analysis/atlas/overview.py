"""Draw the answers of an atlas as one figure: claims by clusters, on a common scale."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Claim, Evidence, Verdict
from philly_analysis.atlas.drawing import COLORS, position
from philly_analysis.atlas.profile import missing_data
from philly_analysis.results import Result
from philly_analysis.results.figures import INK, MUTED, SOFT, canvas, empty, literal

_MARKERS = {Verdict.HOLDS: "o", Verdict.REVERSED: "X", Verdict.ABSENT: "D", Verdict.UNDECIDED: "s"}
_WASHES = {Verdict.HOLDS: "#e3eef7", Verdict.REVERSED: "#fbeadd", Verdict.ABSENT: "#e2f2f0"}
_SIZES = {Evidence.ROWS: 5.2, Evidence.AGGREGATES: 5.2, Evidence.PRINTED: 3.4}
_CELL, _FONT = 0.34, 7.5


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the figure.

    Attributes
    ----------
    row, column, labels, edges
        Inches: height of a row, width of a column, width of the row labels, and height outside of
        the rows.
    markers
        Factor of the markers' size.
    letters
        Letters of a claim in a line.
    turned
        Degrees by which the names of clusters are turned.
    legend
        Columns of the legend.
    """

    row: float = 0.245
    column: float = 0.31
    labels: float = 2.5
    edges: float = 1.75
    markers: float = 1
    letters: int = 80
    turned: int = 55
    legend: int = 4


PHONE = Layout(0.26, 0.135, 1.45, 2.4, 0.6, 27, 90, 2)
"""Layout for a screen of 390 pixels, on which 100 pixels are an inch."""


def plot(table: pd.DataFrame, result: Result, layout: Layout = Layout()) -> Figure:
    """Draw a cell per claim and cluster; an effect right of the line supports the claim.

    Parameters
    ----------
    table
        The atlas's table, with shipped answers of other clusters.
    """
    answers = table.dropna(subset=["effect"])
    if answers.empty:
        return empty(canvas()[0], "no trace can answer a claim")
    claims, clusters = order(answers, "claim"), order(answers, "cluster")
    mine = [name for name in clusters if name in set(result.table["cluster"])]
    if len(mine) < len(clusters) and result.table["cluster"].nunique() < len(clusters):
        clusters = mine + [name for name in clusters if name not in mine]
    width = layout.labels + layout.column * max(len(clusters), 12)
    fig, [ax] = canvas(width=width, height=layout.edges + layout.row * len(claims))
    for row in answers.to_dict("records"):
        at = clusters.index(row["cluster"]), claims.index(row["claim"])
        _cell(ax, CLAIMS[row["claim"]], row, at, layout.markers)
    ax.set_xlim(-0.5, len(clusters) - 0.5)
    ax.set_ylim(len(claims) - 0.5, -0.5)
    names = [literal(str(name)) for name in clusters]
    turned: dict[str, Any] = {"rotation": layout.turned, "rotation_mode": "anchor"}
    ax.set_xticks(range(len(clusters)), names, fontsize=_FONT, ha="left", va="center", **turned)
    titles = [fill(CLAIMS[name].title, layout.letters) for name in claims]
    ax.set_yticks(range(len(claims)), titles, fontsize=_FONT, linespacing=0.95)
    ax.tick_params(length=0, labeltop=True, labelbottom=False, top=False)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    handles, columns = _legend(answers), layout.legend
    fig.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=_FONT)
    middle = 0.5 - layout.labels / 2 / (width - layout.labels)
    ax.set_xlabel(_caption(answers, set(claims), width), fontsize=_FONT, color=SOFT, x=middle)
    return fig


def order(answers: pd.DataFrame, by: str) -> list[str]:
    """Return the claims or clusters, by descending number of verdicts, then of effects."""
    decided = answers["verdict"] != Verdict.UNDECIDED
    counts = answers.assign(decided=decided).groupby(by, sort=False)["decided"].agg(["sum", "size"])
    return list(counts.sort_values(["sum", "size"], ascending=False, kind="stable").index)


def _cell(
    ax: Axes, claim: Claim, row: Mapping[Hashable, Any], at: tuple[int, int], scale: float
) -> None:
    verdict, evidence = Verdict(row["verdict"]), Evidence(row["evidence"])
    color = COLORS[verdict.word]
    x, y = at
    value, low, high = (_CELL * position(claim, row[key]) for key in ("effect", "low", "high"))
    if verdict in _WASHES:
        ax.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=_WASHES[verdict], lw=0))
    ax.plot([x, x], [y - 0.46, y + 0.46], color=MUTED, lw=0.5)
    if not np.isnan(low):
        ax.plot([x + low, x + high], [y] * 2, color=color, lw=1.3, solid_capstyle="round")
    face = color if evidence is Evidence.ROWS else "white"
    size = scale * (_SIZES[evidence] - 1.2 * (verdict in {Verdict.ABSENT, Verdict.UNDECIDED}))
    ax.plot(x + value, y, _MARKERS[verdict], color=color, mfc=face, ms=size, mew=0.9)


def _legend(answers: pd.DataFrame) -> list[Line2D]:
    verdicts = [
        _handle(COLORS[v.word], _MARKERS[v], _SIZES[Evidence.ROWS], COLORS[v.word], str(v))
        for v in Verdict
        if (answers["verdict"] == v).any()
    ]
    words = {
        Evidence.ROWS: "from rows of a log",
        Evidence.AGGREGATES: "from published aggregates",
        Evidence.PRINTED: "a printed number",
    }
    return verdicts + [
        _handle(INK, "o", _SIZES[e], INK if e is Evidence.ROWS else "white", words[e])
        for e in Evidence
        if (answers["evidence"] == e).any()
    ]


def _handle(color: str, marker: str, size: float, face: str, label: str) -> Line2D:
    style = {"marker": marker, "mfc": face, "ms": size, "mew": 0.9, "ls": "none"}
    return Line2D([], [], color=color, label=label, **style)  # type: ignore[arg-type]


def _caption(answers: pd.DataFrame, answered: set[str], width: float) -> str:
    decided = int((answers["verdict"] != Verdict.UNDECIDED).sum())
    parts = [
        f"{decided} of {len(answers)} cells with data have a verdict. The line in a cell is the "
        "claim's threshold; an effect to its right supports the claim. Empty: no data."
    ]
    if silent := [c for c in CLAIMS.values() if c.name not in answered]:
        parts.append(
            f"No cluster here answers: {'; '.join(c.title for c in silent)}. Needed: "
            f"{', '.join(missing_data(silent))}."
        )
    return fill(" ".join(parts), int(width * 17))
