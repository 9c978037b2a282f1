"""Run times given gang class, virtual cluster and status, with user and hour effects."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Self, TypedDict, Unpack, cast, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.distributions import (
    Contribution,
    Distribution,
    FittedDistribution,
    Floats,
    Ints,
    Lifetimes,
    PooledDistribution,
    fit_distribution,
    intracluster_correlation,
    shift_scores,
    shrink,
)
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.components.job_classes import ANY, gang_names, look_up, nearest_gang
from philly_analysis.models.components.sessions import job_clusters
from philly_analysis.models.components.user_effects import Effects
from philly_analysis.study import GANG_BUCKETS, GANGS, STATUSES, gang_class

MIN_VC_JOBS = 200
MIN_STATUS_JOBS = 60
MIN_CELL_JOBS = 20
MIN_LEAF_JOBS = 10
MIN_JOBS = 2
_CONDITIONS = (("gang", "vc", ANY), ("gang", ANY, "status"), ("gang", "vc", "status"))
FULL_WEIGHT = 0.995
MIN_VARIANCE = 0.05
MAX_SHARE = 0.9
_SIZE_OF = {bucket.name: bucket.low for bucket in GANG_BUCKETS}
"""A gang size of each class."""


@dataclass(frozen=True, slots=True)
class DurationCell:
    """Run times of one job class; ``*`` is every (other) value."""

    gang: str
    vc: str
    status: str
    distribution: Distribution


class Conditions(TypedDict, total=False):
    """Conditions on jobs: see :meth:`Duration.__call__`."""

    vc: str | None
    user: str | None
    status: str | None
    hour: int | None


@dataclass(frozen=True, slots=True)
class Duration(FittedDistribution):
    """Distributions of run time, in seconds.

    It has the methods of the distribution over all jobs (``duration.ppf(0.9)``); a call returns
    that of some jobs: ``duration(gpus=8)``.

    Attributes
    ----------
    cells
        Each gang class, and each of its virtual clusters and statuses with enough jobs, to ask for.
    leaves
        A partition of the jobs, to sample from: sampled marginals are the fitted ones.
    resolution_s
        Unit of which run times are multiples.
    correlation
        Correlation of the run times of one user (or session, if users are unknown).
    prior_size
        Effective sample size of a virtual cluster or status at which its own distribution has
        the same weight as that of its gang class.
    user_effects, hour_effects
        Effects of users and hours of the day; None if unknown.
    """

    cells: tuple[DurationCell, ...]
    leaves: tuple[DurationCell, ...]
    resolution_s: float = 1.0
    correlation: float = 0.0
    prior_size: float = 1.0
    user_effects: Effects | None = None
    hour_effects: Effects | None = None

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
        run_s, ended = jobs["run_s"].to_numpy(float), int((~jobs["censored"]).sum())
        n, negative = len(jobs), int((run_s < 0).sum())
        for message, wrong in {
            "there are no jobs with a known gang and run time": not n,
            f"{negative} run times are negative": negative,
            f"all {n} run times are zero: start or end times are missing": not run_s.any(),
            f"{ended} of {n} jobs have a known end; at least {MIN_JOBS} are needed": (
                ended < MIN_JOBS
            ),
        }.items():
            if wrong:
                raise ModelError(f"durations: {message}")
        resolution_s = 1.0 if (run_s == np.rint(run_s)).all() else 0.01
        frame = pd.DataFrame(
            {
                "gang": gang_names(jobs["gpus"]),
                "vc": jobs["vc"].to_numpy(str),
                "status": jobs["status"].fillna(ANY).to_numpy(str),
                "run_s": np.maximum(run_s, resolution_s / 2),
                "censored": jobs["censored"].to_numpy(bool),
                "cluster": job_clusters(jobs),
                ANY: ANY,
            }
        )
        finished = ~frame["censored"]
        by_vc = finished.groupby([frame["gang"], frame["vc"]]).transform("sum")
        frame["leaf_vc"] = frame["vc"].where(by_vc >= MIN_VC_JOBS, ANY)
        key = [frame["gang"], frame["leaf_vc"], frame["status"]]
        by_status = finished.groupby(key).transform("sum")
        frame["leaf_status"] = frame["status"].where(by_status >= MIN_STATUS_JOBS, ANY)
        score = _scores(frame)
        correlation = intracluster_correlation(score, frame["cluster"])
        fits: dict[bytes, Distribution] = {}  # by the jobs fitted to

        def fitted(keys: tuple[str, str, str], least: int) -> tuple[DurationCell, ...]:
            cells = []
            for (gang, vc, status), part in frame.groupby(list(keys)):
                if (~part["censored"]).sum() >= least:
                    same = part.index.to_numpy().tobytes()
                    if same not in fits:
                        fits[same] = fit_distribution(
                            part["run_s"],
                            part["censored"],
                            family=family,
                            cluster=part["cluster"],
                            correlation=correlation,
                            noun=f"durations of {gang}-GPU jobs",
                        )
                    cells.append(DurationCell(str(gang), str(vc), str(status), fits[same]))
            return tuple(cells)

        cells = fitted(("gang", ANY, ANY), MIN_JOBS)
        for keys in _CONDITIONS if conditional else ():
            cells += fitted(keys, MIN_CELL_JOBS)
        cells = tuple({(c.gang, c.vc, c.status): c for c in reversed(cells)}.values())[::-1]
        user_effects = None
        if jobs["user"].notna().any():
            session = job_clusters(jobs.assign(vc=jobs["user"].fillna(""), user=None))
            rest = score - pd.Series(score).groupby(frame["cluster"]).transform("mean")
            user_effects = Effects.fit(
                score,
                jobs["user"].fillna("").to_numpy(str),
                session,
                intracluster_correlation(rest, session),
            )
        hour = ((jobs["submitted_s"].to_numpy(float) // 3_600) % 24).astype(int).astype(str)
        return cls(
            cells=cells,
            leaves=fitted(("gang", "leaf_vc", "leaf_status"), MIN_LEAF_JOBS),
            resolution_s=resolution_s,
            correlation=round(correlation, 4),
            prior_size=_prior_size(cells),
            user_effects=user_effects,
            hour_effects=Effects.fit(score, hour, frame["cluster"].to_numpy(), correlation),
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

        Conditional distributions are shrunk towards that of the gang class, by their effective
        sample size (empirical Bayes); `contributions` holds the weights. Unknown conditions have a
        weight of 0, and an unknown gang class has the distribution of the nearest one.

        Parameters
        ----------
        gpus
            Gang size; None: the mixture of all gang classes, weighted by the jobs of each that
            meet the conditions on virtual cluster and status (alike if fitted to no jobs).
        vc, status
            Virtual cluster and final status.
        user
            A user, by the name in samples.
        hour
            Hour of the day of submission, 0 to 23, UTC.

        Raises
        ------
        ModelError
            A gang below one GPU, or an hour outside of 0 to 23.
        UnknownNameError
            No such status.
        """
        if gpus is None:
            parts = {
                c.gang: self(_SIZE_OF[c.gang], vc=vc, user=user, status=status, hour=hour)
                for c in self.by_gang
            }
            return PooledDistribution(parts, self._jobs(vc or ANY, status or ANY))
        if not isinstance(cast("object", gpus), Real) or gpus < 1:
            raise ModelError(
                f"a gang has at least one GPU, a number, not {gpus!r}. "
                "Use [duration(gpus=one) for one in (1, 8)] for several."
            )
        if status is not None and status not in STATUSES:
            raise UnknownNameError("status", status, STATUSES)
        if hour is not None and hour not in range(24):
            raise ModelError(f"the hour must be 0 to 23, not {hour}")
        index = int(gang_class(gpus))
        known = {(c.gang, c.vc, c.status): c.distribution for c in self.cells}
        gang = nearest_gang([c.gang for c in self.by_gang], index)
        distribution = known[gang, ANY, ANY]
        contributions = []
        if gang != GANGS[index]:
            contributions.append(Contribution(f"gangs of {GANGS[index]} GPUs", 0.0, 0.0))
        if vc is not None and (gang, vc, ANY) not in known:
            contributions.append(Contribution(f"virtual cluster {vc}", 0.0, 0.0))
            vc = None
        of_vc = ANY if vc is None else vc
        for of_status in dict.fromkeys((ANY, status or ANY)):
            if of_vc == of_status == ANY:
                continue
            words = [f"virtual cluster {of_vc}"] * (of_vc != ANY) + [of_status] * (of_status != ANY)
            own, n, weight = known.get((gang, of_vc, of_status)), 0.0, 0.0
            if own is not None:
                n = own.effective_n or 0.0
                weight = n / (n + self.prior_size)
                distribution = own if weight > FULL_WEIGHT else shrink(own, distribution, weight)
            contributions.append(Contribution(", ".join(words), n, round(weight, 3)))
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

    def _jobs(self, vc: str, status: str) -> dict[str, float]:
        """Return the jobs fitted to by gang class, under conditions if any class has such."""
        of_vc = [c for c in self.cells if (c.vc, c.status) == (vc, status)]
        found, some = (
            {c.gang: float(c.distribution.n or 1) for c in cells} for cells in (self.by_gang, of_vc)
        )
        return {gang: some.get(gang, 0.0) for gang in found} if some else found

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
            mine = leaf == i
            run_s[mine] = cells[i].distribution.ppf(u[mine])
        return np.maximum(np.rint(run_s / self.resolution_s), 1) * self.resolution_s

    def leaf_of(self, gpus: Ints, vc: NDArray[np.str_], status: NDArray[np.str_]) -> Ints:
        """Return the index of each job's distribution among leaves and cells (shape (n,)).

        A gang class too rare for a distribution has that of the nearest one.
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
            own = vc if (gang, vc) in vcs else ANY
            return leaves.get((gang, own, status), leaves.get((gang, own, ANY), pooled[gang]))

        return look_up(find, gpus, vc, status)


def _scores(frame: pd.DataFrame) -> Floats:
    """Return normal scores of run times within the gang class; of censored ones the expected."""
    score = np.zeros(len(frame))
    for _, part in frame.groupby("gang"):
        by_value = part.sort_values("run_s", kind="stable")
        x = Lifetimes(by_value["run_s"].to_numpy(), by_value["censored"].to_numpy())
        if x.ended.size:
            score[by_value.index] = x.scores()
    return score


def _prior_size(cells: tuple[DurationCell, ...]) -> float:
    """Return the weight of a gang class's distribution, in independent jobs.

    If each conditional distribution is drawn from a Dirichlet process (Ferguson 1973), its squared
    distance from the base CDF, over the variance of one value, is 1 / (1 + concentration), plus
    the sampling variance.
    """
    levels = np.linspace(0.05, 0.95, 19)
    base = {c.gang: c.distribution for c in cells if c.vc == c.status == ANY}
    ratios, weights = [], []
    for cell in cells:
        share = cell.distribution.n / base[cell.gang].n
        n = cell.distribution.effective_n or 0.0
        if share < MAX_SHARE and n > 1:
            gap = cell.distribution.cdf(base[cell.gang].ppf(levels)) - levels
            ratio = float((gap**2 / (levels * (1 - levels))).mean()) / (1 - share)
            ratios.append((ratio - 1 / n) / (1 - 1 / n))
            weights.append(n / (1 + n))
    if not ratios:
        return 1.0
    variance = float(np.clip(np.average(ratios, weights=weights), 1e-4, 0.5))
    return round(1 / variance - 1, 2)
