"""Write the names of lines beside them, or in a legend where space is short."""

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

from philly_analysis.results.figures.label_placement import LINE, PanelGrid, positions_at_ends
from philly_analysis.results.figures.legends import legend, put_below
from philly_analysis.results.figures.lines import FONT, end_of, name_of, named_lines, text_size
from philly_analysis.results.figures.style import STYLE

_MOST, _MOST_ENDS = 6, 10
"""Most lines with names beside them, and at their ends; more have a legend."""
_AT_END = 0.1
"""Largest distance of line ends from the right edge, as a fraction of the panel's width."""
_LEAST_WIDTH = 0.5
"""Least width of a panel beside names at line ends, as a fraction."""


class LineNames(Artist):
    """The line names of some panels, each written once.

    The artist draws nothing itself: the layout calls :meth:`write`, which adds texts.
    """

    def __init__(self, panels: Sequence[Axes]) -> None:
        super().__init__()
        self._panels = tuple(panels)
        self._written: list[Annotation] = []
        self._in_legend = False
        self._at_ends = False
        self.set_in_layout(False)

    def draw(self, renderer: RendererBase) -> None:
        """Do nothing: the texts are artists of their own."""

    def write(self, renderer: RendererBase) -> bool:
        """Write the names again; return whether they need space that they did not need before."""
        if self._in_legend:
            return False
        for text in self._written:
            text.remove()
        self._written = []
        named = [named_lines(ax) for ax in self._panels]
        wanted = dict.fromkeys(name for lines in named for name in lines)
        if len(named) == 1 and (
            self._at_ends or _ends_are_distinct(self._panels[0], named[0], renderer)
        ):
            ends = positions_at_ends(self._panels[0], named[0], renderer)
            self._written = [text for place in ends for text in place.write()]
            known, self._at_ends = self._at_ends, True
            return not known
        if len(wanted) <= _MOST:
            panels = sorted(zip(self._panels, named, strict=True), key=lambda p: -len(p[1]))
            found = [PanelGrid(ax, lines, renderer).places() for ax, lines in panels]
            found.sort(key=lambda places: -len(places))
            places = {name_of(p.line): p for one in reversed(found) for p in one}
            if places.keys() == wanted.keys():
                self._written = [text for place in places.values() for text in place.write()]
                return False
        self._in_legend = bool(wanted)
        if len(self._panels) > 1:
            _legend_below_all(self._panels, renderer)
        elif wanted:
            legend(self._panels[0])
            put_below(self._panels[0], renderer)
        return self._in_legend


def label_lines(panels: Axes | Iterable[Axes]) -> None:
    """Write the name of each line beside it, once among these panels.

    Lines with distinct ends at the right edge have their names there. Other names are next to
    their line where they cover nothing, if needed with a leader. A legend below replaces them
    where a line has no such place, or where there are more than six lines.
    """
    axes = [panels] if isinstance(panels, Axes) else list(panels)
    if axes:
        axes[0].get_figure(root=True).add_artist(LineNames(axes))  # type: ignore[union-attr]


def write_names(fig: Figure, renderer: RendererBase) -> bool:
    """Write all line names of a figure; return whether a legend was added, which needs space."""
    wanted = [names for names in fig.artists if isinstance(names, LineNames)]
    with mpl.rc_context(STYLE):
        return sum(names.write(renderer) for names in wanted) > 0


def _ends_are_distinct(ax: Axes, lines: dict[str, Line2D], renderer: RendererBase) -> bool:
    """Return whether lines end at distinct places at the right edge, with space for names."""
    if not 0 < len(lines) <= _MOST_ENDS:
        return False
    frame = ax.get_window_extent(renderer)
    ends = np.array([end_of(line) for line in lines.values()])
    wide = max(text_size(name, renderer)[0] for name in lines)
    return bool(
        (abs(ends[:, 0] - frame.x1) <= _AT_END * frame.width).all()
        and (np.ptp(ends[:, 1]) > LINE * FONT or len(lines) == 1)
        and wide < (1 - _LEAST_WIDTH) * frame.width
    )


def _legend_below_all(panels: Sequence[Axes], renderer: RendererBase) -> None:
    """Put one legend below all panels, in as many columns as fit."""
    handles: dict[str, Artist] = {}
    for ax in panels:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    fig = cast("Figure", panels[0].get_figure(root=True))
    entry = max(text_size(name, renderer)[0] for name in handles) + 4.5 * FONT * fig.dpi / 72
    fig.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=max(1, min(len(handles), int(fig.bbox.width / entry))),
        fontsize=FONT,
        frameon=False,
    )
