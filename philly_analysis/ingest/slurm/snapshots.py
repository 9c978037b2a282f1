"""Read snapshots of the queue: reasons of pending jobs, and GPUs of running jobs.

``scontrol show job -d`` and ``squeue`` print what Slurm knows at one moment. A file has one print,
or several one after the other; a line ``# 2026-01-31T12:00:00Z`` before a print gives its time.
Without a time line, the time comes from the running jobs (start and run time). Without running
jobs, the time is the latest evaluation of a pending job, else the time in the file's name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm.task_list import task_ranges
from philly_analysis.ingest.sql import arrow_table, insert_rows
from philly_analysis.slurm_text import duration_s, time_in_name

TABLES = ("snapshots", "job_states", "running", "task_lists")
"""Raw tables that snapshots fill."""
_STAMP = re.compile(r"# (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(Z?)(?:\s|$)")
"""Line before a print that gives its time: in UTC if it ends in Z, else by the clock of jobs."""
_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4}")

_REASON = re.compile(r"[A-Za-z][\w ]*")
_NOTHING = ("", "(null)", "Unknown", "None", "N/A")
_ACTIVE = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT")
_NO_TIME = (
    "nothing tells when it was printed. Print `date -u '+# %FT%TZ'` before it, or name the file by "
    "its time, as queue_2026-01-31T12-00-00Z.txt."
)


@dataclass(slots=True)
class Snapshot:
    """One print: its time if the line before states a time, its jobs, and GPUs of running jobs."""

    stamp: str | None
    jobs: dict[str, dict[str, str]] = field(default_factory=dict)
    gpus: list[tuple[Any, ...]] = field(default_factory=list)


def print_time(line: str) -> str | None:
    """Return the time in a line before a print: a stamp, or the date that ``--long`` prints."""
    if line.startswith("# ") and (stamp := _STAMP.match(line)):
        return "".join(stamp.groups())
    if line[:1].isupper() and _DATE.fullmatch(line.strip()):
        return datetime.strptime(line.strip(), "%a %b %d %H:%M:%S %Y").isoformat()
    return None


def insert_prints(con: duckdb.DuckDBPyConnection, path: Path, prints: Iterator[Snapshot]) -> None:
    """Add the rows of prints.

    Raises
    ------
    InputError
        A print has pending jobs, and nothing tells its time.
    """
    states, gpus, taken, tasks = [], [], [], set()
    for number, snapshot in enumerate(prints, 1):
        at = taken_at(snapshot, path)
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


def stated_fields(fields: dict[str, str | None]) -> dict[str, str]:
    """Return the fields that are known, with the reason's words up to the first comma or colon."""
    word = _REASON.match(fields.get("reason") or "")
    job = {name: text for name, text in fields.items() if text and text not in _NOTHING}
    job["reason"] = word[0].strip().replace(" ", "_") if word else "None"
    return job


def taken_at(snapshot: Snapshot, path: Path) -> str | None:
    """Return when a print was made, by the clock of its jobs, with Z if by UTC; None: unknown."""
    moments = []
    for job in snapshot.jobs.values():
        start, run_s = _moment(job.get("start")), duration_s(job.get("run", ""))
        if job.get("state") == "RUNNING" and start and run_s is not None:
            moments.append(start + timedelta(seconds=run_s))
    if moments:
        return max(moments).isoformat()
    if snapshot.stamp:
        return snapshot.stamp
    if evaluated := [m for j in snapshot.jobs.values() if (m := _moment(j.get("evaluated")))]:
        return max(evaluated).isoformat()
    return time_in_name(path.name)


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
