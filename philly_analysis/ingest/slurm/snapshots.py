"""Read snapshots of the queue: reasons of pending jobs, and GPUs of running ones.

``scontrol show job -d`` and ``squeue`` print what Slurm knows at one moment. A file has one print,
or several one after the other; a line ``# 2026-01-31T12:00:00Z`` before a print gives its time.
Without such a line the time is that of the running jobs (start and run time), else the latest
evaluation of a pending job, else that in the file's name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm.node_list import expand_hosts
from philly_analysis.ingest.slurm.task_list import task_ranges
from philly_analysis.ingest.sql import arrow_table, insert_rows

TABLES = ("snapshots", "job_states", "running", "task_lists")
"""Raw tables that snapshots fill."""
EMPTY = "No jobs in the system"
"""Print of ``scontrol show job`` where there is none."""
_STAMP = re.compile(r"# (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(Z?)(?:\s|$)")
"""Line before a print that gives its time: in UTC if it ends in Z, else by the clock of jobs."""
_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4}")

_GROUP_LINES = 10_000
_NAME = re.compile(r"\sJobName=.*?(?=\s+UserId=[^\s()]*\(\d+\))", re.DOTALL)
"""Name of a job, which may contain the text of another field."""
_FIELD = re.compile(r"(?:^|\s)([A-Za-z]+)=(\S*)")
_REASON = re.compile(r"[A-Za-z][\w ]*")
_USER = re.compile(r"(.*)\((\d+)\)")
_SPAN = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,3}):)?(\d{1,3}):(\d\d)")
_FILE_TIME = re.compile(
    r"(?<!\d)(\d{4}-?\d\d-?\d\d)[T_-]?(\d\d)[:-]?(\d\d)[:-]?(\d\d)(?:\.\d+)?(Z?)(?!\d)"
)
_ALLOCATED = re.compile(r"\sNodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*\(IDX:\S*)")
_GPUS = re.compile(r"gpu(?::[^:,()]+)?:\d+\(IDX:([\d,-]+)\)")
_NOTHING = ("", "(null)", "Unknown", "None", "N/A")
_ACTIVE = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT")
_SQUEUE = {
    "ARRAY_JOB_ID": "array_id",
    "ARRAY_TASK_ID": "tasks",
    "STATE": "state",
    "ST": "state",
    "REASON": "reason",
    "NODELIST(REASON)": "reason",
    "SUBMIT_TIME": "submit",
    "ELIGIBLE_TIME": "eligible",
    "START_TIME": "start",
    "TIME": "run",
    "PARTITION": "partition",
    "USER": "user",
    "ACCOUNT": "account",
    "QOS": "qos",
    "TIME_LIMIT": "timelimit",
}
"""Columns of squeue that are read."""
_NO_TIME = (
    "nothing tells when it was printed. Print `date -u '+# %FT%TZ'` before it, or name the file by "
    "its time, as queue_2026-01-31T12-00-00Z.txt."
)
_STATES = {"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CG": "COMPLETING"}


@dataclass(slots=True)
class _Snapshot:
    """One print: its time if a line before it gives it, its jobs, and GPUs of running jobs."""

    stamp: str | None
    jobs: dict[str, dict[str, str]] = field(default_factory=dict)
    gpus: list[tuple[Any, ...]] = field(default_factory=list)


def read_scontrol(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add the prints of ``scontrol show job -d``, with or without ``-o``, in a file."""
    _insert(con, path, _scontrol_prints(path))


def squeue_columns(first: str) -> tuple[list[str], str | None] | None:
    """Return the columns of ``squeue`` and their delimiter (None: spaces), or None."""
    delimiter = next((d for d in ("|", "\t", ";") if d in first), None)
    # sacct prints the same names, but not in capitals
    names = [name.strip() for name in first.split(delimiter)]
    is_queue = "JOBID" in names and {"REASON", "NODELIST(REASON)"} & set(names)
    return (names, delimiter) if is_queue else None


def read_squeue(
    con: duckdb.DuckDBPyConnection, names: list[str], delimiter: str | None, path: Path
) -> None:
    """Add the prints of ``squeue``, each with its header, in a file.

    Raises
    ------
    InputError
        Nothing tells when it was printed.
    """
    _insert(con, path, _squeue_prints(names, delimiter, path))


