"""Continuous laws that SciPy lacks, with the methods of a frozen SciPy distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy
import scipy.special as special
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_PPF_GRID = 4096
_POLISH = 4
_ENTROPY_GRID = 20_001


class Law(Protocol):
    """What a frozen SciPy distribution offers and a model needs (typed loosely, as SciPy is)."""

    def pdf(self, x: Any, /) -> Any: ...  # noqa: D102
    def logpdf(self, x: Any, /) -> Any: ...  # noqa: D102
    def cdf(self, x: Any, /) -> Any: ...  # noqa: D102
    def logcdf(self, x: Any, /) -> Any: ...  # noqa: D102
    def sf(self, x: Any, /) -> Any: ...  # noqa: D102
    def logsf(self, x: Any, /) -> Any: ...  # noqa: D102
    def ppf(self, q: Any, /) -> Any: ...  # noqa: D102
    def isf(self, q: Any, /) -> Any: ...  # noqa: D102
    def moment(self, order: int, /) -> Any: ...  # noqa: D102
    def mean(self) -> Any: ...  # noqa: D102
    def var(self) -> Any: ...  # noqa: D102
    def entropy(self) -> Any: ...  # noqa: D102
    def support(self) -> Any: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a mixture, by functions of arrays whose last axis runs over the parts.

    Attributes
    ----------
    pdf, cdf, sf
        Density, CDF and survival of positive values of shape (.., 1), giving shape (.., k).
    moment
        Takes an order; returns the raw moment of each part, shape (k,).
    low, high
        Values below and above which there is next to nothing.
    """

    pdf: Callable[[Floats], Floats]
    cdf: Callable[[Floats], Floats]
    sf: Callable[[Floats], Floats]
    moment: Callable[[int], Floats]
    low: float
    high: float


def lognormal_parts(mu: Floats, sigma: Floats) -> Component:
    """Return log-normal parts with these parameters, shape (k,)."""

    def z(x: Floats) -> Floats:
        return np.asarray((np.log(x) - mu) / sigma)

    return Component(
        lambda x: np.exp(-0.5 * z(x) ** 2) / (x * sigma * np.sqrt(2 * np.pi)),
        lambda x: np.asarray(special.ndtr(z(x))),
        lambda x: np.asarray(special.ndtr(-z(x))),
        lambda order: np.exp(order * mu + (order * sigma) ** 2 / 2),
        float(np.exp((mu - 12 * sigma).min())),
        float(np.exp((mu + 12 * sigma).max())),
    )


