"""Maximum likelihood for mixtures of exponentials and of log-normals under right censoring."""

import numpy as np
import scipy.special as special
from numpy.typing import NDArray

from philly_analysis.distributions.lifetimes import Lifetimes

Floats = NDArray[np.float64]

_POINTS = 3_000
_ROUNDS = 400
_ROUNDS_FROM_START = 60
_TOLERANCE = 1e-7
_TOLERANCE_FROM_START = 1e-5
_HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)
_MIN_SIGMA = 0.02  # a component narrower than this has collapsed onto one repeated value


def fit_lognormals(x: Lifetimes, components: int, start: Floats | None = None) -> Floats:
    """Fit a mixture of log-normals by expectation maximisation.

    `start` is a fit to begin from, when one is near. Censored values enter each step with the
    mean and mean square of a normal law cut at the value (the moments of the truncated normal;
    Dempster, Laird and Rubin 1977).

    Returns
    -------
    numpy.ndarray
        Shape (3 k,): weight, mu, sigma of each component, by ascending mu.
    """
    thin = x.thinned(_POINTS)
    y, late = np.log(thin.values), thin.censored
    spread = max(float(y.std()), _MIN_SIGMA)
    mu = np.quantile(y, (np.arange(components) + 0.5) / components)
    sigma = np.full(components, max(spread / components, _MIN_SIGMA))
    weight = np.full(components, 1 / components)
    if start is not None:
        weight, mu, sigma = start.reshape(-1, 3).T.copy()
    tolerance = _TOLERANCE if start is None else _TOLERANCE_FROM_START
    last = -np.inf
    for _ in range(_ROUNDS if start is None else _ROUNDS_FROM_START):
        z = (y[:, None] - mu) / sigma
        log_p = -0.5 * z**2 - np.log(sigma) - _HALF_LOG_2PI
        first = np.repeat(y[:, None], components, axis=1)
        second = first**2
        if late.any():
            log_sf = special.log_ndtr(-z[late])
            hazard = np.exp(-0.5 * z[late] ** 2 - _HALF_LOG_2PI - log_sf)
            first[late] = mu + sigma * hazard
            second[late] = mu**2 + sigma**2 + sigma * hazard * (y[late][:, None] + mu)
            log_p[late] = log_sf
        log_p += np.log(weight)
        total = np.logaddexp.reduce(log_p, axis=1)
        share = np.exp(log_p - total[:, None])
        mass = share.sum(axis=0) + 1e-12
        weight = mass / mass.sum()
        mu = (share * first).sum(axis=0) / mass
        sigma = np.sqrt(np.maximum((share * second).sum(axis=0) / mass - mu**2, _MIN_SIGMA**2))
        mean_loglik = float(total.mean())
        if mean_loglik - last < tolerance:
            break
        last = mean_loglik
    order = np.argsort(mu)
    return np.column_stack((weight, mu, sigma))[order].ravel()


def fit_exponentials(x: Lifetimes, components: int, start: Floats | None = None) -> Floats:
    """Fit a hyper-exponential law by expectation maximisation.

    Memorylessness makes a censored value worth itself plus one mean of its component.

    Returns
    -------
    numpy.ndarray
        Shape (2 k,): weight and scale of each component, by ascending scale.
    """
    thin = x.thinned(_POINTS)
    t, late = thin.values, thin.censored
    scale = np.maximum(np.quantile(t, (np.arange(components) + 0.5) / components), 1e-9)
    scale *= np.geomspace(0.5, 2.0, components)
    weight = np.full(components, 1 / components)
    if start is not None:
        weight, scale = start.reshape(-1, 2).T.copy()
    tolerance = _TOLERANCE if start is None else _TOLERANCE_FROM_START
    last = -np.inf
    for _ in range(_ROUNDS if start is None else _ROUNDS_FROM_START):
        log_p = np.log(weight) - t[:, None] / scale - np.where(late[:, None], 0.0, np.log(scale))
        total = np.logaddexp.reduce(log_p, axis=1)
        share = np.exp(log_p - total[:, None])
        mass = share.sum(axis=0) + 1e-12
        expected = t[:, None] + late[:, None] * scale
        scale = np.maximum((share * expected).sum(axis=0) / mass, 1e-9)
        weight = mass / mass.sum()
        mean_loglik = float(total.mean())
        if mean_loglik - last < tolerance:
            break
        last = mean_loglik
    order = np.argsort(scale)
    return np.column_stack((weight, scale))[order].ravel()
