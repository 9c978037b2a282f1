"""A fitted distribution with the interface of a frozen SciPy distribution and its fit quality.

A third of the file documents the public methods.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.confidence import mean_interval, quantile_interval
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.fitted import FittedDistribution
from philly_analysis.distributions.frozen import Continuous
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.distributions.quantile_grid import (
    MAX_TAIL_SHAPE,
    QuantileGrid,
    separate_ties,
)
from philly_analysis.distributions.truncated import Truncated
from philly_analysis.errors import ModelError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd


EMPIRICAL = "empirical"
OBSERVED_LEVELS = tuple(i / 100 for i in range(1, 100))
EMPIRICAL_PARAMETERS = ("body", "tail_shape", "tail_scale")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A fitted number with its 95 % confidence interval (None if it has none)."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family that was tried, and its fit (rejected, p None: not tested)."""

    family: str
    aic: float
    ks: float
    rejected: bool | None
    bic: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """How much the values of one condition contribute to a distribution.

    Attributes
    ----------
    condition
        The condition, e.g. a virtual cluster.
    effective_n
        Effective sample size of the condition's values.
    weight
        Weight of the condition's distribution, 0 to 1; the pooled distribution has the rest.
    """

    condition: str
    effective_n: float
    weight: float

    def __str__(self) -> str:
        return (
            f"{100 * self.weight:.0f} % weight of {self.condition} "
            f"(effective sample size {self.effective_n:,.0f})"
        )


