"""Amoeba (EDL): elastic jobs grow onto idle GPUs and shrink under load, by marginal gain."""

from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any

from philly_analysis.simulator.cluster.placement import pack, resize
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, PERIOD, STALL, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.tiresias import Las
from philly_analysis.simulator.policies.view import Decision, View
from philly_analysis.simulator.speed.models import Parallelism, Speed
from philly_analysis.simulator.speed.scaling import SCALING


@dataclass(frozen=True)
class Amoeba(Policy):
    """Elastic Tiresias: the order decides which jobs run, marginal gain on how many GPUs.

    Jobs in order get the GPUs that they request. When more than ``pending_above`` are left waiting,
    the running ones outside the first queue shrink to their minimum. The remaining GPUs go one by
    one to the job with the greatest gain, where a waiting job's first gain is that of its minimum
    per GPU.

    The settings follow the re-implementation in heyfey/vodascheduler; ``scale_out`` and
    ``shrink_to`` are assumptions, to be swept. The gain is the measured speed-up of the job's model
    (see :mod:`philly_analysis.simulator.speed.scaling`), which also limits its growth; other models
    follow a power law with an assumed exponent. Not modelled: changes of batch size and accuracy
    with the number of GPUs.
    """

    name = "amoeba"
    SOURCE = "Wu et al., Amoeba / EDL, arXiv 1909.11985; E-Tiresias as in vodascheduler"
    elastic = True

    round_s: float = knob(
        300.0,
        "divide GPUs only at multiples of so many seconds; 0: at each event",
        unit="s",
        within=PERIOD._replace(or_else=(0,)),
    )
    order: str = knob("las", "order of jobs", among=("las", "srtf"))
    thresholds_gpu_s: tuple[float, ...] = knob(
        (3250.0,), "thresholds of the order las", unit="GPU s", within=Bounds(1, LONG_S), rises=True
    )
    pending_above: int = knob(
        10, "waiting jobs above which running ones shrink", within=Bounds(0, LONG_S)
    )
    scale_out: float = knob(
        2.0, "most GPUs, in multiples of those requested; 1: rigid", within=Bounds(1, 1024)
    )
    shrink_to: float = knob(
        0.25, "fewest GPUs, as a share of those requested, at least one", within=Bounds(0, 1)
    )
    alpha: float = knob(
        0.9, "exponent of speed in GPUs, of models not measured", within=Bounds(0, 1)
    )
    restart_s: float = knob(30.0, "time of a restart or a change of GPUs", unit="s", within=STALL)

    def level(self, job: Job, now_s: float) -> int:
        """Return its queue in the order; an order without queues has one."""
        return 0 if self.order == "srtf" else self._las.level(job, now_s)

    def key(self, job: Job, now_s: float) -> Any:
        """Return the priority key of the order; remaining work is that on the requested GPUs."""
        return job.remaining_s(now_s) if self.order == "srtf" else self._las.key(job, now_s)

    def running_key(self, job: Job, now_s: float) -> Any:
        """Return when it started; the order of running jobs is not used."""
        return job.started_s

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when the order changes."""
        return FOREVER if self.order == "srtf" else self._las.review_s(job, now_s)

    def speed(self) -> Speed:
        """Return speeds by the number of GPUs."""
        return Parallelism(alpha=self.alpha)

    def decide(self, view: View) -> Decision:
        """Divide all GPUs anew, with as few moves as possible."""
        now_s = view.now_s
        waiting = (jobs.entries() for jobs in view.queue.groups.values())
        running = ((self.key(job, now_s), job.index, job) for job in view.running)
        jobs = [job for _, _, job in sorted(chain(*waiting, running))]
        sizes = self._sizes(jobs, now_s, view.cluster.capacity)
        plan = view.plan()
        changed = [
            job for job in jobs if sizes[job] != (job.allocation.gpus if job.allocation else 0)
        ]
        for job in changed:
            if job.allocation is not None and not sizes[job]:
                plan.release(job)
        for job in changed:
            if job.allocation is not None and 0 < sizes[job] < job.allocation.gpus:
                plan.assign(job, resize(plan.cluster, job.allocation, sizes[job]))
        for job in changed:
            if job.allocation is None:
                plan.assign(job, pack(plan.cluster, sizes[job]) if sizes[job] else None)
            elif sizes[job] > job.allocation.gpus:
                plan.assign(job, resize(plan.cluster, job.allocation, sizes[job]))
        return plan.decision

    @cached_property
    def _las(self) -> Las:
        return Las(thresholds_gpu_s=self.thresholds_gpu_s)

    def _sizes(self, jobs: list[Job], now_s: float, free: int) -> dict[Job, int]:
        """Return the GPUs of each job."""
        sizes = dict.fromkeys(jobs, 0)
        for job in jobs:
            if job.gpus <= free:
                sizes[job] = job.gpus
                free -= job.gpus
        shapes = [self._shape(job) for job in jobs]
        waiting = sum(not gpus for gpus in sizes.values())
        if waiting > self.pending_above:
            for (job, gpus), shape in zip(sizes.items(), shapes, strict=True):
                if gpus > shape.least and self._may_shrink(job, now_s):
                    free += gpus - shape.least
                    sizes[job] = shape.least
        gains = [
            (-shape.gain(gpus), at)
            for at, (shape, gpus) in enumerate(zip(shapes, sizes.values(), strict=True))
        ]
        heapify(gains)
        while gains and free:
            gain, at = heappop(gains)
            if gain >= 0:
                break
            job, shape = jobs[at], shapes[at]
            step = 1 if sizes[job] else shape.least
            if step <= free and sizes[job] + step <= shape.most:
                sizes[job] += step
                free -= step
                heappush(gains, (-shape.gain(sizes[job]), at))
        return sizes

    @cached_property
    def _shapes(self) -> dict[tuple[str | None, int], "_Shape"]:
        return {}

    def _shape(self, job: Job) -> "_Shape":
        """Return the sizes and gains of a job, shared by all like it."""
        requested = job.spec.job_type, job.gpus
        shape = self._shapes.get(requested)
        if shape is None:
            shape = self._shapes[requested] = _Shape(self, *requested)
        return shape

    def _may_shrink(self, job: Job, now_s: float) -> bool:
        """Whether a job is outside the first queue; in an order without queues all are."""
        return self.order != "las" or self.key(job, now_s)[0] > 0


class _Shape:
    """The possible sizes of jobs of one model and request, and the gain of each GPU.

    Attributes
    ----------
    least, most
        Fewest and most GPUs.
    """

    __slots__ = ("_alpha", "_gains", "_requested", "_scaling", "least", "most")

    def __init__(self, policy: Amoeba, job_type: str | None, requested: int) -> None:
        self._scaling, self._requested, self._alpha = (
            SCALING.get(job_type or ""),
            requested,
            policy.alpha,
        )
        self._gains: dict[int, float] = {}
        self.least = max(1, int(requested * policy.shrink_to))
        most = max(requested, int(requested * policy.scale_out))
        self.most = min(most, self._scaling.most(requested)) if self._scaling else most

    def gain(self, gpus: int) -> float:
        """Return the speed that the next GPU adds, in multiples of one GPU's speed."""
        gain = self._gains.get(gpus)
        if gain is None:
            if gpus:
                gain = self._speed_up(gpus + 1) - self._speed_up(gpus)
            else:
                gain = self._speed_up(self.least) / self.least
            self._gains[gpus] = gain
        return gain

    def _speed_up(self, gpus: int) -> float:
        if self._scaling:
            return self._scaling.speed_up(gpus, self._requested)
        return float(gpus**self._alpha)
