"""GPUs that are all alike, walked through from event to event: slow, plain, and policies by paper.

Nothing of the simulator is used: every present job is looked at anew at each event, in lists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from philly_analysis.workload import JobSpec

Bars = dict[str, list[tuple[float, float, str]]]
"""Attempts per job: start, end, how it ended."""


@dataclass(eq=False)
class Walker:
    """A present job."""

    spec: JobSpec
    nth: int
    runs_s: list[float]
    queued_s: float
    running: bool = False
    started_s: float = 0.0
    held_gpu_s: float = 0.0
    served_gpu_s: float = 0.0
    counts_from_gpu_s: float = 0.0
    stopped: bool = False
    restarts_s: float = 0.0
    level: int = 0
    guest: bool = False

    @property
    def gpus(self) -> int:
        return self.spec.gpus

    @property
    def remaining_s(self) -> float:
        return sum(self.runs_s)

    @property
    def counted_gpu_s(self) -> float:
        return self.served_gpu_s - self.counts_from_gpu_s

    def holds_for(self, seconds: float) -> None:
        """First it restarts, if it was stopped, then it is served."""
        restarting_s = min(seconds, self.restarts_s)
        self.restarts_s -= restarting_s
        self.runs_s[0] -= seconds - restarting_s
        self.held_gpu_s += float(self.gpus) * seconds
        self.served_gpu_s += float(self.gpus) * (seconds - restarting_s)

    def served_in_s(self, more_gpu_s: float) -> float:
        return self.restarts_s + more_gpu_s / float(self.gpus)


@dataclass
class Walk:
    """The cluster at one moment."""

    gpus: int
    now_s: float = 0.0
    present: list[Walker] = field(default_factory=list)

    @property
    def free(self) -> int:
        return self.gpus - sum(job.gpus for job in self.present if job.running and not job.guest)

    @property
    def waiting(self) -> list[Walker]:
        return [job for job in self.present if not job.running]

    @property
    def running(self) -> list[Walker]:
        return [job for job in self.present if job.running]


class Policy:
    """Who runs from now on; nothing that happened, nothing that is due in between."""

    def serve(self, walk: Walk) -> list[Walker]:
        raise NotImplementedError

    def next_s(self, walk: Walk) -> float:
        """When to look again though nothing arrives or ends."""
        return inf

    def mark(self, walk: Walk) -> None:
        """Note what time has done to the jobs."""


def walk_through(
    specs: Sequence[JobSpec], gpus: int, policy: Policy, *, restart_s: float = 0.0
) -> Bars:
    to_come = sorted(specs, key=lambda s: (s.submit_s, s.job_id))
    walk, nth = Walk(gpus), 0
    bars: Bars = {}
    while to_come or walk.present:
        ends_s = [walk.now_s + job.restarts_s + job.runs_s[0] for job in walk.running]
        arrives_s = [to_come[0].submit_s] if to_come else []
        next_s = min([*ends_s, *arrives_s, policy.next_s(walk)])
        assert next_s < inf, "somebody waits for ever"
        for job in walk.running:
            job.holds_for(next_s - walk.now_s)
        walk.now_s = next_s
        for job in walk.running:
            if job.runs_s[0] <= 1e-7:
                job.runs_s.pop(0)
                how = "failed" if job.runs_s else "completed"
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, how))
                job.running, job.queued_s, job.stopped = False, next_s, False
        walk.present = [job for job in walk.present if job.runs_s]
        while to_come and to_come[0].submit_s <= next_s:
            spec = to_come.pop(0)
            runs_s = [attempt.run_s for attempt in spec.attempts]
            walk.present.append(Walker(spec, nth, runs_s, next_s))
            nth += 1
        policy.mark(walk)
        chosen = policy.serve(walk)
        assert sum(job.gpus for job in chosen if not job.guest) <= gpus
        for job in walk.present:
            if job.running and job not in chosen:
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, "preempted"))
                job.running, job.queued_s, job.stopped = False, next_s, True
            elif not job.running and job in chosen:
                job.running, job.started_s = True, next_s
                job.restarts_s = restart_s if job.stopped else 0.0
    return bars


@dataclass
class InTurn(Policy):
    """Without preemption: whoever is next starts if it fits; who does not blocks, or is passed."""

    by: Callable[[Walker], tuple[float, int]]
    blocks: bool = True

    def serve(self, walk: Walk) -> list[Walker]:
        chosen, free = walk.running, walk.free
        for job in sorted(walk.waiting, key=self.by):
            if job.gpus <= free:
                chosen.append(job)
                free -= job.gpus
            elif self.blocks:
                break
        return chosen


def submitted(job: Walker) -> tuple[float, int]:
    return job.spec.submit_s, job.nth


def shortest(job: Walker) -> tuple[float, int]:
    return job.remaining_s, job.nth


@dataclass
class EasyBackfill(Policy):
    """Mu'alem and Feitelson 2001, figure 1: shadow time and extra nodes."""

    estimate: float = 1.0

    def serve(self, walk: Walk) -> list[Walker]:
        chosen, free = walk.running, walk.free
        queue = sorted(walk.waiting, key=submitted)
        while queue and queue[0].gpus <= free:
            job = queue.pop(0)
            chosen.append(job)
            free -= job.gpus
        if not queue:
            return chosen
        first, behind = queue[0], queue[1:]
        will_end = sorted((self._ends_s(walk, job), job.gpus) for job in chosen)
        shadow_s = next(
            at_s
            for at_s, _ in will_end
            if free + sum(g for end_s, g in will_end if end_s <= at_s) >= first.gpus
        )
        extra = free + sum(g for end_s, g in will_end if end_s <= shadow_s) - first.gpus
        for job in behind:
            in_time = walk.now_s + self.estimate * job.runs_s[0] <= shadow_s
            if job.gpus <= free and (in_time or job.gpus <= extra):
                chosen.append(job)
                free -= job.gpus
                extra -= 0 if in_time else job.gpus
        return chosen

    def _ends_s(self, walk: Walk, job: Walker) -> float:
        if not job.running:
            return walk.now_s + self.estimate * job.runs_s[0]
        took_s = walk.now_s - job.started_s
        return max(walk.now_s, job.started_s + self.estimate * (took_s + job.runs_s[0]))


