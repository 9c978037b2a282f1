"""The tables of a trace, as `philly tables` shows them.

Times are UTC throughout, stored as timestamps without a zone; a table or column that a source
cannot fill is absent or null.
"""

from datetime import timedelta

from philly_analysis.study import END_REASONS, STATUSES
from philly_analysis.trace.columns import Column, Reference, Table

VERSION = 3
"""Version of this schema, as a trace's manifest records it; traces without one have 1.

2: attempts may say how long they ran where their start is not known, when they could start, what
they waited for and who ended them; jobs may name cluster, account, QOS, pool and GPU model, and
ask for a part of a GPU; placements may name a server and how many of its GPUs, not which; samples
may say for how many seconds each reading stands, and more than utilisation; which device stands at
which place of their lists, and what a monitor summed up of whole attempts, are tables.
"""

LONGEST_READING = timedelta(hours=1)
"""What a sample may stand for at most."""


def _one_of(column: str, values: tuple[str, ...]) -> str:
    return f"{column} in ({', '.join(repr(v) for v in values)})"


_JOB_ID = Column("job_id", "varchar", "job identifier as the scheduler gave it", tells="name")
_ATTEMPT = Column("attempt", "integer", "which attempt of the job, from 1", check="attempt >= 1")
_MACHINE_ID = Column("machine_id", "varchar", "server identifier", tells="name")
_AT = Column("sampled_at", "timestamp", "moment from which the reading stands", unit="UTC")
_SECONDS = Column(
    "seconds",
    "double",
    "how long from then on; null: 60",
    unit="s",
    nullable=True,
    check=f"seconds > 0 and seconds <= {LONGEST_READING.total_seconds():.0f}",
)

