"""Shrink a distribution of few values towards the distribution of many."""

from collections.abc import Callable

import numpy as np
import scipy.special as special

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.distribution import Distribution
from philly_analysis.distributions.quantile_grid import BODY, LEAST_LEVEL, approximate

# probabilities of evaluation: every 1/400, and ever finer towards 1
_LEVELS = np.concatenate((np.linspace(LEAST_LEVEL, BODY, 400), 1 - 0.01 * 0.7 ** np.arange(1, 30)))


def shrink(conditional: Distribution, pooled: Distribution, weight: float) -> Distribution:
    """Return the mixture of a conditional distribution, with this weight, and a pooled one.

    The result has the counts of the conditional distribution.
    """
    x = np.unique(np.concatenate((conditional.ppf(_LEVELS), pooled.ppf(_LEVELS))))
    x = np.maximum(x, 1e-9)
    p = np.maximum.accumulate(weight * conditional.cdf(x) + (1 - weight) * pooled.cdf(x))
    return _empirical(lambda q: np.exp(np.interp(q, p, np.log(x))), conditional)


def shift_scores(distribution: Distribution, shift: float, scale: float) -> Distribution:
    """Return the distribution whose normal scores are shifted and scaled.

    Parameters
    ----------
    shift
        Added to the normal scores, in standard deviations.
    scale
        Factor on their standard deviation.
    """

    def ppf(q: Floats) -> Floats:
        return distribution.ppf(special.ndtr(shift + scale * special.ndtri(q)))

    return _empirical(ppf, distribution)


def _empirical(ppf: Callable[[Floats], Floats], like: Distribution) -> Distribution:
    log_knots, body, shape, scale = approximate(ppf)
    return Distribution.of_quantiles(np.exp(log_knots), body, shape, scale, like)
