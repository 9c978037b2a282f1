"""The Standard Workload Format 2.2 of the Parallel Workloads Archive: 18 numbers a line."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written, taken_of
from philly_analysis.exports.layout import COUNT, POSITIVE, Field, Layout, broken
from philly_analysis.exports.request import Request
from philly_analysis.exports.sanitize import safe
from philly_analysis.study import FAILED, KILLED, PASS, Estimates

_UNKNOWN = "-1"
_NUMBER = f"{_UNKNOWN}|{COUNT}"
STATUS = {PASS: 1, FAILED: 0, KILLED: 5}
"""Statuses as SWF numbers them."""

_LAYOUT = Layout(
    (
        Field("job", POSITIVE), Field("submit", COUNT), Field("wait", _NUMBER),
        Field("run", COUNT), Field("alloc_procs", POSITIVE), Field("avg_cpu", _NUMBER),
        Field("used_mem", _NUMBER), Field("req_procs", POSITIVE), Field("req_time", _NUMBER),
        Field("req_mem", _NUMBER), Field("status", "-1|[0-5]"), Field("user", POSITIVE),
        Field("group", _NUMBER), Field("exe", _NUMBER), Field("queue", POSITIVE),
        Field("partition", _NUMBER), Field("prev", _NUMBER), Field("think", _NUMBER),
    ),
    separator=" ",
    header=False,
    ascending="submit",
    unique="job",
    comment=";",
)  # fmt: skip
_KEYS = (
    "Version",
    "UnixStartTime",
    "TimeZoneString",
    "MaxJobs",
    "MaxRecords",
    "MaxNodes",
    "MaxProcs",
)
_KB_PER_GB = 1 << 20


def numbers(names: pl.Series) -> pl.Expr:
    """Return the expression that numbers names from 1 in their own order; a null has none."""
    known = names.drop_nulls().unique().sort()
    return pl.col(names.name).replace_strict(
        known, pl.int_range(1, known.len() + 1, eager=True), default=None
    )


def _whole(column: str) -> pl.Expr:
    return pl.col(column).round().cast(pl.Int64)


def _write(request: Request, path: Path) -> Written:
    jobs = request.jobs
    unknown = pl.lit(-1)
    start, end = jobs["submitted_at"].dt.epoch("s")[0], jobs["submitted_at"].dt.epoch("s")[-1]
    early = int((jobs["wait_s"] < 0).sum())
    limited = jobs["time_limit_s"].is_not_null().sum()
    lines = jobs.select(
        job=pl.int_range(1, pl.len() + 1),
        submit=_whole("submit_s"),
        wait=pl.when(pl.col("wait_s") >= 0).then(_whole("wait_s")),
        run=_whole("run_s"),
        alloc_procs="gpus",
        req_procs="gpus",
        # schedulers that order by the time asked for have no order without it
        req_time=pl.coalesce("time_limit_s", request.estimated_s()).ceil().cast(pl.Int64).clip(1),
        req_mem=(pl.col("mem_gb") * _KB_PER_GB / pl.col("gpus")).round().cast(pl.Int64),
        status=pl.col("status").replace_strict(STATUS, default=None),
        user=numbers(jobs["user"]),
        exe=numbers(jobs["job_type"]),
        queue=numbers(jobs["vc"]),
        **dict.fromkeys(("avg_cpu", "used_mem", "group", "partition", "prev", "think"), unknown),
    ).with_columns(pl.all().fill_null(-1))
    vcs = safe(jobs["vc"].unique().sort())
    target = request.cluster
    comments = (
        " Version: 2.2",
        f" Computer: {safe(pl.Series([request.workload.name]))[0]}",
        f" MaxJobs: {lines.height}",
        f" MaxRecords: {lines.height}",
        f" UnixStartTime: {start}",
        " TimeZoneString: UTC",
        f" EndTime: {end}",
        f" MaxNodes: {len(target.machines)}",
        f" MaxProcs: {max(target.gpus, int(jobs['gpus'].max() or 0))}",  # type: ignore[arg-type]
        " Note: a processor is a GPU; queues are virtual clusters",
        " Note: jobs are numbered by submission, then id; users and executables by name",
        f" Note: run time is the {request.run_policy} of a job's attempts; wait is to its first",
        *(f" Queue: {i} {name}" for i, name in enumerate(vcs, 1)),
    )
    _LAYOUT.write(lines, path, comments=comments)
    return Written(
        jobs=lines.height,
        assumed=(
            f"requested time (field 9): the time limit of {limited:,} jobs, the estimate of "
            f"{lines.height - limited:,} that have none",
        ),
        not_carried=(
            (f"waits of {early:,} jobs that started before submission: -1",) if early else ()
        ),
    )


def _taken(request: Request, path: Path) -> Taken:
    rows = _LAYOUT.read(path)
    return taken_of(request, rows["req_procs"], rows["run"])


def _faults(path: Path, _: Path | None) -> list[str]:
    found = _LAYOUT.faults(path)
    if found:
        return found
    lines = path.read_text("utf-8").split("\n")
    head = {k.strip(): v for k, _, v in (c[1:].partition(":") for c in lines if c[:1] == ";")}
    found += [f"{path.name}: no header comment {key}" for key in _KEYS if key not in head]
    rows = _LAYOUT.read(path)
    if not found:
        for key in ("MaxJobs", "MaxRecords"):
            if int(head[key]) != rows.height:
                found.append(f"{path.name}: {key} is {head[key].strip()}, not {rows.height}")
        large = rows["alloc_procs"].cast(pl.Int64) > int(head["MaxProcs"])
        found += broken(path, rows["alloc_procs"], large, "more processors than MaxProcs")
    return found


_RUN = """pip install accasim==1.1.3
cat > export.config <<'END'
{"system_name": "export", "start_time": 0, "equivalence": {"processor": {"core": 1}},
 "groups": {"g0": {"core": $per_node}}, "resources": {"g0": $nodes}}
END
python - <<'END'
from accasim.base.simulator_class import Simulator
from accasim.base.scheduler_class import FirstInFirstOut
from accasim.base.allocator_class import FirstFit
import os
Simulator(os.environ["OUT"], "export.config", FirstInFirstOut(FirstFit())).start_simulation()
END"""

SWF = Format(
    "swf",
    (
        Dialect(
            name="swf",
            program=Program(
                "AccaSim",
                source="accasim 1.1.3 (cgalleguillosm/accasim 2a3c0e0)",
                needs="Python 3.9",
                command=_RUN,
                rules="every job, times in whole seconds",
            ),
            carries="arrival, wait, run time, gang size, status, user and virtual cluster as "
            "numbers, time limit or an estimate of the run time, memory",
            write=_write,
            taken=_taken,
            faults=_faults,
            estimates=(
                Estimates.EXACT,
                Estimates.NOISY,
                Estimates.ROUNDED,
                Estimates.HISTORY,
            ),
            not_carried=(
                "names of jobs, users and job types (numbered), attempts and placements",
                "fractions of a second",
            ),
        ),
    ),
)
