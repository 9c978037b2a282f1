"""Jobs for the experiments: any law of jobs, or those of a trace, brought to a wanted load."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from philly_analysis.errors import WorkloadError
from philly_analysis.models import PERIOD_D
from philly_analysis.workload import Ensemble, JobSpec, Workload, at_load

JobLaw = Callable[[int, int, int], Sequence[JobSpec]]
"""Draws jobs: how many, for a cluster of how many GPUs, from which seed."""


class Jobs(Protocol):
    """Whose jobs an experiment runs on: a :data:`JobLaw` that knows months as well."""

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Draw so many jobs for a cluster of so many GPUs."""

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Draw a whole month that offers such a cluster a load."""


@dataclass(frozen=True, slots=True)
class LawOf:
    """The law of jobs of a workload model.

    Jobs are drawn at the rate at which they offer the cluster a load of 1, so that bringing
    them to another load stretches the rhythm of their days but little.

    Attributes
    ----------
    sample
        The model's ``sample``; takes jobs, gpus, seed and the load to offer.
    """

    sample: Callable[..., Workload]

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Draw so many jobs for a cluster of so many GPUs."""
        return list(self.sample(jobs=jobs, gpus=gpus, seed=seed, offered=1.0).specs())

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Draw a month at the rate at which it offers so many GPUs a load."""
        return list(self.sample(days=PERIOD_D, gpus=gpus, seed=seed, offered=load).specs())


@dataclass(frozen=True, slots=True)
class MonthsOf:
    """The jobs of an ensemble's months, each by its seed, as far as they fit."""

    ensemble: Ensemble

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Return the first so many jobs of a month, those that fit a cluster of so many GPUs."""
        return self._fitting(gpus, seed)[:jobs]

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Return all jobs of a month that fit, stretched to a load."""
        return at_load(self._fitting(gpus, seed), load, gpus)

    def _fitting(self, gpus: int, seed: int) -> list[JobSpec]:
        return [s for s in self.ensemble.of_seed(seed).specs() if s.gpus <= gpus]


@dataclass(frozen=True, slots=True)
class WindowsOf:
    """The jobs of a trace, window by window: what a law draws from a seed, recorded.

    Windows follow one another, each of as many jobs as are asked for, or of as many as let ten of
    them lie apart; of more seeds than there are windows the first come again.

    Attributes
    ----------
    specs
        All jobs, by submission.
    windows
        Into how many they are divided at least.
    """

    specs: Sequence[JobSpec]
    windows: int = 10

    def __call__(self, jobs: int, gpus: int, seed: int) -> Sequence[JobSpec]:
        """Return the jobs of a window, those that fit a cluster of so many GPUs."""
        fitting = [s for s in self.specs if s.gpus <= gpus]
        size = min(jobs, len(fitting) // self.windows)
        if size < 2:
            raise WorkloadError(
                f"{self.windows} windows were asked for of {len(fitting):,} jobs that fit "
                f"{gpus:,} GPUs. Give a longer trace."
            )
        start = (seed - 1) % (len(fitting) // size) * size
        window = fitting[start : start + size]
        return [replace(s, submit_s=s.submit_s - window[0].submit_s) for s in window]

    def month(self, gpus: int, load: float, seed: int) -> Sequence[JobSpec]:
        """Return the jobs of a window, as long as they can be, stretched to a load."""
        return at_load(self(len(self.specs), gpus, seed), load, gpus)


def one_gpu_each(specs: Sequence[JobSpec]) -> list[JobSpec]:
    """Return the jobs as jobs of one GPU that take as long."""
    return [replace(s, gpus=1) for s in specs]


def at_rate(specs: Sequence[JobSpec], jobs_per_h: float) -> list[JobSpec]:
    """Return the jobs with their submissions stretched so that so many come in an hour."""
    first, last = (f(s.submit_s for s in specs) for f in (min, max))
    factor = 3600 * (len(specs) - 1) / jobs_per_h / (last - first)
    return [replace(s, submit_s=(s.submit_s - first) * factor) for s in specs]


def quotas_by_use(specs: Sequence[JobSpec], gpus: int) -> dict[str, int]:
    """Return each virtual cluster's share of the GPUs, as its jobs ask for; its largest gang's."""
    asked: dict[str, float] = {}
    largest: dict[str, int] = {}
    for spec in specs:
        asked[spec.vc] = asked.get(spec.vc, 0.0) + spec.gpu_s
        largest[spec.vc] = max(largest.get(spec.vc, 0), spec.gpus)
    total = sum(asked.values())
    return {vc: max(round(gpus * own / total), largest[vc]) for vc, own in asked.items()}
