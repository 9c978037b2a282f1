"""Jobs for the experiments: any law of jobs, brought to a wanted load."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from philly_analysis.workload import JobSpec, Workload
from philly_analysis.workload.load import load_of

JobLaw = Callable[[int, int, int], Sequence[JobSpec]]
"""Draws jobs: how many, for a cluster of how many GPUs, from which seed."""


@dataclass(frozen=True, slots=True)
class LawOf:
    """The law of jobs of a workload model.

    Jobs are drawn at the rate at which they offer the cluster a load near 1, so that bringing
    them to another load stretches the rhythm of their days but little.

    Attributes
    ----------
    sample
        The model's ``sample``; takes jobs, gpus, seed and load, a factor on its rate.
    """

    sample: Callable[..., Workload]

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Draw so many jobs for a cluster of so many GPUs."""
        as_fitted = list(self.sample(jobs=jobs, gpus=gpus, seed=seed).specs())
        factor = 1 / load_of(as_fitted, gpus)
        return list(self.sample(jobs=jobs, gpus=gpus, seed=seed, load=factor).specs())


def one_gpu_each(specs: Sequence[JobSpec]) -> list[JobSpec]:
    """Return the jobs as jobs of one GPU that take as long."""
    return [replace(s, gpus=1) for s in specs]


def at_rate(specs: Sequence[JobSpec], jobs_per_h: float) -> list[JobSpec]:
    """Return the jobs with their submissions stretched so that so many come in an hour."""
    first, last = (f(s.submit_s for s in specs) for f in (min, max))
    factor = 3600 * (len(specs) - 1) / jobs_per_h / (last - first)
    return [replace(s, submit_s=(s.submit_s - first) * factor) for s in specs]