def print_time(line: str) -> str | None:
    """Return the time in a line before a print: a stamp, or the date that ``--long`` prints."""
    if line.startswith("# ") and (stamp := _STAMP.match(line)):
        return "".join(stamp.groups())
    if line[:1].isupper() and _DATE.fullmatch(line.strip()):
        return datetime.strptime(line.strip(), "%a %b %d %H:%M:%S %Y").isoformat()
    return None


def _insert(con: duckdb.DuckDBPyConnection, path: Path, prints: Iterator[_Snapshot]) -> None:
    """Add the rows of prints.

    Raises
    ------
    InputError
        A print has pending jobs, and nothing tells its time.
    """
    states, gpus, taken, tasks = [], [], [], set()
    for number, snapshot in enumerate(prints, 1):
        at = _taken_at(snapshot, path)
        gpus += [(path.name, *row) for row in snapshot.gpus]
        unplaced = [
            job
            for job in snapshot.jobs.values()
            if job.get("state") not in (None, *_ACTIVE) and "nodes" not in job
        ]
        if at:
            taken.append((path.name, number, at))
        elif unplaced:
            raise InputError(_NO_TIME)
        for job in unplaced:
            states.append({"source_file": path.name, "snapshot": number, "taken": at, **job})
            tasks |= {job["tasks"]} if "tasks" in job else set()
    insert_rows(con, "snapshots", arrow_table(taken, RAW_TABLES["snapshots"]))
    insert_rows(con, "running", arrow_table(gpus, RAW_TABLES["running"]))
    schema = RAW_TABLES["job_states"]
    insert_rows(con, "job_states", pa.Table.from_pylist(states, schema))
    ranges = [(path.name, text, *spans) for text in sorted(tasks) for spans in task_ranges(text)]
    insert_rows(con, "task_lists", arrow_table(ranges, RAW_TABLES["task_lists"]))


def _scontrol_prints(path: Path) -> Iterator[_Snapshot]:
    """Yield the prints in a file: a stamp, or a job that was printed before, begins the next."""
    snapshot, group, first = _Snapshot(None), list[str](), 1
    stamped = False
    end = (0, "# 9999-01-01T00:00:00Z")
    for number, line in chain(text_lines(path), [end]):
        begins, stamp = line.startswith("JobId="), print_time(line)
        if (begins or stamp) and group:
            job, gpus = _job(first, "\n".join(group))
            if job and job["id"] in snapshot.jobs:
                yield snapshot
                snapshot = _Snapshot(None)
            if job:
                snapshot.jobs[job["id"]] = job
                snapshot.gpus += gpus
            group = []
        if stamp:
            if snapshot.jobs or stamped:
                yield snapshot
            snapshot, stamped = _Snapshot(stamp), True
        elif begins:
            group, first = [line], number
        elif group and len(group) < _GROUP_LINES:
            group.append(line)


def _job(line: int, text: str) -> tuple[dict[str, str] | None, list[tuple[Any, ...]]]:
    """Return a job of ``scontrol show job``, and a row for each GPU that it holds."""
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(_NAME.sub(" ", text, count=1)):
        fields.setdefault(name, value)
    job_id = fields.get("JobId", "")
    if not job_id.isdecimal():
        return None, []
    user = _USER.fullmatch(fields.get("UserId", ""))
    found = {
        "id": job_id,
        "array_id": fields.get("ArrayJobId"),
        "tasks": fields.get("ArrayTaskId"),
        "leader_id": fields.get("HetJobId"),
        "member": fields.get("HetJobOffset"),
        "state": fields.get("JobState"),
        "reason": fields.get("Reason"),
        "submit": fields.get("SubmitTime"),
        "eligible": fields.get("EligibleTime"),
        "start": fields.get("StartTime"),
        "end": fields.get("EndTime"),
        "run": fields.get("RunTime"),
        "evaluated": fields.get("LastSchedEval"),
        "user": user[1] if user else None,
        "uid": user[2] if user else None,
        "account": fields.get("Account"),
        "qos": fields.get("QOS"),
        "partition": fields.get("Partition"),
        "timelimit": fields.get("TimeLimit"),
        "tres": fields.get("ReqTRES", fields.get("TRES")),
        "nodes": fields.get("NodeList"),
    }
    gpus = [
        (line, job_id, fields.get("StartTime"), node, gpu)
        for nodes, gres in _ALLOCATED.findall(text)
        for node, gpu in product(
            expand_hosts(nodes),
            [gpu for indices in _GPUS.findall(gres) for gpu in _expand(indices)],
        )
    ]
    return _known(found), gpus


