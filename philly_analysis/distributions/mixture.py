"""Finite mixtures of exponential or log-normal distributions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.frozen import PositiveDistribution

_INVERSION_GRID = 4096
_INVERSION_STEPS = 4
_ENTROPY_GRID = 20_001


@dataclass(frozen=True, slots=True)
class Components:
    """Components of a mixture, as functions of arrays whose last axis is the component.

    Attributes
    ----------
    pdf, cdf, sf
        Density, CDF and survival function: positive values of shape (.., 1) to shape (.., k).
    moment
        Order to the raw moment of each component, shape (k,).
    low, high
        Values with negligible probability below and above.
    """

    pdf: Callable[[Floats], Floats]
    cdf: Callable[[Floats], Floats]
    sf: Callable[[Floats], Floats]
    moment: Callable[[int], Floats]
    low: float
    high: float


def lognormal_components(mu: Floats, sigma: Floats) -> Components:
    """Return log-normal components with these parameters, shape (k,)."""

    def z(x: Floats) -> Floats:
        return np.asarray((np.log(x) - mu) / sigma)

    return Components(
        lambda x: np.exp(-0.5 * z(x) ** 2) / (x * sigma * np.sqrt(2 * np.pi)),
        lambda x: np.asarray(special.ndtr(z(x))),
        lambda x: np.asarray(special.ndtr(-z(x))),
        lambda order: np.exp(order * mu + (order * sigma) ** 2 / 2),
        float(np.exp((mu - 12 * sigma).min())),
        float(np.exp((mu + 12 * sigma).max())),
    )


def exponential_components(scale: Floats) -> Components:
    """Return exponential components with these means, shape (k,)."""
    return Components(
        lambda x: np.exp(-x / scale) / scale,
        lambda x: -np.expm1(-x / scale),
        lambda x: np.exp(-x / scale),
        lambda order: special.gamma(order + 1) * scale**order,
        float(1e-12 * scale.min()),
        float(75 * scale.max()),
    )


@dataclass(frozen=True)
class Mixture(PositiveDistribution):
    """A finite mixture of positive distributions.

    Attributes
    ----------
    weights
        Shape (k,), positive, with sum 1.
    components
        The k distributions.
    """

    weights: Floats
    components: Components

    def _mix(
        self, x: ArrayLike, function: Callable[[Floats], Floats], below: float, above: float
    ) -> Floats:
        v = np.asarray(x, dtype=float)
        inside = (v > 0) & (v < np.inf)
        with np.errstate(over="ignore", under="ignore"):
            mixed = function(np.where(inside, v, 1.0)[..., None]) @ self.weights
        outside = np.where(v <= 0, below, np.where(np.isnan(v), np.nan, above))
        return np.asarray(np.where(inside, mixed, outside))

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at `x`."""
        return self._mix(x, self.components.pdf, 0.0, 0.0)

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return self._mix(x, self.components.cdf, 0.0, 1.0)

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return self._mix(x, self.components.sf, 1.0, 0.0)

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities `q`."""
        p = np.asarray(q, dtype=float)
        inside = self._invert(self.cdf, p, *self._quantile_table)
        return np.asarray(np.where(p <= 0, 0.0, np.where(p >= 1, np.inf, inside)))

    def isf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities 1 - `q`."""
        p = np.asarray(q, dtype=float)
        table = self._table(_INVERSION_GRID)
        inside = self._invert(lambda v: -self.sf(v), -p, table, -self.sf(table))
        return np.asarray(np.where(p <= 0, np.inf, np.where(p >= 1, 0.0, inside)))

    def _table(self, points: int) -> Floats:
        low = max(self.components.low, 1e-300)
        return np.geomspace(low, self.components.high, points)

    @cached_property
    def _quantile_table(self) -> tuple[Floats, Floats]:
        """Values and the CDF at each."""
        table = self._table(_INVERSION_GRID)
        return table, self.cdf(table)

    @staticmethod
    def _invert(
        increasing: Callable[[Floats], Floats], level: Floats, table: Floats, at: Floats
    ) -> Floats:
        """Return where a function reaches levels: false position within a cell of a fine table."""
        flat = np.atleast_1d(level).ravel()
        cell = np.clip(np.searchsorted(at, flat), 1, table.size - 1)
        lower, upper = table[cell - 1], table[cell]
        p_left, p_right = at[cell - 1], at[cell]

        def secant(least: float, most: float) -> Floats:
            rise = np.where(p_right > p_left, p_right - p_left, 1.0)
            return np.asarray(
                lower + np.clip((flat - p_left) / rise, least, most) * (upper - lower)
            )

        for _ in range(_INVERSION_STEPS):
            x = secant(0.01, 0.99)
            p = increasing(x)
            below = p < flat
            lower, p_left = np.where(below, x, lower), np.where(below, p, p_left)
            upper, p_right = np.where(below, upper, x), np.where(below, p_right, p)
        return np.asarray(secant(0, 1).reshape(level.shape))

    def moment(self, order: int) -> float:
        """Return a raw moment."""
        return float(self.weights @ self.components.moment(order))

    def entropy(self) -> float:
        """Return the differential entropy in nats, by the trapezoidal rule in log x."""
        x = self._table(_ENTROPY_GRID)
        return float(np.trapezoid(special.entr(self.pdf(x)) * x, np.log(x)))

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""
        return 0.0, np.inf
