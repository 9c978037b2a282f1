"""Plot a fitted distribution beside the data it was fitted to."""

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.results import figures

_POINTS = 400
_ENDS = (0.001, 0.999)


class Fitted(Protocol):
    """A distribution with percentiles of the values that it was fitted to."""

    @property
    def n(self) -> int:
        """Number of values."""

    @property
    def observed(self) -> Sequence[float] | Floats:
        """Their percentiles 1, 2, … (fewer than 99 where censoring hides the top)."""

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""

    def ppf(self, q: ArrayLike) -> Any:
        """Return quantiles."""


def plot_cdf(fitted: Fitted, ax: Axes | None = None, **line: Any) -> Figure:
    """Plot a CDF of times as a line, and every fifth percentile of the data as points.

    Parameters
    ----------
    ax
        Axes to draw into; None: a new figure.
    **line
        Passed to ``Axes.plot``: ``label``, ``color`` and others.
    """
    new = ax is None
    if ax is None:
        _, [ax] = figures.canvas()
    low, high = (float(fitted.ppf(q)) for q in _ENDS)
    x = np.geomspace(max(low, 1e-3), high, _POINTS)
    label = line.pop("label", f"model  n={fitted.n:,}" if new else None)
    [drawn] = ax.plot(x, 100 * fitted.cdf(x), label=label, **line)
    seen = np.asarray(fitted.observed)[4::5]
    levels = np.arange(1, len(fitted.observed) + 1)[4::5]
    label = "data" if new else None
    ax.plot(seen, levels, ".", color=drawn.get_color(), markersize=6, label=label)
    figures.time_axis(ax, min(1.0, x[0]), x[-1])
    figures.percent_axis(ax, "share of jobs")
    ax.set_xlabel("run time")
    if new:
        figures.legend(ax, loc="lower right")
    return cast("Figure", ax.get_figure(root=True))
