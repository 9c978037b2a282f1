"""Positive durations, some of them only known to exceed what was seen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

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
    """

    values: Floats
    censored: Bools

    @classmethod
    def of(
        cls, values: ArrayLike, censored: ArrayLike | None = None, what: str = "values"
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
        order = np.argsort(x, kind="stable")
        return cls(x[order], late[order])

    @property
    def n(self) -> int:
        """Number of values, censored ones included."""
        return self.values.size

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
        for part in (self.ended, self.running):
            count = round(part.size / step)
            kept.append(part[((np.arange(count) + 0.5) * part.size / max(count, 1)).astype(int)])
        x = np.concatenate(kept)
        late = np.repeat([False, True], [kept[0].size, kept[1].size])
        order = np.argsort(x, kind="stable")
        return Lifetimes(x[order], late[order])

    def drawn(self, count: int, rng: np.random.Generator) -> "Lifetimes":
        """Return a random subsample without replacement."""
        if count >= self.n:
            return self
        pick = np.sort(rng.choice(self.n, count, replace=False))
        return Lifetimes(self.values[pick], self.censored[pick])

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
