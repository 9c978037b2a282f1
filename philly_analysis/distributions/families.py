"""Parametric families of positive distributions, by name: one class per family.

A third of the file documents the formulas and their parameters.
"""

import numpy as np
import scipy
import scipy.special as special

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.expectation_maximisation import (
    fit_exponentials,
    fit_lognormals,
)
from philly_analysis.distributions.family import Family, LogTerms, ShapeScaleFamily
from philly_analysis.distributions.frozen import Continuous
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.distributions.mixture import (
    Mixture,
    exponential_components,
    lognormal_components,
)


class Exponential(Family):
    """Exponential distribution: S(x) = exp(-x / scale).

    The hazard is constant: how long a job has run says nothing about the rest of its run time.
    The parameter `scale` is the mean.

    Examples
    --------
    >>> round(float(Exponential().frozen(np.array([600.0])).sf(600.0)), 4)
    0.3679
    """

    name = "exponential"
    names = ("scale",)
    scales = ("positive",)

    def frozen(self, theta: Floats) -> Continuous:
        """Return SciPy's ``expon``."""
        return scipy.stats.expon(scale=theta[0])

    def fit(self, sample: Lifetimes, size: int, start: Floats | None) -> Floats:
        """Return the scale: the sum of all values over the number of uncensored values."""
        return np.array([sample.values.sum() / sample.ended.size])


class Weibull(ShapeScaleFamily):
    """Weibull distribution: S(x) = exp(-(x / scale)^shape).

    The hazard falls with the run time if `shape` is below 1, and rises if it is above 1. The
    parameter `scale` is the quantile at 1 - 1/e = 63.2 %.

    Examples
    --------
    >>> round(float(Weibull().frozen(np.array([0.5, 600.0])).cdf(600.0)), 4)
    0.6321
    """

    name = "weibull"
    names = ("shape", "scale")
    scales = ("positive", "positive")

    def frozen(self, theta: Floats) -> Continuous:
        """Return SciPy's ``weibull_min``."""
        return scipy.stats.weibull_min(theta[0], scale=theta[1])

    def log_sf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return log S(x) = -(x / scale)^shape."""
        log_x = np.log(x / scale)
        hazard = np.exp(shape * log_x)
        return LogTerms(-hazard, -shape * log_x * hazard, shape * hazard)

    def log_pdf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return log f(x) = log(shape / scale) + (shape - 1) log(x / scale) + log S(x)."""
        log_x = np.log(x / scale)
        survival = self.log_sf(x, shape, scale)
        return LogTerms(
            np.log(shape / scale) + (shape - 1) * log_x + survival.value,
            1 + shape * log_x + survival.by_log_shape,
            survival.by_log_scale - shape,
        )

    def guess(self, x: Floats) -> tuple[float, float]:
        """Return the shape by the standard deviation of log x, which is pi / sqrt(6) / shape."""
        return 1.28 / max(float(np.log(x).std()), 0.01), 1.3


class LogNormal(ShapeScaleFamily):
    """Log-normal distribution: log x is normal with mean mu and standard deviation sigma.

    The median is exp(`mu`). A `sigma` of 2.3 puts one value in six above ten times the median.

    Examples
    --------
    >>> round(float(LogNormal().frozen(np.array([np.log(600.0), 2.3])).median()), 1)
    600.0
    """

    name = "lognormal"
    names = ("mu", "sigma")
    scales = ("real", "positive")

    def frozen(self, theta: Floats) -> Continuous:
        """Return SciPy's ``lognorm``."""
        return scipy.stats.lognorm(theta[1], scale=np.exp(theta[0]))

    def log_pdf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return log f(x) of sigma = shape and exp(mu) = scale, but for log sqrt(2 pi)."""
        z = np.log(x / scale) / shape
        return LogTerms(-np.log(x * shape) - z**2 / 2, z**2 - 1, z / shape)

    def log_sf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return log S(x) = log of the normal distribution function at -z."""
        z = np.log(x / scale) / shape
        log_sf = np.asarray(special.log_ndtr(-z))
        hazard = np.exp(-(z**2) / 2 - log_sf) / np.sqrt(2 * np.pi)
        return LogTerms(log_sf, hazard * z, hazard / shape)

    def guess(self, x: Floats) -> tuple[float, float]:
        """Return the standard deviation of log x, and 1."""
        return max(float(np.log(x).std()), 0.01), 1.0

    def fit(self, sample: Lifetimes, size: int, start: Floats | None) -> Floats:
        """Return mean and sd of log x; with censored values, by maximum likelihood."""
        if not sample.running.size:
            log_x = np.log(sample.values)
            return np.array([log_x.mean(), max(float(log_x.std()), 1e-9)])
        near = None if start is None else (start[1], float(np.exp(start[0])))
        sigma, scale = self.shape_and_scale(sample, near)
        return np.array([np.log(scale), sigma])


