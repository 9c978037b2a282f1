"""Inputs of Tiresias' simulator (NSDI'19), and CSVs of jobs of Muri, ElasticFlow and PAI."""

from pathlib import Path

import numpy as np
import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.codec import (
    Accepted,
    Content,
    Notes,
    accepted_jobs,
    delimited,
    read_format,
)
from philly_analysis.exports.dialect import FILE
from philly_analysis.exports.profiles import assign, check_gangs, read_profiles
from philly_analysis.exports.request import Request

JOBS, CLUSTER, GPU_TIMES = "jobs.csv", "cluster.csv", "yarn-gput1000.csv"

_GPU_TIMES = 1000
_MEMORY_GB = 10**12
_SLOWER = 1.015
"""Factor on the iteration times of Muri's files: the cost of its profiling."""
_DEADLINES = (0.5, 1.5)


def _rows(jobs: pl.DataFrame, unit_s: float = 1.0) -> pl.DataFrame:
    """Add the columns that all dialects share, times in whole units of `unit_s` seconds."""
    submit = (pl.col("submit_s") / unit_s).round().cast(pl.Int64)
    return jobs.with_columns(
        job_id="id",
        num_gpu="gpus",
        submit_time=submit,
        duration=(pl.col("run_s") / unit_s).round().cast(pl.Int64).clip(1),
        interval=submit.diff().fill_null(0),
    )


def _accepted(request: Request, rows: pl.DataFrame) -> Accepted:
    return accepted_jobs(request, rows["num_gpu"], rows["duration"])


def _homogeneous(request: Request) -> tuple[str, ...]:
    """Return a note if servers of one size do not add up to the cluster."""
    alike, gpus = request.nodes * request.cluster.server.gpus, request.cluster.gpus
    if len({m.gpus for m in request.cluster.machines if m.gpus}) == 1 and alike == gpus:
        return ()
    return (
        f"servers are all alike: {request.nodes:,} of {request.cluster.server.gpus} GPUs, "
        f"{alike:,} in all, for the cluster's {gpus:,}",
    )


def _tiresias(request: Request) -> Content:
    jobs, server = _rows(request.jobs), request.cluster.server
    rows = assign(jobs, read_profiles("tiresias").table, request.rng).with_columns(
        model_name="job_type", iterations="duration"
    )
    cluster = pl.DataFrame(
        {
            "num_switch": 1,
            "num_node_p_switch": request.nodes,
            "num_gpu_p_node": server.gpus,
            # a job that exceeds the simulator's CPUs never starts; when placing by yarn, the
            # simulator's preemptive schedules never return memory, until no job fits
            "num_cpu_p_node": max(128, round(server.cpus or 0)),
            "mem_p_node": _MEMORY_GB,
        }
    )
    ranks = (np.arange(_GPU_TIMES) + 0.5) / _GPU_TIMES
    gpu_s = np.quantile(jobs["gpu_s"].to_numpy(), ranks, method="inverted_cdf")
    quantiles = pl.DataFrame({"duration": gpu_s.round().astype(int).clip(1)})
    tables = {JOBS: rows, CLUSTER: cluster, GPU_TIMES: quantiles}
    return Content(tables, _accepted(request, rows), Notes(_homogeneous(request)))


def _muri(request: Request) -> Content:
    jobs = _rows(request.jobs, unit_s=1e-3)
    iteration_ms = pl.col("iteration_time") * _SLOWER
    rows = assign(jobs, read_profiles("muri").table, request.rng, by="gpus").with_columns(
        model_name="job_type",
        iterations=(pl.col("duration") / iteration_ms).round().cast(pl.Int64).clip(1),
        priority=pl.lit(0),
    )
    iteration_s = rows["iteration_time"] * _SLOWER / 1000
    accepted = accepted_jobs(request, rows["num_gpu"], rows["iterations"] * iteration_s)
    return Content({FILE: rows}, accepted)


def read_speeds(folder: Path) -> pl.DataFrame:
    """Read ElasticFlow's folder of throughputs: job_type, batch_size, gpus, iterations_per_s.

    Raises
    ------
    ExportError
        The folder is missing, or one of its files has another layout.
    """
    tables = []
    try:
        for file in sorted(folder.glob("*.csv")):
            wide = pl.read_csv(file.read_bytes(), infer_schema=False)
            tables.append(
                wide.unpivot(index="global_batch_size").select(
                    job_type=pl.lit(file.stem),
                    batch_size=pl.col("global_batch_size").cast(pl.Int64),
                    gpus=pl.col("variable").cast(pl.Int32),
                    iterations_per_s=pl.col("value").cast(pl.Float64),
                )
            )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ExportError(
            f"{folder} is not a folder of ElasticFlow's throughputs ({error}): each file should "
            "be <model>.csv with the columns global_batch_size,1,2,4,..."
        ) from None
    if not tables:
        raise ExportError(f"{folder} holds no <model>.csv: give ElasticFlow's throughputs folder.")
    # elastic policies divide by the speed at every number of GPUs and crash where one is missing
    complete = (pl.col("iterations_per_s").fill_null(0) > 0).all().over("job_type", "batch_size")
    return pl.concat(tables).filter(complete)


def _elasticflow(request: Request) -> Content:
    table, jobs = read_speeds(request.speeds_file), _rows(request.jobs)
    check_gangs(jobs, table, request.speeds_file)
    slack = pl.Series(request.rng.uniform(*_DEADLINES, jobs.height))
    rows = assign(jobs, table, request.rng, by="gpus").with_columns(
        job_id=pl.int_range(pl.len()),
        model_name="job_type",
        iteration=(pl.col("run_s") * pl.col("iterations_per_s")).round().cast(pl.Int64).clip(1),
        ddl=(pl.col("submit_time") + (slack * pl.col("duration")).floor().cast(pl.Int64)).clip(1),
        best_effort=pl.lit(0),
    )
    return Content({FILE: rows}, _accepted(request, rows))


def _pai(request: Request) -> Content:
    jobs = _rows(request.jobs)
    estimate = request.estimated_s().round(1)
    gpu_estimate = (estimate * pl.col("gpus")).round(1)
    rows = jobs.with_columns(
        # the simulator's log requires numbers, and the job order breaks ties by these numbers
        job_id=pl.int_range(pl.len()),
        user="user_id",
        # the simulator counts each instance as a job, and one node has all GPUs
        num_inst=pl.lit(1),
        num_cpu=pl.col("cpus_due").round(2),
        gpu_type=pl.lit("MISC"),
        wait_time=pl.col("wait_s").clip(0).fill_null(0).round(1),
        user_dur=estimate,
        user_gpu_dur=gpu_estimate,
        group_dur=estimate,
        group_gpu_dur=gpu_estimate,
    )
    unknown_cpus = jobs["cpus"].null_count()
    notes = Notes(
        (
            *([f"CPUs of {unknown_cpus:,} jobs: their share of a server"] if unknown_cpus else []),
            *(["waits not known: 0"] if jobs["wait_s"].null_count() else []),
        )
    )
    return Content({FILE: rows}, _accepted(request, rows), notes)


TIRESIAS = read_format(
    "tiresias",
    tiresias=delimited(_tiresias),
    muri=delimited(_muri),
    elasticflow=delimited(_elasticflow),
    pai=delimited(_pai),
)
