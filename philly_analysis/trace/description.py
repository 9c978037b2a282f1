"""Describe the tables of a trace: rows, span in time, and the account of raw rows."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import duckdb

from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.schema import TABLES

if TYPE_CHECKING:
    import pandas as pd


def dictionary(tables: Iterable[str]) -> "pd.DataFrame":
    """Return a row per column of tables: table, column, type, unit, null, meaning."""
    import pandas as pd

    return pd.DataFrame(
        [
            (name, c.name, c.type, c.unit, "yes" if c.nullable else "", c.meaning)
            for name in tables
            for c in TABLES[name].columns
        ],
        columns=["table", "column", "type", "unit", "null", "meaning"],
    )


def account_of_tables(manifest: Manifest, present: Iterable[str]) -> "pd.DataFrame":
    """Return a row per table of the schema: its rows and the account of raw rows.

    Returns
    -------
    pandas.DataFrame
        Columns table, rows (null: absent), read and rejected (raw rows; null: the source has none
        for this table), why (reasons of rejection with counts), one row is.
    """
    import pandas as pd

    accounts = {
        a.table: (
            a.read,
            a.read - a.kept,
            "; ".join(f"{n:,} {why}" for why, n in a.rejected.items()),
        )
        for a in manifest.accounts
    }
    kept = {name: manifest.rows.get(name) for name in present}
    rows = [
        (name, kept.get(name), *accounts.get(name, (None, None, "")), table.row)
        for name, table in TABLES.items()
    ]
    columns = ["table", "rows", "read", "rejected", "why", "one row is"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:4], "Int64"))


def describe(
    manifest: Manifest, present: Iterable[str], sql: Callable[[str], duckdb.DuckDBPyRelation]
) -> "pd.DataFrame":
    """Return a row per table of a trace, with the span of its times: see :meth:`Trace.describe`."""
    import pandas as pd

    tables = account_of_tables(manifest, present)
    tables = tables[tables["rows"].notna()].reset_index(drop=True)
    spans = [_span(name, sql) for name in tables["table"]]
    tables.insert(2, "start", pd.to_datetime([start for start, _ in spans]))
    tables.insert(3, "end", pd.to_datetime([end for _, end in spans]))
    return tables


def _span(table: str, sql: Callable[[str], duckdb.DuckDBPyRelation]) -> tuple[Any, ...]:
    """Return the first and last moment in a table; None without times."""
    times = [c.name for c in TABLES[table].columns if c.type.startswith("timestamp")]
    if not times:
        return None, None
    earliest = ", ".join(f"min({name})" for name in times)
    latest = ", ".join(f"max({name})" for name in times)
    [span] = sql(f"select least({earliest}), greatest({latest}) from {table}").fetchall()
    return span
