"""How long jobs are believed to run, by which policies order them and reserve GPUs for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from philly_analysis.errors import SimulationError
from philly_analysis.results import count
from philly_analysis.simulator.jobs.job import runs_of
from philly_analysis.workload import AttemptSpec, JobSpec


@dataclass(frozen=True, slots=True)
class Estimates:
    """What is believed of run times, told once as a job is submitted.

    A run that takes longer than was believed is believed to end at any moment.

    Attributes
    ----------
    requested
        Whether a run is believed to take the time limit that its job asked for, where it did.
    sigma
        Otherwise what is believed is off by a factor whose logarithm is normal, of this standard
        deviation, and 0 on average; drawn anew for each run.
    """

    requested: bool = False
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < inf:
            raise SimulationError(
                f"run times known up to a factor of spread {self.sigma:g} were asked for; give 0 "
                "(exactly) or more, e.g. noisy:0.5."
            )

    @property
    def exact(self) -> bool:
        """Whether run times are known."""
        return not self.requested and not self.sigma

    def told(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> list[JobSpec]:
        """Return the jobs with what is believed of each of their runs."""
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

    def says(self, specs: Sequence[JobSpec]) -> tuple[str, ...]:
        """Say what is believed, in sentences; none where run times are known."""
        if self.exact:
            return ()
        if self.requested:
            asked = sum(spec.time_limit_s is not None for spec in specs)
            return (
                "Runs are believed to take the time limit asked for, which "
                f"{count(asked, 'job')} of {len(specs):,} did; of the others the run time is "
                "known.",
            )
        return (
            "Run times are believed to be off by a log-normal factor of median 1, a standard "
            f"deviation of {self.sigma:g} in its logarithm.",
        )


def estimates_of(text: str) -> Estimates:
    """Return the estimates that a text names: ``exact``, ``requested`` or ``noisy:SIGMA``.

    Raises
    ------
    SimulationError
        It names none.
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
        f"estimates {text!r} of run times were asked for; give exact, requested (the time limits "
        "asked for) or noisy:SIGMA, e.g. noisy:0.5."
    )
