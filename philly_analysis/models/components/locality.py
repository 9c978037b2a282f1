"""On how many servers gangs are spread."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """Attempts of one gang size: on how many servers, with what probability."""

    gpus: int
    servers: tuple[int, ...]
    shares: tuple[float, ...]
    n: int


@dataclass(frozen=True, slots=True)
class Locality:
    """The spread of each gang size, ascending."""

    gangs: tuple[Spread, ...]

    @classmethod
    def fit(cls, spreads: pd.DataFrame) -> Self | None:
        """Count spreads.

        Parameters
        ----------
        spreads
            Columns gpus, servers, attempts: how many attempts of that gang ran on so many servers.

        Returns
        -------
        Locality or None
            None without placements.
        """
        if spreads.empty:
            return None
        gangs = []
        for gpus, part in spreads.groupby("gpus"):
            counts = part.groupby("servers")["attempts"].sum()
            total = int(counts.sum())
            gangs.append(
                Spread(
                    int(str(gpus)),
                    tuple(int(s) for s in counts.index),
                    tuple(float(c / total) for c in counts),
                    total,
                )
            )
        return cls(tuple(gangs))

    def of(self, gpus: int) -> Spread:
        """Return the spread of a gang size, or of the nearest one seen below or above it."""
        if gpus < 1:
            raise ModelError(f"a gang of {gpus} GPUs was asked for; gangs have at least one")
        return min(self.gangs, key=lambda s: (abs(np.log2(s.gpus / gpus)), s.gpus))

    def pmf(self, servers: ArrayLike, *, gpus: int) -> Floats:
        """Return the probability of running on so many servers."""
        spread = self.of(gpus)
        known = dict(zip(spread.servers, spread.shares, strict=True))
        return np.array([known.get(int(s), 0.0) for s in np.atleast_1d(servers)]).reshape(
            np.shape(servers)
        )

    def mean(self, *, gpus: int) -> float:
        """Return the mean number of servers."""
        spread = self.of(gpus)
        return float(np.dot(spread.servers, spread.shares))

    def rvs(
        self,
        size: int | None = None,
        random_state: np.random.Generator | int | None = None,
        *,
        gpus: int,
    ) -> NDArray[np.int_]:
        """Draw numbers of servers."""
        spread = self.of(gpus)
        u = np.random.default_rng(random_state).random(size)
        at = np.searchsorted(np.cumsum(spread.shares)[:-1], u)
        return np.asarray(spread.servers)[at]
