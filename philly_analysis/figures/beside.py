"""Writes the names of lines beside them, where there is room; else a legend tells them apart."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from philly_analysis.figures.legends import below, legend, outlines
from philly_analysis.figures.style import STYLE, legible, plain

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_MOST, _MOST_ENDS = 6, 10
"""Lines that names beside them, and at their ends, tell apart better than a legend does."""
_AT_END = 0.1
"""Of a panel's width, how far from its right edge lines may end that are named there."""
_LEAST_WIDTH = 0.5
"""What names at ends must leave of a panel."""
_LINE = 1.3
"""Height of a line of text, in its font size."""
_FONT = 8.5
_GAP = 3.0
"""Points between a line and the name that touches it."""
_FARTHER = (0.0, 9.0, 16.0, 26.0)
"""Points more, for a name that a hair leads to."""
_AIR = (2.0, 4.0, 7.0, 12.0, 20.0)
"""Points between a name and other lines: the more the better."""
_ALONE = 2.0
"""Points around a place on a line in which there is no other line: a name says which it is of."""
_EVERY = 6.0
"""Points between places along a line where its name is tried."""
_AROUND = tuple(d for d in product((1, 0, -1), repeat=2) if d != (0, 0))


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
        named = [_named(ax) for ax in self._panels]
        wanted = dict.fromkeys(name for lines in named for name in lines)
        if len(named) == 1 and (self._at_ends or _end_apart(self._panels[0], named[0], renderer)):
            ends = _at_ends(self._panels[0], named[0], renderer)
            self._written = [text for place in ends for text in place.written()]
            known, self._at_ends = self._at_ends, True
            return not known
        if len(wanted) <= _MOST:
            panels = sorted(zip(self._panels, named, strict=True), key=lambda p: -len(p[1]))
            found = [_Room(ax, lines, renderer).places() for ax, lines in panels]
            found.sort(key=lambda places: -len(places))
            places = {_name(p.line): p for one in reversed(found) for p in one}
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


@dataclass(frozen=True)
class _Place:
    """Where the name of a line goes, in points from a point of the line."""

    line: Line2D
    at: Floats
    by: Floats
    hair: Floats | None
    outside: bool = False

    def written(self) -> Iterator[Annotation]:
        ax, color = cast("Axes", self.line.axes), legible(_color(self.line))
        put: dict[str, Any] = {"xy": ax.transData.inverted().transform(self.at)}
        put |= {"textcoords": "offset points", "annotation_clip": False}
        if self.hair is not None:
            arrow = {"arrowstyle": "-", "linewidth": 0.7, "color": color, "shrinkA": 0}
            to = (float(self.hair[0]), float(self.hair[1]))
            hair = ax.annotate("", xytext=to, arrowprops={**arrow, "shrinkB": 0}, **put)
            hair.set_in_layout(False)
            yield hair
        yield ax.annotate(
            plain(_name(self.line)),
            xytext=(float(self.by[0]), float(self.by[1])),
            ha="left" if self.outside else "center",
            va="center",
            fontsize=_FONT,
            color=color,
            in_layout=self.outside,
            **put,
        )


def _end_apart(ax: Axes, lines: dict[str, Line2D], renderer: RendererBase) -> bool:
    """Tell whether lines end at the right of a panel, not all in one place, with room beside."""
    if not 0 < len(lines) <= _MOST_ENDS:
        return False
    frame = ax.get_window_extent(renderer)
    ends = np.array([_end(line) for line in lines.values()])
    wide = max(_wide(name, renderer) for name in lines)
    return bool(
        (abs(ends[:, 0] - frame.x1) <= _AT_END * frame.width).all()
        and (np.ptp(ends[:, 1]) > _LINE * _FONT or len(lines) == 1)
        and wide < (1 - _LEAST_WIDTH) * frame.width
    )


def _at_ends(ax: Axes, lines: dict[str, Line2D], renderer: RendererBase) -> Iterator[_Place]:
    """Yield the places of names in a column right of a panel, as near to their lines as may be."""
    dot = ax.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
    frame = ax.get_window_extent(renderer)
    ends = np.array([_end(line) for line in lines.values()])
    order = np.argsort(ends[:, 1], kind="stable")
    high = _spread(ends[order, 1], _LINE * _FONT * dot)
    for i, y in zip(order, high, strict=True):
        put = np.array([frame.x1 + 2 * _GAP * dot, y])
        by = (put - ends[i]) / dot
        yield _Place([*lines.values()][i], ends[i], by, by - [_GAP / 2, 0], outside=True)


