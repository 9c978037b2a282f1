"""Inputs of Tiresias' simulator (NSDI'19), and of its successors with a similar CSV of jobs."""

import numpy as np
import polars as pl

from philly_analysis.exports.delimited import Content, delimited
from philly_analysis.exports.dialect import Notes, read_format
from philly_analysis.exports.formats.elasticflow import ELASTICFLOW
from philly_analysis.exports.formats.job_csv import LAYOUTS, accepted, job_rows
from philly_analysis.exports.formats.muri import MURI
from philly_analysis.exports.formats.pai import PAI
from philly_analysis.exports.profiles import assign, read_profiles
from philly_analysis.exports.request import Request
from philly_analysis.workload import Cluster

JOBS, CLUSTER, GPU_TIMES = "jobs.csv", "cluster.csv", "yarn-gput1000.csv"
_GPU_TIMES = 1000
_MEMORY_GB = 10**12


def _homogeneous(request: Request) -> tuple[str, ...]:
    """Return a note if servers of one size do not add up to the cluster."""
    alike, gpus = request.nodes * request.cluster.server.gpus, request.cluster.gpus
    if len({m.gpus for m in request.cluster.machines if m.gpus}) == 1 and alike == gpus:
        return ()
    return (
        f"servers are all alike: {request.nodes:,} of {request.cluster.server.gpus} GPUs, "
        f"{alike:,} in all, for the cluster's {gpus:,}",
    )


def _cluster_row(target: Cluster) -> pl.DataFrame:
    server = target.server
    return pl.DataFrame(
        {
            "num_switch": [1],
            "num_node_p_switch": [-(-target.gpus // server.gpus)],
            "num_gpu_p_node": [server.gpus],
            # a job that exceeds the simulator's CPUs never starts; its preemptive schedules never
            # return memory when placing by yarn, until no job fits
            "num_cpu_p_node": [max(128, round(server.cpus or 0))],
            "mem_p_node": [_MEMORY_GB],
        }
    )


def _content(request: Request) -> Content:
    models = read_profiles("tiresias")
    jobs = job_rows(request.jobs)
    rows = assign(jobs, models.table, request.rng).with_columns(
        model_name="job_type", iterations="duration"
    )
    ranks = (np.arange(_GPU_TIMES) + 0.5) / _GPU_TIMES
    gpu_s = np.quantile(jobs["gpu_s"].to_numpy(), ranks, method="inverted_cdf")
    quantiles = pl.DataFrame({"duration": gpu_s.round().astype(int).clip(1)})
    notes = Notes(
        assumed=(
            "model: drawn uniformly among the simulator's nine, unless the workload names one; it "
            "decides its memory and network log only",
            "iterations: one a second (its schedulers do not read them)",
            *_homogeneous(request),
            f"{CLUSTER}: one switch; at least 128 CPUs a server and memory without end, so that "
            "GPUs decide",
            f"{GPU_TIMES}: the {_GPU_TIMES} quantiles of the GPU-seconds of these very jobs",
        ),
        sources=(models.source,),
    )
    tables = {JOBS: rows, CLUSTER: _cluster_row(request.cluster), GPU_TIMES: quantiles}
    return Content(tables, notes)


TIRESIAS = read_format(
    "tiresias",
    tiresias=delimited(
        {
            JOBS: LAYOUTS["tiresias"],
            CLUSTER: LAYOUTS["cluster"],
            GPU_TIMES: LAYOUTS["gpu_times"],
        },
        _content,
        accepted,
    ),
    muri=MURI,
    elasticflow=ELASTICFLOW,
    pai=PAI,
)
