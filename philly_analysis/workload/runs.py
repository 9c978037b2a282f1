"""Join attempts that a scheduler interrupted into runs of a job."""

from dataclasses import replace

from philly_analysis.study import LAST_END
from philly_analysis.workload.job import AttemptSpec, JobSpec

SCHEDULER_ENDS = ("preempted", "migrated", "resized")
"""End reasons caused by a scheduler: the ended and the next attempt are one run of the job."""


def runs_of(spec: JobSpec) -> tuple[AttemptSpec, ...]:
    """Return a job's runs: attempts, where attempts that a scheduler interrupted are joined."""
    last_end = LAST_END.get(spec.status or "", "completed")
    if len(spec.attempts) == 1:
        [only] = spec.attempts
        return spec.attempts if only.end_reason else (replace(only, end_reason=last_end),)
    runs: list[AttemptSpec] = []
    carried_s = 0.0
    for attempt in spec.attempts:
        if attempt.end_reason in SCHEDULER_ENDS and attempt is not spec.attempts[-1]:
            carried_s += attempt.run_s
            continue
        runs.append(replace(attempt, run_s=attempt.run_s + carried_s))
        carried_s = 0.0
    return tuple(
        replace(run, end_reason=run.end_reason or ("failed" if run is not runs[-1] else last_end))
        for run in runs
    )
