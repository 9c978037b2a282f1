"""Busy hours bring shorter jobs, or longer ones: how run times go with how many jobs come."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

HOUR_S = 3_600
FEWEST_HOURS = 24
_STRONGEST = 3.0
_HALVINGS = 20
_LOOKS = 3
_MOST = 0.99


def crowding(at_s: Floats, score: Floats) -> float:
    """Measure how run times go with crowds.

    Parameters
    ----------
    at_s
        Shape (n,): submissions in s; each whole hour begins a new hour.
    score
        Shape (n,): normal scores of run times; nan: not known.

    Returns
    -------
    float
        Rank correlation, over hours with jobs, of their number and their mean score (Spearman);
        0 where fewer than a day of hours has any.
    """
    known = np.isfinite(score)
    _, jobs, mean = _hourly(at_s[known], score[known])
    if jobs.size < FEWEST_HOURS or np.ptp(jobs) == 0 or np.ptp(mean) == 0:
        return 0.0
    return round(float(scipy.stats.spearmanr(jobs, mean)[0]), 4)


def crowded(at_s: Floats, score: Floats, wanted: float) -> Floats:
    """Shift scores by their hour's crowd, until they go with it as wanted.

    Parameters
    ----------
    at_s, score
        As in :func:`crowding`, all known.
    wanted
        What :func:`crowding` is to give.

    Returns
    -------
    numpy.ndarray
        Shape (n,): scores, of about the same variance.
    """
    hour, jobs, mean = _hourly(at_s, score)
    if jobs.size < FEWEST_HOURS or np.ptp(jobs) == 0:
        return score
    order = scipy.stats.rankdata(jobs)
    crowd = scipy.stats.norm.ppf((order - 0.5) / jobs.size)
    steps = np.arange(jobs.size) - (jobs.size - 1) / 2
    apart = order - order.mean()
    most = np.sqrt(float(apart @ apart) * float(steps @ steps))
    low, high = -_STRONGEST, _STRONGEST
    for _ in range(_HALVINGS):
        by = (low + high) / 2
        got = float(apart[np.argsort(mean + by * crowd)] @ steps) / most  # as Spearman's
        low, high = (by, high) if got < wanted else (low, by)
    shifted = score + (low + high) / 2 * crowd[hour]
    return np.asarray(shifted / max(float(shifted.std()), 1e-12))


def going_with_crowds(
    at_s: Floats, score: Floats, wanted: float, run_s_of: Callable[[Floats], Floats]
) -> Floats:
    """Draw run times that go with crowds as wanted, whatever else decides them.

    Gangs, endings and virtual clusters have laws of their own, between which no score moves a job:
    so more is asked of the scores than is wanted of the run times, by as much as was lost.

    Parameters
    ----------
    at_s, score, wanted
        As in :func:`crowded`.
    run_s_of
        Draws run times by scores, shape (n,).
    """
    asked = wanted
    for look in range(_LOOKS):
        run_s = run_s_of(crowded(at_s, score, asked))
        if look < _LOOKS - 1:
            ranks = (scipy.stats.rankdata(run_s) - 0.5) / run_s.size
            lost = wanted - crowding(at_s, scipy.stats.norm.ppf(ranks))
            asked = float(np.clip(asked + lost, -_MOST, _MOST))
    return run_s


def _hourly(at_s: Floats, score: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the hour of each job, as a number, and of each hour the jobs and their mean score."""
    _, hour, jobs = np.unique(at_s // HOUR_S, return_inverse=True, return_counts=True)
    return hour, jobs.astype(float), np.bincount(hour, score, jobs.size) / np.maximum(jobs, 1)
