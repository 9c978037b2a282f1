"""Random effects of users and hours of the day on run times."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from philly_analysis.distributions import Contribution, Floats, Ints, effective_size

MIN_JOBS = 5
MAX_VARIANCE = 0.9


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of one user, or one hour of the day, on run times within a gang class.

    Attributes
    ----------
    name
        The user as named in samples, or the hour of the day in UTC.
    shift
        Mean normal score of the user's or hour's run times, in standard deviations.
    n, effective_n
        Number of jobs, and their effective sample size.
    """

    name: str
    shift: float
    n: int
    effective_n: float


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects of all users, or of all hours of the day.

    Attributes
    ----------
    effects_variance
        Variance of the true shifts, of a total variance of 1. Observed shifts are shrunk to 0 by
        empirical Bayes (Robbins 1956; Efron and Morris 1973).
    effects
        Effects of users or hours with at least `MIN_JOBS` jobs.
    """

    effects_variance: float
    effects: tuple[Effect, ...]

    @classmethod
    def fit(cls, score: Floats, name: NDArray[np.str_], cluster: Ints, correlation: float) -> Self:
        """Fit to jobs; all arguments but `correlation` have shape (n,).

        Parameters
        ----------
        score
            Normal scores of run times within the gang class.
        name
            User or hour of each job.
        cluster, correlation
            Cluster of each job, and the correlation within one.
        """
        names, index, count = np.unique(name, return_inverse=True, return_counts=True)
        effects = []
        for i in np.flatnonzero(count >= MIN_JOBS):
            mine = index == i
            user_clusters = np.unique(cluster[mine], return_inverse=True)[1]
            shift = round(float(score[mine].mean()), 4)
            n = round(effective_size(user_clusters, correlation), 2)
            effects.append(Effect(str(names[i]), shift, int(count[i]), n))
        if not effects:
            return cls(0.0, ())
        shifts, sizes = np.array([(e.shift, e.effective_n) for e in effects]).T
        weight = sizes / (1 + sizes)
        # the observed variance is the true one and the sampling variance of a mean
        variance = float(weight @ (shifts**2 - 1 / sizes) / weight.sum())
        return cls(round(float(np.clip(variance, 0, MAX_VARIANCE)), 4), tuple(effects))

    def of(self, name: str, condition: str) -> tuple[float, float, Contribution]:
        """Return the shrunk shift of a user or hour, its explained variance, and its weight.

        Parameters
        ----------
        name
            User or hour; 0 for an unknown one.
        condition
            User or hour in words, e.g. ``user ann``.
        """
        unknown = Effect(name, 0.0, 0, 0.0)
        effect = next((e for e in self.effects if e.name == name), unknown)
        variance, n = self.effects_variance, effect.effective_n
        weight = n * variance / max(n * variance + (1 - variance), 1e-12)
        contribution = Contribution(condition, n, round(weight, 3))
        return weight * effect.shift, weight * variance, contribution
