"""Create figures in the common style and lay out their legends."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine

from philly_analysis.results.figures.legends import arrange_legends
from philly_analysis.results.figures.style import STYLE, TARGET

_PASSES = 3
"""Most layout passes: moving a legend shrinks the axes, which may displace another."""


class NotebookFigure(Figure):
    """A figure that a notebook displays without pyplot."""

    def draw(self, renderer: RendererBase) -> None:
        """Lay the figure out and draw it."""
        with final_layout(self, renderer):
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.savefig(png, format="png", dpi=110)
        return png.getvalue()


@contextmanager
def final_layout(fig: Figure, renderer: RendererBase | None = None) -> Iterator[None]:
    """Place axes and legends without overlap, and freeze the layout meanwhile."""
    engine = fig.get_layout_engine()
    if isinstance(engine, PlaceHolderLayoutEngine):  # already laid out
        yield
        return
    renderer = renderer or cast("RendererBase", fig._get_renderer())  # type: ignore[attr-defined]
    for _ in range(_PASSES):
        if engine is not None and fig.axes:
            engine.execute(fig)
        if not arrange_legends(fig, renderer):
            break
    fig.set_layout_engine("none")
    try:
        yield
    finally:
        fig.set_layout_engine(engine or "none")


@contextmanager
def drawing_into(ax: Axes | None) -> Iterator[None]:
    """Draw the next figure into given axes, whose space several panels divide; None: as usual."""
    if ax is None:
        yield
        return
    token = TARGET.set(ax)
    try:
        yield
    finally:
        TARGET.reset(token)
    fig = cast("Figure", ax.get_figure(root=True))
    fig.draw_without_rendering()
    arrange_legends(fig, cast("RendererBase", fig._get_renderer()))  # type: ignore[attr-defined]


def canvas(
    columns: int = 1, rows: int = 1, *, width: float = 7.2, height: float = 3.4, **layout: Any
) -> tuple[Figure, list[Axes]]:
    """Create a figure in the common style.

    Parameters
    ----------
    columns, rows
        Panels.
    width, height
        Size of the whole figure, in inches.
    **layout
        Passed to ``Figure.subplots``, e.g. ``sharey=True``.

    Returns
    -------
    tuple
        The figure, and its axes row by row.
    """
    target = TARGET.get()
    if target is not None:
        return _divide(target, columns, rows, **layout)
    with mpl.rc_context(STYLE):
        fig = NotebookFigure(figsize=(width, height), layout="constrained")
        axes = fig.subplots(rows, columns, squeeze=False, **layout)
    return fig, list(axes.flat)


def _divide(ax: Axes, columns: int, rows: int, **layout: Any) -> tuple[Figure, list[Axes]]:
    """Return axes of another figure, or so many panels in their place."""
    fig = cast("Figure", ax.get_figure(root=True))
    if columns * rows == 1:
        return fig, [ax]
    spec = ax.get_subplotspec()
    if spec is None:  # axes placed by hand
        box = ax.get_position()
        spec = fig.add_gridspec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]
    ax.set_axis_off()
    spaces = {"wspace": 0.35, "hspace": 0.5} | layout.pop("gridspec_kw", {})
    grid = spec.subgridspec(rows, columns, **spaces)
    return fig, list(grid.subplots(squeeze=False, **layout).flat)
