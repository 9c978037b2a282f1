"""Variances of fractional Gaussian noise (Mandelbrot and Van Ness 1968), for means over periods.

The mean over periods of any length is the noise of the same Hurst exponent, which is what makes
weeks, months and the periods between them comparable.
"""

import numpy as np

from philly_analysis.distributions import Floats

_Time = float | Floats

MAX_HURST = 0.9999  # at 1 all periods have the same level


def increment_covariance(a: _Time, b: _Time, c: _Time, d: _Time, hurst: float) -> Floats:
    """Return the covariance of fractional Brownian motion from a to b with that from c to d."""
    outer = np.abs(np.subtract(d, a)) ** (2 * hurst) + np.abs(np.subtract(c, b)) ** (2 * hurst)
    inner = np.abs(np.subtract(d, b)) ** (2 * hurst) + np.abs(np.subtract(c, a)) ** (2 * hurst)
    return np.asarray((outer - inner) / 2)


def correlation(at: Floats, hurst: float) -> Floats:
    """Return the correlation matrix of the means of unit intervals that start at `at`."""
    start = np.asarray(at, float)
    return increment_covariance(start[:, None], start[:, None] + 1, start, start + 1, hurst)


def change_variance(past: float, future: float, hurst: float) -> float:
    """Return the variance of the change from the mean of the past to the mean of the next period.

    Both lengths are in units of a period in which the noise has a variance of 1.
    """
    between = float(increment_covariance(-past, 0, 0, future, hurst)) / (past * future)
    return float(past ** (2 * hurst - 2) + future ** (2 * hurst - 2) - 2 * between)


def shared_change(past: float, hurst: float) -> float:
    """Return the correlation of the changes to the next period and to the period after it."""
    level = past ** (2 * hurst - 2)
    to_next = float(increment_covariance(-past, 0, 0, 1, hurst)) / past
    to_later = float(increment_covariance(-past, 0, 1, 2, hurst)) / past
    shared = level - to_next - to_later + float(increment_covariance(0, 1, 1, 2, hurst))
    return float(shared / np.sqrt((level + 1 - 2 * to_next) * (level + 1 - 2 * to_later)))
