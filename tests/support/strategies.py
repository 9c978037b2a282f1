"""Hypothesis strategies for valid traces, derived from the schema.

A column's type and the list of values in its check determine its values. Keys are unique,
references exist, and rows that violate the schema's checks are dropped. Everything else is free:
attempts overlap, gangs disagree with placements, times are missing or jump.
"""

import re
from datetime import datetime, timedelta
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from philly_analysis.trace.columns import Column, Table
from philly_analysis.trace.schema import TABLES

Row = dict[str, Any]

_FROM = datetime(2017, 11, 4, 22)
_TEXTS = ("a", "b", "$\\frac{", "<b>&'\"", "")
_LISTED = re.compile(r"in \((.*)\)")
_SIZES = {
    "jobs": 8,
    "machines": 4,
    "attempts": 12,
    "placements": 16,
    "gpu_samples": 16,
    "host_samples": 12,
    "devices": 6,
    "summaries": 12,
    "failures": 4,
    "virtual_clusters": 3,
    "cohorts": 2,
    "speeds": 8,
    "holds": 8,
    "queue_states": 12,
    "limits": 4,
    "host_allocations": 8,
    "server_closures": 4,
    "known_causes": 8,
}


def one_in(tries: int) -> settings:
    """Return settings for slow examples: one example per `tries` of the profile."""
    return settings(max_examples=max(1, settings().max_examples // tries))


def _values(column: Column) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a column, including null if it is nullable."""
    if listed := _LISTED.search(column.check):
        some: st.SearchStrategy[Any] = st.sampled_from(re.findall(r"'(.*?)'", listed[1]))
    elif column.type == "varchar":
        some = st.sampled_from(_TEXTS)
    elif column.type == "timestamp":
        # times within a few hours, many of them equal; some weeks apart
        seconds = st.integers(0, 240).map(lambda m: 60 * m) | st.integers(0, 3_000_000)
        some = seconds.map(lambda s: _FROM + timedelta(seconds=s))
        if column.name == "sampled_at":
            some = st.integers(0, 240).map(lambda m: _FROM + timedelta(minutes=m))
    elif column.type == "double[]":
        some = st.lists(st.none() | st.sampled_from((0.0, 12.5, 100.0)), max_size=8)
    elif column.type == "boolean":
        some = st.booleans()
    elif column.type == "double":
        some = st.sampled_from((0.0, 0.5, 25.0, 100.0))
    else:
        some = st.integers(0, 9)
    return st.none() | some if column.nullable else some


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pl.DataFrame]:
    """Draw the tables of a valid trace: jobs and attempts, and others whose references exist."""
    optional = [t for t in TABLES if t not in ("jobs", "attempts")]
    wanted = {"jobs", "attempts", *draw(st.sets(st.sampled_from(optional)) | st.just(optional))}
    rows_of: dict[str, list[Row]] = {}
    for name, table in TABLES.items():
        if name in wanted and all(other in rows_of for other in table.references):
            rows_of[name] = _valid(table, _rows(draw, table, rows_of))
    return {name: _frame(TABLES[name], rows) for name, rows in rows_of.items()}


def _rows(draw: st.DrawFn, table: Table, rows_of: dict[str, list[Row]]) -> list[Row]:
    """Draw rows with existing references and unique keys."""
    parents = [rows_of[other] for other in table.references]
    if not all(parents):
        return []
    referring = {c for other in table.references for c in TABLES[other].key}
    free = {c.name: _values(c) for c in table.columns if c.name not in referring}
    rows: dict[tuple[Any, ...], Row] = {}
    most = _SIZES[table.name]
    for _ in range(draw(st.sampled_from((0, most // 2, most, most)))):
        row = draw(st.fixed_dictionaries(free))
        for other, parent in zip(table.references, parents, strict=True):
            chosen = draw(st.sampled_from(parent))
            row |= {c: chosen[c] for c in TABLES[other].key}
        rows[tuple(row[c] for c in table.key)] = row
    return list(rows.values())


def _valid(table: Table, rows: list[Row]) -> list[Row]:
    """Return the rows that satisfy the checks of the schema."""
    with duckdb.connect() as con:
        con.register("drawn", _arrow(table, rows))
        faults = con.sql(f"select {table.fault_sql} from drawn").fetchall()
    return [row for row, (fault,) in zip(rows, faults, strict=True) if fault is None]


def _arrow(table: Table, rows: list[Row]) -> pa.Table:
    nullable = pa.schema([f.with_nullable(True) for f in table.arrow])
    return pa.Table.from_pylist(rows, schema=nullable)


def _frame(table: Table, rows: list[Row]) -> pl.DataFrame:
    frame = pl.from_arrow(_arrow(table, rows))
    assert isinstance(frame, pl.DataFrame)
    return frame
