"""A figure in the house style, which shows itself in a notebook and covers nothing it draws."""

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure

from philly_analysis.figures.legends import settle
from philly_analysis.figures.style import STYLE


class Drawing(Figure):
    """A figure that a notebook shows, whether or not it was told to draw inline."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw it, laid out anew where a legend had to move."""
        super().draw(renderer)
        if settle(self, renderer):
            if hasattr(renderer, "clear"):
                renderer.clear()
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.savefig(drawn, format="png", dpi=110)
        return drawn.getvalue()


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
