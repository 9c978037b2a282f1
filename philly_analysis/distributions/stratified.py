"""Random numbers that fill their range evenly: a sample then has its law up to one count."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]


def evenly(score: ArrayLike, rng: np.random.Generator, cell: ArrayLike | None = None) -> Floats:
    """Turn scores into uniform numbers, one in each of n equal strata, in the order of the scores.

    Equal scores are told apart by position, so a run of equal scores gets neighbouring numbers.

    Parameters
    ----------
    score
        Shape (n,).
    cell
        Shape (n,) of integers: strata are made within each cell. One cell when absent.

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


def runs(
    repeat: ArrayLike, rng: np.random.Generator, sequence: ArrayLike, size: int
) -> tuple[Floats, Ints]:
    """Uniform scores that a job shares with the one before it in its sequence.

    Parameters
    ----------
    repeat
        Probability of repeating the score before, a number or shape (n,).
    sequence
        Shape (n,) of integers: which sequence each job belongs to, in order of time.

    Returns
    -------
    tuple
        Scores of shape (n,), and the run that each belongs to.
    """
    order = np.argsort(sequence, kind="stable")
    own = np.asarray(sequence)[order]
    fresh = rng.random(size) >= np.broadcast_to(repeat, size)[order]
    fresh[:1] = True
    fresh[1:] |= own[1:] != own[:-1]
    number = np.cumsum(fresh) - 1
    run = np.empty(size, int)
    run[order] = number
    return rng.random(int(number[-1]) + 1 if size else 0)[run], run