@dataclass(frozen=True, slots=True)
class Distribution(FittedDistribution):
    """A fitted distribution of a positive quantity, with the methods of a frozen SciPy one.

    Attributes
    ----------
    family
        One of `FAMILIES`, or ``empirical``: quantiles with a generalised Pareto tail.
    parameters
        Fitted numbers with 95 % confidence intervals.
    n, censored
        Number of fitted values, and number of right-censored values among them.
    aic
        Akaike's criterion on the effective sample size; None for the empirical distribution.
    ks
        Largest gap between its CDF and the sample's (Kaplan-Meier when censored).
    rejected
        Whether a goodness-of-fit test at 5 % that allows for the fitting rejects the family;
        None if not tested.
    p
        p-value of the goodness-of-fit test. A test that was stopped early gives an upper bound
        below 5 %, or an estimate above 5 %.
    knots
        Quantiles of the empirical distribution, evenly spaced in probability from 0 to ``body``.
    candidates
        The families tried, by BIC.
    observed
        The sample's quantiles at `OBSERVED_LEVELS` (fewer where censoring hides the top).
    effective_n
        Effective sample size; None if not fitted to a sample.
    correlation
        Correlation of the normal scores of two values of one cluster.
    contributions
        Conditions and their weights; empty if the distribution is not shrunk.
    upper
        Largest possible value, at which the tail is truncated; None: no bound.
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
    effective_n: float | None = None
    correlation: float = 0.0
    p: float | None = None
    contributions: tuple[Contribution, ...] = ()
    upper: float | None = None

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
        """Return the empirical distribution with given quantiles.

        Parameters
        ----------
        knots
            Evenly spaced in probability from 0 to `body`.
        tail_shape, tail_scale
            Parameters of the generalised Pareto tail.
        like
            A distribution fitted to the same values, whose counts are copied.
        """
        numbers = tuple(map(Parameter, EMPIRICAL_PARAMETERS, (body, tail_shape, tail_scale)))
        like = like or cls(EMPIRICAL, numbers)
        return cls(
            EMPIRICAL,
            numbers,
            like.n,
            like.censored,
            knots=tuple(map(float, knots)),
            effective_n=like.effective_n,
            correlation=like.correlation,
            upper=like.upper,
        )

    def frozen(self) -> Continuous:
        """Return the frozen distribution that the methods call (cached)."""
        values = tuple(p.value for p in self.parameters)
        return _frozen(self.family, values, self.knots, self.upper)

    @property
    def bic(self) -> float | None:
        """Schwarz's criterion on the effective sample size; None without a likelihood."""
        if self.aic is None:
            return None
        n = self.effective_n or float(self.n)
        return float(self.aic - 2 * self.free + self.free * np.log(max(n, 1.0)))

    @property
    def free(self) -> int:
        """Number of free parameters: the weights of a mixture have sum 1."""
        mixed = self.family in FAMILIES and FAMILIES[self.family].sizes != (1,)
        return len(self.parameters) - mixed

    def quantile_interval(self, q: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return confidence intervals of the quantiles.

        With the effective sample size, the share below a quantile is approximately normal. The
        ends are the quantiles at the ends of that share's interval (Thompson 1936; of clusters
        Woodruff 1952).

        Raises
        ------
        ModelError
            The distribution was not fitted to values, or a probability is outside of 0 to 1.
        """
        return quantile_interval(
            self.ppf, q, confidence, self.n, self.effective_n, self.correlation
        )

    def mean_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the mean.

        The interval is symmetric for the logarithm of the mean. Its width is from the standard
        deviation and the effective sample size, with Student's t distribution. A distribution
        with an infinite standard deviation has the interval from 0 to infinity.

        Raises
        ------
        ModelError
            The distribution was not fitted to values, or the confidence is outside of 0 to 1.
        """
        return mean_interval(self.mean(), self.std(), confidence, self.effective_n)

    def fit_summary(self) -> "pd.DataFrame":
        """Return the parameters with their intervals, and the goodness of fit.

        Returns
        -------
        pandas.DataFrame
            One row per parameter: family, parameter, value, low, high (95 %; nan: none), n,
            censored, ks (largest gap between the CDF and the sample's), p (of the test that the
            family fits; nan: not tested), aic, bic.
        """
        import pandas as pd

        numbers = [(p.name, p.value, p.low, p.high) for p in self.parameters]
        table = pd.DataFrame(numbers, columns=["parameter", "value", "low", "high"])
        table.insert(0, "family", self.family)
        fit = {"n": self.n, "censored": self.censored, "ks": self.ks, "p": self.p}
        table = table.assign(**fit, aic=self.aic, bic=self.bic)
        return table.astype(dict.fromkeys(("low", "high", "ks", "p", "aic", "bic"), float))

    def __repr__(self) -> str:
        numbers = ", ".join(f"{p.name}={p.value:.4g}" for p in self.parameters)
        return f"Distribution({self.family}: {numbers}; n={self.n:,}, {self.verdict})"

    @property
    def verdict(self) -> str:
        """Goodness of fit as text."""
        gap = "" if self.ks is None else f", KS {self.ks:.3f}"
        if self.contributions:
            return "; ".join(map(str, self.contributions))
        if self.family == EMPIRICAL and self.parameters[1].value == MAX_TAIL_SHAPE:
            gap += f", tail shape limited to {MAX_TAIL_SHAPE:g}"
        if self.upper is None and not np.isfinite(self.var()):
            gap += ", infinite standard deviation"
        if self.family == EMPIRICAL:
            return f"every family rejected{gap}" if self.candidates else f"empirical{gap}"
        if self.rejected is None:
            return f"not tested{gap}"
        chance = "" if self.p is None else f" (p {'< 0.01' if self.p < 0.01 else f'{self.p:.2f}'})"
        return f"{'rejected' if self.rejected else 'not rejected'}{chance}{gap}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(p.name)}</td><td>{p.value:.5g}</td><td>"
            + ("none" if p.low is None or p.high is None else f"{p.low:.5g} to {p.high:.5g}")
            + "</td></tr>"
            for p in self.parameters
        )
        mean = ""
        if self.effective_n:
            low, high = self.mean_interval()
            mean = f" · mean {self.mean():.5g} (95 % interval {low:.5g} to {high:.5g})"
        return (
            f"<table><caption><b>{escape(self.family)}</b> · n {self.n:,}, censored "
            f"{self.censored:,} · {escape(self.verdict)}{mean}</caption>"
            f"<tr><th>parameter</th><th>value</th><th>95 % interval</th></tr>{rows}</table>"
        )


@lru_cache(maxsize=4096)
def _frozen(
    family: str, values: tuple[float, ...], knots: tuple[float, ...], upper: float | None
) -> Continuous:
    if family == EMPIRICAL:
        if len(values) != len(EMPIRICAL_PARAMETERS) or len(knots) < 2:
            raise ModelError(
                "an empirical distribution needs at least two knots, body, tail_shape and "
                "tail_scale"
            )
        separate = separate_ties(np.asarray(knots))
        # a tilted or shrunk distribution may have knots above the bound of its data
        bound = np.inf if upper is None else max(upper, float(separate[-1]) * (1 + 1e-6))
        body, shape, scale = values
        return QuantileGrid(separate, body, shape, scale, bound)
    whole = FAMILIES[family].frozen(np.asarray(values))
    return whole if upper is None else Truncated(whole, upper)


def observed_quantiles(x: Lifetimes) -> tuple[float, ...]:
    """Return a sample's quantiles at `OBSERVED_LEVELS`, as far as censoring permits."""
    values, reach = x.quantiles(OBSERVED_LEVELS)
    return round_significant(values[np.asarray(OBSERVED_LEVELS) <= reach])


def round_significant(values: Floats, digits: int = 6) -> tuple[float, ...]:
    """Round numbers to significant digits, as in a model's file."""
    return tuple(float(f"{v:.{digits}g}") for v in values)
