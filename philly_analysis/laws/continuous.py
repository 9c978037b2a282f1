"""Continuous laws that SciPy lacks, with the methods of a frozen SciPy distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.special as special
import scipy.stats as sp
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_PPF_GRID = 4096
_POLISH = 4


class Law(Protocol):
    """What a frozen SciPy distribution offers and a model needs (typed loosely, as SciPy is)."""

    def pdf(self, x: Any, /) -> Any: ...  # noqa: D102
    def logpdf(self, x: Any, /) -> Any: ...  # noqa: D102
    def cdf(self, x: Any, /) -> Any: ...  # noqa: D102
    def sf(self, x: Any, /) -> Any: ...  # noqa: D102
    def logsf(self, x: Any, /) -> Any: ...  # noqa: D102
    def ppf(self, q: Any, /) -> Any: ...  # noqa: D102
    def mean(self) -> Any: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a mixture, by functions of arrays whose last axis runs over the parts.

    Attributes
    ----------
    pdf, sf
        Density and survival of positive values of shape (.., 1), giving shape (.., k).
    mean
        Shape (k,): mean of each part.
    low, high
        Values below and above which there is next to nothing.
    """

    pdf: Callable[[Floats], Floats]
    sf: Callable[[Floats], Floats]
    mean: Floats
    low: float
    high: float


def lognormal_parts(mu: Floats, sigma: Floats) -> Component:
    """Return log-normal parts with these parameters, shape (k,)."""

    def z(x: Floats) -> Floats:
        return np.asarray((np.log(x) - mu) / sigma)

    return Component(
        lambda x: np.exp(-0.5 * z(x) ** 2) / (x * sigma * np.sqrt(2 * np.pi)),
        lambda x: np.asarray(special.ndtr(-z(x))),
        np.exp(mu + sigma**2 / 2),
        float(np.exp((mu - 7.1 * sigma).min())),
        float(np.exp((mu + 7.1 * sigma).max())),
    )


def exponential_parts(scale: Floats) -> Component:
    """Return exponential parts with these means, shape (k,)."""
    return Component(
        lambda x: np.exp(-x / scale) / scale,
        lambda x: np.exp(-x / scale),
        scale,
        float(1e-12 * scale.min()),
        float(28 * scale.max()),
    )


@dataclass(frozen=True, slots=True)
class Mixture:
    """A finite mixture of positive laws.

    Attributes
    ----------
    weights
        Shape (k,), positive, summing to 1.
    parts
        The k laws.
    """

    weights: Floats
    parts: Component

    def _at(self, x: ArrayLike, value: Callable[[Floats], Floats], below: float) -> Floats:
        v = np.asarray(x, dtype=float)
        inside = (v > 0) & (v < np.inf)
        with np.errstate(over="ignore", under="ignore"):
            mixed = value(np.where(inside, v, 1.0)[..., None]) @ self.weights
        return np.asarray(
            np.where(inside, mixed, np.where(v <= 0, below, np.where(np.isnan(v), np.nan, 0.0)))
        )

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density."""
        return self._at(x, self.parts.pdf, 0.0)

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the log density."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.asarray(1 - self.sf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return self._at(x, self.parts.sf, 1.0)

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the log survival."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.sf(x)))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles: a bracket from a log-spaced table, then false position inside it."""
        p = np.asarray(q, dtype=float)
        flat = np.atleast_1d(p).ravel()
        table = np.geomspace(max(self.parts.low, 1e-300), self.parts.high, _PPF_GRID)
        at = self.cdf(table)
        cell = np.clip(np.searchsorted(at, flat), 1, _PPF_GRID - 1)
        left, right = table[cell - 1], table[cell]
        p_left, p_right = at[cell - 1], at[cell]
        x = left
        for _ in range(_POLISH):
            rise = np.where(p_right > p_left, p_right - p_left, 1.0)
            share = np.clip((flat - p_left) / rise, 0.01, 0.99)
            x = left + share * (right - left)
            here = self.cdf(x)
            below = here < flat
            left, p_left = np.where(below, x, left), np.where(below, here, p_left)
            right, p_right = np.where(below, right, x), np.where(below, p_right, here)
        rise = np.where(p_right > p_left, p_right - p_left, 1.0)
        x = left + np.clip((flat - p_left) / rise, 0, 1) * (right - left)
        x = np.where(flat <= 0, 0.0, np.where(flat >= 1, np.inf, x))
        x = np.where((flat < 0) | (flat > 1) | np.isnan(flat), np.nan, x)
        return x.reshape(p.shape)

    def mean(self) -> float:
        """Return the mean."""
        return float(self.weights @ self.parts.mean)


