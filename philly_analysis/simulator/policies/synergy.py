"""Synergy: allocate CPUs and memory to the jobs that benefit, under an order of jobs by GPUs."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.capacity import FULL_SHARE, fit
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import pack, pack_on_servers
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.knobs import knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.preemption import (
    Victims,
    by_running_key,
    may_start,
    serve,
)
from philly_analysis.simulator.policies.priority import Fifo, Srtf
from philly_analysis.simulator.policies.tiresias import Las
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.simulator.speed.models import HostResources
from philly_analysis.simulator.speed.speed import Speed

_ORDERS: dict[str, type[Policy]] = {"fifo": Fifo, "srtf": Srtf, "las": Las}
_ALLOCATIONS = ("proportional", "greedy", "tune")
_EPS = 1e-6


@dataclass(frozen=True)
class Synergy(Policy):
    """Sensitivity-aware CPUs and memory: an order of jobs by GPUs, and one of three allocations.

    ``proportional`` gives each GPU an equal share of its server. ``greedy`` gives a job its request
    (``cpus`` and ``mem_gb`` of the job), or skips the job while no server has room. A job that
    requests more than empty servers have, or nothing, gets a proportional share. ``tune`` packs
    by request. If a job then does not fit, jobs above their proportional share give up the excess.
    No job gets less than a proportional share unless the job requests less. Spare resources go to
    the jobs that request more.

    Synergy as published decides in rounds of 300 s and packs all servers anew. Here jobs are not
    moved, and only their CPUs and memory change. Not modelled: profiling time, and the optimal
    allocation (an integer program).
    """

    name = "synergy"
    SOURCE = "Mohan et al., Synergy, OSDI'22"
    steady = True

    allocation: str = knob("tune", "how CPUs and memory are divided", among=_ALLOCATIONS)
    order: str = knob("fifo", "order of jobs", among=tuple(_ORDERS))

    @cached_property
    def _order(self) -> Policy:
        return _ORDERS[self.order]()

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

    def group(self, job: Job, now_s: float) -> Request:
        """Return the request: jobs with equal requests fit, or do not, together."""
        return full_request(job)

    def decide(self, view: View) -> Decision:
        """Allocate GPUs in order, then spare CPUs and memory to the jobs that request more."""
        if not view.cluster.hosts_known:
            raise SimulationError(
                "synergy needs the CPUs and the memory of every machine. Give machines with both, "
                "e.g. machines='16x8:24:500'."
            )
        plan = view.plan()
        victims = Victims(by_running_key(view))
        if may_start(view, victims):
            serve(plan, victims, self._find)
        if self.allocation == "tune":
            for machine in sorted(view.freed | plan.touched):
                self._allocate_spare(plan, machine)
        return plan.decision

    def speed(self) -> Speed:
        """Return speeds by CPUs and memory."""
        return HostResources()

    def _find(self, plan: Plan, job: Job) -> Allocation | None:
        """Find GPUs with CPUs and memory for a job, after others give up their excess."""
        cluster = plan.cluster
        if self.allocation == "proportional":
            packed = _packed(cluster, job)
            return packed and self._at_most(cluster, packed, FULL_SHARE)
        if self.allocation == "greedy":
            return fit(cluster, within_reach(plan.view, job))
        if by_request := fit(cluster, full_request(job)):
            return by_request
        packed = _packed(cluster, job)
        if packed is None:
            return None
        for machine, _ in packed.shares:
            for other in plan.jobs_on(machine):
                self._give_up_excess(plan, other)
        return self._at_most(cluster, packed, host_request(job))

    @staticmethod
    def _at_most(cluster: Cluster, old: Allocation, request: tuple[float, float]) -> Allocation:
        """Return an allocation with a proportional share of its servers, or the request if less."""
        cpus, mem_gb = request
        for m, _ in old.shares:
            server = cluster.machines[m]
            cpus = min(cpus, (server.cpus or 0.0) / server.gpus)
            mem_gb = min(mem_gb, (server.mem_gb or 0.0) / server.gpus)
        return old._replace(cpus=cpus, mem_gb=mem_gb)

    def _give_up_excess(self, plan: Plan, job: Job) -> None:
        old = plan.allocation_of(job)
        if old is not None:
            new = self._at_most(plan.cluster, old, (old.cpus, old.mem_gb))
            if new != old:
                plan.assign(job, new)

    def _allocate_spare(self, plan: Plan, machine: int) -> None:
        """Allocate a server's spare resources to its jobs that request more, by priority."""
        now_s, cluster = plan.view.now_s, plan.cluster
        spare_cpus = cluster.free_cpus[machine] > _EPS
        spare_gb = cluster.free_mem_gb[machine] > _EPS
        if not spare_cpus and not spare_gb:
            return
        wanting = []
        for job in plan.jobs_on(machine):
            old, (cpus, mem_gb) = plan.allocation_of(job), host_request(job)
            if old is None or cpus == inf:
                continue
            more_cpus, more_gb = cpus - old.cpus, mem_gb - old.mem_gb
            if (spare_cpus and more_cpus > _EPS) or (spare_gb and more_gb > _EPS):
                wanting.append((self.key(job, now_s), job.index, job, old, more_cpus, more_gb))
        for _, _, job, old, more_cpus, more_gb in sorted(wanting):
            for m, gpus in old.shares:
                count = gpus.bit_count()
                more_cpus = min(more_cpus, cluster.free_cpus[m] / count)
                more_gb = min(more_gb, cluster.free_mem_gb[m] / count)
            if more_cpus > _EPS or more_gb > _EPS:
                cpus, mem_gb = old.cpus + max(more_cpus, 0.0), old.mem_gb + max(more_gb, 0.0)
                plan.assign(job, old._replace(cpus=cpus, mem_gb=mem_gb))


def _packed(cluster: Cluster, job: Job) -> Allocation | None:
    """Find GPUs for a job, whatever CPUs and memory are free."""
    servers = job.request.servers
    return pack_on_servers(cluster, servers) if servers else pack(cluster, job.gpus)


def host_request(job: Job) -> tuple[float, float]:
    """Return the CPUs and memory (GB) per GPU that a job requests; a full share if unknown."""
    cpus, mem_gb = job.spec.cpus, job.spec.mem_gb
    if cpus is None or mem_gb is None:
        return FULL_SHARE
    return cpus / job.gpus, mem_gb / job.gpus


def full_request(job: Job) -> Request:
    """Return a job's request with all requested CPUs and memory."""
    cpus, mem_gb = host_request(job)
    return Request(job.size, cpus, mem_gb, job.request.servers)


def within_reach(view: View, job: Job) -> Request:
    """Return a job's full request, or a proportional share if empty servers have less."""
    request = full_request(job)
    reachable: Request | None = view.state.get(request)
    if reachable is None:
        machines = [m for m in view.cluster.machines if m.gpus]
        reachable = request
        if not fit(view.cached("empty", lambda: Cluster(machines)), request):
            share = job.size / GPU_UNITS / job.gpus
            reachable = request._replace(
                cpus=min((m.cpus or 0.0) / m.gpus for m in machines) * share,
                mem_gb=min((m.mem_gb or 0.0) / m.gpus for m in machines) * share,
            )
        view.state[request] = reachable
    return reachable
