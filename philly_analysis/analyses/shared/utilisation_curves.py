"""Draw cumulative utilisation curves, one per group."""

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import figures, gang_label


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
