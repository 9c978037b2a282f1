"""Distribution of gang sizes, over all jobs and by virtual cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions import DiscreteDistribution, Floats, mean_interval
from philly_analysis.errors import ModelError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class GangSizeDistribution(DiscreteDistribution):
    """An observed distribution of gang sizes.

    Attributes
    ----------
    sizes
        Observed gang sizes, ascending, in GPUs.
    shares
        Probability of each.
    low, high
        95 % intervals of the shares (Wilson 1927), with the effective sample size by the variance
        between clusters (Korn and Graubard 1998).
    n
        Number of jobs fitted to.
    effective_n
        Number of independent jobs with an equally precise mean, by the variance between clusters;
        None if not fitted to jobs.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: int
    effective_n: float | None = None

    @classmethod
    def fit(cls, gpus: ArrayLike, cluster: ArrayLike | None = None) -> Self:
        """Count gang sizes, shape (n,).

        Parameters
        ----------
        gpus
            Gang sizes.
        cluster
            Shape (n,): jobs of one cluster are correlated; None: all independent.

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
        of_mean = float(g.size)
        if cluster is not None:
            index = np.unique(np.asarray(cluster), return_inverse=True)[1]
            groups = int(index.max()) + 1

            def independent(values: Floats) -> float:
                residual = np.bincount(index, values - values.mean(), groups)
                variance = float(residual @ residual) / g.size**2 * groups / max(groups - 1, 1)
                return float(np.clip(values.var() / max(variance, 1e-300), 1, g.size))

            n = np.array([independent((g == size).astype(float)) for size in sizes])
            of_mean = independent(g.astype(float))
        center = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return cls(
            tuple(sizes.tolist()),
            tuple(p.tolist()),
            tuple(np.maximum(center - half, 0).tolist()),
            tuple(np.minimum(center + half, 1).tolist()),
            g.size,
            round(of_mean, 3),
        )

    def mean_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the mean: see :meth:`Distribution.mean_interval`."""
        return mean_interval(self.mean(), self.std(), confidence, self.effective_n)

    def __repr__(self) -> str:
        shares = ", ".join(f"{g}: {p:.1%}" for g, p in zip(self.sizes, self.shares, strict=True))
        return f"GangSizeDistribution({shares}; n={self.n:,})"

    @property
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Sizes, ascending, and the probability of each."""
        return self.sizes, self.shares

    def fit_summary(self) -> "pd.DataFrame":
        """Return the fitted shares.

        Returns
        -------
        pandas.DataFrame
            One row per gang size: gpus, share, low, high (95 % interval of the share).
        """
        import pandas as pd

        columns = (self.sizes, self.shares, self.low, self.high)
        return pd.DataFrame(dict(zip(("gpus", "share", "low", "high"), columns, strict=True)))

    def plot(self, ax: "Axes | None" = None, **bar: Any) -> "Figure":
        """Plot the share of each gang size, with its 95 % interval.

        Parameters
        ----------
        ax
            Axes to draw into; None: a new figure.
        **bar
            Passed to ``Axes.bar``: ``label``, ``color`` and other properties.
        """
        from philly_analysis.results import figures

        if ax is None:
            _, [ax] = figures.canvas()
        at = np.arange(len(self.sizes))
        share = 100 * np.asarray(self.shares)
        error = np.abs(100 * np.asarray([self.low, self.high]) - share)
        options: dict[str, Any] = {"color": figures.ACCENT, "width": 0.7} | bar
        ax.bar(at, share, **options)
        ax.errorbar(at, share, yerr=error, fmt="none", color=figures.MUTED, linewidth=1)
        ax.set_xticks(at, [str(s) for s in self.sizes], rotation=90 if len(at) > 10 else 0)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g} %")
        ax.set_xlabel("gang size, GPUs (whiskers: 95 % intervals)")
        ax.set_ylabel("share of jobs")
        return cast("Figure", ax.get_figure(root=True))

    def up_to(self, gpus: int) -> Self:
        """Return the distribution given at most `gpus`.

        Raises
        ------
        ModelError
            No observed size is so small.
        """
        kept = sum(s <= gpus for s in self.sizes)
        total = sum(self.shares[:kept])
        if not total:
            raise ModelError(
                f"no gang of at most {gpus} GPUs was observed; the smallest has {self.sizes[0]}"
            )
        return type(self)(
            self.sizes[:kept],
            tuple(share / total for share in self.shares[:kept]),
            self.low[:kept],
            self.high[:kept],
            self.n,
            self.effective_n,
        )


@dataclass(frozen=True, slots=True)
class VcGangSizes:
    """Gang sizes of one virtual cluster."""

    vc: str
    gangs: GangSizeDistribution


@dataclass(frozen=True, slots=True)
class GangSize(DiscreteDistribution):
    """The distribution of gang sizes over all jobs, and in each virtual cluster.

    Attributes
    ----------
    overall
        All jobs.
    by_vc
        Each virtual cluster with jobs.
    """

    overall: GangSizeDistribution
    by_vc: tuple[VcGangSizes, ...]

    @classmethod
    def fit(cls, gpus: ArrayLike, vc: ArrayLike, cluster: ArrayLike | None = None) -> Self:
        """Count gang sizes by virtual cluster; all arguments have shape (n,)."""
        g, v = np.asarray(gpus), np.asarray(vc, dtype=str)
        clusters = np.arange(g.size) if cluster is None else np.asarray(cluster)
        return cls(
            GangSizeDistribution.fit(g, cluster),
            tuple(
                VcGangSizes(str(name), GangSizeDistribution.fit(g[v == name], clusters[v == name]))
                for name in np.unique(v)
            ),
        )

    @property
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Sizes over all jobs, ascending, and the probability of each."""
        return self.overall.points

    def __call__(self, *, vc: str | None = None) -> GangSizeDistribution:
        """Return the distribution in one virtual cluster, or over all jobs.

        Raises
        ------
        UnknownNameError
            No job of that virtual cluster was observed.
        """
        if vc is None:
            return self.overall
        by_name = {entry.vc: entry.gangs for entry in self.by_vc}
        if vc not in by_name:
            raise UnknownNameError("virtual cluster", vc, by_name)
        return by_name[vc]

    def mean_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the mean: see :meth:`Distribution.mean_interval`."""
        return self.overall.mean_interval(confidence)

    def __repr__(self) -> str:
        return f"GangSize({self.overall!r}, by_vc of {len(self.by_vc)} virtual clusters)"

    def fit_summary(self) -> "pd.DataFrame":
        """Return the fitted shares: see :meth:`GangSizeDistribution.fit_summary`."""
        return self.overall.fit_summary()

    def plot(self, ax: "Axes | None" = None, **bar: Any) -> "Figure":
        """Plot the share of each gang size: see :meth:`GangSizeDistribution.plot`."""
        return self.overall.plot(ax, **bar)
