"""Place jobs on the servers of their partitions, now or after running jobs have ended."""

from bisect import insort
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from math import inf
from typing import NamedTuple

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, lowest_bits
from philly_analysis.simulator.cluster.capacity import ServerRoom
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import pack_units
from philly_analysis.simulator.cluster.request import Request


def place(cluster: Cluster, request: Request, among: int) -> Allocation | None:
    """Place a job on the servers that fit best, as ``select/cons_tres`` does.

    Parameters
    ----------
    among
        A bit per server that may be used.
    """
    if request.size < GPU_UNITS:
        return pack_units(cluster, request.size, among=among)
    return Rooms(cluster, request, among).allocation()


class Rooms:
    """The GPUs of each server that a request could use if some jobs stopped.

    Attributes
    ----------
    usable
        GPUs with free CPUs and memory, by server.
    """

    def __init__(self, cluster: Cluster, request: Request, among: int) -> None:
        self._cluster, self._request = cluster, request
        self._rooms = {
            m: ServerRoom.now(cluster, m) for m in range(len(cluster.machines)) if among >> m & 1
        }
        self.usable = {m: r.usable(cluster, m, request) for m, r in self._rooms.items()}
        self._gpus = -(-request.size // GPU_UNITS)
        self._parts = sorted(Counter(request.servers).items(), reverse=True)

    def add(self, allocation: Allocation) -> bool:
        """Release an allocation; return whether the request may use any of its servers."""
        touched = False
        for machine, mask in allocation.shares:
            if (room := self._rooms.get(machine)) is None:
                continue
            count = mask.bit_count()
            # a fraction of a GPU counts as the GPU: other fractions of the GPU may remain in use
            room = self._rooms[machine] = ServerRoom(
                room.gpus + count,
                room.cpus + count * allocation.cpus,
                room.mem_gb + count * allocation.mem_gb,
            )
            self.usable[machine] = room.usable(self._cluster, machine, self._request)
            touched = True
        return touched

    def counts(self) -> dict[int, int] | None:
        """Return the request's number of GPUs by server; None: the request does not fit."""
        if not self._parts:
            if servers := self._best_fit(self._gpus, 1, {}):
                return {servers[0]: self._gpus}
            return self._over_servers()
        chosen: dict[int, int] = {}
        for gpus, number in self._parts:
            servers = self._best_fit(gpus, number, chosen)
            if len(servers) < number:
                return None
            chosen |= dict.fromkeys(servers, gpus)
        return chosen

    def _best_fit(self, gpus: int, number: int, taken: Container[int]) -> list[int]:
        """Return a number of servers with room for some GPUs each; fewer: there are no more.

        As in Slurm (select/cons_tres, ``_eval_nodes``): of the runs of consecutive servers with
        room, the run with the fewest free CPUs is used that has enough servers. The first servers
        of the run are taken. The last server is the one with the fewest free CPUs.
        """
        free = {
            m: self._free(m) for m, room in self.usable.items() if room >= gpus and m not in taken
        }
        runs = list(_runs(free))
        chosen: list[int] = []
        while runs and len(chosen) < number:
            missing = number - len(chosen)
            run = _tightest(runs, missing, free)
            runs.remove(run)
            chosen += [min(run, key=free.__getitem__)] if missing == 1 else run[:missing]
        return chosen

    def _free(self, machine: int) -> float:
        """Return the free CPUs of a server that the request could use; without CPUs, the GPUs."""
        room, request = self._rooms[machine], self._request
        if not request.cpus or room.cpus == inf:
            return room.gpus
        by_memory = room.mem_gb * request.cpus / request.mem_gb if request.mem_gb else inf
        return min(room.cpus, by_memory)

    def _over_servers(self) -> dict[int, int] | None:
        """Return GPUs of as few servers as possible, for a request of no number of servers."""
        chosen: dict[int, int] = {}
        missing = self._gpus
        for machine, gpus in sorted(self.usable.items(), key=lambda item: -item[1]):
            if not missing or not gpus:
                break
            chosen[machine] = min(gpus, missing)
            missing -= chosen[machine]
        return None if missing else chosen

    def allocation(self) -> Allocation | None:
        """Return the GPUs that the request gets now; None: the request does not fit."""
        if (chosen := self.counts()) is None:
            return None
        free = self._cluster.free_gpus
        shares = tuple((m, lowest_bits(free[m], count)) for m, count in chosen.items())
        return Allocation(shares, self._gpus, self._request.cpus, self._request.mem_gb)


_FIRST_WIDTH_S = 30.0
"""Width of the first span of ends (Slurm, select/cons_tres, ``_will_run_test``)."""


class End(NamedTuple):
    """When a running job releases its allocation, at the latest."""

    at_s: float
    nth: int
    allocation: Allocation


class Window(NamedTuple):
    """Servers that are planned for a waiting job."""

    start_s: float
    end_s: float
    servers: int


class Timetable:
    """When waiting jobs could start: running jobs by their time limits, and planned starts.

    As in Slurm's backfill scheduler a planned start takes its servers as a whole: no other job may
    use these servers during the planned job.
    """

    def __init__(self, now_s: float, ends: Iterable[End], windows: Iterable[Window] = ()) -> None:
        self.now_s = now_s
        self.ends = sorted(ends)
        self.windows = list(windows)

    def run(self, end: End) -> None:
        """Add a job that starts now."""
        insort(self.ends, end)

    def reserve(self, window: Window) -> None:
        """Plan a start."""
        self.windows.append(window)

    def servers_at(self, servers: int, start_s: float, end_s: float) -> int:
        """Return the servers that no planned start needs in an interval."""
        for window in self.windows:
            if window.start_s < end_s and start_s < window.end_s:
                servers &= ~window.servers
        return servers

    def taken(self, servers: int, start_s: float, end_s: float) -> bool:
        """Whether a planned start needs one of some servers in an interval."""
        return self.servers_at(servers, start_s, end_s) != servers

    def next_change_s(self, servers: int, start_s: float) -> float:
        """Return when a planned start next leaves one of some servers."""
        ends = (w.end_s for w in self.windows if w.servers & servers and w.end_s > start_s)
        return min(ends, default=inf)

    def earliest(
        self, cluster: Cluster, request: Request, servers: int
    ) -> tuple[float, int] | None:
        """Return when a request fits on some servers, and on which; None: never.

        Jobs that end within one span of time are taken as ended together, at the last end. Spans
        begin with half a minute and double, as in Slurm (select/cons_tres, ``_will_run_test``).
        """
        rooms = Rooms(cluster, request, servers)
        if chosen := rooms.counts():
            return self.now_s, _mask(chosen)
        width_s, until_s = _FIRST_WIDTH_S, 0.0
        last_s = -inf
        for end, following in zip_longest(self.ends, self.ends[1:]):
            if not rooms.add(end.allocation):
                continue
            until_s = until_s or (end.at_s // width_s + 1) * width_s
            last_s = end.at_s
            if following is not None and following.at_s <= until_s + width_s:
                continue
            if chosen := rooms.counts():
                return max(last_s, self.now_s), _mask(chosen)
            width_s *= 2
            while following is not None and following.at_s > until_s + width_s:
                width_s *= 2
        if chosen := rooms.counts():
            return max(last_s, self.now_s), _mask(chosen)
        return None


def _runs(servers: Iterable[int]) -> Iterator[list[int]]:
    """Yield the runs of consecutive numbers."""
    for _, run in groupby(enumerate(servers), lambda numbered: numbered[1] - numbered[0]):
        yield [server for _, server in run]


def _tightest(runs: Sequence[list[int]], number: int, free: Mapping[int, float]) -> list[int]:
    """Return the run with the fewest free CPUs that has a number of servers, else the largest."""
    best, cpus, enough = runs[0], 0.0, False
    for nth, run in enumerate(runs):
        of_run, suffices = sum(free[server] for server in run), len(run) >= number
        if (
            nth == 0
            or (suffices and (not enough or of_run < cpus))
            or (not suffices and of_run > cpus)
        ):
            best, cpus, enough = run, of_run, suffices
    return best


def _mask(machines: Iterable[int]) -> int:
    return sum(1 << machine for machine in machines)
