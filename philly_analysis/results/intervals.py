"""How sure a number is: shares and trends where users repeat themselves, and rates of events."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from philly_analysis.results.formatting import share
from philly_analysis.results.result import Fact

Direction = Literal["rises", "falls", "unclear"]

_FEWEST = 3
"""Observations, and clusters of them, below which nothing is said."""
_TAIL = 0.025
"""Of what is left out of an interval, the half at each end."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of observations, with a 95 % interval that allows for clusters.

    Attributes
    ----------
    frac
        0 to 1; NaN without observations.
    low, high
        Its interval; NaN where there are fewer than three clusters.
    """

    frac: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return it as a sentence says it."""
        if np.isnan(self.low):
            return share(self.frac)
        return f"{share(self.frac)} (95 % interval {share(self.low)} to {share(self.high)})"

    def facts(self, stem: str, meaning: str) -> tuple[Fact, ...]:
        """Return it and its interval as facts, in percent."""
        return (
            Fact(f"{stem}_pct", 100 * self.frac, meaning),
            Fact(f"{stem}_low_pct", 100 * self.low, "lower end of its 95 % interval"),
            Fact(f"{stem}_high_pct", 100 * self.high, "upper end of its 95 % interval"),
        )


def clustered_share(
    hits: ArrayLike, clusters: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Share:
    """Estimate a share, or a ratio of weights, where observations of one cluster may be alike.

    The interval is the linearised one of a ratio of cluster totals (Cochran, Sampling Techniques,
    1977, section 6.4), with Student's t on clusters - 1 degrees of freedom, cut at 0 and 1. Where
    none counts, or all, it has no width: then it is that of Clopper and Pearson (1934), as of one
    observation per cluster.

    Parameters
    ----------
    hits
        Whether each observation counts, or which part of it, shape (n,).
    clusters
        Group of each, shape (n,); a missing group stands alone, as does each if None.
    weights
        Weight of each, shape (n,); None: all alike.
    """
    x = np.asarray(hits, float)
    w = np.ones_like(x) if weights is None else np.asarray(weights, float)
    if not w.sum() > 0:
        return Share(np.nan, np.nan, np.nan)
    frac = float(np.sum(w * x) / w.sum())
    _, group = np.unique(_codes(clusters, len(x)), return_inverse=True)
    totals = np.bincount(group, w * (x - frac))
    n = len(totals)
    if n < _FEWEST:
        return Share(frac, np.nan, np.nan)
    if frac in (0.0, 1.0):
        least = _TAIL ** (1 / n)
        return Share(frac, 0.0, 1 - least) if frac == 0.0 else Share(frac, least, 1.0)
    error = np.sqrt(np.sum(totals**2) * n / (n - 1)) / w.sum()
    half = float(special.stdtrit(n - 1, 1 - _TAIL) * error)
    return Share(frac, max(frac - half, 0.0), min(frac + half, 1.0))


@dataclass(frozen=True, slots=True)
class Rate:
    """Events of a Poisson process over the time for which it was watched.

    Attributes
    ----------
    events
        How many were seen.
    exposure
        For how long, in whatever unit.
    """

    events: int
    exposure: float

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of events per unit (Garwood, Biometrika 28, 1936).

        Without an event: from 0 to the rate under which none is seen in 5 % of such stretches.
        """
        if not self.exposure > 0:
            return 0.0, np.inf
        if self.events == 0:
            return 0.0, float(-np.log(0.05) / self.exposure)
        # half the quantiles of chi-squared with twice as many degrees of freedom
        low = special.gammaincinv(self.events, _TAIL)
        high = special.gammaincinv(self.events + 1, 1 - _TAIL)
        return float(low / self.exposure), float(high / self.exposure)

    @property
    def per_unit(self) -> float:
        """Events per unit; NaN where nothing was watched."""
        return self.events / self.exposure if self.exposure > 0 else np.nan

    def mean_time(self, parts: float = 1) -> tuple[float, float, float]:
        """Return the mean time to the first event among `parts` alike, and its interval.

        Parts fail one by one, each as often as any other: the rates add up. Without an event the
        mean and the upper end are infinite, and the lower end is a bound with 95 % confidence.
        """
        low, high = self.interval
        return (
            1 / (parts * self.per_unit) if self.events else np.inf,
            1 / (parts * high) if high > 0 else np.inf,
            1 / (parts * low) if low > 0 else np.inf,
        )


def dispersion(counts: ArrayLike, exposures: ArrayLike, draws: int = 9_999) -> tuple[float, float]:
    """Test whether events gather on few of the places where they could have happened.

    Given their number, events of equal rate everywhere fall like a multinomial draw by exposure
    (the Poisson dispersion test; Rao and Chakravarti, Biometrics 12, 1956). The test is by
    simulation, with a fixed seed, so it holds where few events are expected at each place.

    Parameters
    ----------
    counts, exposures
        Events at each place and how long it was watched, shape (n,); places never watched are
        left out.

    Returns
    -------
    tuple of float
        Pearson's chi-square over its mean under equal rates (above 1: they gather), and the share
        of draws that are at least as uneven, this one included; NaN where there is nothing to test.
    """
    n, e = np.asarray(counts, float), np.asarray(exposures, float)
    n, e = n[e > 0], e[e > 0]
    total = int(n.sum())
    if len(e) < 2 or total < 2:
        return np.nan, np.nan
    expected = total * e / e.sum()
    drawn = np.random.default_rng(0).multinomial(total, e / e.sum(), size=draws)
    statistic = float(np.sum((n - expected) ** 2 / expected))
    others = np.sum((drawn - expected) ** 2 / expected, axis=1)
    # draws that are equal but for rounding count as equal
    beyond = int(np.sum(others >= statistic * (1 - 1e-9)))
    return statistic / (len(e) - 1), (1 + beyond) / (1 + draws)


@dataclass(frozen=True, slots=True)
class Association:
    """Rank correlation of two quantities, with an interval that allows for clusters.

    Attributes
    ----------
    rho
        Spearman's rank correlation, -1 to 1; NaN where one of the two does not vary.
    low, high
        Its 95 % interval; NaN where there are fewer than three clusters.
    n, clusters
        Observations, and groups of observations that may be alike (e.g. users).
    """

    rho: float
    low: float
    high: float
    n: int
    clusters: int

    @property
    def direction(self) -> Direction:
        """What the interval supports: the second rises or falls with the first, or neither."""
        if self.low > 0:
            return "rises"
        return "falls" if self.high < 0 else "unclear"

    def say(self, *, rises: str, falls: str, unclear: str) -> str:
        """Return the sentence that the interval supports, with the numbers that support it."""
        words = {"rises": rises, "falls": falls, "unclear": unclear}[self.direction]
        if np.isnan(self.low):
            few = self.n < _FEWEST or self.clusters < _FEWEST
            why = "too few to say" if few else "nothing varies"
            return f"{words} (n = {self.n:,}: {why})."
        return (
            f"{words} (rank correlation {self.rho:+.2f}, "
            f"95 % interval {self.low:+.2f} to {self.high:+.2f})."
        )

    def facts(self, prefix: str, quantities: str) -> tuple[Fact, ...]:
        """Return the correlation and its interval as facts."""
        return (
            Fact(f"{prefix}_rho", self.rho, f"rank correlation of {quantities}"),
            Fact(f"{prefix}_rho_low", self.low, "lower end of its 95 % interval"),
            Fact(f"{prefix}_rho_high", self.high, "upper end of its 95 % interval"),
        )


def rank_association(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None) -> Association:
    """Measure whether `y` rises with `x`, by ranks.

    The interval is the cluster-robust one from the influence function of the correlation
    coefficient (Devlin, Gnanadesikan and Kettenring, Biometrika 62, 1975), with
    Student's t on clusters - 1 degrees of freedom: jobs of one user count as alike.

    Parameters
    ----------
    x, y
        Numbers, shape (n,); pairs with a NaN are left out.
    clusters
        Group of each pair, shape (n,); a missing group stands alone, as does each pair if None.

    Returns
    -------
    Association
        The rank correlation and its 95 % interval.
    """
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(xs) & np.isfinite(ys)
    groups = _codes(clusters, len(xs))[known]
    n = int(known.sum())
    n_groups = len(np.unique(groups))
    nothing = Association(np.nan, np.nan, np.nan, n, n_groups)
    if n < _FEWEST:
        return nothing
    zx, zy = (_standard(np.asarray(pd.Series(v[known]).rank(), float)) for v in (xs, ys))
    if zx is None or zy is None:
        return nothing
    rho = float(np.mean(zx * zy))
    if n_groups < _FEWEST:
        return Association(rho, np.nan, np.nan, n, n_groups)
    influence = zx * zy - rho * (zx**2 + zy**2) / 2
    _, group = np.unique(groups, return_inverse=True)
    sums = np.bincount(group, influence)
    error = np.sqrt(np.sum(sums**2) * n_groups / (n_groups - 1)) / n
    half = float(special.stdtrit(n_groups - 1, 1 - _TAIL) * error)
    return Association(rho, max(rho - half, -1.0), min(rho + half, 1.0), n, n_groups)


def _standard(ranks: NDArray[np.float64]) -> NDArray[np.float64] | None:
    spread = ranks.std()
    return (ranks - ranks.mean()) / spread if spread > 0 else None


def _codes(clusters: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Give each group a code, and each missing one a code of its own."""
    own = np.arange(n, dtype=np.int64)
    if clusters is None:
        return own
    codes, _ = pd.factorize(np.asarray(clusters, dtype=object))
    return np.where(codes < 0, n + own, codes)


@dataclass(frozen=True, slots=True)
class Paired:
    """What a treatment changes, from pairs with and without it, with a 95 % interval.

    Attributes
    ----------
    effect
        Mean change; NaN without pairs.
    low, high
        Its interval; NaN where there are fewer than three pairs.
    pairs
        How many there are.
    """

    effect: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        """Return it as a sentence says it."""
        if np.isnan(self.low):
            return f"{self.effect:+.3g}"
        return f"{self.effect:+.3g} (95 % interval {self.low:+.3g} to {self.high:+.3g})"


def paired(after: ArrayLike, before: ArrayLike, *, relative: bool = False) -> Paired:
    """Estimate a change from pairs of the same thing with and without a treatment.

    The interval is Student's, of the differences; what the two of a pair have in common, such as
    the jobs drawn from one seed, is in neither.

    Parameters
    ----------
    after, before
        With and without the treatment, shape (n,): the k-th of each are a pair.
    relative
        Whether the change is in percent of `before`: of the mean logarithm of the ratios, so that
        halving and doubling are alike. All values must then be positive.
    """
    a, b = np.asarray(after, float), np.asarray(before, float)
    change = np.log(a) - np.log(b) if relative else a - b
    n = len(change)
    mean = float(change.mean()) if n else np.nan
    half = (
        float(special.stdtrit(n - 1, 1 - _TAIL) * change.std(ddof=1) / np.sqrt(n))
        if n >= _FEWEST
        else np.nan
    )
    found = (mean, mean - half, mean + half)
    if relative:
        found = tuple(100 * float(np.expm1(x)) for x in found)  # type: ignore[assignment]
    return Paired(*found, pairs=n)
