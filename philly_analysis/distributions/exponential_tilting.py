"""Reweight a distribution by the value (exponential tilting)."""

from collections.abc import Callable

import numpy as np

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.distribution import EMPIRICAL, Distribution
from philly_analysis.distributions.quantile_grid import KNOTS, approximate

_TAIL_LEVELS = (np.arange(32) + 0.5) / 32
"""Probabilities of exceeding a value, within the tail."""


def tilt(
    distribution: Distribution, log_weight: Callable[[Floats], Floats]
) -> tuple[Distribution, float]:
    """Reweight a distribution of positive values.

    Parameters
    ----------
    distribution
        Any distribution.
    log_weight
        Natural logarithms of values, shape (n,), to natural logarithms of their weights. The
        weight is constant within each percentile and in the tail. The tail has the mean of the
        weights of its values, each weighted by the value: the sum of long run times is load.

    Returns
    -------
    tuple
        The empirical distribution with the tilted weights, and the mean weight.
    """
    if distribution.family == EMPIRICAL:
        body, shape, scale = (p.value for p in distribution.parameters)
        log_knots = np.log(np.asarray(distribution.knots))
    else:
        log_knots, body, shape, scale = approximate(distribution.ppf)
    middle = (log_knots[1:] + log_knots[:-1]) / 2
    beyond = distribution.isf((1 - body) * _TAIL_LEVELS)
    of_tail = float(beyond @ np.exp(log_weight(np.log(beyond))) / beyond.sum())
    cells = log_knots.size - 1
    mass = np.append(body / cells * np.exp(log_weight(middle)), (1 - body) * of_tail)
    total = float(mass.sum())
    reached = np.concatenate(([0.0], np.cumsum(mass[:-1]))) / total
    knots = np.exp(np.interp(np.linspace(0, reached[-1], KNOTS), reached, log_knots))
    tilted = Distribution.of_quantiles(knots, float(reached[-1]), shape, scale, distribution)
    return tilted, total
