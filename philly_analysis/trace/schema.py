"""Declare the tables of a trace: columns, types, units, keys, references and checks.

Times are UTC, stored as timestamps without a zone. A table or column that a source cannot fill is
absent or null.
"""

from datetime import timedelta
from functools import partial

from philly_analysis.study import END_REASONS, STATUSES
from philly_analysis.trace.columns import Column, Reference, Table, TextKind

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


def text(name: str, meaning: str, reveals: TextKind, *, check: str = "") -> Column:
    """Declare an optional column of text, with what it may reveal."""
    return optional(name, "varchar", meaning, check, reveals)


def number(name: str, meaning: str, check: str = "") -> Column:
    """Declare an optional column of numbers."""
    return optional(name, "double", meaning, check)


def integer(name: str, meaning: str, check: str = "") -> Column:
    """Declare an optional column of integers."""
    return optional(name, "integer", meaning, check)


def time(name: str, meaning: str, check: str = "") -> Column:
    """Declare an optional column of moments."""
    return optional(name, "timestamp", meaning, check)


def by_gpu(name: str, meaning: str, wrong: str, *, nullable: bool = True) -> Column:
    """Declare a column of lists of numbers, by GPU index; `wrong`: condition on a value ``u``."""
    check = f"len(list_filter({name}, lambda u: {wrong})) = 0"
    return Column(name, "double[]", f"by GPU index: {meaning}", check, nullable=nullable)


def _one_of(column: str, values: tuple[str, ...]) -> str:
    return f"{column} in ({', '.join(repr(v) for v in values)})"


_JOB_ID = Column("job_id", "varchar", "job identifier as the scheduler gave it", text="name")
_ATTEMPT = Column("attempt", "integer", "which attempt of the job, from 1", "attempt >= 1")
_MACHINE_ID = Column("machine_id", "varchar", "server identifier", text="name")
_AT = Column("sampled_at", "timestamp", "start of the interval that the sample covers")
_SECONDS = number(
    "seconds",
    "length of that interval; null: 60",
    f"seconds > 0 and seconds <= {LONGEST_READING.total_seconds():.0f}",
)

_OF_ATTEMPT = Reference("attempts", ("job_id", "attempt"))
_OF_MACHINE = Reference("machines", ("machine_id",))
_UNTRUSTED = text("flag", "why the row is not trusted; null: no reason known", "nothing")

JOBS = Table(
    name="jobs",
    row="a submitted job",
    columns=(
        _JOB_ID,
        text("vc", "virtual cluster, queue or partition", "name"),
        text("user", "who submitted it", "name"),
        integer("gpus", "gang size: GPUs allocated together; null: unknown", "gpus >= 0"),
        Column("submitted_at", "timestamp", "when it was submitted"),
        time("eligible_at", "when it waited for resources only", "eligible_at >= submitted_at"),
        text("status", "how it ended", "nothing", check=_one_of("status", STATUSES)),
        number("cpus", "CPU cores requested", "cpus >= 0"),
        number("mem_gb", "host memory requested", "mem_gb >= 0"),
        number("time_limit_s", "run time limit", "time_limit_s > 0"),
        text("job_type", "what it computes, e.g. a model name", "name"),
        text("cluster", "cluster that it was submitted to", "name"),
        text("scheduler_id", "identifier that users type, where job_id extends it", "name"),
        text("account", "account or project that it is charged to", "name"),
        text("qos", "quality of service, priority class", "name"),
        text("pool", "pool of machines that may run it; a includes a/b; null: any", "path"),
        text("gpu_model", "GPU model requested; null: any", "nothing"),
        number(
            "gpu_frac",
            "share of each GPU requested; null: all of it",
            "gpu_frac > 0 and gpu_frac <= 1",
        ),
        _UNTRUSTED,
    ),
    key=("job_id",),
)

ATTEMPTS = Table(
    name="attempts",
    row="one scheduling attempt of a job",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        time("started_at", "when its GPUs were allocated"),
        time(
            "ended_at",
            "when they were released; null: unknown or running",
            "ended_at >= started_at",
        ),
        number("run_s", "run time, if start and end do not give it", "run_s >= 0"),
        integer("gpus", "GPUs allocated; null: unknown", "gpus >= 0"),
        text(
            "end_reason",
            "how it ended, if the source records it",
            "nothing",
            check=_one_of("end_reason", END_REASONS),
        ),
        integer("exit_code", "exit code of its last process"),
        text("ended_by", "user who ended it: a name or number", "name"),
        time("eligible_at", "when it waited for resources only; null: as the job"),
        text("wait_reason", "reason for waiting that the scheduler gave", "phrase"),
        optional(
            "guest", "boolean", "whether it ran on GPUs that stay free for other jobs; null: no"
        ),
        number(
            "work_s",
            "seconds of its work that were done and kept; null: its run time",
            "work_s >= 0",
        ),
        number("lost_s", "seconds of its work that were done and lost; null: none", "lost_s >= 0"),
        _UNTRUSTED,
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
        integer("gpu", "index of the GPU in its server, from 0; null: unknown", "gpu >= 0"),
        integer("container", "index of the attempt's container, from 0", "container >= 0"),
        integer(
            "gpus",
            "GPUs of the server in this row; null: one if gpu is known, else unknown",
            "gpus >= 1 and (gpu is null or gpus = 1)",
        ),
    ),
    key=("job_id", "attempt", "machine_id", "gpu"),
    references=(_OF_ATTEMPT, _OF_MACHINE),
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
        integer("gpus_listed", "GPUs in the machine list, else in telemetry", "gpus_listed >= 0"),
        number("cpus", "CPU cores", "cpus > 0"),
        number("mem_gb", "host memory", "mem_gb > 0"),
        text("gpu_model", "model of its GPUs", "nothing"),
        number("gpu_mem_gb", "memory of one GPU", "gpu_mem_gb > 0"),
        text("rack", "rack or network domain; p/r is rack r of pod p", "path"),
        text("cluster", "cluster that it belongs to", "name"),
        text("pool", "pool that it belongs to; a/b is part of a", "path"),
    ),
    key=("machine_id",),
)

