"""Compute the work that an interrupted job loses: that since its last checkpoint."""

from dataclasses import dataclass

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.jobs.job import FOREVER, Job

MAX_SETBACKS = 10_000
"""Consecutive preemptions without progress after which a simulation is aborted."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """The cost of interruptions, under any policy.

    A job saves a checkpoint after every so many seconds of its recorded run. When it is preempted,
    or its GPUs fail, it loses the work since then. A migrated or resized job loses nothing, because
    it saves a checkpoint first. The time to restart is the policy's knob ``restart_s``.

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
                f"checkpoint_s is {self.checkpoint_s:g} s; give 0 (no work is lost) or more, inf "
                "for no checkpoints."
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what interruptions cost; none if nothing."""
        if not self.checkpoint_s:
            return ()
        often = f"every {self.checkpoint_s:g} s of it" if self.checkpoint_s < FOREVER else "never"
        return (f"Jobs save their work {often}; preempted, they lose the work since then.",)

    def lost_s(self, job: Job, now_s: float) -> float:
        """Return the work that a job loses if it is stopped now (s at full speed).

        Raises
        ------
        SimulationError
            The job was stopped too often before its first checkpoint.
        """
        if not self.checkpoint_s:
            return 0.0
        since_start_s = job.work_s(now_s)
        lost_s = min(
            (job.runs[job.run].run_s - job.left_s(now_s)) % self.checkpoint_s, since_start_s
        )
        job.setbacks = 0 if lost_s < since_start_s else job.setbacks + 1
        if job.setbacks > MAX_SETBACKS:
            raise SimulationError(
                f"{job} was stopped {MAX_SETBACKS:,} times in a row before its first checkpoint. "
                f"Give a checkpoint_s below {self.checkpoint_s:g} s, or another policy."
            )
        return lost_s


NO_COST = Restarts()
