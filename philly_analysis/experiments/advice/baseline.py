"""Fit the cluster's own scheduling: candidate policies, compared with the recorded waits."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from scipy.stats import spearmanr

from philly_analysis.distributions import Floats
from philly_analysis.experiments.advice.agreement import CONDITION, Agreement, agreement
from philly_analysis.experiments.advice.candidates import (
    CANDIDATES,
    Candidate,
    fitting,
)
from philly_analysis.experiments.advice.scenario import (
    MOST_JOBS,
    Jobs,
    Scenario,
    jobs_in_period,
    of_jobs,
    replay_all,
)
from philly_analysis.study import gang_class
from philly_analysis.trace import Trace
from philly_analysis.workload import JobSpec, mean_level

_HALVES = 2
"""Parts of the jobs, by submission, that a policy is compared with apart."""
_FOLDS = 4
"""Blocks of each half that the jackknife deletes in turn."""
_INTERVALS = 96
"""Intervals of time in which queue lengths are compared."""
_QUANTILES = (0.5, 0.9)
_FLOOR_S = 60.0
"""Waits whose difference is not counted, if the log's start-up times are not longer."""
_FEWEST = 20
"""Fewest jobs for a comparison."""
_WARM_UP = 0.1
"""Share of a span's jobs that are not compared: the span begins with an empty queue."""
_NAMED = 3
"""Near ties that are named in a sentence; the table has all."""


class Distance(NamedTuple):
    """How far a replay is from the recorded waits, from 0 (equal) to 1, in three parts.

    Attributes
    ----------
    waits
        Mean over gang sizes, weighted by jobs, of the relative differences of the median and the
        90th percentile.
    order
        1 minus Spearman's rank correlation of the waits, job by job; at most 1.
    queue
        Bray and Curtis's dissimilarity of the GPUs waited for over time.
    """

    waits: float
    order: float
    queue: float

    @property
    def total(self) -> float:
        """The mean of the three."""
        return sum(self) / 3


