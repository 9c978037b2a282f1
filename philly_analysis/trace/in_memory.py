"""Write tables in memory as a trace of this session."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import duckdb
import pyarrow as pa

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import TraceError, UnknownNameError
from philly_analysis.study import STATUSES
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.schema import ATTEMPTS, JOBS, TABLES
from philly_analysis.trace.writer import write_trace

_KEY = "job_id"
SLURM_STATUSES = {
    "COMPLETED": "Pass",
    "CANCELLED": "Killed",
    **dict.fromkeys(
        ("BOOT_FAIL", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"), "Failed"
    ),
}
"""Status by final state of Slurm, without what follows the state's first word."""
_WORDS = {**SLURM_STATUSES, **{status.upper(): status for status in STATUSES}, "PASSED": "Pass"}
_NUMBERS = {"integer", "double"}


class Frame(Protocol):
    """A table in memory that Arrow can read: of pandas, polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return its rows (Arrow's PyCapsule interface)."""


@runtime_checkable
class SavedAsTrace(Protocol):
    """Jobs in memory that can be written as a trace: a workload."""

    @property
    def name(self) -> str:
        """Name of the workload and of its trace."""

    def to_trace(self, out: str | Path) -> Path:
        """Write the trace, and return its folder."""


Frames: TypeAlias = Frame | Mapping[str, Frame] | SavedAsTrace
"""Tables of the schema by name; one table of jobs, with columns of their attempts; a workload."""


@dataclass(frozen=True, slots=True)
class FrameOptions:
    """How to read one table of jobs.

    Attributes
    ----------
    columns
        Column of the schema by column of the table: ``{"start": "started_at"}``.
    status
        Status (Pass, Killed, Failed) by word of the table. The words of Slurm are known.
    name
        Name of the trace.
    synthetic
        Whether the jobs were recorded by no real cluster.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    status: Mapping[str, str] = field(default_factory=dict)
    name: str = "frames"
    synthetic: bool = False


_AS_IS = FrameOptions()


def write_frames(frames: Frames, options: FrameOptions = _AS_IS) -> Path:
    """Write tables in memory as a trace, which is removed when this session ends.

    Parameters
    ----------
    frames
        Tables of the schema by name (``jobs``, ``attempts``, …), one table, or a workload. One
        table has the columns of ``jobs``, and the known columns of ``attempts`` (``started_at``,
        ``ended_at``, ``run_s``). The table has a row per job, or per attempt if there is a column
        ``attempt``. Times with a zone are converted to UTC. Rows without a submission, with an end
        before the start, with the identifier of another row, or with a text that is no number or
        time are rejected. Notes of the trace count the rejected rows, and name the columns that
        neither table has.
    options
        How to read one table of jobs.

    Raises
    ------
    TraceError
        A required column is absent, or a row violates a rule of its table.
    UnknownNameError
        There is no table of a given name.
    """
    notes: tuple[str, ...] = ()
    if isinstance(frames, SavedAsTrace):
        return frames.to_trace(scratch_folder() / "workload")
    if isinstance(frames, Mapping):
        if unknown := frames.keys() - TABLES.keys():
            if not all(hasattr(of, "__arrow_c_stream__") for of in frames.values()):
                raise TraceError(
                    "these are several traces. Use compare(traces), or {name: analyze(trace, …) "
                    "for name, trace in traces.items()}."
                )
            raise UnknownNameError("table", min(unknown), TABLES)
        tables = {name: _read(frame) for name, frame in frames.items()}
    else:
        table, renaming_notes = _renamed(_read(frames), options)
        tables, unread = _split_jobs(table)
        notes = (*renaming_notes, *unread)
    for name, table in tables.items():
        required = [c.name for c in TABLES[name].columns if not c.nullable]
        if absent := [column for column in required if column not in table.column_names]:
            raise TraceError(
                f"a frame of {name} needs the columns {', '.join(required)}; it lacks "
                f"{', '.join(absent)} and has {', '.join(table.column_names) or 'none'}. "
                "Rename its columns; `tables()` lists what each may have."
            )
    manifest = Manifest(options.name, source="frames", synthetic=options.synthetic, notes=notes)
    try:
        return write_trace(scratch_folder() / "frames", tables, manifest)
    except duckdb.Error as error:
        raise TraceError(f"the frames cannot be read: {str(error).splitlines()[0]}") from None


def _read(frame: Frame) -> pa.Table:
    """Read a frame, with its times in UTC."""
    try:
        table = pa.table(frame)
    except (TypeError, ValueError) as error:
        raise TraceError(
            f"a {type(frame).__name__} is no table: {error}. Give a frame of pandas, polars, "
            "pyarrow or DuckDB, a dict of them by table, or the folder of a trace."
        ) from None
    for i, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz:
            table = table.set_column(i, column.name, table[i].cast(pa.timestamp("us")))  # in UTC
        elif pa.types.is_string_view(column.type):
            table = table.set_column(i, column.name, table[i].cast(pa.string()))
    return table


def _renamed(table: pa.Table, options: FrameOptions) -> tuple[pa.Table, tuple[str, ...]]:
    """Return a table of jobs with the columns of the schema, without bad rows, and notes."""
    column_names = {*JOBS.column_names, *ATTEMPTS.column_names}
    if absent := [name for name in options.columns if name not in table.column_names]:
        raise TraceError(
            f"columns= has {', '.join(absent)}, but the frame {', '.join(table.column_names)}. "
            'Give a column of the frame, then its name here: {"start": "started_at"}.'
        )
    if unknown := [name for name in options.columns.values() if name not in column_names]:
        raise UnknownNameError("column of jobs or attempts", unknown[0], sorted(column_names))
    table = table.rename_columns([options.columns.get(name, name) for name in table.column_names])
    notes = []
    if "status" in table.column_names:
        table, status_notes = _with_statuses(table, options.status)
        notes += status_notes
    return _without_bad_rows(table, notes)


def _with_statuses(
    table: pa.Table, schema_status_of: Mapping[str, str]
) -> tuple[pa.Table, list[str]]:
    """Return the table with the statuses of the schema, and a note on unknown words."""
    unknown: dict[str, int] = {}

    def status(word: str | None) -> str | None:
        if word is None or word in STATUSES:
            return word
        schema_status = schema_status_of.get(word) or _WORDS.get(
            word.upper().partition(" ")[0].rstrip("+")
        )
        if schema_status not in STATUSES:
            unknown[word] = unknown.get(word, 0) + 1
            return None
        return schema_status

    words = [status(word) for word in table["status"].cast(pa.string()).to_pylist()]
    at = table.column_names.index("status")
    listed = ", ".join(f"{word} ({n:,})" for word, n in sorted(unknown.items()))
    notes = [f"Statuses that are not known, and count as missing: {listed}. Map them by status=."]
    return table.set_column(at, "status", pa.array(words, pa.string())), notes * bool(unknown)


def _without_bad_rows(table: pa.Table, notes: list[str]) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the table without rows that break a rule, and notes that count them by reason."""
    relation = duckdb.from_arrow(table)
    present = set(table.column_names)
    unreadable, casts = _texts(table)
    key = "job_id, attempt" if "attempt" in present else "job_id"
    rules = [
        ("submitted_at", "no submission", "submitted_at is null"),
        ("job_id", "no identifier", "job_id is null"),
        *unreadable,
        ("gpus", "negative GPUs", "try_cast(gpus as double) < 0"),
        ("gpus", "GPUs that are no whole number", "try_cast(gpus as double) % 1 <> 0"),
        ("run_s", "a negative run time", "try_cast(run_s as double) < 0"),
        ("job_id", "the identifier of another row",
         f"row_number() over (partition by {key} order by nth) > 1"),
    ]  # fmt: skip
    if {"started_at", "ended_at"} <= present:
        test = "try_cast(ended_at as timestamp) < try_cast(started_at as timestamp)"
        rules.append(("ended_at", "an end before the start", test))
    cases = " ".join(f"when {test} then '{why}'" for name, why, test in rules if name in present)
    if not cases or not table.num_rows:
        return table, tuple(notes)
    numbered = relation.project("*, row_number() over () as nth")
    reasons = numbered.project(f"nth, case {cases} end as reason").order("nth").to_arrow_table()
    bad = [reason for reason in reasons["reason"].to_pylist() if reason is not None]
    if bad:
        listed = ", ".join(f"{n:,} with {why}" for why, n in sorted(Counter(bad).items()))
        notes.append(
            f"{len(bad):,} of {table.num_rows:,} rows of the frame are rejected: {listed}."
        )
        table = table.filter(reasons["reason"].is_null())
    if casts:
        kept = duckdb.from_arrow(table).project(f"* replace ({', '.join(casts)})")
        table = kept.to_arrow_table()
    return table, tuple(notes)


