"""Interface of SciPy's frozen distributions, derived from a few methods."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats, Ints
from philly_analysis.errors import ModelError

# Gauss-Legendre points and weights in cells of the probabilities below 1/2
_EDGES = np.concatenate((np.geomspace(1e-14, 1e-2, 25), np.linspace(0.01, 0.5, 50)[1:]))
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_LEVELS = (_EDGES[:-1, None] + np.diff(_EDGES)[:, None] * (_POINTS + 1) / 2).ravel()
_LEVEL_WEIGHTS = (np.diff(_EDGES)[:, None] * _WEIGHTS / 2).ravel()


class FrozenDistribution(ABC):
    """A distribution of numbers with the methods of SciPy's frozen distributions.

    Methods take and return arrays of any shape; nan gives nan. SciPy returns nan for a probability
    outside of 0 to 1; these methods raise a ModelError.
    """

    __slots__ = ()

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""

    @abstractmethod
    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""

    @abstractmethod
    def ppf(self, q: ArrayLike) -> Floats | Ints:
        """Return the quantiles at probabilities `q`."""

    @abstractmethod
    def isf(self, q: ArrayLike) -> Floats | Ints:
        """Return the quantiles at probabilities 1 - `q`, exact for the smallest `q`."""

    @abstractmethod
    def moment(self, order: int) -> float:
        """Return a raw moment, infinite if the tail is too heavy."""

    @abstractmethod
    def entropy(self) -> float:
        """Return the entropy in nats (the differential entropy of a continuous distribution)."""

    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""

    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the CDF."""
        return log_probability(self.cdf(x), self.sf(x))

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the survival function."""
        return log_probability(self.sf(x), self.cdf(x))

    def mean(self) -> float:
        """Return the mean, infinite if the tail is too heavy."""
        return self.moment(1)

    def var(self) -> float:
        """Return the variance, infinite if the tail is too heavy."""
        second = self.moment(2)
        return second if np.isinf(second) else max(second - self.mean() ** 2, 0.0)

    def std(self) -> float:
        """Return the standard deviation, infinite if the tail is too heavy."""
        return float(np.sqrt(self.var()))

    def median(self) -> float:
        """Return the median."""
        return float(self.ppf(0.5))

    def stats(self, moments: str = "mv") -> tuple[float, ...]:
        """Return moments by their letters: mean, variance, skewness, excess kurtosis.

        Parameters
        ----------
        moments
            Any of the letters ``mvsk``, in this order.
        """
        mean, var = self.mean(), self.var()
        second, third, fourth = (self.moment(order) for order in (2, 3, 4))
        skewness = (third - 3 * mean * second + 2 * mean**3) / var**1.5
        fourth_central = fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4
        by_letter = {"m": mean, "v": var, "s": skewness, "k": fourth_central / var**2 - 3}
        return tuple(by_letter[letter] for letter in by_letter if letter in moments)

    def interval(self, confidence: ArrayLike) -> tuple[Floats | Ints, Floats | Ints]:
        """Return the ends of the equal-tailed interval with this probability.

        Raises
        ------
        ModelError
            A confidence below 0 or above 1.
        """
        outside = (1 - probabilities(confidence, "a confidence")) / 2
        return self.ppf(outside), self.isf(outside)

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | int | None = None,
    ) -> Floats | Ints:
        """Draw values by inverting the CDF.

        Parameters
        ----------
        size
            Shape of the draw; a single value when None.
        random_state
            A generator, a seed, or None for fresh entropy, as in SciPy.
        """
        return self.ppf(np.random.default_rng(random_state).random(size))

    def to_json(self) -> str:
        """Return all fitted numbers as JSON."""
        return json.dumps(asdict(cast("Any", self)))


class PositiveDistribution(FrozenDistribution):
    """A continuous distribution of positive numbers."""

    __slots__ = ()

    @abstractmethod
    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at `x`."""

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the density."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(x)))

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the survival function."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.sf(x)))

    def expect(self, func: Callable[[Floats], ArrayLike] = np.positive) -> float:
        """Return the mean of a function, which takes arrays, of the value; by default its own.

        By Gauss-Legendre quadrature over the probability, in cells ever finer towards 0 and 1.
        """
        return float(
            np.dot(_LEVEL_WEIGHTS, func(np.asarray(self.ppf(_LEVELS), float)))
            + np.dot(_LEVEL_WEIGHTS, func(np.asarray(self.isf(_LEVELS), float)))
        )


Continuous = Any
"""A :class:`PositiveDistribution`, or SciPy's frozen distribution, whose stubs allow fewer
arrays."""


def probabilities(q: ArrayLike, noun: str = "a probability") -> Floats:
    """Return probabilities (or nan) as an array.

    Raises
    ------
    ModelError
        A probability is below 0 or above 1.
    """
    p = np.asarray(q, dtype=float)
    outside = (p < 0) | (p > 1)
    if outside.any():
        raise ModelError(f"{noun} must lie between 0 and 1, not at {float(p[outside].flat[0]):g}")
    return p


def log_probability(p: Floats, complement: Floats) -> Floats:
    """Return the logarithm of a probability, from its complement where that is smaller."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(p < 0.5, np.log(p), np.log1p(-complement)))
