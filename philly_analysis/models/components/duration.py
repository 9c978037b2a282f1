"""Run times given gang class, virtual cluster and status, with user and hour effects.

The file is long because its class answers as a distribution, and each answer documents its
conditions.
"""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Self, TypedDict, Unpack, cast, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from philly_analysis.distributions import (
    Contribution,
    Distribution,
    FittedDistribution,
    Floats,
    Ints,
    PooledDistribution,
    effective_size,
    intracluster_correlation,
    shift_scores,
    shrink,
)
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.duration_classes import (
    ClassFits,
    DurationCell,
    classed,
    clock_resolution_s,
    normal_scores,
    prior_size,
    user_effects,
)
from philly_analysis.models.components.job_classes import ANY, look_up, nearest_gang
from philly_analysis.models.components.user_effects import Effects
from philly_analysis.study import GANG_BUCKETS, GANGS, STATUSES, gang_class

FULL_WEIGHT = 0.995
"""Weight from which a conditional distribution is taken without shrinkage."""
MIN_VARIANCE = 0.05
"""Least share of the variance that effects of users and hours leave unexplained."""
_SIZE_OF = {bucket.name: bucket.low for bucket in GANG_BUCKETS}
"""A gang size of each class."""


class Conditions(TypedDict, total=False):
    """Conditions on jobs: see :meth:`Duration.__call__`."""

    vc: str | None
    user: str | None
    status: str | None
    hour: int | None