JOBS = Table(
    name="jobs",
    row="a submitted job",
    columns=(
        _JOB_ID,
        Column("vc", "varchar", "virtual cluster, queue or partition", nullable=True, tells="name"),
        Column("user", "varchar", "who submitted it", nullable=True, tells="name"),
        Column(
            "gpus",
            "integer",
            "gang size: GPUs held together; null: never known",
            unit="GPUs",
            nullable=True,
            check="gpus >= 0",
        ),
        Column("submitted_at", "timestamp", "when it was submitted", unit="UTC"),
        Column(
            "eligible_at",
            "timestamp",
            "when nothing but resources kept it waiting",
            unit="UTC",
            nullable=True,
            check="eligible_at >= submitted_at",
        ),
        Column(
            "status",
            "varchar",
            "how it ended",
            nullable=True,
            check=_one_of("status", STATUSES),
            tells="nothing",
        ),
        Column("cpus", "double", "CPU cores asked for", nullable=True, check="cpus >= 0"),
        Column(
            "mem_gb",
            "double",
            "host memory asked for",
            unit="GB",
            nullable=True,
            check="mem_gb >= 0",
        ),
        Column(
            "time_limit_s",
            "double",
            "run time after which it is killed",
            unit="s",
            nullable=True,
            check="time_limit_s > 0",
        ),
        Column(
            "job_type",
            "varchar",
            "what it computes, e.g. a model's name",
            nullable=True,
            tells="name",
        ),
        Column(
            "cluster", "varchar", "cluster that it was submitted to", nullable=True, tells="name"
        ),
        Column(
            "scheduler_id",
            "varchar",
            "identifier that people type, where job_id adds to it",
            nullable=True,
            tells="name",
        ),
        Column(
            "account",
            "varchar",
            "account or project that it is charged to",
            nullable=True,
            tells="name",
        ),
        Column("qos", "varchar", "quality of service, priority class", nullable=True, tells="name"),
        Column(
            "pool",
            "varchar",
            "machines that may serve it, by name; a is all of a/b; null: any",
            nullable=True,
            tells="path",
        ),
        Column(
            "gpu_model",
            "varchar",
            "model of GPU that it asks for; null: any",
            nullable=True,
            tells="nothing",
        ),
        Column(
            "gpu_frac",
            "double",
            "share of each GPU that it asks for; null: all of it",
            nullable=True,
            check="gpu_frac > 0 and gpu_frac <= 1",
        ),
        Column(
            "flag",
            "varchar",
            "why the row is kept but not trusted; null: nothing known",
            nullable=True,
            tells="nothing",
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
        Column("started_at", "timestamp", "when it got its GPUs", unit="UTC", nullable=True),
        Column(
            "ended_at",
            "timestamp",
            "when it gave them back; null: unknown or still running",
            unit="UTC",
            nullable=True,
            check="ended_at >= started_at",
        ),
        Column(
            "run_s",
            "double",
            "seconds that it ran, where start and end do not say: one of them "
            "is unknown, or it was suspended meanwhile",
            unit="s",
            nullable=True,
            check="run_s >= 0",
        ),
        Column(
            "gpus",
            "integer",
            "GPUs it held; null: unknown",
            unit="GPUs",
            nullable=True,
            check="gpus >= 0",
        ),
        Column(
            "end_reason",
            "varchar",
            "how it ended, where the source says so",
            nullable=True,
            check=_one_of("end_reason", END_REASONS),
            tells="nothing",
        ),
        Column("exit_code", "integer", "exit code of its last process", nullable=True),
        Column(
            "ended_by",
            "varchar",
            "who ended it, where somebody did: a user's name or number",
            nullable=True,
            tells="name",
        ),
        Column(
            "eligible_at",
            "timestamp",
            "when nothing but resources kept it waiting; null: as the job",
            unit="UTC",
            nullable=True,
        ),
        Column(
            "wait_reason",
            "varchar",
            "what the scheduler said that it waited for",
            nullable=True,
            tells="phrase",
        ),
        Column(
            "guest",
            "boolean",
            "whether it ran on GPUs that stayed free for others to hold; null: no",
            nullable=True,
        ),
        Column(
            "work_s",
            "double",
            "what it got done and kept of the run asked of it; null: as long as it ran",
            unit="s",
            nullable=True,
            check="work_s >= 0",
        ),
        Column(
            "lost_s",
            "double",
            "what it got done of that run and lost; null: nothing",
            unit="s",
            nullable=True,
            check="lost_s >= 0",
        ),
        Column(
            "flag",
            "varchar",
            "why the row is kept but not trusted; null: nothing known",
            nullable=True,
            tells="nothing",
        ),
    ),
    key=("job_id", "attempt"),
    references=(Reference("jobs", ("job_id",)),),
)

PLACEMENTS = Table(
    name="placements",
    row="one GPU held by one attempt; or, where the log does not say which, its GPUs of a server",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        _MACHINE_ID,
        Column(
            "gpu",
            "integer",
            "index of the GPU in its server, from 0; null: not known which",
            nullable=True,
            check="gpu >= 0",
        ),
        Column(
            "container",
            "integer",
            "which container of the attempt held it, from 0",
            nullable=True,
            check="container >= 0",
        ),
        Column(
            "gpus",
            "integer",
            "GPUs of that server that the row stands for; null: one where gpu "
            "is known, else not known how many",
            unit="GPUs",
            nullable=True,
            check="gpus >= 1 and (gpu is null or gpus = 1)",
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
            "GPUs that placements and samples show; else those listed",
            unit="GPUs",
            check="gpus >= 0",
        ),
        Column(
            "gpus_listed",
            "integer",
            "GPUs that the machine list claims, or telemetry where there is none",
            unit="GPUs",
            nullable=True,
            check="gpus_listed >= 0",
        ),
        Column("cpus", "double", "CPU cores", nullable=True, check="cpus > 0"),
        Column("mem_gb", "double", "host memory", unit="GB", nullable=True, check="mem_gb > 0"),
        Column("gpu_model", "varchar", "model of its GPUs", nullable=True, tells="nothing"),
        Column(
            "gpu_mem_gb",
            "double",
            "memory of one GPU",
            unit="GB",
            nullable=True,
            check="gpu_mem_gb > 0",
        ),
        Column(
            "rack",
            "varchar",
            "rack or network domain, by name; p/r is rack r of pod p",
            nullable=True,
            tells="path",
        ),
        Column("cluster", "varchar", "cluster that it belongs to", nullable=True, tells="name"),
        Column(
            "pool",
            "varchar",
            "pool that it belongs to, by name; a/b is part of a",
            nullable=True,
            tells="path",
        ),
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
            unit="%",
            check="len(list_filter(util_pct, lambda u: u < 0 or u > 100)) = 0",
        ),
        _SECONDS,
        Column(
            "sm_active_pct",
            "double[]",
            "multiprocessors with work, on average, by GPU index",
            unit="%",
            nullable=True,
            check="len(list_filter(sm_active_pct, lambda u: u < 0 or u > 100)) = 0",
        ),
        Column(
            "mem_used_gb",
            "double[]",
            "GPU memory in use, by GPU index",
            unit="GB",
            nullable=True,
            check="len(list_filter(mem_used_gb, lambda m: m < 0)) = 0",
        ),
        Column(
            "power_w",
            "double[]",
            "power drawn, by GPU index",
            unit="W",
            nullable=True,
            check="len(list_filter(power_w, lambda w: w < 0)) = 0",
        ),
    ),
    key=("sampled_at", "machine_id"),
    references=(Reference("machines", ("machine_id",)),),
    streamed=True,
)

