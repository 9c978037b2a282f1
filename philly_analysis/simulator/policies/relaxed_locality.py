"""Place gangs with relaxed locality: on the fewest servers of a rack, on more, then anywhere."""

from math import ceil
from typing import NamedTuple

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.placement import (
    allocate,
    pack,
    pack_nearest,
    pack_within,
    partial_gang,
)
from philly_analysis.simulator.cluster.topology import RACK
from philly_analysis.simulator.jobs.job import Job


class RelaxedLocality(NamedTuple):
    """Steps of locality.

    Attributes
    ----------
    multiples
        Servers of a rack at each step, in multiples of the fewest; after the last, any servers.
    """

    multiples: tuple[float, ...]

    def find(self, cluster: Cluster, job: Job, step: int) -> Allocation | None:
        """Find GPUs for a job: for a gang those of a step, for one GPU by best fit."""
        if job.gpus == 1:
            return allocate(cluster, job.size)
        if step == len(self.multiples):
            return pack_nearest(cluster, job.gpus, beyond=RACK)
        servers = self._servers(cluster, job.gpus, step)
        if servers == 1:
            return pack(cluster, job.gpus, servers=1)
        return pack_within(cluster, job.gpus, RACK, servers=servers)

    def find_part(self, cluster: Cluster, gpus: int, step: int) -> Allocation | None:
        """Find free GPUs for a gang that does not fit: of the rack with the most, or anywhere."""
        if step == len(self.multiples):
            return partial_gang(cluster, gpus, servers=gpus)
        servers, racks = self._servers(cluster, gpus, step), cluster.topology.domains(RACK)
        parts = [partial_gang(cluster, gpus, servers=servers, among=rack) for rack in racks]
        return max(filter(None, parts), key=lambda part: part.gpus, default=None)

    def _servers(self, cluster: Cluster, gpus: int, step: int) -> int:
        return ceil(self.multiples[step] * cluster.fewest_servers(gpus))
