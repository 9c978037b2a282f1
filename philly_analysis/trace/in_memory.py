"""Traces of this session: of tables in memory, and of rows chosen from another trace."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import TraceError, UnknownNameError
from philly_analysis.trace.integrity import with_digests
from philly_analysis.trace.manifest import MANIFEST, Manifest, Sample
from philly_analysis.trace.quotas import FILE, QUOTAS_NOTE, write_quotas
from philly_analysis.trace.schema import ATTEMPTS, JOBS, TABLES, VIRTUAL_CLUSTERS
from philly_analysis.trace.writer import create_trace, write_manifest, write_trace

_KEY = "job_id"
_SELECTED = "selection"
_BATCH_ROWS = 100_000


_BESIDE: dict[Path, Path] = {}
"""Traces of this session whose files are those of another."""


def folders_of(trace: Path) -> tuple[Path, ...]:
    """Return the folders where the files of a trace are."""
    return (trace, *folders_of(_BESIDE[trace])) if trace in _BESIDE else (trace,)


class Frame(Protocol):
    """A table in memory that Arrow can read: of pandas, polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give its rows (Arrow's PyCapsule interface)."""


Frames: TypeAlias = Frame | Mapping[str, Frame]
"""Tables of the schema by name; or one table of jobs, with what is known of their runs."""


def folder_of(given: Frames) -> Path:
    """Write tables in memory as a trace that is there until this session ends.

    Parameters
    ----------
    given
        Tables of the schema by name (``jobs``, ``attempts``, …). Or one table with the columns of
        ``jobs``, and with those of ``attempts`` that are known (``started_at``, ``ended_at``,
        ``run_s``): a row per job, or per attempt where it has the column ``attempt``. A time with
        a zone is taken to UTC; what neither table has is left out, and the trace notes it.

    Raises
    ------
    TraceError
        A column is absent that there must be, or a row breaks the contract of its table.
    UnknownNameError
        A name is not that of a table.
    """
    named = given if isinstance(given, Mapping) else {}
    if unknown := named.keys() - TABLES.keys():
        raise UnknownNameError("table", min(unknown), TABLES)
    notes: tuple[str, ...] = ()
    tables = {name: _read(frame) for name, frame in named.items()}
    if not isinstance(given, Mapping):
        tables, notes = _of_jobs(_read(given))
    for name, table in tables.items():
        must = [c.name for c in TABLES[name].columns if not c.nullable]
        if absent := [column for column in must if column not in table.column_names]:
            raise TraceError(
                f"a frame of {name} needs the columns {', '.join(must)}; it lacks "
                f"{', '.join(absent)} and has {', '.join(table.column_names) or 'none'}. "
                "Rename its columns; `tables()` lists what each may have."
            )
    manifest = Manifest(name="frames", source="frames", synthetic=False, notes=notes)
    try:
        return write_trace(scratch_folder() / "frames", tables, manifest)
    except duckdb.Error as error:
        raise TraceError(f"the frames cannot be read: {str(error).splitlines()[0]}") from None


def selected(
    tables: Mapping[str, duckdb.DuckDBPyRelation], manifest: Manifest, how: str, name: str
) -> Path:
    """Write chosen rows of a trace as one that is there until this session ends.

    Parameters
    ----------
    tables
        The rows of each table.
    manifest
        Of the trace that they are chosen from.
    how
        How they were chosen, in a sentence.
    name
        What to call the new trace.
    """
    rows = {}
    out = scratch_folder() / re.sub(r"\W+", "-", name).strip("-")
    with create_trace(out) as folder:
        for table, chosen in tables.items():
            schema = TABLES[table].arrow
            file = folder / table / "0.parquet" if TABLES[table].streamed else None
            file = file or folder / f"{table}.parquet"
            file.parent.mkdir(exist_ok=True)
            with pq.ParquetWriter(file, schema, compression="zstd") as parquet:
                rows[table] = 0
                for batch in chosen.to_arrow_reader(_BATCH_ROWS):
                    parquet.write_table(pa.Table.from_batches([batch]).cast(schema))
                    rows[table] += batch.num_rows
        before = manifest.sample
        sample = Sample(
            f"{before.how} {how}" if before else how,
            tuple(dict.fromkeys([*(before.by if before else ()), _SELECTED])),
        )
        made = Manifest(
            name=name,
            source=manifest.source,
            synthetic=manifest.synthetic,
            notes=manifest.notes,
            sample=sample,
        )
        write_manifest(folder, made, rows)
    return out


def with_quotas(trace: Path, manifest: Manifest, quotas: Mapping[str, int]) -> Path:
    """Return a trace as another is, but for its quotas, that is there until this session ends.

    Its samples and all else are the other's files. What is computed of it, it keeps itself, so
    that neither takes answers for its own that were given under the other's quotas.
    """
    out = (scratch_folder() / trace.name).resolve()
    _BESIDE[out] = trace
    files = {n: f for n, f in manifest.files.items() if n != VIRTUAL_CLUSTERS.name}
    for file in (file for found in files.values() for file in found):
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).symlink_to(trace / file)
    write_quotas(out, quotas)
    made = replace(
        manifest,
        rows={**manifest.rows, VIRTUAL_CLUSTERS.name: len(quotas)},
        files={**files, VIRTUAL_CLUSTERS.name: (FILE,)},
        notes=(*manifest.notes, QUOTAS_NOTE),
    )
    kept = {file: told for file, told in manifest.digests.items() if file != FILE}
    made = with_digests(out, made, kept)
    (out / MANIFEST).write_text(made.to_json(), "utf-8")
    return out