DEVICES = Table(
    name="devices",
    row="a GPU of a machine, or a MIG instance of one, at its place in the lists of samples",
    columns=(
        _MACHINE_ID,
        Column(
            "gpu",
            "integer",
            "place in the lists, from 0: the GPU's index, unless the machine has MIG instances",
            check="gpu >= 0",
        ),
        Column("uuid", "varchar", "identifier that the maker gave it", nullable=True, tells="name"),
        Column("bus_id", "varchar", "place on the PCI bus", nullable=True, tells="nothing"),
        Column("model", "varchar", "model of GPU", nullable=True, tells="nothing"),
        Column("mem_gb", "double", "its memory", unit="GB", nullable=True, check="mem_gb > 0"),
        Column("of_gpu", "integer", "index of the GPU that it is an instance of", nullable=True),
        Column(
            "mig_instance",
            "varchar",
            "number of the MIG instance in its GPU",
            nullable=True,
            tells="nothing",
        ),
        Column(
            "mig_profile",
            "varchar",
            "profile of the MIG instance",
            nullable=True,
            tells="nothing",
        ),
        Column("util_metric", "varchar", "which reading its utilisation is", tells="nothing"),
    ),
    key=("machine_id", "gpu"),
    references=(Reference("machines", ("machine_id",)),),
)

