"""Track which GPUs, CPUs and memory of a cluster are allocated, and which are free."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import Any, NamedTuple

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS, SharedGpus
from philly_analysis.simulator.cluster.topology import Topology
from philly_analysis.workload import Machine

_ROUNDING = 1e-6


class Allocation(NamedTuple):
    """The GPUs allocated to one job.

    Attributes
    ----------
    shares
        (machine, GPUs) pairs: index of the machine in the cluster, and a bit per GPU index.
    gpus
        GPUs in all shares together.
    cpus, mem_gb
        CPU cores and host memory (GB) per GPU; 0 if the policy does not allocate them.
    guest
        Whether the job uses the GPUs beside their holder, or while they are idle (AntMan's
        opportunistic jobs): they remain free for other jobs.
    partial
        Whether the GPUs are reserved, idle, for a gang that is still incomplete.
    units
        GPU units (see :data:`GPU_UNITS`) of each GPU; fewer than all only on a single GPU.
    """

    shares: tuple[tuple[int, int], ...]
    gpus: int
    cpus: float = 0.0
    mem_gb: float = 0.0
    guest: bool = False
    partial: bool = False
    units: int = GPU_UNITS

    @property
    def size(self) -> int:
        """Allocated GPU units."""
        return self.gpus * self.units


def set_bits(mask: int) -> tuple[int, ...]:
    """Return the indices of the set bits, ascending."""
    return tuple(at for at in range(mask.bit_length()) if mask >> at & 1)


def lowest_bits(mask: int, count: int) -> int:
    """Return the lowest `count` set bits of a mask."""
    higher_bits = mask
    for _ in range(count):
        higher_bits &= higher_bits - 1
    return mask ^ higher_bits


class Cluster:
    """The machines with their free GPUs, CPUs and memory.

    Sets of machines are bit masks: ``by_free[f]`` has the bit of each machine with exactly f free
    GPUs. A best-fit search therefore takes as many steps as a machine has GPUs, whatever the
    number of machines and jobs.

    Parameters
    ----------
    dedicated
        Whether a gang takes all GPUs of its servers, so that no other job runs on the servers.

    Attributes
    ----------
    machines
        The machines, in the order of their indices.
    free_gpus
        Per machine, a bit per free GPU.
    by_free
        Per number of free GPUs, a bit per machine.
    index_of
        Index of each machine by identifier.
    dedicated_servers
        A bit per machine that is dedicated to a gang.
    shared
        GPUs that are allocated in fractions; they are not free.
    free, capacity
        Free GPUs, and all GPUs in service.
    out_of_service
        Per machine, a bit per failed GPU.
    free_cpus, free_mem_gb
        Free CPUs and memory per machine; infinite if the machine's size is unknown.
    host_capacities, changed_hosts
        Cache of :mod:`philly_analysis.simulator.cluster.capacity`, and the machines whose CPUs or
        memory changed since the cache was refreshed.
    hosts_known
        Whether the CPUs and the memory of every machine are known.
    largest_server
        GPUs of the largest machine.
    topology
        Racks and pods of the machines.
    """

    def __init__(self, machines: Sequence[Machine], *, dedicated: bool = False) -> None:
        self.machines, self.dedicated = tuple(machines), dedicated
        self.dedicated_servers = self._dedicated_before = 0
        self.index_of = {m.machine_id: i for i, m in enumerate(self.machines)}
        self.free_gpus = [(1 << m.gpus) - 1 for m in self.machines]
        self.largest_server = max((m.gpus for m in self.machines), default=0)
        self._largest = tuple(accumulate(sorted((m.gpus for m in self.machines), reverse=True)))
        self.by_free = [0] * (self.largest_server + 1)
        for i, machine in enumerate(self.machines):
            self.by_free[machine.gpus] |= 1 << i
        self._by_size = {size: mask for size, mask in enumerate(self.by_free) if mask}
        self.topology = Topology(self.machines)
        self.capacity = self.free = sum(m.gpus for m in self.machines)
        self.hosts_known = all(m.cpus is not None and m.mem_gb is not None for m in self.machines)
        self.free_cpus = [inf if m.cpus is None else m.cpus for m in self.machines]
        self.free_mem_gb = [inf if m.mem_gb is None else m.mem_gb for m in self.machines]
        self.shared = SharedGpus()
        self.out_of_service = [0] * len(self.machines)
        self._hosts_limited = any(most < inf for most in (*self.free_cpus, *self.free_mem_gb))
        self.host_capacities: dict[tuple[float, float], Any] = {}
        self.changed_hosts: set[int] = set()
        self._before_trial: dict[int, tuple[int, float, float]] | None = None

    @property
    def full(self) -> bool:
        """Whether no GPU, nor a fraction of one, is free."""
        return not self.free and not self.shared.free_units

    @property
    def free_units(self) -> int:
        """Free GPU units, shared GPUs included."""
        return self.free * GPU_UNITS + self.shared.free_units

    def fits(self, size: int) -> bool:
        """Whether a request (GPU units) is free: GPUs anywhere, or a fraction of one GPU."""
        if size >= GPU_UNITS:
            return self.free * GPU_UNITS >= size
        return self.free > 0 or self.shared.best(size) is not None

    @property
    def largest_fit(self) -> int:
        """The largest request (GPU units) that fits; all smaller ones fit, too."""
        return self.free * GPU_UNITS or self.shared.largest_fit

    def free_on(self, machine: int) -> tuple[int, int, int]:
        """Return a machine's free GPUs, the most free units of one GPU, and all free units."""
        whole = self.free_gpus[machine].bit_count()
        gpus = range(self.machines[machine].gpus) if self.shared.left else ()
        rests = [self.shared.left.get((machine, 1 << gpu), 0) for gpu in gpus]
        most = GPU_UNITS if whole else max(rests, default=0)
        return whole, most, whole * GPU_UNITS + sum(rests)

    def fewest_servers(self, gpus: int) -> int:
        """Return the fewest servers on which a gang fits in an empty cluster."""
        return bisect_left(self._largest, gpus) + 1

    def usable_servers(self, gpus: int) -> int:
        """Return a bit per machine that may host part of a gang: all, or the empty ones."""
        if gpus == 1 or not self.dedicated:
            return -1
        empty, by_free = 0, self.by_free
        for size, mask in self._by_size.items():
            empty |= mask & by_free[size]
        return empty

    def is_free(self, allocation: Allocation) -> bool:
        """Whether an allocation could be made now."""
        cpus, mem_gb, shares = allocation.cpus, allocation.mem_gb, allocation.shares
        if (cpus or mem_gb) and any(
            self.free_cpus[machine] + _ROUNDING < cpus * gpus.bit_count()
            or self.free_mem_gb[machine] + _ROUNDING < mem_gb * gpus.bit_count()
            for machine, gpus in shares
        ):
            return False
        if allocation.gpus > 1 and self.dedicated:
            usable = self.usable_servers(allocation.gpus)
            return all(usable >> machine & 1 for machine, _ in shares)
        if allocation.units < GPU_UNITS and shares[0] in self.shared.left:
            return self.shared.left[shares[0]] >= allocation.units
        return not any(gpus & ~self.free_gpus[machine] for machine, gpus in shares)

    def begin_trial(self) -> None:
        """Begin tentative allocations, which :meth:`roll_back` undoes."""
        self._before_trial, self._dedicated_before = {}, self.dedicated_servers
        self.shared.begin_trial()

    def roll_back(self) -> None:
        """Undo all allocations and releases since :meth:`begin_trial`."""
        before, self._before_trial = self._before_trial, None
        self.dedicated_servers = self._dedicated_before
        self.shared.roll_back()
        for machine, (gpus, cpus, mem_gb) in (before or {}).items():
            self._set_free(machine, gpus)
            if (self.free_cpus[machine], self.free_mem_gb[machine]) != (cpus, mem_gb):
                self.free_cpus[machine], self.free_mem_gb[machine] = cpus, mem_gb
                self.changed_hosts.add(machine)

    def _save(self, allocation: Allocation) -> None:
        """Save the state of an allocation's machines during a trial, for :meth:`roll_back`."""
        if self._before_trial is not None:
            for m, _ in allocation.shares:
                state = self.free_gpus[m], self.free_cpus[m], self.free_mem_gb[m]
                self._before_trial.setdefault(m, state)

    def allocate(self, allocation: Allocation) -> None:
        """Make an allocation.

        Raises
        ------
        SimulationError
            A GPU is allocated or out of service, or a machine lacks the CPUs or the memory.
        """
        self._save(allocation)
        self._change_host(allocation, -1)
        if allocation.units < GPU_UNITS and not self.shared.add(
            allocation.shares[0], -allocation.units
        ):
            return  # the GPU was shared already
        guest = allocation.guest
        whole_server = self.dedicated and allocation.gpus > 1 and not guest
        for machine, gpus in allocation.shares:
            free = self.free_gpus[machine]
            if gpus & (self.out_of_service[machine] if guest else ~free) or (
                whole_server and free.bit_count() < self.machines[machine].gpus
            ):
                raise SimulationError(
                    f"GPUs {set_bits(gpus)} of {self.machines[machine].machine_id} were allocated, "
                    f"but only {set_bits(free)} are free."
                    f"{' Gangs need dedicated servers here.' * whole_server}"
                )
            if not guest:
                self._set_free(machine, 0 if whole_server else free & ~gpus)
            if whole_server:
                self.dedicated_servers |= 1 << machine

    def release(self, allocation: Allocation) -> None:
        """Release an allocation."""
        self._save(allocation)
        self._change_host(allocation, 1)
        if allocation.guest or (
            allocation.units < GPU_UNITS
            and not self.shared.add(allocation.shares[0], allocation.units)
        ):
            return  # other jobs hold or share the GPUs
        whole_server = self.dedicated and allocation.gpus > 1
        for machine, gpus in allocation.shares:
            if whole_server:
                all_gpus = (1 << self.machines[machine].gpus) - 1
                self._set_free(machine, all_gpus & ~self.out_of_service[machine])
                self.dedicated_servers &= ~(1 << machine)
            else:
                self._set_free(machine, self.free_gpus[machine] | gpus)

    def change_capacity(self, machine: int, gpus: int, *, failed: bool) -> None:
        """Take free GPUs out of service, or return GPUs to service."""
        if failed:
            self._set_free(machine, self.free_gpus[machine] & ~gpus)
        elif not self.dedicated_servers >> machine & 1:
            self._set_free(machine, self.free_gpus[machine] | gpus)
        self.out_of_service[machine] ^= gpus
        self.capacity += -gpus.bit_count() if failed else gpus.bit_count()

    def _set_free(self, machine: int, free: int) -> None:
        before, after = self.free_gpus[machine].bit_count(), free.bit_count()
        self.free_gpus[machine] = free
        self.free += after - before
        bit, by_free = 1 << machine, self.by_free
        by_free[before] ^= bit
        by_free[after] ^= bit

    def _change_host(self, allocation: Allocation, sign: int) -> None:
        """Add an allocation's CPUs and memory to the free ones, or (sign -1) subtract them."""
        if not self._hosts_limited or (not allocation.cpus and not allocation.mem_gb):
            return
        for machine, gpus in allocation.shares:
            count = gpus.bit_count()
            self.changed_hosts.add(machine)
            self.free_cpus[machine] += sign * allocation.cpus * count
            self.free_mem_gb[machine] += sign * allocation.mem_gb * count
            if self.free_cpus[machine] < -_ROUNDING or self.free_mem_gb[machine] < -_ROUNDING:
                raise SimulationError(
                    f"{self.machines[machine].machine_id} is over-allocated by "
                    f"{-self.free_cpus[machine]:g} CPUs and {-self.free_mem_gb[machine]:g} GB."
                )
