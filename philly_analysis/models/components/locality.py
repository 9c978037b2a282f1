"""Number of servers given gang size."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from philly_analysis.distributions import Floats, Ints
from philly_analysis.errors import ModelError


@dataclass(frozen=True, slots=True)
class ServerSpread:
    """Number of servers of the attempts of one gang size, with probabilities."""

    gpus: int
    servers: tuple[int, ...]
    shares: tuple[float, ...]
    n: int


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
        spread = self.of(gpus)
        known = pd.Series(spread.shares, spread.servers)
        shares = known.reindex(np.ravel(servers), fill_value=0.0)
        return np.asarray(shares, float).reshape(np.shape(servers))

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
    ) -> Ints:
        """Draw numbers of servers."""
        spread = self.of(gpus)
        u = np.random.default_rng(random_state).random(size)
        at = np.searchsorted(np.cumsum(spread.shares)[:-1], u)
        return np.asarray(spread.servers)[at]
