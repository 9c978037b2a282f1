"""Simulate first come first served, EASY and shortest job first in plain Python, by server.

The jobs and the accounting log come from :mod:`tests.truth.schedulers`. Nothing here is shared
with the package.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.truth.scenarios import Job, Parts, Scenario
from tests.truth.schedulers import Scheduler

Free = list[list[int]]
"""Free GPUs, CPUs and memory of each server."""


@dataclass(frozen=True)
class Rules:
    """How the scheduler decides.

    Attributes
    ----------
    order
        ``fifo``: no job starts before an earlier one; ``sjf``: nor before a shorter one; ``easy``:
        a later job may start if the first waiting one still fits at its earliest estimated start.
    limits
        Whether EASY estimates run times by the time limits, not exactly.
    """

    order: str
    limits: bool = False


class Replayed(Scheduler):
    """A cluster under one of the three rules, with the second in which each job started."""

    def __init__(self, scenario: Scenario, rules: Rules) -> None:
        super().__init__(scenario)
        self.rules = rules
        self.started_s: dict[str, int] = {}

    def estimate_s(self, job: Job) -> int:
        """Return the run time by which EASY plans: the limit in the log, or the true one."""
        return 60 * (job.limit_s // 60 + 1) if self.rules.limits else job.run_s

    def start_jobs(self, now_s: int) -> list[Job]:
        """Start what the rules allow, and return the jobs."""
        waiting = sorted(self.queue, key=lambda job: (job.submitted_s, job.number))
        if self.rules.order == "sjf":
            waiting.sort(key=lambda job: job.run_s)
        started: list[Job] = []
        while waiting and (parts := self.place(waiting[0], self.free)):
            self.start(waiting[0], parts, now_s)
            started.append(waiting.pop(0))
        if waiting and self.rules.order == "easy":
            started += self.backfill(waiting[0], waiting[1:], now_s)
        self.queue = [job for job in self.queue if job not in self.running]
        return started

    def start(self, job: Job, parts: Parts, now_s: int) -> None:
        """Take what a job needs."""
        _take(self.free, parts)
        job.parts = parts
        self.used[job.owner] += job.gpus
        self.running[job] = None
        self.started_s[str(job.number)] = job.ready_s = now_s

    def backfill(self, head: Job, behind: list[Job], now_s: int) -> list[Job]:
        """Start jobs that leave the head room at its earliest estimated start."""
        later = [list(server) for server in self.free]
        ends = sorted((j.ready_s + self.estimate_s(j), j.number, j) for j in self.running)
        shadow_s = float("inf")
        for end_s, _, job in ends:
            if end_s > shadow_s:
                break
            _take(later, job.parts, -1)
            if shadow_s == float("inf") and self.place(head, later):
                shadow_s = max(end_s, now_s)
        started = []
        for job in behind:
            parts = self.place(job, self.free)
            if parts is None:
                continue
            if now_s + self.estimate_s(job) > shadow_s:
                _take(later, parts)
                if not self.place(head, later):
                    _take(later, parts, -1)
                    continue
            self.start(job, parts, now_s)
            started.append(job)
        return started

    def classify(self, now_s: int) -> None:
        """Attribute no wait: only starts matter here."""


def _take(free: Free, parts: Parts, sign: int = 1) -> None:
    for server, part in parts.items():
        for k in range(3):
            free[server][k] -= sign * part[k]


def replayed(scenario: Scenario, rules: Rules, folder: Path) -> dict[str, int]:
    """Write the log of a scenario, and return each job's start in seconds from the origin."""
    scheduler = Replayed(scenario, rules)
    scheduler.run()
    scheduler.write(folder)
    return scheduler.started_s
