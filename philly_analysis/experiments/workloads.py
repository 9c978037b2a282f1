"""Jobs for the experiments: any law of jobs, brought to a wanted load."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from philly_analysis.errors import SimulationError
from philly_analysis.workload import JobSpec, Workload

JobLaw = Callable[[int, int, int], Sequence[JobSpec]]
"""Draws jobs: how many, for a cluster of how many GPUs, from which seed."""


def law_of(sample: Callable[..., Workload]) -> JobLaw:
    """Return the law of jobs of a workload model.

    Jobs are drawn at the rate at which they offer the cluster a load near 1, so that bringing
    them to another load stretches the rhythm of their days but little.

    Parameters
    ----------
    sample
        The model's ``sample``; takes jobs, gpus, seed and load, a factor on its rate.
    """

    def draw(jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        as_fitted = list(sample(jobs=jobs, gpus=gpus, seed=seed).specs())
        factor = 1 / offered_load(as_fitted, gpus)
        return list(sample(jobs=jobs, gpus=gpus, seed=seed, load=factor).specs())

    return draw


def offered_load(specs: Sequence[JobSpec], gpus: int) -> float:
    """Return the GPU time that jobs ask for, relative to what the cluster has while they come.

    Raises
    ------
    SimulationError
        The jobs are all submitted at once, or ask for nothing.
    """
    first, last = (f((s.submit_s for s in specs), default=0.0) for f in (min, max))
    work_gpu_s = sum(s.gpus * s.run_s for s in specs)
    if last <= first or work_gpu_s <= 0:
        raise SimulationError(
            f"{len(specs):,} jobs over {last - first:g} s that ask for {work_gpu_s:g} GPU-seconds "
            "have no load. Give jobs that arrive over time and take time."
        )
    return work_gpu_s / (last - first) / gpus


def at_load(specs: Sequence[JobSpec], load: float, gpus: int) -> list[JobSpec]:
    """Return the jobs with their submissions stretched so that they offer a given load.

    Parameters
    ----------
    load
        As in :func:`offered_load`.
    gpus
        GPUs of the cluster.
    """
    stretch = offered_load(specs, gpus) / load
    first = min(s.submit_s for s in specs)
    return [replace(s, submit_s=(s.submit_s - first) * stretch) for s in specs]


def one_gpu_each(specs: Sequence[JobSpec]) -> list[JobSpec]:
    """Return the jobs as jobs of one GPU that take as long."""
    return [replace(s, gpus=1) for s in specs]
