"""Test forecasts on the last fifth of the log, and choose the method on the fifth before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats, Ints
from philly_analysis.forecasts.believed import Believed, Replays
from philly_analysis.forecasts.distribution import HALF, MOST
from philly_analysis.forecasts.points import LEVELS, POINTS, pinball, quantiles
from philly_analysis.forecasts.queue import Queue
from philly_analysis.forecasts.walk import (
    CLIMATOLOGY,
    CONDITIONAL,
    METHODS,
    REPLAY,
    Forecasted,
    Outcomes,
    Walk,
)
from philly_analysis.study import GANGS

PARTS = (0.6, 0.8, 1.0)
"""Ends of the parts: the first waits train, a fifth chooses the method, the last fifth tests."""
JOBS = 3_000
"""Most jobs that are forecast in a part, evenly spaced (chosen: half a minute)."""
REPLAYED = 40
"""Most jobs of a gang class that are replayed in the part that chooses (chosen: a minute)."""
LEAST_JOBS = 100
"""Fewest tested jobs of a gang class for which coverage is judged (convention). As many jobs of a
class are replayed in the test, if the replay was chosen."""
CHOSEN = "chosen"
"""Name of the forecasts by the method that the fifth before the test chose."""
_SECONDS = "pinball_s"
_COVERED = ("covered_50", "inside_50", "covered_90", "inside_90")
_COLUMNS = ["part", "job", "gang", "method", "wait_s", _SECONDS, *_COVERED]


@dataclass(frozen=True, slots=True)
class Backtest:
    """Forecasts of the last two fifths of a log, with their outcomes.

    Attributes
    ----------
    outcomes
        One row per forecast job and method: part (choice, test), job, gang, method, wait_s,
        pinball_s, covered_50, covered_90 (share of the outcome inside: a wait that ties with an
        end of the interval counts as the share of the tie inside), inside_50, inside_90 (whether
        the wait is at or between the ends).
    method
        Method with the least pinball loss in the fifth before the test.
    learned
        Weights and calibrations at the end of the log.
    believed
        Policy that reproduces the waits of the first three fifths; a string: why the queue is not
        simulated, as a clause.
    """

    outcomes: pd.DataFrame
    method: str
    learned: Outcomes
    believed: Believed | str

    def table(self) -> pd.DataFrame:
        """Return losses and coverage in the test part.

        Returns
        -------
        pandas.DataFrame
            One row per gang class and method (null gang: all jobs): gang, method, jobs, pinball_s,
            ratio (to the climatology's loss on the same jobs), covered_50_pct, covered_90_pct,
            inside_50_pct, inside_90_pct. The method `chosen` is the method that the fifth before
            the test chose.
        """
        tested = self.outcomes[self.outcomes["part"] == "test"]
        climatology = tested[tested["method"] == CLIMATOLOGY].set_index("job")[_SECONDS]
        tested = tested.assign(climatology=tested["job"].map(climatology))
        by_gang = tested.groupby(["gang", "method"], sort=False)
        both = [tested.assign(gang=None).groupby(["gang", "method"], dropna=False), by_gang]
        table = pd.concat([_summary(groups) for groups in both], ignore_index=True)
        table.insert(4, "ratio", table[_SECONDS] / table.pop("climatology"))
        return table


def _summary(groups: Any) -> pd.DataFrame:
    covered = {
        f"{kind}_{level}_pct": (f"{kind}_{level}", lambda shares: 100 * shares.mean())
        for kind in ("covered", "inside")
        for level in (50, 90)
    }
    summary = groups.agg(
        jobs=("wait_s", "size"),
        pinball_s=(_SECONDS, "mean"),
        climatology=("climatology", "mean"),
        **covered,
    )
    return pd.DataFrame(summary.reset_index())


def backtest(
    queue: Queue,
    states: pd.DataFrame,
    believe: Callable[[float], Believed | str],
) -> Backtest:
    """Forecast the last two fifths of a log, each with trees grown on what was known before.

    Parameters
    ----------
    states
        State of the cluster at the submission of each job.
    believe
        Returns the policy that reproduces the waits of jobs submitted before a moment (s since
        1970), or why there is none.
    """
    bounds = [int(share * len(queue.jobs)) for share in PARTS]
    until_s = float(queue.entered_s[bounds[0]])
    believed, outcomes = believe(until_s), Outcomes()
    tables, method = [], CONDITIONAL
    waits, gangs = queue.waits, queue.gangs
    for part, first, end in zip(("choice", "test"), bounds, bounds[1:], strict=False):
        begin_s = float(queue.entered_s[first])
        replays = None if isinstance(believed, str) else Replays.after(believed, queue, begin_s)
        walk = Walk.begin(queue, states, first, outcomes, replays)
        jobs = np.unique(np.linspace(first, end - 1, min(JOBS, end - first)).astype(int))
        most = LEAST_JOBS if method == REPLAY else REPLAYED
        replayed = set(_by_class(jobs, gangs, most)) if replays else set()
        rows: list[dict[str, object]] = []
        for forecasted in walk.forecasts(jobs.tolist(), end, replayed):
            gang, wait = GANGS[int(gangs[forecasted.job])], float(waits[forecasted.job])
            if np.isfinite(wait):
                rows += _rows(forecasted, gang, wait, method)
        tables.append(pd.DataFrame(rows, columns=_COLUMNS[1:]).assign(part=part))
        if part == "choice":
            method = _best(tables[0])
    return Backtest(pd.concat(tables, ignore_index=True)[_COLUMNS], method, outcomes, believed)


def _by_class(jobs: Ints, gangs: Ints, most: int) -> list[int]:
    """Return evenly spaced jobs of each gang class."""
    chosen: list[int] = []
    for gang in range(len(GANGS)):
        of_class = jobs[gangs[jobs] == gang]
        places = np.linspace(0, len(of_class) - 1, min(most, len(of_class))).astype(int)
        chosen += of_class[places].tolist()
    return chosen


def _rows(forecasted: Forecasted, gang: str, wait: float, method: str) -> list[dict[str, object]]:
    """Return the losses and coverage of a job's forecasts."""
    named = {"job": forecasted.job, "gang": gang, "wait_s": wait}
    scores = {
        name: _scores(forecasted.points[name], forecasted.masses[name], wait)
        for name in METHODS
        if name in forecasted.points
    }
    if method in scores:
        scores[CHOSEN] = scores[method]
    return [{**named, "method": name, **of_method} for name, of_method in scores.items()]


def _best(choice: pd.DataFrame) -> str:
    """Return the replay if the replay has less loss than the conditional forecast of its jobs."""
    losses = choice.pivot_table(index="job", columns="method", values=_SECONDS)
    if REPLAY not in losses:
        return CONDITIONAL
    both = losses[[CONDITIONAL, REPLAY]].dropna().sum()
    return REPLAY if both[REPLAY] < both[CONDITIONAL] else CONDITIONAL


def _scores(points: Floats, masses: Floats, wait: float) -> dict[str, float]:
    """Return the pinball loss of a forecast and the coverage of its intervals."""
    scores = {_SECONDS: float(pinball(quantiles(points, masses, LEVELS), wait))}
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
