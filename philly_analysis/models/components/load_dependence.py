"""Load dependence: correlation of run times with the number of jobs in the hour."""

from collections.abc import Callable

import numpy as np
import scipy

from philly_analysis.distributions import Floats, Ints
from philly_analysis.models.components.hourly_counts import HOUR_S

MIN_HOURS = 24
_MAX_SHIFT = 3.0
_BISECTIONS = 20
_ITERATIONS = 3
_MAX_CORRELATION = 0.99


def load_correlation(at_s: Floats, score: Floats) -> float:
    """Return the rank correlation of an hour's jobs with their run times.

    Parameters
    ----------
    at_s
        Shape (n,): submissions in s since the start of some hour.
    score
        Shape (n,): normal scores of run times; nan: unknown.

    Returns
    -------
    float
        Spearman's correlation, over hours with jobs, of their number and mean score; 0 with less
        than a day of such hours.
    """
    finite = np.isfinite(score)
    _, jobs, mean = _hourly(at_s[finite], score[finite])
    if jobs.size < MIN_HOURS or np.ptp(jobs) == 0 or np.ptp(mean) == 0:
        return 0.0
    return round(float(scipy.stats.spearmanr(jobs, mean)[0]), 4)


def correlate_with_load(at_s: Floats, score: Floats, target: float) -> Floats:
    """Shift scores by their hour's number of jobs, to a target correlation.

    Parameters
    ----------
    at_s, score
        Submissions and scores of :func:`load_correlation`, all known.
    target
        Correlation of the result.

    Returns
    -------
    numpy.ndarray
        Shape (n,): scores, of about the same variance.
    """
    hour, jobs, mean = _hourly(at_s, score)
    if jobs.size < MIN_HOURS or np.ptp(jobs) == 0:
        return score
    order = scipy.stats.rankdata(jobs)
    load = scipy.stats.norm.ppf((order - 0.5) / jobs.size)
    steps = np.arange(jobs.size) - (jobs.size - 1) / 2
    deviation = order - order.mean()
    norm = np.sqrt(float(deviation @ deviation) * float(steps @ steps))
    low, high = -_MAX_SHIFT, _MAX_SHIFT
    for _ in range(_BISECTIONS):
        by = (low + high) / 2
        spearman = float(deviation[np.argsort(mean + by * load)] @ steps) / norm
        low, high = (by, high) if spearman < target else (low, by)
    shifted = score + (low + high) / 2 * load[hour]
    return np.asarray(shifted / max(float(shifted.std()), 1e-12))


def draw_load_dependent(
    at_s: Floats, score: Floats, target: float, run_times: Callable[[Floats], Floats]
) -> Floats:
    """Draw run times with a target correlation with load.

    Scores only order run times within a class of jobs, which weakens the correlation. Iteration
    raises the target of the scores by the shortfall.

    Parameters
    ----------
    at_s, score, target
        Submissions, scores and correlation of :func:`correlate_with_load`.
    run_times
        Function that draws run times by scores, shape (n,).
    """
    aim = target
    for iteration in range(_ITERATIONS):
        run_s = run_times(correlate_with_load(at_s, score, aim))
        if iteration < _ITERATIONS - 1:
            ranks = (scipy.stats.rankdata(run_s) - 0.5) / run_s.size
            shortfall = target - load_correlation(at_s, scipy.stats.norm.ppf(ranks))
            aim = float(np.clip(aim + shortfall, -_MAX_CORRELATION, _MAX_CORRELATION))
    return run_s


def _hourly(at_s: Floats, score: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the hour of each job as a number, and the jobs and mean score of each hour."""
    _, hour, jobs = np.unique(at_s // HOUR_S, return_inverse=True, return_counts=True)
    return hour, jobs.astype(float), np.bincount(hour, score, jobs.size) / np.maximum(jobs, 1)
