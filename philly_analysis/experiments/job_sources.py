"""Sources of jobs for experiments: a model, an ensemble of draws, or windows of a trace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from philly_analysis.errors import WorkloadError
from philly_analysis.models import PERIOD_D
from philly_analysis.workload import Ensemble, JobSpec, Workload, stretch_to_load, use_by_vc

DrawJobs = Callable[[int, int, int], Sequence[JobSpec]]
"""Function that returns jobs: arguments jobs, gpus and seed of a :class:`JobSource`."""


class JobSource(Protocol):
    """Jobs for an experiment, by seed."""

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Return a number of jobs for a cluster of so many GPUs."""

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Return the jobs of a month that offers a cluster of so many GPUs a load."""


@dataclass(frozen=True, slots=True)
class ModelJobs:
    """Jobs drawn from a workload model.

    Jobs are drawn at the rate that offers the cluster a load of 1. Rescaling the jobs to another
    load therefore changes their daily cycle little.

    Attributes
    ----------
    sample
        The model's ``sample``; accepts jobs, gpus, seed and the offered load.
    """

    sample: Callable[..., Workload]

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Draw a number of jobs for a cluster of so many GPUs."""
        return list(self.sample(jobs=jobs, gpus=gpus, seed=seed, offered=1.0).specs())

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Draw a month at the rate of submissions that offers so many GPUs a load."""
        return list(self.sample(days=PERIOD_D, gpus=gpus, seed=seed, offered=load).specs())


@dataclass(frozen=True, slots=True)
class EnsembleJobs:
    """Jobs of an ensemble's draws, by seed, if they fit the cluster."""

    ensemble: Ensemble

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Return the first jobs of a draw that fit a cluster of so many GPUs."""
        return self._fitting(self.ensemble, gpus, seed)[:jobs]

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Return all jobs of a draw that fit, at a load."""
        return self._fitting(self.ensemble.with_load(load, gpus), gpus, seed)

    @staticmethod
    def _fitting(ensemble: Ensemble, gpus: int, seed: int) -> list[JobSpec]:
        return [s for s in ensemble.of_seed(seed).specs() if s.gpus <= gpus]


@dataclass(frozen=True, slots=True)
class TraceJobs:
    """Recorded jobs of a trace: each seed is a window.

    Windows are consecutive and disjoint. Each has the requested number of jobs, or fewer so that
    there are at least ten; seeds beyond the last window start again at the first.

    Attributes
    ----------
    specs
        All jobs, by submission.
    windows
        Minimum number of windows.
    synthetic
        True if the trace is synthetic.
    """

    specs: Sequence[JobSpec]
    windows: int = 10
    synthetic: bool = False

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Return the jobs of a window that fit a cluster of so many GPUs."""
        fitting = [s for s in self.specs if s.gpus <= gpus]
        size = min(jobs, len(fitting) // self.windows)
        if size < 2:
            raise WorkloadError(
                f"{self.windows} windows need two jobs each, but {len(fitting):,} jobs fit "
                f"{gpus:,} GPUs. Give a longer trace."
            )
        start = (seed - 1) % (len(fitting) // size) * size
        window = fitting[start : start + size]
        return [replace(s, submit_s=s.submit_s - window[0].submit_s) for s in window]

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Return the jobs of a window, as long as possible, stretched in time to a load."""
        return stretch_to_load(self(len(self.specs), gpus, seed), load, gpus)


def one_gpu_each(specs: Sequence[JobSpec]) -> list[JobSpec]:
    """Return the jobs with one GPU each and the same run times."""
    return [replace(s, gpus=1) for s in specs]


def at_rate(specs: Sequence[JobSpec], jobs_per_h: float) -> list[JobSpec]:
    """Return the jobs with submissions stretched in time to a number of jobs per hour."""
    first, last = (f(s.submit_s for s in specs) for f in (min, max))
    factor = 3600 * (len(specs) - 1) / jobs_per_h / (last - first)
    return [replace(s, submit_s=(s.submit_s - first) * factor) for s in specs]


def quotas_by_use(specs: Sequence[JobSpec], gpus: int) -> dict[str, int]:
    """Return each virtual cluster's share of the GPUs by requested GPU time.

    A quota is at least the largest gang of its virtual cluster.
    """
    gpu_s, largest = use_by_vc(specs)
    total = sum(gpu_s.values())
    return {vc: max(round(gpus * vc_gpu_s / total), largest[vc]) for vc, vc_gpu_s in gpu_s.items()}
