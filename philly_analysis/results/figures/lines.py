"""What a panel's lines are called, and where they are drawn."""

from collections.abc import Iterator
from typing import cast

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D

Floats = npt.NDArray[np.float64]

FONT = 8.5
"""Size of a line's name."""
PIXELS = 2.0
"""Between points of a path."""


def named_lines(ax: Axes) -> dict[str, Line2D]:
    """Return the lines of a panel that are seen and have a name, by it."""
    lines = [line for line in ax.get_lines() if line.get_visible() and end_of(line).size]
    return {name_of(line): line for line in lines if name_of(line)}


def name_of(line: Line2D) -> str:
    """Return what a line is called; empty: it has no name."""
    name = str(line.get_label())
    return "" if name.startswith("_") else name


def color_of(line: Line2D) -> str:
    """Return a line's colour, written in one way."""
    return mpl.colors.to_hex(line.get_color())


def paths_of(line: Line2D) -> Iterator[Floats]:
    """Yield a line's points in pixels, a couple apart, where it is not broken."""
    xy = np.asarray(line.get_xydata(), float)
    if (how := line.get_drawstyle()) != "default":
        xy = np.column_stack(STEP_LOOKUP_MAP[how](*xy.T))
    yield from dense(np.asarray(line.get_transform().transform(xy)))


def dense(points: Floats) -> Iterator[Floats]:
    """Yield the points of a polygonal line, a couple of pixels apart, where it is not broken."""
    whole = np.isfinite(points).all(axis=1)
    parts = np.flatnonzero(np.diff(np.concatenate([[False], whole, [False]]).astype(int)))
    for begin, end in parts.reshape(-1, 2):
        part = points[begin:end]
        long = np.hypot(*np.diff(part, axis=0).T)
        at = np.concatenate([[0.0], np.cumsum(long)])
        n = min(int(at[-1] / PIXELS) + 2, 20_000)
        every = np.linspace(0, at[-1], n)
        yield np.column_stack([np.interp(every, at, part[:, i]) for i in (0, 1)])


def end_of(line: Line2D) -> Floats:
    """Return the last point of a line, in pixels."""
    points = np.asarray(line.get_transform().transform(line.get_xydata()))
    return cast("Floats", points[np.isfinite(points).all(axis=1)][-1:].ravel())


def width_of(name: str, renderer: RendererBase) -> float:
    """Return how wide a name is, in pixels."""
    font = FontProperties(size=FONT)
    return renderer.get_text_width_height_descent(name, font, ismath=False)[0]
