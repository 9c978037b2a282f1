"""The Standard Workload Format 2.2 of the Parallel Workloads Archive: 18 numbers a line."""

import polars as pl

from philly_analysis.exports.codec import (
    Content,
    Notes,
    accepted_jobs,
    delimited,
    read_format,
)
from philly_analysis.exports.dialect import FILE
from philly_analysis.exports.request import Request
from philly_analysis.exports.sanitize import plain_names
from philly_analysis.study import FAILED, KILLED, PASS

STATUS = {PASS: 1, FAILED: 0, KILLED: 5}
"""Statuses as SWF numbers them."""

_UNKNOWN = ("avg_cpu", "used_mem", "group", "partition", "prev", "think")
_KB_PER_GB = 1 << 20


def _numbers(names: str) -> pl.Expr:
    """Return an expression that numbers names from 1 in alphabetical order; null stays null."""
    return pl.col(names).rank("dense").cast(pl.Int64)


def _rounded(column: str) -> pl.Expr:
    return pl.col(column).round().cast(pl.Int64)


def _content(request: Request) -> Content:
    jobs = request.jobs
    start, end = jobs["submitted_at"].dt.epoch("s")[0], jobs["submitted_at"].dt.epoch("s")[-1]
    early = int((jobs["wait_s"] < 0).sum())
    limited = jobs["time_limit_s"].is_not_null().sum()
    lines = jobs.select(
        job=pl.int_range(1, pl.len() + 1),
        submit=_rounded("submit_s"),
        wait=pl.when(pl.col("wait_s") >= 0).then(_rounded("wait_s")),
        run=_rounded("run_s"),
        alloc_procs="gpus",
        req_procs="gpus",
        # schedulers that order by requested time have no order without it
        req_time=pl.coalesce("time_limit_s", request.estimated_s()).ceil().cast(pl.Int64).clip(1),
        req_mem=(pl.col("mem_gb") * _KB_PER_GB / pl.col("gpus")).round().cast(pl.Int64),
        status=pl.col("status").replace_strict(STATUS, default=None),
        user=_numbers("user"),
        exe=_numbers("job_type"),
        queue=_numbers("vc"),
        **dict.fromkeys(_UNKNOWN, pl.lit(-1)),
    ).with_columns(pl.all().fill_null(-1))
    vcs = plain_names(jobs["vc"].unique().sort())
    target = request.cluster
    comments = (
        " Version: 2.2",
        f" Computer: {plain_names(pl.Series([request.workload.name]))[0]}",
        f" MaxJobs: {lines.height}",
        f" MaxRecords: {lines.height}",
        f" UnixStartTime: {start}",
        " TimeZoneString: UTC",
        f" EndTime: {end}",
        f" MaxNodes: {len(target.machines)}",
        f" MaxProcs: {max(target.gpus, int(jobs['gpus'].max() or 0))}",  # type: ignore[arg-type]
        " Note: a processor is a GPU; queues are virtual clusters",
        " Note: jobs are numbered by submission, then id; users and executables by name",
        f" Note: run time is the {request.run_policy} of a job's attempts; wait is to its first",
        *(f" Queue: {i} {name}" for i, name in enumerate(vcs, 1)),
    )
    notes = Notes(
        assumed=(
            f"requested time (field 9): the time limit of {limited:,} jobs, the estimate of "
            f"{lines.height - limited:,} that have none",
        ),
        not_carried=(
            (f"waits of {early:,} jobs that started before submission: -1",) if early else ()
        ),
    )
    accepted = accepted_jobs(request, lines["req_procs"], lines["run"])
    return Content({FILE: lines}, accepted, notes, comments=comments)


SWF = read_format("swf", swf=delimited(_content))
