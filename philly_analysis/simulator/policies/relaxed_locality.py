"""Place gangs with relaxed locality: on the fewest servers of a rack, on more, then anywhere."""

from collections.abc import Sequence
from math import ceil

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.placement import (
    pack,
    pack_nearest,
    pack_within,
    partial_gang,
)
from philly_analysis.simulator.cluster.topology import RACK
from philly_analysis.simulator.jobs.job import Job


def find_at_step(
    cluster: Cluster, job: Job, multiples: Sequence[float], step: int
) -> Allocation | None:
    """Find GPUs for a job: as requested, or by the step of a gang without requested servers.

    Parameters
    ----------
    multiples
        Servers of a rack at each step, in multiples of the fewest; after all steps, any servers.
    """
    if job.gpus == 1 or job.request.servers:
        return allocate(cluster, job.request)
    if step == len(multiples):
        return pack_nearest(cluster, job.gpus, beyond=RACK)
    servers = _servers(cluster, job.gpus, multiples[step])
    if servers == 1:
        return pack(cluster, job.gpus, servers=1)
    return pack_within(cluster, job.gpus, RACK, servers=servers)


def part_at_step(
    cluster: Cluster, gpus: int, multiples: Sequence[float], step: int
) -> Allocation | None:
    """Find free GPUs for a gang that does not fit: of the rack with the most, or anywhere."""
    if step == len(multiples):
        return partial_gang(cluster, gpus, servers=gpus)
    servers, racks = _servers(cluster, gpus, multiples[step]), cluster.topology.domains(RACK)
    parts = [partial_gang(cluster, gpus, servers=servers, among=rack) for rack in racks]
    return max(filter(None, parts), key=lambda part: part.gpus, default=None)


def _servers(cluster: Cluster, gpus: int, multiple: float) -> int:
    return ceil(multiple * cluster.fewest_servers(gpus))
