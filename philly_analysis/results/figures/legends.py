"""Place legends so that they cover no marks."""

from collections.abc import Container, Iterator
from itertools import pairwise
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.transforms import Bbox, ScaledTranslation

from philly_analysis.results.figures.style import STYLE

Points = npt.NDArray[np.float64]

_AIR = 3.0
"""Least distance between a legend and a mark, in points."""
_BENEATH = "beneath"


def legend(ax: Axes, title: str | None = None, *, beneath: bool = False, **place: Any) -> None:
    """Add a legend if there are labelled marks.

    The layout moves it below the axis if it would cover a mark, or if `beneath` is true.
    """
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        with mpl.rc_context(STYLE):
            added = ax.legend(handles, labels, title=title, **place)
        added.set_gid(_BENEATH if beneath else None)


def move_legends(fig: Figure, renderer: RendererBase) -> bool:
    """Move legends below their axes where needed; return whether any moved.

    The figure must be laid out.
    """
    moving = [
        ax
        for ax in fig.axes
        if (shown := ax.get_legend())
        and ax.get_visible()
        and (shown.get_gid() == _BENEATH or _covers_marks(shown, ax, renderer))
    ]
    for ax in moving:
        put_below(ax, renderer)
    return bool(moving)


def _covers_marks(shown: Legend, ax: Axes, renderer: RendererBase) -> bool:
    box = shown.get_window_extent(renderer).padded(_AIR * ax.figure.dpi / 72)
    inside = Bbox.intersection(box, ax.get_window_extent(renderer))
    return inside is not None and any(_crosses(points, inside) for points in outlines(ax))


def outlines(ax: Axes, exclude: Container[Artist] = ()) -> Iterator[Points]:
    """Yield the outlines of all marks but some, in pixels."""
    marks: list[Line2D | Patch | Collection] = [*ax.lines, *ax.patches, *ax.collections]
    for mark in marks:
        if not mark.get_visible() or mark in exclude:
            continue
        if isinstance(mark, Collection):
            offsets, paths = np.asarray(mark.get_offsets(), float), mark.get_paths()
            if len(offsets) > 1 or np.any(offsets):
                yield from (at[None] for at in mark.get_offset_transform().transform(offsets))
                continue
        else:
            paths = [mark.get_path()]
        for part in (part for path in paths for part in _parts(path)):
            yield np.asarray(mark.get_transform().transform(part))


def _parts(path: Path) -> Iterator[Points]:
    """Yield the vertices of each line of a path."""
    if path.codes is None:
        yield np.asarray(path.vertices)
        return
    points, codes = np.asarray(path.vertices), np.asarray(path.codes)
    for start, end in pairwise([*np.flatnonzero(codes == Path.MOVETO), len(points)]):
        yield points[start:end][codes[start:end] != Path.CLOSEPOLY]


def _crosses(points: Points, box: Bbox) -> bool:
    """Return whether a line through these points crosses a box."""
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) > 1:
        return bool(Path(points).intersects_bbox(box, filled=False))
    return bool(len(points) and box.contains(*points[0]))


def put_below(ax: Axes, renderer: RendererBase) -> None:
    """Put the legend of a panel below its axis label, in as many columns as fit."""
    shown = cast("Legend", ax.get_legend())
    handles, labels = ax.get_legend_handles_labels()
    title = shown.get_title().get_text() or None
    size = float(shown.get_texts()[0].get_fontsize())
    entry = max(t.get_window_extent(renderer).width for t in shown.get_texts())
    width = ax.get_window_extent(renderer).width
    dpi = ax.figure.dpi
    columns = max(1, min(len(labels), int(width / (entry + 4.5 * size * dpi / 72))))
    under = ax.xaxis.get_tightbbox(renderer)
    depth = (ax.bbox.y0 - under.y0) / dpi if under is not None else 0.0
    down = ScaledTranslation(0, -depth - 2 / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        handles,
        labels,
        title=title,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + down,
        ncols=columns,
        fontsize=size,
        title_fontsize=shown.get_title().get_fontsize(),
        frameon=False,
        borderaxespad=0,
    )
