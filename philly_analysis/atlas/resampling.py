"""Compute block bootstrap intervals over users or weeks.

Rows of one user, or of one week, are correlated, so whole blocks are drawn with replacement. A
matrix has the weights of all bootstrap samples, and every statistic is computed from sums times
that matrix.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

RESAMPLES = 1_000
SEED = 20190710
"""Seed of the bootstrap, for reproducible intervals."""

FEWEST_BLOCKS = 12
"""Fewest blocks for an interval; with fewer its coverage is too low."""

_BINS = 1_000
_MOST_MISSING = 0.02
"""Largest share of bootstrap samples without a value."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, NaN where there is none."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Resampling:
    """Bootstrap samples of blocks of rows; the first one is the data.

    Attributes
    ----------
    kind
        Kind of a block.
    codes
        The block of each row, shape (rows,).
    weights
        Number of times that each sample has each block, shape (samples, blocks).
    """

    kind: str
    codes: NDArray[np.int64]
    weights: Floats

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int(self.weights.shape[1])

    def sums(self, values: ArrayLike) -> Floats:
        """Return the sum of values over the rows of each sample.

        Parameters
        ----------
        values
            A value per row, shape (rows,).

        Returns
        -------
        ndarray
            Shape (samples,).
        """
        by_block = np.bincount(self.codes, np.asarray(values, float), self.blocks)
        sums: Floats = self.weights @ by_block
        return sums

    def tallies(self, bins: ArrayLike, n: int, values: ArrayLike | None = None) -> Floats:
        """Return the sum of values, or the number of rows, by sample and bin.

        Parameters
        ----------
        bins
            The bin of each row, 0 to `n` - 1, shape (rows,).

        Returns
        -------
        ndarray
            Shape (samples, n).
        """
        cells = self.codes * n + np.asarray(bins, np.int64)
        weights = None if values is None else np.asarray(values, float)
        table = np.bincount(cells, weights, self.blocks * n).reshape(self.blocks, n)
        tallies: Floats = self.weights @ table
        return tallies

    def estimate(self, draws: Floats) -> Estimate:
        """Return the value of the data with the interval from the other samples.

        The quantiles are widened for few blocks (Hesterberg, The American Statistician 69, 2015:
        the expanded percentile interval).
        """
        value, others = float(draws[0]), draws[1:]
        draws_with_value = np.sort(others[~np.isnan(others)])
        if self.blocks < FEWEST_BLOCKS or len(draws_with_value) < (1 - _MOST_MISSING) * len(others):
            return Estimate(value, np.nan, np.nan)
        g = self.blocks
        tail = float(special.ndtr(np.sqrt(g / (g - 1)) * special.stdtrit(g - 1, 0.025)))
        low, high = np.quantile(draws_with_value, [tail, 1 - tail], method="nearest")
        return Estimate(value, float(low), float(high))


def resampling(
    rows: pd.DataFrame, *, of_users: bool, counts: ArrayLike | None = None
) -> Resampling:
    """Draw bootstrap samples of blocks.

    Parameters
    ----------
    rows
        Observations, with the columns ``user`` or ``day``, or both.
    of_users
        Use users as blocks if most observations have a user; each other row is a block.
        Otherwise blocks are weeks, or days if there are few weeks.
    counts
        Observations in each row; None: one.
    """
    kind, codes = _blocks(rows, of_users, np.ones(len(rows)) if counts is None else counts)
    n = int(codes.max()) + 1 if len(codes) else 0
    rng = np.random.default_rng(SEED)
    drawn = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES) if n else np.empty((RESAMPLES, 0))
    weights = np.vstack([np.ones(n), drawn]).astype(float)
    return Resampling(kind, codes, weights)


def _blocks(rows: pd.DataFrame, of_users: bool, counts: ArrayLike) -> tuple[str, NDArray[np.int64]]:
    by_user = of_users and "user" in rows
    if by_user and "day" in rows:
        by_user = np.dot(rows["user"].notna(), counts) > np.sum(counts) / 2
    if by_user:
        codes = pd.factorize(rows["user"])[0].astype(np.int64)
        alone = codes < 0
        codes[alone] = codes.max(initial=-1) + 1 + np.arange(alone.sum())
        return "users", codes
    days = pd.to_datetime(rows["day"]).to_numpy("datetime64[D]").astype(np.int64)
    weeks = (days + 3) // 7  # 1970 began on a Thursday: weeks from Monday
    few = len(np.unique(weeks)) < FEWEST_BLOCKS
    codes = np.unique(days if few else weeks, return_inverse=True)[1].astype(np.int64)
    return ("days" if few else "weeks"), codes


def ratio(over: Floats, under: Floats) -> Floats:
    """Return a ratio of sums by sample, NaN for a denominator of zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(under > 0, over / under, np.nan)


def median(r: Resampling, values: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Return the median by sample; values may be infinite.

    Without weights the median of the data is exact, and the median of each resample is one of a
    thousand quantiles. With weights all medians are exact.

    Parameters
    ----------
    weights
        Weight of each value, shape (rows,); values then have few levels.
    """
    v = np.asarray(values, float)
    if not len(v):
        return np.full(len(r.weights), np.nan)
    grid = np.linspace(0, 1, _BINS + 1)
    levels = v if weights is not None else np.quantile(v, grid, method="inverted_cdf")
    edges = np.unique(levels)
    upto = np.cumsum(r.tallies(np.searchsorted(edges, v), len(edges), weights), axis=1)
    at = np.argmax(upto >= upto[:, -1:] / 2, axis=1)
    draws = edges[at]
    if weights is None:
        draws[0] = np.quantile(v, 0.5, method="inverted_cdf")
    return np.where(upto[:, -1] > 0, draws, np.nan)


def top_share(r: Resampling, amounts: ArrayLike, top: float) -> Floats:
    """Return the share of the total in the rows with the largest amounts, by sample.

    Parameters
    ----------
    amounts
        Not negative, one per row, shape (rows,).
    top
        Fraction of the rows, e.g. 0.1; the last row counts in part.
    """
    x = np.asarray(amounts, float)
    order = np.argsort(-x, kind="stable")
    # bins of equal size but for rounding: exact where there are no more rows than bins
    bins = np.empty(len(x), np.int64)
    bins[order] = np.arange(len(x)) * min(_BINS, len(x)) // max(len(x), 1)
    n = min(_BINS, len(x))
    if not n or x.sum() <= 0:
        return np.full(len(r.weights), np.nan)
    rows, held = r.tallies(bins, n), r.tallies(bins, n, x)
    upto, wanted = np.cumsum(rows, axis=1), top * rows.sum(axis=1, keepdims=True)
    part = np.clip(ratio(wanted - (upto - rows), rows), 0, 1)
    part = np.where(rows > 0, part, 0)
    return ratio((part * held).sum(axis=1), held.sum(axis=1))
