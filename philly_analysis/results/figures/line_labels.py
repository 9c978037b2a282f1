"""Writes the names of lines beside them, where there is room; else a legend tells them apart."""

from collections.abc import Iterable, Sequence
from typing import cast

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from philly_analysis.results.figures.label_placement import LINE, Room, at_ends
from philly_analysis.results.figures.legends import below, legend
from philly_analysis.results.figures.lines import FONT, end_of, name_of, named_lines, width_of
from philly_analysis.results.figures.style import STYLE

_MOST, _MOST_ENDS = 6, 10
"""Lines that names beside them, and at their ends, tell apart better than a legend does."""
_AT_END = 0.1
"""Of a panel's width, how far from its right edge lines may end that are named there."""
_LEAST_WIDTH = 0.5
"""What names at ends must leave of a panel."""


class Names(Artist):
    """The names that lines of some panels are to have; each is written once.

    It draws nothing itself: :meth:`write` is called when the figure has been laid out, and writes
    texts.
    """

    def __init__(self, panels: Sequence[Axes]) -> None:
        super().__init__()
        self._panels = tuple(panels)
        self._written: list[Annotation] = []
        self._in_legend = False
        self._at_ends = False
        self.set_in_layout(False)

    def draw(self, renderer: RendererBase) -> None:
        """Draw nothing."""

    def write(self, renderer: RendererBase) -> bool:
        """Write the names anew; tell whether they take room just now that they did not before."""
        if self._in_legend:
            return False
        for text in self._written:
            text.remove()
        self._written = []
        named = [named_lines(ax) for ax in self._panels]
        wanted = dict.fromkeys(name for lines in named for name in lines)
        if len(named) == 1 and (self._at_ends or _end_apart(self._panels[0], named[0], renderer)):
            ends = at_ends(self._panels[0], named[0], renderer)
            self._written = [text for place in ends for text in place.written()]
            known, self._at_ends = self._at_ends, True
            return not known
        if len(wanted) <= _MOST:
            panels = sorted(zip(self._panels, named, strict=True), key=lambda p: -len(p[1]))
            found = [Room(ax, lines, renderer).places() for ax, lines in panels]
            found.sort(key=lambda places: -len(places))
            places = {name_of(p.line): p for one in reversed(found) for p in one}
            if places.keys() == wanted.keys():
                self._written = [text for place in places.values() for text in place.written()]
                return False
        self._in_legend = bool(wanted)
        if len(self._panels) > 1:
            _under_all(self._panels, renderer)
        elif wanted:
            legend(self._panels[0])
            below(self._panels[0], renderer)
        return self._in_legend


def name_lines(panels: Axes | Iterable[Axes]) -> None:
    """Have the name of each line written beside it, once among these panels.

    Lines that end apart at the right are named there. Else a name stands where it is nearest to its
    own line and covers nothing, led to by a hair where it is apart; where a line finds no such
    place in any panel, or there are more than six, all names go to a legend below.
    """
    axes = [panels] if isinstance(panels, Axes) else list(panels)
    if axes:
        axes[0].get_figure(root=True).add_artist(Names(axes))  # type: ignore[union-attr]


def written(fig: Figure, renderer: RendererBase) -> bool:
    """Write the names that were asked for; tell whether a legend came about, which takes room."""
    asked = [names for names in fig.artists if isinstance(names, Names)]
    with mpl.rc_context(STYLE):
        return sum(names.write(renderer) for names in asked) > 0


def _end_apart(ax: Axes, lines: dict[str, Line2D], renderer: RendererBase) -> bool:
    """Tell whether lines end at the right of a panel, not all in one place, with room beside."""
    if not 0 < len(lines) <= _MOST_ENDS:
        return False
    frame = ax.get_window_extent(renderer)
    ends = np.array([end_of(line) for line in lines.values()])
    wide = max(width_of(name, renderer) for name in lines)
    return bool(
        (abs(ends[:, 0] - frame.x1) <= _AT_END * frame.width).all()
        and (np.ptp(ends[:, 1]) > LINE * FONT or len(lines) == 1)
        and wide < (1 - _LEAST_WIDTH) * frame.width
    )


def _under_all(panels: Sequence[Axes], renderer: RendererBase) -> None:
    """Put a legend of the lines of all panels below them, in as many columns as fit."""
    handles: dict[str, Artist] = {}
    for ax in panels:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    fig = cast("Figure", panels[0].get_figure(root=True))
    entry = max(width_of(name, renderer) for name in handles) + 4.5 * FONT * fig.dpi / 72
    fig.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=max(1, min(len(handles), int(fig.bbox.width / entry))),
        fontsize=FONT,
        frameon=False,
    )