SUMMARIES = Table(
    name="summaries",
    row="what a monitor summed up of an attempt: of a server, or of GPUs there",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        Column("machine_id", "varchar", "server identifier", nullable=True, tells="name"),
        Column(
            "gpu",
            "integer",
            "index of the GPU in its server; null: not of one GPU",
            nullable=True,
            check="gpu >= 0",
        ),
        Column(
            "worker",
            "varchar",
            "which worker of the attempt; null: all",
            nullable=True,
            tells="name",
        ),
        Column(
            "gpus",
            "integer",
            "GPUs that the row speaks of; null: of none",
            unit="GPUs",
            nullable=True,
            check="gpus >= 1",
        ),
        Column(
            "util_pct",
            "double",
            "their mean utilisation over the whole time",
            unit="%",
            nullable=True,
            check="util_pct between 0 and 100",
        ),
        Column(
            "gpu_mem_used_gb",
            "double",
            "most GPU memory in use",
            unit="GB",
            nullable=True,
            check="gpu_mem_used_gb >= 0",
        ),
        Column(
            "gpu_mem_gb", "double", "their memory", unit="GB", nullable=True, check="gpu_mem_gb > 0"
        ),
        Column(
            "cpus_used",
            "double",
            "CPU cores in use on average",
            nullable=True,
            check="cpus_used >= 0",
        ),
        Column("cpus", "double", "CPU cores held", nullable=True, check="cpus >= 0"),
        Column(
            "mem_used_gb",
            "double",
            "most host memory in use",
            unit="GB",
            nullable=True,
            check="mem_used_gb >= 0",
        ),
        Column(
            "mem_gb", "double", "host memory held", unit="GB", nullable=True, check="mem_gb >= 0"
        ),
        Column(
            "seconds",
            "double",
            "time that it sums up; null: not known",
            unit="s",
            nullable=True,
            check="seconds >= 0",
        ),
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
        Column(
            "cpu_pct",
            "double",
            "CPU utilisation",
            unit="%",
            nullable=True,
            check="cpu_pct between 0 and 100",
        ),
        Column(
            "mem_used_gb",
            "double",
            "memory in use, page cache included",
            unit="GB",
            nullable=True,
            check="mem_used_gb between 0 and mem_gb",
        ),
        Column("mem_gb", "double", "memory in total", unit="GB", nullable=True, check="mem_gb > 0"),
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
            "reason", "varchar", "why it failed; 'No signature': nothing matched", tells="nothing"
        ),
        Column(
            "tier", "varchar", "IF, AE, U joined by +; empty: none", nullable=True, tells="nothing"
        ),
        Column(
            "fine", "varchar", "finer cause, where there is one", nullable=True, tells="nothing"
        ),
        Column("rule", "varchar", "signature that decided", nullable=True, tells="nothing"),
        Column("line", "bigint", "number of the deciding line, from 1", nullable=True),
        Column("excerpt", "varchar", "deciding lines, secrets masked", nullable=True, tells="text"),
    ),
    key=("job_id", "attempt"),
    references=(Reference("attempts", ("job_id", "attempt")),),
)

VIRTUAL_CLUSTERS = Table(
    name="virtual_clusters",
    row="a virtual cluster and its quota",
    columns=(
        Column("vc", "varchar", "virtual cluster", tells="name"),
        Column("gpus", "integer", "GPUs it is entitled to", unit="GPUs", check="gpus >= 0"),
    ),
    key=("vc",),
)

SPEEDS = Table(
    name="speeds",
    row="a stretch of an attempt at one speed, on the same CPUs and memory",
    columns=(
        _JOB_ID,
        _ATTEMPT,
        Column("started_at", "timestamp", "when it began", unit="UTC"),
        Column(
            "ended_at", "timestamp", "when it ended", unit="UTC", check="ended_at >= started_at"
        ),
        Column(
            "speed",
            "double",
            "seconds of the run asked of it that a second got done; 0: it restarted",
            check="speed >= 0",
        ),
        Column(
            "cpus", "double", "CPU cores held; null: not counted", nullable=True, check="cpus >= 0"
        ),
        Column(
            "mem_gb",
            "double",
            "host memory held; null: not counted",
            unit="GB",
            nullable=True,
            check="mem_gb >= 0",
        ),
    ),
    key=("job_id", "attempt", "started_at"),
    references=(Reference("attempts", ("job_id", "attempt")),),
)

HOLDS = Table(
    name="holds",
    row="a GPU held idle by a gang that was not whole yet",
    columns=(
        _JOB_ID,
        Column("attempt", "integer", "attempt that it led to, from 1", check="attempt >= 1"),
        _MACHINE_ID,
        Column("gpu", "integer", "index of the GPU in its server, from 0", check="gpu >= 0"),
        Column("started_at", "timestamp", "from when on", unit="UTC"),
        Column(
            "ended_at",
            "timestamp",
            "until it was given back, or the gang was whole",
            unit="UTC",
            check="ended_at >= started_at",
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
    row="one raw row that no table took",
    columns=(
        Column("table", "varchar", "table that it was meant for", tells="nothing"),
        Column("source_file", "varchar", "raw file", tells="name"),
        Column("source_line", "bigint", "line (or entry, for JSON) in it, from 1", nullable=True),
        Column("reason", "varchar", "why it was rejected", tells="sentence"),
        Column("raw", "varchar", "the row as it stood, shortened", nullable=True, tells="text"),
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
"""The tables of a trace; a table stands after those it refers to."""
