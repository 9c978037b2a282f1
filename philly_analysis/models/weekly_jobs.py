"""Count the jobs of the whole weeks of a log, and the sessions that the jobs belong to."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from philly_analysis.distributions import Floats, Ints
from philly_analysis.models.components.hourly_counts import HOUR_S
from philly_analysis.models.components.job_classes import long_jobs_of
from philly_analysis.models.components.sessions import job_sessions
from philly_analysis.study import GANGS, gang_class

DAY_S, WEEK_D = 86_400, 7
WEEK_S = WEEK_D * DAY_S
RUN_TIMES_S = (60.0, 300.0, 1_500.0, 7_200.0, 36_000.0, 216_000.0)
LOG_RUN_S = np.log(RUN_TIMES_S)
EDGES_S = np.exp((LOG_RUN_S[1:] + LOG_RUN_S[:-1]) / 2)
"""Bounds between the run times of two job classes."""
CLASSES = (len(GANGS), len(RUN_TIMES_S))


@dataclass(frozen=True, slots=True)
class WeeklyJobs:
    """Jobs of the whole weeks of a log, in all and by job class, and its sessions.

    The effective number of sessions is the number of equal sessions with the same variance (Kish
    1965).

    Attributes
    ----------
    start_d
        Shape (weeks,): start of each week, in days since the Unix epoch.
    daily
        Shape (weeks, 7): jobs of each day.
    by_class
        Shape (weeks, gang classes, run times): jobs of each week with a known run time.
    sessions
        Effective number of sessions in the log, weighted by their jobs.
    class_sessions
        Shape (gang classes, run times): effective number of sessions, weighted by their jobs.
    class_demands
        Shape (gang classes, run times): effective number of sessions by GPU time. A class has its
        share of each session's GPU time, divided between the two nearest run times as effects on
        classes are interpolated. Independent effects on classes with the inverses as variances
        give the GPU time of all jobs the sampling variance that its sessions had if all long jobs
        of a gang class were equally long: the run times of long jobs vary by `LongJobs`.
    """

    start_d: Floats
    daily: Floats
    by_class: Floats
    sessions: float
    class_sessions: Floats
    class_demands: Floats

    @classmethod
    def of(cls, jobs: pd.DataFrame, windows: ArrayLike | None = None) -> Self:
        """Count the jobs of whole weeks.

        Parameters
        ----------
        jobs
            Columns submitted_s (ascending), vc, user, gpus, run_s.
        windows
            Shape (k, 2): start and end of the observed times, Unix seconds. None: from the hour of
            the earliest submission to the hour of the latest. The weeks of an observed time end
            with it.
        """
        at = jobs["submitted_s"].to_numpy(float)
        if windows is None:
            windows = [(at[0] // HOUR_S * HOUR_S, (at[-1] // HOUR_S + 1) * HOUR_S)]
        start = np.sort(np.concatenate([_weeks(*w) for w in np.reshape(windows, (-1, 2))]))
        week = np.searchsorted(start, at, side="right") - 1
        inside = week >= 0
        inside[inside] = at[inside] < start[week[inside]] + WEEK_S
        day = ((at[inside] - start[week[inside]]) // DAY_S).astype(int)
        daily = np.bincount(week[inside] * WEEK_D + day, minlength=start.size * WEEK_D)
        session = job_sessions(jobs)
        timed = jobs["run_s"].notna().to_numpy()
        gpus, run_s = (jobs[name].to_numpy(float)[timed] for name in ("gpus", "run_s"))
        index = gang_class(gpus.astype(int)) * CLASSES[1] + np.digitize(run_s, EDGES_S)
        classes = int(np.prod(CLASSES))
        seen = inside[timed]
        by_class = np.bincount(
            week[timed][seen] * classes + index[seen], minlength=start.size * classes
        )
        gpu_s = gpus * run_s
        of_session = np.bincount(session[timed], gpu_s)[session[timed]]
        even_s = gpus * _with_equal_long_jobs(gang_class(gpus.astype(int)), run_s)
        without_long = _squares(session[timed], even_s) / max(_squares(session[timed], gpu_s), 1e-9)
        nearest = np.interp(np.log(np.maximum(run_s, 1.0)), LOG_RUN_S, np.arange(CLASSES[1]))
        share = np.maximum(1 - np.abs(nearest[:, None] - np.arange(CLASSES[1])), 0)
        of_gang = gang_class(gpus.astype(int)) == np.arange(CLASSES[0])[:, None]
        demand, squares = (
            of_gang @ (share * weight[:, None]) for weight in (gpu_s, gpu_s * of_session)
        )
        return cls(
            start_d=start / DAY_S,
            daily=daily.astype(float).reshape(start.size, WEEK_D),
            by_class=by_class.astype(float).reshape(start.size, *CLASSES),
            sessions=float(_effective(np.zeros(at.size, int), session, np.ones(at.size), 1)[0]),
            class_sessions=_effective(index, session[timed], np.ones(run_s.size), classes).reshape(
                CLASSES
            ),
            class_demands=demand**2 / np.maximum(min(without_long, 1.0) * squares, 1e-300),
        )


def _with_equal_long_jobs(gang: Ints, run_s: Floats) -> Floats:
    """Return run times in which all long jobs of a gang class have their mean run time."""
    made = run_s.copy()
    long, _ = long_jobs_of(gang, run_s)
    total, jobs = (np.bincount(gang[long], w, CLASSES[0]) for w in (run_s[long], None))
    made[long] = (total / np.maximum(jobs, 1))[gang[long]]
    return made


def _weeks(start_s: float, end_s: float) -> Floats:
    """Return the starts of the whole weeks of an observed time."""
    return float(end_s) - WEEK_S * np.arange(1, 1 + int((end_s - start_s) // WEEK_S), dtype=float)


def _squares(session: Ints, weight: Floats) -> float:
    """Return the sum of the squared weights of sessions."""
    return float((np.bincount(session, weight) ** 2).sum())


def _effective(group: Ints, session: Ints, weight: Floats, groups: int) -> Floats:
    """Return the effective number of sessions of each group."""
    pair, number = np.unique(np.column_stack((group, session)), axis=0, return_inverse=True)
    total = np.bincount(number.ravel(), weight, len(pair))
    sums, squares = (np.bincount(pair[:, 0], total**power, groups) for power in (1, 2))
    return np.asarray(sums**2 / np.maximum(squares, 1e-300))
