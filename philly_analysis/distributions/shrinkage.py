"""A law of few values is drawn towards the law of many."""

from collections.abc import Callable

import numpy as np
import scipy.special as special
from numpy.typing import NDArray

from philly_analysis.distributions.distribution import Distribution

Floats = NDArray[np.float64]

KNOTS = 201
BODY = 0.99
_LEAST = 5e-4
_SHAPES = np.linspace(-0.5, 0.9, 281)
# where a law is looked at: every 1/400, and ever finer towards the end of its tail
_LEVELS = np.concatenate((np.linspace(_LEAST, BODY, 400), 1 - 0.01 * 0.7 ** np.arange(1, 30)))


def gridded(ppf: Callable[[Floats], Floats]) -> tuple[Floats, float, float, float]:
    """Return evenly spaced log quantiles of a law's body, its mass, and its tail's shape and scale.

    The tail is the generalised Pareto law through its median and upper tenth.
    """
    levels = np.linspace(0, BODY, KNOTS)
    levels[0] = _LEAST
    knots = ppf(levels)
    half, ninth = ppf(np.array([(1 + BODY) / 2, 1 - (1 - BODY) / 10])) - knots[-1]
    power = np.where(np.abs(_SHAPES) < 1e-9, 1e-9, _SHAPES)
    ratio = (2**power - 1) / (10**power - 1)
    at = int(np.argmin(np.abs(ratio - half / max(float(ninth), 1e-300))))
    scale = float(half * power[at] / (2 ** power[at] - 1))
    return np.log(np.maximum(knots, 1e-9)), BODY, float(power[at]), max(scale, knots[-1] * 1e-9)


def pooled(own: Distribution, others: Distribution, weight: float) -> Distribution:
    """Return the law that is `weight` times one law and else the other.

    The counts are those of the first.
    """
    x = np.unique(np.concatenate((own.ppf(_LEVELS), others.ppf(_LEVELS))))
    x = np.maximum(x, 1e-9)
    at = np.maximum.accumulate(weight * own.cdf(x) + (1 - weight) * others.cdf(x))
    return _made(lambda q: np.exp(np.interp(q, at, np.log(x))), own)


def shifted(law: Distribution, by: float, narrower: float) -> Distribution:
    """Return the law of values whose normal scores are higher by so much, and spread less.

    Parameters
    ----------
    by
        What is added to the normal scores, in standard deviations.
    narrower
        Factor on their standard deviation.
    """

    def ppf(q: Floats) -> Floats:
        return law.ppf(special.ndtr(by + narrower * special.ndtri(q)))

    return _made(ppf, law)


def _made(ppf: Callable[[Floats], Floats], like: Distribution) -> Distribution:
    log_knots, body, shape, scale = gridded(ppf)
    return Distribution.of_quantiles(np.exp(log_knots), body, shape, scale, like)
