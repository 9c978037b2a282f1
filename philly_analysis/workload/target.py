"""The cluster that jobs are meant for: as given, their own, or one that is assumed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from philly_analysis.errors import WorkloadError
from philly_analysis.workload.demand import Demand
from philly_analysis.workload.machines import SERVER, Machine, servers
from philly_analysis.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machines that the jobs are meant for.

    Attributes
    ----------
    assumed
        True when nobody said which machines: they were made up.
    """

    machines: tuple[Machine, ...]
    assumed: bool

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return sum(m.gpus for m in self.machines)

    @property
    def server(self) -> Machine:
        """Its most frequent server with GPUs, CPU and memory filled in from SERVER, per GPU."""
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


def cluster(
    workload: Workload,
    needs: Demand,
    *,
    gpus: int | None = None,
    machines: Sequence[Machine] | None = None,
) -> Cluster:
    """Return the target cluster: as given, else the workload's own, else one that is assumed.

    The assumed one has servers of 8 GPUs, enough for the largest gang and for an offered load
    of at most 1.

    Raises
    ------
    WorkloadError
        A cluster without GPUs was asked for.
    """
    if machines is not None:
        return Cluster(tuple(machines), assumed=False)
    if gpus is not None:
        if gpus < 1:
            raise WorkloadError(f"a cluster of {gpus} GPUs was asked for; give at least 1.")
        return Cluster(servers(gpus), assumed=False)
    if own := tuple(m for m in workload.servers() if m.gpus):
        return Cluster(own, assumed=False)
    busy = needs.gpu_s / needs.span_s if needs.span_s else 0.0
    enough = max(needs.largest_gang, busy)
    return Cluster(servers(-(-int(enough + 1) // SERVER.gpus) * SERVER.gpus), assumed=True)
