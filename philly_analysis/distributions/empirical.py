"""Fit the empirical distribution: quantiles with a generalised Pareto tail."""

import numpy as np
import scipy
from scipy.special import log1p, xlog1py

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.distribution import (
    EMPIRICAL,
    EMPIRICAL_PARAMETERS,
    Distribution,
    Parameter,
    observed_quantiles,
    round_significant,
)
from philly_analysis.distributions.goodness import ks_distance
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.distributions.quantile_grid import (
    BODY,
    KNOTS,
    MAX_TAIL_SHAPE,
    QuantileGrid,
    separate_ties,
)

TAIL_POINTS = 100
_LEAST_KNOTS = 20
MAX_MEAN_GAP, MAX_P99_GAP = 0.01, 0.08
"""Largest relative gaps of mean and 99 % quantile of a truncated tail; a convention."""
MAX_SCALE_CHANGE = 0.5
"""Largest relative change of a tail's scale for the sake of the mean; a convention."""
_SHAPES = (0.0, 0.4, 0.8, 1.5, 3.0, -0.4, -1.5, -4.0, -20.0, -100.0)
_TINY = np.finfo(float).tiny
_LEAST_LIKELY = float(np.log(np.finfo(float).max))


def longest(x: Lifetimes) -> float:
    """Return the upper bound of a tempered tail, from the longest value.

    The longest of n values is the maximum-likelihood estimate of a point of truncation (Aban et al.
    2006); the factor 1 + 1/n makes the estimate unbiased for values that are uniform below the
    point.
    """
    return float(x.values.max() * (1 + 1 / x.n))


