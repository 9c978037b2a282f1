"""Reweight a distribution by the value (exponential tilting)."""

from collections.abc import Callable

import numpy as np

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.distribution import EMPIRICAL, Distribution
from philly_analysis.distributions.quantile_grid import KNOTS, approximate


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
        weight is constant within each percentile and in the tail.

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
    # the tail has the weight at its median
    middle = np.append((log_knots[1:] + log_knots[:-1]) / 2, 0.0)
    half = scale * (np.log(2) if abs(shape) < 1e-9 else (2**shape - 1) / shape)
    middle[-1] = np.log(np.exp(log_knots[-1]) + half)
    cells = log_knots.size - 1
    mass = np.append(np.full(cells, body / cells), 1 - body) * np.exp(log_weight(middle))
    total = float(mass.sum())
    reached = np.concatenate(([0.0], np.cumsum(mass[:-1]))) / total
    knots = np.exp(np.interp(np.linspace(0, reached[-1], KNOTS), reached, log_knots))
    tilted = Distribution.of_quantiles(knots, float(reached[-1]), shape, scale, distribution)
    return tilted, total
