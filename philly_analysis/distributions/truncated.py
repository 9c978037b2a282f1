"""Truncate a continuous distribution at a largest value."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.frozen import Continuous, PositiveDistribution


@dataclass(frozen=True, slots=True)
class Truncated(PositiveDistribution):
    """A distribution given that its value is at most `upper`.

    Attributes
    ----------
    whole
        The distribution without truncation.
    upper
        Largest possible value.
    """

    whole: Continuous
    upper: float

    @property
    def _below(self) -> float:
        return float(self.whole.cdf(self.upper))

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at `x`."""
        v = np.asarray(x, float)
        return np.asarray(np.where(v <= self.upper, self.whole.pdf(v) / self._below, 0.0))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.asarray(self.whole.cdf(np.minimum(x, self.upper)) / self._below)

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        beyond = self.whole.sf(np.minimum(x, self.upper)) - self.whole.sf(self.upper)
        return np.asarray(np.clip(beyond / self._below, 0, 1))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities `q`."""
        return self.isf(1 - np.asarray(q, float))

    def isf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities 1 - `q`."""
        above = np.asarray(q, float) * self._below + self.whole.sf(self.upper)
        return np.asarray(np.minimum(self.whole.isf(np.minimum(above, 1.0)), self.upper))

    def moment(self, order: int) -> float:
        """Return a raw moment, by quadrature."""
        return self.expect(lambda x: x**order)

    def entropy(self) -> float:
        """Return the differential entropy in nats, by quadrature."""
        return self.expect(lambda x: -self.logpdf(x))

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""
        low, high = self.whole.support()
        return float(low), float(min(high, self.upper))
