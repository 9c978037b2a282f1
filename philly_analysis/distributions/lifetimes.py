"""Positive durations, some of them only known to exceed what was seen."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike, NDArray

from philly_analysis.distributions.design_effect import correlation, worth
from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.integer[Any]]

# Maximum likelihood on this many evenly spaced order statistics equals the one on all of them to
# well within its interval, and keeps a fit of any trace to seconds.
FIT_POINTS = 20_000


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """A right-censored sample, sorted by value.

    Attributes
    ----------
    values
        Shape (n,), positive: the duration; of a censored one, the time it had run when last seen.
    censored
        Shape (n,): true where the duration is only known to exceed its value.
    cluster
        Shape (n,), integers from 0: values of one cluster are alike; None: all are independent.
    alike
        Correlation of the normal scores of two values of one cluster.
    """

    values: Floats
    censored: Bools
    cluster: Ints | None = None
    alike: float = 0.0

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        censored: ArrayLike | None = None,
        what: str = "values",
        *,
        cluster: ArrayLike | None = None,
        alike: float | None = None,
    ) -> "Lifetimes":
        """Check and sort a sample.

        Parameters
        ----------
        values
            Durations, shape (n,).
        censored
            Flags of the same shape; none censored when absent.
        what
            What the values are, for the error messages.
        cluster
            Shape (n,): which values are not independent; all are when absent.
        alike
            Correlation of the normal scores of values of one cluster; measured when absent.

        Raises
        ------
        ModelError
            When nothing can be learnt: no values, one value, all censored, values of zero or less.
        """
        x = np.asarray(values, dtype=float).ravel()
        late = np.zeros(x.size, bool) if censored is None else np.asarray(censored, bool).ravel()
        if late.size != x.size:
            raise ModelError(
                f"{what}: {x.size} values came with {late.size} censoring flags; give one for each"
            )
        if x.size == 0:
            raise ModelError(f"{what}: nothing to fit, there are no values")
        if not np.isfinite(x).all():
            raise ModelError(
                f"{what}: {(~np.isfinite(x)).sum()} of {x.size} values are missing or infinite; "
                "drop them, or mark what is unfinished as censored"
            )
        if (x <= 0).any():
            raise ModelError(
                f"{what}: {(x <= 0).sum()} of {x.size} values are zero or negative; "
                "durations must be positive"
            )
        if late.all():
            raise ModelError(
                f"{what}: all {x.size} values are censored; at least two must be seen to their end"
            )
        if x.size - late.sum() < 2:
            raise ModelError(
                f"{what}: only one of {x.size} values was seen to its end; at least two are needed"
            )
        if cluster is None:
            return cls(x, late).ordered()
        of = np.unique(np.asarray(cluster), return_inverse=True)[1]
        if of.size != x.size:
            raise ModelError(f"{what}: {x.size} values came with {of.size} clusters; each has one")
        made = cls(x, late, of).ordered()
        if alike is None:
            alike = correlation(made.scores(), of[np.argsort(x, kind="stable")])
        return replace(made, alike=alike)

    def ordered(self) -> "Lifetimes":
        """Return the same, by value."""
        return self._taken(np.argsort(self.values, kind="stable"))

    def _taken(self, index: Ints) -> "Lifetimes":
        cluster = None if self.cluster is None else self.cluster[index]
        return Lifetimes(self.values[index], self.censored[index], cluster, self.alike)

    @property
    def n(self) -> int:
        """Number of values, censored ones included."""
        return self.values.size

    @property
    def worth(self) -> float:
        """How many independent values they are worth."""
        return float(self.n) if self.cluster is None else worth(self.cluster, self.alike)

    @property
    def ended(self) -> Floats:
        """The values seen to their end, ascending."""
        return self.values[~self.censored]

    @property
    def running(self) -> Floats:
        """The censored values, ascending."""
        return self.values[self.censored]

    def thinned(self, points: int = FIT_POINTS) -> "Lifetimes":
        """Return evenly spaced order statistics, at most `points` of them."""
        if self.n <= points:
            return self
        step = self.n / points
        kept = []
        for part in (np.flatnonzero(~self.censored), np.flatnonzero(self.censored)):
            count = round(part.size / step)
            kept.append(part[((np.arange(count) + 0.5) * part.size / max(count, 1)).astype(int)])
        return self._taken(np.sort(np.concatenate(kept)))

    def drawn(self, count: int, rng: np.random.Generator) -> "Lifetimes":
        """Return a random subsample without replacement."""
        if count >= self.n:
            return self
        return self._taken(np.sort(rng.choice(self.n, count, replace=False)))

    def scores(self) -> Floats:
        """Return normal scores, shape (n,): by rank, and of censored values what is expected."""
        value, before, at = self.ecdf()
        i = np.searchsorted(value, self.values, side="right") - 1
        level = np.where(self.censored, np.append(at, 0.0)[i], np.append((before + at) / 2, 0.0)[i])
        z = special.ndtri(np.clip(level, 1e-4, 1 - 1e-4))
        beyond = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / special.ndtr(-z)
        return np.asarray(np.where(self.censored, beyond, z))

    def ecdf(self) -> tuple[Floats, Floats, Floats]:
        """Return the distinct ended values and the CDF just before and at each.

        With censoring this is the Kaplan-Meier estimate: survival is the product over ended
        values of 1 - d/r, for d ends among r still at risk.
        """
        x, ends = np.unique(self.ended, return_counts=True)
        at_risk = self.n - np.searchsorted(self.values, x, side="left")
        survival = np.cumprod(1 - ends / at_risk)
        before = np.concatenate(([1.0], survival[:-1]))
        return x, np.asarray(1 - before, float), np.asarray(1 - survival, float)

    def quantiles(self, q: ArrayLike) -> tuple[Floats, float]:
        """Return quantiles (of the Kaplan-Meier curve) and the highest probability it reaches."""
        x, _, at = self.ecdf()
        index = np.searchsorted(at, np.asarray(q, float) - 1e-12, side="left")
        return x[np.minimum(index, x.size - 1)], float(at[-1])
