"""Target cluster of a workload: the requested one, its own, or an assumed one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from philly_analysis.workload.demand import Demand
from philly_analysis.workload.machines import SERVER, Machine, default_servers, machines_of
from philly_analysis.workload.protocol import JobTables

ASSUMED_CLUSTER = (
    "The jobs have no cluster: one is assumed that holds the largest gang and is offered a load of "
    "at most 1 as they were submitted."
)
"""Note of a workload or what-if on an assumed cluster."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Machines to run jobs on.

    Attributes
    ----------
    assumed
        Whether the machines are neither requested nor recorded.
    """

    machines: tuple[Machine, ...]
    assumed: bool

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return sum(m.gpus for m in self.machines)

    @property
    def server(self) -> Machine:
        """The most frequent server with GPUs; SERVER gives CPUs and memory that are not recorded."""
        shapes = Counter(
            replace(m, machine_id="", rack=None, cluster=None, pool=None)
            for m in self.machines
            if m.gpus
        )
        common = max(shapes, key=lambda s: (shapes[s], s.gpus), default=SERVER)
        share = common.gpus / SERVER.gpus
        return replace(
            common,
            cpus=common.cpus or share * (SERVER.cpus or 0),
            mem_gb=common.mem_gb or share * (SERVER.mem_gb or 0),
        )


def target_cluster(
    workload: JobTables,
    demand: Demand,
    cluster: int | str | Sequence[Machine] | None = None,
) -> Cluster:
    """Return the target cluster: the requested one, else the workload's own, else an assumed one.

    The assumed cluster has servers of 8 GPUs, enough for the largest gang and for an offered
    load of at most 1.

    Parameters
    ----------
    cluster
        The requested cluster, as in :func:`~philly_analysis.workload.machines.machines_of`.

    Raises
    ------
    WorkloadError
        The requested cluster has no GPUs, or its text cannot be read.
    """
    if cluster is not None:
        return Cluster(machines_of(cluster), assumed=False)
    if servers := tuple(m for m in workload.servers() if m.gpus):
        return Cluster(servers, assumed=False)
    busy = demand.gpu_s / demand.span_s if demand.span_s else 0.0
    largest = int(demand.jobs["gpus"].max() or 1)  # type: ignore[arg-type]
    enough = max(largest, busy)
    gpus = -(-int(enough + 1) // SERVER.gpus) * SERVER.gpus
    return Cluster(default_servers(gpus), assumed=True)
