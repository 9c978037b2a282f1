"""Slow references of policies by reservation, service, index, share or time slice."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf

from philly_analysis.workload import JobSpec
from tests.simulator.reference import (
    Counting,
    Preemptive,
    RefJob,
    World,
    next_multiple_s,
    that_fit,
)


@dataclass
class ConservativeBackfill(Counting):
    """Mu'alem and Feitelson 2001, section 2: each job reserves beside all earlier reservations."""

    estimate: float = 1.0
    stays: dict[RefJob, tuple[float, float]] = field(default_factory=dict)
    runs: dict[RefJob, int] = field(default_factory=dict)

    def choose(self, world: World) -> list[RefJob]:
        ended = [job for job, runs in self.runs.items() if len(job.runs_s) < runs]
        early = any(self.stays[job][1] > world.now_s + 1e-6 for job in ended)
        for job in ended:
            del self.stays[job], self.runs[job]
        if early:
            self.stays = {job: stay for job, stay in self.stays.items() if job.running}
        for job in sorted(world.waiting, key=lambda job: (job.queued_s, job.nth)):
            if job not in self.stays:
                takes_s = self.estimate * job.runs_s[0]
                starts_s = self._earliest_s(world, job.gpus, takes_s)
                self.stays[job] = starts_s, starts_s + takes_s
        starting = [job for job in world.waiting if self.stays[job][0] <= world.now_s + 1e-6]
        self.runs |= {job: len(job.runs_s) for job in starting}
        return [*world.running, *starting]

    def _earliest_s(self, world: World, gpus: int, takes_s: float) -> float:
        ends_s = {end_s for _, end_s in self.stays.values() if end_s > world.now_s}
        for at_s in sorted({world.now_s, *ends_s}):
            moments_s = [at_s, *(s for s, _ in self.stays.values() if at_s < s < at_s + takes_s)]
            if all(self._used(s) + gpus <= world.gpus for s in moments_s):
                return at_s
        raise AssertionError("some GPUs are never released")

    def _used(self, at_s: float) -> int:
        return sum(job.gpus for job, (s, end_s) in self.stays.items() if s <= at_s < end_s)


class Predicted:
    """Helios, section 4.2: GPU time as the rolling mean over what the user's jobs took."""

    def __init__(self, specs: Sequence[JobSpec]) -> None:
        self.gpu_s = {
            spec.job_id: spec.gpus * spec.gpu_frac * self._run_s(spec, specs[:nth])
            for nth, spec in enumerate(specs)
        }

    def __call__(self, job: RefJob) -> tuple[float, int]:
        return self.gpu_s[job.spec.job_id], job.nth

    def _run_s(self, spec: JobSpec, before: Sequence[JobSpec]) -> float:
        ended = [s for s in before if s.submit_s + s.run_s <= spec.submit_s]
        ended.sort(key=lambda s: s.submit_s + s.run_s)
        for alike in (
            [s for s in ended if s.user == spec.user and s.gpus == spec.gpus],
            [s for s in ended if s.user == spec.user],
            [s for s in ended if s.gpus == spec.gpus],
            ended,
        ):
            if alike:
                mean = alike[0].run_s
                for s in alike[1:]:
                    mean = (mean + s.run_s) / 2
                return mean
        return 1.0


class ShortestService(Preemptive):
    """Tiresias, section 2: remaining time times GPUs."""

    def rank(self, job: RefJob) -> tuple[float, ...]:
        return round(job.remaining_s * job.gpus, 6), not job.running


def quantiles(specs: Sequence[JobSpec], steps: int) -> list[float]:
    gpu_s = sorted(spec.gpus * spec.run_s for spec in specs)
    return [max(gpu_s[ceil((i + 0.5) / steps * len(gpu_s) - 1e-9) - 1], 1e-3) for i in range(steps)]


