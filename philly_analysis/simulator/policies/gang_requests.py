"""Schedule a gang's requests: hold GPUs, release them, back off, relax locality, repeat."""

from math import floor
from typing import NamedTuple

from philly_analysis.simulator.jobs.job import Job

_EPS_S = 1e-6


class GangRequests(NamedTuple):
    """Times at which gangs request GPUs and back off, in cycles; single GPUs always request.

    Attributes
    ----------
    hold_s, backoff_s
        Length of a request and of the back-off after it.
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
        """Return when the request of a cycle ends, and the gang releases what it holds."""
        return job.queued_s + cycle * (self.hold_s + self.backoff_s) + self.hold_s

    def requests_now(self, job: Job, now_s: float) -> bool:
        """Whether a job requests GPUs, the last moment of its request included."""
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
