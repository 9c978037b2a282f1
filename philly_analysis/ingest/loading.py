"""A trace in the making: its files, what was counted so far, and the rows it rejects."""

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.failures import mask
from philly_analysis.trace import Account, Input, Table, digest, escape_glob

_MASKABLE = (
    r"(?i)://|@|~|-----BEGIN|pass|pwd|secret|token|key|auth|cookie|sig=|[/\\](home|users|u)[/\\]"
    r"|[a-z0-9+/_-]{20,}"
)
"""What is in any text that masking changes: the engine finds it faster."""
RAW_SHOWN = 500
"""Characters of a rejected row that are kept to show it."""
_MASKED_AT_ONCE = 10_000


def input_of(path: Path) -> Input:
    """Hash a raw file."""
    return Input(path.name, *digest(path))


@dataclass(slots=True)
class Fill:
    """A trace in the making: where its files go and what has been counted so far.

    Attributes
    ----------
    masked
        Replace secrets and personal data in the raw rows that are kept to show them.
    executor
        Workers that read blocks of raw files; None: threads of this process do.
    """

    con: duckdb.DuckDBPyConnection
    folder: Path
    scratch: Path
    masked: bool = True
    accounts: list[Account] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    executor: Executor | None = None

    @property
    def rejects(self) -> Path:
        """Folder of the rejected rows: a folder for each table, and what was rejected before."""
        return self.scratch / "rejects"


def empty_view(con: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Create a table that the raw files cannot fill, empty, for the SELECTs that ask about it."""
    columns = ", ".join(f'null::{c.type} as "{c.name}"' for c in table.columns)
    con.execute(f"create view {table.name} as select {columns} where false")


def masked_raw(con: duckdb.DuckDBPyConnection, select: str) -> str:
    """Return a SELECT whose rows hold no secrets in ``raw``; their order may be another."""
    asked = con.cursor()
    asked.execute(
        f"select distinct raw from ({select}) where regexp_matches(raw, $may)",
        {"may": _MASKABLE},
    )
    con.execute("create or replace temp table masked (raw varchar, instead varchar)")
    found = False
    while texts := asked.fetchmany(_MASKED_AT_ONCE):
        changed = [(text, instead) for (text,) in texts if (instead := mask(text)) != text]
        if changed:
            found = True
            columns = dict(zip(("raw", "instead"), zip(*changed, strict=True), strict=True))
            con.register("masked_read", pa.table(columns))
            con.execute("insert into masked from masked_read")
            con.unregister("masked_read")
    if not found:
        return select
    return (
        f"select given.* replace (coalesce(masked.instead, given.raw) as raw) from ({select}) "
        "as given left join masked on masked.raw = given.raw"
    )


def save_rejects(fill: Fill, table: Table, name: str, sql: str) -> Path:
    """Write a file of rejected rows: `sql` gives source_file, source_line, reason and raw."""
    file = fill.rejects / table.name / f"{name}.parquet"
    file.parent.mkdir(exist_ok=True)
    fill.con.execute(
        f"copy (select '{table.name}' as \"table\", source_file, source_line, reason, "
        f"case when length(raw) > {RAW_SHOWN} then raw[:{RAW_SHOWN}] || '…' else raw end as raw "
        f"from ({sql})) to {path_text(file)} (format parquet)"
    )
    return file


def count_rejects(fill: Fill, table: Table) -> dict[str, int]:
    """Count a table's rejected rows by reason, as written."""
    # not of other tables, which may be written just now
    files = [*fill.rejects.glob("*.parquet"), *(fill.rejects / table.name).glob("*.parquet")]
    rows = fill.con.sql(
        f"select reason, count(*) from {parquet(files)} "
        f"where \"table\" = '{table.name}' group by reason order by reason"
    )
    return dict(rows.fetchall())


def names(columns: tuple[str, ...]) -> str:
    """Return columns as a quoted list: some of our names are words of SQL."""
    return ", ".join(f'"{c}"' for c in columns)


def path_text(path: str | Path) -> str:
    """Return a path as a SQL string."""
    return "'" + str(path).replace("'", "''") + "'"


def parquet(files: Iterable[Path], options: str = "union_by_name = false") -> str:
    """Return the table function that reads Parquet files, whatever their folders are called."""
    listed = ", ".join(path_text(escape_glob(file)) for file in sorted(files))
    return f"read_parquet([{listed}], {options})"
