"""Continuous laws that SciPy lacks, with the methods of a frozen SciPy distribution."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
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
class Mixture:
    """A finite mixture of positive laws.

    Attributes
    ----------
    weights
        Shape (k,), positive, summing to 1.
    parts
        The k laws.
    """

    weights: tuple[float, ...]
    parts: tuple[Law, ...]

    def _sum(self, method: str, x: ArrayLike) -> Floats:
        terms = [
            w * getattr(part, method)(x) for w, part in zip(self.weights, self.parts, strict=True)
        ]
        return np.asarray(sum(terms[1:], terms[0]))

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density."""
        return self._sum("pdf", x)

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the log density."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.minimum(self._sum("cdf", x), 1.0)

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return self._sum("sf", x)

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the log survival."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.sf(x)))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles: a bracket from a log-spaced table, then false position inside it."""
        p = np.asarray(q, dtype=float)
        flat = np.atleast_1d(p).ravel()
        low = min(float(part.ppf(1e-12)) for part in self.parts)
        high = max(float(part.ppf(1 - 1e-12)) for part in self.parts)
        table = np.geomspace(max(low, 1e-300), high, _PPF_GRID)
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
        return float(sum(w * part.mean() for w, part in zip(self.weights, self.parts, strict=True)))


@dataclass(frozen=True, slots=True)
class QuantileGrid:
    """An empirical law: log-linear between evenly spaced quantiles, generalised Pareto above.

    Attributes
    ----------
    knots
        Quantiles at probabilities 0, 1/m, .. up to `body`, strictly ascending, positive.
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
    def _tail(self) -> Law:
        return sp.genpareto(self.tail_shape, scale=self.tail_scale)

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.asarray(1 - self.sf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        v = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.interp(np.log(v), np.log(self.knots), self._levels, left=0.0)
        inside = np.where(v <= 0, 0.0, inside)
        tail = (1 - self.body) * self._tail.sf(v - self.knots[-1])
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
        tail = (1 - self.body) * self._tail.pdf(v - self.knots[-1])
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
            excess = self._tail.ppf(np.clip((p - self.body) / (1 - self.body), 0, 1))
        x = np.where(p > self.body, self.knots[-1] + excess, inside)
        return np.asarray(np.where((p < 0) | (p > 1), np.nan, x))

    def mean(self) -> float:
        """Return the mean; infinite when the tail's shape is 1 or more."""
        low, high = self.knots[:-1], self.knots[1:]
        inside = (high - low) / np.log(high / low) * np.diff(self._levels)
        return float(inside.sum() + (1 - self.body) * (self.knots[-1] + self._tail.mean()))
