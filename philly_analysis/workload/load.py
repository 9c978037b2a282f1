"""Offered load: GPU-seconds requested over those of the cluster, and arrivals rescaled to it."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from philly_analysis.errors import WorkloadError
from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.protocol import Tables

ALL = slice(None)
"""The window that measures every job."""


def offered_load(gpu_s: float, span_s: float, gpus: int) -> float | None:
    """Return the GPU-seconds that jobs request over those that the cluster has in the window.

    This is the only definition of load. Jobs that are excluded from the workload, and jobs
    submitted outside the window, count in neither.

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


def rescaling_factor(load: float, gpu_s: float, span_s: float, gpus: int) -> float:
    """Return the factor on the time between submissions with which jobs offer a given load.

    Parameters
    ----------
    gpu_s, span_s, gpus
        As in :func:`offered_load`.

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
            f"arrivals cannot be rescaled to an offered load of {load:g}: no jobs have {missing}. "
            f"Give jobs with {missing}, or leave the submissions as they are."
        )
    return now / load


def load_of(specs: Sequence[JobSpec], gpus: int, window: slice = ALL) -> float:
    """Return the load that jobs in the measured window offer a cluster of so many GPUs.

    Parameters
    ----------
    window
        Positions of the measured jobs in the order of submission. The window ends when the next
        job is submitted, or the last of all.

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


def at_load(specs: Sequence[JobSpec], load: float, gpus: int, window: slice = ALL) -> list[JobSpec]:
    """Return the jobs with submissions rescaled so that they offer a given load.

    Parameters
    ----------
    load, gpus, window
        As in :func:`load_of`.
    """
    factor = load_of(specs, gpus, window) / load
    first = min(s.submit_s for s in specs)
    return [replace(s, submit_s=(s.submit_s - first) * factor) for s in specs]


def rescale_arrivals(workload: Tables, factor: float) -> Tables:
    """Return the workload with the time between submissions multiplied by a factor, to the second.

    Whole seconds keep submissions equal in formats without fractions. Attempts move with their
    jobs, so waits and run times stay; one that was still running at the end of the log keeps its
    time so far as ``run_s``. Recorded placements and samples no longer match and are dropped.
    """
    origin = pl.lit(workload.origin_at, pl.Datetime("us"))
    since_us = (pl.col("submitted_at") - origin).dt.total_microseconds()
    to_s = (since_us / 1e6 * factor).round().cast(pl.Int64)
    jobs = workload.jobs.pl().with_columns(
        shift=pl.duration(seconds=to_s) - pl.duration(microseconds=since_us)
    )
    key = ["job_id", "attempt"]
    ran = workload.answer("attempt_runs").filter("running").select(*key, ran_s="run_s")
    attempts = (
        workload.attempts.pl()
        .join(jobs.select("job_id", "shift"), on="job_id", how="left", maintain_order="left")
        .join(ran, on=key, how="left", maintain_order="left")
        .with_columns(pl.col("started_at", "ended_at") + pl.col("shift"))
        .with_columns(run_s=pl.coalesce("run_s", "ran_s"))
        .drop("shift", "ran_s")
    )
    return replace(
        workload,
        jobs=jobs.with_columns(pl.col("submitted_at", "eligible_at") + pl.col("shift")).drop(
            "shift"
        ),
        attempts=attempts,
        placements=workload.placements.pl().clear(),
        trace=None,
    )
