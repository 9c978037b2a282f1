"""Jobs for the experiments: any law of jobs, brought to a wanted load."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from philly_analysis.errors import SimulationError
from philly_analysis.workload import JobSpec

JobLaw = Callable[[int, int, int], Sequence[JobSpec]]
"""Draws jobs: how many, for a cluster of how many GPUs, from which seed."""


def at_load(specs: Sequence[JobSpec], load: float, gpus: int) -> list[JobSpec]:
    """Return the jobs with their submissions stretched so that they offer a given load.

    Parameters
    ----------
    load
        GPU time that the jobs ask for, relative to what the cluster has between the first and
        the last submission.
    gpus
        GPUs of the cluster.

    Raises
    ------
    SimulationError
        The jobs are all submitted at once, or ask for nothing.
    """
    first, last = (f(s.submit_s for s in specs) for f in (min, max))
    work_gpu_s = sum(s.gpus * s.run_s for s in specs)
    if last <= first or work_gpu_s <= 0:
        raise SimulationError(
            f"{len(specs):,} jobs over {last - first:g} s that ask for {work_gpu_s:g} GPU-seconds "
            "cannot be brought to a load. Give jobs that arrive over time and take time."
        )
    stretch = work_gpu_s / (load * gpus) / (last - first)
    return [replace(s, submit_s=(s.submit_s - first) * stretch) for s in specs]


def one_gpu_each(specs: Sequence[JobSpec]) -> list[JobSpec]:
    """Return the jobs as jobs of one GPU that take as long."""
    return [replace(s, gpus=1) for s in specs]