GPU_SAMPLES = Table(
    name="gpu_samples",
    row="one reading of a machine's GPUs",
    columns=(
        _AT,
        _MACHINE_ID,
        by_gpu("util_pct", "utilisation; null: offline", "u < 0 or u > 100", nullable=False),
        _SECONDS,
        by_gpu("sm_active_pct", "mean share of active multiprocessors", "u < 0 or u > 100"),
        by_gpu("mem_used_gb", "GPU memory in use", "u < 0"),
        by_gpu("power_w", "power drawn", "u < 0"),
    ),
    key=("sampled_at", "machine_id"),
    references=(_OF_MACHINE,),
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
        text("uuid", "identifier from the manufacturer", "name"),
        text("bus_id", "place on the PCI bus", "nothing"),
        text("model", "model of GPU", "nothing"),
        number("mem_gb", "its memory", "mem_gb > 0"),
        integer("of_gpu", "index of the GPU that it is an instance of"),
        text("mig_instance", "number of the MIG instance in its GPU", "nothing"),
        text("mig_profile", "profile of the MIG instance", "nothing"),
        Column("util_metric", "varchar", "metric of its utilisation", text="nothing"),
    ),
    key=("machine_id", "gpu"),
    references=(_OF_MACHINE,),
)

SUMMARIES = Table(
    name="summaries",
    row="a monitor's summary of an attempt, per server or GPU",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        text("machine_id", "server identifier", "name"),
        integer("gpu", "index of the GPU in its server; null: of several GPUs", "gpu >= 0"),
        text("worker", "worker of the attempt; null: all", "name"),
        integer("gpus", "GPUs that the row covers; null: none", "gpus >= 1"),
        number("util_pct", "their mean utilisation", "util_pct between 0 and 100"),
        number("gpu_mem_used_gb", "peak GPU memory in use", "gpu_mem_used_gb >= 0"),
        number("gpu_mem_gb", "memory of these GPUs", "gpu_mem_gb > 0"),
        number("cpus_used", "mean CPU cores in use", "cpus_used >= 0"),
        number("cpus", "CPU cores allocated", "cpus >= 0"),
        number("mem_used_gb", "peak host memory in use", "mem_used_gb >= 0"),
        number("mem_gb", "host memory allocated", "mem_gb >= 0"),
        number("seconds", "interval that it summarises; null: unknown", "seconds >= 0"),
    ),
    key=("job_id", "attempt", "machine_id", "gpu", "worker"),
    references=(_OF_ATTEMPT,),
)

HOST_SAMPLES = Table(
    name="host_samples",
    row="one reading of a machine",
    columns=(
        _AT,
        _MACHINE_ID,
        number("cpu_pct", "CPU utilisation", "cpu_pct between 0 and 100"),
        number(
            "mem_used_gb", "memory in use, page cache included", "mem_used_gb between 0 and mem_gb"
        ),
        number("mem_gb", "total memory", "mem_gb > 0"),
        _SECONDS,
    ),
    key=("sampled_at", "machine_id"),
    references=(_OF_MACHINE,),
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
        text("tier", "IF, AE, U joined by +; empty: none", "nothing"),
        text("fine", "finer cause, if there is one", "nothing"),
        text("rule", "signature that matched", "nothing"),
        optional("line", "bigint", "number of the matching line, from 1"),
        text("excerpt", "matching lines, secrets masked", "text"),
    ),
    key=("job_id", "attempt"),
    references=(_OF_ATTEMPT,),
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
        number("cpus", "CPU cores allocated; null: not counted", "cpus >= 0"),
        number("mem_gb", "host memory allocated; null: not counted", "mem_gb >= 0"),
    ),
    key=("job_id", "attempt", "started_at"),
    references=(_OF_ATTEMPT,),
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
    references=(_OF_ATTEMPT, _OF_MACHINE),
)

REJECTS = Table(
    name="rejects",
    row="one raw row that was rejected",
    columns=(
        Column("table", "varchar", "table that it was meant for", text="nothing"),
        Column("source_file", "varchar", "raw file", text="name"),
        optional("source_line", "bigint", "line (or entry, for JSON) in it, from 1"),
        Column("reason", "varchar", "why it was rejected", text="sentence"),
        text("raw", "the row, shortened", "text"),
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
