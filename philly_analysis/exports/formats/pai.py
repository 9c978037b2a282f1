"""CSV of jobs of the simulator in Alibaba's PAI trace (NSDI'22): with estimated run times."""

import polars as pl

from philly_analysis.exports.delimited import FILE, Content, delimited
from philly_analysis.exports.dialect import Notes
from philly_analysis.exports.formats.job_csv import LAYOUTS, NUMBERED, accepted, job_rows
from philly_analysis.exports.request import Request


def _content(request: Request) -> Content:
    jobs = job_rows(request.jobs)
    estimate = request.estimated_s().round(1)
    gpu_estimate = (estimate * pl.col("gpus")).round(1)
    rows = jobs.with_columns(
        # the simulator's log requires numbers, and its job order breaks ties by them
        job_id=pl.int_range(pl.len()),
        user="user_id",
        # it counts each of several instances as a job, and one node has all GPUs
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
        assumed=(
            "a gang is one instance of many GPUs: the simulator has one node with all of them",
            *([f"CPUs of {unknown_cpus:,} jobs: their share of a server"] if unknown_cpus else []),
            "GPU type MISC for every job",
            "groups are users: their estimated run times are the same",
            *(["waits not known: 0"] if jobs["wait_s"].null_count() else []),
        ),
        not_carried=(NUMBERED,),
    )
    return Content({FILE: rows}, notes)


PAI = delimited({FILE: LAYOUTS["pai"]}, _content, accepted)
