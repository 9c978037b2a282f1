"""Draw cumulative utilisation curves, and compare them with the archive notebook's."""

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Comparison, figures, gang_label
from philly_analysis.study import NOTEBOOK, curve, largest_gap_pct


def plot_curves(
    rows: pd.DataFrame,
    by: str,
    colors: Mapping[str, str],
    *,
    label: Callable[[str], str] = gang_label,
    quantity: str = "GPU utilisation, %",
    observations: str = "GPU-minutes",
    title: str = "",
) -> Figure:
    """Draw cumulative utilisation, one curve per group.

    Parameters
    ----------
    rows
        Percentile grid with ``attempts``, ``percentile``, ``util_pct`` and the column `by`.
    by
        Column of the groups, whole numbers.
    colors
        Colour by group; other groups are not drawn.
    label
        Returns the label of a group.
    """
    fig, [ax] = figures.canvas()
    named = rows[rows[by].isin([int(group) for group in colors])]
    named = named.assign(group=named[by].astype(int).astype(str))
    figures.cdf(
        ax, named, value="util_pct", by="group", colors=colors, counts="attempts", label=label
    )
    ax.set(xlim=(0, 100), xlabel=quantity, ylabel=f"share of {observations}")
    if title:
        figures.title(ax, title)
    figures.label_lines(ax)
    return fig


def notebook_gap(
    analysis: str, group: str, rows: pd.DataFrame, figure: str, reason: str
) -> Comparison:
    """Compare a percentile grid with a curve of the archive's notebook."""
    return Comparison(
        what=f"largest gap to the notebook's {figure}",
        published=0.0,
        measured=largest_gap_pct(curve(analysis, group), rows["util_pct"]),
        unit="points",
        source=NOTEBOOK,
        reason=reason,
    )
