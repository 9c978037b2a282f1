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


def _maximum_likelihood(
    log_pdf: Callable[[Floats, Floats, Floats], Floats],
    log_sf: Callable[[Floats, Floats, Floats], Floats],
    guess: Callable[[Floats], tuple[float, float]],
) -> Fit:
    """Return a fit of two positive parameters, the second a scale, on their logarithms."""

    def fit(sample: Lifetimes, _: int, start: Floats | None) -> Floats:
        unit = float(np.exp(np.log(sample.values).mean()))
        ended, running = sample.ended / unit, sample.running / unit
        first = start / [1, unit] if start is not None else np.array(guess(sample.values / unit))

        def loss(u: Floats) -> float:
            shape, scale = np.exp(u)
            with np.errstate(all="ignore"):
                total = log_pdf(ended, shape, scale).sum() + log_sf(running, shape, scale).sum()
            return float(-total / sample.n) if np.isfinite(total) else 1e9

        found = scipy.optimize.minimize(loss, np.log(np.maximum(first, 1e-6)), method="BFGS")
        if not np.isfinite(found.x).all() or np.abs(found.x).max() > 20:
            found = scipy.optimize.minimize(loss, np.zeros(2), method="Nelder-Mead")
        return np.asarray(np.exp(found.x) * [1, unit])

    return fit


def _exponential(x: Lifetimes, _: int, _start: Floats | None) -> Floats:
    return np.array([x.values.sum() / x.ended.size])


_weibull = _maximum_likelihood(
    lambda x, k, s: np.log(k / s) + (k - 1) * np.log(x / s) - (x / s) ** k,
    lambda x, k, s: -((x / s) ** k),
    lambda x: (1.28 / max(float(np.log(x).std()), 0.01), 1.3),
)
_gamma = _maximum_likelihood(
    lambda x, a, s: (a - 1) * np.log(x / s) - x / s - np.log(s) - special.gammaln(a),
    lambda x, a, s: np.log(np.maximum(special.gammaincc(a, x / s), 1e-300)),
    lambda x: (0.5 / max(float(np.log(x.mean())), 0.01), float(x.mean())),
)
_lomax = _maximum_likelihood(
    lambda x, c, s: np.log(c / s) - (c + 1) * np.log1p(x / s),
    lambda x, c, s: -c * np.log1p(x / s),
    lambda x: (1.5, float(2 * np.median(x))),
)


_censored_lognormal = _maximum_likelihood(
    lambda x, sigma, scale: -np.log(x * sigma) - (np.log(x / scale) / sigma) ** 2 / 2,
    lambda x, sigma, scale: np.asarray(special.log_ndtr(-np.log(x / scale) / sigma)),
    lambda x: (max(float(np.log(x).std()), 0.01), 1.0),
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
