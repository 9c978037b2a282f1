"""Place legends so that they cover no marks: inside a panel, below its axis or the figure."""

from collections.abc import Iterable, Iterator
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

from philly_analysis.results.figures.style import STYLE, TARGET

Points = npt.NDArray[np.float64]

_AIR = 3.0
"""Least distance between a legend and a mark, in points."""
_MARK_INCHES = 0.9
"""Width beside a legend below the figure, for the mark of synthetic data."""
_BENEATH, _INSIDE = "beneath", "inside"


def legend(ax: Axes, title: str | None = None, *, beneath: bool = False, **place: Any) -> None:
    """Add a legend if there are labelled marks.

    The layout moves the legend below the axis if it would cover a mark, or if `beneath` is true.
    """
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        with mpl.rc_context(STYLE):
            added = ax.legend(handles, labels, title=title, **place)
        added.set_gid(_BENEATH if beneath else _INSIDE)


def label_lines(panels: Axes | Iterable[Axes]) -> None:
    """Name the lines of some panels in one legend, in the order in which they were drawn.

    The legend of one panel is inside, or below its axis if it would cover a mark. The legend of
    several panels is below the figure.
    """
    axes = [panels] if isinstance(panels, Axes) else list(panels)
    if len(axes) == 1:
        legend(axes[0])
    elif handles := _handles(axes):
        with mpl.rc_context(STYLE):
            if TARGET.get() is None:
                fig = cast("Figure", axes[0].get_figure(root=True))
                _put_below_figure(fig, handles, columns=len(handles))
            else:  # the figure is the user's
                added = axes[0].legend([*handles.values()], [*handles])
                added.set_gid(_INSIDE)


def _handles(panels: Iterable[Axes]) -> dict[str, Artist]:
    """Return the labelled marks of some panels by label, the first of each."""
    handles: dict[str, Artist] = {}
    for ax in panels:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    return handles


def arrange_legends(fig: Figure, renderer: RendererBase) -> bool:
    """Move legends below their axes or into narrower rows where needed; return whether any moved.

    The figure must be laid out. Legends that :func:`legend` did not add stay where they are.
    """
    moving = [
        ax
        for ax in fig.axes
        if (shown := ax.get_legend())
        and ax.get_visible()
        and (
            shown.get_gid() == _BENEATH
            or (shown.get_gid() == _INSIDE and _covers_marks(shown, ax, renderer))
        )
    ]
    for ax in moving:
        _put_below_axis(ax, renderer)
    narrowed = [_fit_width(fig, shown, renderer) for shown in fig.legends if shown.get_gid()]
    return bool(moving) or any(narrowed)


def _put_below_figure(
    fig: Figure, handles: dict[str, Artist], columns: int, size: float | None = None
) -> None:
    fig.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower left",
        ncols=columns,
        fontsize=size,
        frameon=False,
    ).set_gid(f"{columns}")


def _fit_width(fig: Figure, shown: Legend, renderer: RendererBase) -> bool:
    """Renew the legend below a figure with as many columns as fit; return whether it changed."""
    handles = _handles(fig.axes)
    labels = [text.get_text() for text in shown.get_texts()]
    width = fig.bbox.width - _MARK_INCHES * fig.dpi
    columns = min(len(labels), _columns(shown, width, renderer))
    size = float(shown.get_texts()[0].get_fontsize())
    changed = shown.get_gid() != f"{columns}"
    shown.remove()
    _put_below_figure(fig, {label: handles[label] for label in labels}, columns, size)
    return changed


def _columns(shown: Legend, width: float, renderer: RendererBase) -> int:
    """Return how many columns of the entries of a legend fit a width in pixels."""
    entry = max(text.get_window_extent(renderer).width for text in shown.get_texts())
    size = float(shown.get_texts()[0].get_fontsize())
    dpi = cast("Figure", shown.get_figure(root=True)).dpi
    return max(1, int(width / (entry + 4.5 * size * dpi / 72)))


def _covers_marks(shown: Legend, ax: Axes, renderer: RendererBase) -> bool:
    box = shown.get_window_extent(renderer).padded(_AIR * ax.figure.dpi / 72)
    inside = Bbox.intersection(box, ax.get_window_extent(renderer))
    return inside is not None and any(_crosses(points, inside) for points in outlines(ax))


def outlines(ax: Axes) -> Iterator[Points]:
    """Yield the outlines of all marks, in pixels."""
    marks: list[Line2D | Patch | Collection] = [*ax.lines, *ax.patches, *ax.collections]
    for mark in marks:
        if not mark.get_visible():
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


def _put_below_axis(ax: Axes, renderer: RendererBase) -> None:
    """Put the legend of a panel below its axis label, in as many columns as fit."""
    shown = cast("Legend", ax.get_legend())
    handles = _handles(ax.figure.axes)
    labels = [text.get_text() for text in shown.get_texts()]
    columns = min(len(labels), _columns(shown, ax.get_window_extent(renderer).width, renderer))
    under = ax.xaxis.get_tightbbox(renderer)
    depth = (ax.bbox.y0 - under.y0) / ax.figure.dpi if under is not None else 0.0
    down = ScaledTranslation(0, -depth - 2 / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        [handles[label] for label in labels],
        labels,
        title=shown.get_title().get_text() or None,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + down,
        ncols=columns,
        fontsize=shown.get_texts()[0].get_fontsize(),
        title_fontsize=shown.get_title().get_fontsize(),
        frameon=False,
        borderaxespad=0,
    )
