"""Amoeba (later EDL): jobs grow onto idle GPUs and shrink under pressure, by marginal gain."""

from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any

from philly_analysis.simulator.cluster.placement import packed, resized
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, PERIOD, STALL, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.tiresias import Las
from philly_analysis.simulator.policies.view import View, Wish
from philly_analysis.simulator.speed.scaling import SCALING
from philly_analysis.simulator.speed.speed import Parallelism, Speed


@dataclass(frozen=True)
class Amoeba(Policy):
    """Elastic Tiresias: the order decides who runs, marginal gain decides on how many GPUs.

    Jobs in order get the GPUs they ask for. When more than ``pending_above`` are left waiting,
    those running outside the first queue shrink to their least. GPUs that remain go one by one
    to the job that gains most, a waiting job's first gain being that of its least per GPU.

    What the re-implementation in heyfey/vodascheduler says of the paper's settings is followed;
    ``scale_out`` and ``shrink_to`` are assumptions, to be swept. How much a job gains is its
    model's own measured speed-up (see :mod:`philly_analysis.simulator.speed.scaling`), which also
    says how far it can grow; of other models a power law, whose exponent is an assumption. Not
    modelled: changes of batch size and accuracy with the number of GPUs.
    """

    name = "amoeba"
    SOURCE = "Wu et al., Amoeba / EDL, arXiv 1909.11985; E-Tiresias as in vodascheduler"
    elastic = True

    round_s: float = knob(
        300.0,
        "divide GPUs only at multiples of so many seconds; 0: at each event, which never rests",
        unit="s",
        within=PERIOD._replace(or_else=(0,)),
    )
    order: str = knob("las", "who comes first", among=("las", "srtf"))
    thresholds_gpu_s: tuple[float, ...] = knob(
        (3250.0,), "of the order las", unit="GPU s", within=Bounds(1, LONG_S), rises=True
    )
    pending_above: int = knob(
        10, "waiting jobs above which running ones shrink", within=Bounds(0, LONG_S)
    )
    scale_out: float = knob(
        2.0, "most GPUs, in multiples of those asked for; 1: rigid", within=Bounds(1, 1024)
    )
    shrink_to: float = knob(
        0.25, "fewest GPUs, as a share of those asked for, at least one", within=Bounds(0, 1)
    )
    alpha: float = knob(
        0.9, "exponent of speed in GPUs, of models not measured", within=Bounds(0, 1)
    )
    restart_s: float = knob(
        30.0, "what a change of GPUs, or a restart, costs a job", unit="s", within=STALL
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return the queue that the order has it in; an order without queues has one."""
        return 0 if self.order == "srtf" else self._las.level(job, now_s)

    def key(self, job: Job, now_s: float) -> Any:
        """Return what the order serves jobs by; work that is left counts on the GPUs asked for."""
        return job.remaining_s(now_s) if self.order == "srtf" else self._las.key(job, now_s)

    def standing(self, job: Job, now_s: float) -> Any:
        """Return when it started: nothing here depends on the order of running jobs."""
        return job.started_s

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when the order changes its mind about a job."""
        return FOREVER if self.order == "srtf" else self._las.review_s(job, now_s)

    def speed(self) -> Speed:
        """Return speeds by the number of GPUs."""
        return Parallelism(alpha=self.alpha)

    def decide(self, view: View) -> Wish:
        """Divide all GPUs anew, moving as few as that takes."""
        now_s = view.now_s
        waiting = (order.places() for order in view.queue.groups.values())
        running = ((self.key(job, now_s), job.index, job) for job in view.running)
        jobs = [job for _, _, job in sorted(chain(*waiting, running))]
        sizes = self._sizes(jobs, now_s, view.cluster.capacity)
        plan = view.plan()
        changed = [job for job in jobs if sizes[job] != (job.grant.gpus if job.grant else 0)]
        for job in changed:
            if job.grant is not None and not sizes[job]:
                plan.release(job)
        for job in changed:
            if job.grant is not None and 0 < sizes[job] < job.grant.gpus:
                plan.grant(job, resized(plan.cluster, job.grant, sizes[job]))
        for job in changed:
            if job.grant is None:
                plan.grant(job, packed(plan.cluster, sizes[job]) if sizes[job] else None)
            elif sizes[job] > job.grant.gpus:
                plan.grant(job, resized(plan.cluster, job.grant, sizes[job]))
        return plan.wish

    @cached_property
    def _las(self) -> Las:
        return Las(thresholds_gpu_s=self.thresholds_gpu_s)

    def _sizes(self, jobs: list[Job], now_s: float, free: int) -> dict[Job, int]:
        """Return how many GPUs each job should hold."""
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
        """Return what can be done with a job, and with all like it."""
        asked = job.spec.job_type, job.gpus
        shape = self._shapes.get(asked)
        if shape is None:
            shape = self._shapes[asked] = _Shape(self, *asked)
        return shape

    def _may_shrink(self, job: Job, now_s: float) -> bool:
        """Whether a job is outside the first queue; an order without queues shrinks all."""
        return self.order != "las" or self.key(job, now_s)[0] > 0


class _Shape:
    """On how many GPUs jobs of one model, which ask for as many, may run, and what each gains.

    Attributes
    ----------
    least, most
        GPUs.
    """

    __slots__ = ("_alpha", "_asked", "_gains", "_scaling", "least", "most")

    def __init__(self, policy: Amoeba, job_type: str | None, asked: int) -> None:
        self._scaling, self._asked, self._alpha = SCALING.get(job_type or ""), asked, policy.alpha
        self._gains: dict[int, float] = {}
        self.least = max(1, int(asked * policy.shrink_to))
        most = max(asked, int(asked * policy.scale_out))
        self.most = min(most, self._scaling.most(asked)) if self._scaling else most

    def gain(self, gpus: int) -> float:
        """Return what the next GPU adds to a job's speed, in speeds of one GPU."""
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
            return self._scaling.speed_up(gpus, self._asked)
        return float(gpus**self._alpha)
