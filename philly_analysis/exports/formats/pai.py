"""The job CSV of the simulator beside Alibaba's PAI trace (NSDI'22): with estimated run times."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Program, Written
from philly_analysis.exports.formats.job_csv import (
    DURATION,
    GPUS,
    NOT_CARRIED,
    NUMBERED,
    SUBMIT,
    jobs_csv,
    taken,
    timed,
)
from philly_analysis.exports.layout import COUNT, DECIMAL, NAME, POSITIVE, Field
from philly_analysis.exports.request import Request
from philly_analysis.study import Estimates

_ESTIMATES = ("user_dur", "user_gpu_dur", "group_dur", "group_gpu_dur")
_LAYOUT = jobs_csv(
    Field("job_id", COUNT),
    Field("user", NAME),
    Field("num_inst", POSITIVE),
    GPUS,
    Field("num_cpu", DECIMAL),
    Field("gpu_type", r"[A-Z0-9]+"),
    SUBMIT,
    DURATION,
    Field("wait_time", DECIMAL),
    *(Field(name, DECIMAL) for name in _ESTIMATES),
)


def _write(request: Request, path: Path) -> Written:
    jobs = timed(request.jobs)
    estimate = request.estimated_s().round(1)
    waits = pl.col("wait_s").clip(0)
    lines = jobs.with_columns(
        # its log of jobs wants numbers, and its order breaks ties by them
        job_id=pl.int_range(pl.len()),
        user="user_id",
        # it counts each of several instances as a job, and one node has all GPUs
        num_inst=pl.lit(1),
        num_cpu=pl.col("cpus_due").round(2),
        gpu_type=pl.lit("MISC"),
        wait_time=waits.fill_null(0).round(1),
        user_dur=estimate,
        user_gpu_dur=(estimate * pl.col("gpus")).round(1),
        group_dur=estimate,
        group_gpu_dur=(estimate * pl.col("gpus")).round(1),
    )
    _LAYOUT.write(lines, path)
    unknown_cpus = jobs["cpus"].null_count()
    return Written(
        jobs=lines.height,
        assumed=(
            "a gang is one instance of many GPUs: the simulator has one node with all of them",
            *([f"CPUs of {unknown_cpus:,} jobs: their share of a server"] if unknown_cpus else []),
            "GPU type MISC for every job",
            "groups are users: their estimated run times are the same",
            *(["waits not known: 0"] if jobs["wait_s"].null_count() else []),
        ),
        not_carried=(NUMBERED,),
    )


_RUN = """git clone https://github.com/alibaba/clusterdata
cd clusterdata/cluster-trace-gpu-v2020/simulator && git checkout 7a6c496
cp $$OUT traces/pai/pai_job_duration_estimate_100K.csv
python run_simulator.py -r -1 -n $jobs -g $gpus"""

PAI = Dialect(
    name="pai",
    program=Program(
        "the simulator of Alibaba's cluster-trace-gpu-v2020",
        source="alibaba/clusterdata 7a6c496, cluster-trace-gpu-v2020/simulator",
        needs="Python 3.11, numpy 1.26, matplotlib",
        command=_RUN,
        rules="every job, times in whole seconds; larger gangs would be cut to the cluster",
    ),
    carries="arrival, user, gang size, CPUs, run time, wait, estimated run times",
    write=_write,
    taken=lambda request, path: taken(request, path, _LAYOUT),
    faults=lambda path, _: _LAYOUT.faults(path),
    not_carried=NOT_CARRIED,
    estimates=(
        Estimates.HISTORY,
        Estimates.EXACT,
        Estimates.NOISY,
        Estimates.ROUNDED,
    ),
)
