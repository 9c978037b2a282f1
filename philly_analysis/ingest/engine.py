"""Runs a source's SELECTs in order: kept rows to tables, rejected rows to rejects, all counted."""

import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import duckdb

from philly_analysis.errors import InputError, TraceError, UnknownNameError
from philly_analysis.ingest.failures import FailureOutput, fill_failures
from philly_analysis.ingest.filling import (
    Fill,
    count_rejects,
    empty_view,
    names,
    parquet,
    path_text,
    read_bytes,
    save_rejects,
)
from philly_analysis.ingest.pai import PAI
from philly_analysis.ingest.philly import PHILLY
from philly_analysis.ingest.samples import fill_streamed
from philly_analysis.ingest.slurm import SLURM
from philly_analysis.ingest.source import Raw, Source
from philly_analysis.ingest.table import TABLE, by_map
from philly_analysis.manifest import Account, Manifest
from philly_analysis.progress import silence, step
from philly_analysis.relations import MACROS, tables_read
from philly_analysis.schema import REJECTS, TABLES, Table
from philly_analysis.trace import MEMORY_LIMIT
from philly_analysis.writer import new_folder, seal

SOURCES: dict[str, Source] = {s.name: s for s in (PHILLY, SLURM, PAI, TABLE)}
"""The sources of raw logs, by name."""

ALWAYS = ("jobs", "attempts")
"""Tables that a trace has even if they are empty; others are absent when no row was read."""


def run(
    source: str,
    raw: Path,
    out: Path,
    *,
    force: bool,
    name: str | None,
    synthetic: bool,
    failures: FailureOutput | None,
    map: str | Path | None,  # noqa: A002 - the word of the command line
) -> Manifest:
    """Make a trace from raw logs: see :func:`philly_analysis.ingest.ingest`."""
    if source not in SOURCES:
        raise UnknownNameError("source", source, SOURCES)
    if map is not None and source != TABLE.name:
        raise InputError(f"source {source} takes no map: only {TABLE.name} does.")
    reader = SOURCES[source] if map is None else by_map(map)
    with (
        new_folder(out, force=force) as folder,
        tempfile.TemporaryDirectory(prefix="ingest-", dir=folder) as scratch,
        duckdb.connect() as con,
    ):
        fill = Fill(con, folder, Path(scratch))
        try:
            with step("opening the raw files"):
                _configure(con, fill.scratch)
                opened = reader.prepare(con, raw, fill.scratch)
            with ThreadPoolExecutor(1) as pool:
                fill.readings = {path: pool.submit(read_bytes, path) for path in _paths(opened)}
                _fill(reader, opened, fill)
                _check_kept(fill, raw)
                if failures:
                    with step("reading failed output"):
                        fill_failures(fill, failures)
                _write_rejects(fill)
                inputs = tuple(fill.readings[path].result().input for path in opened.files)
        except duckdb.IOException as error:
            for reading in fill.readings.values():
                if isinstance(cause := reading.exception(), InputError):
                    raise cause from None
            raise TraceError(f"{out} cannot be written: {_first_line(error)}") from None
        except duckdb.OutOfMemoryException as error:
            raise TraceError(
                f"{out} cannot be made: {_first_line(error)} Free some disk space or memory."
            ) from None
        except duckdb.InvalidInputException as error:
            raise InputError(f"{raw} cannot be read: {_first_line(error)}") from None
        except OSError as error:
            raise TraceError(f"{out} cannot be written: {error.strerror or error}") from None
        manifest = Manifest(
            name=name or out.name,
            source=source,
            synthetic=synthetic or opened.synthetic,
            inputs=inputs,
            accounts=tuple(sorted(fill.accounts, key=lambda a: list(TABLES).index(a.table))),
            notes=(*opened.notes, *fill.notes),
            rows=fill.rows,
        )
        con.close()
        seal(folder, manifest, fill.rows)
    return manifest


def _configure(con: duckdb.DuckDBPyConnection, scratch: Path) -> None:
    con.execute("set memory_limit = $limit", {"limit": MEMORY_LIMIT})
    con.execute("set temp_directory = $folder", {"folder": str(scratch / "spill")})
    silence(con)
    con.execute(MACROS)


