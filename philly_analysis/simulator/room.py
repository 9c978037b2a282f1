"""Which machines have CPUs and memory for how many GPUs, by what a GPU's job wants of them."""

import numpy as np

from philly_analysis.simulator.cluster import Cluster, Grant, lowest

_KINDS = 256
"""Kinds of jobs for which it is kept; of the others it is worked out when they ask."""

_ROUNDING = 1e-6


class Rooms:
    """Places for gangs that want CPUs and memory, found without going through the machines.

    Machines are sets of bits here as in the cluster: per kind of job (CPUs and GB per GPU) and
    number of GPUs, a bit per machine with room for so many. They are kept from one search to the
    next, and only machines on which CPUs or memory were taken or given are looked at anew.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._of: dict[tuple[float, float], _Room] = {}

    def fit(self, gpus: int, cpus: float, mem_gb: float) -> Grant | None:
        """Place a gang on the fullest server that has it all; over servers if none is so large."""
        cluster, room = self._cluster, self._room(cpus, mem_gb)
        if gpus <= cluster.biggest:
            for free in range(gpus, cluster.biggest + 1):
                if found := cluster.by_free[free] & room.having[gpus]:
                    machine = (found & -found).bit_length() - 1
                    share = machine, lowest(cluster.free_gpus[machine], gpus)
                    return Grant((share,), gpus, cpus, mem_gb)
            return None
        if not self._enough(gpus, room):
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

    def _enough(self, gpus: int, room: "_Room") -> bool:
        for free, there in enumerate(self._cluster.by_free):
            for count in range(1, free + 1):
                gpus -= (there & room.having[count]).bit_count()
        return gpus <= 0

    def _room(self, cpus: float, mem_gb: float) -> "_Room":
        cluster = self._cluster
        if cluster.changed_hosts:
            for room in self._of.values():
                room.stale |= cluster.changed_hosts
            cluster.changed_hosts.clear()
        kind = cpus, mem_gb
        room = self._of.pop(kind, None) or _Room(cluster, *kind)
        self._of[kind] = room  # those that asked last stand last
        if len(self._of) > _KINDS:
            del self._of[next(iter(self._of))]
        room.refresh()
        return room


class _Room:
    """Of one kind of job.

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
            before, after = self.gpus[machine], self._count(machine)
            self.gpus[machine] = after
            for gpus in range(min(before, after) + 1, max(before, after) + 1):
                self.having[gpus] ^= 1 << machine
        self.stale.clear()

    def _count(self, machine: int) -> int:
        cluster = self._cluster
        by_cpus = cluster.free_cpus[machine] / self._cpus if self._cpus else cluster.biggest
        by_mem = cluster.free_mem_gb[machine] / self._mem_gb if self._mem_gb else cluster.biggest
        return int(min(by_cpus, by_mem, cluster.biggest) + _ROUNDING)
