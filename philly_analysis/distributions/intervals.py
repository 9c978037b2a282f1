"""Confidence intervals of fitted parameters, from the observed information and clusters."""

from collections.abc import Callable

import numpy as np
import scipy.special as special

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.design_effect import effective_size, intracluster_correlation
from philly_analysis.distributions.distribution import Distribution, Parameter
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.family import Scale
from philly_analysis.distributions.frozen import Continuous
from philly_analysis.distributions.goodness import log_likelihood
from philly_analysis.distributions.lifetimes import Lifetimes

INFORMATION_POINTS = 2_000
UNIDENTIFIED = 10.0  # a standard error this large, in logarithms, gives no interval
_STEP = 1e-3
_NORMAL = 1.96
_LINE: dict[Scale, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "real": (float, float),
    "positive": (np.log, np.exp),
    "share": (lambda p: np.log(p / (1 - p)), lambda u: 1 / (1 + np.exp(-u))),
}
"""By scale, maps of a parameter to the real line and back: its logarithm or logit, or itself."""


def parameter_intervals(fitted: Distribution, x: Lifetimes) -> tuple[Parameter, ...]:
    """Return a fit's parameters with 95 % intervals, symmetric on each parameter's scale.

    Variances of independent values are from the observed information. The design effect of each
    parameter widens the interval if values are clustered.
    """
    family = FAMILIES[fitted.family]
    theta = np.array([p.value for p in fitted.parameters])
    names = family.labels(theta.size)
    if family.name == "pareto":
        return _pareto_intervals(names, theta, x)
    scales = family.scales * (theta.size // len(family.scales))
    to_line, from_line = zip(*(_LINE[s] for s in scales), strict=True)
    center = np.array([f(v) for f, v in zip(to_line, theta, strict=True)])
    shares = np.flatnonzero([s == "share" for s in scales])
    # Shares have sum 1: the other shares determine the last share.
    free = np.array(
        [s != "share" or i < theta.size - len(family.names) for i, s in enumerate(scales)]
    )
    thin = x.thinned(INFORMATION_POINTS)
    weight = x.n / thin.n

    def shifted(step: Floats) -> Continuous:
        line = center.copy()
        line[free] += step
        full = np.array([f(v) for f, v in zip(from_line, line, strict=True)])
        if shares.size:
            full[shares[-1]] = max(1 - full[shares[:-1]].sum(), 1e-12)
        return family.frozen(full)

    def loss(step: Floats) -> float:
        return -weight * log_likelihood(shifted(step), thin)

    hessian = _hessian(loss, int(free.sum()))
    with np.errstate(all="ignore"):
        finite = np.isfinite(hessian).all()
        covariance = np.asarray(np.linalg.pinv(hessian) if finite else hessian * np.nan, float)
        critical = _NORMAL
        if x.cluster is not None and x.correlation > 0:
            wider = np.sqrt(_design_effects(shifted, x, covariance))
            covariance = covariance * np.outer(wider, wider)
            groups = min(x.effective_n, np.unique(x.cluster).size)
            critical = float(special.stdtrit(max(groups - 1, 1), 0.975))
        se = np.full(theta.size, np.nan)
        se[free] = np.sqrt(np.diag(covariance))
        if shares.size:
            inside = np.searchsorted(np.flatnonzero(free), shares[:-1])
            slope = theta[shares[:-1]] * (1 - theta[shares[:-1]])
            last = theta[shares[-1]]
            variance = slope @ covariance[np.ix_(inside, inside)] @ slope
            se[shares[-1]] = np.sqrt(variance) / max(last * (1 - last), 1e-12)
    half = np.where(se < UNIDENTIFIED, critical * se, np.nan)
    ends = np.array([[f(u - h), f(u + h)] for f, u, h in zip(from_line, center, half, strict=True)])
    return tuple(
        Parameter(name, value, *(interval if np.isfinite(h) else ()))
        for name, value, interval, h in zip(names, theta.tolist(), ends.tolist(), half, strict=True)
    )


def _design_effects(
    shifted: Callable[[Floats], Continuous], x: Lifetimes, covariance: Floats
) -> Floats:
    """Return the design effect of the clusters on the variance of each free parameter.

    Each value's contribution to a parameter is its score times the covariance.
    """
    score = np.empty((x.n, covariance.shape[0]))
    for i, step in enumerate(np.eye(covariance.shape[0]) * _STEP):
        before, after = (_value_losses(shifted(side), x) for side in (-step, step))
        score[:, i] = (before - after) / (2 * _STEP)
    cluster = np.asarray(x.cluster)
    contribution = score @ covariance
    return np.array(
        [
            x.n / effective_size(cluster, intracluster_correlation(c, cluster))
            for c in contribution.T
        ]
    )


def _value_losses(distribution: Continuous, x: Lifetimes) -> Floats:
    """Return the negative log-likelihood of each value."""
    made = np.empty(x.n)
    made[~x.censored] = -distribution.logpdf(x.ended)
    made[x.censored] = -distribution.logsf(x.running)
    return made


def _pareto_intervals(names: tuple[str, ...], theta: Floats, x: Lifetimes) -> tuple[Parameter, ...]:
    """Return Pareto's shape and minimum; the true minimum is at most the observed one."""
    shape, least = theta.tolist()
    factor = float(np.exp(_NORMAL / np.sqrt(x.ended.size * x.effective_n / x.n)))
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
