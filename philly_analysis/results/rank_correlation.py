"""Estimate rank correlations of clustered observations with 95 % intervals."""

import math
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.results.facts import Fact
from philly_analysis.results.intervals import (
    FEWEST,
    cluster_codes,
    half_of_squares,
    interval_facts,
)

Direction = Literal["rises", "falls", "unclear"]


@dataclass(frozen=True, slots=True)
class Association:
    """Rank correlation of two quantities with a 95 % interval for clustered data.

    Attributes
    ----------
    rho
        Spearman's rank correlation, -1 to 1; NaN if one of the two quantities is constant.
    low, high
        95 % interval of `rho`; NaN with fewer than three clusters.
    n, clusters
        Number of observations, and of clusters of similar observations (e.g. users).
    constant
        The quantity that is equal in all of enough observations, ``x`` or ``y``; else empty.
    """

    rho: float
    low: float
    high: float
    n: int
    clusters: int
    constant: Literal["x", "y", ""] = ""

    @property
    def direction(self) -> Direction:
        """Direction of the trend if the interval excludes zero, else unclear."""
        if self.low > 0:
            return "rises"
        return "falls" if self.high < 0 else "unclear"

    def sentence(
        self, *, rises: str, falls: str, unclear: str, one_x: str = "", one_y: str = ""
    ) -> str:
        """Return the sentence of the direction with the correlation and its interval.

        Parameters
        ----------
        rises, falls, unclear
            Words by direction.
        one_x, one_y
            Words if all observations have one value of `x` or of `y`, so that there is no trend.
        """
        if constant := {"x": one_x, "y": one_y}.get(self.constant):
            return f"{constant}."
        words = {"rises": rises, "falls": falls, "unclear": unclear}[self.direction]
        if np.isnan(self.low):
            why = "a constant quantity" if self.constant else "too few to tell"
            return f"{words} (n = {self.n:,}: {why})."
        return (
            f"{words} (rank correlation {self.rho:+.2f}, "
            f"95 % interval {self.low:+.2f} to {self.high:+.2f})."
        )

    def facts(self, prefix: str, quantities: str) -> tuple[Fact, ...]:
        """Return the correlation and its interval as facts."""
        values = (self.rho, self.low, self.high)
        return interval_facts(f"{prefix}_rho{{}}", values, f"rank correlation of {quantities}")


def rank_association(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None) -> Association:
    """Estimate the rank correlation of two quantities.

    The interval is cluster-robust, from the influence function of the correlation coefficient
    (Devlin, Gnanadesikan and Kettenring, Biometrika 62, 1975). Student's t has clusters - 1 degrees
    of freedom.

    Parameters
    ----------
    x, y
        Numbers, shape (n,); pairs with a NaN are excluded.
    clusters
        Cluster of each pair, shape (n,). A pair without a cluster is a cluster of its own; None:
        each pair is.
    """
    import pandas as pd

    xs, ys = np.asarray(x, float), np.asarray(y, float)
    order = np.lexsort((ys, xs))  # sums of floats are then the same for pairs in any order
    order = order[np.isfinite(xs[order]) & np.isfinite(ys[order])]
    _, groups = np.unique(cluster_codes(clusters, len(xs))[order], return_inverse=True)
    n = len(order)
    x_ranks, y_ranks = (np.asarray(2 * pd.Series(v[order]).rank() - n - 1) for v in (xs, ys))
    products = (x_ranks * y_ranks, x_ranks * x_ranks, y_ranks * y_ranks)
    xy, xx, yy = (np.bincount(groups, product) for product in products)
    return association_of_sums(n, np.ones_like(xy), xy, xx, yy)


def association_of_sums(
    n: int, clusters: ArrayLike, xy: ArrayLike, xx: ArrayLike, yy: ArrayLike
) -> Association:
    """Estimate the rank correlation of two quantities from sums over clusters.

    Parameters
    ----------
    n
        Number of pairs.
    clusters
        Number of clusters that share each sum equally, shape (m,).
    xy, xx, yy
        Sums of products of the ranks of `x` and `y`, of `x` and of `y`, shape (m,). Ranks are
        relative to the mean rank, in any unit.
    """
    of, xy, xx, yy = (np.asarray(v, float) for v in (clusters, xy, xx, yy))
    n_clusters = int(of.sum())
    if n < FEWEST:
        return Association(np.nan, np.nan, np.nan, n, n_clusters)
    sum_xy, sum_xx, sum_yy = (math.fsum(v) for v in (xy, xx, yy))  # the same in any order
    if constant := [name for name, v in (("x", sum_xx), ("y", sum_yy)) if v == 0]:
        return Association(np.nan, np.nan, np.nan, n, n_clusters, cast("Any", constant[0]))
    scale = math.sqrt(sum_xx * sum_yy)
    rho = sum_xy / scale
    if n_clusters < FEWEST:
        return Association(rho, np.nan, np.nan, n, n_clusters)
    influence = xy / scale - rho * (xx / sum_xx + yy / sum_yy) / 2
    half = half_of_squares(math.fsum(influence**2 / of), n_clusters, 1.0)
    return Association(rho, max(rho - half, -1.0), min(rho + half, 1.0), n, n_clusters)
