"""Recalibrate forecasts by the outcomes of earlier forecasts of the same gang class.

Adaptive conformal inference (Gibbs and Candès 2021) moves the levels of the stated quantiles by
each outcome, within gang classes (Mondrian). Coverage thus holds while waits drift slowly.
"""

import heapq
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.points import EDGES, ranks

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
"""Levels of the stated quantiles."""
STEPS = 0.03 * np.sqrt(LEVELS * (1 - LEVELS))
"""Steps by which an outcome moves the levels, in proportion to the standard deviation of whether an
outcome is below the quantile. On five simulated logs that are in no check, these steps are the
largest that add less than 1 % of loss."""
_LEAST = 1e-3


@dataclass(slots=True)
class Calibration:
    """Levels of forecasts that hold the stated shares of outcomes.

    Attributes
    ----------
    levels
        Levels by gang class.
    outcomes
        Heap of starts, with the gang class and the probabilities below the outcome and up to it.
    """

    levels: dict[int, Floats] = field(default_factory=lambda: defaultdict(LEVELS.copy))
    outcomes: list[tuple[float, int, float, float]] = field(default_factory=list)

    def issue(self, gang: int, points: Floats, started_s: float, wait: float) -> None:
        """Record a forecast, whose outcome counts from the start on."""
        heapq.heappush(self.outcomes, (started_s, gang, *ranks(points, wait)))

    def masses(self, gang: int, now_s: float) -> Floats:
        """Return the probabilities of a forecast's points at a moment, shape (POINTS,)."""
        while self.outcomes and self.outcomes[0][0] < now_s:
            _, of_gang, low, high = heapq.heappop(self.outcomes)
            below = np.clip((self.levels[of_gang] - low) / (high - low), 0, 1)
            moved = self.levels[of_gang] + STEPS * (LEVELS - below)
            self.levels[of_gang] = np.maximum.accumulate(np.clip(moved, _LEAST, 1 - _LEAST))
        ends = np.concatenate(([0.0], self.levels[gang], [1.0]))
        return np.diff(np.interp(EDGES, ends, np.concatenate(([0.0], LEVELS, [1.0]))))
