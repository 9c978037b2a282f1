"""Track the active outages over time, and which GPUs go out of or return to service."""

from collections.abc import Iterable, Iterator
from functools import reduce
from heapq import heappop, heappush
from operator import or_
from typing import NamedTuple

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.allocation import Cluster
from philly_analysis.simulator.engine.outages import Outage
from philly_analysis.simulator.jobs.job import FOREVER


class CapacityChange(NamedTuple):
    """GPUs of one machine that fail, perhaps permanently, or return to service."""

    machine: int
    gpus: int
    failed: bool
    permanent: bool = False


class ActiveOutages:
    """The active outages, and the ones to come.

    A GPU with several active outages returns to service when the last of them ends.

    Attributes
    ----------
    begun
        Outages that have begun, in order.
    """

    def __init__(self, outages: Iterable[Outage], cluster: Cluster) -> None:
        self._cluster = cluster
        self._to_come = iter(outages)
        self._next = next(self._to_come, None)
        self._ends: list[tuple[float, int, int, int]] = []
        self._active: dict[int, dict[int, int]] = {}
        self._lost: dict[int, int] = {}
        self._began_s = -FOREVER
        self.begun: list[Outage] = []

    @property
    def next_s(self) -> float:
        """Time of the next failure or repair."""
        return min(self._next.start_s if self._next else FOREVER, self.repair_s)

    @property
    def permanently_lost(self) -> int:
        """Number of GPUs that failed permanently."""
        return sum(gpus.bit_count() for gpus in self._lost.values())

    @property
    def repair_s(self) -> float:
        """Time of the next repair."""
        return self._ends[0][0] if self._ends else FOREVER

    def due(self, now_s: float) -> Iterator[CapacityChange]:
        """Yield the changes up to now: repairs before failures."""
        while self.repair_s <= now_s:
            _, nth, machine, gpus = heappop(self._ends)
            del self._active[machine][nth]
            if back := gpus & ~self._failed(machine):
                yield CapacityChange(machine, back, failed=False)
        while self._next is not None and self._next.start_s <= now_s:
            outage, nth = self._next, len(self.begun)
            self._next = next(self._to_come, None)
            self.begun.append(outage)
            machine, gpus = self._locate(outage)
            newly, permanent = gpus & ~self._failed(machine), outage.end_s == FOREVER
            self._active.setdefault(machine, {})[nth] = gpus
            if permanent:
                self._lost[machine] = self._lost.get(machine, 0) | gpus
            else:
                heappush(self._ends, (outage.end_s, nth, machine, gpus))
            if newly or permanent:
                yield CapacityChange(machine, newly, failed=True, permanent=permanent)

    def _failed(self, machine: int) -> int:
        """Return a bit per GPU of a machine with an active outage."""
        return reduce(or_, self._active.get(machine, {}).values(), 0)

    def _locate(self, outage: Outage) -> tuple[int, int]:
        """Return the index of an outage's machine, and a bit per failed GPU of the machine."""
        machine = self._cluster.index_of.get(outage.machine_id)
        gpus = self._cluster.machines[machine].gpus if machine is not None else 0
        if machine is None or not (outage.gpu is None or 0 <= outage.gpu < gpus):
            raise SimulationError(
                f"{outage} has no machine or GPU among the {len(self._cluster.machines):,} "
                "machines. Give their machine_id, and GPUs from 0."
            )
        if not self._began_s <= outage.start_s < outage.end_s:
            raise SimulationError(
                f"{outage} does not end after its start, or starts before the previous one, at "
                f"{self._began_s:g} s. Give outages sorted by their start."
            )
        self._began_s = outage.start_s
        return machine, (1 << gpus) - 1 if outage.gpu is None else 1 << outage.gpu
