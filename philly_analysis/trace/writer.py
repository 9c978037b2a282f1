"""Writes a trace: whole or not at all, and only if it keeps its contract; lets one grow."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.atomic import atomic_write, exclusive, remove_stale
from philly_analysis.errors import TraceError
from philly_analysis.trace.columns import Table
from philly_analysis.trace.integrity import check, check_sizes, with_digests
from philly_analysis.trace.manifest import MANIFEST, Manifest, find_files
from philly_analysis.trace.object_storage import is_address, putting
from philly_analysis.trace.schema import TABLES

PARTS = "parts"
"""Folder in a trace of what it grew by, a folder per generation."""
_LOCK = ".append.lock"


@contextmanager
def create_trace(out: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a folder to fill that becomes `out` whole when the block ends, or not at all.

    Parameters
    ----------
    force
        Replace a trace that is there already.

    Raises
    ------
    TraceError
        `out` exists (and is not to be replaced, or is no trace), or cannot be written.
    """
    if is_address(out):
        with putting(out, force=force) as here, create_trace(here, force=True) as folder:
            yield folder
        return
    out = Path(out)
    remove_stale(out)
    if out.exists():
        if not force:
            raise TraceError(f"{out} exists. Give another folder, or force=True to replace it.")
        if not (out / MANIFEST).is_file():
            raise TraceError(f"{out} is not a trace, so it is not replaced. Give another folder.")
    try:
        with ExitStack() as until_then, atomic_write(out, replace=force) as partial:
            partial.mkdir()
            yield partial
            if out.exists():
                until_then.enter_context(_nobody_appends(out))
    except FileExistsError:
        raise TraceError(
            f"{out} exists by now: somebody else made it meanwhile. Give another folder, or "
            "force=True to replace it."
        ) from None
    except OSError as error:
        raise TraceError(f"{out} cannot be written: {error.strerror or error}") from error


def write_manifest(folder: Path, manifest: Manifest, rows: Mapping[str, int]) -> Manifest:
    """Write the manifest, the last file of a trace, with each table's rows and files' digests."""
    whole = replace(manifest, rows=dict(rows), files=find_files(folder))
    whole = with_digests(folder, whole, known={})
    (folder / MANIFEST).write_text(whole.to_json(), "utf-8")
    return whole


@contextmanager
def append_to(out: Path) -> Iterator[tuple[Path, Manifest]]:
    """Give a folder inside a trace for the files that it grows by, while nobody else may append.

    They are part of the trace once :func:`swap` has named them. Files that no manifest names go
    first: what an append that was killed has left, and what the last one put in the place of,
    which whoever had the trace open then could still read.

    Yields
    ------
    folder, manifest
        The folder, empty, and the manifest of the trace as it stands.

    Raises
    ------
    TraceError
        `out` is no trace, cannot be written, or somebody else is appending to it.
    """
    Manifest.read(out)
    try:
        with _nobody_appends(out):
            manifest = Manifest.read(out)
            check_sizes(out, manifest)
            check(out, manifest, manifest.files)
            remove_stale(out / MANIFEST)
            _clear(out, manifest)
            folder = out / PARTS / f"{manifest.generation + 1:06}"
            folder.mkdir(parents=True)
            try:
                yield folder, manifest
            finally:
                if Manifest.read(out).generation == manifest.generation:
                    shutil.rmtree(folder, ignore_errors=True)
                    with suppress(OSError):  # it has parts of other generations
                        folder.parent.rmdir()
    except OSError as error:
        raise TraceError(f"{out} cannot be written: {error.strerror or error}") from error


@contextmanager
def _nobody_appends(out: Path) -> Iterator[None]:
    """Keep others from appending to a trace, and from replacing it, while a block runs.

    Raises
    ------
    TraceError
        Somebody else is at it.
    """
    busy = TraceError(
        f"another process is appending to {out} or replacing it. Try again when it is done."
    )
    with exclusive(out / _LOCK, busy):
        yield


