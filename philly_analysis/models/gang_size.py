"""How many GPUs jobs ask for, over all and by virtual cluster."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class Gangs:
    """A law of gang sizes.

    Attributes
    ----------
    sizes
        Gang sizes seen, ascending, in GPUs.
    shares
        Probability of each.
    low, high
        95 % intervals of the shares (Wilson 1927).
    n
        Jobs that it was fitted to.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: int

    @classmethod
    def fit(cls, gpus: ArrayLike) -> Self:
        """Count gang sizes, shape (n,).

        Raises
        ------
        ModelError
            No jobs, or sizes below 1.
        """
        g = np.asarray(gpus)
        if g.size == 0:
            raise ModelError("gang sizes: there are no jobs")
        if not np.isfinite(g).all() or (g < 1).any():
            raise ModelError("gang sizes: every job must ask for at least one GPU")
        sizes, counts = np.unique(g.astype(int), return_counts=True)
        p, n, z = counts / g.size, g.size, 1.96
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return cls(
            tuple(int(s) for s in sizes),
            tuple(float(v) for v in p),
            tuple(float(v) for v in np.maximum(centre - half, 0)),
            tuple(float(v) for v in np.minimum(centre + half, 1)),
            n,
        )

    def up_to(self, gpus: int) -> Self:
        """Return the law of the gangs of at most so many GPUs.

        Raises
        ------
        ModelError
            None is so small.
        """
        kept = [i for i, s in enumerate(self.sizes) if s <= gpus]
        total = sum(self.shares[i] for i in kept)
        if not total:
            raise ModelError(
                f"no gang of at most {gpus} GPUs was seen; the smallest has {self.sizes[0]}"
            )
        return type(self)(
            tuple(self.sizes[i] for i in kept),
            tuple(self.shares[i] / total for i in kept),
            tuple(self.low[i] for i in kept),
            tuple(self.high[i] for i in kept),
            self.n,
        )

    def pmf(self, gpus: ArrayLike) -> Floats:
        """Return the probability of each gang size."""
        g = np.asarray(gpus)
        index = np.minimum(np.searchsorted(self.sizes, g), len(self.sizes) - 1)
        return np.where(np.asarray(self.sizes)[index] == g, np.asarray(self.shares)[index], 0.0)

    def cdf(self, gpus: ArrayLike) -> Floats:
        """Return the probability of at most so many GPUs."""
        total = np.concatenate(([0.0], np.cumsum(self.shares)))
        return np.minimum(total[np.searchsorted(self.sizes, np.asarray(gpus), side="right")], 1)

    def ppf(self, q: ArrayLike) -> Ints | Floats:
        """Return the smallest size whose probability reaches `q`; nan outside of 0 to 1."""
        p = np.asarray(q, float)
        at = np.searchsorted(np.cumsum(self.shares), p - 1e-12)
        size = np.asarray(self.sizes)[np.minimum(at, len(self.sizes) - 1)]
        possible = (p >= 0) & (p <= 1)
        return size if possible.all() else np.where(possible, size, np.nan)

    def mean(self) -> float:
        """Return the mean gang size."""
        return float(np.dot(self.sizes, self.shares))

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | int | None = None,
    ) -> Ints:
        """Draw gang sizes."""
        return self.ppf(np.random.default_rng(random_state).random(size)).astype(int)


@dataclass(frozen=True, slots=True)
class VcGangs:
    """The gang sizes of one virtual cluster."""

    vc: str
    gangs: Gangs


@dataclass(frozen=True, slots=True)
class GangSize:
    """The law of gang sizes over all jobs, and in each virtual cluster.

    Attributes
    ----------
    overall
        All jobs.
    by_vc
        Each virtual cluster with jobs.
    """

    overall: Gangs
    by_vc: tuple[VcGangs, ...]

    @classmethod
    def fit(cls, gpus: ArrayLike, vc: ArrayLike) -> Self:
        """Count gang sizes, shape (n,), by virtual cluster, shape (n,)."""
        g, v = np.asarray(gpus), np.asarray(vc, dtype=str)
        overall = Gangs.fit(g)
        return cls(
            overall, tuple(VcGangs(str(name), Gangs.fit(g[v == name])) for name in np.unique(v))
        )

    def of(self, vc: str | None = None) -> Gangs:
        """Return the law of one virtual cluster, or of all.

        Raises
        ------
        ModelError
            No job of that virtual cluster was seen.
        """
        if vc is None:
            return self.overall
        for entry in self.by_vc:
            if entry.vc == vc:
                return entry.gangs
        raise ModelError(
            f"no job of virtual cluster {vc!r} was seen; there are: "
            f"{', '.join(e.vc for e in self.by_vc)}"
        )

    def pmf(self, gpus: ArrayLike) -> Floats:
        """Return the probability of each gang size, over all jobs."""
        return self.overall.pmf(gpus)

    def cdf(self, gpus: ArrayLike) -> Floats:
        """Return the probability of at most so many GPUs, over all jobs."""
        return self.overall.cdf(gpus)

    def ppf(self, q: ArrayLike) -> Ints | Floats:
        """Return quantiles, over all jobs; nan outside of 0 to 1."""
        return self.overall.ppf(q)

    def mean(self) -> float:
        """Return the mean gang size, over all jobs."""
        return self.overall.mean()

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: np.random.Generator | int | None = None,
    ) -> Ints:
        """Draw gang sizes, over all jobs."""
        return self.overall.rvs(size, random_state)
