"""How many GPUs jobs ask for, over all and by virtual cluster."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from philly_analysis.distributions import Frozen, log_of, probabilities
from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]

_HAIR = 1e-12  # sums of shares are not exact


class Sizes(Frozen):
    """A law of gang sizes, used as SciPy's frozen discrete laws are.

    Where SciPy would return a size below the smallest (``ppf(0)``, ``isf(1)``), this law returns
    the smallest.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Sizes, ascending, and the probability of each."""

    def pmf(self, gpus: ArrayLike) -> Floats:
        """Return the probability of each gang size; 0 of one that was not seen."""
        g, (sizes, shares) = np.asarray(gpus, float), self.points
        index = np.minimum(np.searchsorted(sizes, g), len(sizes) - 1)
        share = np.where(np.asarray(sizes)[index] == g, np.asarray(shares)[index], 0.0)
        return np.where(np.isnan(g), np.nan, share)

    def logpmf(self, gpus: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of each gang size."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.pmf(gpus)))

    def cdf(self, gpus: ArrayLike) -> Floats:
        """Return the probability of at most so many GPUs."""
        return self._beside(gpus, below=True)

    def sf(self, gpus: ArrayLike) -> Floats:
        """Return the probability of more than so many GPUs."""
        return self._beside(gpus, below=False)

    def _beside(self, gpus: ArrayLike, *, below: bool) -> Floats:
        g, (sizes, shares) = np.asarray(gpus, float), self.points
        parts = np.asarray(shares) if below else np.asarray(shares)[::-1]
        total = np.concatenate(([0.0], np.cumsum(parts)))
        at = np.searchsorted(sizes, g, side="right")
        inside = np.minimum(total[at if below else len(sizes) - at], 1.0)
        return np.where(np.isnan(g), np.nan, inside)

    def logcdf(self, gpus: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of at most so many GPUs."""
        return log_of(self.cdf(gpus), self.sf(gpus))

    def logsf(self, gpus: ArrayLike) -> Floats:
        """Return the natural logarithm of the probability of more than so many GPUs."""
        return log_of(self.sf(gpus), self.cdf(gpus))

    def ppf(self, q: ArrayLike) -> Ints | Floats:
        """Return the smallest size whose CDF reaches `q`; outside of 0 to 1 a ModelError."""
        sizes, shares = self.points
        return _sizes(sizes, np.searchsorted(np.cumsum(shares), probabilities(q) - _HAIR), q)

    def isf(self, q: ArrayLike) -> Ints | Floats:
        """Return the smallest size that no more than `q` lies above."""
        sizes, shares = self.points
        over = np.cumsum(shares[::-1])
        left = np.searchsorted(over, probabilities(q) + _HAIR, side="right")
        return _sizes(sizes, len(sizes) - 1 - left, q)

    def moment(self, order: int) -> float:
        """Return the mean of a power."""
        return self.expect(lambda gpus: gpus**order)

    def var(self) -> float:
        """Return the variance."""
        mean = self.mean()
        return self.expect(lambda gpus: (gpus - mean) ** 2)

    def entropy(self) -> float:
        """Return the entropy in nats."""
        return float(special.entr(self.points[1]).sum())

    def support(self) -> tuple[float, float]:
        """Return the smallest and the largest size that there can be."""
        possible = [size for size, share in zip(*self.points, strict=True) if share > 0]
        return possible[0], possible[-1]

    def expect(self, func: Callable[[Floats], ArrayLike]) -> float:
        """Return the mean of a function of the size, which takes arrays."""
        sizes, shares = self.points
        return float(np.dot(func(np.asarray(sizes, float)), shares))


def _sizes(sizes: tuple[int, ...], index: Ints, q: ArrayLike) -> Ints | Floats:
    size = np.asarray(sizes)[np.clip(index, 0, len(sizes) - 1)]
    unknown = np.isnan(q)
    return np.where(unknown, np.nan, size) if np.any(unknown) else size


@dataclass(frozen=True, slots=True)
class Gangs(Sizes):
    """A law of gang sizes.

    Attributes
    ----------
    sizes
        Gang sizes seen, ascending, in GPUs.
    shares
        Probability of each.
    low, high
        95 % intervals of the shares (Wilson 1927), of as many independent jobs as the spread
        between clusters says that there are (Korn and Graubard 1998).
    n
        Jobs that it was fitted to.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: int

    @classmethod
    def fit(cls, gpus: ArrayLike, cluster: ArrayLike | None = None) -> Self:
        """Count gang sizes, shape (n,).

        Parameters
        ----------
        gpus
            Gang sizes.
        cluster
            Shape (n,): jobs of one cluster are alike; None: none are.

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
        p, n, z = counts / g.size, np.full(sizes.size, float(g.size)), 1.96
        if cluster is not None:
            of = np.unique(np.asarray(cluster), return_inverse=True)[1]
            groups = int(of.max()) + 1
            for i, size in enumerate(sizes):
                rest = np.bincount(of, (g == size) - p[i], groups)
                spread = float(rest @ rest) / g.size**2 * groups / max(groups - 1, 1)
                n[i] = np.clip(p[i] * (1 - p[i]) / max(spread, 1e-300), 1, g.size)
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return cls(
            tuple(int(s) for s in sizes),
            tuple(float(v) for v in p),
            tuple(float(v) for v in np.maximum(centre - half, 0)),
            tuple(float(v) for v in np.minimum(centre + half, 1)),
            g.size,
        )

    @property
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Sizes, ascending, and the probability of each."""
        return self.sizes, self.shares

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


@dataclass(frozen=True, slots=True)
class VcGangs:
    """The gang sizes of one virtual cluster."""

    vc: str
    gangs: Gangs


@dataclass(frozen=True, slots=True)
class GangSize(Sizes):
    """The law of gang sizes over all jobs, which it is used as, and in each virtual cluster.

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
    def fit(cls, gpus: ArrayLike, vc: ArrayLike, cluster: ArrayLike | None = None) -> Self:
        """Count gang sizes, by virtual cluster; see :meth:`Gangs.fit` (all of shape (n,))."""
        g, v = np.asarray(gpus), np.asarray(vc, dtype=str)
        of = np.arange(g.size) if cluster is None else np.asarray(cluster)
        return cls(
            Gangs.fit(g, cluster),
            tuple(
                VcGangs(str(name), Gangs.fit(g[v == name], of[v == name])) for name in np.unique(v)
            ),
        )

    @property
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Sizes over all jobs, ascending, and the probability of each."""
        return self.overall.points

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
