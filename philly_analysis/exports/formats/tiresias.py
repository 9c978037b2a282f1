"""Tiresias' job CSV (NSDI'19) and its dialects: Muri, ElasticFlow, Alibaba's PAI simulator."""

from pathlib import Path

import numpy as np
import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Dialect, Format, Written
from philly_analysis.exports.layout import COUNT, DECIMAL, NAME, POSITIVE, Field, Layout, broken
from philly_analysis.exports.profiles import assign, history, profiles
from philly_analysis.exports.request import Request
from philly_analysis.workload.target import Cluster

JOBS, CLUSTER, GPU_TIMES = "jobs.csv", "cluster.csv", "yarn-gput1000.csv"
_GPU_TIMES = 1000

_ID, _GPUS = Field("job_id", NAME), Field("num_gpu", POSITIVE)
_SUBMIT, _INTERVAL = Field("submit_time", COUNT), Field("interval", COUNT)
_MODEL, _DURATION = Field("model_name", r"[a-z0-9_]+"), Field("duration", POSITIVE)

_TIRESIAS = Layout(
    (_ID, _GPUS, _SUBMIT, Field("iterations", POSITIVE), _MODEL, _DURATION, _INTERVAL),
    ascending="submit_time",
    unique="job_id",
)
_CLUSTER = Layout(
    tuple(
        Field(name, POSITIVE)
        for name in (
            "num_switch",
            "num_node_p_switch",
            "num_gpu_p_node",
            "num_cpu_p_node",
            "mem_p_node",
        )
    )
)
_SAMPLE = Layout((Field("duration", POSITIVE),), ascending="duration")
_MURI = Layout(
    (
        _ID,
        _GPUS,
        _SUBMIT,
        Field("iterations", POSITIVE),
        _MODEL,
        Field("batch_size", POSITIVE),
        _DURATION,
        _INTERVAL,
        Field("iteration_time", POSITIVE),
        *(Field(f"resource_time_{i}", DECIMAL) for i in range(3)),
        Field("priority", "[01]"),
    ),
    ascending="submit_time",
    unique="job_id",
)
_ELASTICFLOW = Layout(
    (
        Field("job_id", COUNT),
        _SUBMIT,
        Field("iteration", POSITIVE),
        _MODEL,
        Field("ddl", POSITIVE),
        Field("batch_size", POSITIVE),
        _GPUS,
        _DURATION,
        Field("best_effort", "[01]"),
    ),
    ascending="submit_time",
    unique="job_id",
)
_ESTIMATES = ("user_dur", "user_gpu_dur", "group_dur", "group_gpu_dur")
_PAI = Layout(
    (
        _ID,
        Field("user", NAME),
        Field("num_inst", POSITIVE),
        _GPUS,
        Field("num_cpu", DECIMAL),
        Field("gpu_type", r"[A-Z0-9]+"),
        _SUBMIT,
        _DURATION,
        Field("wait_time", DECIMAL),
        *(Field(name, DECIMAL) for name in _ESTIMATES),
    ),
    ascending="submit_time",
    unique="job_id",
)

_INSTANCE_GPUS = 8
_DEADLINES = (0.5, 1.5)
_POWERS = (1, 2, 4, 8, 16, 32, 64)


def _timed(jobs: pl.DataFrame, unit_s: float = 1.0) -> pl.DataFrame:
    """Add the columns that all dialects share, times in whole units of `unit_s` seconds."""
    submit = (pl.col("submit_s") / unit_s).round().cast(pl.Int64)
    return jobs.with_columns(
        job_id="id",
        num_gpu="gpus",
        submit_time=submit,
        duration=(pl.col("run_s") / unit_s).round().cast(pl.Int64).clip(1),
        interval=submit.diff().fill_null(0),
    )


def _cluster_row(target: Cluster) -> pl.DataFrame:
    server = target.server
    return pl.DataFrame(
        {
            "num_switch": [1],
            "num_node_p_switch": [-(-target.gpus // server.gpus)],
            "num_gpu_p_node": [server.gpus],
            # jobs must fit the CPUs that the simulator counts, or they never start
            "num_cpu_p_node": [max(128, round(server.cpus or 0))],
            "mem_p_node": [max(256, round(server.mem_gb or 0))],
        }
    )


def _write_tiresias(request: Request, folder: Path) -> Written:
    models = profiles("tiresias")
    jobs = _timed(request.jobs.with_columns(one=pl.lit(1)))
    lines = assign(
        jobs, models.table.with_columns(one=pl.lit(1, pl.Int32)), "one", request.rng
    ).with_columns(model_name="job_type", iterations="duration")
    _TIRESIAS.write(lines, folder / JOBS)
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
            f"{CLUSTER}: one switch; at least 128 CPUs and 256 GB a server, so that GPUs decide",
            f"{GPU_TIMES}: the {_GPU_TIMES} quantiles of the GPU-seconds of these very jobs",
        ),
        sources=(models.source,),
    )


