"""Tiresias' job CSV (NSDI'19) and its dialects: Muri, ElasticFlow, Alibaba's PAI simulator."""

from pathlib import Path

import numpy as np
import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written, taken_of
from philly_analysis.exports.layout import COUNT, DECIMAL, NAME, POSITIVE, Field, Layout, broken
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request
from philly_analysis.study import Estimates
from philly_analysis.workload.target import Cluster

JOBS, CLUSTER, GPU_TIMES = "jobs.csv", "cluster.csv", "yarn-gput1000.csv"
_GPU_TIMES = 1000
_MEMORY_GB = 10**12

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
        Field("job_id", COUNT),
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

_DEADLINES = (0.5, 1.5)
_MURI_SLOWER = 1.015
"""Muri's iterations take this many times what its files say: what its profiling costs."""

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


def _taken(request: Request, path: Path, layout: Layout) -> Taken:
    rows = layout.read(path)
    return taken_of(request, rows["num_gpu"], rows["duration"])


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
            *_homogeneous(request),
            f"{CLUSTER}: one switch; at least 128 CPUs a server and memory without end, so that "
            "GPUs decide",
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
        iterations=(pl.col("duration") / (pl.col("iteration_time") * _MURI_SLOWER))
        .round()
        .cast(pl.Int64)
        .clip(1),
        priority=pl.lit(0),
    )
    _MURI.write(lines, path)
    return Written(
        jobs=lines.height,
        assumed=(
            "model, batch and stage times: drawn uniformly among the profiles of the job's gang "
            "size, unless the workload names a model",
            "priority 0 (resource guarantee) for every job",
            f"iterations: so many that they take the run time, each {_MURI_SLOWER} times as long "
            "as profiled, as the simulator has it; at each event it lets running jobs lose 3 to "
            "50 s besides",
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
    each = rows["iteration_time"] * _MURI_SLOWER
    wrong = (rows["iterations"] * each - rows["duration"]).abs() > each
    return broken(path, rows["duration"], wrong, "duration is not iterations x iteration_time")


def _taken_muri(request: Request, path: Path) -> Taken:
    rows = _MURI.read(path)
    each_s = rows["iteration_time"].cast(pl.Float64) * _MURI_SLOWER / 1000
    return taken_of(request, rows["num_gpu"], rows["iterations"].cast(pl.Float64) * each_s)


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
        not_carried=("job ids: numbered from 0 by submission, then job id",),
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


def _write_pai(request: Request, path: Path) -> Written:
    jobs = _timed(request.jobs)
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
    _PAI.write(lines, path)
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
        not_carried=("job ids: numbered from 0 by submission, then job id",),
    )


_NEVER = ("virtual cluster, status, attempts and placements",)

_TIRESIAS_RUN = """git clone https://github.com/SymbioticLab/Tiresias && cd Tiresias/simulator
git checkout 959f9b0 && cp $$OUT/yarn-gput1000.csv .
python2.7 run_sim.py --cluster_spec=$$OUT/cluster.csv --trace_file=$$OUT/jobs.csv \\
  --schedule=fifo --scheme=count --log_path=result"""
_MURI_RUN = """git clone https://github.com/Rivendile/Muri && cd Muri/simulator
git checkout 4e69a78 && mkdir -p result
echo num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node > export.csv
echo 1,$nodes,$per_node,128,256 >> export.csv
python run_sim.py --cluster_spec=export.csv --trace_file=$$OUT --schedule=shortest \\
  --scheme=yarn --multi_resource=4 --log_path=result/"""
_PAI_RUN = """git clone https://github.com/alibaba/clusterdata
cd clusterdata/cluster-trace-gpu-v2020/simulator && git checkout 7a6c496
cp $$OUT traces/pai/pai_job_duration_estimate_100K.csv
python run_simulator.py -r -1 -n $jobs -g $gpus"""

TIRESIAS = Format(
    "tiresias",
    (
        Dialect(
            name="tiresias",
            program=Program(
                "Tiresias' simulator",
                source="SymbioticLab/Tiresias 959f9b0",
                needs="Python 2.7.18, numpy 1.16.6",
                command=_TIRESIAS_RUN,
                rules="every job whose gang the cluster has room for, times in whole seconds",
            ),
            carries="arrival, gang size, run time, cluster shape, GPU-time sample",
            write=_write_tiresias,
            taken=lambda request, folder: _taken(request, folder / JOBS, _TIRESIAS),
            faults=_faults_tiresias,
            not_carried=("users", *_NEVER, "fractions of a second"),
            folder=True,
        ),
        Dialect(
            name="muri",
            program=Program(
                "Muri's simulator",
                source="Rivendile/Muri 4e69a78",
                needs="Python 3.11, numpy 1.26, cvxpy 1.7",
                command=_MURI_RUN,
                rules="gangs of 1, 2, 4, 8, 16 and 32 GPUs, times in whole milliseconds",
            ),
            carries="arrival, gang size, run time",
            write=_write_muri,
            taken=_taken_muri,
            faults=_faults_muri,
            not_carried=("users", *_NEVER),
            gangs=_POWERS[:-1],
        ),
        Dialect(
            name="elasticflow",
            program=Program(
                "ElasticFlow's simulator",
                rules="gangs of 1 to 64 GPUs, powers of two, times in whole seconds",
            ),
            carries="arrival, gang size, run time",
            write=_write_elasticflow,
            taken=lambda request, path: _taken(request, path, _ELASTICFLOW),
            faults=_faults_elasticflow,
            not_carried=("users", *_NEVER),
            gangs=_POWERS,
            throughputs="the consumer's folder of throughputs (such as its throughputs_A100)",
        ),
        Dialect(
            name="pai",
            program=Program(
                "the simulator of Alibaba's cluster-trace-gpu-v2020",
                source="alibaba/clusterdata 7a6c496, cluster-trace-gpu-v2020/simulator",
                needs="Python 3.11, numpy 1.26, matplotlib",
                command=_PAI_RUN,
                rules="every job, times in whole seconds; larger gangs would be cut to the cluster",
            ),
            carries="arrival, user, gang size, CPUs, run time, wait, estimated run times",
            write=_write_pai,
            taken=lambda request, path: _taken(request, path, _PAI),
            faults=lambda path, _: _PAI.faults(path),
            not_carried=_NEVER,
            estimates=(
                Estimates.HISTORY,
                Estimates.EXACT,
                Estimates.NOISY,
                Estimates.ROUNDED,
            ),
        ),
    ),
)