def _squeue_prints(names: list[str], delimiter: str | None, path: Path) -> Iterator[_Snapshot]:
    """Yield the prints in a file of squeue: each begins with a stamp or the header."""
    snapshot = _Snapshot(None)
    begun = False
    for number, line in text_lines(path):
        stamp = print_time(line)
        header = squeue_columns(line)
        if stamp or (header and begun):
            if begun:
                yield snapshot
            snapshot, begun = _Snapshot(stamp), False
        if header:
            begun = True
        elif not stamp and line.strip():
            job = _queued(names, delimiter, line)
            snapshot.jobs[str(number)] = job
    if begun:
        yield snapshot


def _queued(names: list[str], delimiter: str | None, line: str) -> dict[str, str]:
    """Return a job of a line of ``squeue``."""
    values = line.split(delimiter)
    if delimiter is None and len(values) > len(names):
        # a name may contain spaces, and so may the reason, which is in parentheses at the end
        head, bracket, reason = line.partition(" (")
        values = [*head.split(), *([f"({reason}"] if bracket else [])]
        place = names.index("NAME") if "NAME" in names else 0
        extra = len(values) - len(names)
        if extra > 0:
            values[place : place + extra + 1] = [" ".join(values[place : place + extra + 1])]
    values = [value.strip() for value in values]
    row = dict(zip(names, values, strict=False))
    found: dict[str, str | None] = {_SQUEUE[n]: v for n, v in row.items() if n in _SQUEUE}
    state = found.get("state") or ""
    found["state"] = _STATES.get(state, state or "PENDING")
    reason = found.get("reason") or ""
    if "NODELIST(REASON)" in names and "REASON" not in names:
        found["reason"] = reason[1:] if reason.startswith("(") else None
    # the number, or the number of an array and its tasks, or both in two columns
    ids = [value for name, value in zip(names, values, strict=False) if name == "JOBID"]
    for array_id, _, tasks in (text.partition("_") for text in ids):
        if tasks:
            found |= {"array_id": array_id, "tasks": tasks.strip("[]")}
    numbers = [text for text in ids if text.isdecimal()]
    found["id"] = numbers[0] if numbers else re.split(r"[_+]", ids[0])[0]
    return _known(found)


def _known(found: dict[str, str | None]) -> dict[str, str]:
    """Return the fields that are known, with the reason's words up to the first comma or colon."""
    word = _REASON.match(found.get("reason") or "")
    job = {name: text for name, text in found.items() if text and text not in _NOTHING}
    job["reason"] = word[0].strip().replace(" ", "_") if word else "None"
    return job


def _taken_at(snapshot: _Snapshot, path: Path) -> str | None:
    """Return when a print was made, by the clock of its jobs, with Z if by UTC; None: unknown."""
    moments = []
    for job in snapshot.jobs.values():
        start, run = _moment(job.get("start")), _SPAN.fullmatch(job.get("run", ""))
        if job.get("state") == "RUNNING" and start and run:
            days, hours, minutes, seconds = (int(part or 0) for part in run.groups())
            moments.append(
                start + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
            )
    if moments:
        return max(moments).isoformat()
    if snapshot.stamp:
        return snapshot.stamp
    if evaluated := [m for j in snapshot.jobs.values() if (m := _moment(j.get("evaluated")))]:
        return max(evaluated).isoformat()
    if named := _FILE_TIME.search(path.name):
        day = named[1].replace("-", "")
        return f"{day[:4]}-{day[4:6]}-{day[6:]}T{named[2]}:{named[3]}:{named[4]}{named[5]}"
    return None


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def _expand(indices: str) -> Iterator[int]:
    for part in indices.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(last or first) < 4:
            yield from range(int(first), int(last or first) + 1)
