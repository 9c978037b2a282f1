"""Compute when a gang requests GPUs, holds them, backs off and relaxes locality."""

from collections.abc import Hashable, Iterator
from math import floor
from typing import NamedTuple

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.ordering import SortedJobs
from philly_analysis.simulator.policies.view import View

_EPS_S = 1e-6


class _Front(NamedTuple):
    """The first requesting job of a group, valid until a moment while the group is unchanged."""

    jobs: SortedJobs
    version: int
    from_s: float
    job: Job | None
    until_s: float


class GangRequests(NamedTuple):
    """Times at which gangs request GPUs and back off, in cycles; single GPUs always request.

    Attributes
    ----------
    hold_s, backoff_s
        Length of a request, and of the back-off after the request (s).
    asks
        Requests before a gang relaxes locality by a step.
    steps
        Number of steps.
    """

    hold_s: float
    backoff_s: float
    asks: int
    steps: int

    def cycle(self, job: Job, now_s: float) -> int:
        """Return the number of the present cycle of request and back-off, from 0."""
        return floor((now_s - job.queued_s + _EPS_S) / (self.hold_s + self.backoff_s))

    def release_s(self, job: Job, cycle: int) -> float:
        """Return when the request of a cycle ends, and the gang releases its GPUs."""
        return job.queued_s + cycle * (self.hold_s + self.backoff_s) + self.hold_s

    def requests_now(self, job: Job, now_s: float) -> bool:
        """Return whether a job requests GPUs now; the last moment of a request counts."""
        if job.gpus == 1:
            return True
        return now_s <= self.release_s(job, self.cycle(job, now_s)) + _EPS_S

    def may_hold(self, job: Job, now_s: float) -> bool:
        """Whether a gang may hold an incomplete set of GPUs."""
        return now_s < self.release_s(job, self.cycle(job, now_s)) - _EPS_S

    def step(self, job: Job, now_s: float) -> int:
        """Return the number of steps by which a gang has relaxed locality."""
        if job.gpus == 1:
            return 0
        cycle = self.cycle(job, now_s)
        ended = cycle + (now_s >= self.release_s(job, cycle) - _EPS_S)
        return min(max(ended, 0) // self.asks, self.steps)

    def relaxation_s(self, job: Job, step: int) -> float:
        """Return when a gang relaxes beyond a step."""
        return self.release_s(job, (step + 1) * self.asks - 1)

    def requesting(self, view: View, group: Hashable) -> Iterator[Job]:
        """Yield the jobs of a group that do not back off."""
        front = self.front(view, group).job
        if front is not None:
            yield front
            for job in view.queue.groups[group]:
                if job is not front and self.requests_now(job, view.now_s):
                    yield job

    def front(self, view: View, group: Hashable, *, after: bool = False) -> _Front:
        """Return the first job of a group that requests GPUs now, or right after (cached)."""
        jobs, front = view.queue.groups[group], view.state.get(group)
        from_s = view.now_s + _EPS_S * (2 if after else -2)
        if (
            front is None
            or front.jobs is not jobs
            or front.from_s > from_s
            or front.version != jobs.version
            or front.until_s <= view.now_s + _EPS_S
        ):
            front = self._first_requesting(jobs, from_s, view.now_s)
            view.state[group] = front
        return front

    def _first_requesting(self, jobs: SortedJobs, from_s: float, now_s: float) -> _Front:
        until_s = FOREVER
        for job in jobs:
            release_s = FOREVER if job.gpus == 1 else self.release_s(job, self.cycle(job, now_s))
            if from_s <= release_s:
                return _Front(jobs, jobs.version, from_s, job, min(until_s, release_s))
            until_s = min(until_s, release_s + self.backoff_s)
        return _Front(jobs, jobs.version, from_s, None, until_s)
