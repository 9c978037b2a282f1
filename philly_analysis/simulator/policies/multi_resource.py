"""Share the requests and resource vectors of policies for GPUs, CPUs and memory (DRF, Tetris)."""

from math import inf
from typing import NamedTuple

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.capacity import may_fit
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.policies.view import View

DECIMALS = 9
"""Decimals to which equal shares agree."""


class Resources(NamedTuple):
    """A vector of GPUs, CPUs and memory (GB)."""

    gpus: float = 0.0
    cpus: float = 0.0
    mem_gb: float = 0.0

    @classmethod
    def of(cls, held: Allocation) -> "Resources":
        """Return the resources of an allocation."""
        gpus = held.gpus
        return cls(held.units / GPU_UNITS * gpus, held.cpus * gpus, held.mem_gb * gpus)

    @classmethod
    def of_cluster(cls, view: View) -> "Resources":
        """Return the resources of all servers; infinite if a server has unknown resources."""

        def total() -> Resources:
            machines = view.cluster.machines
            cpus = sum(inf if m.cpus is None else m.cpus for m in machines)
            mem_gb = sum(inf if m.mem_gb is None else m.mem_gb for m in machines)
            return Resources(sum(m.gpus for m in machines), cpus or inf, mem_gb or inf)

        return view.cached("capacity", total)

    def plus(self, more: "Resources", sign: int = 1) -> "Resources":
        """Return the sum, or (sign -1) the difference."""
        return Resources(*(a + sign * b for a, b in zip(self, more, strict=True)))

    def shares(self, total: "Resources") -> tuple[float, float, float]:
        """Return the share of each resource in a total."""
        return self.gpus / total.gpus, self.cpus / total.cpus, self.mem_gb / total.mem_gb


def refused_requests(view: View) -> dict[Request, Request]:
    """Return the requests that do not fit now, with the allocations tried for them.

    Without preemption a refused request can fit only on servers that jobs have left since.
    """
    refused: dict[Request, Request] = view.state.setdefault("refused", {})
    if refused and view.freed:
        cluster = view.cluster
        most = max(cluster.free_gpus[machine].bit_count() for machine in view.freed)
        largest = cluster.largest_server * GPU_UNITS
        for request, tried in list(refused.items()):
            spread = len(request.servers) > 1 or not GPU_UNITS <= request.size <= largest
            fits = most * GPU_UNITS >= request.size or spread
            if fits and may_fit(cluster, view.freed, tried):
                del refused[request]
    return refused
