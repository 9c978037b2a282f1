"""The law of a sample as it is: its quantiles, with a parametric tail."""

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import log1p, xlog1py

from philly_analysis.distributions.continuous import QuantileGrid, separated
from philly_analysis.distributions.distribution import (
    EMPIRICAL,
    EMPIRICAL_PARAMETERS,
    Distribution,
    Parameter,
    observed,
    rounded,
)
from philly_analysis.distributions.goodness import ks
from philly_analysis.distributions.lifetimes import Lifetimes

KNOTS = 201
BODY = 0.99
TAIL_POINTS = 100
MAX_TAIL_SHAPE = 0.7  # at 1 a law has no mean, and near it hardly one

Floats = NDArray[np.float64]
_TINY = np.finfo(float).tiny
_LEAST_LIKELY = float(np.log(np.finfo(float).max))


def fit_empirical(x: Lifetimes, knots: int = KNOTS) -> Distribution:
    """Return quantiles with a generalised Pareto tail over the top percent of the sample.

    A small sample gets fewer knots, so that the law smooths the data instead of repeating it. The
    shape of the tail is that of the `TAIL_POINTS` largest values (of a tenth of the sample, if
    that is less): above a threshold it does not depend on the threshold (Pickands 1975). Its
    scale keeps the mean of the data, on which the load of a sample rests.
    """
    at, _, reached = x.ecdf()
    reach = float(reached[-1])

    def level(tail: float) -> float:
        """Probability below a tail of that share; a value that repeats is below it as a whole."""
        top = x.quantiles([reach * (1 - tail)])[0][0]
        return float(reached[np.searchsorted(at, top)])

    body = level(min(max(1 - BODY, 5 / x.n), 0.2))
    levels = np.linspace(0, body, int(np.clip(x.n // 3, 5, knots)))
    grid = np.asarray(rounded(x.quantiles(levels)[0]))
    low = x.quantiles([level(max(1 - BODY, min(TAIL_POINTS / x.n, 0.1)))])[0][0]
    shape, over, ends = _tail_shape(x, float(low))
    above = x.values > grid[-1]
    excess, late = x.values[above] - grid[-1], x.censored[above]
    if not excess.size or late.all():
        scale = grid[-1] * 1e-6
    elif late.any():  # of an exponential law, by total time over ends
        scale = float(excess.sum() / (~late).sum()) * (1 - shape)
    else:
        scale = float(excess.mean()) * (1 - shape)
    if shape < 0 and excess.size:  # the support must reach past the largest value seen
        scale = max(scale, -shape * float(excess.max()) * 1.001)
    scale = max(float(scale), grid[-1] * 1e-9)
    half = 1.96 / np.sqrt(max(ends, 1))
    spread = float(np.exp(half * np.sqrt(2 * (1 + shape))))
    values = (body, shape, scale)
    low_high = (
        (None, None),
        (shape - (1 + shape) * half, shape + (1 + shape) * half),
        (scale / spread, scale * spread),
    )
    law = QuantileGrid(separated(grid), *values)
    return Distribution(
        EMPIRICAL,
        tuple(
            Parameter(
                name, float(value), *(None if e is None or not over else float(e) for e in ends_)
            )
            for name, value, ends_ in zip(EMPIRICAL_PARAMETERS, values, low_high, strict=True)
        ),
        n=x.n,
        censored=x.running.size,
        worth=x.worth,
        alike=x.alike,
        ks=ks(law, x),
        knots=tuple(float(g) for g in grid),
        observed=observed(x),
    )


def _tail_shape(x: Lifetimes, threshold: float) -> tuple[float, int, int]:
    """Return the generalised Pareto shape above a threshold, the values there, and the ended ones.

    The shape's asymptotic variance is (1 + shape)^2 / n (Smith 1987).
    """
    over = x.values > threshold
    excess, late = x.values[over] - threshold, x.censored[over]
    ends = int((~late).sum())
    if ends < 10:
        return 0.0, int(over.sum()), ends
    shape, _scale = scipy.optimize.fmin(
        _surprise, (0.1, excess.mean()), args=(excess[~late], excess[late]), disp=False
    )
    return float(np.clip(shape, -0.5, MAX_TAIL_SHAPE)), int(over.sum()), ends


def _surprise(law: Floats, ended: Floats, running: Floats) -> float:
    """Return the negative log-likelihood of a generalised Pareto law's shape and scale.

    A value past the law's end costs as much as a hundred of the least likely. It is what
    ``scipy.stats.genpareto.fit`` minimises, in a tenth of the time: of as few values as these,
    SciPy's care for all shapes of input takes the most.
    """
    shape, scale = law
    if scale <= 0:
        return np.inf
    x, late = ended / scale, running / scale
    end = -1 / shape if shape < 0 else np.inf
    seen, left = x[x < end], late[late < end]
    past = x.size - seen.size + late.size - left.size
    shape = shape or _TINY  # the exponential law is the limit
    surprise = (xlog1py(shape + 1, shape * seen) / shape).sum() + (
        log1p(shape * left) / shape
    ).sum()
    return float(surprise + 100 * past * _LEAST_LIKELY + x.size * np.log(scale))
