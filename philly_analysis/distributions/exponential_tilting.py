"""A law of other times: some values have become more frequent, others rarer."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from philly_analysis.distributions.distribution import EMPIRICAL, Distribution
from philly_analysis.distributions.shrinkage import KNOTS, gridded

Floats = NDArray[np.float64]


def tilted(law: Distribution, log_weight: Callable[[Floats], Floats]) -> tuple[Distribution, float]:
    """Reweight a law of positive values.

    Parameters
    ----------
    law
        Any law.
    log_weight
        Natural logarithm of how many times as frequent values have become, given their natural
        logarithm, shape (n,); taken as one number within each percentile, and in the tail.

    Returns
    -------
    tuple
        The empirical law with those weights, and the mean weight: what became of the mass.
    """
    log_knots, body, shape, scale = _grid(law)
    # the tail's weight is that at its median
    middle = np.append((log_knots[1:] + log_knots[:-1]) / 2, 0.0)
    half = scale * (np.log(2) if abs(shape) < 1e-9 else (2**shape - 1) / shape)
    middle[-1] = np.log(np.exp(log_knots[-1]) + half)
    cells = log_knots.size - 1
    mass = np.append(np.full(cells, body / cells), 1 - body) * np.exp(log_weight(middle))
    total = float(mass.sum())
    reached = np.concatenate(([0.0], np.cumsum(mass[:-1]))) / total
    knots = np.exp(np.interp(np.linspace(0, reached[-1], KNOTS), reached, log_knots))
    return Distribution.of_quantiles(knots, float(reached[-1]), shape, scale, law), total


def _grid(law: Distribution) -> tuple[Floats, float, float, float]:
    """Return evenly spaced log quantiles of the body, its mass, and the tail's shape and scale."""
    if law.family == EMPIRICAL:
        body, shape, scale = (p.value for p in law.parameters)
        return np.log(np.asarray(law.knots)), body, shape, scale
    return gridded(law.ppf)
