"""Number of servers given gang size."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from philly_analysis.distributions import DiscreteDistribution, Floats, Ints
from philly_analysis.errors import ModelError


@dataclass(frozen=True, slots=True)
class ServerSpread(DiscreteDistribution):
    """Distribution of the number of servers of the attempts of one gang size."""

    gpus: int
    servers: tuple[int, ...]
    shares: tuple[float, ...]
    n: int

    @property
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Numbers of servers, ascending, and the probability of each."""
        return self.servers, self.shares


@dataclass(frozen=True, slots=True)
class Locality:
    """The spread of each gang size, ascending."""

    gangs: tuple[ServerSpread, ...]

    @classmethod
    def fit(cls, spreads: pd.DataFrame) -> Self | None:
        """Count servers.

        Parameters
        ----------
        spreads
            Columns gpus, servers, attempts: number of attempts by gang size and servers.

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
            gangs.append(
                ServerSpread(
                    int(str(gpus)),
                    tuple(map(int, counts.index)),
                    tuple((counts / counts.sum()).tolist()),
                    int(counts.sum()),
                )
            )
        return cls(tuple(gangs))

    def of(self, gpus: int) -> ServerSpread:
        """Return the spread of a gang size, or of the nearest one observed."""
        if gpus < 1:
            raise ModelError(f"a gang has at least one GPU, not {gpus}")
        return min(self.gangs, key=lambda s: (abs(np.log2(s.gpus / gpus)), s.gpus))

    def pmf(self, servers: ArrayLike, *, gpus: int) -> Floats:
        """Return the probability of a number of servers."""
        return self.of(gpus).pmf(servers)

    def mean(self, *, gpus: int) -> float:
        """Return the mean number of servers."""
        return self.of(gpus).mean()

    def rvs(
        self,
        size: int | None = None,
        random_state: np.random.Generator | int | None = None,
        *,
        gpus: int,
    ) -> Ints | Floats:
        """Draw numbers of servers."""
        return self.of(gpus).rvs(size, random_state)
