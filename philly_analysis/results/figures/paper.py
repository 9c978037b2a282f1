"""Restyle a finished figure for print: width of a column, small fonts, shades of grey."""

from itertools import cycle
from textwrap import fill
from typing import Any, Literal, cast, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_rgb, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from philly_analysis.errors import UnknownNameError
from philly_analysis.results.figures.style import INK, luminance

Style = Literal["page", "column", "text"]
"""Widths of a figure: the report's page, one column, or both columns of a paper."""

_WIDTHS = {"column": 3.35, "text": 7.0}
"""Inches, as in ACM's and USENIX' styles of two columns."""
_FONT, _PAGE_FONT = 7.0, 9.0
_PANEL_INCHES = 1.9
_LEAST_INCHES = 1.3
_LETTERS_PER_INCH = 17
_SMALLEST = 5.5
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
_GREYS = ("0.0", "0.35", "0.55")
_COLOURFUL = 0.05
"""Least difference between the channels of a colour that is not a shade of grey."""


def restyle(fig: Figure, style: Style, *, grey: bool = False) -> Figure:
    """Restyle a figure in place, and return it.

    Parameters
    ----------
    style
        ``page`` leaves the size. ``column`` stacks the panels.
    grey
        Whether to replace colours by shades of grey; lines get dashes as well.
    """
    if style not in get_args(Style):
        raise UnknownNameError("style", style, get_args(Style))
    if style != "page":
        _resize(fig, _WIDTHS[style], stack=style == "column")
        for text in fig.findobj(Text):
            text.set_fontsize(max(float(text.get_fontsize()) * _FONT / _PAGE_FONT, _SMALLEST))
        for ax in fig.axes:
            for line in ax.lines:
                line.set_linewidth(line.get_linewidth() * _FONT / _PAGE_FONT)
            ax.set_xlabel(fill(ax.get_xlabel(), int(_WIDTHS[style] * _LETTERS_PER_INCH)))
            ax.set_ylabel(fill(ax.get_ylabel(), int(_LEAST_INCHES * _LETTERS_PER_INCH)))
    if grey:
        for ax in fig.axes:
            _without_colour(ax)
        _repeat_in_legends(fig)
    if style != "page":
        _make_room(fig)
    return fig


def _resize(fig: Figure, width: float, *, stack: bool) -> None:
    specs = [spec for ax in fig.axes if (spec := ax.get_subplotspec())]
    columns = max((spec.get_gridspec().ncols for spec in specs), default=1)
    if stack and columns > 1:
        shown = [ax for ax in fig.axes if ax.axison] or fig.axes[:1]
        for ax in set(fig.axes) - set(shown):
            ax.remove()
        grid = fig.add_gridspec(len(shown), 1)
        for row, ax in enumerate(shown):
            ax.set_subplotspec(grid[row])
            ax.tick_params(labelbottom=True, labelleft=True)
        fig.set_size_inches(width, _PANEL_INCHES * len(shown))
    else:
        height = fig.get_figheight() * width / fig.get_figwidth()
        fig.set_size_inches(width, max(height, _PANEL_INCHES))


def _make_room(fig: Figure) -> None:
    """Add the height that legends and labels take from the lowest panel."""
    fig.draw_without_rendering()
    missing = _LEAST_INCHES - min(
        (ax.get_position().height * fig.get_figheight() for ax in fig.axes if ax.axison),
        default=_LEAST_INCHES,
    )
    if missing > 0:
        rows = len({round(ax.get_position().y0, 3) for ax in fig.axes if ax.axison})
        fig.set_figheight(fig.get_figheight() + missing * rows)


def _without_colour(ax: Axes) -> None:
    seen: dict[tuple[float, ...], tuple[str, object]] = {}
    dashes, greys = cycle(_DASHES), cycle(_GREYS)
    for line in ax.lines:
        colour = to_rgb(line.get_color())
        if not _colourful(colour):
            continue
        if colour not in seen:
            seen[colour] = next(greys), next(dashes)
        shade, dash = seen[colour]
        line.set_color(shade)
        if line.get_linestyle() == "-":
            line.set_linestyle(dash)  # type: ignore[arg-type]
    for mark in ax.findobj(lambda artist: isinstance(artist, Patch | Collection)):
        if mark is not ax.patch:
            _shade(cast("Patch | Collection", mark))
    for text in ax.findobj(Text):
        if _colourful(to_rgb(text.get_color())):
            text.set_color(INK)


def _repeat_in_legends(fig: Figure) -> None:
    """Repeat the colours and dashes of lines in the legends that name them."""
    lines = {str(line.get_label()): line for ax in fig.axes for line in ax.lines}
    legends = [*fig.legends, *(legend for ax in fig.axes if (legend := ax.get_legend()))]
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            line = lines.get(text.get_text())
            if isinstance(handle, Line2D) and line is not None:
                handle.set(color=line.get_color(), linestyle=line.get_linestyle())


def _shade(mark: Patch | Collection) -> None:
    """Replace a mark's colours by greys of the same luminance, as the eye sees it."""
    for kind in ("facecolor", "edgecolor"):
        faces = to_rgba_array(getattr(mark, f"get_{kind}")())
        if len(faces):
            light = np.array([luminance(face[:3]) ** (1 / 2.2) for face in faces])
            shades = np.column_stack([light, light, light, faces[:, 3]])
            colours: Any = [tuple(shade) for shade in shades]
            mark.set(**{kind: colours if isinstance(mark, Collection) else colours[0]})


def _colourful(colour: tuple[float, ...]) -> bool:
    return max(colour) - min(colour) > _COLOURFUL
