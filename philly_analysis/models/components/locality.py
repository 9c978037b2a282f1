"""Number of servers given gang size."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from philly_analysis.distributions import DiscreteDistribution
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
        return cls(
            tuple(
                ServerSpread(
                    int(str(gpus)),
                    tuple(part["servers"].astype(int)),
                    tuple(part["attempts"] / part["attempts"].sum()),
                    int(part["attempts"].sum()),
                )
                for gpus, part in spreads.groupby("gpus")
            )
        )

    def of(self, gpus: int) -> ServerSpread:
        """Return the spread of a gang size, or of the nearest one observed."""
        if gpus < 1:
            raise ModelError(f"a gang has at least one GPU, not {gpus}")
        return min(self.gangs, key=lambda s: (abs(np.log2(s.gpus / gpus)), s.gpus))
