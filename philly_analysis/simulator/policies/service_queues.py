"""Queues of attained service: a job is demoted when its GPU-seconds reach a threshold."""

from bisect import bisect_right
from collections.abc import Iterator
from math import inf

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.view import View

EPS = 1e-6
"""Rounding of times and GPU-seconds."""

_RUNS, _STOPPED, _CAME = range(3)

Thresholds = tuple[float, ...]
"""GPU-seconds at which a job falls to the next queue."""

Rank = tuple[float, ...]
"""Priority key: the queue, and the rank in the queue."""


def queue_of(job: Job, thresholds_gpu_s: Thresholds, now_s: float) -> int:
    """Return the queue of a job by attained service, 0 the first."""
    return bisect_right(thresholds_gpu_s, job.counted_gpu_s(now_s) + EPS)


def demotion_s(job: Job, thresholds_gpu_s: Thresholds, now_s: float) -> float:
    """Return when a running job is demoted."""
    if job.allocation is None or job.level == len(thresholds_gpu_s):
        return FOREVER
    missing_gpu_s = thresholds_gpu_s[job.level] - job.counted_gpu_s(now_s)
    return job.service_reached_s(missing_gpu_s, now_s)


def waiting_rank(job: Job, now_s: float) -> Rank:
    """Return the sort key: queue, then state (running, preempted, new), then rank in that state.

    A job that was demoted at this moment counts as new, even while the job runs.
    """
    demoted = job.level_s > job.started_s
    if job.running:
        if demoted and job.level_s == now_s:
            return job.level, _CAME, now_s, 2, job.index
        return running_rank(job)
    if job.interrupted and job.queued_s > job.level_s:
        return job.level, _STOPPED, -job.queued_s, *_begin_in_queue(job)
    moved = job.interrupted or job.level_s > job.queued_s
    kind = 2 if moved else min(job.run, 1)
    return job.level, _CAME, max(job.level_s, job.queued_s), kind, job.index


def running_rank(job: Job) -> Rank:
    """Return the sort key of a running job: queue, and since when the job runs in the queue."""
    return job.level, _RUNS, *_begin_in_queue(job)


def last_rank_first(view: View) -> Iterator[tuple[Rank, Job]]:
    """Yield the running jobs with their sort keys, the greatest first.

    Running jobs are sorted already, except for jobs that were demoted at this moment.
    """
    now_s = view.now_s
    for key, _, job in view.running.below((inf,)):
        yield (key if job.level_s < now_s else view.key(job, now_s)), job


def _begin_in_queue(job: Job) -> tuple[float, bool, int]:
    """Return since when a job runs, or ran, in its queue; order equal times by start.

    Jobs demoted at a time come behind jobs that started then, in the order of submission.
    """
    if job.level_s > job.started_s:
        return job.level_s, True, job.index
    return job.started_s, False, job.nth_start
