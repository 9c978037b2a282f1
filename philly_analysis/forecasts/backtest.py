"""Test forecasts on the last fifth of the log, and choose the method by known outcomes."""

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.calibration import Calibration
from philly_analysis.forecasts.distribution import HALF, MOST
from philly_analysis.forecasts.points import POINTS, quantiles
from philly_analysis.forecasts.queue import Queue
from philly_analysis.forecasts.walk import (
    CLIMATOLOGY,
    CONDITIONAL,
    METHODS,
    RECALIBRATED,
    Forecasted,
    Walk,
    new_calibrations,
)
from philly_analysis.study import GANGS

PARTS = (0.6, 0.8, 1.0)
"""Ends of the parts: the first waits train, a fifth chooses the method, the last fifth tests."""
JOBS = 3_000
"""Most jobs that are forecast in a part, evenly spaced (chosen: half a minute)."""
LEVELS = np.arange(0.05, 0.951, 0.05)
"""Levels of the quantiles whose pinball losses are averaged."""
LEAST_JOBS = 100
"""Fewest tested jobs of a gang class for which coverage is judged (convention)."""
CHOSEN = "chosen"
"""Name of the forecasts by the method that led at each submission."""
_HANDICAPS = {CONDITIONAL: 1.0, RECALIBRATED: 1.1, CLIMATOLOGY: 1.2}
"""Factors on the losses by which methods are chosen: mean losses are noisy, and a climatology that
is not recalibrated does not cover (chosen)."""
_SECONDS = "pinball_s"
_COVERED = ("covered_50", "inside_50", "covered_90", "inside_90")
_COLUMNS = ["part", "gang", "method", "wait_s", _SECONDS, *_COVERED]


@dataclass(frozen=True, slots=True)
class Backtest:
    """Forecasts of the last two fifths of a log, with their outcomes.

    Attributes
    ----------
    outcomes
        One row per forecast job and method: part (choice, test), gang, method, wait_s, pinball_s,
        covered_50, covered_90 (share of the outcome inside: a wait that ties with an end of the
        interval counts as the share of the tie inside), inside_50, inside_90 (whether the wait is
        at or between the ends).
    method
        Method that leads at the end of the log: the least pinball loss on known outcomes.
    calibrations
        Recent forecasts at the end of the log.
    """

    outcomes: pd.DataFrame
    method: str
    calibrations: dict[str, Calibration]

    def table(self) -> pd.DataFrame:
        """Return losses and coverage in the test part.

        Returns
        -------
        pandas.DataFrame
            One row per gang class and method (null gang: all jobs): gang, method, jobs, pinball_s,
            ratio (to the climatology's loss), covered_50_pct, covered_90_pct, inside_50_pct,
            inside_90_pct. The method `chosen` is the method that led at each submission.
        """
        tested = self.outcomes[self.outcomes["part"] == "test"]
        by_gang = tested.groupby(["gang", "method"], sort=False)
        both = [tested.assign(gang=None).groupby(["gang", "method"], dropna=False), by_gang]
        table = pd.concat([_summary(groups) for groups in both], ignore_index=True)
        losses = table[table["method"] == CLIMATOLOGY].set_index("gang")[_SECONDS]
        table.insert(4, "ratio", table[_SECONDS] / table["gang"].map(losses))
        return table


def _summary(groups: Any) -> pd.DataFrame:
    covered = {
        f"{kind}_{level}_pct": (f"{kind}_{level}", lambda shares: 100 * shares.mean())
        for kind in ("covered", "inside")
        for level in (50, 90)
    }
    summary = groups.agg(jobs=("wait_s", "size"), pinball_s=(_SECONDS, "mean"), **covered)
    return pd.DataFrame(summary.reset_index())


@dataclass(slots=True)
class _Leader:
    """The method with the least loss on the outcomes that are known at a moment.

    Attributes
    ----------
    losses
        Summed losses of known outcomes with the handicap, by method.
    outcomes
        Heap of starts, with the number of the job and its losses by method.
    """

    losses: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_HANDICAPS, 0.0))
    outcomes: list[tuple[float, int, dict[str, float]]] = field(default_factory=list)

    def at(self, now_s: float) -> str:
        """Return the leading method at a moment; the conditional one before any outcome."""
        while self.outcomes and self.outcomes[0][0] < now_s:
            for method, loss in heapq.heappop(self.outcomes)[2].items():
                self.losses[method] += _HANDICAPS[method] * loss
        return min(self.losses, key=self.losses.__getitem__)

    def add(self, started_s: float, job: int, losses: dict[str, float]) -> None:
        """Add the losses of a job, which become known when it starts."""
        heapq.heappush(self.outcomes, (started_s, job, losses))


def backtest(queue: Queue, states: pd.DataFrame) -> Backtest:
    """Forecast the last two fifths of a log, each with trees grown on what was known before."""
    calibrations, leader = new_calibrations(), _Leader()
    bounds = [int(share * len(queue.jobs)) for share in PARTS]
    rows: list[dict[str, object]] = []
    waits, entered, gangs = queue.waits, queue.entered_s, queue.gangs
    for part, first, until in zip(("choice", "test"), bounds, bounds[1:], strict=False):
        walk = Walk.begin(queue, states, first, calibrations)
        jobs = np.unique(np.linspace(first, until - 1, min(JOBS, until - first)).astype(int))
        for forecasted in walk.forecasts(jobs.tolist(), until):
            job = forecasted.job
            if not np.isfinite(waits[job]):
                continue
            scores = _by_method(forecasted, float(waits[job]))
            scores[CHOSEN] = scores[leader.at(float(entered[job]))]
            losses = {method: scores[method][_SECONDS] for method in leader.losses}
            leader.add(float(queue.started_s[job]), job, losses)
            named = {"part": part, "gang": GANGS[int(gangs[job])], "wait_s": float(waits[job])}
            rows += [{**named, "method": method, **of} for method, of in scores.items()]
    outcomes = pd.DataFrame(rows, columns=_COLUMNS)
    return Backtest(outcomes, leader.at(np.inf), calibrations)


def _by_method(forecasted: Forecasted, wait: float) -> dict[str, dict[str, float]]:
    """Return the loss and coverage of the forecasts of a job, by method."""
    return {
        method: _scores(forecasted.points[method], forecasted.masses[method], wait)
        for method in METHODS
    }


def _scores(points: Floats, masses: Floats, wait: float) -> dict[str, float]:
    """Return the pinball loss of a forecast and the coverage of its intervals."""
    error = wait - quantiles(points, masses, LEVELS)
    scores = {_SECONDS: float(np.maximum(LEVELS * error, (LEVELS - 1) * error).mean())}
    sums = np.concatenate(([0.0], np.cumsum(masses) / masses.sum()))
    low, high = (float(sums[np.searchsorted(points, wait, side)]) for side in ("left", "right"))
    first = float(sums[np.searchsorted(points, points[0], "right")])
    for name, level in (("50", HALF), ("90", MOST)):
        begin = 0.0 if first >= (1 - level) / 2 else (1 - level) / 2
        end = begin + level
        if high - low > 1 / (2 * POINTS):
            inside = max(0.0, min(high, end) - max(low, begin)) / (high - low)
        else:
            inside = float(begin <= low and high <= end)
        scores[f"covered_{name}"] = inside
        ends = quantiles(points, masses, [max(begin, 1e-9), end])
        scores[f"inside_{name}"] = float(ends[0] <= wait <= ends[1])
    return scores
