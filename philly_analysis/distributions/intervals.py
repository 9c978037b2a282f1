"""How sure fitted parameters are: confidence intervals from information, and from clusters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special
from numpy.typing import NDArray

from philly_analysis.distributions.continuous import Law
from philly_analysis.distributions.design_effect import correlation, worth
from philly_analysis.distributions.distribution import Distribution, Parameter
from philly_analysis.distributions.families import FAMILIES, Scale
from philly_analysis.distributions.goodness import log_likelihood
from philly_analysis.distributions.lifetimes import Lifetimes

Floats = NDArray[np.float64]

INFORMATION_POINTS = 2_000
UNIDENTIFIED = 10.0  # a standard error this large, in logarithms, is no interval at all
_STEP = 1e-3
_NORMAL = 1.96


def with_intervals(fitted: Distribution, x: Lifetimes) -> tuple[Parameter, ...]:
    """Return a fit's parameters with 95 % intervals, symmetric on each parameter's scale.

    Of independent values by the observed information; clusters widen them by what is alike in
    how their values pull at each parameter.
    """
    family = FAMILIES[fitted.family]
    theta = np.array([p.value for p in fitted.parameters])
    names = family.labels(theta.size)
    if family.name == "pareto":
        return _of_pareto(names, theta, x)
    scales = family.scales * (theta.size // len(family.scales))
    centre = np.array([_to_line(v, s) for v, s in zip(theta, scales, strict=True)])
    shares = np.flatnonzero([s == "share" for s in scales])
    # Shares sum to one: the last is not free, and moves against the others.
    free = np.array(
        [s != "share" or i < theta.size - len(family.names) for i, s in enumerate(scales)]
    )
    thin = x.thinned(INFORMATION_POINTS)
    weight = x.n / thin.n

    def law(step: Floats) -> Law:
        at = centre.copy()
        at[free] += step
        full = np.array([_from_line(v, s) for v, s in zip(at, scales, strict=True)])
        if shares.size:
            full[shares[-1]] = max(1 - full[shares[:-1]].sum(), 1e-12)
        return family.law(full)

    def loss(step: Floats) -> float:
        return -weight * log_likelihood(law(step), thin)

    hessian = _hessian(loss, int(free.sum()))
    with np.errstate(all="ignore"):
        covariance = (
            np.linalg.pinv(hessian) if np.isfinite(hessian).all() else np.full_like(hessian, np.nan)
        )
        sure = _NORMAL
        if x.cluster is not None and x.alike > 0:
            wider = np.sqrt(_widening(law, x, covariance))
            covariance = covariance * np.outer(wider, wider)
            fewest = min(x.worth, np.unique(x.cluster).size)
            sure = float(special.stdtrit(max(fewest - 1, 1), 0.975))
        se = np.full(theta.size, np.nan)
        se[free] = np.sqrt(np.diag(covariance))
        if shares.size:
            inside = np.searchsorted(np.flatnonzero(free), shares[:-1])
            slope = theta[shares[:-1]] * (1 - theta[shares[:-1]])
            last = theta[shares[-1]]
            variance = slope @ covariance[np.ix_(inside, inside)] @ slope
            se[shares[-1]] = np.sqrt(variance) / max(last * (1 - last), 1e-12)
    return tuple(
        Parameter(
            name,
            float(value),
            _from_line(u - sure * s, scale) if s < UNIDENTIFIED else None,
            _from_line(u + sure * s, scale) if s < UNIDENTIFIED else None,
        )
        for name, value, u, s, scale in zip(names, theta, centre, se, scales, strict=True)
    )


def _widening(law: Callable[[Floats], Law], x: Lifetimes, covariance: NDArray[Any]) -> Floats:
    """Return by how much clusters widen the variance of each free parameter.

    What each value adds to a parameter is its score times the covariance. A cluster's are alike,
    and the mean of such is as uncertain as that of `worth` independent ones.
    """
    score = np.empty((x.n, covariance.shape[0]))
    for i, step in enumerate(np.eye(covariance.shape[0]) * _STEP):
        score[:, i] = (_surprises(law(-step), x) - _surprises(law(step), x)) / (2 * _STEP)
    cluster = np.asarray(x.cluster)
    added = score @ covariance
    return np.array([x.n / worth(cluster, correlation(a, cluster)) for a in added.T])


def _surprises(law: Law, x: Lifetimes) -> Floats:
    """Return the negative log-likelihood of each value."""
    made = np.empty(x.n)
    made[~x.censored], made[x.censored] = -law.logpdf(x.ended), -law.logsf(x.running)
    return made


def _of_pareto(names: tuple[str, ...], theta: Floats, x: Lifetimes) -> tuple[Parameter, ...]:
    """Return Pareto's shape and minimum: the minimum is a value seen, so it can only be lower."""
    shape, least = theta.tolist()
    factor = float(np.exp(_NORMAL / np.sqrt(x.ended.size * x.worth / x.n)))
    return (
        Parameter(names[0], shape, shape / factor, shape * factor),
        Parameter(names[1], least, least * 0.025 ** (1 / (x.n * shape)), least),
    )


def _hessian(loss: Callable[[Floats], float], dim: int) -> Floats:
    """Return the second derivatives of a function at zero, by central differences."""
    unit = np.eye(dim) * _STEP
    hessian = np.empty((dim, dim))
    for i in range(dim):
        for j in range(i, dim):
            hessian[i, j] = hessian[j, i] = (
                loss(unit[i] + unit[j])
                - loss(unit[i] - unit[j])
                - loss(unit[j] - unit[i])
                + loss(-unit[i] - unit[j])
            ) / (4 * _STEP * _STEP)
    return hessian


def _to_line(value: float, scale: Scale) -> float:
    """Map a parameter to the real line: its logarithm, its logit, or itself."""
    if scale == "positive":
        return float(np.log(value))
    return float(np.log(value / (1 - value))) if scale == "share" else float(value)


def _from_line(value: float, scale: Scale) -> float:
    """Map a number of the real line back to a parameter."""
    if scale == "positive":
        return float(np.exp(value))
    return float(1 / (1 + np.exp(-value))) if scale == "share" else float(value)
