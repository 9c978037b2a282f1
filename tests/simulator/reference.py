"""Slow reference of the simulator: one event loop over all present jobs, and textbook policies.

Independent of the package: each policy is written from its paper, in lists, without caches.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from philly_analysis.workload import JobSpec, Machine

Bars = dict[str, list[tuple[float, float, str]]]
"""Attempts per job: start, end, end reason."""

Slot = tuple[int, int]
"""A GPU by server and index."""


@dataclass(eq=False)
class RefJob:
    """A present job; it runs while it has a place."""

    spec: JobSpec
    nth: int
    runs_s: list[float]
    queued_s: float
    place: dict[int, Any] = field(default_factory=dict)
    """GPUs by server, or fractions by GPU."""
    slots: list[Slot] = field(default_factory=list)
    """The GPUs, if they matter."""
    cpus: float = 0.0
    mem_gb: float = 0.0
    speed: float = 1.0
    started_s: float = 0.0
    restarts_s: float = 0.0
    stopped: bool = False
    guest: bool = False
    level: int = 0
    held_gpu_s: float = 0.0
    served_gpu_s: float = 0.0
    counts_from_gpu_s: float = 0.0

    @property
    def gpus(self) -> int:
        """GPUs requested; a fraction in references of GPU sharing."""
        return self.spec.gpus

    @property
    def running(self) -> bool:
        return bool(self.place)

    @property
    def remaining_s(self) -> float:
        return sum(self.runs_s)

    @property
    def counted_gpu_s(self) -> float:
        return self.served_gpu_s - self.counts_from_gpu_s

    def end_s(self, now_s: float) -> float:
        return now_s + self.restarts_s + self.runs_s[0] / self.speed if self.speed else inf

    def advance(self, seconds: float) -> None:
        """A restart comes first, then service."""
        restarting_s = min(seconds, self.restarts_s)
        self.restarts_s -= restarting_s
        self.runs_s[0] -= (seconds - restarting_s) * self.speed
        self.held_gpu_s += float(self.gpus) * seconds
        self.served_gpu_s += float(self.gpus) * (seconds - restarting_s)

    def served_in_s(self, more_gpu_s: float) -> float:
        return self.restarts_s + more_gpu_s / float(self.gpus)


@dataclass
class World:
    """The cluster at one moment."""

    machines: Sequence[Machine]
    make: type[RefJob] = RefJob
    now_s: float = 0.0
    present: list[RefJob] = field(default_factory=list)
    changed: bool = False

    @property
    def gpus(self) -> int:
        return sum(m.gpus for m in self.machines)

    @property
    def free(self) -> int:
        return self.gpus - sum(job.gpus for job in self.running if not job.guest)

    def free_on(self, m: int) -> int:
        held: list[int] = [job.place.get(m, 0) for job in self.present if not job.guest]
        return self.machines[m].gpus - sum(held)

    def cpus(self, m: int) -> float:
        used: float = sum(job.place.get(m, 0) * job.cpus for job in self.present)
        return (self.machines[m].cpus or 0.0) - used

    def mem_gb(self, m: int) -> float:
        used: float = sum(job.place.get(m, 0) * job.mem_gb for job in self.present)
        return (self.machines[m].mem_gb or 0.0) - used

    @property
    def waiting(self) -> list[RefJob]:
        return [job for job in self.present if not job.running]

    @property
    def running(self) -> list[RefJob]:
        return [job for job in self.present if job.running]


class Policy:
    """Which job has which place from now on."""

    round_s = 0.0
    stall_s = 0.0
    """Time of a restart or a move."""

    def mark(self, world: World) -> None:
        """Update what time has changed."""

    def serve(self, world: World) -> None:
        """Change the places of jobs."""
        raise NotImplementedError

    def speed(self, world: World, job: RefJob) -> float:
        return 1.0

    def next_s(self, world: World) -> float:
        """When to decide again without an event."""
        return inf


def simulate(specs: Sequence[JobSpec], world: World, policy: Policy) -> Bars:
    to_come = sorted(specs, key=lambda s: (s.submit_s, s.job_id))
    nth, bars = 0, Bars()
    while to_come or world.present:
        moments_s = [job.end_s(world.now_s) for job in world.running]
        moments_s += [to_come[0].submit_s] if to_come else []
        if policy.round_s and world.changed:
            moments_s.append(next_multiple_s(world, policy.round_s))
        next_s = min([*moments_s, policy.next_s(world)])
        assert next_s < inf, "a job waits for ever"
        for job in world.running:
            job.advance(next_s - world.now_s)
        world.now_s = next_s
        for job in world.running:
            if job.runs_s[0] <= 1e-7 and not job.restarts_s:
                job.runs_s.pop(0)
                world.changed = True
                how = "failed" if job.runs_s else "completed"
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, how))
                job.place, job.slots, job.queued_s, job.stopped = {}, [], next_s, False
        world.present = [job for job in world.present if job.runs_s]
        while to_come and to_come[0].submit_s <= next_s:
            spec = to_come.pop(0)
            runs_s = [attempt.run_s for attempt in spec.attempts]
            world.present.append(world.make(spec, nth, runs_s, next_s))
            world.changed = True
            nth += 1
        policy.mark(world)
        if policy.round_s and (next_s % policy.round_s or not world.changed):
            continue
        world.changed = False
        before = {job: (dict(job.place), list(job.slots)) for job in world.present}
        policy.serve(world)
        for m in range(len(world.machines)):
            assert world.free_on(m) >= 0 and world.cpus(m) > -1e-6 and world.mem_gb(m) > -1e-6
        for job in world.present:
            (old, slots), new = before[job], job.place
            moved = old != new or slots != job.slots
            if old and moved:
                same = sum(old.values()) == sum(new.values())
                how = ("migrated" if same else "resized") if new else "preempted"
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, how))
                job.stopped, job.queued_s = True, job.queued_s if new else next_s
            if new and moved:
                job.started_s = next_s
                job.restarts_s = policy.stall_s if job.stopped else 0.0
        for job in world.present:
            job.speed = policy.speed(world, job) if job.place else 1.0
    return bars


def fewest(world: World, gpus: int) -> int:
    """The fewest servers on which a gang fits in an empty cluster."""
    sizes = sorted((m.gpus for m in world.machines), reverse=True)
    return next(n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) >= gpus)


def next_multiple_s(world: World, period_s: float) -> float:
    return (world.now_s // period_s + 1) * period_s


class Counting(Policy):
    """A policy of GPUs that are all alike: it chooses the jobs that run."""

    def choose(self, world: World) -> list[RefJob]:
        raise NotImplementedError

    def serve(self, world: World) -> None:
        chosen = self.choose(world)
        assert sum(job.gpus for job in chosen if not job.guest) <= world.gpus
        for job in world.present:
            job.place = {0: job.gpus} if job in chosen else {}


def that_fit(jobs: Iterable[RefJob], free: int) -> list[RefJob]:
    chosen = []
    for job in jobs:
        if job.gpus <= free:
            chosen.append(job)
            free -= job.gpus
    return chosen


def submitted(job: RefJob) -> tuple[float, int]:
    return job.spec.submit_s, job.nth


def shortest(job: RefJob) -> tuple[float, int]:
    return job.remaining_s, job.nth


@dataclass
class InTurn(Counting):
    """Without preemption: a job that does not fit blocks later ones, or is skipped."""

    by: Callable[[RefJob], tuple[float, int]]
    blocks: bool = True

    def choose(self, world: World) -> list[RefJob]:
        waiting, free = sorted(world.waiting, key=self.by), world.free
        if self.blocks:
            ahead = [sum(job.gpus for job in waiting[: n + 1]) for n in range(len(waiting))]
            waiting = [job for job, gpus in zip(waiting, ahead, strict=True) if gpus <= free]
        return [*world.running, *that_fit(waiting, free)]


@dataclass
class EasyBackfill(Counting):
    """Mu'alem and Feitelson 2001, figure 1: shadow time and extra nodes."""

    estimate: float = 1.0

    def takes_s(self, job: RefJob, so_far_s: float = 0.0) -> float:
        """Estimated time of the present run, including what it has run so far."""
        return self.estimate * (so_far_s + job.runs_s[0])

    def choose(self, world: World) -> list[RefJob]:
        chosen, free = world.running, world.free
        queue = sorted(world.waiting, key=submitted)
        while queue and queue[0].gpus <= free:
            chosen.append(queue.pop(0))
            free -= chosen[-1].gpus
        if not queue:
            return chosen
        shadow_s, extra, ends = world.now_s, free, []
        for job in chosen:
            so_far_s = world.now_s - job.started_s if job.running else 0.0
            end_s = world.now_s - so_far_s + self.takes_s(job, so_far_s)
            ends.append((end_s, job.nth, job.gpus))
        for end_s, _, gpus in sorted(ends):
            if extra >= queue[0].gpus and end_s > shadow_s:
                break
            extra, shadow_s = extra + gpus, max(end_s, world.now_s)
        extra -= queue[0].gpus
        for job in queue[1:]:
            in_time = world.now_s + self.takes_s(job) <= shadow_s + 1e-6
            if job.gpus <= free and (in_time or job.gpus <= extra):
                chosen.append(job)
                free -= job.gpus
                extra -= 0 if in_time else job.gpus
        return chosen


