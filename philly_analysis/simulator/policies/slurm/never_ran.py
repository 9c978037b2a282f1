"""Find the recorded jobs that waited and never ran: planned jobs that keep others waiting."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import polars as pl

from philly_analysis.simulator.jobs.job import Job
from philly_analysis.workload import AttemptSpec, JobSpec, Workload, even_parts

_AFTER_ALL = 1 << 40
"""Number of the first such job in the order of submission, after all jobs that run."""


class NeverRan(NamedTuple):
    """A job that never ran: when it could start, until it was cancelled or the log ended."""

    since_s: float
    until_s: float
    job: Job


def never_ran(workload: Workload, released_s: Mapping[str, float]) -> tuple[NeverRan, ...]:
    """Return the jobs with GPUs, a time limit and an eligible time of which no attempt started.

    Parameters
    ----------
    released_s
        Time at which a job's last reason outside the simulation ended, by job.
    """
    origin_at = workload.origin_at
    if origin_at is None:
        return ()
    attempts, origin = workload.frames["attempts"], pl.lit(origin_at, pl.Datetime("us"))
    times = [attempts["started_at"].max(), attempts["ended_at"].max()]
    times.append(workload.frames["jobs"]["submitted_at"].max())
    moments = [moment for moment in times if isinstance(moment, datetime)]
    end_s = max((moment - origin_at).total_seconds() for moment in moments)
    by_job = attempts.group_by("job_id").agg(
        started=pl.col("started_at").is_not_null().any(),
        until_s=(pl.col("ended_at").max() - origin).dt.total_microseconds() / 1e6,
    )
    rows = (
        workload.frames["jobs"]
        .join(by_job, on="job_id", how="left")
        .filter(
            ~pl.col("started").fill_null(False),
            pl.col("gpus") > 0,
            pl.col("time_limit_s").is_not_null(),
            pl.col("eligible_at").is_not_null(),
        )
        .with_columns(
            submit_s=(pl.col("submitted_at") - origin).dt.total_microseconds() / 1e6,
            since_s=(pl.col("eligible_at") - origin).dt.total_microseconds() / 1e6,
            until_s=pl.col("until_s").fill_null(end_s),
        )
        .sort("submit_s", "job_id")
    )
    jobs = []
    for nth, row in enumerate(rows.iter_rows(named=True)):
        since_s = max(row["since_s"], released_s.get(row["job_id"], 0.0))
        if since_s < row["until_s"]:
            job = Job(_spec(row), _AFTER_ALL + nth)
            jobs.append(NeverRan(since_s, row["until_s"], job))
    return tuple(jobs)


def _spec(row: Mapping[str, object]) -> JobSpec:
    fields = ("job_id", "gpus", "submit_s", "cpus", "mem_gb", "time_limit_s", "gpu_model")
    texts = {name: row[name] or "" for name in ("vc", "user", "account", "qos")}
    return JobSpec(
        attempts=(AttemptSpec(row["time_limit_s"]),),  # type: ignore[arg-type]
        gpu_frac=row["gpu_frac"] or 1.0,  # type: ignore[arg-type]
        gpus_by_server=even_parts(row["gpus"], row["servers"]),  # type: ignore[arg-type]
        eligible_s=row["since_s"],  # type: ignore[arg-type]
        **{name: row[name] for name in fields},  # type: ignore[arg-type]
        **texts,  # type: ignore[arg-type]
    )
