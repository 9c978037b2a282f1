"""Derive only the jobs whose records an append brings or touches, and replace their rows.

The SELECTs of a source read the touched records instead of all records. What they need to know of
all other records is stored with the trace: relations marked ``kept``, ``tallied`` and ``context``.
The append is exact as long as the touched records contribute to the kept relations all that they
contributed before, and the facts of the context remain. Otherwise all jobs are derived again.
"""

from collections import Counter
from dataclasses import replace

import duckdb

from philly_analysis.ingest.parts import replace_rows, write_parts, written_parts
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.sql import create_empty_view, no_rows, parquet_scan, quoted
from philly_analysis.ingest.tables import (
    ALWAYS,
    STORED,
    add_notes,
    create_relation,
    fill_table,
    mark_of,
    plan,
)
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.progress import step
from philly_analysis.trace import (
    APPENDED_JOBS,
    JOB_TABLES,
    RAW,
    REJECTS,
    TABLES,
    Account,
    Table,
)

OF_JOBS = tuple(table for table in TABLES.values() if table.name in JOB_TABLES)
"""Tables whose rows belong to jobs, in an order in which a table follows those it refers to."""


class ContextChangedError(Exception):
    """The new records change what the tables of other jobs are derived from."""


def can_increment(source: Source, store: RawStore) -> bool:
    """Return whether a trace stores what an append needs to derive only the touched jobs."""
    sql, relations = plan(source)
    stored = (name for name in relations if mark_of(sql.get(name, "")) in STORED)
    files = [store.files(f"{RAW}/{name}") for name in stored]
    return bool(files) and all(files)


def update_tables(source: Source, raw: RawFiles, builder: TraceBuilder) -> None:
    """Derive the touched jobs, and replace their rows in the tables of the trace.

    Raises
    ------
    ContextChangedError
        All jobs are to be derived again.
    """
    con, store = builder.con, builder.store
    con.execute(plan(source)[0].get("macros", ""))
    with step("reading touched jobs", con):
        _derive_before(source, builder, raw.touched)
        _create_stored_views(con, store)
        touched = _derive_touched(source, builder)
    _record_appended(builder)
    for table in OF_JOBS:
        with step(f"reading {table.name}", con):
            _replace_table(builder, touched, table, raw)
    for table in TABLES.values():
        if table not in OF_JOBS and table.name in touched.rows:
            builder.write_table(table, f"from {table.name}")
            builder.accounts[table.name] = touched.accounts[table.name]
    _replace_rejects(builder, touched)
    add_notes(builder, plan(source, grown=True)[0])


def _derive_before(source: Source, builder: TraceBuilder, records: str) -> None:
    """Derive the touched jobs from the records that the trace has of them.

    Creates ``removed_jobs``, ``touched_rows`` (places of records) and ``<name>_before`` for each
    relation about all records.
    """
    con, store = builder.con, builder.store
    sql, relations = plan(source)
    names = [name for name in relations if name not in TABLES and mark_of(sql[name]) != "context"]
    con.execute(
        "create view touched_rows as "
        f"select row(source_file, source_line) as place from {records}_before"
    )
    if not _any(con, "from touched_rows"):  # all jobs of the new records are new
        con.execute("create table removed_jobs (job_id varchar)")
        for name in (n for n in names if mark_of(sql[n]) in STORED):
            stored = parquet_scan(store.files(f"{RAW}/{name}"))
            con.execute(f"create table {name}_before as from {stored} limit 0")
        return
    con.execute(f"alter table {records} rename to {records}_after")
    con.execute(f"create view {records} as from {records}_before")
    for name in names:
        if mark_of(sql[name]) in STORED:
            con.execute(f"create table {name}_before as {sql[name]}")
            stored = parquet_scan(store.files(f"{RAW}/{name}"))
            con.execute(f"create view {name} as from {stored}")
        else:
            create_relation(builder, name, sql[name])
    con.execute("create table removed_jobs as from derived_jobs")
    for name in reversed(names):
        con.execute(f"drop view {name}")
    con.execute(f"drop view {records}; alter table {records}_after rename to {records}")


def _create_stored_views(con: duckdb.DuckDBPyConnection, store: RawStore) -> None:
    """Create ``stored_<table>`` for each table as the trace has it before the append."""
    for table in TABLES.values():
        if files := store.files(table.name):
            con.execute(f"create view stored_{table.name} as from {parquet_scan(files)}")
        else:
            create_empty_view(con, replace(table, name=f"stored_{table.name}"))


def _derive_touched(source: Source, builder: TraceBuilder) -> TraceBuilder:
    """Fill the tables of the touched jobs, and all tables that are not of jobs, in scratch."""
    sql, relations = plan(source, grown=True)
    scratch = builder.scratch / "touched"
    (scratch / "rows").mkdir(parents=True)
    store = replace(builder.store, folder=scratch / "rows")
    touched = replace(builder, store=store, scratch=scratch, accounts={}, rows={})
    touched.rejects.mkdir()
    for name in relations:
        if name in TABLES:
            fill_table(touched, TABLES[name], sql[name], None, {})
        elif mark_of(sql[name]) in STORED:
            _extend(builder, name, sql[name])
        else:
            create_relation(touched, name, sql[name])
    if "conflicts" in sql:
        _refuse(builder.con, sql["conflicts"])
    touched.merge_rejects()
    return touched


