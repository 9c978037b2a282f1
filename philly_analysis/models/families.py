"""The families of continuous laws, and how each is fitted to a censored sample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.stats as sp
from numpy.typing import NDArray

from philly_analysis.models import mixtures
from philly_analysis.models.laws import Law, Mixture, exponential_parts, lognormal_parts
from philly_analysis.models.lifetimes import Lifetimes

Floats = NDArray[np.float64]
Scale = Literal["real", "positive", "share"]


@dataclass(frozen=True, slots=True)
class Family:
    """A parametric family on the positive numbers.

    Attributes
    ----------
    names
        Parameter names; a mixture repeats them per component, suffixed _1, _2, ..
    scales
        Where each parameter lives, which is where its confidence interval is symmetric:
        the real line, its logarithm, or its logit.
    law
        Parameters to a frozen law.
    fit
        Maximum likelihood on a censored sample, given the number of components and, or None,
        parameters to start from.
    sizes
        Numbers of components to try.
    """

    name: str
    names: tuple[str, ...]
    scales: tuple[Scale, ...]
    law: Callable[[Floats], Law]
    fit: Callable[[Lifetimes, int, Floats | None], Floats]
    sizes: tuple[int, ...] = (1,)

    def labels(self, count: int) -> tuple[str, ...]:
        """Name `count` parameters."""
        repeats = count // len(self.names)
        if self.sizes == (1,):
            return self.names
        return tuple(f"{name}_{k + 1}" for k in range(repeats) for name in self.names)


def _exponential(x: Lifetimes, _: int, _start: Floats | None = None) -> Floats:
    return np.array([sp.expon.fit(x.scipy(), floc=0)[1]])


def _weibull(x: Lifetimes, _: int, _start: Floats | None = None) -> Floats:
    shape, _loc, scale = sp.weibull_min.fit(x.scipy(), floc=0)
    return np.array([shape, scale])


def _lognormal(x: Lifetimes, _: int, _start: Floats | None = None) -> Floats:
    if not x.running.size:
        log_x = np.log(x.values)
        return np.array([log_x.mean(), max(float(log_x.std()), 1e-9)])
    sigma, _loc, scale = sp.lognorm.fit(x.scipy(), floc=0)
    return np.array([np.log(scale), sigma])


def _gamma(x: Lifetimes, _: int, _start: Floats | None = None) -> Floats:
    shape, _loc, scale = sp.gamma.fit(x.scipy(), floc=0)
    return np.array([shape, scale])


def _lomax(x: Lifetimes, _: int, _start: Floats | None = None) -> Floats:
    shape, _loc, scale = sp.lomax.fit(x.scipy(), floc=0)
    return np.array([shape, scale])


def _pareto(x: Lifetimes, _: int, _start: Floats | None = None) -> Floats:
    low = x.values[0]
    return np.array([x.ended.size / np.log(x.values / low).sum(), low])


def _lognormals(theta: Floats) -> Law:
    weights, mu, sigma = theta.reshape(-1, 3).T
    return Mixture(weights / weights.sum(), lognormal_parts(mu, sigma))


def _exponentials(theta: Floats) -> Law:
    weights, scale = theta.reshape(-1, 2).T
    return Mixture(weights / weights.sum(), exponential_parts(scale))


FAMILIES: dict[str, Family] = {
    f.name: f
    for f in (
        Family(
            "exponential", ("scale",), ("positive",), lambda t: sp.expon(scale=t[0]), _exponential
        ),
        Family(
            "weibull", ("shape", "scale"), ("positive", "positive"),
            lambda t: sp.weibull_min(t[0], scale=t[1]), _weibull,
        ),
        Family(
            "lognormal", ("mu", "sigma"), ("real", "positive"),
            lambda t: sp.lognorm(t[1], scale=np.exp(t[0])), _lognormal,
        ),
        Family(
            "gamma", ("shape", "scale"), ("positive", "positive"),
            lambda t: sp.gamma(t[0], scale=t[1]), _gamma,
        ),
        Family(
            "lomax", ("shape", "scale"), ("positive", "positive"),
            lambda t: sp.lomax(t[0], scale=t[1]), _lomax,
        ),
        Family(
            "pareto", ("shape", "minimum"), ("positive", "positive"),
            lambda t: sp.pareto(t[0], scale=t[1]), _pareto,
        ),
        Family(
            "hyperexponential", ("weight", "scale"), ("share", "positive"),
            _exponentials, mixtures.fit_exponentials, sizes=(2, 3),
        ),
        Family(
            "lognormal_mixture", ("weight", "mu", "sigma"), ("share", "real", "positive"),
            _lognormals, mixtures.fit_lognormals, sizes=(2, 3),
        ),
    )
}  # fmt: skip
"""Parametric families by name; ``empirical`` stands beside them in `distribution`."""
