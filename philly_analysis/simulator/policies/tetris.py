"""Tetris: pack jobs on servers by the alignment of requests and free resources."""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, lowest_bits
from philly_analysis.simulator.cluster.capacity import fit
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import pack_units
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import SortedJobs
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.multi_resource import (
    DECIMALS,
    Resources,
    refused_requests,
)
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.synergy import full_request, within_reach
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.simulator.speed.models import HostResources
from philly_analysis.simulator.speed.speed import Speed

_REQUESTS = 256
"""Requests whose scores are cached."""


@dataclass(frozen=True)
class Tetris(Policy):
    """Multi-resource packing: the job and server whose request and free resources align best.

    A job gets the CPUs and memory that it requests with its GPUs, or waits, as under ``drf``. Of
    the jobs and servers that fit, the pair with the greatest score is next. The score is the
    alignment minus ``shortest`` times the remaining work of the job. The alignment is the dot
    product of the request and the server's free resources, both as shares of the server. Work is
    time times the sum of the request's shares of the cluster, scaled so that the mean work of the
    jobs that fit is the mean alignment. A gang on several servers has the sum of its parts'
    alignments. No job is preempted. Not modelled: disk, network, and fairness (the share of jobs
    from which the best job is chosen).
    """

    name = "tetris"
    SOURCE = (
        "Grandl et al., Tetris, SIGCOMM'14, sections 3.2 and 3.3; baseline in Synergy (OSDI'22)"
    )
    steady = True
    fractional = True

    shortest: float = knob(
        1.0,
        "weight of the remaining work, m of the paper",
        within=Bounds(0, 1000),
    )

    def group(self, job: Job, now_s: float) -> Request:
        """Return the request: of jobs with the same one only the first is considered."""
        return full_request(job)

    def key(self, job: Job, now_s: float) -> float:
        """Return the remaining run time (s), or the submission if ``shortest`` is 0."""
        return job.remaining_s(now_s) if self.shortest else job.spec.submit_s

    def running_key(self, job: Job, now_s: float) -> float:
        """Return the time of submission (s): running jobs are not compared."""
        return job.spec.submit_s

    def speed(self) -> Speed:
        """Return speeds by CPUs and memory."""
        return HostResources()

    def decide(self, view: View) -> Decision:
        """Start the best pair of job and server, repeatedly."""
        servers = view.cached("servers", lambda: _Servers(view.cluster))
        servers.changed |= view.touched
        refused = refused_requests(view)
        if view.cluster.full or not view.queue.groups:
            return {}
        entries = {
            request: jobs.entries()
            for request, jobs in cast("dict[Request, SortedJobs]", view.queue.groups).items()
            if request not in refused and view.cluster.fits(request.size)
        }
        if not entries:
            return {}
        plan, total = view.plan(), Resources.of_cluster(view)
        heads = {request: next(request_entries).job for request, request_entries in entries.items()}
        while heads:
            servers.refresh()
            allocations = {}
            for group, job in list(heads.items()):
                request = within_reach(view, job)
                allocation = servers.best(request)
                if allocation is None:  # nor will the job fit once others have started
                    refused[group] = request
                    del heads[group]
                else:
                    allocations[group] = allocation
            if not allocations:
                break
            group = self._best(plan, heads, allocations, servers, total)
            plan.assign(heads.pop(group), allocations[group])
            servers.changed.update(machine for machine, _ in allocations[group].shares)
            if (behind := next(entries[group], None)) is not None:
                heads[group] = behind.job
        return plan.decision

    def _best(
        self,
        plan: Plan,
        heads: dict[Request, Job],
        allocations: dict[Request, Allocation],
        servers: "_Servers",
        total: Resources,
    ) -> Request:
        """Return the group whose first job has the best score; of several, submitted first."""
        now_s = plan.view.now_s
        aligned = {group: servers.alignment_of(new) for group, new in allocations.items()}
        work = {
            group: heads[group].remaining_s(now_s) * sum(Resources.of(new).shares(total))
            for group, new in allocations.items()
        }
        total_work = sum(work.values())
        unit = self.shortest * sum(aligned.values()) / total_work if total_work else 0.0
        return min(
            allocations,
            key=lambda g: (-round(aligned[g] - unit * work[g], DECIMALS), heads[g].index),
        )