def _faults_tiresias(folder: Path, _: Path | None) -> list[str]:
    return [
        *_TIRESIAS.faults(folder / JOBS),
        *_CLUSTER.faults(folder / CLUSTER),
        *_SAMPLE.faults(folder / GPU_TIMES),
    ]


def _write_muri(request: Request, path: Path) -> Written:
    published = profiles("muri")
    lines = assign(
        _timed(request.jobs, unit_s=1e-3), published.table, "gpus", request.rng
    ).with_columns(
        model_name="job_type",
        iterations=(pl.col("duration") / pl.col("iteration_time")).round().cast(pl.Int64).clip(1),
        priority=pl.lit(0),
    )
    _MURI.write(lines, path)
    return Written(
        jobs=lines.height,
        assumed=(
            "model, batch and stage times: drawn uniformly among the profiles of the job's gang "
            "size, unless the workload names a model",
            "priority 0 (resource guarantee) for every job",
        ),
        sources=(published.source,),
    )


def _faults_muri(path: Path, _: Path | None) -> list[str]:
    found = _MURI.faults(path)
    if found:
        return found
    rows = _MURI.read(path).with_columns(
        pl.col("iterations", "iteration_time", "duration").cast(pl.Float64)
    )
    apart = (rows["iterations"] * rows["iteration_time"] - rows["duration"]).abs()
    wrong = apart > rows["iteration_time"]
    return broken(path, rows["duration"], wrong, "duration is not iterations x iteration_time")


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


def _write_elasticflow(request: Request, path: Path) -> Written:
    table = speeds(request.measured)
    jobs = _timed(request.jobs)
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
    _ELASTICFLOW.write(lines, path)
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
        lost=("job ids: numbered from 0 by submission, then job id",),
    )


def _faults_elasticflow(path: Path, throughputs: Path | None) -> list[str]:
    found = _ELASTICFLOW.faults(path)
    if found:
        return found
    rows = _ELASTICFLOW.read(path)
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


def _instances(gpus: int) -> int:
    """Return the least number of equal instances of at most 8 GPUs each."""
    return next(n for n in range(1, gpus + 1) if gpus % n == 0 and gpus // n <= _INSTANCE_GPUS)


def _write_pai(request: Request, path: Path) -> Written:
    jobs = _timed(request.jobs)
    sizes = jobs["gpus"].unique().to_list()
    instances = pl.col("gpus").replace_strict(sizes, [_instances(g) for g in sizes])
    estimate = history(jobs, "user").round(1)
    waits = pl.col("wait_s").clip(0)
    lines = jobs.with_columns(
        user="user_id",
        num_inst=instances,
        num_gpu=pl.col("gpus") // instances,
        num_cpu=(pl.col("cpus_due") / instances).round(2),
        gpu_type=pl.lit("MISC"),
        wait_time=waits.fill_null(0).round(1),
        user_dur=estimate,
        user_gpu_dur=(estimate * pl.col("gpus")).round(1),
        group_dur=estimate,
        group_gpu_dur=(estimate * pl.col("gpus")).round(1),
    )
    _PAI.write(lines, path)
    unknown_cpus = jobs["cpus"].null_count()
    return Written(
        jobs=lines.height,
        assumed=(
            "gangs over 8 GPUs: the fewest equal instances of at most 8",
            *([f"CPUs of {unknown_cpus:,} jobs: their share of a server"] if unknown_cpus else []),
            "GPU type MISC for every job",
            "estimated run times (user and group alike): mean of the user's jobs that had "
            "finished at submission, as if nobody waited",
            *(["waits not known: 0"] if jobs["wait_s"].null_count() else []),
        ),
        lost=("run with -r -1, or the simulator draws its own submission times",),
    )


_NEVER = ("virtual cluster, status, attempts and placements",)

TIRESIAS = Format(
    "tiresias",
    (
        Dialect(
            name="tiresias",
            reader="Tiresias' simulator",
            carries="arrival, gang size, run time, cluster shape, GPU-time sample",
            write=_write_tiresias,
            faults=_faults_tiresias,
            lost=("users", *_NEVER, "fractions of a second"),
            folder=True,
        ),
        Dialect(
            name="muri",
            reader="Muri's simulator (all times in milliseconds)",
            carries="arrival, gang size, run time",
            write=_write_muri,
            faults=_faults_muri,
            lost=("users", *_NEVER, "gangs that are not a power of two up to 32"),
            gangs=_POWERS[:-1],
        ),
        Dialect(
            name="elasticflow",
            reader="ElasticFlow's simulator",
            carries="arrival, gang size, run time",
            write=_write_elasticflow,
            faults=_faults_elasticflow,
            lost=("users", *_NEVER, "gangs that are not a power of two up to 64"),
            gangs=_POWERS,
            throughputs="the consumer's folder of throughputs (such as its throughputs_A100)",
        ),
        Dialect(
            name="pai",
            reader="the simulator of Alibaba's cluster-trace-gpu-v2020",
            carries="arrival, user, gang size, CPUs, run time, wait, estimated run times",
            write=_write_pai,
            faults=lambda path, _: _PAI.faults(path),
            lost=_NEVER,
        ),
    ),
)
