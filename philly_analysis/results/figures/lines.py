"""Read the names, colours and pixel paths of a panel's lines."""

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
"""Font size of a line's name."""
PIXELS = 2.0
"""Distance between the points of a path."""


def named_lines(ax: Axes) -> dict[str, Line2D]:
    """Return the visible lines of a panel that have a name, by name."""
    lines = [line for line in ax.get_lines() if line.get_visible() and end_of(line).size]
    return {name_of(line): line for line in lines if name_of(line)}


def name_of(line: Line2D) -> str:
    """Return the label of a line; empty without one."""
    name = str(line.get_label())
    return "" if name.startswith("_") else name


def color_of(line: Line2D) -> str:
    """Return a line's colour as a hexadecimal code."""
    return mpl.colors.to_hex(line.get_color())


def paths_of(line: Line2D) -> Iterator[Floats]:
    """Yield the unbroken parts of a line as dense pixel paths."""
    xy = np.asarray(line.get_xydata(), float)
    if (style := line.get_drawstyle()) != "default":
        xy = np.column_stack(STEP_LOOKUP_MAP[style](*xy.T))
    yield from dense_paths(np.asarray(line.get_transform().transform(xy)))


def dense_paths(points: Floats) -> Iterator[Floats]:
    """Yield the unbroken parts of a polygonal line, with a point every few pixels."""
    finite = np.isfinite(points).all(axis=1)
    parts = np.flatnonzero(np.diff(np.concatenate([[False], finite, [False]]).astype(int)))
    for start, end in parts.reshape(-1, 2):
        part = points[start:end]
        long = np.hypot(*np.diff(part, axis=0).T)
        at = np.concatenate([[0.0], np.cumsum(long)])
        n = min(int(at[-1] / PIXELS) + 2, 20_000)
        every = np.linspace(0, at[-1], n)
        yield np.column_stack([np.interp(every, at, part[:, i]) for i in (0, 1)])


def end_of(line: Line2D) -> Floats:
    """Return the last finite point of a line, in pixels; empty without one."""
    points = np.asarray(line.get_transform().transform(line.get_xydata()))
    return cast("Floats", points[np.isfinite(points).all(axis=1)][-1:].ravel())


def text_size(name: str, renderer: RendererBase) -> tuple[float, float]:
    """Return the width and height of a name, in pixels."""
    font = FontProperties(size=FONT)
    return renderer.get_text_width_height_descent(name, font, ismath=False)[:2]