HAIR = 1e-9


def separated(knots: Floats) -> Floats:
    """Return ascending knots with equal ones a hair apart, downwards, so that a CDF can rise."""
    last = np.searchsorted(knots, knots, side="right") - 1
    return np.asarray(knots * (1 - HAIR * (last - np.arange(knots.size))))


@dataclass(frozen=True, slots=True)
class QuantileGrid:
    """An empirical law: log-linear between evenly spaced quantiles, generalised Pareto above.

    Attributes
    ----------
    knots
        Quantiles at probabilities 0, 1/m, .. up to `body`, ascending, positive. Equal ones, of
        a value that repeats in the data, are told apart by :func:`separated`.
    body
        Probability that the knots cover; the tail holds the rest.
    tail_shape, tail_scale
        Generalised Pareto law of the excess over the last knot (Pickands 1975): shape 0 is
        exponential, above 0 Pareto, below 0 bounded.
    """

    knots: Floats
    body: float
    tail_shape: float
    tail_scale: float

    @property
    def _levels(self) -> Floats:
        return np.linspace(0, self.body, self.knots.size)

    @property
    def _tail(self) -> tuple[float, float, float]:
        return self.tail_shape, 0.0, self.tail_scale

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.asarray(1 - self.sf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        v = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.interp(np.log(v), np.log(self.knots), self._levels, left=0.0)
        inside = np.where(v <= 0, 0.0, inside)
        tail = (1 - self.body) * sp.genpareto.sf(v - self.knots[-1], *self._tail)
        return np.asarray(np.where(v > self.knots[-1], tail, 1 - inside))

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the log survival."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.sf(x)))

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density: constant in log x between knots."""
        v = np.asarray(x, dtype=float)
        slopes = np.diff(self._levels) / np.diff(np.log(self.knots))
        cell = np.clip(np.searchsorted(self.knots, v, side="right") - 1, 0, slopes.size - 1)
        inside = (v >= self.knots[0]) & (v <= self.knots[-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            body = np.where(inside, slopes[cell] / v, 0.0)
        tail = (1 - self.body) * sp.genpareto.pdf(v - self.knots[-1], *self._tail)
        return np.asarray(np.where(v > self.knots[-1], tail, body))

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the log density."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(x)))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles."""
        p = np.asarray(q, dtype=float)
        inside = np.exp(np.interp(p, self._levels, np.log(self.knots)))
        with np.errstate(invalid="ignore"):
            excess = sp.genpareto.ppf(
                np.clip((p - self.body) / max(1 - self.body, HAIR), 0, 1), *self._tail
            )
        x = np.where(p > self.body, self.knots[-1] + excess, inside)
        return np.asarray(np.where((p < 0) | (p > 1), np.nan, x))

    def mean(self) -> float:
        """Return the mean; infinite when the tail's shape is 1 or more."""
        low, high = self.knots[:-1], self.knots[1:]
        inside = (high - low) / np.log(high / low) * np.diff(self._levels)
        return float(
            inside.sum() + (1 - self.body) * (self.knots[-1] + sp.genpareto.mean(*self._tail))
        )
