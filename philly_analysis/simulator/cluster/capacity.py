"""Find machines with enough GPUs, CPUs and memory for a request, from cached capacities."""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple, Self

import numpy as np

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, lowest_bits
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import (
    best_fit,
    emptiest,
    pack_on_servers,
    pack_units,
)
from philly_analysis.simulator.cluster.request import Request

_REQUESTS = 256
"""Requests (CPUs and memory per GPU) whose capacities are cached."""

_ROUNDING = 1e-6

FULL_SHARE = (inf, inf)
"""CPUs and memory per GPU that stand for a proportional share of the server."""


def allocate(cluster: Cluster, request: Request) -> Allocation | None:
    """Find GPUs for a request (``Job.request``), with the requested CPUs, memory and servers.

    A gang without requested servers is packed on as few servers as possible now.
    """
    size, cpus, mem_gb, servers = request
    if cpus or mem_gb:
        return fit(cluster, request)
    if servers and size >= GPU_UNITS:
        return pack_on_servers(cluster, servers)
    return pack_units(cluster, size)


def has_room(cluster: Cluster, request: Request) -> bool:
    """Whether a request fits now."""
    if not request.servers:
        return cluster.fits(request.size)
    return allocate(cluster, request) is not None


def fit(cluster: Cluster, request: Request) -> Allocation | None:
    """Place a job on the fullest server with its CPUs and memory, or a gang on several servers.

    A gang with requested servers is placed on exactly the requested servers.
    """
    size, cpus, mem_gb, servers = request
    if (cpus, mem_gb) == FULL_SHARE:
        return None
    capacity = _capacity(cluster, cpus, mem_gb)
    gpus = size // GPU_UNITS
    if size < GPU_UNITS:
        allocation = pack_units(cluster, size, among=capacity.having[1])
    elif servers:
        allocation = pack_on_servers(cluster, servers, capacity.having)
    elif gpus <= cluster.largest_server:
        allocation = best_fit(cluster, gpus, capacity.having[gpus])
    else:
        allocation = _spread(cluster, gpus, capacity)
    return allocation and allocation._replace(cpus=cpus, mem_gb=mem_gb)


def _spread(cluster: Cluster, gpus: int, capacity: "HostCapacity") -> Allocation | None:
    """Place a gang on several servers, the emptiest first."""
    shares: list[tuple[int, int]] = []
    unplaced_gpus = gpus
    for free, machine in emptiest(cluster, capacity.having[1]):
        count = min(unplaced_gpus, free, capacity.gpus[machine])
        shares.append((machine, lowest_bits(cluster.free_gpus[machine], count)))
        unplaced_gpus -= count
        if not unplaced_gpus:
            return Allocation(tuple(shares), gpus)
    return None


def may_fit(cluster: Cluster, freed: Iterable[int], request: Request) -> bool:
    """Whether a request that did not fit may fit, now that jobs left some machines."""
    size, cpus, mem_gb, servers = request
    if size < GPU_UNITS:
        among = sum(1 << m for m in freed if _count(cluster, m, cpus, mem_gb))
        return bool(among) and pack_units(cluster, size, among=among) is not None
    gpus = size // GPU_UNITS
    if gpus > cluster.largest_server or len(servers) > 1:
        return any(cluster.free_gpus[machine] for machine in freed)
    return any(
        cluster.free_gpus[machine].bit_count() >= gpus <= _count(cluster, machine, cpus, mem_gb)
        for machine in freed
    )


def _capacity(cluster: Cluster, cpus: float, mem_gb: float) -> "HostCapacity":
    """Return the capacities for a request, from the cache, least recently used first."""
    cache: dict[tuple[float, float], HostCapacity] = cluster.host_capacities
    for cached in cache.values() if cluster.changed_hosts else ():
        cached.stale |= cluster.changed_hosts
    cluster.changed_hosts.clear()
    capacity = cache.pop((cpus, mem_gb), None) or HostCapacity(cluster, cpus, mem_gb)
    cache[cpus, mem_gb] = capacity
    if len(cache) > _REQUESTS:
        del cache[next(iter(cache))]
    capacity.refresh()
    return capacity


class HostCapacity:
    """The machines' capacity for one request of CPUs and memory per GPU.

    Attributes
    ----------
    gpus
        Per machine, the GPUs that the CPUs and memory suffice for, whether or not the GPUs are
        free.
    having
        Per number of GPUs, a bit per machine with CPUs and memory for as many.
    stale
        Machines whose capacity must be recomputed.
    """

    def __init__(self, cluster: Cluster, cpus: float, mem_gb: float) -> None:
        self._cluster, self._cpus, self._mem_gb = cluster, cpus, mem_gb
        self.stale: set[int] = set()
        most = np.full(len(cluster.machines), float(cluster.largest_server))
        for requested, free in ((cpus, cluster.free_cpus), (mem_gb, cluster.free_mem_gb)):
            if requested:
                most = np.minimum(most, np.array(free) / requested)
        counts = (most + _ROUNDING).astype(int)
        self.gpus: list[int] = counts.tolist()
        self.having = [
            int.from_bytes(np.packbits(counts >= gpus, bitorder="little").tobytes(), "little")
            for gpus in range(cluster.largest_server + 1)
        ]

    def refresh(self) -> None:
        """Recompute the stale machines."""
        for machine in self.stale:
            before = self.gpus[machine]
            after = _count(self._cluster, machine, self._cpus, self._mem_gb)
            if before != after:
                self.gpus[machine] = after
                for gpus in range(min(before, after) + 1, max(before, after) + 1):
                    self.having[gpus] ^= 1 << machine
        self.stale.clear()


def _count(cluster: Cluster, machine: int, cpus: float, mem_gb: float) -> int:
    """Return the GPUs for which a machine has free CPUs and memory."""
    by_cpus = cluster.free_cpus[machine] / cpus if cpus else cluster.largest_server
    by_mem = cluster.free_mem_gb[machine] / mem_gb if mem_gb else cluster.largest_server
    return int(min(by_cpus, by_mem, cluster.largest_server) + _ROUNDING)


class ServerRoom(NamedTuple):
    """Free GPUs, CPUs and memory (GB) of one server, now or in a plan."""

    gpus: int
    cpus: float
    mem_gb: float

    @classmethod
    def now(cls, cluster: Cluster, machine: int) -> Self:
        """Return what is free now."""
        free = cluster.free_gpus[machine].bit_count()
        return cls(free, cluster.free_cpus[machine], cluster.free_mem_gb[machine])

    def usable(self, cluster: Cluster, machine: int, request: Request) -> int:
        """Return how many free GPUs with CPUs and memory a gang can use on the server."""
        whole_server = cluster.dedicated and request.size > GPU_UNITS
        if whole_server and self.gpus < cluster.machines[machine].gpus:
            return 0
        gpus: float = self.gpus
        if request.cpus:
            gpus = min(gpus, self.cpus / request.cpus + _ROUNDING)
        if request.mem_gb:
            gpus = min(gpus, self.mem_gb / request.mem_gb + _ROUNDING)
        return int(gpus)
