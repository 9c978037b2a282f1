"""Inputs of Tiresias' simulator (NSDI'19), and of those that grew from it or read the like."""

from pathlib import Path

import numpy as np
import polars as pl

from philly_analysis.exports.format import Dialect, Format, Program, Written
from philly_analysis.exports.formats.elasticflow import ELASTICFLOW
from philly_analysis.exports.formats.job_csv import (
    DURATION,
    GPUS,
    ID,
    INTERVAL,
    MODEL,
    NOT_CARRIED,
    SERVERS,
    SUBMIT,
    jobs_csv,
    taken,
    timed,
)
from philly_analysis.exports.formats.muri import MURI
from philly_analysis.exports.formats.pai import PAI
from philly_analysis.exports.layout import POSITIVE, Field, Layout
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request
from philly_analysis.workload import Cluster

JOBS, CLUSTER, GPU_TIMES = "jobs.csv", "cluster.csv", "yarn-gput1000.csv"
_GPU_TIMES = 1000
_MEMORY_GB = 10**12

_JOBS = jobs_csv(ID, GPUS, SUBMIT, Field("iterations", POSITIVE), MODEL, DURATION, INTERVAL)
_CLUSTER = Layout(tuple(Field(name, POSITIVE) for name in SERVERS))
_SAMPLE = Layout((Field("duration", POSITIVE),), ascending="duration")


def _homogeneous(request: Request) -> tuple[str, ...]:
    """Say so where servers that are all alike do not add up to the cluster."""
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
            # jobs must fit the CPUs that the simulator counts, or they never start; of memory its
            # preemptive schedules give none back when placing by yarn, until no job fits
            "num_cpu_p_node": [max(128, round(server.cpus or 0))],
            "mem_p_node": [_MEMORY_GB],
        }
    )


def _write(request: Request, folder: Path) -> Written:
    models = profiles("tiresias")
    jobs = timed(request.jobs.with_columns(one=pl.lit(1)))
    lines = assign(
        jobs, models.table.with_columns(one=pl.lit(1, pl.Int32)), "one", request.rng
    ).with_columns(model_name="job_type", iterations="duration")
    _JOBS.write(lines, folder / JOBS)
    _CLUSTER.write(_cluster_row(request.cluster), folder / CLUSTER)
    ranks = (np.arange(_GPU_TIMES) + 0.5) / _GPU_TIMES
    gpu_s = np.quantile(jobs["gpu_s"].to_numpy(), ranks, method="inverted_cdf")
    sample = pl.DataFrame({"duration": gpu_s.round().astype(int).clip(1)})
    _SAMPLE.write(sample, folder / GPU_TIMES)
    return Written(
        jobs=lines.height,
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


def _faults(folder: Path, _: Path | None) -> list[str]:
    return [
        *_JOBS.faults(folder / JOBS),
        *_CLUSTER.faults(folder / CLUSTER),
        *_SAMPLE.faults(folder / GPU_TIMES),
    ]


_RUN = """git clone https://github.com/SymbioticLab/Tiresias && cd Tiresias/simulator
git checkout 959f9b0 && cp $$OUT/yarn-gput1000.csv .
python2.7 run_sim.py --cluster_spec=$$OUT/cluster.csv --trace_file=$$OUT/jobs.csv \\
  --schedule=fifo --scheme=count --log_path=result"""

TIRESIAS = Format(
    "tiresias",
    (
        Dialect(
            name="tiresias",
            program=Program(
                "Tiresias' simulator",
                source="SymbioticLab/Tiresias 959f9b0",
                needs="Python 2.7.18, numpy 1.16.6",
                command=_RUN,
                rules="every job whose gang the cluster has room for, times in whole seconds",
            ),
            carries="arrival, gang size, run time, cluster shape, GPU-time sample",
            write=_write,
            taken=lambda request, folder: taken(request, folder / JOBS, _JOBS),
            faults=_faults,
            not_carried=("users", *NOT_CARRIED, "fractions of a second"),
            folder=True,
        ),
        MURI,
        ELASTICFLOW,
        PAI,
    ),
)
