"""Empirical distribution from evenly spaced quantiles, with a generalised Pareto tail."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
import scipy.special as special
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.frozen import PositiveDistribution

TIE_GAP = 1e-9  # relative gap between knots that are equal in the data
KNOTS = 201
BODY = 0.99
LEAST_LEVEL = 5e-4
MAX_TAIL_SHAPE = 0.7  # at 1 the mean of a tail that is not truncated is infinite
_SHAPES = np.linspace(-0.5, 0.9, 281)
# Gauss-Legendre nodes in the decades of the probability of exceedance
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_DECADES = 10.0 ** -np.arange(13)[:, None]
_TAIL_P = (_DECADES[1:] + -np.diff(_DECADES, axis=0) * (_NODES + 1) / 2).ravel()
_TAIL_WEIGHTS = (-np.diff(_DECADES, axis=0) * _NODE_WEIGHTS / 2).ravel()


@dataclass(frozen=True, slots=True)
class QuantileGrid(PositiveDistribution):
    """An empirical distribution: log-linear between knots, generalised Pareto above them.

    Attributes
    ----------
    knots
        Quantiles at probabilities 0, 1/m, .. up to `body`, ascending, positive and distinct
        (:func:`separate_ties`).
    body
        Probability that the knots cover; the tail has the remaining probability.
    tail_shape, tail_scale
        Generalised Pareto distribution of the excess over the largest knot (Pickands 1975): shape 0
        is exponential, above 0 Pareto, below 0 bounded.
    upper
        Largest possible value: the tail is truncated there, and keeps its probability.
    """

    knots: Floats
    body: float
    tail_shape: float
    tail_scale: float
    upper: float = np.inf

    @property
    def _levels(self) -> Floats:
        return np.linspace(0, self.body, self.knots.size)

    @property
    def _tail(self) -> tuple[float, float, float]:
        return self.tail_shape, 0.0, self.tail_scale

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        v = np.asarray(x, dtype=float)
        return np.asarray(np.where(v > self.knots[-1], 1 - self._tail_sf(v), self._body_cdf(v)))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        v = np.asarray(x, dtype=float)
        return np.asarray(np.where(v > self.knots[-1], self._tail_sf(v), 1 - self._body_cdf(v)))

    def _body_cdf(self, v: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.interp(np.log(v), np.log(self.knots), self._levels, left=0.0)
        return np.where(v <= 0, 0.0, inside)

    @property
    def _cut(self) -> float:
        """Probability of the tail's distribution beyond the truncation."""
        beyond = self.upper - self.knots[-1]
        if self.tail_shape < 0 and -self.tail_scale / self.tail_shape <= beyond * (1 + TIE_GAP):
            return 0.0  # a tail that ends there, but for rounding
        return float(scipy.stats.genpareto.sf(beyond, *self._tail))

    def _tail_sf(self, v: Floats) -> Floats:
        beyond = scipy.stats.genpareto.sf(v - self.knots[-1], *self._tail)
        inside = np.clip((beyond - self._cut) / (1 - self._cut), 0, 1)
        return np.asarray(np.where(v >= self.upper, 0.0, (1 - self.body) * inside))

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return values that repeat in the data, with their probabilities."""
        tied = np.diff(np.log(self.knots)) < 2 * TIE_GAP
        first = np.flatnonzero(np.diff(tied, prepend=False, append=False))
        step = self.body / (self.knots.size - 1)
        pairs = zip(first[::2], first[1::2], strict=True)
        return tuple((float(self.knots[end]), float(step * (end - at))) for at, end in pairs)

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density: constant in log x between knots, without the atoms."""
        v = np.asarray(x, dtype=float)
        width = np.diff(np.log(self.knots))
        slopes = np.where(width < 2 * TIE_GAP, 0.0, np.diff(self._levels) / width)
        cell = np.clip(np.searchsorted(self.knots, v, side="right") - 1, 0, slopes.size - 1)
        inside = (v >= self.knots[0]) & (v <= self.knots[-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            body = np.where(inside, slopes[cell] / v, 0.0)
        tail = (1 - self.body) * scipy.stats.genpareto.pdf(v - self.knots[-1], *self._tail)
        tail = np.where(v <= self.upper, tail / (1 - self._cut), 0.0)
        return np.asarray(np.where(v > self.knots[-1], tail, body))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities `q`."""
        p = np.asarray(q, dtype=float)
        return self._quantiles(p, 1 - p)

    def isf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities 1 - `q`."""
        p = np.asarray(q, dtype=float)
        return self._quantiles(1 - p, p)

    def _quantiles(self, below: Floats, above: Floats) -> Floats:
        """Return quantiles, by `below` in the body and by `above` in the tail."""
        inside = np.exp(np.interp(below, self._levels, np.log(self.knots)))
        with np.errstate(invalid="ignore"):
            p = np.clip(above / max(1 - self.body, TIE_GAP), 0, 1)
            excess = scipy.stats.genpareto.isf(p + (1 - p) * self._cut, *self._tail)
        tail = np.minimum(self.knots[-1] + excess, self.upper)
        return np.asarray(np.where(below > self.body, tail, inside))

    def moment(self, order: int) -> float:
        """Return a raw moment; infinite if shape times order is 1 or more."""
        low, high = self.knots[:-1], self.knots[1:]
        inside = (high**order - low**order) / (order * np.log(high / low)) * np.diff(self._levels)
        if self.body >= 1:
            return float(inside.sum())
        if np.isfinite(self.upper):
            return float(inside.sum() + (1 - self.body) * self.tail_moment(order))
        if self.tail_shape * order >= 1:
            return np.inf
        over = sum(
            special.comb(order, k) * self.knots[-1] ** (order - k) * self._excess_moment(k)
            for k in range(order + 1)
        )
        return float(inside.sum() + (1 - self.body) * over)

    def tail_moment(self, order: int) -> float:
        """Return a raw moment of the values in a truncated tail, by quadrature."""
        beyond = _TAIL_P + (1 - _TAIL_P) * self._cut
        excess = scipy.stats.genpareto.isf(beyond, *self._tail)
        return float(_TAIL_WEIGHTS @ (self.knots[-1] + excess) ** order)

    def _excess_moment(self, order: int) -> float:
        """Return a raw moment of the tail's generalised Pareto distribution."""
        steps = np.prod(1 - self.tail_shape * np.arange(1, order + 1))
        return float(special.gamma(order + 1) * self.tail_scale**order / steps)

    def entropy(self) -> float:
        """Return the differential entropy in nats."""
        if np.isfinite(self.upper):
            return self.expect(lambda x: -self.logpdf(x))
        step, width = np.diff(self._levels), np.diff(np.log(self.knots))
        middle = (np.log(self.knots[1:]) + np.log(self.knots[:-1])) / 2
        tail_share = 1 - self.body
        tail = special.entr(tail_share) + tail_share * (
            np.log(self.tail_scale) + self.tail_shape + 1
        )
        return float(
            (step * (np.log(width / step) + middle)).sum() + (tail if tail_share > 0 else 0.0)
        )

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value."""
        if self.body >= 1:
            return float(self.knots[0]), float(self.knots[-1])
        reach = -self.tail_scale / self.tail_shape if self.tail_shape < 0 else np.inf
        return float(self.knots[0]), float(min(self.knots[-1] + reach, self.upper))


def separate_ties(knots: Floats) -> Floats:
    """Return ascending knots with ties lowered by `TIE_GAP`, so that the CDF is continuous."""
    last = np.searchsorted(knots, knots, side="right") - 1
    return np.asarray(knots * (1 - TIE_GAP * (last - np.arange(knots.size))))


def approximate(ppf: Callable[[Floats], Floats]) -> tuple[Floats, float, float, float]:
    """Approximate a distribution by a quantile grid.

    The tail is the generalised Pareto distribution through the tail's median and upper tenth.

    Returns
    -------
    tuple
        Natural logarithms of the knots, body, tail shape and tail scale.
    """
    levels = np.linspace(0, BODY, KNOTS)
    levels[0] = LEAST_LEVEL
    knots = ppf(levels)
    half, ninth = ppf(np.array([(1 + BODY) / 2, 1 - (1 - BODY) / 10])) - knots[-1]
    power = np.where(np.abs(_SHAPES) < 1e-9, 1e-9, _SHAPES)
    ratio = (2**power - 1) / (10**power - 1)
    nearest = int(np.argmin(np.abs(ratio - half / max(float(ninth), 1e-300))))
    shape = float(power[nearest])
    scale = float(half * power[nearest] / (2 ** power[nearest] - 1))
    return np.log(np.maximum(knots, 1e-9)), BODY, shape, max(scale, knots[-1] * 1e-9)