def _spread(wanted: Floats, apart: float) -> Floats:
    """Return places in order, so far apart, that are together nearest to those wanted."""
    groups: list[list[float]] = []  # of places that are pushed together: their sum, and number
    for i, want in enumerate(wanted):
        groups.append([float(want) - i * apart, 1])
        while len(groups) > 1 and groups[-2][0] * groups[-1][1] > groups[-1][0] * groups[-2][1]:
            total, n = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + n]
    means = np.repeat([total / n for total, n in groups], [int(n) for _, n in groups])
    return cast("Floats", means + apart * np.arange(len(wanted)))


def _end(line: Line2D) -> Floats:
    """Return the last point of a line, in pixels."""
    points = np.asarray(line.get_transform().transform(line.get_xydata()))
    return cast("Floats", points[np.isfinite(points).all(axis=1)][-1:].ravel())


def _wide(name: str, renderer: RendererBase) -> float:
    font = FontProperties(size=_FONT)
    return renderer.get_text_width_height_descent(name, font, ismath=False)[0]


class _Room:
    """A panel as a grid of pixels, with what is drawn in it, line by line."""

    def __init__(self, ax: Axes, lines: dict[str, Line2D], renderer: RendererBase) -> None:
        self._lines = lines
        self._renderer = renderer
        self._dot = ax.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
        self._frame = ax.get_window_extent(renderer)
        self._paths = {name: list(_paths(line)) for name, line in lines.items()}
        # a line without a name belongs to the one in its colour
        names = {_color(line): name for name, line in lines.items()}
        more = {ln: names[_color(ln)] for ln in ax.lines if _color(ln) in names and not _name(ln)}
        of = {
            n: [*p, *(q for ln in more if more[ln] == n for q in _paths(ln))]
            for n, p in self._paths.items()
        }
        seen = {*lines.values(), *more}
        others = [p for outline in outlines(ax, but=seen) for p in _dense(outline)]
        words = [t for t in ax.texts if t.get_visible() and t.get_text()]
        boxes = [t.get_window_extent(renderer) for t in words]
        if there := ax.get_legend():
            boxes.append(there.get_window_extent(renderer))
        self._of = {name: self._counted(paths) for name, paths in of.items()}
        self._rest = self._counted(others, boxes)

    def places(self) -> list[_Place]:
        """Return where names go: first those that have the least choice."""
        options = {name: self._options(name) for name in self._lines}
        placed: list[_Place] = []
        taken: list[Bbox] = []
        for name in sorted(options, key=lambda n: len(options[n][0])):
            boxes, score, at, hairs = options[name]
            for i in np.argsort(-score, kind="stable"):
                box = Bbox(boxes[i].reshape(2, 2))
                air = box.padded(_AIR[0] * self._dot)
                hair = Bbox(np.sort(hairs[i].reshape(2, 2), axis=0))
                if not any(air.overlaps(t) or hair.overlaps(t) for t in taken):
                    taken += [box, hair]
                    middle = (boxes[i][:2] + boxes[i][2:]) / 2
                    ends = hairs[i].reshape(2, 2)
                    apart = bool(np.hypot(*(ends[1] - ends[0])) > 2 * _GAP * self._dot)
                    placed.append(
                        _Place(
                            self._lines[name],
                            at[i],
                            (middle - at[i]) / self._dot,
                            (ends[1] - at[i]) / self._dot if apart else None,
                        )
                    )
                    break
        return placed

    def _options(self, name: str) -> tuple[Floats, Floats, Floats, Floats]:
        """Return boxes that are free for a name, how good, their points and the hairs there."""
        font = FontProperties(size=_FONT)
        wide, high, _ = self._renderer.get_text_width_height_descent(name, font, ismath=False)
        half = np.array([wide, high]) / 2 + 1
        others = sum((grid for n, grid in self._of.items() if n != name), self._rest)
        step = max(1, int(_EVERY * self._dot / _PIXELS))
        points = [p[self._inside(p)] for p in self._paths[name]]
        along = np.concatenate([_NONE, *(p[step // 2 :: step] for p in points)])
        along = along[~self._hit(others, np.hstack([along, along]), _ALONE)]
        tried = list(product(_AROUND, _FARTHER))
        around = np.array([way for way, _ in tried], float)
        unit = around / np.hypot(*around.T)[:, None]
        off = np.array([_GAP + far for _, far in tried])[:, None] * self._dot
        at = np.repeat(along, len(tried), axis=0)
        middle = at + np.tile(around * half + unit * off, (len(along), 1))
        far = np.tile([far for _, far in tried], len(along))
        boxes = np.hstack([middle - half, middle + half])
        nearest = np.clip(at, boxes[:, :2], boxes[:, 2:])
        frame = self._frame.padded(-self._dot)
        free = ((boxes[:, :2] > frame.min) & (boxes[:, 2:] < frame.max)).all(axis=1)
        free &= ~self._hit(self._of[name], boxes, _AIR[0])
        air = np.zeros(len(boxes))
        for least in _AIR:
            air[~self._hit(others, boxes, least)] = least
        for share in (0.25, 0.5, 0.75, 1.0):  # a hair crosses nothing
            spot = at + share * (nearest - at)
            free &= (far == 0) | ~self._hit(others, np.hstack([spot, spot]), 1.5)
        # what touches its line is nearer to it than to all others
        free &= np.where(far == 0, air > _GAP, air > 0)
        score = air - 0.6 * far
        kept = np.flatnonzero(free)
        return boxes[kept], score[kept], at[kept], np.hstack([at, nearest])[kept]

    def _inside(self, points: Floats) -> Flags:
        inside = (points >= self._frame.min) & (points <= self._frame.max)
        return cast("Flags", inside.all(axis=1))

    def _counted(self, paths: Iterable[Floats], boxes: Iterable[Bbox] = ()) -> Floats:
        """Return how many points of some paths, and of boxes, lie left of and below each pixel."""
        size = [max(1, int(np.ceil(s))) for s in self._frame.size]
        count = np.zeros((size[0] + 2, size[1] + 2))  # what lies on the edge counts
        for path in paths:
            at = (path[self._inside(path)] - self._frame.min).astype(int)
            count[at[:, 0] + 1, at[:, 1] + 1] = 1
        for box in boxes:
            lo, hi = (
                np.maximum(np.asarray(corner) - np.asarray(self._frame.min), 0)
                for corner in (box.min, box.max)
            )
            count[int(lo[0]) + 1 : int(hi[0]) + 2, int(lo[1]) + 1 : int(hi[1]) + 2] = 1
        return count.cumsum(axis=0).cumsum(axis=1)

    def _hit(self, counted: Floats, boxes: Floats, air: float) -> Flags:
        """Tell in which boxes, so much larger on each side, anything was counted."""
        pad, most = air * self._dot, np.array(counted.shape) - 1
        lo = np.clip(np.floor(boxes[:, :2] - pad - self._frame.min), 0, most).astype(int)
        hi = np.clip(np.ceil(boxes[:, 2:] + pad - self._frame.min), 0, most).astype(int)
        whole = counted[hi[:, 0], hi[:, 1]] + counted[lo[:, 0], lo[:, 1]]
        return cast("Flags", whole > counted[lo[:, 0], hi[:, 1]] + counted[hi[:, 0], lo[:, 1]])


_PIXELS = 2.0
"""Between points of a path."""
_NONE: Floats = np.empty((0, 2))


def _named(ax: Axes) -> dict[str, Line2D]:
    lines = [line for line in ax.get_lines() if line.get_visible() and _end(line).size]
    return {_name(line): line for line in lines if _name(line)}


def _name(line: Line2D) -> str:
    """Return what a line is called; empty: it has no name."""
    name = str(line.get_label())
    return "" if name.startswith("_") else name


def _color(line: Line2D) -> str:
    return mpl.colors.to_hex(line.get_color())


def _paths(line: Line2D) -> Iterator[Floats]:
    """Yield a line's points in pixels, a couple apart, where it is not broken."""
    xy = np.asarray(line.get_xydata(), float)
    if (how := line.get_drawstyle()) != "default":
        xy = np.column_stack(STEP_LOOKUP_MAP[how](*xy.T))
    yield from _dense(np.asarray(line.get_transform().transform(xy)))


def _dense(points: Floats) -> Iterator[Floats]:
    """Yield the points of a polygonal line, a couple of pixels apart, where it is not broken."""
    whole = np.isfinite(points).all(axis=1)
    parts = np.flatnonzero(np.diff(np.concatenate([[False], whole, [False]]).astype(int)))
    for begin, end in parts.reshape(-1, 2):
        part = points[begin:end]
        long = np.hypot(*np.diff(part, axis=0).T)
        at = np.concatenate([[0.0], np.cumsum(long)])
        n = min(int(at[-1] / _PIXELS) + 2, 20_000)
        every = np.linspace(0, at[-1], n)
        yield np.column_stack([np.interp(every, at, part[:, i]) for i in (0, 1)])


def _under_all(panels: Sequence[Axes], renderer: RendererBase) -> None:
    """Put a legend of the lines of all panels below them, in as many columns as fit."""
    handles: dict[str, Artist] = {}
    for ax in panels:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    fig = cast("Figure", panels[0].get_figure(root=True))
    entry = max(_wide(name, renderer) for name in handles) + 4.5 * _FONT * fig.dpi / 72
    fig.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=max(1, min(len(handles), int(fig.bbox.width / entry))),
        fontsize=_FONT,
        frameon=False,
    )
