"""Find positions for line names: at line ends, or along lines where they cover nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from philly_analysis.results.figures.legends import outlines
from philly_analysis.results.figures.lines import (
    FONT,
    PIXELS,
    Floats,
    color_of,
    dense_paths,
    end_of,
    name_of,
    paths_of,
    text_size,
)
from philly_analysis.results.figures.style import darken, literal

Flags = npt.NDArray[np.bool_]

LINE = 1.3
"""Line height, in font sizes."""
_GAP = 3.0
"""Distance between a line and its name, in points."""
_FARTHER = (0.0, 9.0, 16.0, 26.0)
"""Further distances, in points, for names with a leader."""
_AIR = (2.0, 4.0, 7.0, 12.0, 20.0)
"""Distances between a name and other lines, in points; more is better."""
_ALONE = 2.0
"""Distance in points of an anchor from other lines, so that its name is unambiguous."""
_EVERY = 6.0
"""Distance between anchors along a line, in points."""
_AROUND = tuple(d for d in product((1, 0, -1), repeat=2) if d != (0, 0))
_NONE: Floats = np.empty((0, 2))


@dataclass(frozen=True)
class Position:
    """Position of a line's name, in points from an anchor on the line."""

    line: Line2D
    at: Floats
    by: Floats
    leader: Floats | None
    outside: bool = False

    def write(self) -> Iterator[Annotation]:
        """Write the name and its leader; yield the added artists."""
        ax, color = cast("Axes", self.line.axes), darken(color_of(self.line))
        put: dict[str, Any] = {"xy": ax.transData.inverted().transform(self.at)}
        put |= {"textcoords": "offset points", "annotation_clip": False}
        if self.leader is not None:
            arrow = {"arrowstyle": "-", "linewidth": 0.7, "color": color, "shrinkA": 0}
            to = (float(self.leader[0]), float(self.leader[1]))
            leader = ax.annotate("", xytext=to, arrowprops={**arrow, "shrinkB": 0}, **put)
            leader.set_in_layout(False)
            yield leader
        yield ax.annotate(
            literal(name_of(self.line)),
            xytext=(float(self.by[0]), float(self.by[1])),
            ha="left" if self.outside else "center",
            va="center",
            fontsize=FONT,
            color=color,
            in_layout=self.outside,
            **put,
        )


def positions_at_ends(
    ax: Axes, lines: dict[str, Line2D], renderer: RendererBase
) -> Iterator[Position]:
    """Yield positions in a column right of a panel, as near to the line ends as possible."""
    dot = ax.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
    frame = ax.get_window_extent(renderer)
    ends = np.array([end_of(line) for line in lines.values()])
    order = np.argsort(ends[:, 1], kind="stable")
    high = _spread(ends[order, 1], LINE * FONT * dot)
    for i, y in zip(order, high, strict=True):
        put = np.array([frame.x1 + 2 * _GAP * dot, y])
        by = (put - ends[i]) / dot
        yield Position([*lines.values()][i], ends[i], by, by - [_GAP / 2, 0], outside=True)


def _spread(wanted: Floats, apart: float) -> Floats:
    """Return ordered positions at least `apart` from each other, nearest to those wanted."""
    groups: list[list[float]] = []  # adjacent positions: their sum, and number
    for i, want in enumerate(wanted):
        groups.append([float(want) - i * apart, 1])
        while len(groups) > 1 and groups[-2][0] * groups[-1][1] > groups[-1][0] * groups[-2][1]:
            total, n = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + n]
    means = np.repeat([total / n for total, n in groups], [int(n) for _, n in groups])
    return cast("Floats", means + apart * np.arange(len(wanted)))


