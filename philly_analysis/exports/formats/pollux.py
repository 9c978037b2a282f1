"""Inputs of Pollux (OSDI'21) and Sia (SOSP'23): workloads, and a summary to draw them from."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written
from philly_analysis.exports.layout import COUNT, NAME, POSITIVE, TIMESTAMP, Field, Layout, broken
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request

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
_LEAST_S, _MOST_GPU_H, _DAY_S = 60, 1000, 86_400


def _write_summary(request: Request, path: Path) -> Written:
    seconds = pl.col("run_s").round().cast(pl.Int64)
    summary = request.jobs.select(
        cluster="vc_id",
        timestamp=pl.col("submitted_at").dt.strftime("%Y-%m-%d %H:%M:%S"),
        duration=seconds,
        num_gpus="gpus",
        gpu_time=seconds * pl.col("gpus"),
    )
    _SUMMARY.write(summary, path)
    return Written(jobs=summary.height)


def _drawn_from(path: Path) -> pl.DataFrame:
    """Return what the generator draws from: duration and gpu_time, in s, by line."""
    rows = _SUMMARY.read(path).with_columns(pl.col("duration", "gpu_time").cast(pl.Int64))
    kept = (pl.col("duration") >= _LEAST_S) & (pl.col("gpu_time") < _MOST_GPU_H * 3600)
    return rows.with_columns(kept=kept)


def _taken_summary(request: Request, path: Path) -> Taken:
    kept = _drawn_from(path)["kept"]
    return Taken(request.jobs["job_id"].filter(kept).n_unique(), None)


def _faults_summary(path: Path) -> list[str]:
    if found := _SUMMARY.faults(path):
        return found
    rows = _drawn_from(path)
    product = rows["duration"] * rows["num_gpus"].cast(pl.Int64)
    wrong = product != rows["gpu_time"]
    found = broken(path, rows["gpu_time"], wrong, "gpu_time is not duration x num_gpus")
    # of such a job it asks what others of its class within a day held, and crashes without one
    for least, below in ((10, 100), (100, _MOST_GPU_H)):
        held_h = rows.filter("kept")["gpu_time"] / 3600
        of_class = rows.filter("kept").filter((held_h >= least) & (held_h < below))
        if of_class.height and not (of_class["duration"] <= _DAY_S).any():
            found.append(
                f"{path.name}: {of_class.height} jobs of {least} to {below} GPU hours, but none "
                "of them within a day: the generator crashes when it draws one"
            )
    return found


def _write(request: Request, path: Path, layout: Layout) -> Written:
    published = profiles("pollux")
    gpu_h = pl.col("gpu_s") / 3600
    group = pl.lit(_LARGEST)
    for most, name in sorted(_CLASSES_H.items(), reverse=True):
        group = pl.when(gpu_h < most).then(pl.lit(name)).otherwise(group)
    classed = request.jobs.with_columns(gpu_time=group)
    rows = assign(classed, published.table, "gpu_time", request.rng).select(
        name=pl.format("{}-{}", "job_type", pl.int_range(pl.len())),
        time=pl.col("submit_s").round().cast(pl.Int64),
        application="job_type",
        num_replicas="gpus",
        batch_size=pl.min_horizontal(pl.col("least_batch") * pl.col("gpus"), "most_batch"),
        category=pl.lit("adaptive"),
    )
    layout.write(rows, path)
    return Written(
        jobs=rows.height,
        assumed=(
            "application drawn among those of the job's GPU-time class (below 1, 10, 100 h and "
            "above); its profile, not the trace, decides how long the job runs",
            "batch size is the application's least times the gang size, up to its largest",
            *(["every job is adaptive"] if "category" in layout.names else []),
        ),
        sources=(published.source,),
    )


def _faults(path: Path, layout: Layout) -> list[str]:
    if found := layout.faults(path):
        return found
    rows = layout.read(path)
    limits = rows.join(
        profiles("pollux").table,
        left_on="application",
        right_on="job_type",
        how="left",
        maintain_order="left",
    )
    batch = limits["batch_size"].cast(pl.Int64)
    outside = (batch < limits["least_batch"]) | (batch > limits["most_batch"])
    return broken(path, rows["batch_size"], outside, "batch size outside its range")


def _workload(name: str, program: Program, layout: Layout) -> Dialect:
    return Dialect(
        name=name,
        program=program,
        carries="arrival, gang size, class of GPU time",
        write=lambda request, path: _write(request, path, layout),
        taken=lambda request, _: Taken(request.jobs["job_id"].n_unique(), None),
        faults=lambda path, _: _faults(path, layout),
        not_carried=("run times, names of jobs, users, virtual clusters, status, attempts",),
        gangs=range(1, _MOST_REPLICAS + 1),
    )


_RULES = "gangs up to 16 GPUs; applications bring run times of their own"
_ADAPTDL = "petuum/adaptdl c793c70 (branch osdi21-artifact)"
_RUN = """git clone https://github.com/petuum/adaptdl && cd adaptdl
git checkout c793c70 && cd simulator
NODES=$$(($gpus / 4))    # servers of 4 GPUs are the largest that it knows
python simulator.py --policy tiresias --num-gpus 4 --min-nodes $$NODES --max-nodes $$NODES $$OUT"""
_SIA_RUN = """git clone https://github.com/siasosp23/artifacts && cd artifacts
git checkout aaf7a0d && cd sia-simulator
python multi_simulator.py $$OUT --policy=sia --policy_p_val=-0.5 --mip_lambda_a=0.01 \\
  --mip_lambda_n=1.1 --interval=60 --project_throughput --share_max_replicas"""

POLLUX = Format(
    "pollux",
    (
        _workload(
            "pollux",
            Program(
                "Pollux' simulator",
                source=_ADAPTDL,
                needs="Python 3.8, numpy 1.19.5, pandas 1.1.5, scipy 1.5.4, pymoo 0.4.2.1",
                command=_RUN,
                rules=_RULES,
            ),
            _WORKLOAD,
        ),
        Dialect(
            name="generator",
            program=Program(
                "Pollux' generator of workloads",
                source=_ADAPTDL,
                needs="Python 3.8, numpy 1.19.5, pandas 1.2.4, scipy 1.5.4",
                command="git clone https://github.com/petuum/adaptdl && cd adaptdl\n"
                "git checkout c793c70 && cd simulator && cp $$OUT traces/philly.csv\n"
                "python workload.py --start 0 --duration 24 --num-jobs 160 --output workload.csv",
                rules=f"jobs of at least {_LEAST_S} s and below {_MOST_GPU_H:,} GPU hours, of "
                "which it draws some, by hour of the day; applications bring run times",
            ),
            carries="submission, run time, gang size, virtual cluster",
            write=_write_summary,
            taken=_taken_summary,
            faults=lambda path, _: _faults_summary(path),
            not_carried=("users, job ids, status, attempts and placements",),
        ),
    ),
)
SIA = Format(
    "sia",
    (
        _workload(
            "sia",
            Program(
                "Sia's simulator",
                source="siasosp23/artifacts aaf7a0d",
                needs="Python 3.10, numpy 1.23, pandas 1.5, scipy 1.10, pymoo 0.4.2.2, cvxpy 1.3 "
                "with cvxopt and cylp, rich, psutil",
                command=_SIA_RUN,
                rules=f"{_RULES}; its cluster of three kinds of GPU is part of its code",
            ),
            _SIA_WORKLOAD,
        ),
    ),
)
