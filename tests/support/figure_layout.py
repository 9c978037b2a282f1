"""Find overlapping or clipped texts and empty panels in a rendered figure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform

_HAIR = 1.0
"""Points by which boxes may overlap: a font's box is wider than its letters."""


@dataclass(frozen=True)
class Box:
    """The bounding box of a text or legend, as drawn."""

    what: str
    box: Bbox
    artist: Artist
    axes: Axes | None


def overlaps(fig: Figure) -> list[str]:
    """Return messages on texts that overlap, are clipped, or cover marks of the figure."""
    canvas = FigureCanvasAgg(fig)
    canvas.draw()  # type: ignore[no-untyped-call]
    boxes = [*_texts(fig)]
    problems = [
        f"{a.what!r} over {b.what!r}"
        for a, b in combinations(boxes, 2)
        if _shared(a.box, b.box) and not _belong(a, b)
    ]
    canvas_box = fig.bbox.padded(_HAIR)
    problems += [f"{b.what!r} is cut off" for b in boxes if not _within(b.box, canvas_box)]
    for box in boxes:
        for ax in fig.axes:
            if ax.get_visible() and box.artist is not ax.title:
                problems += [f"{box.what!r} over {mark}" for mark in _covered(box, ax)]
    return list(dict.fromkeys(problems))


def bare_panels(fig: Figure) -> list[str]:
    """Return messages on panels that have axes and no marks."""
    return [
        f"panel {i} ({ax.get_title(loc='left') or ax.get_ylabel()}) is bare"
        for i, ax in enumerate(fig.axes)
        if ax.get_visible() and ax.axison and not any(_shows(ax))
    ]


def _shows(ax: Axes) -> Iterator[bool]:
    for line in ax.lines:
        yield bool(np.isfinite(np.asarray(line.get_xydata(), float)).all(axis=1).any())
    for patch in ax.patches:
        yield patch.get_visible() and bool(len(np.asarray(patch.get_path().vertices)))
    for collection in ax.collections:
        yield bool(len(collection.get_paths())) and collection.get_visible()
    for image in ax.images:
        yield image.get_visible()


def _texts(fig: Figure) -> Iterator[Box]:
    renderer = fig.canvas.get_renderer()  # type: ignore[attr-defined]
    for ax in fig.axes:
        if not ax.get_visible():
            continue
        shown: list[Text] = [*ax.texts]
        if ax.axison:
            for axis, at in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
                lo, hi = sorted(at)
                for tick in axis.get_major_ticks():
                    if lo - 1e-9 <= tick.get_loc() <= hi + 1e-9:
                        shown += [tick.label1, tick.label2]
                shown += [axis.label, axis.get_offset_text()]
        shown += [ax.title, ax._left_title, ax._right_title]  # type: ignore[attr-defined]
        for text in shown:
            if text.get_visible() and text.get_text().strip():
                yield Box(text.get_text(), text.get_window_extent(renderer), text, ax)
        if legend := ax.get_legend():
            yield from _legend(legend, ax)
    for text in fig.texts:
        yield Box(text.get_text(), text.get_window_extent(renderer), text, None)
    for legend in fig.legends:
        yield from _legend(legend, None)


def _legend(legend: Legend, ax: Axes | None) -> Iterator[Box]:
    words = ", ".join(text.get_text() for text in legend.get_texts())
    yield Box(f"legend of {words}", legend.get_window_extent(), legend, ax)


def _belong(a: Box, b: Box) -> bool:
    """Return whether two texts are copies of one title."""
    return a.axes is b.axes and a.what == b.what


def _shared(a: Bbox, b: Bbox) -> bool:
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return bool(width > _HAIR and height > _HAIR)


def _within(a: Bbox, b: Bbox) -> bool:
    return bool(a.x0 >= b.x0 and a.y0 >= b.y0 and a.x1 <= b.x1 and a.y1 <= b.y1)


def _covered(box: Box, ax: Axes) -> Iterator[str]:
    frame = ax.get_window_extent()
    halo = isinstance(box.artist, Text) and box.artist.get_bbox_patch() is not None
    inner = Bbox.from_extents(
        box.box.x0 + _HAIR, box.box.y0 + _HAIR, box.box.x1 - _HAIR, box.box.y1 - _HAIR
    )
    if inner.width <= 0 or inner.height <= 0 or not _shared(box.box, frame):
        return
    for line in ax.lines:
        if line.get_visible() and not halo and _crosses(line, inner, frame):
            yield f"the line {line.get_label()}"
    for patch in ax.patches:
        if _over_edge(patch, inner, frame):
            yield f"a bar at {patch.get_window_extent().bounds}"
    for collection in ax.collections:
        if not halo and _over_points(collection, inner, frame):
            yield f"marks of {type(collection).__name__}"


def _crosses(line: Line2D, box: Bbox, frame: Bbox) -> bool:
    points = line.get_transform().transform(line.get_xydata())
    points = points[np.isfinite(points).all(axis=1)]
    if line.get_linestyle() in ("None", "", " "):
        return bool(len(points)) and _any_in(points, box, frame)
    steps = [points[:1]]
    for (x0, y0), (x1, y1) in pairwise(points):
        n = int(max(abs(x1 - x0), abs(y1 - y0)) // 2) + 2
        steps.append(np.column_stack([np.linspace(x0, x1, n), np.linspace(y0, y1, n)])[1:])
    return len(points) > 0 and _any_in(np.concatenate(steps), box, frame)


def _any_in(points: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", a: Bbox, b: Bbox) -> bool:
    inside = np.ones(len(points), bool)
    for box in (a, b):
        inside &= (points[:, 0] > box.x0) & (points[:, 0] < box.x1)
        inside &= (points[:, 1] > box.y0) & (points[:, 1] < box.y1)
    return bool(inside.any())


def _over_edge(patch: Patch, box: Bbox, frame: Bbox) -> bool:
    """Return whether a text lies partly on a bar; labels inside a bar are fine."""
    if not patch.get_visible():
        return False
    path = patch.get_path().transformed(patch.get_transform())
    if len(np.asarray(path.vertices)) > 6:  # stairs: by its outline
        points = path.interpolated(4).vertices
        return _any_in(np.asarray(points), box, frame)
    bar = patch.get_window_extent()
    if bar.width < _HAIR or bar.height < _HAIR:
        return False
    return _shared(box, bar) and not _within(box, bar)


def _over_points(collection: Collection, box: Bbox, frame: Bbox) -> bool:
    if not collection.get_visible():
        return False
    paths = [np.asarray(p.vertices) for p in collection.get_paths()]
    offsets = np.asarray(collection.get_offsets())
    if len(offsets) > 1 or np.any(offsets):
        points = collection.get_offset_transform().transform(offsets)
        return _any_in(points, box, frame)
    for vertices in paths:
        points = collection.get_transform().transform(vertices)
        outline = Line2D(points[:, 0], points[:, 1])
        outline.set_transform(IdentityTransform())
        if _crosses(outline, box, frame):
            return True
    return False
