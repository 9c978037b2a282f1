"""Read what ``scontrol show job -d`` prints: reasons of waiting jobs, GPUs of running jobs."""

import re
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

import duckdb

from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.slurm.snapshots import (
    Snapshot,
    insert_prints,
    print_time,
    stated_fields,
)
from philly_analysis.slurm_text import expand_hosts, record_fields

EMPTY = "No jobs in the system"
"""Print of ``scontrol show job`` where there is none."""
_GROUP_LINES = 10_000
_NAME = re.compile(r"\sJobName=.*?(?=\s+UserId=[^\s()]*\(\d+\))", re.DOTALL)
"""Name of a job, which may contain the text of another field."""
_USER = re.compile(r"(.*)\((\d+)\)")
_ALLOCATED = re.compile(r"\sNodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*\(IDX:\S*)")
_GPUS = re.compile(r"gpu(?::[^:,()]+)?:\d+\(IDX:([\d,-]+)\)")


def read_scontrol(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add the prints of ``scontrol show job -d``, with or without ``-o``, in a file."""
    insert_prints(con, path, _scontrol_prints(path))


def _scontrol_prints(path: Path) -> Iterator[Snapshot]:
    """Yield the prints in a file: a stamp, or a job that was printed before, begins the next."""
    snapshot, group, first = Snapshot(None), list[str](), 1
    stamped = False
    end = (0, "# 9999-01-01T00:00:00Z")
    for number, line in chain(text_lines(path), [end]):
        begins, stamp = line.startswith("JobId="), print_time(line)
        if (begins or stamp) and group:
            job, gpus = _job(first, "\n".join(group))
            if job and job["id"] in snapshot.jobs:
                yield snapshot
                snapshot = Snapshot(None)
            if job:
                snapshot.jobs[job["id"]] = job
                snapshot.gpus += gpus
            group = []
        if stamp:
            if snapshot.jobs or stamped:
                yield snapshot
            snapshot, stamped = Snapshot(stamp), True
        elif begins:
            group, first = [line], number
        elif group and len(group) < _GROUP_LINES:
            group.append(line)


def _job(line: int, text: str) -> tuple[dict[str, str] | None, list[tuple[Any, ...]]]:
    """Return a job of ``scontrol show job``, and a row for each GPU that it holds."""
    fields = record_fields(_NAME.sub(" ", text, count=1))
    job_id = fields.get("JobId", "")
    if not job_id.isdecimal():
        return None, []
    user = _USER.fullmatch(fields.get("UserId", ""))
    row = {
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
    return stated_fields(row), gpus


def _expand(indices: str) -> Iterator[int]:
    for part in indices.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(last or first) < 4:
            yield from range(int(first), int(last or first) + 1)
