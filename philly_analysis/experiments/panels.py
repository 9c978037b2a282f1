"""Panels of the experiments' figures: effects over load, sensitivity, forest plots."""

from collections.abc import Collection
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from philly_analysis.experiments.effects import USUAL, Pairs, effects
from philly_analysis.results.figures import CYCLE, INK, MUTED, title

_TICKS = (-90, -50, -10, -5, 0, 5, 10, 50, 100, 300, 1000)
"""Percentages on an axis that is logarithmic beyond 10."""

_OFFSET = 0.015
"""Distance of the points of two curves at one load, as a share of the range of loads."""


def symlog_percent(ax: Axes, along: Literal["x", "y"]) -> None:
    """Scale an axis of percentages so that small and large changes are both visible."""
    axis = ax.xaxis if along == "x" else ax.yaxis
    (ax.set_xscale if along == "x" else ax.set_yscale)("symlog", linthresh=10)
    axis.set_major_locator(FixedLocator(_TICKS))
    axis.set_major_formatter("{x:g}")


def over_load(
    ax: Axes, table: pd.DataFrame, measure: str, pairs: Pairs, setting: str = USUAL
) -> None:
    """Draw effects over load, one curve per (arm, against, label), with 95 % intervals.

    Curves are offset along the axis, so that their intervals do not overlap.
    """
    loads = sorted(table.loc[table["setting"] == setting, "load"].dropna().unique())
    offset = _OFFSET * float(np.ptp(loads)) if loads else 0.0
    for i, (arm, against, label) in enumerate(pairs):
        curve = effects(table, measure, arm, against)
        curve = curve[curve["setting"] == setting].sort_values("load")
        if curve.empty:
            continue
        color = CYCLE[i % len(CYCLE)]
        at = curve["load"] + offset * (i - (len(pairs) - 1) / 2)
        ax.plot(at, curve["effect_pct"], color=color, marker="o", ms=3, label=label)
        ax.vlines(at, curve["low_pct"], curve["high_pct"], color=color, alpha=0.45, lw=1.4)
    ax.axhline(0, color=MUTED, lw=0.8)
    ax.set(xlabel="offered load", xticks=loads)


def mark_published(ax: Axes, value_pct: float, label: str) -> None:
    """Draw a published change as a dashed line."""
    ax.axhline(value_pct, color=MUTED, ls="--", lw=1.2, label=label)


def other_load(table: pd.DataFrame, usual: Collection[str] = (USUAL,)) -> float | None:
    """Return the load of all settings but the usual ones; None if there are none."""
    loads = table.loc[~table["setting"].isin(usual), "load"]
    return None if loads.empty else float(loads.median())


def sensitivity(
    ax: Axes,
    table: pd.DataFrame,
    measure: str,
    pair: tuple[str, str],
    label: str,
    *,
    usual: str = USUAL,
    load: float | None = None,
) -> None:
    """Draw an effect at one load under every setting, the usual one first and as a line.

    Parameters
    ----------
    pair
        The arm, and the arm for comparison.
    load
        Load to draw; None: the load of all other settings. Without a load the panel stays empty.
    """
    load = other_load(table, (usual,)) if load is None else load
    if load is None:
        return
    rows = effects(table, measure, *pair)
    rows = rows[np.isclose(rows["load"], load)].reset_index(drop=True)
    at = np.arange(len(rows))[::-1]
    error = [rows["effect_pct"] - rows["low_pct"], rows["high_pct"] - rows["effect_pct"]]
    colors = [CYCLE[0] if s == usual else INK for s in rows["setting"]]
    ax.errorbar(rows["effect_pct"], at, xerr=error, fmt="none", ecolor=MUTED, elinewidth=1.2)
    ax.scatter(rows["effect_pct"], at, color=colors, s=16, zorder=3)
    line = rows.loc[rows["setting"] == usual, "effect_pct"]
    if len(line):
        ax.axvline(float(line.iloc[0]), color=CYCLE[0], lw=0.8, ls="--")
    ax.set_yticks(at, list(rows["setting"]), fontsize=8)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set(xlabel=label)
    title(ax, f"sensitivity, at a load of {load:g}")
