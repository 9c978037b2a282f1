"""A fitted distribution: used like a frozen SciPy one, and honest about how well it fits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from typing import Self

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike, NDArray

from philly_analysis.distributions.continuous import Law, QuantileGrid, separated
from philly_analysis.distributions.design_effect import shared_steps
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.frozen import Frozen, probabilities
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.errors import ModelError, UnknownNameError

Floats = NDArray[np.float64]

EMPIRICAL = "empirical"
OBSERVED_LEVELS = tuple(i / 100 for i in range(1, 100))
EMPIRICAL_PARAMETERS = ("body", "tail_shape", "tail_scale")

# Gauss's points and weights in cells of the probabilities below 1/2
_EDGES = np.concatenate((np.geomspace(1e-14, 1e-2, 25), np.linspace(0.01, 0.5, 50)[1:]))
_POINT, _SHARE = np.polynomial.legendre.leggauss(12)
_AT = (_EDGES[:-1, None] + np.diff(_EDGES)[:, None] * (_POINT + 1) / 2).ravel()
_WEIGHT = (np.diff(_EDGES)[:, None] * _SHARE / 2).ravel()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted number with its 95 % confidence interval (None: it has none, it was chosen)."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family that was tried, and how it did (rejected, p None: it was not tested)."""

    family: str
    aic: float
    ks: float
    rejected: bool | None
    bic: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Own:
    """How much of a law comes from the values asked for, and not from all.

    Attributes
    ----------
    what
        The values asked for.
    worth
        How many independent ones they are worth; of no value 0.
    weight
        Share of the law that is theirs, 0 to 1; the rest is the law of all.
    """

    what: str
    worth: float
    weight: float

    def __str__(self) -> str:
        return (
            f"{100 * self.weight:.0f} % of {self.what} (worth {self.worth:,.0f} independent values)"
        )


