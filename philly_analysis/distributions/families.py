"""Parametric families of positive distributions and their maximum-likelihood fits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
import scipy.special as special

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.expectation_maximisation import (
    fit_exponentials,
    fit_lognormals,
)
from philly_analysis.distributions.frozen import Continuous
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.distributions.mixture import (
    Mixture,
    exponential_components,
    lognormal_components,
)

Scale = Literal["real", "positive", "share"]
Fit = Callable[[Lifetimes, int, Floats | None], Floats]


@dataclass(frozen=True, slots=True)
class Family:
    """A parametric family of positive distributions.

    Attributes
    ----------
    names
        Parameter names; a mixture repeats them per component, suffixed _1, _2, ..
    scales
        Scale on which each parameter's confidence interval is symmetric: the real line, its
        logarithm, or its logit.
    frozen
        Parameters to a frozen distribution.
    fit
        Maximum likelihood on a censored sample, given the number of components and, or None,
        starting parameters.
    sizes
        Numbers of components to try.
    """

    name: str
    names: tuple[str, ...]
    scales: tuple[Scale, ...]
    frozen: Callable[[Floats], Continuous]
    fit: Fit
    sizes: tuple[int, ...] = (1,)

    def labels(self, count: int) -> tuple[str, ...]:
        """Return the names of `count` parameters."""
        if self.sizes == (1,):
            return self.names
        repeats = count // len(self.names)
        return tuple(f"{name}_{k + 1}" for k in range(repeats) for name in self.names)


Terms = tuple[Floats, Floats, Floats]
"""Log density or log survival function of each value, and its derivatives by the logarithms of
shape and scale."""


def _maximum_likelihood(
    log_pdf: Callable[[Floats, float, float], Terms],
    log_sf: Callable[[Floats, float, float], Terms],
    guess: Callable[[Floats], tuple[float, float]],
) -> Fit:
    """Return a fit of two positive parameters, shape and scale, on their logarithms."""

    def fit(sample: Lifetimes, _: int, start: Floats | None) -> Floats:
        unit = float(np.exp(np.log(sample.values).mean()))
        ended, running = sample.ended / unit, sample.running / unit
        first = start / [1, unit] if start is not None else np.array(guess(sample.values / unit))

        def loss(u: Floats) -> tuple[float, Floats]:
            with np.errstate(all="ignore"):  # steps of a search may overflow
                shape, scale = np.exp(u)
                terms = np.array([term.sum() for term in log_pdf(ended, shape, scale)])
                if running.size:
                    terms += [term.sum() for term in log_sf(running, shape, scale)]
            terms /= -sample.n
            return (float(terms[0]), terms[1:]) if np.isfinite(terms).all() else (1e9, np.zeros(2))

        begin = np.log(np.maximum(first, 1e-6))
        # near the start, as in the refits of a bootstrap, ten times as fast as BFGS
        root = scipy.optimize.root(lambda u: loss(u)[1], begin)
        best = root.x
        if not root.success or loss(best)[0] > loss(begin)[0]:
            best = scipy.optimize.minimize(loss, begin, jac=True, method="BFGS").x
        if not np.isfinite(best).all() or np.abs(best).max() > 20:

            def alone(u: Floats) -> float:
                return loss(u)[0]

            best = scipy.optimize.minimize(alone, np.zeros(2), method="Nelder-Mead").x
        return np.asarray(np.exp(best) * [1, unit])

    return fit


def _exponential(x: Lifetimes, _: int, _start: Floats | None) -> Floats:
    return np.array([x.values.sum() / x.ended.size])


def _weibull_sf(x: Floats, k: float, s: float) -> Terms:
    log_x = np.log(x / s)
    hazard = np.exp(k * log_x)
    return -hazard, -k * log_x * hazard, k * hazard


def _weibull_pdf(x: Floats, k: float, s: float) -> Terms:
    log_x = np.log(x / s)
    log_sf, by_shape, by_scale = _weibull_sf(x, k, s)
    return np.log(k / s) + (k - 1) * log_x + log_sf, 1 + k * log_x + by_shape, by_scale - k


def _gamma_pdf(x: Floats, a: float, s: float) -> Terms:
    z = x / s
    log_z = np.log(z)
    return (
        (a - 1) * log_z - z - np.log(s) - special.gammaln(a),
        a * (log_z - special.digamma(a)),
        z - a,
    )


def _gamma_sf(x: Floats, a: float, s: float) -> Terms:
    z = x / s

    def log_sf(shape: float) -> Floats:
        return np.asarray(np.log(np.maximum(special.gammaincc(shape, z), 1e-300)))

    here, step = log_sf(a), 1e-6  # no closed form of the derivative by the shape
    by_shape = (log_sf(a * np.exp(step)) - log_sf(a * np.exp(-step))) / (2 * step)
    return here, by_shape, np.exp(a * np.log(z) - z - special.gammaln(a) - here)


def _lomax_sf(x: Floats, c: float, s: float) -> Terms:
    log_sf = -c * np.log1p(x / s)
    return log_sf, log_sf, c * x / (s + x)


def _lomax_pdf(x: Floats, c: float, s: float) -> Terms:
    log_x = np.log1p(x / s)
    return np.log(c / s) - (c + 1) * log_x, 1 - c * log_x, (c + 1) * x / (s + x) - 1


def _lognormal_pdf(x: Floats, sigma: float, scale: float) -> Terms:
    z = np.log(x / scale) / sigma
    return -np.log(x * sigma) - z**2 / 2, z**2 - 1, z / sigma


def _lognormal_sf(x: Floats, sigma: float, scale: float) -> Terms:
    z = np.log(x / scale) / sigma
    log_sf = np.asarray(special.log_ndtr(-z))
    hazard = np.exp(-(z**2) / 2 - log_sf) / np.sqrt(2 * np.pi)
    return log_sf, hazard * z, hazard / sigma


_weibull = _maximum_likelihood(
    _weibull_pdf,
    _weibull_sf,
    lambda x: (1.28 / max(float(np.log(x).std()), 0.01), 1.3),
)
_gamma = _maximum_likelihood(
    _gamma_pdf,
    _gamma_sf,
    lambda x: (0.5 / max(float(np.log(x.mean())), 0.01), float(x.mean())),
)
_lomax = _maximum_likelihood(_lomax_pdf, _lomax_sf, lambda x: (1.5, float(2 * np.median(x))))
_censored_lognormal = _maximum_likelihood(
    _lognormal_pdf, _lognormal_sf, lambda x: (max(float(np.log(x).std()), 0.01), 1.0)
)


def _lognormal(x: Lifetimes, size: int, start: Floats | None) -> Floats:
    if not x.running.size:
        log_x = np.log(x.values)
        return np.array([log_x.mean(), max(float(log_x.std()), 1e-9)])
    near = None if start is None else np.array([start[1], np.exp(start[0])])
    sigma, scale = _censored_lognormal(x, size, near)
    return np.array([np.log(scale), sigma])


def _pareto(x: Lifetimes, _: int, _start: Floats | None) -> Floats:
    low = x.values[0]
    return np.array([x.ended.size / np.log(x.values / low).sum(), low])


def _lognormals(theta: Floats) -> Continuous:
    weights, mu, sigma = theta.reshape(-1, 3).T
    return Mixture(weights / weights.sum(), lognormal_components(mu, sigma))


def _exponentials(theta: Floats) -> Continuous:
    weights, scale = theta.reshape(-1, 2).T
    return Mixture(weights / weights.sum(), exponential_components(scale))


FAMILIES: dict[str, Family] = {
    f.name: f
    for f in (
        Family(
            "exponential", ("scale",), ("positive",),
            lambda t: scipy.stats.expon(scale=t[0]), _exponential,
        ),
        Family(
            "weibull", ("shape", "scale"), ("positive", "positive"),
            lambda t: scipy.stats.weibull_min(t[0], scale=t[1]), _weibull,
        ),
        Family(
            "lognormal", ("mu", "sigma"), ("real", "positive"),
            lambda t: scipy.stats.lognorm(t[1], scale=np.exp(t[0])), _lognormal,
        ),
        Family(
            "gamma", ("shape", "scale"), ("positive", "positive"),
            lambda t: scipy.stats.gamma(t[0], scale=t[1]), _gamma,
        ),
        Family(
            "lomax", ("shape", "scale"), ("positive", "positive"),
            lambda t: scipy.stats.lomax(t[0], scale=t[1]), _lomax,
        ),
        Family(
            "pareto", ("shape", "minimum"), ("positive", "positive"),
            lambda t: scipy.stats.pareto(t[0], scale=t[1]), _pareto,
        ),
        Family(
            "hyperexponential", ("weight", "scale"), ("share", "positive"),
            _exponentials, fit_exponentials, sizes=(2, 3),
        ),
        Family(
            "lognormal_mixture", ("weight", "mu", "sigma"), ("share", "real", "positive"),
            _lognormals, fit_lognormals, sizes=(2, 3),
        ),
    )
}  # fmt: skip
"""Parametric families by name."""
