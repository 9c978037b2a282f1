"""Offered load: its definition, and submissions stretched in time to a load."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from philly_analysis.errors import WorkloadError
from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.protocol import JobTables, Tables

ALL = slice(None)
"""The window that measures every job."""


def offered_load(gpu_s: float, span_s: float, gpus: int) -> float | None:
    """Return GPU-seconds that jobs request, divided by GPU-seconds of the cluster in the window.

    This function is the only definition of load. Jobs that are excluded from the workload, and jobs
    submitted outside the window, count in neither. To change the load, the rate of submissions
    changes and days stay days: see :meth:`Workload.with_load` and :meth:`WorkloadModel.sample`.

    Parameters
    ----------
    gpu_s
        GPU-seconds that the jobs request.
    span_s
        Seconds of the window: from the first submission to the last, unless only some of the jobs
        are measured.
    gpus
        GPUs of the cluster.

    Returns
    -------
    float or None
        None: all jobs are submitted at once, or there are no GPUs.
    """
    return gpu_s / (gpus * span_s) if span_s > 0 and gpus > 0 else None


def stretch_factor(load: float, gpu_s: float, span_s: float, gpus: int) -> float:
    """Return the factor on the time between submissions with which the same jobs offer a load.

    Parameters
    ----------
    gpu_s, span_s, gpus
        Requested time, window and GPUs, as in :func:`offered_load`.

    Raises
    ------
    WorkloadError
        The load is not above 0, or the jobs offer no load.
    """
    if load <= 0:
        raise WorkloadError(f"the offered load must be above 0, but is {load:g}.")
    now = offered_load(gpu_s, span_s, gpus)
    if not now:
        missing = "a run time above 0" if not gpu_s else "two different submission times"
        raise WorkloadError(
            f"the jobs cannot offer a load of {load:g}: no jobs have {missing}. "
            f"Give jobs with {missing}, or leave the submissions as they are."
        )
    return now / load


def load_of(specs: Sequence[JobSpec], gpus: int, window: slice = ALL) -> float:
    """Return the load that jobs in the measured window offer a cluster of `gpus` GPUs.

    Parameters
    ----------
    window
        Positions of the measured jobs in the order of submission. The window ends when the next
        job, or the last job of all, is submitted.

    Raises
    ------
    WorkloadError
        The jobs are all submitted at once, or have no run time.
    """
    in_order = sorted(specs, key=lambda s: s.submit_s)
    measured = in_order[window]
    until = min(window.indices(len(in_order))[1], len(in_order) - 1)
    span_s = in_order[until].submit_s - measured[0].submit_s if measured else 0.0
    gpu_s = sum(s.gpu_s for s in measured)
    load = offered_load(gpu_s, span_s, gpus)
    if not load:
        raise WorkloadError(
            f"{len(measured):,} jobs over {span_s:g} s that request {gpu_s:g} GPU-seconds "
            f"offer {gpus:,} GPUs no load. Give jobs with run times and different submission times."
        )
    return load


def stretch_to_load(
    specs: Sequence[JobSpec], load: float, gpus: int, window: slice = ALL
) -> list[JobSpec]:
    """Return the same jobs with submissions stretched in time so that they offer a load.

    Hours of the day are stretched as well: a factor of 2 makes days of 48 hours.

    Parameters
    ----------
    load, gpus, window
        Load, GPUs and window, as in :func:`load_of`.
    """
    factor = load_of(specs, gpus, window) / load
    first = min(s.submit_s for s in specs)
    return [replace(s, submit_s=(s.submit_s - first) * factor) for s in specs]


def stretch_arrivals(workload: Tables, factor: float, sentence: str) -> Tables:
    """Return the workload with the time between submissions multiplied by a factor, to the second.

    Hours of the day are stretched as well: a factor of 2 makes days of 48 hours. Whole seconds keep
    submissions equal in formats without fractions. Attempts move with their jobs, so waits and run
    times stay. Recorded placements and samples no longer match and are dropped.

    Parameters
    ----------
    sentence
        Note of the workload that says what changed.
    """
    origin = pl.lit(workload.origin_at, pl.Datetime("us"))
    since_us = (pl.col("submitted_at") - origin).dt.total_microseconds()
    to_s = (since_us / 1e6 * factor).round().cast(pl.Int64)
    jobs = workload.jobs.pl().with_columns(
        shift=pl.duration(seconds=to_s) - pl.duration(microseconds=since_us)
    )
    attempts = attempts_with_run_times(workload).join(
        jobs.select("job_id", "shift"), on="job_id", how="left", maintain_order="left"
    )

    def moved(rows: pl.DataFrame, *times: str) -> pl.DataFrame:
        return rows.with_columns(pl.col(times) + pl.col("shift")).drop("shift")

    return with_jobs(
        workload,
        moved(jobs, "submitted_at", "eligible_at"),
        moved(attempts, "started_at", "ended_at", "eligible_at"),
        sentence,
    )


def attempts_with_run_times(workload: JobTables) -> pl.DataFrame:
    """Return the attempts; one still running at the end of the log has its time so far as run_s."""
    key = ["job_id", "attempt"]
    ran = workload.answer("attempt_runs").filter("running").select(*key, ran_s="run_s")
    attempts: pl.DataFrame = workload.attempts.pl()
    return (
        attempts.join(ran, on=key, how="left", maintain_order="left")
        .with_columns(run_s=pl.coalesce("run_s", "ran_s"))
        .drop("ran_s")
    )


def with_jobs(workload: Tables, jobs: pl.DataFrame, attempts: pl.DataFrame, note: str) -> Tables:
    """Return the workload with other jobs, without placements and samples, which do not match."""
    return replace(
        workload,
        jobs=jobs,
        attempts=attempts,
        placements=workload.placements.pl().clear(),
        trace=None,
        notes=(*workload.notes, note),
    )
