"""Measure how far replayed waits are from recorded waits, and which candidates are near ties."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from philly_analysis.distributions import Floats
from philly_analysis.experiments.advice.scenario import HALVES, Jobs
from philly_analysis.study import gang_class
from philly_analysis.workload import mean_level

INTERVALS = 96
"""Intervals of time in which queue lengths are compared."""
_FOLDS = 4
"""Blocks of each half that the jackknife deletes in turn."""
_QUANTILES = (0.5, 0.9)


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
    levels = [gpus_waited_for(jobs, w - floor_s) for w in (recorded, replayed)]
    summed = float(np.sum(levels))
    queue = float(np.abs(levels[0] - levels[1]).sum()) / summed if summed else 0.0
    return Distance(float(np.average(apart, weights=weights)), min(1 - correlation, 1.0), queue)


def gpus_waited_for(jobs: Jobs, wait_s: Floats) -> Floats:
    """Return the mean GPUs waited for, in intervals between the first and last submission."""
    submit_s = np.array([spec.submit_s for spec in jobs])
    gpus = np.array([spec.gpus for spec in jobs], float)
    edges = np.linspace(submit_s.min(), max(submit_s.max(), submit_s.min() + 1), INTERVALS + 1)
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


class Distances(NamedTuple):
    """Distances of some candidates from the recorded waits.

    Attributes
    ----------
    by_half
        Distance of each candidate on each half of the jobs.
    deleted
        Total distance without one block of the half, shape (candidates, halves, blocks).
    """

    by_half: list[list[Distance]]
    deleted: Floats

    @property
    def totals(self) -> Floats:
        """Total distances, shape (candidates, halves)."""
        return np.array([[distance.total for distance in row] for row in self.by_half])


def distances_of(
    jobs: Jobs, recorded_s: Floats, waits_s: list[Floats], floor_s: float
) -> Distances:
    """Return how far the replayed waits of each candidate are from the recorded waits.

    Parameters
    ----------
    recorded_s
        Seconds that each job waited, shape (n,).
    waits_s
        Seconds that each job waited under each candidate.
    floor_s
        Seconds of start-up: shorter waits count as equal to this wait.
    """

    def on(replayed_s: Floats, kept: NDArray[np.intp]) -> Distance:
        specs = [jobs[i] for i in kept]
        return distance_of(specs, recorded_s[kept], replayed_s[kept], floor_s)

    halves = np.array_split(np.arange(len(jobs)), HALVES)
    deleted = [
        [
            [on(waits, np.setdiff1d(half, block)).total for block in np.array_split(half, _FOLDS)]
            for half in halves
        ]
        for waits in waits_s
    ]
    return Distances([[on(waits, half) for half in halves] for waits in waits_s], np.array(deleted))
