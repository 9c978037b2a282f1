"""Describe what a job requests: GPUs, and CPUs, memory and servers where they bind."""

from typing import NamedTuple

from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.workload import JobSpec


class Request(NamedTuple):
    """A request for GPUs. Jobs with equal requests fit, or do not fit, together.

    Attributes
    ----------
    size
        Requested GPU units (see :data:`GPU_UNITS`).
    cpus, mem_gb
        CPU cores and host memory (GB) per GPU, or for the fraction of a GPU; 0: none.
    servers
        GPUs on each requested server, most first; empty: any servers.
    """

    size: int
    cpus: float = 0.0
    mem_gb: float = 0.0
    servers: tuple[int, ...] = ()


def request_of(spec: JobSpec) -> Request:
    """Return the request of a job.

    CPUs and memory bind only with a number of servers: without that, a log does not record how many
    CPUs each server gave.
    """
    size = round(spec.gpus * spec.gpu_frac * GPU_UNITS)
    if not spec.gpus_by_server:
        return Request(size)
    cpus, mem_gb = spec.cpus or 0.0, spec.mem_gb or 0.0
    return Request(size, cpus / spec.gpus, mem_gb / spec.gpus, spec.gpus_by_server)