def _texts(table: pa.Table) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return rules on texts that should be numbers or times, and the casts of these columns.

    Raises
    ------
    TraceError
        A column of times has numbers.
    """
    rules, casts = [], []
    types = {column.name: column.type for column in (*JOBS.columns, *ATTEMPTS.columns)}
    for column in table.schema:
        wanted = types.get(column.name)
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if wanted == "timestamp" and is_number and table[column.name].null_count < table.num_rows:
            raise TraceError(
                f"{column.name} has numbers, not times. Convert seconds since 1970 with "
                f'pandas.to_datetime(frame["{column.name}"], unit="s").'
            )
        if is_text and (wanted in _NUMBERS or wanted == "timestamp"):
            kind = "number" if wanted in _NUMBERS else "time"
            sql_type = "double" if wanted in _NUMBERS else "timestamp"
            cast = f"try_cast({column.name} as {sql_type})"
            test = f"{column.name} is not null and {cast} is null"
            rules.append((column.name, f"{column.name} that is no {kind}", test))
            casts.append(f"{cast} as {column.name}")
    return rules, casts


def _split_jobs(table: pa.Table) -> tuple[dict[str, pa.Table], tuple[str, ...]]:
    """Split a table of jobs and their attempts into two, and note the columns that neither has."""
    if _KEY not in table.column_names:
        numbers = pa.array([str(n + 1) for n in range(table.num_rows)])
        table = table.append_column(_KEY, numbers)
    present = set(table.column_names)
    jobs = table.select([c for c in JOBS.column_names if c in present])
    if "attempt" in present:
        first: dict[str, int] = {}
        for row, job in enumerate(table[_KEY].to_pylist()):
            first.setdefault(job, row)
        jobs = jobs.take(list(first.values()))
    tables = {JOBS.name: jobs}
    if present & {"started_at", "ended_at", "run_s"}:
        attempts = table.select([c for c in ATTEMPTS.column_names if c in present])
        if "attempt" not in present:
            attempts = attempts.append_column("attempt", pa.array([1] * table.num_rows, pa.int32()))
        tables[ATTEMPTS.name] = attempts
    unread = sorted(present - {*JOBS.column_names, *ATTEMPTS.column_names})
    notes = (
        f"Columns of the frame that no table has: {', '.join(unread)}. They are not read; columns= "
        "maps them.",
    )
    return tables, notes * bool(unread)
