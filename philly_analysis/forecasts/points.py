"""Represent forecasts as equally probable waits, and place outcomes among the waits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions import Floats

POINTS = 200
"""Waits of a forecast: each stands for half a percent (chosen: 5 % are ten waits)."""
_MIDDLES = (np.arange(POINTS) + 0.5) / POINTS
EDGES = np.arange(POINTS + 1) / POINTS
UNIFORM = np.full(POINTS, 1 / POINTS)
"""Probabilities of the points of a forecast that is not recalibrated."""
LEVELS = np.arange(0.05, 0.951, 0.05)
"""Levels of the quantiles whose pinball losses are averaged."""


def equal_points(waits: Floats, weights: Floats) -> Floats:
    """Return equally probable waits in ascending order from weighted waits."""
    order = np.argsort(waits, kind="stable")
    sums = np.cumsum(weights[order])
    places = np.searchsorted(sums, _MIDDLES * sums[-1])
    return np.asarray(waits[order][np.minimum(places, len(waits) - 1)])


def sorted_points(waits: Sequence[float]) -> Floats:
    """Return equally probable waits from a sample in ascending order."""
    return np.array([waits[place] for place in (_MIDDLES * len(waits)).astype(int)])


def ranks(points: Floats, wait: float) -> tuple[float, float]:
    """Return the probabilities below a wait and up to the wait (probability integral transform).

    A wait between two points, or equal to one point, gets the cell of one point.
    """
    low = float(np.searchsorted(points, wait, "left")) / POINTS
    high = float(np.searchsorted(points, wait, "right")) / POINTS
    if high - low < 1 / POINTS:
        low, high = max(low - 0.5 / POINTS, 0.0), min(high + 0.5 / POINTS, 1.0)
    return low, high


def quantiles(points: Floats, masses: Floats, levels: ArrayLike) -> Floats:
    """Return quantiles of a forecast whose points have these probabilities."""
    sums = np.cumsum(masses)
    places = np.searchsorted(sums, np.asarray(levels, float) * sums[-1] * (1 - 1e-12))
    return np.asarray(points[np.minimum(places, POINTS - 1)])


def uniform_quantiles(points: Floats, levels: ArrayLike) -> Floats:
    """Return quantiles of a forecast whose points are equally probable."""
    return quantiles(points, UNIFORM, levels)


def pinball(forecasts: Floats, wait: float) -> Floats:
    """Return the mean pinball loss of the quantiles at :data:`LEVELS`, along the last axis."""
    error = wait - forecasts
    return np.asarray(np.maximum(LEVELS * error, (LEVELS - 1) * error).mean(axis=-1))
