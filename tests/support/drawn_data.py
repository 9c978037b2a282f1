"""Read the data that a figure shows, and find marks that mislead whatever the data."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.dates import AutoDateLocator
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from matplotlib.ticker import NullLocator

Floats = npt.NDArray[np.float64]
Bars = dict[str, dict[str, float]]
"""Lengths of bars by label of their container and first line of the nearest tick's name."""

_CLOSE = 1e-6


def bars(ax: Axes) -> Bars:
    """Return the lengths of the bars of a panel, without bars of length zero."""
    by_label: Bars = {}
    for some in _containers(ax):
        names = _tick_names(ax.yaxis if some.orientation == "horizontal" else ax.xaxis)
        own = by_label.setdefault(_name(some.get_label()), {})
        for at, _, length, _ in _spans(some):
            if length:
                nearest = min(names, key=lambda place: abs(place - at), default=None)
                own[f"{at:g}" if nearest is None else names[nearest]] = length
    return {label: lengths for label, lengths in by_label.items() if lengths}


def lengths(ax: Axes) -> dict[str, list[float]]:
    """Return the lengths of the bars of a panel by label, in order of position."""
    return {
        _name(some.get_label()): [length for _, _, length, _ in sorted(_spans(some))]
        for some in _containers(ax)
    }


def curves(ax: Axes) -> dict[str, Floats]:
    """Return the points of the lines of a panel, by name; nameless lines have numbers."""
    return {
        _name(line.get_label()) or str(i): np.asarray(line.get_xydata(), float)
        for i, line in enumerate(ax.lines)
    }


def steps(ax: Axes) -> dict[str, Floats]:
    """Return the heights of the steps of a panel, above their baseline."""
    by_label = {}
    for i, patch in enumerate(p for p in ax.patches if isinstance(p, StepPatch)):
        heights, _, base = patch.get_data()
        by_label[_name(patch.get_label()) or str(i)] = np.asarray(heights, float) - (
            0 if base is None else np.asarray(base)
        )
    return by_label


def segments(ax: Axes) -> list[Floats]:
    """Return the ends of the lines of each collection of a panel, shape (lines, ends, 2)."""
    some = [c for c in ax.collections if isinstance(c, LineCollection)]
    return [np.asarray(c.get_segments(), float) for c in some]


def misleading(fig: Figure, *, cut: bool = False) -> list[str]:
    """Return messages on marks outside the axes, over one another, or of another's name.

    Parameters
    ----------
    cut
        Whether lines may leave the axes, as the tails of a distribution do.
    """
    return [
        f"panel {i} ({ax.get_title(loc='left')}): {fault}"
        for i, ax in enumerate(fig.axes)
        if ax.get_visible() and ax.axison
        for fault in (*_names(ax), *_bars(ax), *_lines(ax), *_intervals(ax), *_ticks(ax))
        if not (cut and "leaves" in fault)
    ]


def _name(label: object) -> str:
    return "" if label is None or str(label).startswith("_") else str(label)


def _containers(ax: Axes) -> list[BarContainer]:
    return [c for c in ax.containers if isinstance(c, BarContainer)]


def _tick_names(axis: Axis) -> dict[float, str]:
    labels = [label.get_text().split("\n")[0] for label in axis.get_ticklabels()]
    return dict(zip(map(float, axis.get_ticklocs()), labels, strict=False))


def _spans(some: BarContainer) -> Iterator[tuple[float, float, float, float]]:
    """Yield the middle of each bar, its start, its length and its width."""
    for bar in some.patches:
        x, y, w, h = bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()
        flat = some.orientation == "horizontal"
        yield (y + h / 2, x, w, h) if flat else (x + w / 2, y, h, w)


def _names(ax: Axes) -> Iterator[str]:
    handles, labels = ax.get_legend_handles_labels()
    if len(set(labels)) < len(labels):
        yield f"names repeat: {labels}"
    looks = [_look(handle) for handle in handles]
    if len(set(looks)) < len(looks):
        yield f"{labels} look alike"
    if legend := ax.get_legend():
        shown = [text.get_text() for text in legend.get_texts()]
        if shown != labels:
            yield f"the legend has {shown} of {labels}"
    for text in ax.findobj(Text):
        assert isinstance(text, Text)
        if re.search(r"\b(nan|inf|nat)\b", text.get_text().lower()):
            yield f"{text.get_text()!r} is no number"


def _look(handle: Any) -> tuple[str, ...]:
    if isinstance(handle, BarContainer):
        return (to_hex(handle.patches[0].get_facecolor()),)
    if isinstance(handle, ErrorbarContainer):
        handle = handle.lines[0]
    if isinstance(handle, Line2D):
        return (to_hex(handle.get_color()), str(handle.get_linestyle()), str(handle.get_marker()))
    face = np.atleast_2d(handle.get_facecolor())
    edge = np.atleast_2d(handle.get_edgecolor())
    return tuple(to_hex(color[0]) for color in (face, edge) if color.size)


