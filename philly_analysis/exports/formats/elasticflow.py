"""ElasticFlow's CSV of jobs (ASPLOS'23): Tiresias' with deadlines."""

from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.delimited import FILE, Content, delimited, unknown
from philly_analysis.exports.dialect import Notes
from philly_analysis.exports.formats.job_csv import LAYOUTS, NUMBERED, accepted, job_rows
from philly_analysis.exports.layout import violations
from philly_analysis.exports.profiles import assign, check_gangs
from philly_analysis.exports.request import Request

_DEADLINES = (0.5, 1.5)


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


def _content(request: Request) -> Content:
    table = read_speeds(request.speeds_file)
    jobs = job_rows(request.jobs)
    check_gangs(jobs, table, request.speeds_file)
    slack = pl.Series(request.rng.uniform(*_DEADLINES, jobs.height))
    rows = assign(jobs, table, request.rng, by="gpus").with_columns(
        job_id=pl.int_range(pl.len()),
        model_name="job_type",
        iteration=(pl.col("run_s") * pl.col("iterations_per_s")).round().cast(pl.Int64).clip(1),
        ddl=(pl.col("submit_time") + (slack * pl.col("duration")).floor().cast(pl.Int64)).clip(1),
        best_effort=pl.lit(0),
    )
    low, high = _DEADLINES
    notes = Notes(
        assumed=(
            "model and batch size: drawn uniformly among those with a speed at all numbers of GPUs",
            f"iterations: run time x the speeds in {request.speeds_file.name}",
            f"deadline: submission + U({low}, {high}) x run time, its generator's default",
            "no job is best-effort",
        ),
        sources=(f"speeds: {request.speeds_file.name}, as given",),
        not_carried=(NUMBERED,),
    )
    return Content({FILE: rows}, notes)


def _check(path: Path, rows: pl.DataFrame, throughputs: Path | None) -> list[str]:
    late = rows["ddl"].cast(pl.Int64) < rows["submit_time"].cast(pl.Int64)
    found = violations(path, rows["ddl"], late, "a deadline before submission")
    if throughputs is not None:
        measured = rows.rename({"model_name": "job_type", "num_gpu": "gpus"})
        wrong = unknown(measured, read_speeds(throughputs), ["job_type", "batch_size", "gpus"])
        found += violations(path, rows["model_name"], wrong, "model without a speed")
    return found


ELASTICFLOW = delimited({FILE: LAYOUTS["elasticflow"]}, _content, accepted, _check)
