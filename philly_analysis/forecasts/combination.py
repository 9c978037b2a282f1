"""Combine forecasts by weights that had the least loss on known outcomes.

The quantiles of the forecasts are averaged (Vincentisation). The weights follow the leader on a
grid, which includes each forecast alone.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.points import LEVELS, pinball, uniform_quantiles

_STEPS = 4
"""Steps of a weight between 0 and 1 (chosen)."""
_FEWEST = 20
"""Known outcomes below which all forecasts have equal weights (chosen)."""


def grid(forecasts: int) -> Floats:
    """Return all weights in quarters, shape (combinations, forecasts)."""
    parts = product(range(_STEPS + 1), repeat=forecasts)
    return np.array([part for part in parts if sum(part) == _STEPS]) / _STEPS


@dataclass(slots=True)
class Combination:
    """Losses of combinations of forecasts on the outcomes that are known at a moment.

    Attributes
    ----------
    names
        Names of the combined forecasts.
    losses
        Summed pinball loss of each combination of the grid.
    known_outcomes
        Number of known outcomes.
    issued
        Number of recorded forecasts.
    outcomes
        Heap of starts, with the number of the forecast and the losses of the combinations.
    """

    names: tuple[str, ...]
    losses: Floats = field(init=False)
    known_outcomes: int = 0
    issued: int = 0
    outcomes: list[tuple[float, int, Floats]] = field(default_factory=list)
    _grid: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the grid of weights."""
        self._grid = grid(len(self.names))
        self.losses = np.zeros(len(self._grid))

    def weights(self, now_s: float) -> Floats:
        """Return the weights with the least loss on outcomes before a moment."""
        while self.outcomes and self.outcomes[0][0] < now_s:
            self.losses += heapq.heappop(self.outcomes)[2]
            self.known_outcomes += 1
        if self.known_outcomes < _FEWEST:
            return np.asarray(self._grid.mean(axis=0))
        return np.asarray(self._grid[int(np.argmin(self.losses))])

    def points(self, forecasts: Mapping[str, Floats], now_s: float) -> Floats:
        """Return the combined forecast as equally probable waits."""
        return np.asarray(self.weights(now_s) @ np.array([forecasts[n] for n in self.names]))

    def issue(self, forecasts: Mapping[str, Floats], started_s: float, wait: float) -> None:
        """Record forecasts of a job, whose outcome is known from the start on."""
        quantiles = np.array([uniform_quantiles(forecasts[n], LEVELS) for n in self.names])
        losses = pinball(self._grid @ quantiles, wait)
        heapq.heappush(self.outcomes, (started_s, self.issued, losses))
        self.issued += 1
