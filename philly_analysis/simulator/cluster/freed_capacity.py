"""Count the GPUs that would be free if some jobs stopped."""

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS


class FreedCapacity:
    """The GPUs that would be free if some jobs stopped; the cluster is unchanged.

    Attributes
    ----------
    free
        GPUs that would be entirely free.
    """

    __slots__ = ("_left", "_shared", "free")

    def __init__(self, cluster: Cluster) -> None:
        self.free, self._shared = cluster.free, cluster.shared.left
        self._left: dict[tuple[int, int], int] = {}

    def add(self, allocation: Allocation, sign: int = 1) -> None:
        """Release an allocation, or (sign -1) make it."""
        if allocation.units == GPU_UNITS:
            self.free += sign * allocation.gpus
            return
        [gpu] = allocation.shares
        before = self._left.get(gpu, self._shared.get(gpu, GPU_UNITS))
        after = self._left[gpu] = before + sign * allocation.units
        self.free += (after == GPU_UNITS) - (before == GPU_UNITS)

    def fits(self, size: int, *, beside: Allocation | None = None) -> bool:
        """Whether a request (GPU units) would fit, optionally after another allocation."""
        if beside is not None:
            self.add(beside, -1)
            fits = self.fits(size)
            self.add(beside)
            return fits
        if size >= GPU_UNITS:
            return self.free * GPU_UNITS >= size
        return self.free > 0 or any(size <= left < GPU_UNITS for left in self._left.values())
