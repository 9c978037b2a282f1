"""Says what marks are in a legend that covers none of them."""

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
"""Points between a legend and what it must not cover."""
_BENEATH = "beneath"


def legend(ax: Axes, title: str | None = None, *, beneath: bool = False, **place: Any) -> None:
    """Add a legend when there is anything to tell apart.

    As the figure is drawn it goes below the axis and its label, where it would cover what is drawn
    or is wanted beneath.
    """
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        with mpl.rc_context(STYLE):
            there = ax.legend(handles, labels, title=title, **place)
        there.set_gid(_BENEATH if beneath else None)


def moved(fig: Figure, renderer: RendererBase) -> bool:
    """Move legends that go there below their axes; tell whether any was.

    The figure must have been laid out.
    """
    going = [
        ax
        for ax in fig.axes
        if (there := ax.get_legend())
        and ax.get_visible()
        and (there.get_gid() == _BENEATH or _covers(there, ax, renderer))
    ]
    for ax in going:
        below(ax, renderer)
    return bool(going)


def _covers(there: Legend, ax: Axes, renderer: RendererBase) -> bool:
    box = there.get_window_extent(renderer).padded(_AIR * ax.figure.dpi / 72)
    frame = ax.get_window_extent(renderer)
    if not box.overlaps(frame):
        return False
    return any(_meets(points, box, frame) for points in outlines(ax))


def outlines(ax: Axes, but: Container[Artist] = ()) -> Iterator[Points]:
    """Yield the outlines of what is drawn, in pixels."""
    marks: list[Artist] = [*ax.lines, *ax.patches, *ax.collections]
    for mark in marks:
        if not mark.get_visible() or mark in but:
            continue
        if isinstance(mark, Collection):
            yield from _of_collection(mark)
        elif isinstance(mark, Line2D | Patch):
            path = mark.get_path()
            for part in _parts(path):
                yield np.asarray(mark.get_transform().transform(part))


def _of_collection(mark: Collection) -> Iterator[Points]:
    offsets = np.asarray(mark.get_offsets(), float)
    if len(offsets) > 1 or np.any(offsets):
        yield from (point[None] for point in mark.get_offset_transform().transform(offsets))
        return
    for path in mark.get_paths():
        for part in _parts(path):
            yield np.asarray(mark.get_transform().transform(part))


def _parts(path: Path) -> Iterator[Points]:
    """Yield the points of each line of a path, curves taken as straight."""
    if path.codes is None:
        yield np.asarray(path.vertices)
        return
    points, codes = np.asarray(path.vertices), np.asarray(path.codes)
    for begin, end in pairwise([*np.flatnonzero(codes == Path.MOVETO), len(points)]):
        yield points[begin:end][codes[begin:end] != Path.CLOSEPOLY]


def _meets(points: Points, box: Bbox, frame: Bbox) -> bool:
    """Tell whether a line through these points crosses a box, where it is in the frame."""
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return False
    seen = Bbox.intersection(box, frame)
    if seen is None:
        return False
    return (
        bool(Path(points).intersects_bbox(seen, filled=False))
        if len(points) > 1
        else bool(seen.contains(*points[0]))
    )


def below(ax: Axes, renderer: RendererBase) -> None:
    """Put the legend of some axes under the axis and its label, in as many columns as fit."""
    there = cast("Legend", ax.get_legend())
    handles, labels = ax.get_legend_handles_labels()
    title = there.get_title().get_text() or None
    size = float(there.get_texts()[0].get_fontsize())
    entry = max(t.get_window_extent(renderer).width for t in there.get_texts())
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
        frameon=False,
        borderaxespad=0,
    )
