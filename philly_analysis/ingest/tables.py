"""Fill the tables of a trace from a source's SELECTs: keep valid rows, reject and count others."""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from graphlib import TopologicalSorter

from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.sql import (
    create_empty_view,
    parquet_scan,
    quoted,
)
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.progress import step
from philly_analysis.trace import RAW, REJECTS, TABLES, Table, tables_read

ALWAYS = ("jobs", "attempts")
"""Tables that a trace has even if they are empty; others are absent when no row was read."""
STORED = ("kept", "tallied", "context")
"""Marks of relations about all records, which the trace stores so that an append can extend them.

``kept``: distinct rows. ``tallied``: sums by the first column. ``context``: distinct facts that the
tables of each job depend on.
"""


def fill_tables(source: Source, raw: RawFiles, builder: TraceBuilder) -> None:
    """Fill every table that the raw files allow; a table follows the tables that its SELECT reads.

    One thread fills the streamed tables in sequence, while this thread fills the other tables.
    """
    sql, relations = plan(source)
    builder.con.execute(sql.get("macros", ""))
    builder.rejects.mkdir()
    _copy_sample_rejects(builder)
    with ThreadPoolExecutor(1) as beside:
        streaming: dict[str, Future[None]] = {}
        for name, read in relations.items():
            for streamed in [s for s in streaming if read & {s, f"{s}_machines"}]:
                _await(streamed, streaming.pop(streamed))
            table = TABLES.get(name)
            if table is None:
                create_relation(builder, name, sql[name])
            elif table.streamed:
                from philly_analysis.ingest.samples.loading import fill_streamed

                streams = (s for s in source.streams if s.table == name and s.file in raw.csv)
                files = {s: raw.csv[s.file] for s in streams}
                cursor = replace(builder, con=builder.con.cursor())
                streaming[name] = beside.submit(fill_streamed, cursor, table, files)
            else:
                with step(f"reading {name}", builder.con):
                    dropped = raw.dropped.get(name, {})
                    fill_table(builder, table, sql[name], raw.records.get(name), dropped)
        for name, future in streaming.items():
            _await(name, future)
    add_notes(builder, sql)


def add_notes(builder: TraceBuilder, sql: Mapping[str, str]) -> None:
    """Add the notes that a source's SQL finds."""
    if "notes" in sql:
        builder.notes += [note for (note,) in builder.con.sql(sql["notes"]).fetchall() if note]


@cache
def plan(source: Source, *, grown: bool = False) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Return a source's SQL by file stem, and what each relation reads, in order of creation.

    Parameters
    ----------
    grown
        Use the files in the folder ``grown`` in place of the files of the same names.
    """
    folders = (source.folder, source.folder / "grown") if grown else (source.folder,)
    files = (path for folder in folders for path in sorted(folder.glob("*.sql")))
    sql = {path.stem: path.read_text("utf-8") for path in files}
    graph: dict[str, set[str]] = {}
    for stream in source.streams:
        graph.setdefault(stream.table, set()).update(stream.relations)
        graph[f"{stream.table}_machines"] = {stream.table}
    for stem, text in sql.items():
        reads = set() if stem == "macros" else set(tables_read(text))
        if stem in TABLES:
            # a row is kept only if the rows that it references were kept
            reads.update(TABLES[stem].references)
        graph[stem] = reads
    names = sql.keys() | graph.keys()
    order = TopologicalSorter({stem: reads & names - {stem} for stem, reads in graph.items()})
    created = (sql.keys() | TABLES.keys()) - {"macros", "notes", "conflicts"}
    return sql, {name: graph[name] for name in order.static_order() if name in created}


def _await(name: str, streaming: Future[None]) -> None:
    with step(f"reading {name}"):
        streaming.result()


def mark_of(sql: str) -> str:
    """Return the mark in the first line of a relation: how its rows are stored."""
    mark = sql.split("\n", 1)[0].removeprefix("--").strip()
    return mark if mark in ("materialized", *STORED) else ""


def create_relation(builder: TraceBuilder, name: str, sql: str) -> None:
    """Create a relation of the source: a view, or a Parquet file if its mark says so."""
    if mark := mark_of(sql):
        file = builder.scratch / f"{name}.parquet"
        if mark in STORED:
            file = builder.store.folder / RAW / file.name
            file.parent.mkdir(exist_ok=True)
        builder.con.sql(sql).write_parquet(str(file))
        sql = f"from {parquet_scan([file])}"
    builder.con.execute(f"create or replace view {name} as {sql}")


def fill_table(
    builder: TraceBuilder, table: Table, sql: str, records: int | None, dropped: Mapping[str, int]
) -> None:
    """Fill a table that is not streamed: find the fault of each row, then split the rows.

    `records` is the reader's count of raw records, if the reader has a count. `dropped` counts the
    raw records that are no longer stored, by reject reason.
    """
    con = builder.con
    columns = table.typed_columns(con.sql(sql).columns)
    key = quoted(table.key)
    con.execute(
        f"create temp table checked_rows as with raw_rows as ({sql}), typed as ("
        f"select {columns}, source_file, source_line, raw, reject from raw_rows) "
        f"select *, coalesce(reject, {table.fault_sql}) as fault from typed"
    )
    valid = "from checked_rows where fault is null"
    [(rows, derived, repeats)] = con.sql(
        "select count(*), count(*) filter (source_line is null), "
        f"(select count(*) {valid}) > (select count(*) from (select distinct {key} {valid})) "
        "from checked_rows"
    ).fetchall()
    # a window over all columns is slow, and keys seldom repeat
    nth = f"row_number() over (partition by {key}, fault is null order by source_line)"
    missing = [
        f"when not exists (from {other} where "
        + " and ".join(f'{other}."{c}" = checked_rows."{c}"' for c in TABLES[other].key)
        + f") then '({', '.join(TABLES[other].key)}) is not in {other}'"
        for other in table.references
        if other in builder.rows
    ]
    unknown = f"case {' '.join(missing)} end" if missing else "null"
    con.execute(
        "create temp table faulty_rows as from ("
        "select rowid as row, source_file, source_line, coalesce("
        f"fault, case when {nth if repeats else 1} > 1 "
        f"then 'the key ({', '.join(table.key)}) repeats' end, {unknown}) as reason, raw "
        "from checked_rows) where reason is not null"
    )
    read = rows if records is None else records + derived
    if read or table.name in ALWAYS:
        kept = builder.write_table(
            table, "select * from checked_rows where rowid not in (select row from faulty_rows)"
        )
        builder.write_rejects(table, table.name, "select * exclude (row) from faulty_rows")
        counts = Counter(builder.count_rejects(table)) + Counter(dropped)
        builder.add_account(table, read, kept, counts)
    else:
        create_empty_view(con, table)
    con.execute("drop table checked_rows; drop table faulty_rows")


def _copy_sample_rejects(builder: TraceBuilder) -> None:
    """Copy the rejected rows of samples of earlier ingests; other tables are checked anew."""
    if files := builder.store.files(REJECTS.name):
        builder.con.sql(
            f'from {parquet_scan(files)} where "table" in $samples',
            params={"samples": [table.name for table in TABLES.values() if table.streamed]},
        ).write_parquet(str(builder.rejects / "before.parquet"))
