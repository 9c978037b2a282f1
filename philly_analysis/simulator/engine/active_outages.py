"""What is out of use now: goes through outages from moment to moment."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.cluster import Cluster
from philly_analysis.simulator.engine.outages import Outage
from philly_analysis.simulator.jobs.job import FOREVER


class Change(NamedTuple):
    """GPUs of one machine that go out of use (or come back) at one moment, maybe for good."""

    machine: int
    gpus: int
    out: bool
    lasts: bool = False


class Upkeep:
    """Which GPUs go out of use, and come back, when.

    Of several outages that keep a GPU out of use, the last to end gives it back.

    Attributes
    ----------
    seen
        Outages that have begun, in their order.
    """

    def __init__(self, outages: Iterable[Outage], cluster: Cluster) -> None:
        self._cluster = cluster
        self._to_come = iter(outages)
        self._next = next(self._to_come, None)
        self._ends: list[tuple[float, int, int, int]] = []
        self._keeping: dict[int, dict[int, int]] = {}
        self._lost: dict[int, int] = {}
        self._began_s = -FOREVER
        self.seen: list[Outage] = []

    @property
    def next_s(self) -> float:
        """When something fails or is repaired next."""
        return min(self._next.start_s if self._next else FOREVER, self.repair_s)

    @property
    def for_good(self) -> int:
        """GPUs that do not come back."""
        return sum(gpus.bit_count() for gpus in self._lost.values())

    @property
    def repair_s(self) -> float:
        """When something that is out of use now comes back."""
        return self._ends[0][0] if self._ends else FOREVER

    def due(self, now_s: float) -> Iterator[Change]:
        """Yield what goes out of use or comes back by now: repairs before failures."""
        while self.repair_s <= now_s:
            _, nth, machine, gpus = heappop(self._ends)
            del self._keeping[machine][nth]
            if back := gpus & ~self._kept(machine):
                yield Change(machine, back, out=False)
        while self._next is not None and self._next.start_s <= now_s:
            outage, nth = self._next, len(self.seen)
            self._next = next(self._to_come, None)
            self.seen.append(outage)
            machine, gpus = self._place(outage)
            gone, lasts = gpus & ~self._kept(machine), outage.end_s == FOREVER
            self._keeping.setdefault(machine, {})[nth] = gpus
            if lasts:
                self._lost[machine] = self._lost.get(machine, 0) | gpus
            else:
                heappush(self._ends, (outage.end_s, nth, machine, gpus))
            if gone or lasts:
                yield Change(machine, gone, out=True, lasts=lasts)

    def _kept(self, machine: int) -> int:
        kept = 0
        for gpus in self._keeping.get(machine, {}).values():
            kept |= gpus
        return kept

    def _place(self, outage: Outage) -> tuple[int, int]:
        """Return the index of a machine, and a bit per GPU of it that goes out of use."""
        machine = self._cluster.at.get(outage.machine_id)
        gpus = self._cluster.machines[machine].gpus if machine is not None else 0
        if machine is None or not (outage.gpu is None or 0 <= outage.gpu < gpus):
            raise SimulationError(
                f"{outage} is of no machine or GPU of the {len(self._cluster.machines):,} machines "
                "at hand. Name their machine_id, and GPUs from 0."
            )
        if not self._began_s <= outage.start_s < outage.end_s:
            raise SimulationError(
                f"{outage} is not over after it began, or began before the one named before it, "
                f"at {self._began_s:g} s. Give outages in the order of their beginning."
            )
        self._began_s = outage.start_s
        return machine, (1 << gpus) - 1 if outage.gpu is None else 1 << outage.gpu
