"""A fitted distribution: used like a frozen SciPy one, and honest about how well it fits."""

from dataclasses import dataclass
from functools import lru_cache
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.laws.continuous import Law, QuantileGrid, separated
from philly_analysis.laws.families import FAMILIES
from philly_analysis.laws.lifetimes import Lifetimes

Floats = NDArray[np.float64]

EMPIRICAL = "empirical"
OBSERVED_LEVELS = tuple(i / 100 for i in range(1, 100))
EMPIRICAL_PARAMETERS = ("body", "tail_shape", "tail_scale")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted number with its 95 % confidence interval (None: it has none, it was chosen)."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family that was tried, and how it did (rejected None: not reached in order of AIC)."""

    family: str
    aic: float
    ks: float
    rejected: bool | None


@dataclass(frozen=True, slots=True)
class Distribution:
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
    knots
        Quantiles of the empirical law, evenly spaced in probability from 0 to ``body``.
    candidates
        What else was tried, by AIC.
    observed
        The data's own quantiles at `OBSERVED_LEVELS` (fewer where censoring hides the top), to
        draw the fit against.
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

    def __post_init__(self) -> None:
        if self.family != EMPIRICAL and self.family not in FAMILIES:
            raise UnknownNameError("family of distributions", self.family, [*FAMILIES, EMPIRICAL])

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

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at `x`."""
        return np.asarray(self.law().pdf(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x`."""
        return np.asarray(self.law().cdf(x))

    def sf(self, x: ArrayLike) -> Floats:
        """Return the probability of more than `x`."""
        return np.asarray(self.law().sf(x))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles at probabilities `q`."""
        return np.asarray(self.law().ppf(q))

    def mean(self) -> float:
        """Return the mean, infinite for a tail too heavy to have one."""
        return float(self.law().mean())

    def median(self) -> float:
        """Return the median."""
        return float(self.ppf(0.5))

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | int | None = None,
    ) -> Floats:
        """Draw values by inverting the CDF.

        Parameters
        ----------
        size
            Shape of the draw; a single value when None.
        random_state
            A generator, a seed, or None for fresh entropy, as in SciPy.
        """
        return self.ppf(np.random.default_rng(random_state).random(size))

    def __repr__(self) -> str:
        numbers = ", ".join(f"{p.name}={p.value:.4g}" for p in self.parameters)
        return f"Distribution({self.family}: {numbers}; n={self.n:,}, {self.verdict})"

    @property
    def verdict(self) -> str:
        """Whether the family passed, in words."""
        gap = "" if self.ks is None else f", KS {self.ks:.3f}"
        if self.family == EMPIRICAL:
            return f"no family passed{gap}" if self.candidates else f"as observed{gap}"
        if self.rejected is None:
            return f"not tested{gap}"
        return f"{'rejected' if self.rejected else 'not rejected'}{gap}"

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
