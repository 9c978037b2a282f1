"""Describe the cluster at the moments of submission, from events strictly before each moment."""

from collections import deque
from collections.abc import Mapping

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats, Ints
from philly_analysis.forecasts.queue import NAMES, NUMBERS, Queue
from philly_analysis.study import gang_class

HOUR_S = 3_600.0
_RECENT = (5, 30)
"""Numbers of known waits in recent means (chosen: a burst, and a day of a busy queue)."""
_SPAN_S = 1e10
"""Seconds that separate groups on one axis: longer than any log."""


class _Sums:
    """Running sums of weighted events, by group."""

    def __init__(self, groups: Floats, moments: Floats, weights: Floats) -> None:
        keys = groups * _SPAN_S + moments
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._sums = np.concatenate(([0.0], np.cumsum(weights[order])))

    def span(self, groups: Floats, moments: Floats) -> tuple[Ints, Ints]:
        """Return the range of a group's events strictly before the moments."""
        ends = groups * _SPAN_S, groups * _SPAN_S + moments
        first, end = (np.searchsorted(self._keys, keys, "left").astype(int) for keys in ends)
        return first, end

    def before(self, groups: Floats, moments: Floats) -> Floats:
        """Return the sums of weights strictly before the moments."""
        first, end = self.span(groups, moments)
        return np.asarray(self._sums[end] - self._sums[first])

    def mean_of_last(self, groups: Floats, moments: Floats, count: int) -> Floats:
        """Return the mean weight of the last events before the moments; nan without events."""
        first, end = self.span(groups, moments)
        first = np.maximum(first, end - count)
        with np.errstate(invalid="ignore"):
            return np.asarray((self._sums[end] - self._sums[first]) / (end - first))

    def age(self, groups: Floats, moments: Floats) -> Floats:
        """Return the seconds since the last event before the moments; nan without events."""
        first, end = self.span(groups, moments)
        last = self._keys[np.maximum(end - 1, 0)] - groups * _SPAN_S
        return np.where(end > first, moments - last, np.nan)


def submission_states(queue: Queue, asked: pd.DataFrame) -> pd.DataFrame:
    """Return what is known about each asked job at its submission.

    Parameters
    ----------
    queue
        History of the queue.
    asked
        Jobs to describe, with the requests, names and entered_s of the queue's jobs, and `ahead`:
        number of the queue's jobs that entered before.

    Returns
    -------
    pandas.DataFrame
        One row per asked job, and one column of numbers per property. Properties of the job are the
        request and the time of the week. Other properties are by group: all jobs, and jobs of the
        same gang class, virtual cluster, user, account, QOS. A group has the jobs and GPUs that
        wait, run, started and were submitted in the last hour. A group also has the last known
        waits, and the age of the oldest waiting job. Only events strictly before the submission
        count.
    """
    moments = asked["entered_s"].to_numpy(float)
    columns: dict[str, Floats] = {"gpus": asked["gpus"].to_numpy(float)}
    columns |= {name: asked[name].to_numpy(float) for name in NUMBERS}
    clock = pd.to_datetime(moments, unit="s")
    columns["hour"] = np.asarray(clock.hour + clock.minute / 60, float)
    columns["day"] = np.asarray(clock.day_of_week, float)
    for name, (of_jobs, of_asked) in _groups(queue, asked).items():
        columns |= _group_state(queue, asked, name, of_jobs, of_asked)
    return pd.DataFrame(columns)


def _groups(queue: Queue, asked: pd.DataFrame) -> Mapping[str, tuple[Floats, Floats]]:
    """Return the group of each of the queue's jobs and of each asked job, by kind of group."""
    n = len(queue.jobs)
    groups = {
        "all": np.zeros(n + len(asked)),
        "gang": pd.factorize(_both(queue, asked, "gpus"))[0].astype(float),
        "class": gang_class(_both(queue, asked, "gpus").to_numpy()).astype(float),
    }
    for name in NAMES:
        codes = pd.factorize(_both(queue, asked, name).fillna("").astype(str))[0]
        if len(np.unique(codes)) > 1:
            groups[name] = codes.astype(float)
    return {name: (codes[:n], codes[n:]) for name, codes in groups.items()}


def _both(queue: Queue, asked: pd.DataFrame, name: str) -> "pd.Series[float]":
    return pd.concat([queue.jobs[name], asked[name]], ignore_index=True)


def _group_state(
    queue: Queue, asked: pd.DataFrame, name: str, of_jobs: Floats, of_asked: Floats
) -> dict[str, Floats]:
    """Return the state of the queue's jobs in the group of each asked job."""
    jobs = queue.jobs
    entered_s, left_s, ended_s = (
        jobs[column].to_numpy(float) for column in ("entered_s", "left_s", "ended_s")
    )
    moments = asked["entered_s"].to_numpy(float)
    ahead = asked["ahead"].to_numpy(float)
    has_left, started, over = (
        np.isfinite(left_s),
        np.isfinite(queue.started_s),
        np.isfinite(ended_s),
    )
    places = np.arange(len(jobs), dtype=float)
    gpus = jobs["gpus"].to_numpy(float)
    state: dict[str, Floats] = {}
    for unit, weights in (("jobs", np.ones(len(jobs))), ("gpus", gpus)):
        came = _Sums(of_jobs, places, weights).before(of_asked, ahead)
        gone = _Sums(of_jobs[has_left], left_s[has_left], weights[has_left]).before(
            of_asked, moments
        )
        starts = _Sums(of_jobs[started], queue.started_s[started], weights[started])
        ends = _Sums(of_jobs[over], ended_s[over], weights[over])
        submissions = _Sums(of_jobs, entered_s, weights)
        begun = starts.before(of_asked, moments)
        state[f"waiting_{unit}_{name}"] = came - gone
        state[f"running_{unit}_{name}"] = begun - ends.before(of_asked, moments)
        state[f"started_{unit}_{name}"] = begun - starts.before(of_asked, moments - HOUR_S)
        state[f"submitted_{unit}_{name}"] = submissions.before(
            of_asked, moments
        ) - submissions.before(of_asked, moments - HOUR_S)
    waits = np.log1p(queue.waits[started])
    wait_sums = _Sums(of_jobs[started], queue.started_s[started], waits)
    for count in (1, *_RECENT):
        state[f"last_{count}_{name}"] = wait_sums.mean_of_last(of_asked, moments, count)
    state[f"since_start_{name}"] = np.log1p(wait_sums.age(of_asked, moments))
    state[f"oldest_{name}"] = _oldest(entered_s, left_s, of_jobs, moments, ahead, of_asked)
    return state


def _oldest(
    entered: Floats,
    ended: Floats,
    of_jobs: Floats,
    moments: Floats,
    ahead: Floats,
    of_asked: Floats,
) -> Floats:
    """Return the logarithm of the age of the oldest waiting job of each group; -1: none waits."""
    queues: dict[float, deque[int]] = {}
    ages = np.full(len(moments), -1.0)
    place = 0
    for i in np.lexsort((ahead, moments)):
        while place < ahead[i]:
            queues.setdefault(of_jobs[place], deque()).append(place)
            place += 1
        waiting = queues.get(of_asked[i])
        while waiting and ended[waiting[0]] < moments[i]:
            waiting.popleft()
        if waiting:
            ages[i] = np.log1p(moments[i] - entered[waiting[0]])
    return ages
