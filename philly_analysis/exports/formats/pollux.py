"""Inputs of Pollux (OSDI'21) and Sia (SOSP'23): workloads, and a summary to draw them from."""

import polars as pl

from philly_analysis.exports.codec import Accepted, Content, Written, delimited, read_format
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
    return Content({FILE: rows})


def _drawable(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column kept: whether the generator draws from a line; times become integers."""
    kept = (pl.col("duration") >= _LEAST_S) & (pl.col("gpu_time") < _MOST_GPU_H * 3600)
    return rows.with_columns(pl.col("duration", "gpu_time").cast(pl.Int64)).with_columns(kept=kept)


def _accepted_summary(request: Request, rows: pl.DataFrame) -> Accepted:
    kept = _drawable(rows)["kept"]
    return Accepted(request.jobs["job_id"].filter(kept).n_unique(), None)


def _check_summary(file: Written) -> list[str]:
    rows = _drawable(file.rows)
    wrong = rows["duration"] * rows["num_gpus"].cast(pl.Int64) != rows["gpu_time"]
    found = file.violations("gpu_time", wrong, "gpu_time is not duration x num_gpus")
    # for a job that it draws the generator looks up those of its class that ran at most a day
    for least, below in ((10, 100), (100, _MOST_GPU_H)):
        gpu_h = pl.col("gpu_time") / 3600
        of_class = rows.filter("kept").filter((gpu_h >= least) & (gpu_h < below))
        if of_class.height and not (of_class["duration"] <= _DAY_S).any():
            found.append(
                f"{file.path.name}: {of_class.height} jobs of {least} to {below} GPU hours, but "
                "none of them within a day: the generator crashes when it draws one"
            )
    return found


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
    return Content({FILE: rows})


def _accepted(request: Request, _: pl.DataFrame) -> Accepted:
    return Accepted(request.jobs["job_id"].n_unique(), None)


def _check(file: Written) -> list[str]:
    profiles = read_profiles("pollux").table.rename({"job_type": "application"})
    limits = file.rows.join(profiles, on="application", how="left", maintain_order="left")
    batch = limits["batch_size"].cast(pl.Int64)
    outside = (batch < limits["least_batch"]) | (batch > limits["most_batch"])
    return file.violations("batch_size", outside, "batch size outside its range")


_WORKLOAD = delimited(_content, _accepted, _check)
POLLUX = read_format(
    "pollux",
    pollux=_WORKLOAD,
    generator=delimited(_summary, _accepted_summary, _check_summary),
)
SIA = read_format("sia", sia=_WORKLOAD)
