"""Read the jobs that ``squeue`` prints, in any of its formats with a header."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.slurm.snapshots import (
    Snapshot,
    insert_prints,
    print_time,
    stated_fields,
)

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
_STATES = {"PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CG": "COMPLETING"}


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
    insert_prints(con, path, _squeue_prints(names, delimiter, path))


def _squeue_prints(names: list[str], delimiter: str | None, path: Path) -> Iterator[Snapshot]:
    """Yield the prints in a file of squeue: each begins with a stamp or the header."""
    snapshot = Snapshot(None)
    begun = False
    for number, line in text_lines(path):
        stamp = print_time(line)
        header = squeue_columns(line)
        if stamp or (header and begun):
            if begun:
                yield snapshot
            snapshot, begun = Snapshot(stamp), False
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
    fields: dict[str, str | None] = {_SQUEUE[n]: v for n, v in row.items() if n in _SQUEUE}
    state = fields.get("state") or ""
    fields["state"] = _STATES.get(state, state or "PENDING")
    reason = fields.get("reason") or ""
    if "NODELIST(REASON)" in names and "REASON" not in names:
        fields["reason"] = reason[1:] if reason.startswith("(") else None
    # the job number, or an array's number and its tasks, or both in two columns
    ids = [value for name, value in zip(names, values, strict=False) if name == "JOBID"]
    for array_id, _, tasks in (text.partition("_") for text in ids):
        if tasks:
            fields |= {"array_id": array_id, "tasks": tasks.strip("[]")}
    numbers = [text for text in ids if text.isdecimal()]
    fields["id"] = numbers[0] if numbers else re.split(r"[_+]", ids[0])[0]
    return stated_fields(fields)