@dataclass(frozen=True, slots=True)
class Baseline:
    """The candidate nearest to the log, and whether the candidate is near enough to be replayed.

    Attributes
    ----------
    scenario
        The jobs and machines under the candidate's policy; of a large log the last jobs.
    distance
        Distance of the policy's waits from the recorded waits; the mean of both halves of the jobs.
    halves
        Agreement with the recorded waits in each half of the compared jobs.
    tried
        A row per candidate: policy, distances on the first and the second half, the mean distance
        with its parts, and whether the candidate is a near tie of the best.
    rivals
        Scenarios of the other near ties, by policy. With recorded quotas, only near ties that use
        quotas are included.
    compared, jobs
        Jobs on which policies were compared, and jobs with a known wait.
    queue
        Columns at_s, recorded and replayed: mean GPUs waited for in intervals of time.
    """

    name: str
    scenario: Scenario
    distance: Distance
    halves: tuple[Agreement, ...]
    tried: pd.DataFrame
    rivals: dict[str, Scenario]
    queue: pd.DataFrame
    replayed: pl.DataFrame
    compared: int = 0
    jobs: int = 0

    @property
    def near(self) -> bool:
        """Whether the replay is believed."""
        return all(half.holds for half in self.halves)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The conclusion with the policy, its near ties, both halves, and the condition."""
        if not self.near:
            conclusion = (
                "No policy reproduces the log's waits, so that advice on scheduling is withheld. "
                f"The nearest is {self.name}."
            )
        else:
            many = len(self.rivals) > _NAMED
            ties = f"{len(self.rivals)} others" if many else "; ".join(self.rivals)
            also = f" Within one standard error are also: {ties}." if ties else ""
            conclusion = f"The log's waits are reproduced by: {self.name}.{also}"
        halves = zip(("First", "Second"), self.halves, strict=True)
        part = (
            f"Policies were compared on {self.compared:,} of {self.jobs:,} jobs, a span of each "
            f"half of the log, and levers are priced on the last {MOST_JOBS:,}: all jobs would "
            "take too long."
        )
        return (
            conclusion,
            *([part] if self.compared < self.jobs else []),
            *(f"{half} half of the log: {half_agreement}." for half, half_agreement in halves),
            CONDITION,
        )

    @property
    def sentence(self) -> str:
        """All sentences as one text."""
        return " ".join(self.sentences)


def distance_of(jobs: Jobs, recorded_s: Floats, replayed_s: Floats, floor_s: float) -> Distance:
    """Return how far replayed waits are from recorded ones.

    Parameters
    ----------
    recorded_s, replayed_s
        Seconds that each job waited, shape (n,).
    floor_s
        Seconds of start-up: shorter waits count as equal to this wait.
    """
    recorded, replayed = (np.maximum(w, floor_s) for w in (recorded_s, replayed_s))
    gangs = gang_class(np.array([spec.gpus for spec in jobs]))
    apart, weights = [], []
    for gang in np.unique(gangs):
        members = gangs == gang
        a, b = (np.quantile(w[members], _QUANTILES) for w in (recorded, replayed))
        apart.append(float(np.mean(np.abs(a - b) / np.maximum(a, b))))
        weights.append(members.sum())
    constant = [float(np.ptp(w)) == 0 for w in (recorded, replayed)]
    correlation = float(all(constant))
    if not any(constant):
        correlation = float(np.ravel(spearmanr(recorded, replayed)[0])[0])
    levels = [_queue(jobs, w - floor_s) for w in (recorded, replayed)]
    summed = float(np.sum(levels))
    queue = float(np.abs(levels[0] - levels[1]).sum()) / summed if summed else 0.0
    return Distance(float(np.average(apart, weights=weights)), min(1 - correlation, 1.0), queue)


def _queue(jobs: Jobs, wait_s: Floats) -> Floats:
    """Return the mean GPUs waited for, in intervals between the first and last submission."""
    submit_s = np.array([spec.submit_s for spec in jobs])
    gpus = np.array([spec.gpus for spec in jobs], float)
    edges = np.linspace(submit_s.min(), max(submit_s.max(), submit_s.min() + 1), _INTERVALS + 1)
    return mean_level(submit_s, submit_s + wait_s, gpus, edges)


def near_ties(distances: Floats, deleted: Floats) -> list[int]:
    """Return the candidates within one standard error of the nearest, in their order.

    The jackknife over blocks gives the standard error of the difference from the nearest candidate
    (Künsch, Annals of Statistics 17, 1989). Breiman et al. (Classification and Regression Trees,
    1984, section 3.4.3) give the rule of one standard error.

    Parameters
    ----------
    distances
        Distance of each candidate on each part of the jobs, shape (candidates, parts).
    deleted
        Distance without one block of the part, shape (candidates, parts, blocks).
    """
    mean = distances.mean(axis=1)
    best = int(mean.argmin())
    behind = deleted - deleted[best]
    _, parts, blocks = deleted.shape
    variance = (blocks - 1) * behind.var(axis=2).sum(axis=1) / parts**2
    return np.flatnonzero(mean - mean[best] <= np.sqrt(variance)).tolist()


def fit_baseline(
    scenario: Scenario,
    recorded_s: dict[str, float],
    start_up_s: float | None,
    executor: Executor,
    candidates: Sequence[Candidate] = CANDIDATES,
    *,
    quotas: bool = False,
    cache: Trace | None = None,
) -> Baseline | None:
    """Replay the jobs under each candidate, and choose the one nearest to the recorded waits.

    Parameters
    ----------
    recorded_s
        Seconds from submission to first start of each job with a known start.
    start_up_s
        Longest wait that counts as start-up; None: not known.
    quotas
        Whether the log has the quotas of its virtual clusters. With quotas, only near ties that use
        quotas are considered.
    cache
        Trace in whose cache outcomes are stored.

    Returns
    -------
    Baseline or None
        None: too few jobs with a known wait.
    """
    jobs = [spec for spec in jobs_in_period(scenario.jobs) if spec.job_id in recorded_s]
    if len(jobs) < 2 * _FEWEST:
        return None
    candidates = fitting(
        candidates,
        limits=any(spec.time_limit_s for spec in jobs),
        quotas=bool(scenario.quotas),
        caps=bool(scenario.limits),
        vcs=len({spec.vc for spec in jobs}),
    )
    scenarios = [replace(scenario, policy=c.policy, estimates=c.estimates) for c in candidates]
    floor_s = max(_FLOOR_S, start_up_s or 0.0)
    every, (run, jobs) = jobs, _spans(jobs)
    if len(jobs) < len(every):
        spans = {f"spans of {s.rules}": s.only(run) for s in scenarios}
    else:
        spans = {s.rules: s for s in scenarios}
    replays = replay_all(spans, executor, cache)
    recorded = np.array([recorded_s[spec.job_id] for spec in jobs])
    waits = [of_jobs(replay, "first_wait_s", jobs) for replay in replays]

    def on(place: int, kept: NDArray[np.intp]) -> Distance:
        specs = [jobs[i] for i in kept]
        return distance_of(specs, recorded[kept], waits[place][kept], floor_s)

    halves = np.array_split(np.arange(len(jobs)), _HALVES)
    parts = [[on(place, half) for half in halves] for place in range(len(candidates))]
    distances = np.array([[distance.total for distance in row] for row in parts])
    deleted = np.array(
        [
            [
                [on(place, np.setdiff1d(h, block)).total for block in np.array_split(h, _FOLDS)]
                for h in halves
            ]
            for place in range(len(candidates))
        ]
    )

    ties = near_ties(distances, deleted)
    best, *rivals = [i for i in ties if quotas and candidates[i].policy.quotas] or ties
    tried = pd.DataFrame(
        [
            (c.name, *totals, totals.mean(), *np.mean(distances_by_half, axis=0), place in ties)
            for place, (c, totals, distances_by_half) in enumerate(
                zip(candidates, distances, parts, strict=True)
            )
        ],
        columns=["policy", "first_half", "second_half", "distance", *Distance._fields, "near_tie"],
    )
    chosen, last = scenarios[best].latest(), jobs
    replayed, last_waits = replays[best], waits[best]
    if len(jobs) < len(every):
        [replayed] = replay_all({chosen.rules: chosen}, executor, cache)
        ids = {spec.job_id for spec in chosen.jobs}
        last = [spec for spec in every if spec.job_id in ids]
        last_waits = of_jobs(replayed, "first_wait_s", last)
    submit_s = np.array([spec.submit_s for spec in last])
    of_last = np.array([recorded_s[spec.job_id] for spec in last])
    queue = pd.DataFrame(
        {
            "at_s": np.linspace(submit_s.min(), submit_s.max(), _INTERVALS),
            "recorded": _queue(last, np.maximum(of_last - floor_s, 0)),
            "replayed": _queue(last, np.maximum(last_waits - floor_s, 0)),
        }
    )
    return Baseline(
        name=candidates[best].name,
        scenario=chosen,
        distance=Distance(*np.mean(parts[best], axis=0).tolist()),
        halves=tuple(agreement(recorded[half], waits[best][half], floor_s) for half in halves),
        tried=tried.sort_values("distance", ignore_index=True),
        rivals={candidates[place].name: scenarios[place].latest() for place in rivals},
        queue=queue,
        replayed=replayed,
        compared=len(jobs),
        jobs=len(every),
    )


def _spans(jobs: list[JobSpec]) -> tuple[list[JobSpec], list[JobSpec]]:
    """Return the jobs to replay for the comparison, and the jobs to compare.

    All jobs of a small log; of a large one the jobs in the middle of each half.
    """
    if len(jobs) <= MOST_JOBS:
        return jobs, jobs
    size = MOST_JOBS // _HALVES
    run: list[JobSpec] = []
    compared: list[JobSpec] = []
    for half in np.array_split(np.arange(len(jobs)), _HALVES):
        begin = half[0] + (len(half) - size) // 2
        span = jobs[begin : begin + size]
        run += span
        compared += span[round(_WARM_UP * size) :]
    return run, compared