class Gamma(ShapeScaleFamily):
    """Gamma distribution: f(x) = (x / scale)^(shape - 1) exp(-x / scale) / (scale Gamma(shape)).

    The mean is `shape` x `scale`. With a whole `shape` the value is a sum of `shape` exponential
    values of mean `scale`.

    Examples
    --------
    >>> float(Gamma().frozen(np.array([2.0, 300.0])).mean())
    600.0
    """

    name = "gamma"
    names = ("shape", "scale")
    scales = ("positive", "positive")

    def frozen(self, theta: Floats) -> Continuous:
        """Return SciPy's ``gamma``."""
        return scipy.stats.gamma(theta[0], scale=theta[1])

    def log_pdf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return the logarithm of the density above."""
        z = x / scale
        log_z = np.log(z)
        return LogTerms(
            (shape - 1) * log_z - z - np.log(scale) - special.gammaln(shape),
            shape * (log_z - special.digamma(shape)),
            z - shape,
        )

    def log_sf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return the logarithm of the regularised incomplete gamma function."""
        z = x / scale

        def log_survival(shape: float) -> Floats:
            return np.asarray(np.log(np.maximum(special.gammaincc(shape, z), 1e-300)))

        log_sf, step = log_survival(shape), 1e-6  # no closed form of the derivative by the shape
        rise = log_survival(shape * np.exp(step)) - log_survival(shape * np.exp(-step))
        by_log_scale = np.exp(shape * np.log(z) - z - special.gammaln(shape) - log_sf)
        return LogTerms(log_sf, rise / (2 * step), by_log_scale)

    def guess(self, x: Floats) -> tuple[float, float]:
        """Return the shape by the logarithm of the mean over the geometric mean, and the mean."""
        return 0.5 / max(float(np.log(x.mean())), 0.01), float(x.mean())


class Lomax(ShapeScaleFamily):
    """Lomax distribution (Pareto from zero): S(x) = (1 + x / scale)^-shape.

    The tail is a power law of exponent `shape`. The mean is infinite if `shape` is at most 1, the
    variance if `shape` is at most 2. The power law holds far above `scale`.

    Examples
    --------
    >>> round(float(Lomax().frozen(np.array([2.0, 600.0])).sf(600.0)), 4)
    0.25
    """

    name = "lomax"
    names = ("shape", "scale")
    scales = ("positive", "positive")

    def frozen(self, theta: Floats) -> Continuous:
        """Return SciPy's ``lomax``."""
        return scipy.stats.lomax(theta[0], scale=theta[1])

    def log_sf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return log S(x) = -shape log(1 + x / scale)."""
        log_sf = -shape * np.log1p(x / scale)
        return LogTerms(log_sf, log_sf, shape * x / (scale + x))

    def log_pdf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return log f(x) = log(shape / scale) - (shape + 1) log(1 + x / scale)."""
        log_x = np.log1p(x / scale)
        return LogTerms(
            np.log(shape / scale) - (shape + 1) * log_x,
            1 - shape * log_x,
            (shape + 1) * x / (scale + x) - 1,
        )

    def guess(self, x: Floats) -> tuple[float, float]:
        """Return a shape of 1.5, and twice the median."""
        return 1.5, float(2 * np.median(x))


class Pareto(Family):
    """Pareto distribution: S(x) = (minimum / x)^shape from the `minimum` on.

    The tail is a power law of exponent `shape`. The `minimum` is the least value of the sample.

    Examples
    --------
    >>> round(float(Pareto().frozen(np.array([2.0, 600.0])).sf(1200.0)), 4)
    0.25
    """

    name = "pareto"
    names = ("shape", "minimum")
    scales = ("positive", "positive")

    def frozen(self, theta: Floats) -> Continuous:
        """Return SciPy's ``pareto``."""
        return scipy.stats.pareto(theta[0], scale=theta[1])

    def fit(self, sample: Lifetimes, size: int, start: Floats | None) -> Floats:
        """Return Hill's estimate of the shape, and the least value."""
        low = sample.values[0]
        return np.array([sample.ended.size / np.log(sample.values / low).sum(), low])


class Hyperexponential(Family):
    """Mixture of exponentials: S(x) = sum of weight_k exp(-x / scale_k).

    Each `weight` is the share of values of a component, each `scale` the mean of the component.

    Examples
    --------
    >>> float(Hyperexponential().frozen(np.array([0.9, 60.0, 0.1, 6000.0])).mean())
    654.0
    """

    name = "hyperexponential"
    names = ("weight", "scale")
    scales = ("share", "positive")
    sizes = (2, 3)

    def frozen(self, theta: Floats) -> Continuous:
        """Return the mixture, whose weights are normalised."""
        weights, scale = theta.reshape(-1, 2).T
        return Mixture(weights / weights.sum(), exponential_components(scale))

    def fit(self, sample: Lifetimes, size: int, start: Floats | None) -> Floats:
        """Return weight and scale of each component, by expectation maximisation."""
        return fit_exponentials(sample, size, start)


class LogNormalMixture(Family):
    """Mixture of log-normals: log x is normal with mean mu_k and sd sigma_k, with weight_k.

    Each `weight` is the share of values of a component, whose median is exp(`mu`).

    Examples
    --------
    >>> theta = np.array([0.5, np.log(60.0), 1.0, 0.5, np.log(6000.0), 1.0])
    >>> round(float(LogNormalMixture().frozen(theta).median()))
    600
    """

    name = "lognormal_mixture"
    names = ("weight", "mu", "sigma")
    scales = ("share", "real", "positive")
    sizes = (2, 3)

    def frozen(self, theta: Floats) -> Continuous:
        """Return the mixture, whose weights are normalised."""
        weights, mu, sigma = theta.reshape(-1, 3).T
        return Mixture(weights / weights.sum(), lognormal_components(mu, sigma))

    def fit(self, sample: Lifetimes, size: int, start: Floats | None) -> Floats:
        """Return weight, mu and sigma of each component, by expectation maximisation."""
        return fit_lognormals(sample, size, start)


_FAMILIES = (
    *(Exponential(), Weibull(), LogNormal(), Gamma(), Lomax(), Pareto()),
    *(Hyperexponential(), LogNormalMixture()),
)
FAMILIES: dict[str, Family] = {family.name: family for family in _FAMILIES}
"""Parametric families by name."""
