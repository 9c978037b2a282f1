"""How fast a job runs on what it holds, relative to the run that was recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from philly_analysis.simulator.cluster import Grant
from philly_analysis.simulator.job import Job
from philly_analysis.workload import JobSpec


@dataclass(frozen=True)
class Speed:
    """As recorded, wherever and beside whomever they run.

    Other speeds subclass this and say what they take into account.
    """

    neighbourly: ClassVar[bool] = False
    """Whether jobs on the same machines matter."""

    def drawn(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Self:
        """Return the same speed, with what it has to assume about each job drawn."""
        return self

    def of(self, job: Job, grant: Grant, neighbours: Sequence[Job]) -> float:
        """Return the seconds of its recorded run that a job gets done in one second.

        Parameters
        ----------
        grant
            What it would run on.
        neighbours
            Other running jobs on the same machines; empty unless ``neighbourly``.
        """
        return 1.0


AS_RECORDED = Speed()
