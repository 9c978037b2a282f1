"""Tells whether one quantity rises with another, and how surely, when users repeat themselves."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata, t

from philly_analysis.result import Fact

Direction = Literal["rises", "falls", "unclear"]

_FEWEST = 3
"""Observations, and clusters of them, below which nothing is said."""


@dataclass(frozen=True, slots=True)
class Association:
    """Rank correlation of two quantities, with an interval that allows for clusters.

    Attributes
    ----------
    rho
        Spearman's rank correlation, -1 to 1; NaN where one of the two does not vary.
    low, high
        Its 95 % interval; NaN where there are fewer than three clusters.
    n, clusters
        Observations, and groups of observations that may be alike (e.g. users).
    """

    rho: float
    low: float
    high: float
    n: int
    clusters: int

    @property
    def direction(self) -> Direction:
        """What the interval supports: the second rises or falls with the first, or neither."""
        if self.low > 0:
            return "rises"
        return "falls" if self.high < 0 else "unclear"

    def say(self, *, rises: str, falls: str, unclear: str) -> str:
        """Return the sentence that the interval supports, with the numbers that support it."""
        words = {"rises": rises, "falls": falls, "unclear": unclear}[self.direction]
        if np.isnan(self.low):
            few = self.n < _FEWEST or self.clusters < _FEWEST
            why = "too few to say" if few else "nothing varies"
            return f"{words} (n = {self.n:,}: {why})."
        return (
            f"{words} (rank correlation {self.rho:+.2f}, "
            f"95 % interval {self.low:+.2f} to {self.high:+.2f})."
        )

    def facts(self, prefix: str, quantities: str) -> tuple[Fact, ...]:
        """Return the correlation and its interval as facts."""
        return (
            Fact(f"{prefix}_rho", self.rho, f"rank correlation of {quantities}"),
            Fact(f"{prefix}_rho_low", self.low, "lower end of its 95 % interval"),
            Fact(f"{prefix}_rho_high", self.high, "upper end of its 95 % interval"),
        )


def rank_association(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None) -> Association:
    """Measure whether `y` rises with `x`, by ranks.

    The interval is the cluster-robust one from the influence function of the correlation
    coefficient (Devlin, Gnanadesikan and Kettenring, Biometrika 62, 1975), with
    Student's t on clusters - 1 degrees of freedom: jobs of one user count as alike.

    Parameters
    ----------
    x, y
        Numbers, shape (n,); pairs with a NaN are left out.
    clusters
        Group of each pair, shape (n,); a missing group stands alone, as does each pair if None.

    Returns
    -------
    Association
        The rank correlation and its 95 % interval.
    """
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(xs) & np.isfinite(ys)
    groups = _codes(clusters, len(xs))[known]
    n = int(known.sum())
    n_groups = len(np.unique(groups))
    nothing = Association(np.nan, np.nan, np.nan, n, n_groups)
    if n < _FEWEST:
        return nothing
    zx, zy = (_standard(rankdata(v[known])) for v in (xs, ys))
    if zx is None or zy is None:
        return nothing
    rho = float(np.mean(zx * zy))
    if n_groups < _FEWEST:
        return Association(rho, np.nan, np.nan, n, n_groups)
    influence = zx * zy - rho * (zx**2 + zy**2) / 2
    _, group = np.unique(groups, return_inverse=True)
    sums = np.bincount(group, influence)
    error = np.sqrt(np.sum(sums**2) * n_groups / (n_groups - 1)) / n
    half = float(t.ppf(0.975, n_groups - 1) * error)
    return Association(rho, max(rho - half, -1.0), min(rho + half, 1.0), n, n_groups)


def _standard(ranks: NDArray[np.float64]) -> NDArray[np.float64] | None:
    spread = ranks.std()
    return (ranks - ranks.mean()) / spread if spread > 0 else None


def _codes(clusters: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Give each group a code, and each missing one a code of its own."""
    own = np.arange(n, dtype=np.int64)
    if clusters is None:
        return own
    codes, _ = pd.factorize(np.asarray(clusters, dtype=object))
    return np.where(codes < 0, n + own, codes)
