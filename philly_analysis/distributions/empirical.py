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
from philly_analysis.distributions.quantile_grid import BODY, KNOTS, QuantileGrid, separate_ties

TAIL_POINTS = 100
MAX_TAIL_SHAPE = 0.7  # at 1 the mean is infinite
_TINY = np.finfo(float).tiny
_LEAST_LIKELY = float(np.log(np.finfo(float).max))


def fit_empirical(x: Lifetimes) -> Distribution:
    """Return quantiles with a generalised Pareto tail over the top percent of the sample.

    A small sample gets fewer knots, so that the distribution smooths the data. The shape of the
    tail is fitted to the `TAIL_POINTS` largest values (at most a tenth of the sample), because the
    shape does not depend on the threshold (Pickands 1975). The scale keeps the mean of the data,
    which determines the load of a sample.
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
    if shape < 0 and excess.size:  # the support must include the largest value
        scale = max(scale, -shape * float(excess.max()) * 1.001)
    scale = max(float(scale), grid[-1] * 1e-9)
    half = 1.96 / np.sqrt(max(ends, 1))
    factor = float(np.exp(half * np.sqrt(2 * (1 + shape))))
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
        ks=ks_distance(QuantileGrid(separate_ties(grid), *values), x),
        knots=tuple(float(g) for g in grid),
        observed=observed_quantiles(x),
    )


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

    A value outside of the support costs as much as a hundred of the least likely ones.
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
