"""Write traces atomically, validate their tables, and append to them."""

import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.atomic import atomic_write, exclusive, recover, remove_stale
from philly_analysis.errors import TraceError, file_errors
from philly_analysis.trace.columns import Table
from philly_analysis.trace.integrity import check_digests, check_sizes, with_digests
from philly_analysis.trace.manifest import MANIFEST, Manifest, find_files
from philly_analysis.trace.object_storage import is_address, upload_new
from philly_analysis.trace.relations import macro_connection
from philly_analysis.trace.schema import TABLES

if TYPE_CHECKING:
    import polars as pl

PARTS = "parts"
"""Folder in a trace of appended files, with a folder per generation."""
_LOCK = ".append.lock"


@contextmanager
def create_trace(out: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Return a folder to fill, which is renamed to `out` when the block ends.

    Parameters
    ----------
    force
        Replace an existing trace.

    Raises
    ------
    TraceError
        `out` exists (and is not to be replaced, or is no trace), or cannot be written.
    """
    if is_address(out):
        with upload_new(out, force=force) as local, create_trace(local, force=True) as folder:
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
        with ExitStack() as stack, atomic_write(out, replace=force) as partial:
            partial.mkdir()
            yield partial
            if out.exists():
                stack.enter_context(_append_lock(out))
    except FileExistsError:
        raise TraceError(
            f"{out} exists: another process has made it meanwhile. Give another folder, or "
            "force=True to replace it."
        ) from None
    except OSError as error:
        raise TraceError(f"{out} cannot be written: {error.strerror or error}") from error


def write_manifest(folder: Path, manifest: Manifest, rows: Mapping[str, int]) -> Manifest:
    """Write the manifest as the last file of a trace, with row counts and digests of the tables."""
    manifest = replace(manifest, rows=dict(rows), files=find_files(folder))
    manifest = with_digests(folder, manifest, recorded={})
    (folder / MANIFEST).write_text(manifest.to_json(), "utf-8")
    return manifest


@contextmanager
def append_to(out: Path) -> Iterator[tuple[Path, Manifest]]:
    """Return a folder inside a trace for new files, with the append lock held.

    The files are part of the trace once :func:`replace_manifest` lists them. Files that no manifest
    lists are removed first. A killed append left unlisted files, or the previous append replaced
    files and kept them for readers that had the trace open.

    Yields
    ------
    folder, manifest
        The folder, empty, and the manifest of the trace.

    Raises
    ------
    TraceError
        `out` is no trace, cannot be written, or another process is appending to it.
    """
    Manifest.read(recover(out))
    with file_errors(TraceError, f"{out} cannot be written"), _append_lock(out):
        manifest = Manifest.read(out)
        check_sizes(out, manifest)
        check_digests(out, manifest, manifest.files)
        remove_stale(out / MANIFEST)
        _remove_unlisted(out, manifest)
        folder = out / PARTS / f"{manifest.generation + 1:06}"
        folder.mkdir(parents=True)
        try:
            yield folder, manifest
        finally:
            if Manifest.read(out).generation == manifest.generation:
                shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):  # the folder has files of other generations
                    folder.parent.rmdir()


def _append_lock(out: Path) -> AbstractContextManager[None]:
    """Keep other processes from appending to a trace, or replacing it, while the block runs."""
    busy = TraceError(
        f"another process is appending to {out} or replacing it. Try again when it is done."
    )
    return exclusive(out / _LOCK, busy)


def replace_manifest(out: Path, manifest: Manifest) -> Manifest:
    """Replace a trace's manifest atomically, once the new files are on the disk."""
    manifest = with_digests(out, manifest, Manifest.read(out).digests)
    folders = set()
    for file in manifest.every_file:
        # files of earlier generations are on the disk already
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
        return  # Windows cannot flush folders
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_unlisted(out: Path, manifest: Manifest) -> None:
    """Remove tables, raw records and appended files that the manifest does not list."""
    listed = {out / file for file in manifest.every_file}
    present = {out / file for files in find_files(out).values() for file in files}
    present |= {file for file in (out / PARTS).rglob("*") if file.is_file()}
    for file in present - listed:
        file.unlink()
    for folder in sorted((out / PARTS).rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def write_trace(
    out: str | Path,
    tables: Mapping[str, "pl.DataFrame | pa.Table"],
    manifest: Manifest,
    *,
    force: bool = False,
) -> Path:
    """Write tables that are in memory as a trace.

    Each table is cast to its declared types. Missing optional columns become null.

    Returns
    -------
    Path
        The folder, `out`.

    Raises
    ------
    TraceError
        A row violates a rule of its table, or the folder cannot be written.
    """
    with create_trace(out, force=force) as folder:
        write_manifest(folder, manifest, write_tables(folder, tables))
    return Path(out)


def write_tables(folder: Path, tables: Mapping[str, "pl.DataFrame | pa.Table"]) -> dict[str, int]:
    """Write tables in memory into a folder of :func:`create_trace`.

    Returns
    -------
    dict
        Rows by table.

    Raises
    ------
    TraceError
        A row violates a rule of its table.
    """
    with macro_connection().cursor() as con:
        rows = {name: 0 for name in TABLES if name in tables}
        for name in rows:
            table, arrow = TABLES[name], pa.table(tables[name])
            con.register("given_rows", arrow)
            columns = table.completed(arrow.column_names)
            con.execute(f"create temp table {name} as select {columns} from given_rows")
            if wrong := violations(con, table, rows):
                raise TraceError(f"{name} is not valid: {'; '.join(wrong)}")
            typed = con.table(name).to_arrow_table()
            rows[name] = typed.num_rows
            file = table_file(folder, table)
            pq.write_table(typed.cast(table.arrow), file, compression="zstd")
    return rows


def table_file(folder: Path, table: Table) -> Path:
    """Return the file of a new trace that a table is written to."""
    file = folder / table.name / "0.parquet" if table.streamed else folder / f"{table.name}.parquet"
    file.parent.mkdir(exist_ok=True)
    return file


def violations(con: duckdb.DuckDBPyConnection, table: Table, present: Collection[str]) -> list[str]:
    """Check a table in `con` against the declared rules.

    Parameters
    ----------
    present
        Names of the tables in `con`.

    Returns
    -------
    list of str
        A sentence per violated rule, with the number of rows; empty: the table is valid.
    """
    key = ", ".join(f'"{column}"' for column in table.key)
    queries = [
        f"select count(*) as n, reason from (select {table.fault_sql} as reason from {table.name}) "
        "where reason is not null group by reason",
        f"select sum(n) as n, 'the key ({', '.join(table.key)}) repeats' as reason from "
        f"(select count(*) as n from {table.name} group by {key} having count(*) > 1)",
    ]
    for other in table.references:
        columns = ", ".join(TABLES[other].key)
        queries.append(
            f"select count(*) as n, '({columns}) is not in {other}' as reason from {table.name} "
            f"anti join {other} using ({columns})"
            if other in present
            else f"select count(*) as n, '{other} is absent' as reason from {table.name}"
        )
    counts = " union all ".join(
        f"(select {place} as place, n, reason from ({query}))"
        for place, query in enumerate(queries)
    )
    rows = con.execute(f"select n, reason from ({counts}) where n > 0 order by place, n, reason")
    return [f"{n:,} rows: {reason}" for n, reason in rows.fetchall()]
