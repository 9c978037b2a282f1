"""Find past waits under similar states of the cluster by a quantile regression forest.

The forest is of extremely randomised trees (Geurts, Ernst and Wehenkel 2006). The weights of past
waits are the weights of Meinshausen (2006, Quantile Regression Forests, JMLR 7).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats, Ints
from philly_analysis.forecasts.points import equal_points
from philly_analysis.forecasts.state import HOUR_S

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesRegressor

TREES, LEAF, FEATURES = 100, 10, 0.5
"""Trees, fewest waits of a leaf, share of properties tried per split (customary values)."""
MOST = 20_000
"""Most waits to grow trees on, the latest waits (chosen: half a minute)."""
_OFFSET_S = 60.0
"""Added to drain times before their ratio, so that short times do not matter (chosen: a minute)."""
_SEED = 0


def drain_times(states: pd.DataFrame) -> Floats:
    """Return the seconds in which the waiting jobs start at the last hour's rate.

    Returns
    -------
    numpy.ndarray
        Shape (states, 2): of the jobs of the same gang size, and of all jobs.
    """
    gpus = states["gpus"].to_numpy(float)
    times = [
        HOUR_S
        * (states[f"waiting_gpus_{group}"] + gpus)
        / np.maximum(states[f"started_gpus_{group}"], gpus)
        for group in ("gang", "all")
    ]
    return np.column_stack(times)


@dataclass(slots=True)
class WaitForest:
    """Trees that are grown once, whose leaves collect waits as they become known.

    Attributes
    ----------
    model
        The forest of scikit-learn, grown on the logarithms of waits.
    columns
        Properties of the state that the trees split by.
    waits, drains
        Waits of all jobs, and drain times of their states; only jobs in leaves are known.
    members
        Numbers of the jobs in each leaf, by tree and leaf.
    """

    model: "ExtraTreesRegressor"
    columns: tuple[str, ...]
    waits: Floats
    drains: Floats
    members: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    @classmethod
    def grow(cls, states: pd.DataFrame, waits: Floats, known_jobs: Ints) -> "WaitForest":
        """Grow the trees on the latest known waits, and fill the leaves.

        Parameters
        ----------
        states, waits
            States and waits of all jobs.
        known_jobs
            Numbers of the jobs whose waits are known.
        """
        from sklearn.ensemble import ExtraTreesRegressor

        latest = known_jobs[-MOST:]
        grown = states.iloc[latest]
        columns = tuple(states.columns[grown.max() > grown.min()])
        model: Any = ExtraTreesRegressor(
            TREES, min_samples_leaf=LEAF, max_features=FEATURES, random_state=_SEED
        )
        forest = cls(model, columns, waits, drain_times(states))
        model.fit(forest._matrix(grown), np.log1p(waits[latest]))
        for number, leaves in zip(latest.tolist(), forest.leaves_of(grown), strict=True):
            forest.add(leaves, number)
        return forest

    def _matrix(self, states: pd.DataFrame) -> Floats:
        return states[list(self.columns)].to_numpy(np.float32)

    def leaves_of(self, states: pd.DataFrame) -> Ints:
        """Return the leaf that each state falls into, shape (states, trees)."""
        return np.asarray(self.model.apply(self._matrix(states)))

    def add(self, leaves: Ints, number: int) -> None:
        """Add a job whose wait became known to the leaves of its state."""
        for place in enumerate(leaves.tolist()):
            self.members.setdefault(place, []).append(number)

    def points(self, leaves: Ints, drain_s: Floats) -> tuple[Floats, Floats]:
        """Return two forecasts for a state as equally probable waits.

        The first forecast has the waits in the leaves. The second forecast also has these waits
        scaled by the ratio of each drain time. Scaling extrapolates to queues longer than any
        before.
        """
        members = [np.asarray(self.members[place]) for place in enumerate(leaves.tolist())]
        sizes = np.array([len(numbers) for numbers in members])
        numbers = np.concatenate(members)
        waits = self.waits[numbers]
        scales = (drain_s + _OFFSET_S) / (self.drains[numbers] + _OFFSET_S)
        weights = np.repeat(1 / sizes, sizes)
        scaled = (waits[:, None] * np.column_stack([np.ones(len(waits)), scales])).ravel()
        return (
            equal_points(waits, weights),
            equal_points(scaled, np.repeat(weights, scaled.size // waits.size)),
        )