def replace_manifest(out: Path, manifest: Manifest) -> Manifest:
    """Put a manifest in the place of a trace's own, all at once, when its files are on the disk."""
    manifest = with_digests(out, manifest, Manifest.read(out).digests)
    folders = set()
    for file in manifest.every_file:
        # those of generations before are on it already
        if file.startswith(f"{PARTS}/{manifest.generation:06}/"):
            _flush(out / file)
            folders |= {folder for folder in (out / file).parents if folder.is_relative_to(out)}
    for folder in sorted(folders, reverse=True):
        _flush(folder)
    with atomic_write(out / MANIFEST) as partial:
        partial.write_text(manifest.to_json(), "utf-8")
        _flush(partial)
    _flush(out)
    return manifest


def _flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    if path.is_dir() and sys.platform == "win32":
        return  # which knows no such thing of a folder
    at = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(at)
    finally:
        os.close(at)


def _clear(out: Path, manifest: Manifest) -> None:
    """Remove what no manifest names: tables and raw records of before, parts left half-way."""
    named = {out / file for file in manifest.every_file}
    written = {out / file for files in find_files(out).values() for file in files}
    written |= {file for file in (out / PARTS).rglob("*") if file.is_file()}
    for file in written - named:
        file.unlink()
    for folder in sorted((out / PARTS).rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def write_trace(
    out: str | Path,
    tables: Mapping[str, pl.DataFrame | pa.Table],
    manifest: Manifest,
    *,
    force: bool = False,
) -> Path:
    """Write tables that are in memory as a trace.

    Each table is cast to its declared types; nullable columns that it lacks become null.

    Returns
    -------
    Path
        The folder, `out`.

    Raises
    ------
    TraceError
        A row breaks the contract of its table, or the folder cannot be written.
    """
    with create_trace(out, force=force) as folder:
        write_manifest(folder, manifest, write_tables(folder, tables))
    return Path(out)


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame | pa.Table]) -> dict[str, int]:
    """Write tables that are in memory into a folder of :func:`new_folder`.

    Returns
    -------
    dict
        Rows by table.

    Raises
    ------
    TraceError
        A row breaks the contract of its table.
    """
    with duckdb.connect() as con:
        rows = {name: 0 for name in TABLES if name in tables}
        for name in rows:
            table, data = TABLES[name], tables[name]
            arrow = data.to_arrow() if isinstance(data, pl.DataFrame) else data
            for column in table.columns:
                if column.nullable and column.name not in arrow.column_names:
                    arrow = arrow.append_column(column.name, pa.nulls(arrow.num_rows))
            con.register(f"given_{name}", arrow)
            con.execute(f"create table {name} as select {table.typed_columns} from given_{name}")
            con.unregister(f"given_{name}")
            if wrong := violations(con, table):
                raise TraceError(f"{name} breaks its contract: {'; '.join(wrong)}")
            typed = con.table(name).to_arrow_table()
            rows[name] = typed.num_rows
            file = folder / name / "0.parquet" if table.streamed else folder / f"{name}.parquet"
            file.parent.mkdir(exist_ok=True)
            pq.write_table(typed.cast(table.arrow), file, compression="zstd")
    return rows


def violations(con: duckdb.DuckDBPyConnection, table: Table) -> list[str]:
    """Say how a table in `con`, beside those it refers to, breaks its contract.

    Returns
    -------
    list of str
        One sentence per kind of fault, with the number of rows; empty when there is none.
    """
    found = con.sql(
        f"select count(*), reason from (select {table.fault_sql} as reason from {table.name}) "
        "where reason is not null group by all order by all"
    ).fetchall()
    for missing in [r for r in table.references if not _exists(con, r.table)]:
        found.append((_count(con, table.name), f"{missing.table} is absent"))
    key = ", ".join(f'"{column}"' for column in table.key)
    found += con.sql(
        f"select sum(n), 'the key ({', '.join(table.key)}) repeats' from "
        f"(select count(*) as n from {table.name} group by {key} having count(*) > 1) "
        "having count(*) > 0"
    ).fetchall()
    for reference in [r for r in table.references if _exists(con, r.table)]:
        columns = ", ".join(reference.columns)
        found += con.sql(
            f"select count(*), '({columns}) is not in {reference.table}' from {table.name} "
            f"anti join {reference.table} using ({columns}) having count(*) > 0"
        ).fetchall()
    return [f"{n:,} rows: {reason}" for n, reason in found if n]


def _exists(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    names = con.execute("select table_name from duckdb_tables()").fetchall()
    return (table,) in names


def _count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    [(rows,)] = con.sql(f"select count(*) from {table}").fetchall()
    return int(rows)