class Preemptive(Policy):
    """All GPUs are given out anew at each event, to whoever is first and fits."""

    def rank(self, job: Walker) -> tuple[float, ...]:
        raise NotImplementedError

    def serve(self, walk: Walk) -> list[Walker]:
        chosen, free = [], walk.gpus
        for job in sorted(walk.present, key=lambda job: (*self.rank(job), job.nth)):
            if job.gpus <= free:
                chosen.append(job)
                free -= job.gpus
        return chosen


class ShortestRemaining(Preemptive):
    def rank(self, job: Walker) -> tuple[float, ...]:
        return round(job.remaining_s, 6), not job.running


@dataclass
class LeastAttained(Policy):
    """Tiresias, section 3.2, with queues that are lists, as in its simulator.

    Jobs come to the end of a list; it is gone through from its front; then those that wait are
    moved behind those that run, in the order in which they stand.
    """

    limits: tuple[float, ...]
    promote: float = 0.0
    queues: list[list[Walker]] = field(default_factory=list)
    chosen: list[Walker] = field(default_factory=list)
    came: dict[Walker, tuple[float, int, int]] = field(default_factory=dict)

    def level(self, job: Walker) -> int:
        return sum(job.counted_gpu_s >= limit - 1e-5 for limit in self.limits)

    def mark(self, walk: Walk) -> None:
        coming = []
        for job in walk.present:
            level = self.level(job)
            if level and self.starves_s(job) <= walk.now_s + 1e-6:
                job.counts_from_gpu_s, level = job.served_gpu_s, 0
            failed = job in self.chosen and not job.running
            moved, job.level = level != job.level, level
            if moved or failed or job not in self.came:
                self.came[job] = walk.now_s, 1 if failed else 2 * moved, job.nth
                coming.append(job)
        self.queues = self.queues or [[] for _ in range(len(self.limits) + 1)]
        for level, queue in enumerate(self.queues):
            stay = [job for job in queue if job in walk.present and job not in coming]
            front = [job for job in stay if job.running or self.came[job][0] < walk.now_s]
            new = [job for job in [*stay, *coming] if job.level == level and job not in front]
            self.queues[level] = [*front, *sorted(new, key=self.came.__getitem__)]

    def rank(self, job: Walker) -> tuple[float, ...]:
        """In a list as it stands."""
        return (self.queues[job.level].index(job),)

    def serve(self, walk: Walk) -> list[Walker]:
        chosen, free = [], walk.gpus
        for queue in self.queues:
            for job in sorted(queue, key=self.rank):
                if job.gpus <= free:
                    chosen.append(job)
                    free -= job.gpus
        for queue in self.queues:
            queue.sort(key=lambda job: job not in chosen)
        self.chosen = chosen
        return chosen

    def next_s(self, walk: Walk) -> float:
        falls_s = [
            walk.now_s + job.served_in_s(limit - job.counted_gpu_s)
            for job in walk.running
            for limit in self.limits
            if job.counted_gpu_s < limit - 1e-5
        ]
        rises_s = [self.starves_s(job) for job in walk.waiting if job.level]
        return min([*falls_s, *(s for s in rises_s if s > walk.now_s)], default=inf)

    def starves_s(self, job: Walker) -> float:
        """Section 3.3: when it goes back to the first queue."""
        if job.running or not self.promote:
            return inf
        return job.queued_s + self.promote * job.held_gpu_s / job.gpus


@dataclass
class FinishTimeFairness(Policy):
    """Themis, section 4: those furthest from a fair finish, on leases."""

    lease_s: float

    def serve(self, walk: Walk) -> list[Walker]:
        over = walk.now_s % self.lease_s == 0 and bool(walk.waiting)
        chosen, free = ([], walk.gpus) if over else (walk.running, walk.free)
        for job in sorted(
            walk.present if over else walk.waiting, key=lambda job: (-self._rho(walk, job), job.nth)
        ):
            if job.gpus <= free:
                chosen.append(job)
                free -= job.gpus
        return chosen

    def next_s(self, walk: Walk) -> float:
        return (walk.now_s // self.lease_s + 1) * self.lease_s if walk.waiting else inf

    def _rho(self, walk: Walk, job: Walker) -> float:
        finish_s = walk.now_s - job.spec.submit_s + job.remaining_s
        return finish_s / max(job.spec.run_s, 1.0)
