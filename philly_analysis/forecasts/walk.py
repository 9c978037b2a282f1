"""Forecast the jobs of a part of the log in order, each from what was known at its submission."""

import heapq
from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats, Ints
from philly_analysis.forecasts.calibration import Calibration
from philly_analysis.forecasts.forest import WaitForest, drain_times
from philly_analysis.forecasts.points import mix, sorted_points
from philly_analysis.forecasts.queue import Queue

CONDITIONAL, CLIMATOLOGY, LAST = "conditional", "climatology", "last wait"
RECALIBRATED = "climatology, recalibrated"
METHODS = (CONDITIONAL, RECALIBRATED, CLIMATOLOGY, LAST)
"""Methods, by which a job is forecast."""

SHRINKAGE = 0.05
"""Share of the climatology in a conditional forecast, for waits longer than similar states had."""
_FEW = 10
"""Fewest known waits of a gang class for a climatology of its own; all classes count below."""


class Forecasted(NamedTuple):
    """Forecasts of one job by each method: points and their probabilities."""

    job: int
    points: dict[str, Floats]
    masses: dict[str, Floats]


@dataclass(slots=True)
class Walk:
    """What is known at a moment of the log: grown trees, known waits, recent forecasts.

    Attributes
    ----------
    queue
        Jobs of the log.
    forest
        Trees grown on the waits that were known at the start.
    leaves, drains
        Leaves and drain time of each job's state.
    waits_of
        Known waits by gang class, ascending.
    last
        Last known wait by gang size.
    calibrations
        Recent forecasts by method.
    pending
        Heap of jobs that have not started yet, by start.
    """

    queue: Queue
    forest: WaitForest
    leaves: Ints
    drains: Floats
    calibrations: dict[str, Calibration]
    waits_of: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    last: dict[float, float] = field(default_factory=dict)
    pending: list[tuple[float, int]] = field(default_factory=list)
    gangs: Ints = field(default_factory=lambda: np.zeros(0, int))
    sizes: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def begin(
        cls,
        queue: Queue,
        states: pd.DataFrame,
        first: int,
        calibrations: dict[str, Calibration],
    ) -> "Walk":
        """Grow the forest on the waits known when the job number `first` enters the queue."""
        now_s = queue.entered_s[first] if first < len(queue.jobs) else np.inf
        order = np.argsort(queue.started_s[:first], kind="stable")
        trained = order[queue.started_s[order] < now_s]
        trained = trained[np.isfinite(queue.started_s[trained])]
        forest = WaitForest.grow(states.iloc[np.sort(trained)], queue.waits[np.sort(trained)])
        leaves = forest.leaves_of(states)
        walk = cls(queue, forest, leaves, drain_times(states), calibrations)
        walk.gangs, walk.sizes = queue.gangs, queue.jobs["gpus"].to_numpy(float)
        for job in trained:
            walk._learn(job)
        for job in np.flatnonzero(queue.started_s[:first] >= now_s):
            heapq.heappush(walk.pending, (float(queue.started_s[job]), int(job)))
        return walk

    def _learn(self, job: int) -> None:
        wait = float(self.queue.waits[job])
        insort(self.waits_of[int(self.gangs[job])], wait)
        self.last[float(self.sizes[job])] = wait

    def advance(self, now_s: float) -> None:
        """Add the waits of jobs that started before a moment."""
        while self.pending and self.pending[0][0] < now_s:
            _, job = heapq.heappop(self.pending)
            self._learn(job)
            self.forest.add(self.leaves[job], float(self.queue.waits[job]), self.drains[job])

    def climatology(self, gang: int) -> Floats:
        """Return the known waits of a gang class as points."""
        waits = self.waits_of[gang]
        if len(waits) < _FEW:
            waits = sorted(wait for of_class in self.waits_of.values() for wait in of_class)
        return sorted_points(waits)

    def points(self, gang: int, gpus: float, leaves: Ints, drain_s: Floats) -> dict[str, Floats]:
        """Return the forecasts of a job by each method, before recalibration."""
        climatology = self.climatology(gang)
        conditional = mix(self.forest.points(leaves, drain_s), climatology, SHRINKAGE)
        last = self.last.get(gpus, float(np.median(climatology)))
        return {
            CONDITIONAL: conditional,
            RECALIBRATED: climatology,
            CLIMATOLOGY: climatology,
            LAST: np.full(len(climatology), last),
        }

    def masses(self, gang: int, now_s: float) -> dict[str, Floats]:
        """Return the probabilities of the points of each method at a moment."""
        uniform = np.full(len(self.climatology(gang)), 1.0)
        return {
            name: self.calibrations[name].masses(gang, now_s)
            if name in self.calibrations
            else uniform / uniform.sum()
            for name in METHODS
        }

    def forecasts(self, jobs: Sequence[int], until: int) -> Iterator[Forecasted]:
        """Yield the forecasts of jobs, in order; jobs between them only become known.

        Parameters
        ----------
        jobs
            Numbers of the jobs to forecast, ascending.
        until
            Number of the first job after the part.
        """
        asked = set(jobs)
        leaving_s = self.queue.jobs["left_s"].to_numpy(float)
        waits = self.queue.waits
        for job in range(jobs[0], until):
            now_s = float(self.queue.entered_s[job])
            if job in asked:
                self.advance(now_s)
                gang = int(self.gangs[job])
                points = self.points(
                    gang, float(self.sizes[job]), self.leaves[job], self.drains[job]
                )
                yield Forecasted(job, points, self.masses(gang, now_s))
                left_s, wait = float(leaving_s[job]), float(waits[job])
                if np.isinf(wait) and np.isfinite(left_s):
                    continue  # the job gave up: a full wait would have been longer
                for name, calibration in self.calibrations.items():
                    calibration.issue(gang, points[name], now_s, left_s, wait)
            if np.isfinite(self.queue.started_s[job]):
                heapq.heappush(self.pending, (float(self.queue.started_s[job]), job))


def new_calibrations() -> dict[str, Calibration]:
    """Return empty records of recent forecasts for the methods that are recalibrated."""
    return {CONDITIONAL: Calibration(), RECALIBRATED: Calibration()}
