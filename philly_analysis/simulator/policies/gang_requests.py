"""How a gang asks: it holds what it finds, lets go, backs off, asks anew, in the end relaxed."""

from math import floor
from typing import NamedTuple

from philly_analysis.simulator.jobs.job import Job

_EPS_S = 1e-6


class Patience(NamedTuple):
    """For how long gangs ask, and back off, again and again; single GPUs ask all the time.

    Attributes
    ----------
    hold_s, backoff_s
        For how long a gang asks, and then does not.
    asks
        Times that it asks before it relaxes by a step.
    steps
        Steps by which it may relax.
    """

    hold_s: float
    backoff_s: float
    asks: int
    steps: int

    def cycle(self, job: Job, now_s: float) -> int:
        """Return the how-manieth time a gang asks, or has asked and backs off, from 0."""
        return floor((now_s - job.queued_s + _EPS_S) / (self.hold_s + self.backoff_s))

    def lets_go_s(self, job: Job, cycle: int) -> float:
        """Return when a gang has asked for long enough, the how-manieth time."""
        return job.queued_s + cycle * (self.hold_s + self.backoff_s) + self.hold_s

    def asks_now(self, job: Job, now_s: float) -> bool:
        """Whether a job is not backing off: it holds, or just now lets go and relaxes."""
        if job.gpus == 1:
            return True
        return now_s <= self.lets_go_s(job, self.cycle(job, now_s)) + _EPS_S

    def in_time(self, job: Job, now_s: float) -> bool:
        """Whether the time that a gang may hold GPUs is not up."""
        return now_s < self.lets_go_s(job, self.cycle(job, now_s)) - _EPS_S

    def step(self, job: Job, now_s: float) -> int:
        """Return how often a gang has relaxed: each time that it lets go, or each so many times."""
        if job.gpus == 1:
            return 0
        cycle = self.cycle(job, now_s)
        let_go = cycle + (now_s >= self.lets_go_s(job, cycle) - _EPS_S)
        return min(max(let_go, 0) // self.asks, self.steps)

    def relaxes_s(self, job: Job, step: int) -> float:
        """Return when a gang relaxes beyond a step."""
        return self.lets_go_s(job, (step + 1) * self.asks - 1)
