"""Write tables in memory as a trace of this session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import duckdb
import pyarrow as pa

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import TraceError, UnknownNameError
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.schema import ATTEMPTS, JOBS, TABLES
from philly_analysis.trace.writer import write_trace

_KEY = "job_id"


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


def write_frames(frames: Frames) -> Path:
    """Write tables in memory as a trace, which is removed when this session ends.

    Parameters
    ----------
    frames
        Tables of the schema by name (``jobs``, ``attempts``, …), one table, or a workload. One
        table has the columns of ``jobs``, and the known columns of ``attempts`` (``started_at``,
        ``ended_at``, ``run_s``). It has a row per job, or per attempt if it has the column
        ``attempt``. Times with a zone are converted to UTC. The trace notes columns that neither
        ``jobs`` nor ``attempts`` has.

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
        tables, notes = _split_jobs(_read(frames))
    for name, table in tables.items():
        required = [c.name for c in TABLES[name].columns if not c.nullable]
        if absent := [column for column in required if column not in table.column_names]:
            raise TraceError(
                f"a frame of {name} needs the columns {', '.join(required)}; it lacks "
                f"{', '.join(absent)} and has {', '.join(table.column_names) or 'none'}. "
                "Rename its columns; `tables()` lists what each may have."
            )
    manifest = Manifest(name="frames", source="frames", synthetic=False, notes=notes)
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
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz:
            table = table.set_column(i, field.name, table[i].cast(pa.timestamp("us")))  # in UTC
        elif pa.types.is_string_view(field.type):
            table = table.set_column(i, field.name, table[i].cast(pa.string()))
    return table


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
    notes = (f"Columns of the frame that no table has: {', '.join(unread)}.",)
    return tables, notes * bool(unread)
