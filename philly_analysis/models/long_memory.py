"""Variances of fractional Gaussian noise (Mandelbrot and Van Ness 1968), for means over periods.

The mean over periods of any length is the noise of the same Hurst exponent, which is what makes
weeks, months and the periods between them comparable.
"""

import numpy as np

from philly_analysis.distributions import Floats

MAX_HURST = 0.9999  # at 1 all periods have the same level


def increment_covariance(a: Floats, b: Floats, c: Floats, d: Floats, hurst: float) -> Floats:
    """Return the covariance of fractional Brownian motion from a to b with that from c to d."""
    ends = ((d - a, 1), (c - b, 1), (d - b, -1), (c - a, -1))
    return np.asarray(sum(sign * np.abs(x) ** (2 * hurst) for x, sign in ends) / 2)


def correlation(at: Floats, hurst: float) -> Floats:
    """Return the correlation matrix of the means of unit intervals that start at `at`."""
    start = np.asarray(at, float)
    return increment_covariance(start[:, None], start[:, None] + 1, start, start + 1, hurst)


def change_variance(past: float, future: float, hurst: float) -> float:
    """Return the variance of the change from the mean of the past to the mean of the next period.

    Both lengths are in units of a period in which the noise has a variance of 1.
    """
    between = float(increment_covariance(-past, 0.0, 0.0, future, hurst)) / (past * future)  # type: ignore[arg-type]
    return past ** (2 * hurst - 2) + future ** (2 * hurst - 2) - 2 * between


def shared_change(past: float, hurst: float) -> float:
    """Return the correlation of the changes to the next period and to the period after it."""

    def covariance(*ends: float) -> float:
        return float(increment_covariance(*ends, hurst))  # type: ignore[arg-type]

    level = past ** (2 * hurst - 2)
    to_past = covariance(-past, 0, 0, 1) / past, covariance(-past, 0, 1, 2) / past
    shared = level - sum(to_past) + covariance(0, 1, 1, 2)
    return shared / float(np.sqrt((level + 1 - 2 * to_past[0]) * (level + 1 - 2 * to_past[1])))
