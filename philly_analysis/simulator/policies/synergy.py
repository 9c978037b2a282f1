"""Synergy: CPUs and memory go to the jobs that profit from them, GPUs to whoever is next."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, cast

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.capacity import FULL_SHARE, fit
from philly_analysis.simulator.cluster.cluster import Cluster, Grant
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import packed
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.knobs import knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.priority import Fifo, Preemptive, Srtf
from philly_analysis.simulator.policies.tiresias import Las
from philly_analysis.simulator.policies.view import Plan, View, Wish
from philly_analysis.simulator.speed.speed import HostResources, Speed

_ORDERS: dict[str, type[Policy]] = {"fifo": Fifo, "srtf": Srtf, "las": Las}
_ALLOCATIONS = ("proportional", "greedy", "tune")
_EPS = 1e-6


@dataclass(frozen=True)
class Synergy(Preemptive):
    """An order of jobs by GPUs, and one of three ways to divide CPUs and memory.

    ``proportional`` gives each GPU its server's equal share. ``greedy`` gives a job what it
    wants (``cpus`` and ``mem_gb`` of the job), or passes it by while no server has that; one
    that wants more than empty servers could give gets a proportional share, as one that does
    not say.
    ``tune`` packs by what jobs want; where that does not fit, those with more than their
    proportional share give the excess up, nobody gets less than a proportional share unless
    it wants less, and what becomes spare goes to those who want more.

    As published it decides in rounds of 300 s and packs all servers anew each time; here jobs
    stay where they are and only their CPUs and memory change. Not modelled: profiling time,
    and the optimal allocation (an integer program).
    """

    name = "synergy"
    SOURCE = "Mohan et al., Synergy, OSDI'22"

    allocation: str = knob("tune", "how CPUs and memory are divided", among=_ALLOCATIONS)
    order: str = knob("fifo", "who comes first", among=tuple(_ORDERS))

    def level(self, job: Job, now_s: float) -> int:
        """Return the level at which the order has a job."""
        return self._order.level(job, now_s)

    def key(self, job: Job, now_s: float) -> Any:
        """Return what the order serves jobs by."""
        return self._order.key(job, now_s)

    def standing(self, job: Job, now_s: float) -> Any:
        """Return what the order sorts running jobs by."""
        return self._order.standing(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when the order changes its mind about a job."""
        return self._order.review_s(job, now_s)

    def group(self, job: Job, now_s: float) -> tuple[int, float, float]:
        """Return gang and wants: jobs alike in these fit, or do not, together."""
        return job.gpus, *wants(job)

    def decide(self, view: View) -> Wish:
        """Give out GPUs in order, then let those who want more have what is spare."""
        if not view.cluster.says_all:
            raise SimulationError(
                "synergy divides CPUs and memory, but not every machine says how many it has. "
                "Give machines with both, e.g. machines='16x8:24:500'."
            )
        plan = view.plan()
        if self.may_change(view):
            self.serve(plan)
        if self.allocation == "tune":
            for machine in sorted(view.freed | plan.touched):
                self._hand_out(plan, machine)
        return plan.wish

    def speed(self) -> Speed:
        """Return speeds by CPUs and memory."""
        return HostResources()

    def place(self, plan: Plan, job: Job) -> bool:
        """Plan a job's start with the CPUs and memory that the allocation gives it."""
        cluster = plan.cluster
        if self.allocation == "proportional":
            found = packed(cluster, job.gpus)
            return plan.grant(job, found and self._at_most(cluster, found, FULL_SHARE))
        if self.allocation == "greedy":
            return plan.grant(job, fit(cluster, job.size, *within_reach(plan.view, job)))
        wanted = wants(job)
        if found := fit(cluster, job.size, *wanted):
            return plan.grant(job, found)
        found = packed(cluster, job.gpus)
        if found is None:
            return False
        for machine, _ in found.shares:
            for other in plan.on(machine):
                self._give_up_excess(plan, other)
        return plan.grant(job, self._at_most(plan.cluster, found, wanted))

    @cached_property
    def _order(self) -> Policy:
        return _ORDERS[self.order]()

    @staticmethod
    def _at_most(cluster: Cluster, grant: Grant, wants: tuple[float, float]) -> Grant:
        """Return a grant with a proportional share of its servers, or less where less is wanted."""
        cpus, mem_gb = wants
        for m, _ in grant.shares:
            server = cluster.machines[m]
            cpus = min(cpus, (server.cpus or 0.0) / server.gpus)
            mem_gb = min(mem_gb, (server.mem_gb or 0.0) / server.gpus)
        return grant._replace(cpus=cpus, mem_gb=mem_gb)

    def _give_up_excess(self, plan: Plan, job: Job) -> None:
        grant = plan.held(job)
        if grant is not None:
            kept = self._at_most(plan.cluster, grant, (grant.cpus, grant.mem_gb))
            if kept != grant:
                plan.grant(job, kept)

    def _hand_out(self, plan: Plan, machine: int) -> None:
        """Give what a server has to spare to its jobs that want more, first come first."""
        now_s, cluster = plan.view.now_s, plan.cluster
        spare_cpus = cluster.free_cpus[machine] > _EPS
        spare_gb = cluster.free_mem_gb[machine] > _EPS
        if not spare_cpus and not spare_gb:
            return
        wanting = []
        for job in plan.on(machine):
            grant, (cpus, mem_gb) = plan.held(job), wants(job)
            if grant is None or cpus == inf:
                continue
            more_cpus, more_gb = cpus - grant.cpus, mem_gb - grant.mem_gb
            if (spare_cpus and more_cpus > _EPS) or (spare_gb and more_gb > _EPS):
                wanting.append((self.key(job, now_s), job.index, job, grant, more_cpus, more_gb))
        for _, _, job, grant, more_cpus, more_gb in sorted(wanting):
            for m, gpus in grant.shares:
                count = gpus.bit_count()
                more_cpus = min(more_cpus, cluster.free_cpus[m] / count)
                more_gb = min(more_gb, cluster.free_mem_gb[m] / count)
            if more_cpus > _EPS or more_gb > _EPS:
                more = grant._replace(
                    cpus=grant.cpus + max(more_cpus, 0.0), mem_gb=grant.mem_gb + max(more_gb, 0.0)
                )
                plan.grant(job, more)


def wants(job: Job) -> tuple[float, float]:
    """Return the CPUs and memory (GB) per GPU that a job wants; its full share if unknown."""
    cpus, mem_gb = job.spec.cpus, job.spec.mem_gb
    if cpus is None or mem_gb is None:
        return FULL_SHARE
    return cpus / job.gpus, mem_gb / job.gpus


def within_reach(view: View, job: Job) -> tuple[float, float]:
    """Return what a job wants, or a proportional share where no empty servers have that."""
    asked = job.size, *wants(job)
    if asked not in view.kept:
        machines = [m for m in view.cluster.machines if m.gpus]
        if "empty" not in view.kept:
            view.kept["empty"] = Cluster(machines)
        share = job.size / WHOLE / job.gpus
        view.kept[asked] = (
            asked[1:]
            if fit(view.kept["empty"], *asked)
            else (
                min((m.cpus or 0.0) / m.gpus for m in machines) * share,
                min((m.mem_gb or 0.0) / m.gpus for m in machines) * share,
            )
        )
    return cast("tuple[float, float]", view.kept[asked])
