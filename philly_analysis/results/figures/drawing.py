"""A figure in the house style, which shows itself in a notebook and covers nothing it draws."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine

from philly_analysis.results.figures.legends import moved
from philly_analysis.results.figures.line_labels import written
from philly_analysis.results.figures.style import STYLE

_ROUNDS = 3
"""A legend that moves takes room from what is drawn, which may then need one more."""


class Drawing(Figure):
    """A figure that a notebook shows, whether or not it was told to draw inline."""

    def draw(self, renderer: RendererBase) -> None:
        """Lay it out, and draw it."""
        with laid_out(self, renderer):
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.savefig(drawn, format="png", dpi=110)
        return drawn.getvalue()


@contextmanager
def laid_out(fig: Figure, renderer: RendererBase | None = None) -> Iterator[None]:
    """Lay a figure out, its names and legends clear of what is drawn, and leave it so meanwhile."""
    engine = fig.get_layout_engine()
    if isinstance(engine, PlaceHolderLayoutEngine):  # it is
        yield
        return
    renderer = renderer or cast("RendererBase", fig._get_renderer())  # type: ignore[attr-defined]
    for _ in range(_ROUNDS):
        if engine is not None and fig.axes:
            engine.execute(fig)
        below, beside = moved(fig, renderer), written(fig, renderer)
        if not (below or beside):
            break
    fig.set_layout_engine("none")
    try:
        yield
    finally:
        fig.set_layout_engine(engine or "none")


def canvas(
    columns: int = 1, rows: int = 1, *, width: float = 7.2, height: float = 3.4, **layout: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure in the house style.

    Parameters
    ----------
    columns, rows
        Panels.
    width, height
        Size in inches, of the whole figure.
    **layout
        Passed to ``Figure.subplots``, e.g. ``sharey=True``.

    Returns
    -------
    tuple
        The figure, and its axes row by row.
    """
    with mpl.rc_context(STYLE):
        fig = Drawing(figsize=(width, height), layout="constrained")
        axes = fig.subplots(rows, columns, squeeze=False, **layout)
    return fig, list(axes.flat)
