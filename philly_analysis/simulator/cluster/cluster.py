"""Who holds which GPU: the machines' free GPUs, CPUs and memory, and the grants that take them."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE, Parted
from philly_analysis.simulator.cluster.topology import Topology
from philly_analysis.workload import Machine


class Grant(NamedTuple):
    """The GPUs that one job holds.

    Attributes
    ----------
    shares
        (machine, GPUs) pairs: index of the machine in the cluster, and a bit per GPU index.
    gpus
        GPUs in all shares together.
    cpus, mem_gb
        CPU cores and host memory (GB) per GPU; 0 where nobody counts them.
    guest
        True for GPUs used beside their holder, or while nobody holds them (AntMan's
        opportunistic jobs): they stay free for others to hold.
    partial
        True for GPUs held idle by a gang that is not whole yet.
    part
        How much of its only GPU, of which others may hold the rest; else of each: all.
    """

    shares: tuple[tuple[int, int], ...]
    gpus: int
    cpus: float = 0.0
    mem_gb: float = 0.0
    guest: bool = False
    partial: bool = False
    part: int = WHOLE

    @property
    def size(self) -> int:
        """What it is in parts of GPUs."""
        return self.gpus * self.part


def bits(mask: int) -> tuple[int, ...]:
    """Return the indices of the bits that are set, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def lowest(mask: int, count: int) -> int:
    """Return the lowest `count` set bits of a mask."""
    rest = mask
    for _ in range(count):
        rest &= rest - 1
    return mask ^ rest


class Leaving:
    """What would be free once some who hold GPUs had left: counted, on a cluster that stays.

    It is asked of jobs that do not fit now.

    Attributes
    ----------
    free
        GPUs of which nobody would hold anything.
    """

    __slots__ = ("_left", "_parted", "free")

    def __init__(self, cluster: "Cluster") -> None:
        self.free, self._parted = cluster.free, cluster.parted.left
        self._left: dict[tuple[int, int], int] = {}

    def add(self, grant: Grant, sign: int = 1) -> None:
        """Let the holder of a grant leave, or (sign -1) another come."""
        if grant.part == WHOLE:
            self.free += sign * grant.gpus
            return
        [gpu] = grant.shares
        before = self._left.get(gpu)
        if before is None:
            before = self._parted.get(gpu, WHOLE)
        after = self._left[gpu] = before + sign * grant.part
        self.free += (after == WHOLE) - (before == WHOLE)

    def fits(self, size: int, *, beside: Grant | None = None) -> bool:
        """Whether a job that asks for so much would fit, maybe beside another that comes."""
        if beside is not None:
            self.add(beside, -1)
            fits = self.fits(size)
            self.add(beside)
            return fits
        if size >= WHOLE:
            return self.free * WHOLE >= size
        return self.free > 0 or any(size <= left < WHOLE for left in self._left.values())


