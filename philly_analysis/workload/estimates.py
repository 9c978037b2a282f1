"""Model run time estimates, which policies use to order jobs and to reserve GPUs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from philly_analysis.errors import SimulationError
from philly_analysis.results import count
from philly_analysis.workload.job import AttemptSpec, JobSpec
from philly_analysis.workload.runs import runs_of


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates of run times, fixed when a job is submitted.

    A run that exceeds its estimate is expected to end at any moment.

    Attributes
    ----------
    requested
        Whether the estimate is the time limit that the job requested, if it did.
    sigma
        Otherwise the estimate is the run time times a log-normal factor of median 1, with this
        standard deviation of its logarithm; drawn for each run.
    """

    requested: bool = False
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < inf:
            raise SimulationError(
                f"sigma of the run time estimates is {self.sigma:g}; give 0 (exact) or more, e.g. "
                "noisy:0.5."
            )

    @property
    def exact(self) -> bool:
        """Whether run times are known."""
        return not self.requested and not self.sigma

    def apply(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> list[JobSpec]:
        """Return the jobs with an estimate for each of their runs."""
        believed: Callable[[JobSpec, AttemptSpec], float | None] = (
            (lambda spec, _: spec.time_limit_s)
            if self.requested
            else (lambda _, run: run.run_s * float(np.exp(self.sigma * rng.standard_normal())))
        )
        return [
            replace(
                spec,
                attempts=tuple(
                    replace(run, believed_s=believed(spec, run)) for run in runs_of(spec)
                ),
            )
            for spec in specs
        ]

    def notes(self, specs: Sequence[JobSpec]) -> tuple[str, ...]:
        """Return sentences on the estimates; none if they are exact."""
        if self.exact:
            return ()
        if self.requested:
            limits = sum(spec.time_limit_s is not None for spec in specs)
            return (
                f"Run times are believed to be the requested time limit for {count(limits, 'job')} "
                f"of {len(specs):,}; for the others they are known.",
            )
        return (
            "Run times are believed to be off by a log-normal factor of median 1, with a standard "
            f"deviation of {self.sigma:g} of its logarithm.",
        )


def estimates_of(text: str) -> Estimates:
    """Parse estimates: ``exact``, ``requested`` or ``noisy:SIGMA``.

    Raises
    ------
    SimulationError
        The text is none of the three forms.
    """
    word, _, sigma = text.partition(":")
    try:
        if word == "noisy":
            return Estimates(sigma=float(sigma))
        if not sigma and word in ("exact", "requested"):
            return Estimates(requested=word == "requested")
    except ValueError:
        pass
    raise SimulationError(
        f"unknown run time estimates {text!r}; give exact, requested (time limits) or noisy:SIGMA, "
        "e.g. noisy:0.5."
    )
