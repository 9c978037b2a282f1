"""Read the queue's history from a trace, in the order in which jobs entered the queue."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats, Ints
from philly_analysis.errors import InputError
from philly_analysis.study import gang_class
from philly_analysis.trace import Trace

FEWEST = 50
"""Fewest recorded waits for a forecast: its validation needs ten waits (chosen)."""
NUMBERS = ("servers", "cpus", "mem_gb", "time_limit_s")
"""Numbers that a job requests beside its gang size."""
NAMES = ("vc", "account", "user", "qos")
"""Names that a job is submitted with."""
_MOMENTS = ("entered_s", "started_s", "left_s", "ended_s")


@dataclass(frozen=True, slots=True)
class Queue:
    """The jobs of a log in the order in which they entered the queue.

    Attributes
    ----------
    jobs
        One row per job: job_id, the requests and names of the job, and entered_s, started_s,
        left_s, ended_s (infinite: not before the end of the log).
    end_s
        End of the log, in seconds since 1970.
    """

    jobs: pd.DataFrame
    end_s: float

    @property
    def entered_s(self) -> Floats:
        """Times at which the jobs entered the queue."""
        return self.jobs["entered_s"].to_numpy(float)

    @property
    def started_s(self) -> Floats:
        """First starts of the jobs; infinite where a job never started."""
        return self.jobs["started_s"].to_numpy(float)

    @property
    def waits(self) -> Floats:
        """Seconds that the jobs waited; infinite where a job never started."""
        return self.started_s - self.entered_s

    @property
    def gangs(self) -> Ints:
        """Gang classes of the jobs, as indices of the gang buckets."""
        return gang_class(self.jobs["gpus"].to_numpy())

    def until(self, at_s: float) -> "Queue":
        """Return what was known of the queue at a moment: jobs and events strictly before."""
        jobs = self.jobs[self.jobs["entered_s"] < at_s] if at_s < self.end_s else self.jobs
        moments = jobs[list(_MOMENTS)]
        happened = moments < at_s if at_s < self.end_s else moments <= at_s
        return Queue(jobs.assign(**moments.where(happened, np.inf)), at_s)


def read_queue(trace: Trace) -> Queue:
    """Return the queue's history of a trace.

    Raises
    ------
    MissingTableError
        The trace lacks attempts.
    """
    jobs = trace.answer("queue_entries").df().sort_values(["entered_s", "job_id"])
    jobs[list(_MOMENTS)] = jobs[list(_MOMENTS)].astype(float).fillna(np.inf)
    jobs[["gpus", *NUMBERS]] = jobs[["gpus", *NUMBERS]].astype(float)
    times = jobs[list(_MOMENTS)].to_numpy()
    recorded = times[np.isfinite(times)]
    return Queue(jobs.reset_index(drop=True), float(recorded.max()) if recorded.size else 0.0)


def check_waits(queue: Queue, name: str) -> None:
    """Check that a log records enough waits for a forecast.

    Raises
    ------
    InputError
        The log records no waits, or too few waits.
    """
    waits = queue.waits[np.isfinite(queue.started_s)]
    if not waits.size:
        raise InputError(
            f"{name} records no waits: no job has a submission and a start. A forecast needs a "
            "scheduler log with both times."
        )
    if not waits.any():
        raise InputError(
            f"{name} records no waits: every job starts in the second of its submission. A "
            "forecast needs the log of a cluster where jobs wait."
        )
    if waits.size < FEWEST:
        raise InputError(f"{name} records {waits.size} waits. A forecast needs at least {FEWEST}.")
