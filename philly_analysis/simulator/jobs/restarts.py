"""What an interruption costs a job: the work since its last checkpoint."""

from dataclasses import dataclass

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.jobs.job import FOREVER, Job

PATIENCE = 10_000
"""Times that a job may be preempted in a row without getting any further."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """What interruptions by the scheduler lose, whatever its policy.

    A job saves its state whenever it has got done so many seconds of its recorded run. Preempted,
    or as its GPUs fail, it loses what it has done since; moved or resized, nothing, as it saves its
    state first. How long it takes to get on again is the policy's knob ``restart_s``.

    Attributes
    ----------
    checkpoint_s
        Seconds of a job's recorded run between checkpoints; 0: nothing is ever lost; infinite:
        a preempted job starts its run from the beginning.

    Raises
    ------
    SimulationError
        It is negative, or not a number.
    """

    checkpoint_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.checkpoint_s >= 0:
            raise SimulationError(
                f"a checkpoint every {self.checkpoint_s:g} s was asked for; give 0 (nothing is "
                "lost) or more, inf for none."
            )

    @property
    def says(self) -> tuple[str, ...]:
        """What interruptions lose, in sentences; none where they lose nothing."""
        if not self.checkpoint_s:
            return ()
        often = f"every {self.checkpoint_s:g} s of it" if self.checkpoint_s < FOREVER else "never"
        return (f"Jobs save their work {often}; preempted, they lose what came since.",)

    def lost_s(self, job: Job, now_s: float) -> float:
        """Return how much of its work a job loses that is stopped now (s at full speed).

        Raises
        ------
        SimulationError
            It has been stopped over and over before it could save anything.
        """
        if not self.checkpoint_s:
            return 0.0
        since_start_s = job.work_s(now_s)
        lost_s = min(
            (job.runs[job.run].run_s - job.left_s(now_s)) % self.checkpoint_s, since_start_s
        )
        job.setbacks = 0 if lost_s < since_start_s else job.setbacks + 1
        if job.setbacks > PATIENCE:
            raise SimulationError(
                f"{job} was stopped {PATIENCE:,} times in a row before its first checkpoint, and "
                f"would never end. Give checkpoints more often than every {self.checkpoint_s:g} s, "
                "or a policy that lets jobs run for longer."
            )
        return lost_s


NO_COST = Restarts()
