"""Amoeba (EDL): elastic jobs grow onto idle GPUs and shrink under load, by marginal gain."""

from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from typing import Any, NamedTuple

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.placement import pack, resize
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.knobs import LONG_S, ROUND, SERVICE, STALL, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.priority import Sjf
from philly_analysis.simulator.policies.tiresias import Las
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.simulator.speed.models import Parallelism
from philly_analysis.simulator.speed.scaling import SCALING
from philly_analysis.simulator.speed.speed import Speed


@dataclass(frozen=True)
class Amoeba(Policy):
    """Elastic Tiresias: the order decides which jobs run, marginal gain on how many GPUs.

    Jobs in order get the GPUs that they request. When more than ``pending_above`` jobs still wait,
    running jobs outside the first queue shrink to their minimum. The remaining GPUs go one by one
    to the job with the greatest gain. The first gain of a waiting job is the speed on its minimum,
    per GPU.

    The settings follow the re-implementation in heyfey/vodascheduler; ``scale_out`` and
    ``shrink_to`` are assumptions, to be swept. The gain is the measured speed-up of the job's model
    (see :mod:`philly_analysis.simulator.speed.scaling`), which also limits the job's growth. Models
    without measurements follow a power law with an assumed exponent. A job that requested a number
    of servers is rigid. Not modelled: changes of batch size and accuracy with the number of GPUs.
    """

    name = "amoeba"
    SOURCE = "Wu et al., Amoeba / EDL, arXiv 1909.11985; E-Tiresias as in vodascheduler"
    steady = True
    elastic = True

    round_s: float = knob(
        300.0, "divide GPUs only at multiples of so many seconds; 0: at each event", within=ROUND
    )
    order: str = knob("las", "order of jobs", among=("las", "srtf"))
    thresholds_gpu_s: tuple[float, ...] = knob(
        (3250.0,), "thresholds of the order las", within=SERVICE, rises=True
    )
    pending_above: int = knob(
        10, "waiting jobs above which running ones shrink", within=Bounds(0, LONG_S)
    )
    scale_out: float = knob(
        2.0, "most GPUs, in multiples of the requested GPUs; 1: rigid", within=Bounds(1, 1024)
    )
    shrink_to: float = knob(
        0.25, "fewest GPUs, as a share of the requested GPUs, at least one", within=Bounds(0, 1)
    )
    alpha: float = knob(
        0.9, "exponent of speed in GPUs, of models not measured", within=Bounds(0, 1)
    )
    restart_s: float = knob(30.0, "time of a restart or a change of GPUs", within=STALL)

    @cached_property
    def _order(self) -> Policy:
        if self.order == "srtf":  # remaining work counts seconds on the requested GPUs
            return Sjf()
        return Las(thresholds_gpu_s=self.thresholds_gpu_s)

    def level(self, job: Job, now_s: float) -> int:
        """Return the level of a job in the order."""
        return self._order.level(job, now_s)

    def key(self, job: Job, now_s: float) -> Any:
        """Return the priority key of the order."""
        return self._order.key(job, now_s)

    def running_key(self, job: Job, now_s: float) -> Any:
        """Return the priority key of the order for running jobs."""
        return self._order.running_key(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when the order changes."""
        return self._order.review_s(job, now_s)

    def speed(self) -> Speed:
        """Return speeds by the number of GPUs."""
        return Parallelism(alpha=self.alpha)

    def decide(self, view: View) -> Decision:
        """Divide all GPUs anew, with as few moves as possible."""
        now_s = view.now_s
        waiting = (jobs.entries() for jobs in view.queue.groups.values())
        running = ((self.key(job, now_s), job.index, job) for job in view.running)
        jobs = [job for _, _, job in sorted(chain(*waiting, running))]
        sizes = self._sizes(jobs, view.cluster.capacity)
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
                plan.assign(job, self._placed(plan, job, sizes[job]))
            elif sizes[job] > job.allocation.gpus:
                plan.assign(job, resize(plan.cluster, job.allocation, sizes[job]))
        return plan.decision

    @staticmethod
    def _placed(plan: Plan, job: Job, gpus: int) -> Allocation | None:
        """Find so many GPUs for a waiting job."""
        if not gpus:
            return None
        if job.request.servers:
            return allocate(plan.cluster, job.request)
        return pack(plan.cluster, gpus)

    def _sizes(self, jobs: list[Job], free: int) -> dict[Job, int]:
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
                if gpus > shape.least and (job.level or self.order == "srtf"):
                    free += gpus - shape.least
                    sizes[job] = shape.least
        gains = [
            (-shape.gains[gpus], at)
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
                heappush(gains, (-shape.gains[sizes[job]], at))
        return sizes

    @cached_property
    def _shapes(self) -> dict[tuple[str | None, int, bool], "_Shape"]:
        return {}

    def _shape(self, job: Job) -> "_Shape":
        """Return the sizes and gains of a job; jobs of equal requests share one object."""
        job_type, requested, rigid = like = (
            job.spec.job_type,
            job.gpus,
            bool(job.request.servers),
        )
        if like not in self._shapes:
            scaling = SCALING.get(job_type or "")
            least = max(1, int(requested * self.shrink_to))
            most = max(requested, int(requested * self.scale_out))
            if scaling:
                most = min(most, scaling.most(requested))
            if rigid:
                least = most = requested
            speed_ups = [
                scaling.speed_up(gpus, requested) if scaling else float(gpus**self.alpha)
                for gpus in range(1, most + 2)
            ]
            gains = (after - before for before, after in pairwise(speed_ups))
            self._shapes[like] = _Shape(least, most, (speed_ups[least - 1] / least, *gains))
        return self._shapes[like]


class _Shape(NamedTuple):
    """The possible sizes of jobs of one model and request, and the gain of each GPU.

    Attributes
    ----------
    least, most
        Fewest and most GPUs.
    gains
        Speed that the next GPU adds, by GPUs, in multiples of one GPU's speed. The gain of a
        waiting job is the speed on its fewest GPUs, per GPU.
    """

    least: int
    most: int
    gains: tuple[float, ...]
