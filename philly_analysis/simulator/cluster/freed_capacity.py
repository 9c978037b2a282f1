"""Count the GPUs that would be free for a request if some jobs stopped."""

from collections import Counter

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.capacity import ServerRoom
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import Request


class FreedCapacity:
    """The room that a request would have if some jobs stopped; the cluster is unchanged.

    A request without servers needs GPUs anywhere; a request with servers needs those servers.

    Attributes
    ----------
    free
        GPUs that would be entirely free.
    """

    __slots__ = ("_left", "_request", "_servers", "_shared", "free")

    def __init__(self, cluster: Cluster, request: Request) -> None:
        self.free, self._shared, self._request = cluster.free, cluster.shared.left, request
        self._left: dict[tuple[int, int], int] = {}
        gang = request.servers and request.size >= GPU_UNITS
        self._servers = _FreedServers(cluster, request) if gang else None

    def add(self, allocation: Allocation, sign: int = 1) -> None:
        """Release an allocation, or (sign -1) make the allocation."""
        if allocation.units == GPU_UNITS:
            self.free += sign * allocation.gpus
            if self._servers is not None:
                self._servers.add(allocation, sign)
            return
        [gpu] = allocation.shares
        before = self._left.get(gpu, self._shared.get(gpu, GPU_UNITS))
        after = self._left[gpu] = before + sign * allocation.units
        gpus = (after == GPU_UNITS) - (before == GPU_UNITS)
        self.free += gpus
        if self._servers is not None:
            self._servers.add(allocation, sign, gpus=gpus)

    def fits(self, *, beside: Allocation | None = None) -> bool:
        """Whether the request would fit, optionally after another allocation."""
        if beside is not None:
            self.add(beside, -1)
            fits = self.fits()
            self.add(beside)
            return fits
        if self._servers is not None:
            return self._servers.fits
        size = self._request.size
        if size >= GPU_UNITS:
            return self.free * GPU_UNITS >= size
        return self.free > 0 or any(
            size <= free_units < GPU_UNITS for free_units in self._left.values()
        )


class _FreedServers:
    """The servers that would have room for each part of a gang if some jobs stopped."""

    def __init__(self, cluster: Cluster, request: Request) -> None:
        self._cluster, self._request = cluster, request
        self._room: dict[int, ServerRoom] = {}
        # each of the n parts of at least k GPUs needs a server to itself
        parts = Counter(request.servers)
        sizes = sorted(parts, reverse=True)
        self._needed = {k: sum(parts[size] for size in sizes if size >= k) for k in sizes}
        rooms = (ServerRoom.now(cluster, m) for m in range(len(cluster.machines)))
        usable = [room.usable(cluster, m, request) for m, room in enumerate(rooms)]
        self._having = {k: sum(gpus >= k for gpus in usable) for k in sizes}

    @property
    def fits(self) -> bool:
        """Whether all parts would fit."""
        return all(self._having[k] >= count for k, count in self._needed.items())

    def add(self, allocation: Allocation, sign: int, *, gpus: int | None = None) -> None:
        """Release an allocation, or (sign -1) make the allocation.

        Parameters
        ----------
        gpus
            GPUs that thereby become free; None: the GPUs of the allocation.
        """
        cluster, request = self._cluster, self._request
        whole_servers = cluster.dedicated and allocation.gpus > 1
        for machine, mask in allocation.shares:
            before = self._room.get(machine) or ServerRoom.now(cluster, machine)
            count = mask.bit_count()
            if gpus is not None:
                freed = gpus
            else:
                freed = sign * (cluster.machines[machine].gpus if whole_servers else count)
            after = self._room[machine] = ServerRoom(
                before.gpus + freed,
                before.cpus + sign * count * allocation.cpus,
                before.mem_gb + sign * count * allocation.mem_gb,
            )
            had, has = (room.usable(cluster, machine, request) for room in (before, after))
            for k in self._having:
                self._having[k] += (has >= k) - (had >= k)
