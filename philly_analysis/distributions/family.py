"""Interface of a parametric family, and maximum likelihood for families of shape and scale."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import scipy

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.frozen import Continuous
from philly_analysis.distributions.lifetimes import Lifetimes

Scale = Literal["real", "positive", "share"]
"""Scale on which a confidence interval is symmetric: real line, logarithm or logit."""


class Family(ABC):
    """A parametric family of positive distributions.

    Attributes
    ----------
    name
        Name that users type.
    names
        Names of the parameters; a mixture repeats them per component, suffixed _1, _2, …
    scales
        Scale of the confidence interval of each parameter.
    sizes
        Numbers of components to try.
    """

    name: ClassVar[str]
    names: ClassVar[tuple[str, ...]]
    scales: ClassVar[tuple[Scale, ...]]
    sizes: ClassVar[tuple[int, ...]] = (1,)

    @abstractmethod
    def frozen(self, theta: Floats) -> Continuous:
        """Return the frozen distribution with the parameters `theta`."""

    @abstractmethod
    def fit(self, sample: Lifetimes, size: int, start: Floats | None) -> Floats:
        """Return the parameters of maximum likelihood on a right-censored sample.

        Parameters
        ----------
        size
            Number of components.
        start
            Parameters of a similar fit to start from, or None.
        """

    def labels(self, count: int) -> tuple[str, ...]:
        """Return the names of `count` parameters."""
        if self.sizes == (1,):
            return self.names
        repeats = count // len(self.names)
        return tuple(f"{name}_{k + 1}" for k in range(repeats) for name in self.names)


class LogTerms(NamedTuple):
    """Logarithm of a density or survival function at each value, with its two derivatives."""

    value: Floats
    by_log_shape: Floats
    by_log_scale: Floats


class ShapeScaleFamily(Family):
    """A family of two positive parameters, shape and scale, fitted on their logarithms."""

    @abstractmethod
    def log_pdf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return the logarithm of the density, with derivatives."""

    @abstractmethod
    def log_sf(self, x: Floats, shape: float, scale: float) -> LogTerms:
        """Return the logarithm of the survival function, with derivatives."""

    @abstractmethod
    def guess(self, x: Floats) -> tuple[float, float]:
        """Return a shape and a scale to start from, for values with a geometric mean of 1."""

    def shape_and_scale(self, sample: Lifetimes, start: tuple[float, float] | None) -> Floats:
        """Return the shape and the scale of maximum likelihood."""
        unit = float(np.exp(np.log(sample.values).mean()))
        ended, running = sample.ended / unit, sample.running / unit
        shape, scale = self.guess(sample.values / unit) if start is None else start
        begin: Floats = np.log(np.maximum([shape, scale if start is None else scale / unit], 1e-6))

        def loss(u: Floats) -> tuple[float, Floats]:
            with np.errstate(all="ignore"):  # steps of a search may overflow
                shape, scale = np.exp(u)
                terms = np.array([term.sum() for term in self.log_pdf(ended, shape, scale)])
                if running.size:
                    terms += [term.sum() for term in self.log_sf(running, shape, scale)]
            terms /= -sample.n
            return (float(terms[0]), terms[1:]) if np.isfinite(terms).all() else (1e9, np.zeros(2))

        # near the start, as in the refits of a bootstrap, ten times as fast as BFGS
        def slope(u: Floats) -> Floats:
            return loss(u)[1]

        root = scipy.optimize.root(slope, begin)
        best = root.x
        if not root.success or loss(best)[0] > loss(begin)[0]:
            best = scipy.optimize.minimize(loss, begin, jac=True, method="BFGS").x
        if not np.isfinite(best).all() or np.abs(best).max() > 20:

            def value(u: Floats) -> float:
                return loss(u)[0]

            best = scipy.optimize.minimize(value, np.zeros(2), method="Nelder-Mead").x
        return np.asarray(np.exp(best) * [1, unit])

    def fit(self, sample: Lifetimes, size: int, start: Floats | None) -> Floats:
        """Return shape and scale of maximum likelihood; `size` is 1."""
        return self.shape_and_scale(sample, None if start is None else (start[0], start[1]))
