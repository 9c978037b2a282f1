"""Estimate shares and event rates with 95 % intervals, and intervals of clustered sums."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.results.facts import Fact
from philly_analysis.results.formatting import share, whole_percent

FEWEST = 3
"""Fewest observations, and fewest clusters of observations, for an interval."""
_TAIL = 0.025
"""Probability beyond each end of an interval."""


def interval_facts(template: str, values: Iterable[float | None], meaning: str) -> tuple[Fact, ...]:
    """Return an estimate and the ends of its 95 % interval as facts.

    Parameters
    ----------
    template
        Name with a field for the end: ``idle{}_pct`` gives ``idle_pct``, ``idle_low_pct`` and
        ``idle_high_pct``.
    values
        The estimate, the lower and the upper end.
    """
    ends = {
        "": meaning,
        "_low": "lower end of its 95 % interval",
        "_high": "upper end of its 95 % interval",
    }
    return tuple(
        Fact(template.format(end), value, text)
        for (end, text), value in zip(ends.items(), values, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Share:
    """A share of observations with a 95 % interval for clustered data.

    Attributes
    ----------
    frac
        0 to 1; NaN without observations.
    low, high
        95 % interval of `frac`; NaN where there are fewer than three clusters.
    """

    frac: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the share and its interval as text."""
        if np.isnan(self.low):
            return share(self.frac)
        return f"{share(self.frac)} (95 % interval {share(self.low)} to {share(self.high)})"

    @property
    def interval(self) -> str:
        """The interval as text, rounded like a headline; empty without one."""
        if np.isnan(self.low):
            return ""
        low, high = whole_percent(self.low), whole_percent(self.high)
        return f"95 % interval {low.removesuffix(' %')} to {high}" if low != high else ""

    def facts(self, stem: str, meaning: str) -> tuple[Fact, ...]:
        """Return the share and its interval as facts, in percent."""
        values = (100 * self.frac, 100 * self.low, 100 * self.high)
        return interval_facts(f"{stem}{{}}_pct", values, meaning)


def clustered_share(
    hits: ArrayLike, clusters: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Share:
    """Estimate a share of clustered observations, or a ratio of weights.

    The interval is the linearised interval of a ratio of cluster totals (Cochran, Sampling
    Techniques, 1977, section 6.4), cut at 0 and 1. Student's t has clusters - 1 degrees of freedom.
    For shares of 0 and 1 the interval is Clopper and Pearson's (1934), with one observation per
    cluster.

    Parameters
    ----------
    hits
        Whether each observation counts, or which fraction of it, shape (n,).
    clusters
        Cluster of each observation, shape (n,). An observation without a cluster is a cluster of
        its own; None: each observation is.
    weights
        Weight of each observation, shape (n,); None: equal weights.
    """
    x = np.asarray(hits, float)
    w = np.ones_like(x) if weights is None else np.asarray(weights, float)
    whole = float(len(w)) if weights is None else math.fsum(w)  # the same for rows in any order
    if not whole > 0:
        return Share(np.nan, np.nan, np.nan)
    frac = math.fsum(w * x) / whole
    codes = cluster_codes(clusters, len(x))
    n = count_clusters(codes)
    if n < FEWEST:
        return Share(frac, np.nan, np.nan)
    if frac in (0.0, 1.0):
        least = _TAIL ** (1 / n)
        return Share(frac, 0.0, 1 - least) if frac == 0.0 else Share(frac, least, 1.0)
    half = half_width(w * (x - frac), codes, whole)
    return Share(frac, max(frac - half, 0.0), min(frac + half, 1.0))


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate of a Poisson process, from its events during an observed time.

    Attributes
    ----------
    events
        Number of events.
    exposure
        Observed time, in any unit.
    """

    events: int
    exposure: float

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of events per unit (Garwood, Biometrika 28, 1936).

        Without an event the interval ends at the rate at which no event has a probability of 5 %.
        """
        from scipy import special  # slow to import, and most commands need none

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
        """Events per unit of time; NaN without exposure."""
        return self.events / self.exposure if self.exposure > 0 else np.nan

    def mean_time(self, parts: float = 1) -> tuple[float, float, float]:
        """Return the mean time to the first event among `parts` equal parts, and its interval.

        The rates of independent parts add up. Without an event the mean and the upper end are
        infinite, and the lower end is a bound with 95 % confidence.
        """
        low, high = self.interval
        return (
            1 / (parts * self.per_unit) if self.events else np.inf,
            1 / (parts * high) if high > 0 else np.inf,
            1 / (parts * low) if low > 0 else np.inf,
        )


def dispersion(counts: ArrayLike, exposures: ArrayLike, draws: int = 9_999) -> tuple[float, float]:
    """Test whether event rates differ between places.

    Under equal rates the counts are a multinomial draw by exposure (Poisson dispersion test; Rao
    and Chakravarti, Biometrics 12, 1956). The test uses simulation with a fixed seed, so that it
    is valid for small expected counts.

    Parameters
    ----------
    counts, exposures
        Events and observed time of each place, shape (n,); places without exposure are excluded.

    Returns
    -------
    tuple of float
        Pearson's chi-square over its mean under equal rates (above 1: overdispersed), and the
        p-value. The p-value is the share of draws that are at least as uneven, the data included.
        NaN for fewer than two places or events.
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
    # draws that differ by rounding alone count as equal
    beyond = int(np.sum(others >= statistic * (1 - 1e-9)))
    return statistic / (len(e) - 1), (1 + beyond) / (1 + draws)


def half_width(influence: NDArray[np.float64], codes: NDArray[np.int64], scale: float) -> float:
    """Return half the 95 % interval of a sum of influences over `scale`, robust to clusters."""
    order = np.argsort(influence)  # sums of floats are then the same for rows in any order
    of_codes = np.bincount(codes[order], influence[order])
    totals = np.sort(of_codes[np.bincount(codes) > 0])
    return half_of_squares(float(np.sum(totals**2)), len(totals), scale)


def half_of_squares(squares: float, clusters: int, scale: float) -> float:
    """Return half the 95 % interval, from the sum of squares of the clusters' influences."""
    from scipy import special

    error = np.sqrt(squares * clusters / (clusters - 1)) / scale
    return float(special.stdtrit(clusters - 1, 1 - _TAIL) * error)


def cluster_codes(clusters: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Return a code per cluster, and a unique code for each missing cluster."""
    import pandas as pd

    row_numbers = np.arange(n, dtype=np.int64)
    if clusters is None:
        return row_numbers
    codes, _ = pd.factorize(pd.Series(clusters))
    return np.where(codes < 0, n + row_numbers, codes)


def count_clusters(codes: NDArray[np.int64]) -> int:
    """Return the number of different codes."""
    return int(np.count_nonzero(np.bincount(codes)))
