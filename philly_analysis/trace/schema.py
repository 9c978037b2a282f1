"""Declare the tables of a trace: columns, types, units, keys, references and checks.

Times are UTC, stored as timestamps without a zone. A table or column that a source cannot fill is
absent or null.
"""

from datetime import timedelta
from functools import partial

from philly_analysis.study import END_REASONS, STATUSES
from philly_analysis.trace.columns import Column, Reference, Table

VERSION = 3
"""Version of this schema, as a trace's manifest records it; a trace without a version has 1.

Version 2 added to attempts: run_s, eligible_at, wait_reason, ended_by; to jobs: cluster, account,
qos, pool, gpu_model, gpu_frac; to placements: rows without a GPU index; to samples: seconds, SM
activity, memory, power; and the tables devices and summaries.
"""

LONGEST_READING = timedelta(hours=1)
"""Longest interval that one sample may cover."""

optional = partial(Column, nullable=True)
"""A column whose values may be null."""


def _one_of(column: str, values: tuple[str, ...]) -> str:
    return f"{column} in ({', '.join(repr(v) for v in values)})"


_JOB_ID = Column("job_id", "varchar", "job identifier as the scheduler gave it", text="name")
_ATTEMPT = Column("attempt", "integer", "which attempt of the job, from 1", "attempt >= 1")
_MACHINE_ID = Column("machine_id", "varchar", "server identifier", text="name")
_AT = Column("sampled_at", "timestamp", "start of the interval that the sample covers")
_SECONDS = optional(
    "seconds",
    "double",
    "length of that interval; null: 60",
    f"seconds > 0 and seconds <= {LONGEST_READING.total_seconds():.0f}",
)

JOBS = Table(
    name="jobs",
    row="a submitted job",
    columns=(
        _JOB_ID,
        optional("vc", "varchar", "virtual cluster, queue or partition", text="name"),
        optional("user", "varchar", "who submitted it", text="name"),
        optional(
            "gpus", "integer", "gang size: GPUs allocated together; null: unknown", "gpus >= 0"
        ),
        Column("submitted_at", "timestamp", "when it was submitted"),
        optional(
            "eligible_at",
            "timestamp",
            "when it waited for resources only",
            "eligible_at >= submitted_at",
        ),
        optional("status", "varchar", "how it ended", _one_of("status", STATUSES), text="nothing"),
        optional("cpus", "double", "CPU cores requested", "cpus >= 0"),
        optional("mem_gb", "double", "host memory requested", "mem_gb >= 0"),
        optional("time_limit_s", "double", "run time limit", "time_limit_s > 0"),
        optional("job_type", "varchar", "what it computes, e.g. a model name", text="name"),
        optional("cluster", "varchar", "cluster that it was submitted to", text="name"),
        optional(
            "scheduler_id",
            "varchar",
            "identifier that users type, where job_id extends it",
            text="name",
        ),
        optional("account", "varchar", "account or project that it is charged to", text="name"),
        optional("qos", "varchar", "quality of service, priority class", text="name"),
        optional(
            "pool",
            "varchar",
            "pool of machines that may run it; a includes a/b; null: any",
            text="path",
        ),
        optional("gpu_model", "varchar", "GPU model requested; null: any", text="nothing"),
        optional(
            "gpu_frac",
            "double",
            "share of each GPU requested; null: all of it",
            "gpu_frac > 0 and gpu_frac <= 1",
        ),
        optional(
            "flag", "varchar", "why the row is not trusted; null: no reason known", text="nothing"
        ),
    ),
    key=("job_id",),
)

ATTEMPTS = Table(
    name="attempts",
    row="one scheduling attempt of a job",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        optional("started_at", "timestamp", "when its GPUs were allocated"),
        optional(
            "ended_at",
            "timestamp",
            "when they were released; null: unknown or running",
            "ended_at >= started_at",
        ),
        optional("run_s", "double", "run time, if start and end do not give it", "run_s >= 0"),
        optional("gpus", "integer", "GPUs allocated; null: unknown", "gpus >= 0"),
        optional(
            "end_reason",
            "varchar",
            "how it ended, if the source records it",
            _one_of("end_reason", END_REASONS),
            text="nothing",
        ),
        optional("exit_code", "integer", "exit code of its last process"),
        optional("ended_by", "varchar", "user who ended it: a name or number", text="name"),
        optional("eligible_at", "timestamp", "when it waited for resources only; null: as the job"),
        optional(
            "wait_reason", "varchar", "reason for waiting that the scheduler gave", text="phrase"
        ),
        optional(
            "guest", "boolean", "whether it ran on GPUs that stay free for other jobs; null: no"
        ),
        optional(
            "work_s",
            "double",
            "seconds of its work that were done and kept; null: its run time",
            "work_s >= 0",
        ),
        optional(
            "lost_s",
            "double",
            "seconds of its work that were done and lost; null: none",
            "lost_s >= 0",
        ),
        optional(
            "flag", "varchar", "why the row is not trusted; null: no reason known", text="nothing"
        ),
    ),
    key=("job_id", "attempt"),
    references=(Reference("jobs", ("job_id",)),),
)