@dataclass(frozen=True, slots=True)
class Distribution(Frozen):
    """A fitted law of a positive quantity, with the methods of a frozen SciPy distribution.

    Attributes
    ----------
    family
        One of `FAMILIES`, or ``empirical``: quantiles with a generalised Pareto tail.
    parameters
        Fitted numbers with 95 % confidence intervals.
    n, censored
        Values it was fitted to, and how many of them were right-censored.
    aic
        Akaike's criterion on all n values; None for the empirical law, which has no likelihood.
    ks
        Largest gap between its CDF and the data's (Kaplan-Meier when censored).
    rejected
        Whether a goodness-of-fit test at 5 % that allows for the fitting rejects the family;
        None where it was not tested.
    p
        Its p-value; where it was stopped early, an upper bound below 5 %, or an estimate above.
    knots
        Quantiles of the empirical law, evenly spaced in probability from 0 to ``body``.
    candidates
        What else was tried, by AIC.
    observed
        The data's own quantiles at `OBSERVED_LEVELS` (fewer where censoring hides the top), to
        draw the fit against.
    worth
        How many independent values they are worth; None: it was not fitted to any.
    alike
        Correlation of the normal scores of two values of one cluster.
    own
        What it was narrowed down to, and how much of it comes from there; empty: all of it.
    """

    family: str
    parameters: tuple[Parameter, ...]
    n: int = 0
    censored: int = 0
    aic: float | None = None
    ks: float | None = None
    rejected: bool | None = None
    knots: tuple[float, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    observed: tuple[float, ...] = ()
    worth: float | None = None
    alike: float = 0.0
    p: float | None = None
    own: tuple[Own, ...] = ()

    def __post_init__(self) -> None:
        if self.family != EMPIRICAL and self.family not in FAMILIES:
            raise UnknownNameError("family of distributions", self.family, [*FAMILIES, EMPIRICAL])

    @classmethod
    def of_quantiles(
        cls,
        knots: Iterable[float],
        body: float,
        tail_shape: float,
        tail_scale: float,
        like: Self | None = None,
    ) -> Self:
        """Return the empirical law of given quantiles.

        Parameters
        ----------
        knots
            Evenly spaced in probability from 0 to `body`.
        tail_shape, tail_scale
            Of the generalised Pareto law above.
        like
            A law that was fitted to the same values; none was fitted when absent.
        """
        numbers = map(Parameter, EMPIRICAL_PARAMETERS, (body, tail_shape, tail_scale))
        made = cls(EMPIRICAL, tuple(numbers), knots=tuple(map(float, knots)))
        if like is None:
            return made
        return replace(made, n=like.n, censored=like.censored, worth=like.worth, alike=like.alike)

    def law(self) -> Law:
        """Return the frozen law behind the methods below."""
        return _law(self.family, tuple(p.value for p in self.parameters), self.knots)

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UnknownNameError(
            f"parameter of the {self.family} law", name, [p.name for p in self.parameters]
        )

    @property
    def bic(self) -> float | None:
        """Schwarz's criterion on the independent values that n are worth; None: no likelihood."""
        if self.aic is None or not self.n:
            return None
        told = self.worth or float(self.n)
        surprise = (self.aic - 2 * self.free) * told / self.n
        return float(surprise + self.free * np.log(max(told, 1.0)))

    @property
    def free(self) -> int:
        """Parameters that are free: shares sum to one."""
        mixed = self.family in FAMILIES and FAMILIES[self.family].sizes != (1,)
        return len(self.parameters) - mixed

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at `x`."""
        return np.asarray(self.law().pdf(x))

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the density at `x`."""
        return np.asarray(self.law().logpdf(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.asarray(self.law().cdf(x))

    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of at most `x`."""
        return np.asarray(self.law().logcdf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return np.asarray(self.law().sf(x))

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of more than `x`."""
        return np.asarray(self.law().logsf(x))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities `q`; of those outside of 0 to 1 a ModelError."""
        return np.asarray(self.law().ppf(probabilities(q)))

    def isf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities 1 - `q`, exact for the smallest `q`."""
        return np.asarray(self.law().isf(probabilities(q)))

    def moment(self, order: int) -> float:
        """Return the mean of a power, infinite for a tail too heavy to have one."""
        return float(self.law().moment(order))

    def mean(self) -> float:
        """Return the mean, infinite for a tail too heavy to have one."""
        return float(self.law().mean())

    def var(self) -> float:
        """Return the variance, infinite for a tail too heavy to have one."""
        return float(self.law().var())

    def entropy(self) -> float:
        """Return the differential entropy in nats."""
        return float(self.law().entropy())

    def support(self) -> tuple[float, float]:
        """Return the least and the largest value that there can be."""
        low, high = self.law().support()
        return float(low), float(high)

    def quantile_interval(self, q: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return between which values the quantiles of all such values lie, by what was seen.

        Of as many independent values as its n are worth, the share below a quantile is about
        normal: the ends are the quantiles at the ends of that share's interval (Thompson 1936;
        of clusters Woodruff 1952).

        Raises
        ------
        ModelError
            It was not fitted to values, or a probability outside of 0 to 1.
        """
        if not self.worth:
            raise ModelError("a law that was not fitted to values has no intervals of quantiles")
        p = probabilities(q)
        outside = (1 - probabilities(confidence, "a confidence")) / 2
        clumped = (self.n / self.worth - 1) / max(self.alike, 1e-9)
        told = self.n / (1 + clumped * shared_steps(p, self.alike)) if self.alike else self.worth
        sure = special.stdtrit(np.maximum(np.asarray(told) - 1, 1), 1 - outside)
        half = sure * np.sqrt(p * (1 - p) / told)
        return self.ppf(np.maximum(p - half, 0)), self.ppf(np.minimum(p + half, 1))

    def expect(self, func: Callable[[Floats], ArrayLike]) -> float:
        """Return the mean of a function of the value, which takes arrays.

        By Gauss's rule in every percent, and in cells ever finer towards probabilities of 0 and 1.
        """
        return float(np.dot(_WEIGHT, func(self.ppf(_AT))) + np.dot(_WEIGHT, func(self.isf(_AT))))

    def __repr__(self) -> str:
        numbers = ", ".join(f"{p.name}={p.value:.4g}" for p in self.parameters)
        return f"Distribution({self.family}: {numbers}; n={self.n:,}, {self.verdict})"

    @property
    def verdict(self) -> str:
        """Whether the family passed, in words."""
        gap = "" if self.ks is None else f", KS {self.ks:.3f}"
        if self.own:
            return "; ".join(map(str, self.own))
        if self.family == EMPIRICAL:
            return f"no family holds{gap}" if self.candidates else f"as observed{gap}"
        if self.rejected is None:
            return f"not tested{gap}"
        chance = "" if self.p is None else f" (p {'< 0.01' if self.p < 0.01 else f'{self.p:.2f}'})"
        return f"{'rejected' if self.rejected else 'not rejected'}{chance}{gap}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(p.name)}</td><td>{p.value:.5g}</td><td>"
            + ("chosen" if p.low is None or p.high is None else f"{p.low:.5g} to {p.high:.5g}")
            + "</td></tr>"
            for p in self.parameters
        )
        return (
            f"<table><caption><b>{escape(self.family)}</b> · n {self.n:,}, censored "
            f"{self.censored:,} · {escape(self.verdict)}</caption>"
            f"<tr><th>parameter</th><th>value</th><th>95 % interval</th></tr>{rows}</table>"
        )


@lru_cache(maxsize=4096)
def _law(family: str, values: tuple[float, ...], knots: tuple[float, ...]) -> Law:
    if family == EMPIRICAL:
        if len(values) != len(EMPIRICAL_PARAMETERS) or len(knots) < 2:
            raise ModelError("an empirical law needs its knots, body, tail_shape and tail_scale")
        return QuantileGrid(separated(np.asarray(knots)), *values)
    return FAMILIES[family].law(np.asarray(values))


def observed(x: Lifetimes) -> tuple[float, ...]:
    """Return a sample's own quantiles at `OBSERVED_LEVELS`, as far as censoring lets see."""
    values, reach = x.quantiles(OBSERVED_LEVELS)
    return rounded(values[np.asarray(OBSERVED_LEVELS) <= reach])


def rounded(values: Floats, digits: int = 6) -> tuple[float, ...]:
    """Return numbers with so many significant digits, as a model's file keeps them."""
    return tuple(float(f"{v:.{digits}g}") for v in values)