@dataclass
class GittinsIndices(Preemptive):
    """Tiresias, section 3.2: queues as under 2D-LAS, in each the highest 2D-Gittins index first."""

    values: Sequence[float]
    limits: tuple[float, ...]

    def __post_init__(self) -> None:
        self.values = sorted(set(self.values))

    def index(self, served_gpu_s: float) -> float:
        """The best chance to be done within d more, per GPU-second expected in it."""
        served = max([0.0, *(v for v in self.values if v <= served_gpu_s + 1e-5)])
        to_go = [value - served for value in self.values if value > served]
        return max(
            (
                sum(v <= d for v in to_go)
                / len(to_go)
                / (sum(min(v, d) for v in to_go) / len(to_go))
                for d in to_go
            ),
            default=0.0,
        )

    def rank(self, job: RefJob) -> tuple[float, ...]:
        level = sum(job.served_gpu_s >= limit - 1e-5 for limit in self.limits)
        index = round(self.index(job.served_gpu_s), 12)
        return level, -index, job.spec.submit_s

    def next_s(self, world: World) -> float:
        steps_s = [
            world.now_s + job.served_in_s(value - job.served_gpu_s)
            for job in world.running
            for value in (*self.values, *self.limits)
            if job.served_gpu_s < value - 1e-5
        ]
        return min(steps_s, default=inf)


@dataclass
class MaxMinFairness(Counting):
    """Gavel, section 4.3: fair among entities, first come, first served within; all GPUs alike."""

    period_s: float
    seen: dict[RefJob, None] = field(default_factory=dict)

    def choose(self, world: World) -> list[RefJob]:
        self.seen |= dict.fromkeys(world.present)
        if world.now_s % self.period_s:
            return world.running
        chosen: list[RefJob] = []
        free = world.gpus
        while fitting := [j for j in world.present if j not in chosen and j.gpus <= free]:
            least = min({job.spec.vc for job in fitting}, key=lambda vc: self._has(vc, chosen))
            vc_jobs = [job for job in fitting if job.spec.vc == least]
            chosen.append(min(vc_jobs, key=lambda job: (job.spec.submit_s, job.nth)))
            free -= chosen[-1].gpus
        return chosen

    def _has(self, vc: str, chosen: list[RefJob]) -> tuple[int, float, str]:
        gpus = sum(job.gpus for job in chosen if job.spec.vc == vc)
        return gpus, sum(job.held_gpu_s for job in self.seen if job.spec.vc == vc), vc

    def next_s(self, world: World) -> float:
        return next_multiple_s(world, self.period_s) if world.waiting else inf


@dataclass
class TimeSlices(Counting):
    """Gandiva, sections 3.1 and 3.2: round robin in slices, and packing where two fit."""

    slice_s: float
    pack: bool = False
    host: dict[RefJob, RefJob] = field(default_factory=dict)

    def mark(self, world: World) -> None:
        for job in list(self.host):
            if not job.running or job not in world.present:
                job.guest = False
                del self.host[job]
            elif not self.host[job].running or self.host[job] not in world.present:
                job.guest = False  # it has the GPU to itself
                del self.host[job]

    def choose(self, world: World) -> list[RefJob]:
        waiting = sorted(world.waiting, key=lambda job: (job.queued_s, job.nth))
        if world.now_s % self.slice_s or not waiting:
            return [*world.running, *that_fit(waiting, world.free)]
        running = sorted(world.running, key=lambda job: (job.started_s, job.nth))
        chosen = that_fit([*waiting, *running], world.gpus)
        packed = self._packed([j for j in [*waiting, *running] if j not in chosen], chosen)
        self.host = packed
        for job in world.present:
            job.guest = job in packed
        return [*chosen, *packed]

    def _packed(self, waiting: list[RefJob], chosen: list[RefJob]) -> dict[RefJob, RefJob]:
        if not self.pack:
            return {}
        hosts = [job for job in chosen if job.gpus == 1]
        waiting = [job for job in waiting if job.gpus == 1]
        waiting.sort(key=lambda job: (_util(job), job.queued_s, job.nth))
        pairs = {}
        for job in waiting:  # who has a place stays
            host = self.host.get(job)
            if host in hosts and _leave_room(job, host):
                pairs[job] = host
                hosts.remove(host)
        hosts.sort(key=lambda job: (_util(job), job.nth))
        for job in waiting:
            fitting = [host for host in hosts if _leave_room(job, host)]
            if job not in pairs and fitting:
                pairs[job] = fitting[0]
                hosts.remove(fitting[0])
        return pairs

    def next_s(self, world: World) -> float:
        return next_multiple_s(world, self.slice_s) if world.waiting else inf


def _util(job: RefJob) -> float:
    return job.spec.util_frac or 0.0


def _leave_room(one: RefJob, other: RefJob) -> bool:
    mem = (one.spec.gpu_mem_frac or 0.0) + (other.spec.gpu_mem_frac or 0.0)
    return _util(one) + _util(other) <= 1 and mem <= 1
