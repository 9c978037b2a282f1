"""Fills the failures table from records of output, beside any source's jobs and attempts."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import duckdb
import polars as pl

from philly_analysis.failures import Output, classify_output, mask
from philly_analysis.ingest.failure_records import (
    PATTERNS,
    Record,
    Unreadable,
    files_of,
    is_kernel_log,
    records,
)
from philly_analysis.ingest.filling import Fill, count_rejects, save_rejects
from philly_analysis.ingest.kernel_log import Event, events
from philly_analysis.manifest import Account, Input
from philly_analysis.schema import FAILURES

DEATH = timedelta(minutes=10)
"""A kernel event belongs to an attempt that ends no later than this after it."""

_FIRST_STREAMS = ("out", "stdout", "log", "txt", "")
_STORE = pl.Schema(
    {
        "job_id": pl.String, "attempt": pl.Int32, "reason": pl.String, "tier": pl.String,
        "fine": pl.String, "rule": pl.String, "line": pl.Int64, "excerpt": pl.String,
    }
)  # fmt: skip
_REJECTS = pl.Schema(
    {"source_file": pl.String, "source_line": pl.Int64, "reason": pl.String, "raw": pl.String}
)


@dataclass(slots=True)
class _Attempts:
    """What the trace knows of attempts: the last of each job, and those that passed."""

    last: dict[str, int]
    known: set[tuple[str, int]]
    passed: set[tuple[str, int]]


@dataclass(slots=True)
class _Tally:
    """Records so far: one verdict per attempt, and what was not taken."""

    store: bool
    read: int = 0
    rows: dict[tuple[str, int], tuple[object, ...]] = field(default_factory=dict)
    rejects: list[tuple[str, int | None, str, str]] = field(default_factory=list)

    def reject(self, file: str, entry: int | None, reason: str, raw: str) -> None:
        self.rejects.append((file, entry, reason, mask(raw) if self.store else raw))


def fill_failures(
    fill: Fill,
    path: Path,
    *,
    patterns: tuple[str, ...] = PATTERNS,
    clock: tzinfo = UTC,
    masked: bool = True,
) -> tuple[Input, ...]:
    """Classify the records at `path` and write the failures of attempts that the trace holds.

    Parameters
    ----------
    fill
        A trace in the making whose jobs, attempts (and placements) are filled.
    path
        Folder or file of output: files per attempt, JSON lines, kernel logs.
    patterns
        Names of output files, see :func:`philly_analysis.ingest.failure_records.records`.
    clock
        Zone of kernel logs whose clocks print none.
    masked
        Replace secrets and personal data in everything that is stored.

    Returns
    -------
    tuple of Input
        Nothing is hashed of files that may be gigabytes long: name and size, empty digest.

    Raises
    ------
    InputError
        There is nothing at `path`, or a pattern cannot be used.
    """
    files = files_of(path)
    known = _attempts(fill.con)
    tally = _Tally(store=masked)
    heard = _kernel_events([f for f in files if is_kernel_log(f)], fill.con, tally, clock)
    pending: dict[tuple[str, int], list[Record]] = {}
    for record in records(path, patterns):
        tally.read += 1
        if isinstance(record, Unreadable):
            tally.reject(record.file, record.entry, record.reason, record.raw)
        elif key := _place(record, known, pending, tally):
            _judge(key, pending.pop(key), heard.pop(key, []), tally)
    for key, parts in sorted(pending.items()):
        _judge(key, parts, heard.pop(key, []), tally)
    for key, said in sorted(heard.items()):
        _judge(key, [], said, tally)
    _write(fill, tally)
    return tuple(Input(f.name, f.stat().st_size, "") for f in files)
