"""Forecast the jobs of a part of the log in order, each from what was known at its submission."""

import heapq
from bisect import insort
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats, Ints
from philly_analysis.forecasts.believed import Replays
from philly_analysis.forecasts.calibration import Calibration
from philly_analysis.forecasts.combination import Combination
from philly_analysis.forecasts.forest import WaitForest
from philly_analysis.forecasts.points import UNIFORM, sorted_points
from philly_analysis.forecasts.queue import Queue

CONDITIONAL, REPLAY = "conditional", "replay"
CLIMATOLOGY, LAST = "climatology", "last wait"
METHODS = (CONDITIONAL, REPLAY, CLIMATOLOGY, LAST)
"""Methods, by which a job is forecast."""
_ALIKE, _SCALED, _SIMULATED = "alike", "scaled", "simulated"
COMBINED = {
    CONDITIONAL: (CLIMATOLOGY, _ALIKE, _SCALED),
    REPLAY: (CLIMATOLOGY, _ALIKE, _SCALED, _SIMULATED),
}
"""Forecasts that a method combines: waits of the gang class, waits in similar states, the waits in
similar states scaled by drain times, and simulated waits."""
_FEW = 10
"""Fewest known waits of a gang class for a climatology of its own; all classes count below."""


class Asked(NamedTuple):
    """A job to forecast.

    Attributes
    ----------
    request
        Requests and names of the job, and entered_s.
    at_s
        Moment of the forecast, in seconds since 1970.
    remaining
        Simulated times from the moment to the start; None: the job is not simulated.
    """

    request: Mapping[Hashable, Any]
    at_s: float
    remaining: Floats | None


class Forecasted(NamedTuple):
    """Forecasts of one job by each method: points and their probabilities."""

    job: int
    points: dict[str, Floats]
    masses: dict[str, Floats]


@dataclass(slots=True)
class Outcomes:
    """What outcomes of forecasts taught: weights and levels of quantiles, by method."""

    combinations: dict[str, Combination] = field(
        default_factory=lambda: {name: Combination(names) for name, names in COMBINED.items()}
    )
    calibrations: dict[str, Calibration] = field(
        default_factory=lambda: {name: Calibration() for name in COMBINED}
    )


