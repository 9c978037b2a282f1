"""Recalibrate forecasts by the outcomes of recent forecasts of the same gang class.

The probability integral transforms of recent outcomes replace the uniform distribution (Kuleshov,
Fenner and Ermon 2018; distributional conformal prediction, Chernozhukov, Wüthrich and Zhu 2021),
within gang classes (Mondrian) and over a moving window, so that coverage holds while waits drift.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.points import EDGES, POINTS, ranks

WINDOW = 100
"""Recent forecasts of a gang class that recalibrate it (chosen: their 5 % are five outcomes)."""
PRIOR = 10.0
"""Outcomes that all gang classes, and the uniform distribution, count as (chosen)."""


class _Issued(NamedTuple):
    """A forecast with the job's moments, and the ranks of its outcome."""

    entered_s: float
    left_s: float
    points: Floats
    low: float
    high: float


@dataclass(slots=True)
class Calibration:
    """Recent forecasts of each gang class, with what is known of their outcomes at a moment."""

    by_gang: dict[int, deque[_Issued]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=WINDOW))
    )
    all_gangs: deque[_Issued] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def issue(
        self, gang: int, points: Floats, entered_s: float, left_s: float, wait: float
    ) -> None:
        """Record a forecast; its outcome counts from the job's start on."""
        issued = _Issued(entered_s, left_s, points, *ranks(points, wait))
        self.by_gang[gang].append(issued)
        self.all_gangs.append(issued)

    def masses(self, gang: int, now_s: float) -> Floats:
        """Return the probabilities of a forecast's points at a moment, shape (POINTS,)."""
        uniform = np.full(POINTS, 1 / POINTS)
        pooled = _transforms(self.all_gangs, now_s, uniform)
        return _transforms(self.by_gang[gang], now_s, pooled)


def _transforms(issued: deque[_Issued], now_s: float, prior: Floats) -> Floats:
    """Return the distribution of recent transforms over the points' cells, shrunk to a prior.

    A job that still waits has a wait above its elapsed one: the probability above spreads evenly,
    with the weight of the probability that is excluded.
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