def _record_appended(builder: TraceBuilder) -> None:
    """Add the touched jobs, and when each began, to the list of appended jobs.

    A job that began at another moment by its earlier records has the earlier moment.
    """
    store = builder.store
    assert store.before is not None  # noqa: S101 - a trace that grows has a manifest
    moments = [
        f"select job_id, {moment} as began_at from {prefix}{table} {jobs}"
        for table, moment in (("jobs", "submitted_at"), ("attempts", "started_at"))
        for prefix, jobs in (("", ""), ("stored_", "semi join removed_jobs using (job_id)"))
    ]
    rows = (
        f"select {store.before.generation + 1} as generation, job_id, min(began_at) as began_at "
        f"from ({' union all '.join(moments)}) group by job_id"
    )
    if earlier := store.files(APPENDED_JOBS):
        rows = f"from {parquet_scan(earlier)} union all by name {rows}"
    write_parts(builder.con, rows, store.folder / f"{APPENDED_JOBS}.parquet")


def _extend(builder: TraceBuilder, name: str, sql: str) -> None:
    """Add the touched records' share of a relation about all records to its stored rows.

    Raises
    ------
    ContextChangedError
        The stored rows are not all valid any more.
    """
    con = builder.con
    stored = f"from {parquet_scan(builder.store.files(f'{RAW}/{name}'))}"
    con.execute(f"create table {name}_after as {sql}")
    if mark_of(sql) == "tallied":
        key, total = con.table(f"{name}_after").columns
        rows = (
            f"select {key}, sum({total})::bigint as {total} from ({stored} union all by name "
            f"from {name}_after union all by name "
            f"select {key}, -{total} as {total} from {name}_before) group by {key}"
        )
    elif mark_of(sql) == "kept":
        _refuse(con, f"from {name}_before except from {name}_after")
        rows = f"{stored} union from {name}_after"
    else:
        _refuse(con, f"{stored} except from {name}_after")
        con.execute(f"create table added_context as from {name}_after except {stored}")
        rows = f"from {name}_after"
    create_relation(builder, name, f"-- {mark_of(sql)}\n{rows}")


def _any(con: duckdb.DuckDBPyConnection, rows: str) -> bool:
    """Return whether a SELECT has rows."""
    return bool(con.sql(rows).limit(1).fetchall())


def _refuse(con: duckdb.DuckDBPyConnection, rows: str) -> None:
    """Raise ContextChangedError if a SELECT has rows."""
    if _any(con, rows):
        raise ContextChangedError


def _replace_table(
    builder: TraceBuilder, touched: TraceBuilder, table: Table, raw: RawFiles
) -> None:
    """Replace the rows of the touched jobs in a table, and its account."""
    con, store, name = builder.con, builder.store, table.name
    earlier = store.files(name)
    if not earlier and name not in touched.rows:
        return
    file = store.folder / f"{name}.parquet"
    replacement = replace_rows(
        con,
        earlier,
        file,
        removed="job_id in (from removed_jobs)" if _any(con, "from removed_jobs") else "false",
        added=f"from {name}",  # a view of the touched jobs
        order=quoted(table.key),
    )
    store.kept[name] = replacement.kept
    old, new = store.account(name), touched.accounts.get(name, Account(name, 0, 0))
    rejected = Counter(old.rejected)
    rejected.subtract(_removed_rejects(builder, table))
    rejected.update(new.rejected)
    rejected.update(raw.dropped.get(name, {}))
    kept = old.kept - replacement.removed + new.kept
    counts = {reason: rows for reason, rows in sorted(rejected.items()) if rows}
    read = old.read + raw.records[name] if name in raw.records else kept + rejected.total()
    files = [*replacement.kept, *written_parts(file)]
    if files:
        builder.show_table(table, files)
    elif read or name in ALWAYS:
        builder.write_table(table, no_rows(table))
    else:  # as after an ingest of all files, the table is absent
        con.execute(f"create or replace view {name} as {no_rows(table)}")
        return
    builder.add_account(table, read, kept, counts)


_REJECTED = "row(source_file, source_line) in (select place from touched_rows)"
"""Condition on rejected rows: they are of the touched records."""


def _removed_rejects(builder: TraceBuilder, table: Table) -> dict[str, int]:
    """Count the stored rejected rows of the touched records by reason."""
    files = builder.store.files(REJECTS.name)
    if not files:
        return {}
    rows = builder.con.execute(
        f"select reason, count(*) from {parquet_scan(files)} "
        f'where "table" = $name and {_REJECTED} group by all',
        {"name": table.name},
    )
    return dict(rows.fetchall())


def _replace_rejects(builder: TraceBuilder, touched: TraceBuilder) -> None:
    """Replace the rejected rows of the touched records, and of tables that are not of jobs."""
    store = builder.store
    file = store.folder / f"{REJECTS.name}.parquet"
    names = ", ".join(f"'{table.name}'" for table in OF_JOBS)
    replacement = replace_rows(
        builder.con,
        store.files(REJECTS.name),
        file,
        removed=f'"table" not in ({names}) or {_REJECTED}',
        added=f"from {parquet_scan(written_parts(touched.store.folder / file.name))}",
        order="all",
    )
    store.kept[REJECTS.name] = replacement.kept