@dataclass(slots=True)
class Walk:
    """What is known at a moment of the log: grown trees, known waits, outcomes of forecasts.

    Attributes
    ----------
    queue
        Jobs of the log.
    forest
        Trees grown on the waits that were known at the start.
    leaves
        Leaves of each job's state.
    outcomes
        Weights and calibrations.
    replays
        Simulations of the queue; None: no policy is believed.
    waits_of
        Known waits by gang class, ascending.
    last
        Last known wait by gang size.
    pending
        Heap of jobs that have not started yet, by start.
    """

    queue: Queue
    forest: WaitForest
    leaves: Ints
    outcomes: Outcomes
    replays: Replays | None = None
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
        outcomes: Outcomes,
        replays: Replays | None = None,
    ) -> "Walk":
        """Grow the forest on the waits known when the job number `first` enters the queue."""
        now_s = queue.entered_s[first] if first < len(queue.jobs) else np.inf
        order = np.argsort(queue.started_s[:first], kind="stable")
        trained = order[queue.started_s[order] < now_s]
        trained = trained[np.isfinite(queue.started_s[trained])]
        forest = WaitForest.grow(states, queue.waits, np.sort(trained))
        walk = cls(queue, forest, forest.leaves_of(states), outcomes, replays)
        walk.gangs, walk.sizes = queue.gangs, queue.jobs["gpus"].to_numpy(float)
        for job in trained:
            walk._learn(job)
        for job in np.flatnonzero(queue.started_s[:first] >= now_s):
            heapq.heappush(walk.pending, (float(queue.started_s[job]), int(job)))
        return walk

    def _learn(self, job: int) -> None:
        wait = float(self.forest.waits[job])
        insort(self.waits_of[int(self.gangs[job])], wait)
        self.last[float(self.sizes[job])] = wait

    def advance(self, now_s: float) -> None:
        """Add the waits of jobs that started before a moment."""
        while self.pending and self.pending[0][0] < now_s:
            _, job = heapq.heappop(self.pending)
            self._learn(job)
            self.forest.add(self.leaves[job], job)

    def climatology(self, gang: int) -> Floats:
        """Return the known waits of a gang class as points."""
        waits = self.waits_of[gang]
        if len(waits) < _FEW:
            waits = sorted(wait for of_class in self.waits_of.values() for wait in of_class)
        return sorted_points(waits)

    def points(self, asked: Asked, gang: int, leaves: Ints, drain_s: Floats) -> dict[str, Floats]:
        """Return the forecasts of a job by each method, before recalibration.

        The forecasts that the methods combine are included. The replay is absent where the job is
        not simulated.
        """
        climatology = self.climatology(gang)
        alike, scaled = self.forest.points(leaves, drain_s)
        last = self.last.get(float(asked.request["gpus"]), float(np.median(climatology)))
        points = {CLIMATOLOGY: climatology, _ALIKE: alike, _SCALED: scaled}
        if asked.remaining is not None:
            waited_s = asked.at_s - float(asked.request["entered_s"])
            points[_SIMULATED] = sorted_points(np.sort(waited_s + asked.remaining).tolist())
        for name, combination in self.outcomes.combinations.items():
            if points.keys() >= set(COMBINED[name]):
                points[name] = combination.points(points, asked.at_s)
        return points | {LAST: np.full(len(climatology), last)}

    def masses(self, method: str, gang: int, now_s: float) -> Floats:
        """Return the probabilities of the points of a method at a moment."""
        if method in self.outcomes.calibrations:
            return self.outcomes.calibrations[method].masses(gang, now_s)
        return UNIFORM

    def forecasts(
        self, jobs: Sequence[int], until: int, replayed: Collection[int] = ()
    ) -> Iterator[Forecasted]:
        """Yield the forecasts of jobs, in order; jobs between them only become known.

        Parameters
        ----------
        jobs
            Numbers of the jobs to forecast, ascending.
        until
            Number of the first job after the part.
        replayed
            Jobs that are also forecast by replay.
        """
        asked = set(jobs)
        entered_s, started_s = self.queue.entered_s.tolist(), self.queue.started_s.tolist()
        for job in range(jobs[0], until):
            if job in asked:
                self.advance(entered_s[job])
                yield self._forecast(job, entered_s[job], replay=job in replayed)
            if np.isfinite(started_s[job]):
                heapq.heappush(self.pending, (started_s[job], job))

    def _forecast(self, job: int, now_s: float, *, replay: bool) -> Forecasted:
        """Forecast a job, and record the forecasts, whose outcome counts from the start on."""
        gang = int(self.gangs[job])
        request, remaining = self.queue.jobs.iloc[job].to_dict(), None
        if self.replays is not None and replay:
            [remaining] = self.replays.waits([request], job, now_s)
        asked = Asked(request, now_s, remaining)
        points = self.points(asked, gang, self.leaves[job], self.forest.drains[job])
        masses = {name: self.masses(name, gang, now_s) for name in METHODS if name in points}
        self._issue(job, gang, points)
        return Forecasted(job, points, masses)

    def _issue(self, job: int, gang: int, points: dict[str, Floats]) -> None:
        """Record the forecasts of a job, whose outcome counts from the start on."""
        wait = float(self.forest.waits[job])
        if not np.isfinite(wait):
            return
        started_s = float(self.queue.jobs["started_s"].iloc[job])
        for name, combination in self.outcomes.combinations.items():
            if name in points:
                combination.issue(points, started_s, wait)
        for name, calibration in self.outcomes.calibrations.items():
            if name in points:
                calibration.issue(gang, points[name], started_s, wait)