class Cluster:
    """The machines, and what of them is free.

    Machines are sets of bits: ``by_free[f]`` has the bit of each machine with exactly f free
    GPUs, so that the best fit is found in as many steps as a machine has GPUs, however many
    machines and jobs there are.

    Parameters
    ----------
    dedicated
        Whether a gang has its servers to itself: all of their GPUs are taken with its own.

    Attributes
    ----------
    free_gpus
        Per machine, a bit per GPU that nobody holds.
    by_free
        Per number of free GPUs, a bit per machine.
    at
        Index of each machine by its identifier.
    alone
        A bit per machine that a gang has to itself.
    parted
        GPUs of which jobs hold shares; they are not free.
    free, capacity
        Free GPUs, and all GPUs in use or free, of the cluster.
    out
        Per machine with GPUs out of use, a bit per such GPU.
    free_cpus, free_mem_gb
        Per machine; infinite where the machine does not say what it has.
    rooms, changed_hosts
        What searches for CPUs and memory keep (see
        :mod:`philly_analysis.simulator.cluster.capacity`), and the machines on which they were
        taken or given since.
    says_all
        Whether every machine says how many CPUs and how much memory it has.
    of_size
        Per number of GPUs, a bit per machine that has so many.
    topology
        Which machines are near each other.
    """

    __slots__ = (
        "_largest",
        "_tried",
        "_were_alone",
        "alone",
        "at",
        "biggest",
        "by_free",
        "capacity",
        "changed_hosts",
        "dedicated",
        "free",
        "free_cpus",
        "free_gpus",
        "free_mem_gb",
        "machines",
        "of_size",
        "out",
        "parted",
        "rooms",
        "says_all",
        "topology",
    )

    def __init__(self, machines: Sequence[Machine], *, dedicated: bool = False) -> None:
        self.machines, self.dedicated = tuple(machines), dedicated
        self.alone = self._were_alone = 0
        self.at = {m.machine_id: i for i, m in enumerate(self.machines)}
        self.free_gpus = [(1 << m.gpus) - 1 for m in self.machines]
        self.biggest = max((m.gpus for m in self.machines), default=0)
        self._largest = tuple(accumulate(sorted((m.gpus for m in self.machines), reverse=True)))
        self.by_free = [0] * (self.biggest + 1)
        for i, machine in enumerate(self.machines):
            self.by_free[machine.gpus] |= 1 << i
        self.of_size = {size: mask for size, mask in enumerate(self.by_free) if mask}
        self.topology = Topology(self.machines)
        self.capacity = self.free = sum(m.gpus for m in self.machines)
        self.says_all = all(m.cpus is not None and m.mem_gb is not None for m in self.machines)
        unlimited = float("inf")
        self.free_cpus = [unlimited if m.cpus is None else m.cpus for m in self.machines]
        self.free_mem_gb = [unlimited if m.mem_gb is None else m.mem_gb for m in self.machines]
        self.parted = Parted()
        self.out: dict[int, int] = {}
        self.rooms: dict[tuple[float, float], Any] = {}
        self.changed_hosts: set[int] = set()
        self._tried: dict[int, tuple[int, float, float]] | None = None

    @property
    def full(self) -> bool:
        """Whether nothing is free, not even a share of a GPU."""
        return not self.free and not self.parted.room

    @property
    def room(self) -> int:
        """What is free in all, in parts of GPUs."""
        return self.free * WHOLE + self.parted.room

    def fits(self, size: int) -> bool:
        """Whether so much is free: whole GPUs, wherever they are, or of one GPU a share."""
        if size >= WHOLE:
            return self.free * WHOLE >= size
        return self.free > 0 or self.parted.best(size) is not None

    @property
    def widest(self) -> int:
        """The greatest size that fits, in parts of GPUs: all that are smaller do so, too."""
        return self.free * WHOLE or self.parted.widest

    def free_on(self, machine: int) -> tuple[int, int, int]:
        """Return a machine's free GPUs, the most of one GPU, and all that is free, in parts."""
        whole = self.free_gpus[machine].bit_count()
        gpus = range(self.machines[machine].gpus) if self.parted.left else ()
        rests = [self.parted.left.get((machine, 1 << gpu), 0) for gpu in gpus]
        most = WHOLE if whole else max(rests, default=0)
        return whole, most, whole * WHOLE + sum(rests)

    def fewest(self, gpus: int) -> int:
        """Return on how few servers a gang would fit, were they all empty."""
        return bisect_left(self._largest, gpus) + 1

    def in_use(self, machine: int) -> int:
        """Return the GPUs of a machine that are not out of use."""
        return self.machines[machine].gpus - self.out.get(machine, 0).bit_count()

    def open_to(self, gpus: int) -> int:
        """Return a bit per machine that may take part of such a gang, were there room."""
        if gpus == 1 or not self.dedicated:
            return -1
        empty = 0
        for size, mask in self.of_size.items():
            empty |= mask & self.by_free[size]
        return empty

    def all_free(self, grant: Grant) -> bool:
        """Whether the GPUs of a grant are free, and those beside them that it would take."""
        if grant.gpus > 1 and self.dedicated:
            open_to = self.open_to(grant.gpus)
            return all(open_to >> machine & 1 for machine, _ in grant.shares)
        if grant.part < WHOLE and (left := self.parted.left.get(grant.shares[0])) is not None:
            return left >= grant.part
        return not any(gpus & ~self.free_gpus[machine] for machine, gpus in grant.shares)

    def attempt(self) -> None:
        """Begin to try things: from now on it is noted how the machines were."""
        self._tried, self._were_alone = {}, self.alone
        self.parted.attempt()

    def restore(self) -> None:
        """End what was tried: put the machines back as they were."""
        tried, self._tried = self._tried, None
        self.alone = self._were_alone
        self.parted.restore()
        for machine, (gpus, cpus, mem_gb) in (tried or {}).items():
            self._set(machine, gpus)
            if (self.free_cpus[machine], self.free_mem_gb[machine]) != (cpus, mem_gb):
                self.free_cpus[machine], self.free_mem_gb[machine] = cpus, mem_gb
                self.changed_hosts.add(machine)

    def _note(self, grant: Grant) -> None:
        """Note, while things are tried, how the machines of a grant are."""
        if self._tried is not None:
            for machine, _ in grant.shares:
                if machine not in self._tried:
                    self._tried[machine] = (
                        self.free_gpus[machine],
                        self.free_cpus[machine],
                        self.free_mem_gb[machine],
                    )

    def take(self, grant: Grant) -> None:
        """Take what a grant names.

        Raises
        ------
        SimulationError
            One of its GPUs is held or out of use, or a machine lacks the CPUs or the memory.
        """
        self._note(grant)
        if grant.part < WHOLE and not self.parted.add(grant.shares[0], -grant.part):
            self._reserve(grant, -1)
            return  # others hold shares of it already
        alone = self.dedicated and grant.gpus > 1 and not grant.guest
        for machine, gpus in grant.shares:
            free = self.free_gpus[machine]
            if gpus & (self.out.get(machine, 0) if grant.guest else ~free) or (
                alone and free.bit_count() < self.machines[machine].gpus
            ):
                raise SimulationError(
                    f"GPUs {bits(gpus)} of {self.machines[machine].machine_id} were granted "
                    f"while only {bits(free)} were free."
                    + " A gang needs dedicated servers here."
                    * alone
                )
            if not grant.guest:
                self._set(machine, 0 if alone else free & ~gpus)
            if alone:
                self.alone |= 1 << machine
        self._reserve(grant, -1)

    def put_out(self, machine: int, gpus: int) -> None:
        """Put free GPUs out of use."""
        self._set(machine, self.free_gpus[machine] & ~gpus)
        self.out[machine] = self.out.get(machine, 0) | gpus
        self.capacity -= gpus.bit_count()

    def put_back(self, machine: int, gpus: int) -> None:
        """Put GPUs to use again."""
        if not self.alone >> machine & 1:
            self._set(machine, self.free_gpus[machine] | gpus)
        self.out[machine] &= ~gpus
        if not self.out[machine]:
            del self.out[machine]
        self.capacity += gpus.bit_count()

    def give(self, grant: Grant) -> None:
        """Give back what a grant names."""
        self._note(grant)
        if grant.part < WHOLE and not self.parted.add(grant.shares[0], grant.part):
            self._reserve(grant, 1)
            return  # others hold shares of it still
        if not grant.guest:
            alone = self.dedicated and grant.gpus > 1
            for machine, gpus in grant.shares:
                if alone:
                    whole = (1 << self.machines[machine].gpus) - 1
                    self._set(machine, whole & ~self.out.get(machine, 0))
                    self.alone &= ~(1 << machine)
                else:
                    self._set(machine, self.free_gpus[machine] | gpus)
        self._reserve(grant, 1)

    def _set(self, machine: int, free: int) -> None:
        before, after = self.free_gpus[machine].bit_count(), free.bit_count()
        self.free_gpus[machine] = free
        self.free += after - before
        bit, by_free = 1 << machine, self.by_free
        by_free[before] ^= bit
        by_free[after] ^= bit

    def _reserve(self, grant: Grant, sign: int) -> None:
        if not grant.cpus and not grant.mem_gb:
            return
        for machine, gpus in grant.shares:
            count = gpus.bit_count()
            self.changed_hosts.add(machine)
            self.free_cpus[machine] += sign * grant.cpus * count
            self.free_mem_gb[machine] += sign * grant.mem_gb * count
            if self.free_cpus[machine] < -1e-6 or self.free_mem_gb[machine] < -1e-6:
                raise SimulationError(
                    f"{self.machines[machine].machine_id} was asked for more than it has: "
                    f"{-self.free_cpus[machine]:g} CPUs, {-self.free_mem_gb[machine]:g} GB short."
                )
