"""Draw forest plots: effects with their intervals, a row each."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from philly_analysis.results.figures.drawing import canvas
from philly_analysis.results.figures.style import CYCLE, MUTED, literal
from philly_analysis.results.paired_effects import Paired, change_text, is_clear

Row = tuple[str, Paired, str]
"""Label, effect and colour."""

_ROW, _HEADING, _AXIS = 0.185, 0.27, 0.45
"""Inches of a row, of a panel's title, and of the axis."""
_NARROWEST, _WIDEST = 2.0, 150.0
"""Percent to which the axis extends at least on both sides, and at most beyond the effects."""


HELPS, HARMS, UNCLEAR = CYCLE[2], CYCLE[4], MUTED
"""Colours of a change for the better, for the worse, and of one whose interval has zero."""


class Panel(NamedTuple):
    """Rows with a heading; a published change, drawn as a dotted line, or None."""

    heading: str
    rows: Sequence[Row]
    published_pct: float | None = None


def forest(ax: Axes, rows: Sequence[Row], *, values: bool = False) -> None:
    """Draw a forest plot: one row per (label, effect, colour), with its interval.

    Parameters
    ----------
    values
        Write the effects and intervals beside the panel.
    """
    for at, (_, paired, color) in enumerate(reversed(rows)):
        error = [[paired.effect - paired.low], [paired.high - paired.effect]]
        ax.errorbar(paired.effect, at, xerr=error, fmt="o", ms=3.5, color=color, elinewidth=1.2)
        if values:
            across = ax.get_yaxis_transform()
            ax.text(1.04, at, change_text(paired), transform=across, va="center", fontsize=8)
    ax.axvline(0, color=MUTED, lw=0.8)
    ax.set_yticks(range(len(rows)), [label for label, *_ in reversed(rows)], fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.6, len(rows) - 0.4)


def effect_color(change: Paired, *, more: bool = False) -> str:
    """Return the colour of a change of something of which less (or more) is better."""
    if not is_clear(change):
        return UNCLEAR
    return HELPS if (change.effect > 0) == more else HARMS


def forest_panels(panels: Sequence[Panel], label: str) -> Figure:
    """Draw a forest plot of percent changes: a panel per heading, on one axis.

    Intervals that extend far beyond the effects are cut, with an arrow head at the cut; the text
    beside them is complete.

    Parameters
    ----------
    label
        Label of the axis.
    """
    heights = [_HEADING + _ROW * len(panel.rows) for panel in panels]
    fig, axes = canvas(
        *(1, len(panels)),
        width=4.6,
        height=sum(heights) + _AXIS,
        sharex=True,
        gridspec_kw={"height_ratios": heights},
    )
    ends = [-_NARROWEST, _NARROWEST]
    for ax, (heading, rows, published_pct) in zip(axes, panels, strict=True):
        forest(ax, rows, values=True)
        ends += [change.effect for _, change, _ in rows]
        if published_pct is not None:
            ax.axvline(published_pct, color=CYCLE[3], ls=":", lw=1.6)
            ends.append(published_pct)
        # makes room for the heading, which begins at the figure's edge
        ax.set_title(" ", loc="left", fontsize=9)
        edge = blended_transform_factory(fig.transFigure, ax.transAxes)
        ax.text(
            *(0.01, 1.02, literal(heading)),
            transform=edge,
            fontsize=9,
            fontweight="bold",
            va="bottom",
        ).set_in_layout(False)
    low, right = axes[-1].get_xlim()
    beyond = 0.1 * (max(ends) - min(ends))
    axes[-1].set_xlim(
        max(min(low, min(ends) - beyond), min(-100 - beyond, min(ends) - beyond)),
        min(max(right, max(ends) + beyond), max(_WIDEST, max(ends) + beyond)),
    )
    axes[-1].set_xlabel(label)
    for ax, panel in zip(axes, panels, strict=True):
        _mark_cuts(ax, panel.rows)
    return fig


def _mark_cuts(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw an arrow head where an interval extends beyond the axis."""
    low, high = ax.get_xlim()
    for at, (_, change, color) in enumerate(reversed(rows)):
        for end, is_cut, marker in ((low, change.low < low, "<"), (high, change.high > high, ">")):
            if is_cut:
                ax.plot(end, at, marker, color=color, markersize=5, clip_on=False)
