"""How busy the GPUs of a gang are, minute by minute, given its size, spread and ending."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from philly_analysis.distributions import probabilities
from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]

ANY = "*"
BINS = 101
MIN_MINUTES = 500
SPREADS = ("1", "2", ">2")


def spread_class(servers: ArrayLike) -> NDArray[np.int_]:
    """Index into `SPREADS` of each number of servers."""
    return np.searchsorted([1, 2], np.asarray(servers), side="left")


@dataclass(frozen=True, slots=True)
class Busy:
    """A law of utilisation in percent: an atom at 0, then uniform within each whole percent.

    Attributes
    ----------
    shares
        Shape (101,): probability of exactly 0, and of more than k - 1 and up to k percent.
    minutes
        GPU-minutes that it was fitted to; 0 for a published curve.
    """

    shares: tuple[float, ...]
    minutes: int

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x` percent."""
        v = np.asarray(x, dtype=float)
        total = np.minimum(np.cumsum(self.shares), 1.0)
        return np.where(v < 0, 0.0, np.interp(v, np.arange(BINS), total))

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density per percent above 0 (at 0 there is an atom)."""
        v = np.asarray(x, dtype=float)
        cell = np.clip(np.ceil(v), 1, BINS - 1).astype(int)
        return np.where((v > 0) & (v <= 100), np.asarray(self.shares)[cell], 0.0)

    def ppf(self, q: ArrayLike) -> Floats:
        """Return quantiles in percent; of probabilities outside of 0 to 1 a ModelError."""
        p = probabilities(q)
        total = np.cumsum(self.shares) / np.sum(self.shares)
        k = np.clip(np.searchsorted(total, p), 1, BINS - 1)
        rise = np.maximum(total[k] - total[k - 1], 1e-300)
        inside = k - 1 + np.clip((p - total[k - 1]) / rise, 0, 1)
        return np.asarray(np.where(p <= total[0], 0.0, inside))

    def mean(self) -> float:
        """Return the mean in percent."""
        middle = np.concatenate(([0.0], np.arange(1, BINS) - 0.5))
        return float(middle @ np.asarray(self.shares))

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | int | None = None,
    ) -> Floats:
        """Draw minutes."""
        return self.ppf(np.random.default_rng(random_state).random(size))


@dataclass(frozen=True, slots=True)
class BusyCell:
    """The utilisation of one class of attempts; ``*`` stands for every value."""

    gpus: int
    servers: str
    status: str
    law: Busy


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Utilisation by gang size, spread and ending, and pooled over each."""

    cells: tuple[BusyCell, ...]

    @classmethod
    def fit(cls, use: pd.DataFrame) -> Self | None:
        """Pool per-minute readings.

        Parameters
        ----------
        use
            Columns gpus, servers, status, bin (0: idle, k: above k - 1 and up to k percent),
            minutes.

        Returns
        -------
        Utilisation or None
            None without readings.
        """
        known = use[use["bin"].notna()]
        if known.empty:
            return None
        frame = pd.DataFrame(
            {
                "gpus": known["gpus"].to_numpy(int),
                "servers": np.asarray(SPREADS)[spread_class(known["servers"])],
                "status": known["status"].fillna(ANY).to_numpy(str),
                "bin": known["bin"].to_numpy(int),
                "minutes": known["minutes"].to_numpy(float),
            }
        )
        # Every pooling of the three keys, the finest first.
        pools = [frame]
        pools += [
            frame.assign(**dict.fromkeys(keys, ANY))
            for keys in (["status"], ["servers"], ["servers", "status"])
        ]
        pools.append(frame.assign(gpus=0, servers=ANY, status=ANY))
        cells = {}
        for pool in pools:
            for (gpus, servers, status), part in pool.groupby(["gpus", "servers", "status"]):
                minutes = np.bincount(part["bin"], part["minutes"], BINS)
                if minutes.sum() >= MIN_MINUTES or gpus == 0:
                    key = (int(str(gpus)), str(servers), str(status))
                    shares = tuple(float(f"{s:.5g}") for s in minutes / minutes.sum())
                    cells[key] = BusyCell(*key, Busy(shares, int(minutes.sum())))
        return cls(tuple(cells.values()))

    def __call__(
        self, gpus: int | None = None, *, servers: int | None = None, status: str | None = None
    ) -> Busy:
        """Return the law of the per-minute utilisation in percent.

        What was not seen enough is pooled: first over endings, then over spreads, then the
        nearest gang size stands in.

        Raises
        ------
        ModelError
            A gang below one GPU.
        """
        if gpus is not None and gpus < 1:
            raise ModelError(f"a gang of {gpus} GPUs was asked for; gangs have at least one")
        known = {(c.gpus, c.servers, c.status): c.law for c in self.cells}
        spread = ANY if servers is None else SPREADS[int(spread_class(servers))]
        sizes = sorted({c.gpus for c in self.cells if c.gpus})
        near = 0
        if gpus is not None and sizes:
            near = min(sizes, key=lambda g: (abs(np.log2(g / gpus)), g))
        for key in (
            (near, spread, status or ANY),
            (near, spread, ANY),
            (near, ANY, status or ANY),
            (near, ANY, ANY),
            (0, ANY, ANY),
        ):
            if key in known:
                return known[key]
        return self.cells[0].law