def is_selected(manifest: Manifest) -> bool:
    """Tell whether the jobs of a trace were chosen from those of another."""
    return manifest.sample is not None and _SELECTED in manifest.sample.by


def _read(frame: Frame) -> pa.Table:
    """Read a frame with its times in UTC."""
    try:
        table = pa.table(frame)
    except (TypeError, pa.ArrowException) as error:
        raise TraceError(
            f"a {type(frame).__name__} is no table: {error}. Give a frame of pandas, polars, "
            "pyarrow or DuckDB, a dict of them by table, or the folder of a trace."
        ) from None
    for i, column in enumerate(table.schema):
        plain = _plain(column.type)
        if plain is not None:
            table = table.set_column(i, column.name, table[i].cast(plain))
    return table


def _plain(kind: pa.DataType) -> pa.DataType | None:
    """Return the type that a column is read as, where it is another than its own."""
    if pa.types.is_timestamp(kind) and kind.tz:
        return pa.timestamp("us")  # in UTC
    return pa.string() if pa.types.is_string_view(kind) else None


def _of_jobs(table: pa.Table) -> tuple[dict[str, pa.Table], tuple[str, ...]]:
    """Part a table of jobs and their runs into jobs and attempts, and say what is left out."""
    if _KEY not in table.column_names:
        numbers = pa.array([str(n + 1) for n in range(table.num_rows)])
        table = table.append_column(_KEY, numbers)
    has = set(table.column_names)
    runs = [c for c in ATTEMPTS.column_names if c in has]
    jobs = table.select([c for c in JOBS.column_names if c in has])
    if "attempt" in has:
        first: dict[str, int] = {}
        for row, job in enumerate(table[_KEY].to_pylist()):
            first.setdefault(job, row)
        jobs = jobs.take(list(first.values()))
    parted = {"jobs": jobs}
    if has & {"started_at", "ended_at", "run_s"}:
        attempts = table.select(runs)
        if "attempt" not in has:
            attempts = attempts.append_column("attempt", pa.array([1] * table.num_rows, pa.int32()))
        parted["attempts"] = attempts
    unread = sorted(has - {*JOBS.column_names, *ATTEMPTS.column_names})
    return parted, (f"Columns of the frame that no table has: {', '.join(unread)}.",) * bool(unread)


def quoted(values: Iterable[object]) -> str:
    """Say values as a list of them."""
    return ", ".join(f"“{value}”" for value in values)
