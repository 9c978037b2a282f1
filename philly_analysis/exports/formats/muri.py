"""Muri's job CSV (SIGCOMM'22): Tiresias' with the stages of an iteration."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Program, Taken, Written, taken_of
from philly_analysis.exports.formats.job_csv import (
    CLUSTER,
    DURATION,
    GPUS,
    ID,
    INTERVAL,
    MODEL,
    NOT_CARRIED,
    SUBMIT,
    jobs_csv,
    timed,
)
from philly_analysis.exports.layout import DECIMAL, POSITIVE, Field, broken
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request

_LAYOUT = jobs_csv(
    ID,
    GPUS,
    SUBMIT,
    Field("iterations", POSITIVE),
    MODEL,
    Field("batch_size", POSITIVE),
    DURATION,
    INTERVAL,
    Field("iteration_time", POSITIVE),
    *(Field(f"resource_time_{i}", DECIMAL) for i in range(3)),
    Field("priority", "[01]"),
)
_SLOWER = 1.015
"""Its iterations take this many times what its files say: what its profiling costs."""


def _write(request: Request, path: Path) -> Written:
    published = profiles("muri")
    lines = assign(
        timed(request.jobs, unit_s=1e-3), published.table, "gpus", request.rng
    ).with_columns(
        model_name="job_type",
        iterations=(pl.col("duration") / (pl.col("iteration_time") * _SLOWER))
        .round()
        .cast(pl.Int64)
        .clip(1),
        priority=pl.lit(0),
    )
    _LAYOUT.write(lines, path)
    return Written(
        jobs=lines.height,
        assumed=(
            "model, batch and stage times: drawn uniformly among the profiles of the job's gang "
            "size, unless the workload names a model",
            "priority 0 (resource guarantee) for every job",
            f"iterations: so many that they take the run time, each {_SLOWER} times as long "
            "as profiled, as the simulator has it; at each event it lets running jobs lose 3 to "
            "50 s besides",
        ),
        sources=(published.source,),
    )


def _faults(path: Path, _: Path | None) -> list[str]:
    found = _LAYOUT.faults(path)
    if found:
        return found
    rows = _LAYOUT.read(path).with_columns(
        pl.col("iterations", "iteration_time", "duration").cast(pl.Float64)
    )
    each = rows["iteration_time"] * _SLOWER
    wrong = (rows["iterations"] * each - rows["duration"]).abs() > each
    return broken(path, rows["duration"], wrong, "duration is not iterations x iteration_time")


def _taken(request: Request, path: Path) -> Taken:
    rows = _LAYOUT.read(path)
    each_s = rows["iteration_time"].cast(pl.Float64) * _SLOWER / 1000
    return taken_of(request, rows["num_gpu"], rows["iterations"].cast(pl.Float64) * each_s)


_RUN = f"""git clone https://github.com/Rivendile/Muri && cd Muri/simulator
git checkout 4e69a78 && mkdir -p result
{CLUSTER}python run_sim.py --cluster_spec=export.csv --trace_file=$$OUT --schedule=shortest \\
  --scheme=yarn --multi_resource=4 --log_path=result/"""

MURI = Dialect(
    name="muri",
    program=Program(
        "Muri's simulator",
        source="Rivendile/Muri 4e69a78",
        needs="Python 3.11, numpy 1.26, cvxpy 1.7",
        command=_RUN,
        rules="gangs of 1, 2, 4, 8, 16 and 32 GPUs, times in whole milliseconds",
    ),
    carries="arrival, gang size, run time",
    write=_write,
    taken=_taken,
    faults=_faults,
    not_carried=("users", *NOT_CARRIED),
    gangs=(1, 2, 4, 8, 16, 32),
)