def _bars(ax: Axes) -> Iterator[str]:
    """Bars lie beside one another within the axes, and start at zero or on another."""
    boxes = []
    for some in _containers(ax):
        flat = some.orientation == "horizontal"
        for at, start, length, width in _spans(some):
            if length:
                low, high = sorted((start, start + length))
                boxes.append((at - abs(width) / 2, at + abs(width) / 2, low, high))
    flat = any(some.orientation == "horizontal" for some in _containers(ax))
    for i, (a0, a1, start, end) in enumerate(boxes):
        for b0, b1, other_start, other_end in boxes[:i]:
            across = min(a1, b1) - max(a0, b0)
            along = min(end, other_end) - max(start, other_start)
            if across > _CLOSE and along > _CLOSE * max(end, other_end):
                yield f"bars at {a0:g} and {b0:g} overlap"
        ends = [b[3] for b in boxes if b[0] < a1 and b[1] > a0]
        if not any(abs(start - one) <= _CLOSE * max(abs(one), 1) for one in (0, *ends)):
            yield f"a bar starts at {start:g}"
        (lo, hi), (left, right) = (
            sorted(limits)
            for limits in (
                (ax.get_xlim(), ax.get_ylim()) if flat else (ax.get_ylim(), ax.get_xlim())
            )
        )
        if (ax.xaxis if flat else ax.yaxis).get_scale() == "log":
            lo = 0  # where a bar starts, infinitely far away
        slack = _CLOSE * (hi - lo)
        if end > hi + slack or start < lo - slack or a0 < left - _CLOSE or a1 > right + _CLOSE:
            yield f"a bar to {end:g} at {(a0 + a1) / 2:g} ends outside {(lo, hi, left, right)}"
    for some in _containers(ax):
        yield from _bar_labels(ax, some)


def _bar_labels(ax: Axes, some: BarContainer) -> Iterator[str]:
    """Numbers beside bars are in the order of the bars."""
    written = []
    for at, start, length, _ in _spans(some):
        ends = [(start + length, at), (start + length / 2, at)]
        if some.orientation == "vertical":
            ends = [(y, x) for x, y in ends]
        for text in ax.texts:
            place = getattr(text, "xy", None)
            number = re.match(r"([\d.,]+)( %)?$", text.get_text())
            if number and place is not None and any(np.allclose(place, end) for end in ends):
                written.append((length, float(number[1].replace(",", ""))))
    for (small, low), (large, high) in pairwise(sorted(written)):
        if large > small and high < low:
            yield f"bars of {small:g} and {large:g} are labelled {low:g} and {high:g}"


def _lines(ax: Axes) -> Iterator[str]:
    for line in ax.lines:
        points = np.asarray(line.get_xydata(), float)
        points = points[np.isfinite(points).all(axis=1)]
        if line.get_transform() != ax.transData or not len(points):
            continue
        for i, (axis, limits) in enumerate(((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim()))):
            lo, hi = sorted(limits)
            slack = _CLOSE * (hi - lo)
            if (points[:, i] < lo - slack).any() or (points[:, i] > hi + slack).any():
                span = (points[:, i].min(), points[:, i].max())
                yield f"the line {line.get_label()} with {span} leaves {(lo, hi)}"
            if axis.get_scale() == "log" and (points[:, i] <= 0).any():
                yield f"the line {line.get_label()} is not positive"


def _intervals(ax: Axes) -> Iterator[str]:
    for some in ax.containers:
        if not isinstance(some, ErrorbarContainer):
            continue
        line, _, spans = some.lines
        points = np.asarray(line.get_xydata() if line else np.empty((0, 2)), float)
        for span in spans:
            for point, ends in zip(points, span.get_segments(), strict=False):
                if not len(ends):  # not known
                    continue
                low, high = np.min(ends, axis=0), np.max(ends, axis=0)
                slack = _CLOSE * np.abs(point)
                if ((point < low - slack) | (point > high + slack)).any():
                    yield f"{point} is outside its interval {low} to {high}"


def _ticks(ax: Axes) -> Iterator[str]:
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if isinstance(axis.get_major_locator(), NullLocator | AutoDateLocator):
            continue
        names = [name for name in _tick_names(axis).values() if name]
        if len(set(names)) < len(names):
            yield f"ticks repeat: {names}"
        lo, hi = sorted(limits)
        if not any(lo <= at <= hi for at in axis.get_ticklocs()) and axis.get_ticklocs().size:
            yield "no tick in range"
