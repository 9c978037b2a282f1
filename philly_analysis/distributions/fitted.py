"""Fitted distributions: the methods of a frozen distribution, and a plot beside the data."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.frozen import Continuous, PositiveDistribution, probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 400
_ENDS = (0.001, 0.999)


class FittedDistribution(PositiveDistribution):
    """A distribution fitted to positive values, with the methods of a frozen SciPy one."""

    __slots__ = ()

    @abstractmethod
    def frozen(self) -> Continuous:
        """Return the frozen distribution that the methods below call."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of values fitted to."""

    @property
    @abstractmethod
    def observed(self) -> Sequence[float] | Floats:
        """Percentiles 1, 2, … of the values (fewer than 99 where censoring hides the top)."""

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return values with a probability of their own, with it; the density excludes them."""
        frozen = self.frozen()
        return frozen.atoms() if hasattr(frozen, "atoms") else ()

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at `x`: its integral is 1 less the probability of :meth:`atoms`."""
        return np.asarray(self.frozen().pdf(x))

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the density at `x`."""
        return np.asarray(self.frozen().logpdf(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.asarray(self.frozen().cdf(x))

    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of at most `x`."""
        return np.asarray(self.frozen().logcdf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return np.asarray(self.frozen().sf(x))

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of more than `x`."""
        return np.asarray(self.frozen().logsf(x))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities `q`; a ModelError outside of 0 to 1."""
        return np.asarray(self.frozen().ppf(probabilities(q)))

    def isf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities 1 - `q`, exact for the smallest `q`."""
        return np.asarray(self.frozen().isf(probabilities(q)))

    def moment(self, order: int) -> float:
        """Return a raw moment, infinite if the tail is too heavy."""
        return float(self.frozen().moment(order))

    def mean(self) -> float:
        """Return the mean, infinite if the tail is too heavy."""
        return float(self.frozen().mean())

    def var(self) -> float:
        """Return the variance, infinite if the tail is too heavy."""
        return float(self.frozen().var())

    def entropy(self) -> float:
        """Return the differential entropy in nats."""
        return float(self.frozen().entropy())

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""
        low, high = self.frozen().support()
        return float(low), float(high)

    def plot(self, ax: "Axes | None" = None, **line: Any) -> "Figure":
        """Plot the CDF as a line, and every fifth percentile of the data as points.

        Parameters
        ----------
        ax
            Axes to draw into; None: a new figure.
        **line
            Properties of the line, which ``Axes.plot`` takes: ``label``, ``color`` and other
            properties.
        """
        from philly_analysis.results import figures

        new = ax is None
        if ax is None:
            _, [ax] = figures.canvas()
        low, high = (float(self.ppf(q)) for q in _ENDS)
        x = np.geomspace(max(low, 1e-3), high, _POINTS)
        label = line.pop("label", f"model  n={self.n:,}" if new else None)
        [drawn] = ax.plot(x, 100 * self.cdf(x), label=label, **line)
        seen = np.asarray(self.observed)
        levels = np.arange(1, seen.size + 1)
        label = "data" if new else None
        ax.plot(seen[4::5], levels[4::5], ".", color=drawn.get_color(), markersize=6, label=label)
        figures.time_axis(ax, min(1.0, x[0]), x[-1])
        figures.percent_axis(ax, "share of jobs")
        ax.set_xlabel("run time")
        if new:
            figures.legend(ax, loc="lower right")
        return cast("Figure", ax.get_figure(root=True))