class Preemptive(Counting):
    """All GPUs are allocated anew at each event, by rank, to the jobs that fit."""

    def rank(self, job: RefJob) -> tuple[float, ...]:
        raise NotImplementedError

    def choose(self, world: World) -> list[RefJob]:
        ranked = sorted(world.present, key=lambda job: (*self.rank(job), job.nth))
        chosen = that_fit(ranked, world.gpus)
        self.settle(chosen)
        return chosen

    def settle(self, chosen: list[RefJob]) -> None:
        """Note which jobs run."""


class ShortestRemaining(Preemptive):
    def rank(self, job: RefJob) -> tuple[float, ...]:
        return round(job.remaining_s, 6), not job.running


@dataclass
class LeastAttained(Preemptive):
    """Tiresias, section 3.2, with queues that are lists, as in its simulator.

    Jobs join the end of a list, which is served from its front; then the waiting ones move behind
    the running ones, in their order.
    """

    limits: tuple[float, ...]
    promote: float = 0.0
    queues: list[list[RefJob]] = field(default_factory=list)
    chosen: list[RefJob] = field(default_factory=list)
    came: dict[RefJob, tuple[float, int, int]] = field(default_factory=dict)

    def mark(self, world: World) -> None:
        coming = []
        for job in world.present:
            level = sum(job.counted_gpu_s >= limit - 1e-5 for limit in self.limits)
            if level and self.starves_s(job) <= world.now_s + 1e-6:
                job.counts_from_gpu_s, level = job.served_gpu_s, 0
            failed = job in self.chosen and not job.running
            moved, job.level = level != job.level, level
            if moved or failed or job not in self.came:
                self.came[job] = world.now_s, 1 if failed else 2 * moved, job.nth
                coming.append(job)
        self.queues = self.queues or [[] for _ in range(len(self.limits) + 1)]
        for level, queue in enumerate(self.queues):
            stay = [job for job in queue if job in world.present and job not in coming]
            front = [job for job in stay if job.running or self.came[job][0] < world.now_s]
            new = [job for job in [*stay, *coming] if job.level == level and job not in front]
            self.queues[level] = [*front, *sorted(new, key=self.came.__getitem__)]

    def rank(self, job: RefJob) -> tuple[float, ...]:
        return job.level, self.queues[job.level].index(job)

    def settle(self, chosen: list[RefJob]) -> None:
        for queue in self.queues:
            queue.sort(key=lambda job: job not in chosen)
        self.chosen = chosen

    def next_s(self, world: World) -> float:
        falls_s = [
            world.now_s + job.served_in_s(limit - job.counted_gpu_s)
            for job in world.running
            for limit in self.limits
            if job.counted_gpu_s < limit - 1e-5
        ]
        rises_s = [self.starves_s(job) for job in world.waiting if job.level]
        return min([*falls_s, *(s for s in rises_s if s > world.now_s)], default=inf)

    def starves_s(self, job: RefJob) -> float:
        """Section 3.3: when it goes back to the first queue."""
        if job.running or not self.promote:
            return inf
        return job.queued_s + self.promote * job.held_gpu_s / job.gpus


class LeastAttainedByArrival(LeastAttained):
    """Tiresias, section 3.2, where each queue is in the order of submission."""

    def rank(self, job: RefJob) -> tuple[float, ...]:
        return job.level, job.spec.submit_s


def unfairness(world: World, job: RefJob) -> tuple[float, int]:
    """Themis, section 4: minus rho, then the order of submission."""
    finish_s = world.now_s - job.spec.submit_s + job.remaining_s
    return -finish_s / max(job.spec.run_s, 1.0), job.nth


@dataclass
class FinishTimeFairness(Counting):
    """Themis, section 4: the jobs furthest from a fair finish, on leases."""

    lease_s: float

    def choose(self, world: World) -> list[RefJob]:
        stay = [] if self.leases_end(world) else world.running
        asking = [job for job in world.present if job not in stay]
        asking.sort(key=lambda job: unfairness(world, job))
        return [*stay, *that_fit(asking, world.gpus - sum(job.gpus for job in stay))]

    def leases_end(self, world: World) -> bool:
        return world.now_s % self.lease_s == 0 and bool(world.waiting)

    def next_s(self, world: World) -> float:
        return next_multiple_s(world, self.lease_s) if world.waiting else inf
