"""Read the columns of the tables that raw files are read into from ``raw_tables.toml``."""

import tomllib
from pathlib import Path

import pyarrow as pa


def _arrow(kind: str) -> pa.DataType:
    of = pa.type_for_alias(kind.removesuffix("[]"))
    return pa.list_(of) if kind.endswith("[]") else of


_DECLARED = tomllib.loads(Path(__file__).with_name("raw_tables.toml").read_text("utf-8"))
RAW_TABLES = {
    table: pa.schema([(name, _arrow(kind)) for name, kind in columns.items()])
    for table, columns in _DECLARED.items()
}
"""Schemas of the tables of raw records, by name."""
