"""How the experiments' figures are drawn: effects over load, and what moves them."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from philly_analysis.experiments.effects import effects
from philly_analysis.results import Paired
from philly_analysis.results.figures import CYCLE, INK, MUTED

_TICKS = (-90, -50, -10, -5, 0, 5, 10, 50, 100, 300, 1000)
"""Percent that are named on an axis that is logarithmic beyond 10."""

_APART = 0.015
"""Between the points of two curves at one load, as a share of all loads."""


def far_apart(ax: Axes, along: Literal["x", "y"]) -> None:
    """Make room on an axis of percent for large changes beside small ones."""
    axis = ax.xaxis if along == "x" else ax.yaxis
    (ax.set_xscale if along == "x" else ax.set_yscale)("symlog", linthresh=10)
    axis.set_major_locator(FixedLocator(_TICKS))
    axis.set_major_formatter("{x:g}")


def over_load(
    ax: Axes,
    table: pd.DataFrame,
    measure: str,
    pairs: Sequence[tuple[str, str, str]],
    setting: str,
) -> None:
    """Draw effects over load, one curve per (arm, against, label), with its 95 % intervals.

    Curves stand a little apart along the axis, so that no interval hides another.
    """
    loads = sorted(table.loc[table["setting"] == setting, "load"].dropna().unique())
    apart = _APART * float(np.ptp(loads)) if loads else 0.0
    for i, (arm, against, label) in enumerate(pairs):
        curve = effects(table, measure, arm, against)
        curve = curve[curve["setting"] == setting].sort_values("load")
        if curve.empty:
            continue
        color = CYCLE[i % len(CYCLE)]
        at = curve["load"] + apart * (i - (len(pairs) - 1) / 2)
        ax.plot(at, curve["effect_pct"], color=color, marker="o", ms=3, label=label)
        ax.vlines(at, curve["low_pct"], curve["high_pct"], color=color, alpha=0.45, lw=1.4)
    ax.axhline(0, color=MUTED, lw=0.8)
    ax.set(xlabel="offered load", xticks=loads)


def moved(
    ax: Axes, table: pd.DataFrame, measure: str, arm: str, against: str, load: float, base: str
) -> None:
    """Draw an effect at one load under every setting, the usual one first and as a line."""
    rows = effects(table, measure, arm, against)
    rows = rows[np.isclose(rows["load"], load)].reset_index(drop=True)
    at = np.arange(len(rows))[::-1]
    error = [rows["effect_pct"] - rows["low_pct"], rows["high_pct"] - rows["effect_pct"]]
    colors = [CYCLE[0] if s == base else INK for s in rows["setting"]]
    ax.errorbar(rows["effect_pct"], at, xerr=error, fmt="none", ecolor=MUTED, elinewidth=1.2)
    ax.scatter(rows["effect_pct"], at, color=colors, s=16, zorder=3)
    usual = rows.loc[rows["setting"] == base, "effect_pct"]
    if len(usual):
        ax.axvline(float(usual.iloc[0]), color=CYCLE[0], lw=0.8, ls="--")
    ax.set_yticks(at, list(rows["setting"]), fontsize=8)
    ax.set_ylim(-0.6, len(rows) - 0.4)


def forest(ax: Axes, rows: Sequence[tuple[str, Paired, str]]) -> None:
    """Draw an effect a row, with its interval."""
    for at, (_, found, color) in enumerate(reversed(rows)):
        error = [[found.effect - found.low], [found.high - found.effect]]
        ax.errorbar(found.effect, at, xerr=error, fmt="o", ms=3.5, color=color, elinewidth=1.2)
    ax.axvline(0, color=MUTED, lw=0.8)
    ax.set_yticks(range(len(rows)), [label for label, *_ in reversed(rows)], fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.6, len(rows) - 0.4)
