"""Define the contract of a speed model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.topology import Topology
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.workload import JobSpec


@dataclass(frozen=True)
class Speed:
    """As recorded, whatever the placement and the neighbours.

    The other speed models are subclasses.
    """

    neighbourly: ClassVar[bool] = False
    """Whether jobs on the same machines affect the speed."""

    by_place: ClassVar[bool] = False
    """Whether the recorded placement slowed the recorded run, too."""

    by_use: ClassVar[bool] = False
    """Whether the model uses the GPU utilisation of jobs."""

    @property
    def note(self) -> str:
        """A sentence on the model."""
        return (type(self).__doc__ or "").partition("\n")[0]

    def complete(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with the fields that the model needs, drawn where unknown."""
        return specs

    def on(self, topology: Topology) -> Self:
        """Return the model for a topology of machines; each simulation calls this once."""
        return self

    def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
        """Return the seconds of the recorded run that a job completes in one second.

        Parameters
        ----------
        allocation
            Allocation that the job would run on.
        neighbours
            Other running jobs on the same machines; empty unless ``neighbourly``.
        """
        return 1.0


AS_RECORDED = Speed()


def with_unknown(spec: JobSpec, **drawn: Any) -> JobSpec:
    """Return a job with values for the job's unknown fields."""
    return replace(spec, **{k: v for k, v in drawn.items() if getattr(spec, k) is None})
