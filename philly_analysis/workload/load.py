"""Offered load: what jobs ask for relative to what the cluster has while they come."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from philly_analysis.errors import WorkloadError
from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.workload import Workload

ALL = slice(None)
"""The window that measures every job."""


def offered_load(gpu_s: float, span_s: float, gpus: int) -> float | None:
    """Return GPU-seconds asked for over those that the cluster has while jobs come.

    This is the one definition of load: what the jobs submitted inside the measured window ask
    for, over what the cluster has in it. Jobs that are no part of the workload, and jobs outside
    of the window, are in neither.

    Parameters
    ----------
    gpu_s
        GPU-seconds that the jobs ask for.
    span_s
        Seconds that the window lasts: from the first submission to the last, unless only part of
        the jobs is measured.
    gpus
        GPUs of the cluster.

    Returns
    -------
    float or None
        None where it is not defined: all jobs come at once, or there are no GPUs.
    """
    return gpu_s / (gpus * span_s) if span_s > 0 and gpus > 0 else None


def factor_to(load: float, gpu_s: float, span_s: float, gpus: int) -> float:
    """Return by what to stretch submissions, so that jobs offer a given load.

    Parameters
    ----------
    gpu_s, span_s, gpus
        As in :func:`offered_load`.

    Raises
    ------
    WorkloadError
        The load is not above 0, or the jobs offer none.
    """
    if load <= 0:
        raise WorkloadError(f"an offered load of {load:g} was asked for; give one above 0.")
    now = offered_load(gpu_s, span_s, gpus)
    if not now:
        raise WorkloadError(
            f"an offered load of {load:g} was asked for, but there is none to rescale: jobs need "
            "run times and at least two different submission times."
        )
    return now / load


def load_of(specs: Sequence[JobSpec], gpus: int, window: slice = ALL) -> float:
    """Return the load that jobs offer a cluster of so many GPUs, inside the measured window.

    Parameters
    ----------
    window
        Which jobs are measured, by their places in the order of submission; what comes before
        and after them counts for nothing. The window lasts until the next job comes, or the last
        of all has come.

    Raises
    ------
    WorkloadError
        The jobs are all submitted at once, or ask for nothing.
    """
    in_order = sorted(specs, key=lambda s: s.submit_s)
    measured = in_order[window]
    until = min(window.indices(len(in_order))[1], len(in_order) - 1)
    span_s = in_order[until].submit_s - measured[0].submit_s if measured else 0.0
    asked_gpu_s = sum(s.gpu_s for s in measured)
    load = offered_load(asked_gpu_s, span_s, gpus)
    if not load:
        raise WorkloadError(
            f"{len(measured):,} jobs over {span_s:g} s that ask for {asked_gpu_s:g} GPU-seconds "
            f"offer {gpus:,} GPUs no load. Give jobs that arrive over time and take time."
        )
    return load


def at_load(specs: Sequence[JobSpec], load: float, gpus: int, window: slice = ALL) -> list[JobSpec]:
    """Return the jobs with their submissions stretched so that they offer a given load.

    Parameters
    ----------
    load, gpus, window
        As in :func:`load_of`.
    """
    factor = load_of(specs, gpus, window) / load
    first = min(s.submit_s for s in specs)
    return [replace(s, submit_s=(s.submit_s - first) * factor) for s in specs]


def stretched(workload: Workload, factor: float) -> Workload:
    """Return the workload with its submissions `factor` times as far apart, to the second.

    Most formats know seconds only, so whoever reads one has the same submissions. Attempts move
    with their jobs, so waits and run times stay: an attempt that still ran keeps the time that it
    had run (as ``run_s``), wherever the log now ends. Recorded placements and samples no longer
    fit and are dropped.
    """
    origin = pl.lit(workload.origin_at, pl.Datetime("us"))
    since_us = (pl.col("submitted_at") - origin).dt.total_microseconds()
    to_s = (since_us / 1e6 * factor).round().cast(pl.Int64)
    jobs = workload.jobs.with_columns(
        shift=pl.duration(seconds=to_s) - pl.duration(microseconds=since_us)
    )
    key = ["job_id", "attempt"]
    ran = workload.answer("attempt_runs").filter("running").select(*key, ran_s="run_s")
    attempts = (
        workload.attempts.join(
            jobs.select("job_id", "shift"), on="job_id", how="left", maintain_order="left"
        )
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
        placements=workload.placements.clear(),
        trace=None,
    )
