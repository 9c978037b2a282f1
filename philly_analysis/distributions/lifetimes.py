"""Right-censored samples and their Kaplan-Meier estimates."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Bools, Floats, Ints
from philly_analysis.distributions.design_effect import effective_size, intracluster_correlation
from philly_analysis.errors import ModelError

# A fit to this many evenly spaced order statistics equals a fit to all values to well within the
# interval, and takes seconds for any trace.
FIT_POINTS = 20_000


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """A right-censored sample, sorted by value.

    Attributes
    ----------
    values
        Shape (n,), positive: the duration, or of a censored one its lower bound.
    censored
        Shape (n,): whether the value is only a lower bound.
    cluster
        Shape (n,), integers from 0: values of one cluster are correlated; None: all values are
        independent.
    correlation
        Correlation of the normal scores of two values of one cluster.
    """

    values: Floats
    censored: Bools
    cluster: Ints | None = None
    correlation: float = 0.0

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        censored: ArrayLike | None = None,
        noun: str = "values",
        *,
        cluster: ArrayLike | None = None,
        correlation: float | None = None,
    ) -> Self:
        """Validate and sort a sample.

        Parameters
        ----------
        values
            Durations, shape (n,).
        censored
            Flags of the same shape; none censored when absent.
        noun
            Name of the values in error messages.
        cluster
            Cluster of each value; all independent when absent.
        correlation
            Correlation of the normal scores within a cluster; estimated when absent.

        Raises
        ------
        ModelError
            There are no values, fewer than two uncensored values, or values that are not positive.
        """
        x = np.asarray(values, dtype=float).ravel()
        late = np.zeros(x.size, bool) if censored is None else np.asarray(censored, bool).ravel()
        index = None if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1]
        completed = x.size - int(late.sum())
        labels = x.size if index is None else index.size
        for wrong, message in (
            (late.size != x.size, f"{x.size} values have {late.size} censoring flags"),
            (x.size == 0, "there are no values to fit to"),
            (
                not np.isfinite(x).all(),
                f"{(~np.isfinite(x)).sum()} of {x.size} values are missing or infinite; "
                "drop them, or mark unfinished ones as censored",
            ),
            (
                (x <= 0).any(),
                f"{(x <= 0).sum()} of {x.size} values are zero or negative; "
                "durations must be positive",
            ),
            (
                completed < 2,
                f"{completed} of {x.size} values are uncensored; at least two are needed",
            ),
            (labels != x.size, f"{x.size} values have {labels} cluster labels"),
        ):
            if wrong:
                raise ModelError(f"{noun}: {message}")
        made = cls(x, late, index).sorted()
        if index is None:
            return made
        if correlation is None:
            by_value = index[np.argsort(x, kind="stable")]
            correlation = intracluster_correlation(made.scores(), by_value)
        return replace(made, correlation=correlation)

    def sorted(self) -> Self:
        """Return the sample sorted by value."""
        return self._select(np.argsort(self.values, kind="stable"))

    def _select(self, index: Ints) -> Self:
        cluster = None if self.cluster is None else self.cluster[index]
        return type(self)(self.values[index], self.censored[index], cluster, self.correlation)

    @property
    def n(self) -> int:
        """Number of values, censored values included."""
        return self.values.size

    @property
    def effective_n(self) -> float:
        """Effective sample size: the equivalent number of independent values."""
        if self.cluster is None:
            return float(self.n)
        return effective_size(self.cluster, self.correlation)

    @property
    def ended(self) -> Floats:
        """Uncensored values, ascending."""
        return self.values[~self.censored]

    @property
    def running(self) -> Floats:
        """Censored values, ascending."""
        return self.values[self.censored]

    def thinned(self, points: int = FIT_POINTS) -> Self:
        """Return at most `points` evenly spaced order statistics."""
        if self.n <= points:
            return self
        step = self.n / points
        kept = []
        for part in (np.flatnonzero(~self.censored), np.flatnonzero(self.censored)):
            count = round(part.size / step)
            kept.append(part[((np.arange(count) + 0.5) * part.size / max(count, 1)).astype(int)])
        return self._select(np.sort(np.concatenate(kept)))

    def subsample(self, count: int, rng: np.random.Generator) -> Self:
        """Draw a random subsample without replacement."""
        if count >= self.n:
            return self
        return self._select(np.sort(rng.choice(self.n, count, replace=False)))

    def scores(self) -> Floats:
        """Return normal scores by rank, shape (n,); of censored values the expected score."""
        value, before, at = self.ecdf()
        i = np.searchsorted(value, self.values, side="right") - 1
        level = np.where(self.censored, np.append(at, 0.0)[i], np.append((before + at) / 2, 0.0)[i])
        z = special.ndtri(np.clip(level, 1e-4, 1 - 1e-4))
        beyond = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / special.ndtr(-z)
        return np.asarray(np.where(self.censored, beyond, z))

    def ecdf(self) -> tuple[Floats, Floats, Floats]:
        """Return the distinct uncensored values, and the CDF just before and at each.

        With censoring the result is the Kaplan-Meier estimate. Survival is the product of 1 - d/r
        over uncensored values, for d ends among r values at risk.
        """
        x, ends = np.unique(self.ended, return_counts=True)
        at_risk = self.n - np.searchsorted(self.values, x, side="left")
        survival = np.cumprod(1 - ends / at_risk)
        before = np.concatenate(([1.0], survival[:-1]))
        return x, np.asarray(1 - before, float), np.asarray(1 - survival, float)

    def quantiles(self, q: ArrayLike) -> tuple[Floats, float]:
        """Return quantiles of the Kaplan-Meier curve, and the highest probability it reaches."""
        x, _, at = self.ecdf()
        index = np.searchsorted(at, np.asarray(q, float) - 1e-12, side="left")
        return x[np.minimum(index, x.size - 1)], float(at[-1])