@dataclass(frozen=True, slots=True)
class Duration(FittedDistribution):
    """Distributions of run time, in seconds.

    The methods of a duration describe the run times of all jobs: ``duration.ppf(0.9)``. A call
    returns the distribution of some jobs: ``duration(gpus=8)``.

    Attributes
    ----------
    cells
        Run times of each gang class, and of each virtual cluster and status with enough jobs.
    leaves
        Run times of a partition of the jobs, from which samples are drawn.
    resolution_s
        Unit of which run times are multiples.
    correlation
        Correlation of the run times of one user (or session, if users are unknown).
    prior_size
        Effective sample size at which the distribution of a virtual cluster or status has the same
        weight as the distribution of its gang class.
    user_effects, hour_effects
        Effects of users and hours of the day; None if unknown.
    effective_n
        Effective sample size of all jobs, whose users (or sessions) have jobs of several gang
        classes; None if not fitted to jobs.
    """

    cells: tuple[DurationCell, ...]
    leaves: tuple[DurationCell, ...]
    resolution_s: float = 1.0
    correlation: float = 0.0
    prior_size: float = 1.0
    user_effects: Effects | None = None
    hour_effects: Effects | None = None
    effective_n: float | None = None

    @classmethod
    def fit(
        cls, jobs: pd.DataFrame, *, family: str | None = None, conditional: bool = True
    ) -> Self:
        """Fit to jobs.

        Parameters
        ----------
        jobs
            Columns submitted_s (ascending), gpus, vc, user and status (null: unknown), run_s in
            seconds, censored. A run time of zero counts as half of the clock's resolution.
        family
            Force one family everywhere.
        conditional
            Fit distributions given virtual cluster and status, too; samples do not need them.

        Raises
        ------
        ModelError
            No jobs, all censored, or all durations zero.
        """
        resolution_s = clock_resolution_s(jobs)
        frame = classed(jobs, resolution_s)
        score = normal_scores(frame)
        correlation = intracluster_correlation(score, frame["cluster"])
        fits = ClassFits(frame, family, correlation)
        cells = fits.cells(conditional=conditional)
        hour = ((jobs["submitted_s"].to_numpy(float) // 3_600) % 24).astype(int).astype(str)
        return cls(
            cells=cells,
            leaves=fits.leaves(),
            resolution_s=resolution_s,
            correlation=round(correlation, 4),
            prior_size=prior_size(cells),
            user_effects=user_effects(jobs, frame, score),
            hour_effects=Effects.fit(score, hour, frame["cluster"].to_numpy(), correlation),
            effective_n=round(effective_size(frame["cluster"], correlation), 3),
        )

    @property
    def by_gang(self) -> tuple[DurationCell, ...]:
        """Cells of whole gang classes."""
        return tuple(c for c in self.cells if c.vc == c.status == ANY)

    @overload
    def __call__(
        self, gpus: None = None, **conditions: Unpack[Conditions]
    ) -> PooledDistribution: ...
    @overload
    def __call__(self, gpus: int, **conditions: Unpack[Conditions]) -> Distribution: ...
    def __call__(
        self,
        gpus: int | None = None,
        *,
        vc: str | None = None,
        user: str | None = None,
        status: str | None = None,
        hour: int | None = None,
    ) -> Distribution | PooledDistribution:
        """Return the distribution of run times in seconds.

        Conditional distributions are shrunk towards the distribution of the gang class, by their
        effective sample size (empirical Bayes); `contributions` holds the weights. A condition
        without jobs in the gang class has a weight of 0. A gang class without jobs has the
        distribution of the nearest class.

        Parameters
        ----------
        gpus
            Gang size; None: the mixture of all gang classes. The weight of a class is its number
            of jobs that meet the conditions on virtual cluster and status; classes of a model that
            was fitted to no jobs weigh alike.
        vc, status
            Virtual cluster and final status.
        user
            Name of a user, as in samples.
        hour
            Hour of the day of submission, 0 to 23, UTC.

        Raises
        ------
        ModelError
            A gang below one GPU, or an hour outside of 0 to 23.
        UnknownNameError
            No such status, or no run times of such a virtual cluster or user.
        """
        self._check(vc, user, status, hour)
        if gpus is None:
            parts = {
                c.gang: self(_SIZE_OF[c.gang], vc=vc, user=user, status=status, hour=hour)
                for c in self.by_gang
            }
            unconditional = all(condition is None for condition in (vc, user, status, hour))
            weights = self._jobs(vc or ANY, status or ANY)
            return PooledDistribution(parts, weights, self.effective_n if unconditional else None)
        if not isinstance(cast("object", gpus), Real) or gpus < 1:
            raise ModelError(
                f"a gang has at least one GPU, a number, not {gpus!r}. "
                "Use [duration(gpus=one) for one in (1, 8)] for several."
            )
        distribution, contributions = self._of_class(int(gang_class(gpus)), vc, status)
        shift, explained = 0.0, 0.0
        for effects, name, condition in (
            (self.user_effects, user, f"user {user}"),
            (self.hour_effects, None if hour is None else str(int(hour)), f"hour {hour}"),
        ):
            if name is not None:
                by, variance, contribution = (effects or Effects(0.0, ())).of(name, condition)
                shift, explained = shift + by, explained + variance
                contributions.append(contribution)
        if shift or explained:
            scale = float(np.sqrt(max(1 - explained, MIN_VARIANCE)))
            distribution = shift_scores(distribution, shift, scale)
        if not contributions:
            return distribution
        return replace(distribution, contributions=tuple(contributions))

    def _check(
        self, vc: str | None, user: str | None, status: str | None, hour: int | None
    ) -> None:
        """Raise an error if a condition cannot be met."""
        users = self.user_effects.effects if self.user_effects else ()
        names = {
            "status": (status, STATUSES),
            "virtual cluster with fitted run times": (vc, {c.vc for c in self.cells} - {ANY}),
            "user with fitted run times": (user, {effect.name for effect in users}),
        }
        for kind, (name, fitted) in names.items():
            if name is not None and name not in fitted:
                raise UnknownNameError(kind, name, fitted)
        if hour is not None and hour not in range(24):
            raise ModelError(f"the hour must be 0 to 23, not {hour}")

    def _of_class(
        self, index: int, vc: str | None, status: str | None
    ) -> tuple[Distribution, list[Contribution]]:
        """Return the distribution of a job class, and the weights of its conditions.

        Parameters
        ----------
        index
            Index of the gang class in `GANGS`.
        """
        cells = {(c.gang, c.vc, c.status): c.distribution for c in self.cells}
        gang = nearest_gang([c.gang for c in self.by_gang], index)
        distribution = cells[gang, ANY, ANY]
        contributions = []
        if gang != GANGS[index]:
            contributions.append(Contribution(f"gangs of {GANGS[index]} GPUs", 0.0, 0.0))
        if vc is not None and (gang, vc, ANY) not in cells:
            contributions.append(Contribution(f"virtual cluster {vc}", 0.0, 0.0))
            vc = None
        of_vc = vc or ANY
        for of_status in dict.fromkeys((ANY, status or ANY)):
            if of_vc == of_status == ANY:
                continue
            words = [f"virtual cluster {of_vc}"] * (of_vc != ANY) + [of_status] * (of_status != ANY)
            conditional, n, weight = cells.get((gang, of_vc, of_status)), 0.0, 0.0
            if conditional is not None:
                n = conditional.effective_n or 0.0
                weight = n / (n + self.prior_size)
                if weight > FULL_WEIGHT:
                    distribution = conditional
                else:
                    distribution = shrink(conditional, distribution, weight)
            contributions.append(Contribution(", ".join(words), n, round(weight, 3)))
        return distribution, contributions

    def _jobs(self, vc: str, status: str) -> dict[str, float]:
        """Return the jobs fitted to by gang class, under conditions if any class has such."""
        of_vc = [c for c in self.cells if (c.vc, c.status) == (vc, status)]
        jobs, jobs_of_vc = (
            {c.gang: float(c.distribution.n or 1) for c in cells} for cells in (self.by_gang, of_vc)
        )
        return {gang: jobs_of_vc.get(gang, 0.0) for gang in jobs} if jobs_of_vc else jobs

    def __repr__(self) -> str:
        return f"Duration({self()!r})"

    def frozen(self) -> PooledDistribution:
        """Return the distribution over all jobs."""
        return self()

    @property
    def n(self) -> int:
        """Number of jobs fitted to."""
        return self().n

    @property
    def observed(self) -> Floats:
        """Percentiles of the jobs' run times: see :class:`PooledDistribution`."""
        return self().observed

    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Return values with a probability of their own: see :meth:`Distribution.atoms`."""
        return self().atoms()

    def quantile_interval(self, q: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return confidence intervals: see :meth:`Distribution.quantile_interval`."""
        return self().quantile_interval(q, confidence)

    def mean_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval: see :meth:`Distribution.mean_interval`."""
        return self().mean_interval(confidence)

    def fit_summary(self) -> pd.DataFrame:
        """Return the fit of each gang class: see :meth:`Distribution.fit_summary`."""
        return self().fit_summary()

    def sample(self, u: Floats, leaf: Ints) -> Floats:
        """Return run times in s, multiples of the resolution, at uniform numbers.

        Parameters
        ----------
        u
            Shape (n,), in (0, 1).
        leaf
            Shape (n,): the distribution of each, from :meth:`leaf_of`.
        """
        run_s = np.empty(u.size)
        cells = (*self.leaves, *self.cells)
        for i in np.unique(leaf):
            jobs = leaf == i
            run_s[jobs] = cells[i].distribution.ppf(u[jobs])
        return np.maximum(np.rint(run_s / self.resolution_s), 1) * self.resolution_s

    def shares_of(self, share: float) -> Floats:
        """Return the share of each distribution among the longest jobs of its gang class.

        Parameters
        ----------
        share
            Share of the longest jobs in their gang class.

        Returns
        -------
        numpy.ndarray
            Shape (leaves and cells,).
        """
        longer_than_s = {c.gang: c.distribution.isf(share) for c in self.by_gang}
        cells = (*self.leaves, *self.cells)
        return np.array([c.distribution.sf(longer_than_s[c.gang]) for c in cells], float)

    def leaf_of(self, gpus: Ints, vc: NDArray[np.str_], status: NDArray[np.str_]) -> Ints:
        """Return the index of each job's distribution among leaves and cells (shape (n,)).

        A gang class too rare for a distribution has the distribution of the nearest class.
        """
        leaves = {(c.gang, c.vc, c.status): i for i, c in enumerate(self.leaves)}
        pooled = {
            c.gang: len(self.leaves) + i
            for i, c in enumerate(self.cells)
            if c.vc == c.status == ANY
        }
        vcs = {(c.gang, c.vc) for c in self.leaves}

        def find(index: int, vc: str, status: str) -> int:
            gang = nearest_gang(pooled, index)
            leaf_vc = vc if (gang, vc) in vcs else ANY
            return leaves.get(
                (gang, leaf_vc, status), leaves.get((gang, leaf_vc, ANY), pooled[gang])
            )

        return look_up(find, gpus, vc, status)
