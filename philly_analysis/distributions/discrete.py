"""Discrete distributions on positive integers."""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats, Ints
from philly_analysis.distributions.frozen import FrozenDistribution, probabilities

_ROUNDING = 1e-12  # sums of shares are not exact


class DiscreteDistribution(FrozenDistribution):
    """A distribution with the methods of SciPy's frozen discrete distributions.

    ``ppf(0)`` and ``isf(1)`` return the smallest value; SciPy returns a smaller one.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Values, ascending, and the probability of each."""

    def pmf(self, x: ArrayLike) -> Floats:
        """Return the probability of each value."""
        v, (values, shares) = np.asarray(x, float), self.points
        index = np.minimum(np.searchsorted(values, v), len(values) - 1)
        share = np.where(np.asarray(values)[index] == v, np.asarray(shares)[index], 0.0)
        return np.where(np.isnan(v), np.nan, share)

    def logpmf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of each value."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pmf(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return self._cumulative(x, below=True)

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return self._cumulative(x, below=False)

    def _cumulative(self, x: ArrayLike, *, below: bool) -> Floats:
        v, (values, shares) = np.asarray(x, float), self.points
        parts = np.asarray(shares) if below else np.asarray(shares)[::-1]
        total = np.concatenate(([0.0], np.cumsum(parts)))
        at = np.searchsorted(values, v, side="right")
        inside = np.minimum(total[at if below else len(values) - at], 1.0)
        return np.where(np.isnan(v), np.nan, inside)

    def ppf(self, q: ArrayLike) -> Ints | Floats:
        """Return the smallest value whose CDF is at least `q`; a ModelError outside of 0 to 1."""
        below = np.cumsum(self.points[1])
        return self._values(np.searchsorted(below, probabilities(q) - _ROUNDING), q)

    def isf(self, q: ArrayLike) -> Ints | Floats:
        """Return the smallest value whose survival function is at most `q`."""
        above = np.cumsum(self.points[1][::-1])
        at_least = np.searchsorted(above, probabilities(q) + _ROUNDING, side="right")
        return self._values(above.size - 1 - at_least, q)

    def _values(self, index: Ints, q: ArrayLike) -> Ints | Floats:
        values = np.asarray(self.points[0])
        value = values[np.clip(index, 0, values.size - 1)]
        unknown = np.isnan(q)
        return np.where(unknown, np.nan, value) if np.any(unknown) else value

    def moment(self, order: int) -> float:
        """Return a raw moment."""
        return self.expect(lambda x: x**order)

    def var(self) -> float:
        """Return the variance."""
        mean = self.mean()
        return self.expect(lambda x: (x - mean) ** 2)

    def entropy(self) -> float:
        """Return the entropy in nats."""
        return float(special.entr(self.points[1]).sum())

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""
        possible = [value for value, share in zip(*self.points, strict=True) if share > 0]
        return possible[0], possible[-1]

    def expect(self, func: Callable[[Floats], ArrayLike] = np.positive) -> float:
        """Return the mean of a function, which takes arrays, of the value; by default its own."""
        values, shares = self.points
        return float(np.dot(func(np.asarray(values, float)), shares))