class _Scores(NamedTuple):
    """The alignment of a request with each server, minus infinity on servers without room."""

    aligned: npt.NDArray[np.float64]
    stale: set[int]


class _Servers:
    """The sizes and free resources of servers as arrays, with the cached scores of requests.

    Attributes
    ----------
    changed
        Servers whose free resources must be read again.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        machines = cluster.machines
        self._sizes = np.array(
            [[m.gpus or inf, m.cpus or inf, m.mem_gb or inf] for m in machines], np.float64
        )
        self._free = np.zeros_like(self._sizes)
        self._free_gpus = np.zeros((len(machines), 2))
        self._scores: dict[Request, _Scores] = {}
        self.changed = set(range(len(machines)))

    def refresh(self) -> None:
        """Read the free resources of changed servers."""
        cluster = self._cluster
        for m in self.changed:
            whole, most, units = cluster.free_on(m)
            self._free_gpus[m] = whole, most / GPU_UNITS
            self._free[m] = (
                units / GPU_UNITS,
                min(cluster.free_cpus[m], 1e300),
                min(cluster.free_mem_gb[m], 1e300),
            )
        for scores in self._scores.values() if self.changed else ():
            scores.stale.update(self.changed)
        self.changed.clear()

    def best(self, request: Request) -> Allocation | None:
        """Return the allocation of greatest alignment; of a large gang on several servers."""
        gpus = request.size // GPU_UNITS
        if gpus > self._cluster.largest_server or len(request.servers) > 1:
            return fit(self._cluster, request)
        aligned = self._aligned(request)
        machine = int(aligned.argmax())
        if aligned[machine] == -inf:
            return None
        if not gpus:
            allocation = pack_units(self._cluster, request.size, among=1 << machine)
            return allocation and allocation._replace(cpus=request.cpus, mem_gb=request.mem_gb)
        share = (machine, lowest_bits(self._cluster.free_gpus[machine], gpus))
        return Allocation((share,), gpus, request.cpus, request.mem_gb)

    def _aligned(self, request: Request) -> npt.NDArray[np.float64]:
        scores = self._scores.pop(request, None)
        if scores is None:
            scores = _Scores(np.empty(len(self._sizes)), set(range(len(self._sizes))))
        self._scores[request] = scores  # least recently used first
        if len(self._scores) > _REQUESTS:
            del self._scores[next(iter(self._scores))]
        if scores.stale:
            at = np.fromiter(scores.stale, np.intp)
            gpus = request.size / GPU_UNITS
            demand = np.array([gpus, *(max(gpus, 1) * np.array([request.cpus, request.mem_gb]))])
            sizes, free = self._sizes[at], self._free[at]
            aligned = ((demand / sizes) * (free / sizes)).sum(axis=1).round(DECIMALS)
            fits = (free + 1e-6 >= demand).all(axis=1)
            fits &= self._free_gpus[at, int(gpus < 1)] + 1e-9 >= gpus
            scores.aligned[at] = np.where(fits, aligned, -inf)
            scores.stale.clear()
        return scores.aligned

    def alignment_of(self, allocation: Allocation) -> float:
        """Return the alignment of an allocation with the free resources of its servers."""
        per_gpu = np.array([allocation.units / GPU_UNITS, allocation.cpus, allocation.mem_gb])
        total = 0.0
        for machine, gpus in allocation.shares:
            demand = gpus.bit_count() * per_gpu
            sizes, free = self._sizes[machine], self._free[machine]
            total += float(((demand / sizes) * (free / sizes)).sum())
        return total
