"""Compose SQL fragments, and exchange rows with the database."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.trace import Table, escape_glob

RAW_CHARS = 500
"""Characters of a rejected row that are stored."""

_MASKABLE = (
    r"(?i)://|@|~|-----BEGIN|pass|pwd|secret|token|key|auth|cookie|sig=|[/\\](home|users|u)[/\\]"
    r"|[a-z0-9+/_-]{20,}"
)
"""Pattern found in any text that masking changes; the database searches it faster."""
_BATCH_ROWS = 10_000


def quoted(columns: Iterable[str]) -> str:
    """Return columns as a quoted list: some of the names are SQL keywords."""
    return ", ".join(f'"{c}"' for c in columns)


def parquet_scan(files: Iterable[Path], options: str = "union_by_name = false") -> str:
    """Return the table function that reads Parquet files at any path."""
    paths = (escape_glob(file).replace("'", "''") for file in sorted(files))
    listed = ", ".join(f"'{path}'" for path in paths)
    return f"read_parquet([{listed}], {options})"


def parquet_rows(file: Path) -> int:
    """Return the number of rows of a Parquet file."""
    return int(pq.read_metadata(file).num_rows)


def create_empty_view(con: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Create an empty view of a table that the raw files did not fill, for SELECTs that read it."""
    con.execute(f"create view if not exists {table.name} as {no_rows(table)}")


def no_rows(table: Table) -> str:
    """Return the SELECT of a table's columns without rows."""
    return f"select {table.typed_columns(())} where false"


def arrow_table(rows: Iterable[Sequence[object]], schema: pa.Schema) -> pa.Table:
    """Return rows as an Arrow table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.table(arrays, schema)


def create_table(
    con: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | pa.RecordBatchReader
) -> None:
    """Create a table of Arrow rows, or replace it."""
    con.register("new_rows", rows)
    con.execute(f"create or replace table {name} as from new_rows")
    con.unregister("new_rows")


def create_table_of(
    con: duckdb.DuckDBPyConnection,
    name: str,
    schema: pa.Schema,
    rows: Iterable[Sequence[object]] = (),
) -> None:
    """Create a table of Python rows, or replace it.

    The engine gets the rows as parameters: to convert Python values, pyarrow imports pandas, which
    takes half a second.
    """
    create_table(con, name, pa.Table.from_batches([], schema))
    values = ", ".join(f"unnest(${i})" for i in range(1, len(schema) + 1))
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH_ROWS)):
        columns = list(map(list, zip(*batch, strict=True)))
        con.execute(f"insert into {name} select {values}", columns)


def insert_rows(con: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert Arrow rows into a table, by column name."""
    if not rows.num_rows:
        return
    con.register("new_rows", rows)
    con.execute(f"insert into {table} by name from new_rows")
    con.unregister("new_rows")


def masked_raw(con: duckdb.DuckDBPyConnection, select: str) -> str:
    """Return a SELECT whose column ``raw`` is masked; the order of rows may differ."""
    texts = con.cursor()
    texts.execute(
        f"select distinct raw from ({select}) where regexp_matches(raw, $pattern)",
        {"pattern": _MASKABLE},
    )
    schema = pa.schema([("raw", pa.string()), ("replacement", pa.string())])
    any_changed = False
    while batch := texts.fetchmany(_BATCH_ROWS):
        from philly_analysis.failures import mask

        if changed := [(text, masked) for (text,) in batch if (masked := mask(text)) != text]:
            write = insert_rows if any_changed else create_table
            write(con, "masked", arrow_table(changed, schema))
            any_changed = True
    if not any_changed:
        return select
    return (
        "select rows.* replace (coalesce(masked.replacement, rows.raw) as raw) "
        f"from ({select}) as rows left join masked on masked.raw = rows.raw"
    )
