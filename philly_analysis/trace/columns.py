"""Declare columns and tables, and derive their Arrow schemas and validation SQL."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from philly_analysis.errors import TraceError

Type = Literal["varchar", "integer", "bigint", "double", "double[]", "timestamp", "boolean"]

TextKind = Literal["", "nothing", "name", "path", "phrase", "sentence", "text"]

_UNITS = {"s": "s", "seconds": "s", "gb": "GB", "pct": "%", "w": "W", "at": "UTC"}
_UNITS |= dict.fromkeys(("gpus", "listed"), "GPUs")
"""Units by the ending of a column's name."""

_ARROW: dict[Type, pa.DataType] = {
    "varchar": pa.string(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "double[]": pa.list_(pa.float64()),
    "timestamp": pa.timestamp("us"),
    "boolean": pa.bool_(),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    check
        SQL predicate that each value but null must satisfy; empty: no predicate. The predicate may
        read other columns of the row. A null result passes.
    text
        What a text column may reveal of users and the cluster, for anonymisation: ``nothing``; a
        ``name``; a ``path`` of names; a ``phrase`` whose first word is the scheduler's; a
        ``sentence`` of this package, which may quote names; any ``text``. Empty: not a text.
    """

    name: str
    type: Type
    meaning: str
    check: str = ""
    text: TextKind = ""
    nullable: bool = False

    @property
    def unit(self) -> str:
        """Unit that the ending of the name stands for; empty: no unit."""
        return _UNITS.get(self.name.rpartition("_")[2], "")

    @property
    def arrow(self) -> pa.Field:
        """The column as an Arrow field."""
        return pa.field(self.name, _ARROW[self.type], nullable=self.nullable)


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a trace: the meaning of a row, its columns, key and references.

    Attributes
    ----------
    references
        Names of tables whose key columns the table has: each row refers to a row of each.
    streamed
        True for tables of samples, which may be larger than memory. Such tables are written and
        read in batches, as a folder of Parquet files. The keys of the tables are checked partition
        by partition.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    references: tuple[str, ...] = ()
    streamed: bool = False

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(c.name for c in self.columns)

    @property
    def arrow(self) -> pa.Schema:
        """The table as an Arrow schema."""
        return pa.schema([c.arrow for c in self.columns])

    def typed_columns(self, present: Collection[str]) -> str:
        """Return the select list of all columns: cast to their types, null unless present."""
        return ", ".join(
            (f'"{c.name}"' if c.name in present else "null") + f'::{c.type} as "{c.name}"'
            for c in self.columns
        )

    def completed(self, present: Collection[str]) -> str:
        """Return the select list of all columns for rows that have the required columns.

        Raises
        ------
        TraceError
            A required column is absent.
        """
        if absent := [c.name for c in self.columns if not c.nullable and c.name not in present]:
            raise TraceError(f"the table {self.name} lacks the column {', '.join(absent)}")
        return self.typed_columns(present)

    @property
    def fault_sql(self) -> str:
        """SQL expression: the reason why a row is not valid, or null."""
        rules = [
            (f'"{c.name}" is null', f"{c.name} is missing") for c in self.columns if not c.nullable
        ]
        rules += [
            (f"not coalesce({c.check}, true)", f"{c.name} fails: {c.check}")
            for c in self.columns
            if c.check
        ]
        whens = (
            f"when {fault} then '{reason.replace(chr(39), chr(39) * 2)}'" for fault, reason in rules
        )
        return f"case {' '.join(whens)} end"
