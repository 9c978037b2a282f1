"""Columns that Tiresias' CSV of jobs shares with its successors' (Muri, ElasticFlow, PAI)."""

import polars as pl

from philly_analysis.exports.dialect import Accepted, accepted_jobs, read_layouts
from philly_analysis.exports.request import Request

LAYOUTS = read_layouts("tiresias")
"""Layouts of all dialects of the format tiresias."""

NUMBERED = "job ids: numbered from 0 by submission, then job id"
"""Note of the dialects whose programs require numbers."""


def job_rows(jobs: pl.DataFrame, unit_s: float = 1.0) -> pl.DataFrame:
    """Add the columns that all dialects share, times in whole units of `unit_s` seconds."""
    submit = (pl.col("submit_s") / unit_s).round().cast(pl.Int64)
    return jobs.with_columns(
        job_id="id",
        num_gpu="gpus",
        submit_time=submit,
        duration=(pl.col("run_s") / unit_s).round().cast(pl.Int64).clip(1),
        interval=submit.diff().fill_null(0),
    )


def accepted(request: Request, rows: pl.DataFrame) -> Accepted:
    """Count what a program accepts that accepts every line."""
    return accepted_jobs(request, rows["num_gpu"], rows["duration"])
