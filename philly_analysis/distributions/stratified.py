"""Draw stratified uniforms, so that a sample's counts match its distribution to within one."""

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats, Ints


def stratified_uniforms(
    score: ArrayLike, rng: np.random.Generator, cell: ArrayLike | None = None
) -> Floats:
    """Draw one uniform number in each of n equal strata, in the order of the scores.

    Equal scores are ordered by position, so a run of equal scores gets neighbouring numbers.

    Parameters
    ----------
    score
        Shape (n,).
    cell
        Shape (n,) of integers: strata are made within each cell. None: all scores are in one cell.

    Returns
    -------
    numpy.ndarray
        Shape (n,), in (0, 1); by cell, the k-th smallest lies in ((k-1)/n, k/n).
    """
    s = np.asarray(score)
    groups = np.zeros(s.size, int) if cell is None else np.asarray(cell)
    order = np.lexsort((s, groups))
    ordered = groups[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))[: s.size]
    size = np.diff(np.append(first, s.size))
    rank = np.arange(s.size) - np.repeat(first, size)
    u = np.empty(s.size)
    u[order] = (rank + rng.random(s.size)) / np.repeat(size, size)
    return np.clip(u, 1e-12, 1 - 1e-12)


def repeated_scores(
    repeat: ArrayLike, rng: np.random.Generator, sequence: ArrayLike, size: int
) -> tuple[Floats, Ints]:
    """Draw uniform scores that repeat the previous score of their sequence at random.

    Parameters
    ----------
    repeat
        Probability of repeating the previous score, a number or shape (n,).
    sequence
        Shape (n,) of integers: the sequence of each job, in order of time.

    Returns
    -------
    tuple
        Scores of shape (n,), and the run of equal scores that each belongs to.
    """
    order = np.argsort(sequence, kind="stable")
    levels = np.asarray(sequence)[order]
    fresh = rng.random(size) >= np.broadcast_to(repeat, size)[order]
    fresh[:1] = True
    fresh[1:] |= levels[1:] != levels[:-1]
    number = np.cumsum(fresh) - 1
    run = np.empty(size, int)
    run[order] = number
    return rng.random(int(number[-1]) + 1 if size else 0)[run], run
