"""Write the tables of a new trace, and record its row counts, notes and rejected rows."""

import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from philly_analysis.ingest.parts import write_parts
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.sql import (
    RAW_CHARS,
    arrow_table,
    masked_raw,
    parquet_rows,
    parquet_scan,
    quoted,
)
from philly_analysis.parallel import InlineExecutor
from philly_analysis.trace import REJECTS, Account, Table

REJECTED = REJECTS.arrow.remove(0)
"""Columns of rejected rows, without the table."""
Rejected = tuple[str, int | None, str, str]
"""Source file, source line, reason and raw text of a rejected row."""


@dataclass(slots=True)
class TraceBuilder:
    """A trace under construction.

    Attributes
    ----------
    con
        Connection with the raw relations and a view of each finished table.
    store
        Folder of the trace's files, and what it has of earlier ingests.
    scratch
        Folder of temporary files.
    accounts
        Rows read, kept and rejected, by table.
    rows
        Rows of each finished table.
    executor
        Workers that read blocks of raw files; an InlineExecutor: threads of this process.
    """

    con: duckdb.DuckDBPyConnection
    store: RawStore
    scratch: Path
    accounts: dict[str, Account] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    executor: Executor = field(default_factory=InlineExecutor)

    @property
    def rejects(self) -> Path:
        """Folder of rejected rows: a folder per table, and files of earlier ingests."""
        return self.scratch / "rejects"

    def write_table(self, table: Table, select: str) -> int:
        """Write the rows of a SELECT as a table, in the order of its key; return their number."""
        columns = table.typed_columns(self.con.sql(select).columns)
        file = self.store.folder / f"{table.name}.parquet"
        rows = f"select {columns} from ({select}) order by {quoted(table.key)}"
        # the SELECT may read the table's present files
        new = file.with_name(f"{table.name}.new.parquet")
        written = write_parts(self.con, rows, new)
        shutil.rmtree(file.with_suffix(""), ignore_errors=True)
        if written == [new]:
            files = [new.replace(file)]
        else:
            file.unlink(missing_ok=True)
            folder = new.with_suffix("").rename(file.with_suffix(""))
            files = sorted(folder.iterdir())
        return self.show_table(table, files)

    def show_table(self, table: Table, files: Sequence[Path]) -> int:
        """Create the view of a table from its files; return the number of its rows."""
        self.con.execute(f"create or replace view {table.name} as from {parquet_scan(files)}")
        self.rows[table.name] = sum(map(parquet_rows, files))
        return self.rows[table.name]

    def add_account(
        self, table: Table, read: int, kept: int, rejected: Mapping[str, int] | None = None
    ) -> None:
        """Record rows read and kept; rejected ones as counted in the files unless given."""
        counts = self.count_rejects(table) if rejected is None else dict(sorted(rejected.items()))
        self.accounts[table.name] = Account(table.name, read, kept, counts)

    def write_rejects(self, table: Table, name: str, rows: str | list[Rejected]) -> None:
        """Write a file of rejected rows, given as a SELECT or as a list."""
        if not isinstance(rows, str):
            self.con.register("rejected_rows", arrow_table(rows, REJECTED))
            rows = "from rejected_rows"
        file = self.rejects / table.name / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        raw = f"if(length(raw) > {RAW_CHARS}, raw[:{RAW_CHARS}] || '…', raw)"
        self.con.sql(
            f"select '{table.name}' as \"table\", source_file, source_line, reason, "
            f"{raw} as raw from ({rows})"
        ).write_parquet(str(file))

    def count_rejects(self, table: Table) -> dict[str, int]:
        """Count a table's rejected rows by reason."""
        # files of other tables may be incomplete: another thread writes them
        files = [*self.rejects.glob("*.parquet"), *(self.rejects / table.name).glob("*.parquet")]
        rows = self.con.sql(
            f"select reason, count(*) from {parquet_scan(files)} "
            f"where \"table\" = '{table.name}' group by reason order by reason"
        )
        return dict(rows.fetchall())

    def merge_rejects(self) -> None:
        """Write all rejected rows as the table of rejects."""
        files = parquet_scan(self.rejects.rglob("*.parquet"))
        rows = f"select {REJECTS.typed_columns(REJECTS.column_names)} from {files}"
        rows = masked_raw(self.con, rows) if self.store.masked else rows
        file = self.store.folder / f"{REJECTS.name}.parquet"
        write_parts(self.con, f"from ({rows}) order by all", file)