class PanelGrid:
    """Occupied pixels of a panel, line by line."""

    def __init__(self, ax: Axes, lines: dict[str, Line2D], renderer: RendererBase) -> None:
        self._lines = lines
        self._renderer = renderer
        self._dot = ax.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
        self._frame = ax.get_window_extent(renderer)
        self._paths = {name: list(paths_of(line)) for name, line in lines.items()}
        # an unnamed line belongs to the named one of its colour
        names = {color_of(line): name for name, line in lines.items()}
        more = {
            ln: names[color_of(ln)] for ln in ax.lines if color_of(ln) in names and not name_of(ln)
        }
        of = {
            n: [*p, *(q for ln in more if more[ln] == n for q in paths_of(ln))]
            for n, p in self._paths.items()
        }
        seen = {*lines.values(), *more}
        others = [p for outline in outlines(ax, exclude=seen) for p in dense_paths(outline)]
        words = [t for t in ax.texts if t.get_visible() and t.get_text()]
        boxes = [t.get_window_extent(renderer) for t in words]
        if shown := ax.get_legend():
            boxes.append(shown.get_window_extent(renderer))
        self._of = {name: self._counted(paths) for name, paths in of.items()}
        self._rest = self._counted(others, boxes)

    def places(self) -> list[Position]:
        """Return positions of names, chosen first for lines with the fewest options."""
        options = {name: self._options(name) for name in self._lines}
        placed: list[Position] = []
        taken: list[Bbox] = []
        for name in sorted(options, key=lambda n: len(options[n][0])):
            boxes, score, at, leaders = options[name]
            for i in np.argsort(-score, kind="stable"):
                box = Bbox(boxes[i].reshape(2, 2))
                air = box.padded(_AIR[0] * self._dot)
                leader = Bbox(np.sort(leaders[i].reshape(2, 2), axis=0))
                if not any(air.overlaps(t) or leader.overlaps(t) for t in taken):
                    taken += [box, leader]
                    middle = (boxes[i][:2] + boxes[i][2:]) / 2
                    ends = leaders[i].reshape(2, 2)
                    apart = bool(np.hypot(*(ends[1] - ends[0])) > 2 * _GAP * self._dot)
                    placed.append(
                        Position(
                            self._lines[name],
                            at[i],
                            (middle - at[i]) / self._dot,
                            (ends[1] - at[i]) / self._dot if apart else None,
                        )
                    )
                    break
        return placed

    def _options(self, name: str) -> tuple[Floats, Floats, Floats, Floats]:
        """Return free boxes for a name, their scores, anchors and leaders."""
        half = np.array(text_size(name, self._renderer)) / 2 + 1
        others = sum((grid for n, grid in self._of.items() if n != name), self._rest)
        step = max(1, int(_EVERY * self._dot / PIXELS))
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
        for share in (0.25, 0.5, 0.75, 1.0):  # a leader crosses nothing
            spot = at + share * (nearest - at)
            free &= (far == 0) | ~self._hit(others, np.hstack([spot, spot]), 1.5)
        # a name without leader is nearest to its own line
        free &= np.where(far == 0, air > _GAP, air > 0)
        score = air - 0.6 * far
        kept = np.flatnonzero(free)
        return boxes[kept], score[kept], at[kept], np.hstack([at, nearest])[kept]

    def _inside(self, points: Floats) -> Flags:
        inside = (points >= self._frame.min) & (points <= self._frame.max)
        return cast("Flags", inside.all(axis=1))

    def _counted(self, paths: Iterable[Floats], boxes: Iterable[Bbox] = ()) -> Floats:
        """Return the cumulative count of occupied pixels left of and below each pixel."""
        size = [max(1, int(np.ceil(s))) for s in self._frame.size]
        count = np.zeros((size[0] + 2, size[1] + 2))  # includes the edge
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
        """Return which boxes, padded on each side, contain an occupied pixel."""
        pad, most = air * self._dot, np.array(counted.shape) - 1
        lo = np.clip(np.floor(boxes[:, :2] - pad - self._frame.min), 0, most).astype(int)
        hi = np.clip(np.ceil(boxes[:, 2:] + pad - self._frame.min), 0, most).astype(int)
        whole = counted[hi[:, 0], hi[:, 1]] + counted[lo[:, 0], lo[:, 1]]
        return cast("Flags", whole > counted[lo[:, 0], hi[:, 1]] + counted[hi[:, 0], lo[:, 1]])
