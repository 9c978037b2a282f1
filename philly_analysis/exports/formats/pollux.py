"""Inputs of Pollux (OSDI'21) and Sia (SOSP'23): workloads, and a summary to draw them from."""

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.codec import Accepted, Content, delimited, read_format
from philly_analysis.exports.dialect import FILE
from philly_analysis.exports.profiles import assign, read_profiles
from philly_analysis.exports.request import Request

_CLASSES_H = {1: "small", 10: "medium", 100: "large"}
_LARGEST = "extra-large"
_LEAST_S, _MOST_GPU_H, _DAY_S = 60, 1000, 86_400


def _summary(request: Request) -> Content:
    seconds = pl.col("run_s").round().cast(pl.Int64)
    rows = request.jobs.select(
        cluster="vc_id",
        timestamp=pl.col("submitted_at").dt.strftime("%Y-%m-%d %H:%M:%S"),
        duration=seconds,
        num_gpus="gpus",
        gpu_time=seconds * pl.col("gpus"),
    )
    return Content({FILE: rows}, _accepted_summary(request, rows))


def _accepted_summary(request: Request, rows: pl.DataFrame) -> Accepted:
    """Count the jobs that the generator draws from.

    Raises
    ------
    ExportError
        The generator would crash: jobs of one of its classes all ran longer than a day.
    """
    drawn = (pl.col("duration") >= _LEAST_S) & (pl.col("gpu_time") < _MOST_GPU_H * 3600)
    is_drawn = rows.select(drawn).to_series()
    # for a job that it draws the generator looks up a job of the same class within a day
    for least, below in ((10, 100), (100, _MOST_GPU_H)):
        gpu_h = pl.col("gpu_time") / 3600
        in_class = rows.filter(is_drawn).filter((gpu_h >= least) & (gpu_h < below))
        if in_class.height and not (in_class["duration"] <= _DAY_S).any():
            raise ExportError(
                f"{request.workload.name} has {in_class.height} jobs of {least} to {below} GPU "
                "hours, but none of them within a day: the generator crashes when it draws one. "
                "Take the dialect pollux, or another period of the trace."
            )
    return Accepted(request.jobs["job_id"].filter(is_drawn).n_unique(), None)


def _content(request: Request) -> Content:
    group = pl.lit(_LARGEST)
    for most, label in sorted(_CLASSES_H.items(), reverse=True):
        group = pl.when(pl.col("gpu_s") / 3600 < most).then(pl.lit(label)).otherwise(group)
    classed = request.jobs.with_columns(gpu_time=group)
    rows = assign(classed, read_profiles("pollux").table, request.rng, by="gpu_time").select(
        name=pl.format("{}-{}", "job_type", pl.int_range(pl.len())),
        time=pl.col("submit_s").round().cast(pl.Int64),
        application="job_type",
        num_replicas="gpus",
        batch_size=pl.min_horizontal(pl.col("least_batch") * pl.col("gpus"), "most_batch"),
        category=pl.lit("adaptive"),
    )
    return Content({FILE: rows}, Accepted(request.jobs["job_id"].n_unique(), None))


_WORKLOAD = delimited(_content)
POLLUX = read_format(
    "pollux",
    pollux=_WORKLOAD,
    generator=delimited(_summary),
)
SIA = read_format("sia", sia=_WORKLOAD)
