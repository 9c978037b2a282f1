"""What every law offers: the methods of a frozen SciPy distribution, from a few of its own."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]


class Frozen(ABC):
    """A law of numbers, used as SciPy's frozen ones are.

    Methods of values and of probabilities take and return arrays of any shape; nan gives nan. Of a
    probability outside of 0 to 1 SciPy makes nan: here it is an error.
    """

    __slots__ = ()

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""

    @abstractmethod
    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""

    @abstractmethod
    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of at most `x`."""

    @abstractmethod
    def logsf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of more than `x`."""

    @abstractmethod
    def ppf(self, q: ArrayLike) -> Floats | Ints:
        """Return the quantiles at probabilities `q`; of those outside of 0 to 1 a ModelError."""

    @abstractmethod
    def isf(self, q: ArrayLike) -> Floats | Ints:
        """Return the quantiles at probabilities 1 - `q`, exact for the smallest `q`."""

    @abstractmethod
    def moment(self, order: int) -> float:
        """Return the mean of a power, infinite for a tail too heavy to have one."""

    @abstractmethod
    def var(self) -> float:
        """Return the variance, infinite for a tail too heavy to have one."""

    @abstractmethod
    def entropy(self) -> float:
        """Return the entropy, in nats: differential, of a law that has a density."""

    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Return the least and the largest value that there can be."""

    def mean(self) -> float:
        """Return the mean, infinite for a tail too heavy to have one."""
        return self.moment(1)

    def std(self) -> float:
        """Return the standard deviation, infinite for a tail too heavy to have one."""
        return float(np.sqrt(self.var()))

    def median(self) -> float:
        """Return the median."""
        return float(self.ppf(0.5))

    def interval(self, confidence: ArrayLike) -> tuple[Floats | Ints, Floats | Ints]:
        """Return the ends of the interval with equal tails that holds so much.

        Raises
        ------
        ModelError
            A confidence below 0 or above 1.
        """
        outside = (1 - probabilities(confidence, "a confidence")) / 2
        return self.ppf(outside), self.isf(outside)

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | int | None = None,
    ) -> Floats | Ints:
        """Draw values by inverting the CDF.

        Parameters
        ----------
        size
            Shape of the draw; a single value when None.
        random_state
            A generator, a seed, or None for fresh entropy, as in SciPy.
        """
        return self.ppf(np.random.default_rng(random_state).random(size))


def probabilities(q: ArrayLike, what: str = "a probability") -> Floats:
    """Return numbers as an array, if they are probabilities (or nan).

    Raises
    ------
    ModelError
        One of them is below 0 or above 1.
    """
    p = np.asarray(q, dtype=float)
    outside = (p < 0) | (p > 1)
    if outside.any():
        raise ModelError(
            f"{what} of {float(p[outside].flat[0]):g} was asked for; it lies between 0 and 1"
        )
    return p
