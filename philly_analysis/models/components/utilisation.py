"""GPU utilisation per minute given gang size, servers and status."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from philly_analysis.distributions import Floats, Ints, probabilities, round_significant
from philly_analysis.errors import ModelError
from philly_analysis.models.components.job_classes import ANY

BINS = 101
MIN_MINUTES = 500
SPREADS = ("1", "2", ">2")


def spread_class(servers: ArrayLike) -> Ints:
    """Return the index in `SPREADS` of each number of servers."""
    return np.searchsorted([1, 2], np.asarray(servers), side="left")


@dataclass(frozen=True, slots=True)
class UtilisationDistribution:
    """A distribution of utilisation in percent: an atom at 0, uniform within each percent.

    Attributes
    ----------
    shares
        Shape (101,): probability of exactly 0, and of more than k - 1 and up to k percent.
    minutes
        GPU-minutes fitted to; 0 for a published curve.
    """

    shares: tuple[float, ...]
    minutes: int

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the probability of at most `x` percent."""
        v = np.asarray(x, dtype=float)
        total = np.minimum(np.cumsum(self.shares), 1.0)
        return np.where(v < 0, 0.0, np.interp(v, np.arange(BINS), total))

    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density per percent above 0, without the atom."""
        v = np.asarray(x, dtype=float)
        cell = np.clip(np.ceil(v), 1, BINS - 1).astype(int)
        return np.where((v > 0) & (v <= 100), np.asarray(self.shares)[cell], 0.0)

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantiles in percent; a ModelError outside of 0 to 1."""
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
        """Draw the utilisation of minutes."""
        return self.ppf(np.random.default_rng(random_state).random(size))


@dataclass(frozen=True, slots=True)
class UtilisationCell:
    """Utilisation of one class of attempts; ``*`` is every value."""

    gpus: int
    servers: str
    status: str
    distribution: UtilisationDistribution


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Utilisation by gang size, servers and status, and pooled over each."""

    cells: tuple[UtilisationCell, ...]

    @classmethod
    def fit(cls, use: pd.DataFrame) -> Self | None:
        """Fit to per-minute utilisation.

        Parameters
        ----------
        use
            Columns gpus, servers, status, bin (0: idle, k: above k - 1 and up to k percent),
            minutes.

        Returns
        -------
        Utilisation or None
            None without samples.
        """
        recorded = use[use["bin"].notna()]
        if recorded.empty:
            return None
        frame = pd.DataFrame(
            {
                "gpus": recorded["gpus"].to_numpy(int),
                "servers": np.asarray(SPREADS)[spread_class(recorded["servers"])],
                "status": recorded["status"].fillna(ANY).to_numpy(str),
                "bin": recorded["bin"].to_numpy(int),
                "minutes": recorded["minutes"].to_numpy(float),
            }
        )
        cells = {}
        # all levels of pooling, the finest first
        for pooled in (
            {},
            {"status": ANY},
            {"servers": ANY},
            {"servers": ANY, "status": ANY},
            {"gpus": 0, "servers": ANY, "status": ANY},
        ):
            for (gpus, servers, status), part in frame.assign(**pooled).groupby(
                ["gpus", "servers", "status"]
            ):
                minutes = np.bincount(part["bin"], part["minutes"], BINS)
                total = float(minutes.sum())
                if total >= MIN_MINUTES or gpus == 0:
                    key = (int(str(gpus)), str(servers), str(status))
                    shares = round_significant(minutes / total, 5)
                    distribution = UtilisationDistribution(shares, int(total))
                    cells[key] = UtilisationCell(*key, distribution)
        return cls(tuple(cells.values()))

    def __call__(
        self, gpus: int | None = None, *, servers: int | None = None, status: str | None = None
    ) -> UtilisationDistribution:
        """Return the distribution of the per-minute utilisation in percent.

        Classes with few minutes are pooled: first over statuses, then over servers; the nearest
        gang size replaces an unobserved one.

        Raises
        ------
        ModelError
            A gang below one GPU.
        """
        if gpus is not None and gpus < 1:
            raise ModelError(f"a gang has at least one GPU, not {gpus}")
        cells = {(c.gpus, c.servers, c.status): c.distribution for c in self.cells}
        spread = ANY if servers is None else SPREADS[int(spread_class(servers))]
        sizes = sorted({c.gpus for c in self.cells if c.gpus})
        near = 0
        if gpus is not None and sizes:
            near = min(sizes, key=lambda g: (abs(np.log2(g / gpus)), g))
        keys = (
            (near, spread, status or ANY),
            (near, spread, ANY),
            (near, ANY, status or ANY),
            (near, ANY, ANY),
            (0, ANY, ANY),
        )
        return next((cells[key] for key in keys if key in cells), self.cells[0].distribution)
