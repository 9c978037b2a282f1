"""Test forecasts on the last fifth of the log, and choose the method on the fifth before."""

from dataclasses import dataclass

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
        Method that is chosen: the least pinball loss in the part `choice`.
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
            inside_90_pct, chosen.
        """
        tested = self.outcomes[self.outcomes["part"] == "test"]
        by_gang = tested.groupby(["gang", "method"], sort=False)
        both = [tested.assign(gang=None).groupby(["gang", "method"], dropna=False), by_gang]
        table = pd.concat([_summary(groups) for groups in both], ignore_index=True)
        losses = table[table["method"] == CLIMATOLOGY].set_index("gang")[_SECONDS]
        table.insert(4, "ratio", table[_SECONDS] / table["gang"].map(losses))
        table["chosen"] = table["method"] == self.method
        return table


def _summary(groups: "pd.api.typing.DataFrameGroupBy") -> pd.DataFrame:
    covered = {
        f"{kind}_{level}_pct": (f"{kind}_{level}", lambda shares: 100 * shares.mean())
        for kind in ("covered", "inside")
        for level in (50, 90)
    }
    summary = groups.agg(jobs=("wait_s", "size"), pinball_s=(_SECONDS, "mean"), **covered)
    return summary.reset_index()


def backtest(queue: Queue, states: pd.DataFrame) -> Backtest:
    """Forecast the last two fifths of a log, each with trees grown on what was known before."""
    calibrations = new_calibrations()
    bounds = [int(share * len(queue.jobs)) for share in PARTS]
    rows: list[dict[str, object]] = []
    for part, first, until in zip(("choice", "test"), bounds, bounds[1:], strict=False):
        walk = Walk.begin(queue, states, first, calibrations)
        jobs = np.unique(np.linspace(first, until - 1, min(JOBS, until - first)).astype(int))
        for forecasted in walk.forecasts(jobs.tolist(), until):
            if np.isfinite(queue.waits[forecasted.job]):
                rows += _outcomes(part, queue, forecasted)
    outcomes = pd.DataFrame(rows, columns=_COLUMNS)
    return Backtest(outcomes, _choice(outcomes), calibrations)


def _outcomes(part: str, queue: Queue, forecasted: Forecasted) -> list[dict[str, object]]:
    wait = float(queue.waits[forecasted.job])
    gang = GANGS[int(queue.gangs[forecasted.job])]
    rows: list[dict[str, object]] = []
    for method in METHODS:
        points, masses = forecasted.points[method], forecasted.masses[method]
        scores = _scores(points, masses, wait)
        rows.append({"part": part, "gang": gang, "method": method, "wait_s": wait, **scores})
    return rows


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


def _choice(outcomes: pd.DataFrame) -> str:
    """Return the method with the least loss in the part `choice`, unless climatology is as good."""
    chosen_on = outcomes[outcomes["part"] == "choice"]
    if chosen_on.empty:
        return RECALIBRATED
    losses = chosen_on.groupby("method")[_SECONDS].mean()
    candidates = [CONDITIONAL, RECALIBRATED, CLIMATOLOGY]
    return min(candidates, key=lambda method: float(losses[method]))