def fit_empirical(x: Lifetimes, *, tempered: bool = False) -> Distribution:
    """Return quantiles with a generalised Pareto tail over the top percent of the sample.

    A small sample gets fewer knots, so that the distribution smooths the data. The shape of the
    tail is fitted to the `TAIL_POINTS` largest values, at most a tenth of the sample. The shape
    does not depend on the threshold (Pickands 1975). The scale keeps the mean of the data, which
    determines the load of a sample, unless that changes the scale by more than `MAX_SCALE_CHANGE`
    or the largest value would then be outside of the support.
    With censored values, the scale is the total time above the knots divided by the number of ends.

    Parameters
    ----------
    tempered
        Truncate the tail at :func:`longest`. Without censored values the tail then keeps the
        mean and the 99 % quantile of the sample (see :func:`_truncated`).
    """
    at, _, reached = x.ecdf()
    reach = float(reached[-1])

    def level(tail: float) -> float:
        """Return the probability below a tail of this share, with repeated values whole."""
        top = x.quantiles([reach * (1 - tail)])[0][0]
        return float(reached[np.searchsorted(at, top)])

    body = level(min(max(1 - BODY, 5 / x.n), 0.2))
    levels = np.linspace(0, body, int(np.clip(x.n // 3, 5, KNOTS)))
    grid = np.asarray(round_significant(x.quantiles(levels)[0]))
    threshold = x.quantiles([level(max(1 - BODY, min(TAIL_POINTS / x.n, 0.1)))])[0][0]
    shape, over, ends = _tail_shape(x, float(threshold))
    above = x.values > grid[-1]
    excess, late = x.values[above] - grid[-1], x.censored[above]
    if not excess.size or late.all():
        scale = grid[-1] * 1e-6
    else:  # as for an exponential distribution: total time over ends
        scale = float(excess.sum() / (~late).sum()) * (1 - shape)
        if not tempered and not x.running.size:
            kept = (_tail_mean(x, separate_ties(grid), body) - grid[-1]) * (1 - shape)
            scale = kept if abs(kept / scale - 1) <= MAX_SCALE_CHANGE else scale
    if shape < 0 and excess.size:  # the support must include the largest value
        scale = max(scale, -shape * float(excess.max()) * 1.001)
    scale = max(float(scale), grid[-1] * 1e-9)
    upper, likeliest = longest(x) if tempered else None, shape
    if upper is not None and not x.running.size and excess.size:
        body, shape, scale, grid = _truncated(x, body, shape, scale, upper)
    half = 1.96 / np.sqrt(max(ends, 1))
    factor = float(np.exp(half * np.sqrt(2 * (1 + likeliest))))
    over *= shape == likeliest  # another shape has no interval
    values = (body, shape, scale)
    intervals: tuple[tuple[float, ...], ...] = (
        (),
        (shape - (1 + shape) * half, shape + (1 + shape) * half),
        (scale / factor, scale * factor),
    )
    return Distribution(
        EMPIRICAL,
        tuple(
            Parameter(name, float(value), *(map(float, interval) if over else ()))
            for name, value, interval in zip(EMPIRICAL_PARAMETERS, values, intervals, strict=True)
        ),
        n=x.n,
        censored=x.running.size,
        effective_n=x.effective_n,
        correlation=x.correlation,
        ks=ks_distance(QuantileGrid(separate_ties(grid), *values, upper or np.inf), x),
        knots=tuple(float(g) for g in grid),
        observed=observed_quantiles(x),
        upper=upper,
    )


def _truncated(
    x: Lifetimes, body: float, shape: float, scale: float, upper: float
) -> tuple[float, float, float, Floats]:
    """Return body, shape, scale and knots of a truncated tail that keeps mean and 99 % quantile.

    Several shares of the tail and shapes are tried. The first pair near the values is taken: the
    mean differs by at most `MAX_MEAN_GAP`, the 99 % quantile by at most `MAX_P99_GAP`. If no pair
    qualifies, the nearest pair is taken. The likeliest shape is tried first.
    """
    mean, p99 = float(x.values.mean()), float(np.quantile(x.values, 0.99))
    best: tuple[float, tuple[float, float, float, Floats]] | None = None
    for level in dict.fromkeys(
        (body, BODY, 0.985, 0.98, 0.97, 1 - 2 / x.n, 1 - 3 / x.n, 1 - 1 / x.n)
    ):
        levels = np.linspace(0, level, int(np.clip(x.n, _LEAST_KNOTS, KNOTS)))
        grid = np.asarray(round_significant(np.quantile(x.values, levels)))
        knots = separate_ties(grid)
        if knots[-1] >= upper or not 0.5 <= level < 1:
            continue
        wanted = _tail_mean(x, knots, level)
        for of_shape in (shape, *_SHAPES):
            of_scale = _truncated_scale(knots, level, of_shape, upper, wanted, scale)
            tail = QuantileGrid(knots, level, of_shape, of_scale, upper)
            mean_gap = abs(tail.moment(1) / mean - 1)
            p99_gap = abs(float(tail.ppf(0.99)) / p99 - 1)
            far = max(2 * mean_gap, p99_gap)
            if best is None or far < best[0]:
                best = far, (level, of_shape, of_scale, grid)
            if mean_gap <= MAX_MEAN_GAP and p99_gap <= MAX_P99_GAP:
                return level, of_shape, of_scale, grid
    assert best is not None  # noqa: S101 - the body of the smooth distribution is tried first
    return best[1]


def _tail_mean(x: Lifetimes, knots: Floats, body: float) -> float:
    """Return the mean of the tail with which the distribution has the mean of the values."""
    low, high = knots[:-1], knots[1:]
    inside = float(((high - low) / np.log(high / low)).mean()) * body
    return (float(x.values.mean()) - inside) / (1 - body)


def _truncated_scale(
    knots: Floats, body: float, shape: float, upper: float, tail_mean: float, start: float
) -> float:
    """Return the scale with which a truncated tail has a mean, as near as any scale gives."""

    def miss(log_scale: float) -> float:
        tail = QuantileGrid(knots, body, shape, float(np.exp(log_scale)), upper)
        return tail.tail_moment(1) - tail_mean

    ends = np.log(start) + np.array([-12.0, 12.0])
    if shape < 0:  # the tail without truncation ends at upper, or beyond
        ends[0] = max(ends[0], np.log(-shape * (upper - knots[-1])))
    misses = [miss(end) for end in ends]
    if misses[0] * misses[1] > 0:
        return float(np.exp(ends[int(np.argmin(np.abs(misses)))]))
    return float(np.exp(scipy.optimize.brentq(miss, float(ends[0]), float(ends[1]), xtol=1e-6)))


def _tail_shape(x: Lifetimes, threshold: float) -> tuple[float, int, int]:
    """Return the generalised Pareto shape above a threshold, and the values and ends there.

    The shape's asymptotic variance is (1 + shape)^2 / n (Smith 1987).
    """
    over = x.values > threshold
    excess, late = x.values[over] - threshold, x.censored[over]
    ends = int((~late).sum())
    if ends < 10:
        return 0.0, int(over.sum()), ends
    shape, _scale = scipy.optimize.fmin(
        _loss, (0.1, excess.mean()), args=(excess[~late], excess[late]), disp=False
    )
    return float(np.clip(shape, -0.5, MAX_TAIL_SHAPE)), int(over.sum()), ends


def _loss(parameters: Floats, ended: Floats, running: Floats) -> float:
    """Return the negative log-likelihood of a generalised Pareto distribution.

    A value outside the support costs as much as a hundred of the least likely values.
    ``scipy.stats.genpareto.fit`` minimises the same, ten times as slowly for few values.
    """
    shape, scale = parameters
    if scale <= 0:
        return np.inf
    x, late = ended / scale, running / scale
    end = -1 / shape if shape < 0 else np.inf
    inside, late_inside = x[x < end], late[late < end]
    outside = x.size - inside.size + late.size - late_inside.size
    shape = shape or _TINY  # the exponential distribution is the limit
    loss = (xlog1py(shape + 1, shape * inside) / shape).sum()
    loss += (log1p(shape * late_inside) / shape).sum()
    return float(loss + 100 * outside * _LEAST_LIKELY + x.size * np.log(scale))