PLACEMENTS = Table(
    name="placements",
    row="one GPU allocated to one attempt; or its GPUs of a server, if the log does not name them",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        _MACHINE_ID,
        optional(
            "gpu", "integer", "index of the GPU in its server, from 0; null: unknown", "gpu >= 0"
        ),
        optional(
            "container", "integer", "index of the attempt's container, from 0", "container >= 0"
        ),
        optional(
            "gpus",
            "integer",
            "GPUs of the server in this row; null: one if gpu is known, else unknown",
            "gpus >= 1 and (gpu is null or gpus = 1)",
        ),
    ),
    key=("job_id", "attempt", "machine_id", "gpu"),
    references=(
        Reference("attempts", ("job_id", "attempt")),
        Reference("machines", ("machine_id",)),
    ),
)

MACHINES = Table(
    name="machines",
    row="a server",
    columns=(
        _MACHINE_ID,
        Column(
            "gpus",
            "integer",
            "GPUs that placements and samples show, else those listed",
            "gpus >= 0",
        ),
        optional(
            "gpus_listed",
            "integer",
            "GPUs in the machine list, else in telemetry",
            "gpus_listed >= 0",
        ),
        optional("cpus", "double", "CPU cores", "cpus > 0"),
        optional("mem_gb", "double", "host memory", "mem_gb > 0"),
        optional("gpu_model", "varchar", "model of its GPUs", text="nothing"),
        optional("gpu_mem_gb", "double", "memory of one GPU", "gpu_mem_gb > 0"),
        optional("rack", "varchar", "rack or network domain; p/r is rack r of pod p", text="path"),
        optional("cluster", "varchar", "cluster that it belongs to", text="name"),
        optional("pool", "varchar", "pool that it belongs to; a/b is part of a", text="path"),
    ),
    key=("machine_id",),
)

GPU_SAMPLES = Table(
    name="gpu_samples",
    row="one reading of a machine's GPUs",
    columns=(
        _AT,
        _MACHINE_ID,
        Column(
            "util_pct",
            "double[]",
            "utilisation by GPU index, one value per GPU; a null value: offline",
            "len(list_filter(util_pct, lambda u: u < 0 or u > 100)) = 0",
        ),
        _SECONDS,
        optional(
            "sm_active_pct",
            "double[]",
            "mean share of active multiprocessors, by GPU index",
            "len(list_filter(sm_active_pct, lambda u: u < 0 or u > 100)) = 0",
        ),
        optional(
            "mem_used_gb",
            "double[]",
            "GPU memory in use, by GPU index",
            "len(list_filter(mem_used_gb, lambda m: m < 0)) = 0",
        ),
        optional(
            "power_w",
            "double[]",
            "power drawn, by GPU index",
            "len(list_filter(power_w, lambda w: w < 0)) = 0",
        ),
    ),
    key=("sampled_at", "machine_id"),
    references=(Reference("machines", ("machine_id",)),),
    streamed=True,
)

DEVICES = Table(
    name="devices",
    row="a GPU or MIG instance of a machine, at its index in the lists of samples",
    columns=(
        _MACHINE_ID,
        Column(
            "gpu",
            "integer",
            "index in the lists, from 0: the GPU's index, unless the machine has MIG instances",
            "gpu >= 0",
        ),
        optional("uuid", "varchar", "identifier from the manufacturer", text="name"),
        optional("bus_id", "varchar", "place on the PCI bus", text="nothing"),
        optional("model", "varchar", "model of GPU", text="nothing"),
        optional("mem_gb", "double", "its memory", "mem_gb > 0"),
        optional("of_gpu", "integer", "index of the GPU that it is an instance of"),
        optional(
            "mig_instance", "varchar", "number of the MIG instance in its GPU", text="nothing"
        ),
        optional("mig_profile", "varchar", "profile of the MIG instance", text="nothing"),
        Column("util_metric", "varchar", "metric of its utilisation", text="nothing"),
    ),
    key=("machine_id", "gpu"),
    references=(Reference("machines", ("machine_id",)),),
)