def exponential_parts(scale: Floats) -> Component:
    """Return exponential parts with these means, shape (k,)."""
    return Component(
        lambda x: np.exp(-x / scale) / scale,
        lambda x: -np.expm1(-x / scale),
        lambda x: np.exp(-x / scale),
        lambda order: special.gamma(order + 1) * scale**order,
        float(1e-12 * scale.min()),
        float(75 * scale.max()),
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

    def _at(
        self, x: ArrayLike, value: Callable[[Floats], Floats], below: float, above: float
    ) -> Floats:
        v = np.asarray(x, dtype=float)
        inside = (v > 0) & (v < np.inf)
        with np.errstate(over="ignore", under="ignore"):
            mixed = value(np.where(inside, v, 1.0)[..., None]) @ self.weights
        return np.asarray(
            np.where(inside, mixed, np.where(v <= 0, below, np.where(np.isnan(v), np.nan, above)))
        )

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density."""
        return self._at(x, self.parts.pdf, 0.0, 0.0)

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the log density."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return self._at(x, self.parts.cdf, 0.0, 1.0)

    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the log CDF."""
        return log_of(self.cdf(x), self.sf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return self._at(x, self.parts.sf, 1.0, 0.0)

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the log survival."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.sf(x)))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles."""
        p = np.asarray(q, dtype=float)
        x = np.where(p <= 0, 0.0, np.where(p >= 1, np.inf, self._where(self.cdf, p)))
        return np.asarray(np.where(_possible(p), x, np.nan))

    def isf(self, q: ArrayLike) -> Floats:
        """Return the values that so much lies above."""
        p = np.asarray(q, dtype=float)
        x = self._where(lambda v: -self.sf(v), -p)
        x = np.where(p <= 0, np.inf, np.where(p >= 1, 0.0, x))
        return np.asarray(np.where(_possible(p), x, np.nan))

    def _where(self, rising: Callable[[Floats], Floats], level: Floats) -> Floats:
        """Return where a function reaches levels: false position in a cell of a fine table."""
        flat = np.atleast_1d(level).ravel()
        table = np.geomspace(max(self.parts.low, 1e-300), self.parts.high, _PPF_GRID)
        at = rising(table)
        cell = np.clip(np.searchsorted(at, flat), 1, _PPF_GRID - 1)
        left, right = table[cell - 1], table[cell]
        p_left, p_right = at[cell - 1], at[cell]
        for _ in range(_POLISH):
            rise = np.where(p_right > p_left, p_right - p_left, 1.0)
            share = np.clip((flat - p_left) / rise, 0.01, 0.99)
            x = left + share * (right - left)
            here = rising(x)
            below = here < flat
            left, p_left = np.where(below, x, left), np.where(below, here, p_left)
            right, p_right = np.where(below, right, x), np.where(below, p_right, here)
        rise = np.where(p_right > p_left, p_right - p_left, 1.0)
        x = left + np.clip((flat - p_left) / rise, 0, 1) * (right - left)
        return np.asarray(x.reshape(level.shape))

    def moment(self, order: int) -> float:
        """Return the mean of a power."""
        return float(self.weights @ self.parts.moment(order))

    def mean(self) -> float:
        """Return the mean."""
        return self.moment(1)

    def var(self) -> float:
        """Return the variance."""
        return self.moment(2) - self.mean() ** 2

    def entropy(self) -> float:
        """Return the differential entropy, in nats, by the trapezoidal rule in log x."""
        x = np.geomspace(max(self.parts.low, 1e-300), self.parts.high, _ENTROPY_GRID)
        density = self.pdf(x)
        surprise = special.entr(density) * x
        return float(np.trapezoid(surprise, np.log(x)))

    def support(self) -> tuple[float, float]:
        """Return the least and the largest value that there can be."""
        return 0.0, np.inf


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
        v = np.asarray(x, dtype=float)
        return np.asarray(np.where(v > self.knots[-1], 1 - self._over(v), self._inside(v)))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        v = np.asarray(x, dtype=float)
        return np.asarray(np.where(v > self.knots[-1], self._over(v), 1 - self._inside(v)))

    def _inside(self, v: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.interp(np.log(v), np.log(self.knots), self._levels, left=0.0)
        return np.where(v <= 0, 0.0, inside)

    def _over(self, v: Floats) -> Floats:
        return np.asarray(
            (1 - self.body) * scipy.stats.genpareto.sf(v - self.knots[-1], *self._tail)
        )

    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the log CDF."""
        return log_of(self.cdf(x), self.sf(x))

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
        tail = (1 - self.body) * scipy.stats.genpareto.pdf(v - self.knots[-1], *self._tail)
        return np.asarray(np.where(v > self.knots[-1], tail, body))

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the log density."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pdf(x)))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles."""
        p = np.asarray(q, dtype=float)
        return self._quantiles(p, 1 - p)

    def isf(self, q: ArrayLike) -> Floats:
        """Return the values that so much lies above."""
        p = np.asarray(q, dtype=float)
        return self._quantiles(1 - p, p)

    def _quantiles(self, below: Floats, above: Floats) -> Floats:
        """Return quantiles by the probability below, in the body, and above, in the tail."""
        inside = np.exp(np.interp(below, self._levels, np.log(self.knots)))
        with np.errstate(invalid="ignore"):
            excess = scipy.stats.genpareto.isf(
                np.clip(above / max(1 - self.body, HAIR), 0, 1), *self._tail
            )
        x = np.where(below > self.body, self.knots[-1] + excess, inside)
        return np.asarray(np.where(_possible(below), x, np.nan))

    def moment(self, order: int) -> float:
        """Return the mean of a power; infinite when the tail is too heavy for it."""
        low, high = self.knots[:-1], self.knots[1:]
        inside = (high**order - low**order) / (order * np.log(high / low)) * np.diff(self._levels)
        if self.body >= 1:
            return float(inside.sum())
        shape, _, scale = self._tail
        if shape * order >= 1:
            return np.inf
        excess = 1.0, *(_excess(k, shape, scale) for k in range(1, order + 1))
        over = sum(
            special.comb(order, k) * self.knots[-1] ** (order - k) * e for k, e in enumerate(excess)
        )
        return float(inside.sum() + (1 - self.body) * over)

    def mean(self) -> float:
        """Return the mean; infinite when the tail's shape is 1 or more."""
        return self.moment(1)

    def var(self) -> float:
        """Return the variance; infinite when the tail's shape is 1/2 or more."""
        second = self.moment(2)
        return second if np.isinf(second) else max(second - self.mean() ** 2, 0.0)

    def entropy(self) -> float:
        """Return the differential entropy, in nats."""
        step, width = np.diff(self._levels), np.diff(np.log(self.knots))
        middle = (np.log(self.knots[1:]) + np.log(self.knots[:-1])) / 2
        rest = 1 - self.body
        tail = special.entr(rest) + rest * (np.log(self.tail_scale) + self.tail_shape + 1)
        return float((step * (np.log(width / step) + middle)).sum() + (tail if rest > 0 else 0.0))

    def support(self) -> tuple[float, float]:
        """Return the least and the largest value that there can be."""
        if self.body >= 1:
            return float(self.knots[0]), float(self.knots[-1])
        reach = -self.tail_scale / self.tail_shape if self.tail_shape < 0 else np.inf
        return float(self.knots[0]), float(self.knots[-1] + reach)


def _excess(order: int, shape: float, scale: float) -> float:
    """Raw moment of a generalised Pareto law, finite where shape times order is below 1."""
    return float(
        special.gamma(order + 1) * scale**order / np.prod(1 - shape * np.arange(1, order + 1))
    )


def log_of(low: Floats, high: Floats) -> Floats:
    """Return the logarithm of a probability, by itself or its complement: whichever is less."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(low < 0.5, np.log(low), np.log1p(-high)))


def _possible(p: Floats) -> NDArray[np.bool_]:
    return np.asarray((p >= 0) & (p <= 1))
