"""Fit mixtures of exponentials and of log-normals to right-censored samples by EM."""

from collections.abc import Callable

import numpy as np
import scipy.special as special

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.lifetimes import Lifetimes

_POINTS = 3_000
_ROUNDS, _TOLERANCE = 400, 1e-7
_ROUNDS_FROM_START, _TOLERANCE_FROM_START = 60, 1e-5
_HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
_MIN_SIGMA = 0.02  # a component narrower than this has collapsed onto one repeated value


def fit_lognormals(x: Lifetimes, components: int, start: Floats | None = None) -> Floats:
    """Fit a mixture of log-normals.

    Censored values enter each step with the moments of a truncated normal distribution (Dempster,
    Laird and Rubin 1977).

    Parameters
    ----------
    start
        Parameters of a similar fit to start from.

    Returns
    -------
    numpy.ndarray
        Shape (3 k,): weight, mu, sigma of each component, by ascending mu.
    """
    thin = x.thinned(_POINTS)
    y, late = np.log(thin.values), thin.censored
    any_late = bool(late.any())
    first = np.tile(y, (components, 1))
    second = first**2

    def step(weight: Floats, mu: Floats, sigma: Floats) -> tuple[float, tuple[Floats, ...]]:
        center, width = mu[:, None], sigma[:, None]
        z = (y - center) / width
        log_p = -0.5 * z**2 - np.log(width) - _HALF_LOG_2PI
        if any_late:
            log_sf = special.log_ndtr(-z[:, late])
            hazard = np.exp(-0.5 * z[:, late] ** 2 - _HALF_LOG_2PI - log_sf)
            first[:, late] = center + width * hazard
            second[:, late] = center**2 + width**2 + width * hazard * (y[late] + center)
            log_p[:, late] = log_sf
        log_p += np.log(weight)[:, None]
        log_likelihood, share, mass = _responsibilities(log_p)
        mu = np.vecdot(share, first) / mass
        variance = np.vecdot(share, second) / mass - mu**2
        sigma = np.sqrt(np.maximum(variance, _MIN_SIGMA**2))
        return log_likelihood, (mass / mass.sum(), mu, sigma)

    mu = np.quantile(y, (np.arange(components) + 0.5) / components)
    sigma = np.full(components, max(float(y.std()) / components, _MIN_SIGMA))
    return _iterate(step, start, mu, sigma)


def fit_exponentials(x: Lifetimes, components: int, start: Floats | None = None) -> Floats:
    """Fit a hyper-exponential distribution.

    Components are memoryless: a censored value is expected to last for another mean of its
    component.

    Returns
    -------
    numpy.ndarray
        Shape (2 k,): weight and scale of each component, by ascending scale.
    """
    thin = x.thinned(_POINTS)
    t, late = thin.values, thin.censored

    def step(weight: Floats, scale: Floats) -> tuple[float, tuple[Floats, ...]]:
        mean = scale[:, None]
        log_p = np.log(weight)[:, None] - t / mean - np.where(late, 0.0, np.log(mean))
        log_likelihood, share, mass = _responsibilities(log_p)
        scale = np.maximum(np.vecdot(share, t + late * mean) / mass, 1e-9)
        return log_likelihood, (mass / mass.sum(), scale)

    scale = np.maximum(np.quantile(t, (np.arange(components) + 0.5) / components), 1e-9)
    return _iterate(step, start, scale * np.geomspace(0.5, 2.0, components))


def _responsibilities(log_p: Floats) -> tuple[float, Floats, Floats]:
    """Return the mean log-likelihood, each component's share of each value, and their sums.

    Parameters
    ----------
    log_p
        Shape (components, values).
    """
    largest = log_p.max(axis=0)
    share = np.exp(log_p - largest)
    total = share.sum(axis=0)
    share /= total
    return float((largest + np.log(total)).mean()), share, share.sum(axis=1) + 1e-12


def _iterate(
    step: Callable[..., tuple[float, tuple[Floats, ...]]],
    start: Floats | None,
    *default: Floats,
) -> Floats:
    """Repeat a step until the log-likelihood converges; sort components by the second parameter.

    Without a start, weights are equal and other parameters have their defaults.
    """
    parameters = (np.full(default[0].size, 1 / default[0].size), *default)
    rounds, tolerance, last = _ROUNDS, _TOLERANCE, -np.inf
    if start is not None:
        parameters = tuple(start.reshape(-1, len(parameters)).T.copy())
        rounds, tolerance = _ROUNDS_FROM_START, _TOLERANCE_FROM_START
    for _ in range(rounds):
        log_likelihood, parameters = step(*parameters)
        if log_likelihood - last < tolerance:
            break
        last = log_likelihood
    return np.asarray(np.column_stack(parameters)[np.argsort(parameters[1])].ravel())
