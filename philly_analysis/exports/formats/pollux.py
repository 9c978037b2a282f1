"""Inputs of the simulators of Pollux (OSDI'21) and Sia (SOSP'23): a job summary and a workload."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Format, Written
from philly_analysis.exports.layout import COUNT, NAME, POSITIVE, TIMESTAMP, Field, Layout, broken
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request

SUMMARY, WORKLOAD = "philly.csv", "workload.csv"

_SUMMARY = Layout(
    (
        Field("timestamp", TIMESTAMP),
        Field("duration", COUNT),
        Field("num_gpus", POSITIVE),
        Field("gpu_time", COUNT),
        Field("cluster", NAME),
    ),
    ascending="timestamp",
)
_WORKLOAD = Layout(
    (
        Field("name", r"[a-z0-9]+-[0-9]+"),
        Field("time", COUNT),
        Field("application", "|".join(profiles("pollux").job_types)),
        Field("num_replicas", r"[1-9]|1[0-6]"),
        Field("batch_size", POSITIVE),
    ),
    ascending="time",
    unique="name",
)
_SIA_WORKLOAD = Layout(
    (*_WORKLOAD.fields, Field("category", "adaptive|scale-gpus|rigid")),
    ascending="time",
    unique="name",
)
_MOST_REPLICAS = 16
_CLASSES_H = {1: "small", 10: "medium", 100: "large"}
_LARGEST = "extra-large"


def _write(request: Request, folder: Path, layout: Layout) -> Written:
    published = profiles("pollux")
    jobs = request.jobs
    seconds = pl.col("run_s").round().cast(pl.Int64)
    summary = jobs.select(
        cluster="vc_id",
        timestamp=pl.col("submitted_at").dt.strftime("%Y-%m-%d %H:%M:%S"),
        duration=seconds,
        num_gpus="gpus",
        gpu_time=seconds * pl.col("gpus"),
    )
    _SUMMARY.write(summary, folder / SUMMARY)
    gpu_h = pl.col("gpu_s") / 3600
    group = pl.lit(_LARGEST)
    for most, name in sorted(_CLASSES_H.items(), reverse=True):
        group = pl.when(gpu_h < most).then(pl.lit(name)).otherwise(group)
    small = jobs.filter(pl.col("gpus") <= _MOST_REPLICAS).with_columns(gpu_time=group)
    rows = assign(small, published.table, "gpu_time", request.rng).select(
        name=pl.format("{}-{}", "job_type", pl.int_range(pl.len())),
        time=pl.col("submit_s").round().cast(pl.Int64),
        application="job_type",
        num_replicas="gpus",
        batch_size=pl.min_horizontal(pl.col("least_batch") * pl.col("gpus"), "most_batch"),
        category=pl.lit("adaptive"),
    )
    layout.write(rows, folder / WORKLOAD)
    wide = jobs.height - small.height
    return Written(
        jobs=jobs.height,
        assumed=(
            f"{WORKLOAD}: application drawn among those of the job's GPU-time class (below 1, 10, "
            "100 h and above); its profile, not the trace, decides how long the job runs",
            f"{WORKLOAD}: batch size is the application's least times the gang size, up to its "
            "largest",
            *(["every job is adaptive"] if "category" in layout.names else []),
        ),
        lost=(
            *([f"{WORKLOAD}: {wide:,} jobs of more than {_MOST_REPLICAS} GPUs"] if wide else []),
            f"{WORKLOAD}: run times, job ids and virtual clusters",
        ),
        sources=(published.source,),
    )


def _faults(folder: Path, layout: Layout) -> list[str]:
    found = [*_SUMMARY.faults(folder / SUMMARY), *layout.faults(folder / WORKLOAD)]
    if found:
        return found
    path, rows = folder / SUMMARY, _SUMMARY.read(folder / SUMMARY)
    product = rows["duration"].cast(pl.Int64) * rows["num_gpus"].cast(pl.Int64)
    wrong = product != rows["gpu_time"].cast(pl.Int64)
    found += broken(path, rows["gpu_time"], wrong, "gpu_time is not duration x num_gpus")
    path, rows = folder / WORKLOAD, layout.read(folder / WORKLOAD)
    limits = rows.join(
        profiles("pollux").table,
        left_on="application",
        right_on="job_type",
        how="left",
        maintain_order="left",
    )
    batch = limits["batch_size"].cast(pl.Int64)
    outside = (batch < limits["least_batch"]) | (batch > limits["most_batch"])
    return found + broken(path, rows["batch_size"], outside, "batch size outside its range")


def _format(name: str, reader: str, layout: Layout) -> Format:
    return Format(
        name,
        (
            Dialect(
                name=name,
                reader=reader,
                carries=f"{SUMMARY}: submission, run time, gang size, virtual cluster; "
                f"{WORKLOAD}: arrival and gang size",
                write=lambda request, folder: _write(request, folder, layout),
                faults=lambda folder, _: _faults(folder, layout),
                lost=("users, job ids, status, attempts and placements",),
                folder=True,
            ),
        ),
    )


POLLUX = _format("pollux", "Pollux' simulator and its workload generator", _WORKLOAD)
SIA = _format("sia", "Sia's simulator", _SIA_WORKLOAD)
