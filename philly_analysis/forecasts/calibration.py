"""Recalibrate forecasts by the outcomes of recent forecasts of the same gang class.

The probability integral transforms of recent outcomes replace the uniform distribution, within gang
classes (Mondrian) and over a moving window. See Kuleshov, Fenner and Ermon 2018, and distributional
conformal prediction (Chernozhukov, Wüthrich and Zhu 2021). Adaptive conformal inference (Gibbs and
Candès 2021) then moves the levels of the stated quantiles by each outcome. Coverage thus holds
while waits drift.
"""

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.points import EDGES, POINTS, ranks

WINDOW = 50
"""Recent forecasts that recalibrate a gang class (chosen on two recorded logs)."""
PRIOR = 10.0
"""Outcomes that all gang classes, and the uniform distribution, count as (chosen)."""
STEP = 0.01
"""Step by which an outcome moves the levels of quantiles (customary; Gibbs and Candès 2021)."""
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
"""Levels of the stated quantiles."""
_LEAST = 1e-3


class _Issued(NamedTuple):
    """A forecast with the job's moments, and the ranks of its outcome."""

    entered_s: float
    left_s: float
    points: Floats
    low: float
    high: float


@dataclass(slots=True)
class Calibration:
    """Recent forecasts of each gang class, with what is known of their outcomes at a moment.

    Attributes
    ----------
    by_gang, all_gangs
        Recent forecasts.
    levels
        Levels of the recalibrated forecasts that hold the stated shares of outcomes, by gang class.
    transforms
        Cumulative probabilities of the points in the latest forecast of a gang class.
    outcomes
        Heap of starts, with the gang class and the probabilities below the outcome and up to it.
    """

    by_gang: dict[int, deque[_Issued]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=WINDOW))
    )
    all_gangs: deque[_Issued] = field(default_factory=lambda: deque(maxlen=WINDOW))

    levels: dict[int, Floats] = field(default_factory=lambda: defaultdict(LEVELS.copy))
    transforms: dict[int, Floats] = field(default_factory=lambda: defaultdict(EDGES.copy))
    outcomes: list[tuple[float, int, float, float]] = field(default_factory=list)

    def issue(
        self, gang: int, points: Floats, entered_s: float, left_s: float, wait: float
    ) -> None:
        """Record the latest forecast of a gang class; its outcome counts from the start on."""
        issued = _Issued(entered_s, left_s, points, *ranks(points, wait))
        if np.isfinite(left_s):
            low, high = np.interp([issued.low, issued.high], EDGES, self.transforms[gang])
            heapq.heappush(self.outcomes, (left_s, gang, float(low), float(high)))
        self.by_gang[gang].append(issued)
        self.all_gangs.append(issued)

    def masses(self, gang: int, now_s: float) -> Floats:
        """Return the probabilities of a forecast's points at a moment, shape (POINTS,)."""
        while self.outcomes and self.outcomes[0][0] < now_s:
            _, of_gang, low, high = heapq.heappop(self.outcomes)
            below = np.clip((self.levels[of_gang] - low) / max(high - low, 1e-9), 0, 1)
            moved = self.levels[of_gang] + STEP * (LEVELS - below)
            self.levels[of_gang] = np.maximum.accumulate(np.clip(moved, _LEAST, 1 - _LEAST))
        uniform = np.full(POINTS, 1 / POINTS)
        pooled = _transforms(self.all_gangs, now_s, uniform)
        masses = _transforms(self.by_gang[gang], now_s, pooled)
        sums = np.concatenate(([0.0], np.cumsum(masses)))
        self.transforms[gang] = sums
        return np.diff(_interpolated(sums, self.levels[gang]))


def _interpolated(sums: Floats, levels: Floats) -> Floats:
    """Return probabilities moved so that the levels become the stated levels."""
    ends = np.concatenate(([0.0], levels, [1.0]))
    return np.interp(sums, ends, np.concatenate(([0.0], LEVELS, [1.0])))


def _transforms(issued: deque[_Issued], now_s: float, prior: Floats) -> Floats:
    """Return the distribution of recent transforms over the points' cells, shrunk to a prior.

    The wait of a job that still waits exceeds the elapsed wait. The probability above spreads
    evenly, with the weight of the excluded probability.
    """
    if not issued:
        return prior
    low, high, weights = (np.empty(len(issued)) for _ in range(3))
    for i, forecast in enumerate(issued):
        low[i], high[i], weights[i] = forecast.low, forecast.high, 1.0
        if forecast.left_s >= now_s:
            elapsed = now_s - forecast.entered_s
            weights[i] = float(np.searchsorted(forecast.points, elapsed)) / POINTS
            low[i], high[i] = min(weights[i], 1 - 0.5 / POINTS), 1.0
    spread = np.clip((EDGES - low[:, None]) / (high - low)[:, None], 0, 1)
    outcomes = weights @ np.diff(spread, axis=1)
    return np.asarray((outcomes + PRIOR * prior) / (weights.sum() + PRIOR))
