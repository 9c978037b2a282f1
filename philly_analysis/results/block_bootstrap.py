"""Estimate the change of a mean between two sets of jobs by a block bootstrap."""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.results.paired_effects import Paired

BLOCKS = 30
"""Blocks of equal time that the submissions are divided into."""
_FEWEST = 5
"""Fewest blocks with jobs for an interval."""
_RESAMPLES = 1_999

Floats = NDArray[np.float64]


def time_blocks(moments: ArrayLike, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Return the block of each moment, from 0: their span has blocks of equal length.

    Parameters
    ----------
    moments
        Seconds, shape (n,).
    blocks
        Number of blocks.
    """
    at = np.asarray(moments, float)
    if not at.size:
        return np.zeros(0, np.int64)
    edges = np.linspace(at.min(), at.max(), blocks + 1)
    return np.searchsorted(edges[1:-1], at, side="right").astype(np.int64)


def mean_change(
    after: ArrayLike,
    before: ArrayLike,
    after_blocks: ArrayLike,
    before_blocks: ArrayLike | None = None,
) -> Paired:
    """Estimate the percent change of a mean, with the 95 % interval of a block bootstrap.

    Jobs submitted at similar times share their queue, so that blocks of time are resampled whole
    (Künsch, Annals of Statistics 17, 1989). The interval is the percentile interval (Efron and
    Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13), with a fixed seed.

    Parameters
    ----------
    after, before
        Values of jobs, shapes (n,) and (m,).
    after_blocks, before_blocks
        Block of each. None: the jobs are the same, in the same order; a block is then resampled
        for both.

    Returns
    -------
    Paired
        The change in percent; NaN if a mean is not positive. No interval with fewer than five
        blocks, or if the mean is 0 in some resample. `pairs` is the number of blocks, of the
        smaller set.
    """
    same = before_blocks is None
    sums_a, n_a = _totals(after, after_blocks)
    sums_b, n_b = _totals(before, after_blocks if before_blocks is None else before_blocks)
    blocks = min(len(n_a), len(n_b))
    if not (blocks and sums_a.sum() > 0 and sums_b.sum() > 0):
        return Paired(np.nan, np.nan, np.nan, blocks)

    def change(i: NDArray[np.int64], *other: NDArray[np.int64], axis: int = -1) -> Floats:
        j = i if same else other[0]
        mean_a = sums_a[i].sum(axis) / n_a[i].sum(axis)
        return np.asarray(100 * (mean_a / (sums_b[j].sum(axis) / n_b[j].sum(axis)) - 1))

    indices = [np.arange(len(n)) for n in ((n_a,) if same else (n_a, n_b))]
    estimate = float(change(*indices))
    if blocks < _FEWEST:
        return Paired(estimate, np.nan, np.nan, blocks)
    # slow to import, and most commands need none
    from scipy.stats import DegenerateDataWarning, bootstrap

    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # of means of 0
        interval = bootstrap(
            indices,
            change,
            n_resamples=_RESAMPLES,
            vectorized=True,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval
    if not np.isfinite(interval.high):
        return Paired(estimate, np.nan, np.nan, blocks)
    return Paired(estimate, float(interval.low), float(interval.high), blocks)


def _totals(values: ArrayLike, blocks: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return the sum and the number of the values of each block that has any."""
    _, of = np.unique(np.asarray(blocks), return_inverse=True)
    sums, n = np.bincount(of, np.asarray(values, float)), np.bincount(of)
    return sums.astype(float), n.astype(float)