SUMMARIES = Table(
    name="summaries",
    row="a monitor's summary of an attempt, per server or GPU",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        optional("machine_id", "varchar", "server identifier", text="name"),
        optional(
            "gpu", "integer", "index of the GPU in its server; null: of several GPUs", "gpu >= 0"
        ),
        optional("worker", "varchar", "worker of the attempt; null: all", text="name"),
        optional("gpus", "integer", "GPUs that the row covers; null: none", "gpus >= 1"),
        optional("util_pct", "double", "their mean utilisation", "util_pct between 0 and 100"),
        optional("gpu_mem_used_gb", "double", "peak GPU memory in use", "gpu_mem_used_gb >= 0"),
        optional("gpu_mem_gb", "double", "memory of these GPUs", "gpu_mem_gb > 0"),
        optional("cpus_used", "double", "mean CPU cores in use", "cpus_used >= 0"),
        optional("cpus", "double", "CPU cores allocated", "cpus >= 0"),
        optional("mem_used_gb", "double", "peak host memory in use", "mem_used_gb >= 0"),
        optional("mem_gb", "double", "host memory allocated", "mem_gb >= 0"),
        optional("seconds", "double", "interval that it summarises; null: unknown", "seconds >= 0"),
    ),
    key=("job_id", "attempt", "machine_id", "gpu", "worker"),
    references=(Reference("attempts", ("job_id", "attempt")),),
)

HOST_SAMPLES = Table(
    name="host_samples",
    row="one reading of a machine",
    columns=(
        _AT,
        _MACHINE_ID,
        optional("cpu_pct", "double", "CPU utilisation", "cpu_pct between 0 and 100"),
        optional(
            "mem_used_gb",
            "double",
            "memory in use, page cache included",
            "mem_used_gb between 0 and mem_gb",
        ),
        optional("mem_gb", "double", "total memory", "mem_gb > 0"),
        _SECONDS,
    ),
    key=("sampled_at", "machine_id"),
    references=(Reference("machines", ("machine_id",)),),
    streamed=True,
)

FAILURES = Table(
    name="failures",
    row="one failed attempt whose output is known",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        Column(
            "reason",
            "varchar",
            "why it failed; 'No signature': no signature matched",
            text="nothing",
        ),
        optional("tier", "varchar", "IF, AE, U joined by +; empty: none", text="nothing"),
        optional("fine", "varchar", "finer cause, if there is one", text="nothing"),
        optional("rule", "varchar", "signature that matched", text="nothing"),
        optional("line", "bigint", "number of the matching line, from 1"),
        optional("excerpt", "varchar", "matching lines, secrets masked", text="text"),
    ),
    key=("job_id", "attempt"),
    references=(Reference("attempts", ("job_id", "attempt")),),
)

VIRTUAL_CLUSTERS = Table(
    name="virtual_clusters",
    row="a virtual cluster and its quota",
    columns=(
        Column("vc", "varchar", "virtual cluster", text="name"),
        Column("gpus", "integer", "quota", "gpus >= 0"),
    ),
    key=("vc",),
)

SPEEDS = Table(
    name="speeds",
    row="an interval of an attempt at one speed, on the same CPUs and memory",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        Column("started_at", "timestamp", "when it began"),
        Column("ended_at", "timestamp", "when it ended", "ended_at >= started_at"),
        Column("speed", "double", "seconds of work done per second; 0: it restarted", "speed >= 0"),
        optional("cpus", "double", "CPU cores allocated; null: not counted", "cpus >= 0"),
        optional("mem_gb", "double", "host memory allocated; null: not counted", "mem_gb >= 0"),
    ),
    key=("job_id", "attempt", "started_at"),
    references=(Reference("attempts", ("job_id", "attempt")),),
)

HOLDS = Table(
    name="holds",
    row="an idle GPU reserved for a gang that was not complete yet",
    columns=(
        _JOB_ID,
        Column("attempt", "integer", "attempt that started later, from 1", "attempt >= 1"),
        _MACHINE_ID,
        Column("gpu", "integer", "index of the GPU in its server, from 0", "gpu >= 0"),
        Column("started_at", "timestamp", "when it was reserved"),
        Column(
            "ended_at",
            "timestamp",
            "when it was released, or the gang was complete",
            "ended_at >= started_at",
        ),
    ),
    key=("job_id", "attempt", "machine_id", "gpu", "started_at"),
    references=(
        Reference("attempts", ("job_id", "attempt")),
        Reference("machines", ("machine_id",)),
    ),
)

REJECTS = Table(
    name="rejects",
    row="one raw row that was rejected",
    columns=(
        Column("table", "varchar", "table that it was meant for", text="nothing"),
        Column("source_file", "varchar", "raw file", text="name"),
        optional("source_line", "bigint", "line (or entry, for JSON) in it, from 1"),
        Column("reason", "varchar", "why it was rejected", text="sentence"),
        optional("raw", "varchar", "the row, shortened", text="text"),
    ),
    key=(),
)

TABLES: dict[str, Table] = {
    t.name: t
    for t in (
        JOBS,
        MACHINES,
        ATTEMPTS,
        PLACEMENTS,
        GPU_SAMPLES,
        HOST_SAMPLES,
        DEVICES,
        SUMMARIES,
        FAILURES,
        VIRTUAL_CLUSTERS,
        SPEEDS,
        HOLDS,
    )
}
"""The tables of a trace; each table follows those that it refers to."""