@cache
def _plan(folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return a source's SQL by file stem, and its tables and relations in order of creation."""
    sql = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.sql"))}
    parts = {t: {stem for stem in sql if _table(stem) == t} for t in TABLES}
    graph: dict[str, set[str]] = {}
    for stem, text in sql.items():
        reads = set() if stem == "macros" else set(tables_read(text))
        table = TABLES.get(_table(stem))
        if table and not table.streamed:
            # a row is kept only if what it refers to was kept
            reads |= {r.table for r in table.references}
        graph[stem] = {s for r in reads for s in parts.get(r, {r} & sql.keys())} - {stem}
    order = [_table(stem) for stem in TopologicalSorter(graph).static_order()]
    # a table in parts is due when the last of them is
    due = list(dict.fromkeys(reversed(order)))[::-1]
    return sql, [name for name in due if name not in ("macros", "notes")]


def _fill(source: Source, raw: Raw, fill: Fill) -> None:
    """Fill every table that the raw files allow, each after those that its SELECT reads."""
    sql, order = _plan(source.folder)
    fill.con.execute(sql.get("macros", ""))
    fill.rejects.mkdir()
    for name in order:
        table = TABLES.get(name)
        if table is None:
            _relate(fill, name, sql[name])
            continue
        with step(f"reading {name}", fill.con):
            if table.streamed:
                parts = {s: (sql[s], raw.csv[s]) for s in raw.csv if _table(s) == name}
                fill_streamed(fill, table, parts)
            else:
                _fill_table(fill, table, sql[name], raw.records.get(name))
    if "notes" in sql:
        fill.notes += [note for (note,) in fill.con.sql(sql["notes"]).fetchall() if note]
    _write_rejects(fill)


def _check_kept(fill: Fill, raw: Path) -> None:
    """Refuse raw files of which no job can be kept.

    Raises
    ------
    InputError
        Rows were read, and every job and attempt among them was rejected.
    """
    made = [account for account in fill.accounts if account.table in ALWAYS]
    reasons = Counter[str]()
    for account in made:
        reasons.update(account.rejected)
    if reasons and not any(account.kept for account in made):
        listed = "; ".join(f"{n:,} {reason}" for reason, n in reasons.most_common(5))
        raise InputError(f"nothing in {raw} can be kept: {listed}.")


def _table(stem: str) -> str:
    """Return what a SQL file fills, or the name of its relation."""
    return stem.split(".")[0]


def _relate(fill: Fill, name: str, sql: str) -> None:
    """Create a relation of the source: a view, or a Parquet file if its SQL says stored."""
    if sql.split("\n", 1)[0].strip() == "-- stored":
        file = fill.scratch / f"{name}.parquet"
        fill.con.sql(sql).write_parquet(str(file))
        fill.con.sql(f"from {parquet([file])}").create_view(name)
    else:
        fill.con.sql(sql).create_view(name)


def _fill_table(fill: Fill, table: Table, sql: str, records: int | None) -> None:
    """Fill one table whose rows fit on disk once more: judge each row, then part them.

    `records` is how many raw records the reader counted for it, if it counts them.
    """
    con = fill.con
    given = con.sql(sql).columns
    columns = ", ".join(
        f'"{c.name}"::{c.type} as "{c.name}"'
        if c.name in given
        else f'null::{c.type} as "{c.name}"'
        for c in table.columns
    )
    key = names(table.key)
    con.execute(
        f"create temp table judged as "
        f"with given as ({sql}), typed as ("
        f"select {columns}, source_file, source_line, raw, reject from given), "
        f"faulty as (select *, coalesce(reject, {table.fault_sql}) as fault from typed) "
        "select *, case when fault is null and row_number() over ("
        f"partition by {key}, fault is null order by source_line) > 1 "
        f"then 'the key ({', '.join(table.key)}) repeats' end as repeats from faulty"
    )
    missing = [
        f"when not exists (from {r.table} as other where "
        + " and ".join(f'other."{c}" = judged."{c}"' for c in r.columns)
        + f") then '({', '.join(r.columns)}) is not in {r.table}'"
        for r in table.references
        if r.table in fill.rows
    ]
    unknown = f"case {' '.join(missing)} end" if missing else "null"
    con.execute(
        "create temp table parted as select *, "
        f"coalesce(fault, repeats, {unknown}) as reason from judged"
    )
    [(given_rows, derived, kept)] = con.sql(
        "select count(*), count(*) filter (source_line is null), count(*) filter (reason is null) "
        "from parted"
    ).fetchall()
    read = given_rows if records is None else records + derived
    file = fill.folder / f"{table.name}.parquet"
    if read or table.name in ALWAYS:
        con.execute(
            f"copy (select {names(table.column_names)} from parted where reason is null "
            f"order by {key}) to {path_text(file)} (format parquet, compression zstd)"
        )
        con.sql(f"from {parquet([file])}").create_view(table.name)
        fill.rows[table.name] = kept
        save_rejects(
            fill,
            table,
            table.name,
            "select source_file, source_line, reason, raw from parted where reason is not null",
        )
        fill.accounts.append(Account(table.name, read, kept, count_rejects(fill, table)))
    else:
        empty_view(con, table)
    con.execute("drop table judged; drop table parted")


def _write_rejects(fill: Fill) -> None:
    columns = ", ".join(f'"{c.name}"::{c.type} as "{c.name}"' for c in REJECTS.columns)
    fill.con.execute(
        f"copy (select {columns} from {parquet(fill.rejects.iterdir())} "
        f"order by all) to {path_text(fill.folder / f'{REJECTS.name}.parquet')} "
        "(format parquet, compression zstd)"
    )


def _paths(raw: Raw) -> list[Path]:
    """Raw files in the order in which their readings are waited for."""
    return list(dict.fromkeys([*(file.path for file in raw.csv.values()), *raw.files]))


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]
