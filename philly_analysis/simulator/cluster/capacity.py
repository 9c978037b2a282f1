"""Which machines have CPUs and memory for how many GPUs, by what a GPU's job wants of them."""

from collections.abc import Iterable

import numpy as np

from philly_analysis.simulator.cluster.cluster import Cluster, Grant, lowest
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import seat

_KINDS = 256
"""Kinds of jobs for which it is kept; of the others it is worked out when they ask."""

_ROUNDING = 1e-6

FULL_SHARE = (float("inf"), float("inf"))
"""CPUs and memory per GPU of a job that takes whatever its proportional share is."""


def fit(cluster: Cluster, size: int, cpus: float, mem_gb: float) -> Grant | None:
    """Place a job on the fullest server with all that it wants; a gang over servers if large.

    Machines are sets of bits here as in the cluster: per kind of job (CPUs and GB per GPU) and
    number of GPUs, a bit per machine with room for so many. The cluster keeps them from one
    search to the next, and only machines on which CPUs or memory were taken or given since are
    looked at anew.

    Parameters
    ----------
    size
        In parts of GPUs: ``Job.size``.
    cpus, mem_gb
        For each GPU, or for its share of one.
    """
    if (cpus, mem_gb) == FULL_SHARE:
        return None
    room = _room(cluster, cpus, mem_gb)
    if size < WHOLE:
        found_share = seat(cluster, size, among=room.having[1])
        return found_share and found_share._replace(cpus=cpus, mem_gb=mem_gb)
    gpus = size // WHOLE
    if gpus <= cluster.biggest:
        for free in range(gpus, cluster.biggest + 1):
            if found := cluster.by_free[free] & room.having[gpus]:
                machine = (found & -found).bit_length() - 1
                share = machine, lowest(cluster.free_gpus[machine], gpus)
                return Grant((share,), gpus, cpus, mem_gb)
        return None
    if not _enough(cluster, gpus, room):
        return None
    shares: list[tuple[int, int]] = []
    left = gpus
    for free in range(cluster.biggest, 0, -1):
        found = cluster.by_free[free] & room.having[1]
        while found and left:
            machine = (found & -found).bit_length() - 1
            found &= found - 1
            count = min(left, free, room.gpus[machine])
            shares.append((machine, lowest(cluster.free_gpus[machine], count)))
            left -= count
    return Grant(tuple(shares), gpus, cpus, mem_gb)


def _enough(cluster: Cluster, gpus: int, room: "Room") -> bool:
    """Whether all machines together have what a gang wants."""
    for free, there in enumerate(cluster.by_free):
        for count in range(1, free + 1):
            gpus -= (there & room.having[count]).bit_count()
    return gpus <= 0


def may_fit(cluster: Cluster, freed: Iterable[int], size: int, cpus: float, mem_gb: float) -> bool:
    """Whether a job for which there was no room may have some, now that machines were left."""
    if size < WHOLE:
        among = sum(1 << m for m in freed if _count(cluster, m, cpus, mem_gb))
        return bool(among) and seat(cluster, size, among=among) is not None
    gpus = size // WHOLE
    if gpus > cluster.biggest:
        return any(cluster.free_gpus[machine] for machine in freed)
    return any(
        cluster.free_gpus[machine].bit_count() >= gpus <= _count(cluster, machine, cpus, mem_gb)
        for machine in freed
    )


def _room(cluster: Cluster, cpus: float, mem_gb: float) -> "Room":
    rooms: dict[tuple[float, float], Room] = cluster.rooms
    for kept in rooms.values() if cluster.changed_hosts else ():
        kept.stale |= cluster.changed_hosts
    cluster.changed_hosts.clear()
    room = rooms.pop((cpus, mem_gb), None) or Room(cluster, cpus, mem_gb)
    rooms[cpus, mem_gb] = room  # those that asked last stand last
    if len(rooms) > _KINDS:
        del rooms[next(iter(rooms))]
    room.refresh()
    return room


class Room:
    """What the machines have for one kind of job.

    Attributes
    ----------
    gpus
        Per machine, how many GPUs it has CPUs and memory for, whoever holds its GPUs.
    having
        Per number of GPUs, a bit per machine that has them for so many.
    stale
        Machines to be looked at again.
    """

    __slots__ = ("_cluster", "_cpus", "_mem_gb", "gpus", "having", "stale")

    def __init__(self, cluster: Cluster, cpus: float, mem_gb: float) -> None:
        self._cluster, self._cpus, self._mem_gb = cluster, cpus, mem_gb
        self.stale: set[int] = set()
        most = np.full(len(cluster.machines), float(cluster.biggest))
        for wanted, free in ((cpus, cluster.free_cpus), (mem_gb, cluster.free_mem_gb)):
            if wanted:
                most = np.minimum(most, np.array(free) / wanted)
        counts = (most + _ROUNDING).astype(int)
        self.gpus: list[int] = counts.tolist()
        self.having = [
            int.from_bytes(np.packbits(counts >= gpus, bitorder="little").tobytes(), "little")
            for gpus in range(cluster.biggest + 1)
        ]

    def refresh(self) -> None:
        """Look again at the machines that have changed."""
        for machine in self.stale:
            before = self.gpus[machine]
            after = _count(self._cluster, machine, self._cpus, self._mem_gb)
            if before != after:
                self.gpus[machine] = after
                for gpus in range(min(before, after) + 1, max(before, after) + 1):
                    self.having[gpus] ^= 1 << machine
        self.stale.clear()


def _count(cluster: Cluster, machine: int, cpus: float, mem_gb: float) -> int:
    by_cpus = cluster.free_cpus[machine] / cpus if cpus else cluster.biggest
    by_mem = cluster.free_mem_gb[machine] / mem_gb if mem_gb else cluster.biggest
    return int(min(by_cpus, by_mem, cluster.biggest) + _ROUNDING)
