"""The CSV of jobs that Tiresias' simulator began, as far as its followers share it."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Taken, taken_of
from philly_analysis.exports.layout import COUNT, NAME, POSITIVE, Field, Layout
from philly_analysis.exports.request import Request

ID, GPUS = Field("job_id", NAME), Field("num_gpu", POSITIVE)
SUBMIT, INTERVAL = Field("submit_time", COUNT), Field("interval", COUNT)
MODEL, DURATION = Field("model_name", r"[a-z0-9_]+"), Field("duration", POSITIVE)
NOT_CARRIED = ("virtual cluster, status, attempts and placements",)
NUMBERED = "job ids: numbered from 0 by submission, then job id"
"""What is not carried where a reader wants numbers."""

SERVERS = ("num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node")
"""Columns of the file of one line that is the cluster."""

CLUSTER = f"""echo {",".join(SERVERS)} > export.csv
echo 1,$nodes,$per_node,128,256 >> export.csv
"""
"""Shell lines that write that file, where it is no part of the export."""


def jobs_csv(*fields: Field) -> Layout:
    """Return the layout of such a file: by submission, each job once."""
    return Layout(fields, ascending="submit_time", unique="job_id")


def timed(jobs: pl.DataFrame, unit_s: float = 1.0) -> pl.DataFrame:
    """Add the columns that all dialects share, times in whole units of `unit_s` seconds."""
    submit = (pl.col("submit_s") / unit_s).round().cast(pl.Int64)
    return jobs.with_columns(
        job_id="id",
        num_gpu="gpus",
        submit_time=submit,
        duration=(pl.col("run_s") / unit_s).round().cast(pl.Int64).clip(1),
        interval=submit.diff().fill_null(0),
    )


def taken(request: Request, path: Path, layout: Layout) -> Taken:
    """Count what a reader takes that takes every line."""
    rows = layout.read(path)
    return taken_of(request, rows["num_gpu"], rows["duration"])
