"""Muri's CSV of jobs (SIGCOMM'22): Tiresias' with the stages of an iteration."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.delimited import FILE, Content, delimited
from philly_analysis.exports.dialect import Accepted, Notes, accepted_jobs
from philly_analysis.exports.formats.job_csv import LAYOUTS, job_rows
from philly_analysis.exports.layout import violations
from philly_analysis.exports.profiles import assign, read_profiles
from philly_analysis.exports.request import Request

_SLOWER = 1.015
"""Factor on the iteration times of Muri's files: the cost of its profiling."""


def _content(request: Request) -> Content:
    published = read_profiles("muri")
    jobs = job_rows(request.jobs, unit_s=1e-3)
    rows = assign(jobs, published.table, request.rng, by="gpus").with_columns(
        model_name="job_type",
        iterations=(pl.col("duration") / (pl.col("iteration_time") * _SLOWER))
        .round()
        .cast(pl.Int64)
        .clip(1),
        priority=pl.lit(0),
    )
    notes = Notes(
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
    return Content({FILE: rows}, notes)


def _check(path: Path, rows: pl.DataFrame, _: Path | None) -> list[str]:
    numbers = rows.with_columns(pl.col("iterations", "iteration_time", "duration").cast(pl.Float64))
    each = numbers["iteration_time"] * _SLOWER
    wrong = (numbers["iterations"] * each - numbers["duration"]).abs() > each
    return violations(path, rows["duration"], wrong, "duration is not iterations x iteration_time")


def _accepted(request: Request, rows: pl.DataFrame) -> Accepted:
    each_s = rows["iteration_time"].cast(pl.Float64) * _SLOWER / 1000
    return accepted_jobs(request, rows["num_gpu"], rows["iterations"].cast(pl.Float64) * each_s)


MURI = delimited({FILE: LAYOUTS["muri"]}, _content, _accepted, _check)
