"""ElasticFlow's job CSV (ASPLOS'23): Tiresias' with deadlines."""

from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Dialect, Program, Written
from philly_analysis.exports.formats.job_csv import (
    CLUSTER,
    DURATION,
    GPUS,
    MODEL,
    NOT_CARRIED,
    NUMBERED,
    SUBMIT,
    jobs_csv,
    taken,
    timed,
)
from philly_analysis.exports.layout import COUNT, POSITIVE, Field, broken
from philly_analysis.exports.profiles import assign
from philly_analysis.exports.request import Request

_LAYOUT = jobs_csv(
    Field("job_id", COUNT),
    SUBMIT,
    Field("iteration", POSITIVE),
    MODEL,
    Field("ddl", POSITIVE),
    Field("batch_size", POSITIVE),
    GPUS,
    DURATION,
    Field("best_effort", "[01]"),
)
_DEADLINES = (0.5, 1.5)
_POWERS = (1, 2, 4, 8, 16, 32, 64)


def speeds(folder: Path) -> pl.DataFrame:
    """Read ElasticFlow's folder of throughputs: job_type, batch_size, gpus, iterations_per_s.

    Raises
    ------
    ExportError
        The folder is missing, or a file in it is not laid out as there.
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
    # elastic policies divide by the speed at any number of GPUs: one that lacks some crashes them
    whole = (pl.col("iterations_per_s").fill_null(0) > 0).all().over("job_type", "batch_size")
    return pl.concat(tables).filter(whole)


def _write(request: Request, path: Path) -> Written:
    table = speeds(request.measured)
    jobs = timed(request.jobs)
    if unknown := set(jobs["gpus"].unique()) - set(table["gpus"].unique()):
        raise ExportError(f"{request.measured} has no speed for gangs of {sorted(unknown)} GPUs.")
    slack = pl.Series(request.rng.uniform(*_DEADLINES, jobs.height))
    lines = assign(jobs, table, "gpus", request.rng).with_columns(
        job_id=pl.int_range(pl.len()),
        model_name="job_type",
        iteration=(pl.col("run_s") * pl.col("iterations_per_s")).round().cast(pl.Int64).clip(1),
        ddl=(pl.col("submit_time") + (slack * pl.col("duration")).floor().cast(pl.Int64)).clip(1),
        best_effort=pl.lit(0),
    )
    _LAYOUT.write(lines, path)
    low, high = _DEADLINES
    return Written(
        jobs=lines.height,
        assumed=(
            "model and batch size: drawn uniformly among those with a speed at all numbers of GPUs",
            f"iterations: run time x the speeds in {request.measured.name}",
            f"deadline: submission + U({low}, {high}) x run time, its generator's default",
            "no job is best-effort",
        ),
        sources=(f"speeds: {request.measured.name}, as given",),
        not_carried=(NUMBERED,),
    )


def _faults(path: Path, throughputs: Path | None) -> list[str]:
    found = _LAYOUT.faults(path)
    if found:
        return found
    rows = _LAYOUT.read(path)
    late = rows["ddl"].cast(pl.Int64) < rows["submit_time"].cast(pl.Int64)
    found += broken(path, rows["ddl"], late, "a deadline before submission")
    if throughputs is not None:
        key = ["job_type", "batch_size", "gpus"]
        known = rows.select(
            job_type="model_name",
            batch_size=pl.col("batch_size").cast(pl.Int64),
            gpus=pl.col("num_gpu").cast(pl.Int32),
        ).join(speeds(throughputs), on=key, how="left", maintain_order="left")
        unknown = known["iterations_per_s"].is_null()
        found += broken(path, rows["model_name"], unknown, "model without a speed")
    return found


_RUN = f"""git clone https://github.com/pkusys/ElasticFlow && cd ElasticFlow/ElasticFlow/scheduler
git checkout 04a0109 && make && mkdir -p result
{CLUSTER}python scheduler.py --cluster_spec=export.csv --trace_file=$$OUT --schedule=dlas-gpu \\
  --scheme=elastic --scheduling_slot=60 --gpu_type=A100 --log_path=result"""

ELASTICFLOW = Dialect(
    name="elasticflow",
    program=Program(
        "ElasticFlow's simulator",
        source="pkusys/ElasticFlow 04a0109",
        needs="Python 3.9, numpy 1.26, cvxpy 1.4, pandas 2.0, grpcio-tools, psutil, scikit-learn",
        command=_RUN,
        rules="gangs of 1 to 64 GPUs, powers of two, times in whole seconds",
    ),
    carries="arrival, gang size, run time",
    write=_write,
    taken=lambda request, path: taken(request, path, _LAYOUT),
    faults=_faults,
    not_carried=("users", *NOT_CARRIED),
    gangs=_POWERS,
    throughputs="the consumer's folder of throughputs (such as its throughputs_A100)",
)
