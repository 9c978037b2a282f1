"""Store the raw records and file digests that a trace needs to grow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from philly_analysis.ingest.parts import replace_rows, write_parts
from philly_analysis.ingest.sql import RAW_CHARS, masked_raw, parquet_rows, parquet_scan
from philly_analysis.trace import RAW, Account, Manifest, matches_any


@dataclass(frozen=True, slots=True)
class RawStore:
    """Raw records and files of earlier ingests; empty for a new trace.

    Attributes
    ----------
    folder
        Folder that receives the files of this ingest.
    trace, before
        Path of the trace, and its manifest before this ingest; None: the trace is new.
    skipped
        Files that are skipped because an earlier ingest read them.
    masked
        Mask secrets and personal data in stored raw text.
    whole
        Derive all jobs again when the trace grows.
    kept
        Earlier files of tables and raw records that stay part of the trace, by name.
    """

    folder: Path
    trace: Path = Path()
    before: Manifest | None = None
    skipped: list[Path] = field(default_factory=list)
    masked: bool = True
    whole: bool = True
    kept: dict[str, tuple[Path, ...]] = field(default_factory=dict)

    def was_read(self, file: Path) -> bool:
        """Whether an earlier ingest read a file of the same bytes."""
        inputs = self.before.inputs if self.before else ()
        size = file.stat().st_size
        return matches_any(file, {i.digest for i in inputs if i.bytes == size})

    def new_files(self, files: Iterable[Path]) -> list[Path]:
        """Return the files that no earlier ingest read; record the others as skipped."""
        new: list[Path] = []
        for file in files:
            (self.skipped if self.was_read(file) else new).append(file)
        return new

    def files(self, name: str) -> list[Path]:
        """Return the files that the trace has of a table, or of ``raw/<relation>``."""
        return self.before.paths(self.trace, name) if self.before else []

    def account(self, table: str) -> Account:
        """Return the rows read, kept and rejected so far for a table."""
        accounts = self.before.accounts if self.before else ()
        return next((a for a in accounts if a.table == table), Account(table, 0, 0))

    def still_applies(self, note: str) -> bool:
        """Whether a note about a missing file applies: no earlier ingest had the file."""
        return self.before is None or note in self.before.notes

    def merge(self, con: duckdb.DuckDBPyConnection, relation: str, key: Sequence[str] = ()) -> int:
        """Add the stored records of earlier ingests to a relation, and store all records.

        Line numbers of a file continue where an earlier file of the same name ended.

        Parameters
        ----------
        key
            Columns that identify a record. An earlier record without fault is dropped if a new
            record equals it in these columns, so that repeated prints do not accumulate. Without
            columns all records are kept.

        Returns
        -------
        int
            Number of records kept from earlier ingests.
        """
        old = self.files(f"{RAW}/{relation}")
        kind = _rename(con, relation, f"{relation}_read")
        select = self._new_rows(con, relation, old)
        if old:
            kept = f"select * from {parquet_scan(old)} as old"
            if key:
                kept += f" anti join {_repeated(relation, con, key)}"
            select = f"({kept}) union all by name ({select})"
        files = write_parts(con, select, self.folder / RAW / f"{relation}.parquet")
        rows = sum(map(parquet_rows, files))
        read = len(con.table(f"{relation}_read")) if old else rows
        con.execute(f"drop {kind} {relation}_read")
        con.execute(f"create view {relation} as from {parquet_scan(files)}")
        return rows - read

    def merge_touched(
        self,
        con: duckdb.DuckDBPyConnection,
        relation: str,
        key: Sequence[str],
        files: Sequence[Path],
        touched: str,
    ) -> int:
        """Store new records, and add only the touched records of earlier ingests to a relation.

        The relation ``<relation>_before`` gets the touched records as they were stored.

        Parameters
        ----------
        key
            See :meth:`merge`.
        files
            Earlier files with touched records.
        touched
            Condition on the records of these files.

        Returns
        -------
        int
            Number of stored records that were dropped because new records equal them.
        """
        old, before = self.files(f"{RAW}/{relation}"), f"{relation}_before"
        _rename(con, relation, f"{relation}_read")
        con.execute(f"create table new_records as {self._new_rows(con, relation, old)}")
        rows = f"from {parquet_scan(files or old[:1])} where {touched if files else 'false'}"
        con.execute(f"create table {before} as {rows}")
        con.execute(
            "create table dropped_records as select row(source_file, source_line) as place "
            f"from {before} as old semi join {_repeated(relation, con, key)}"
        )
        dropped = "row(source_file, source_line) in (from dropped_records)"
        if not len(con.table("dropped_records")):
            dropped = "false"  # keeps every file, so that none is read
        replacement = replace_rows(
            con,
            old,
            self.folder / RAW / f"{relation}.parquet",
            removed=dropped,
            added="from new_records",
            order="source_file, source_line",
        )
        self.kept[f"{RAW}/{relation}"] = replacement.kept
        con.execute(
            f"create table {relation} as from {before} where ({dropped}) is not true "
            "union all by name from new_records"
        )
        con.execute(f"drop table {relation}_read")
        return replacement.removed

    def _new_rows(self, con: duckdb.DuckDBPyConnection, relation: str, old: Sequence[Path]) -> str:
        """Return the SELECT of the new records of a relation as they are stored."""
        columns = con.table(f"{relation}_read").columns
        shortened = f" replace (raw[:{RAW_CHARS + 1}] as raw)" if "raw" in columns else ""
        select = f"select *{shortened} from {relation}_read"
        if self.masked and "raw" in columns:
            select = masked_raw(con, select)
        if old and "source_line" in columns:
            same = "old.source_file = new.source_file" if "source_file" in columns else "true"
            select = (
                f"select * replace (source_line + coalesce((select max(source_line) "
                f"from {parquet_scan(old)} as old where {same}), 0) as source_line) "
                f"from ({select}) as new"
            )
        return select


def _rename(con: duckdb.DuckDBPyConnection, relation: str, name: str) -> str:
    """Rename a relation; return its kind, ``table`` or ``view``."""
    tables = {name for (name,) in con.sql("select table_name from duckdb_tables()").fetchall()}
    kind = "table" if relation in tables else "view"
    con.execute(f"alter {kind} {relation} rename to {name}")
    return kind


def _repeated(relation: str, con: duckdb.DuckDBPyConnection, key: Sequence[str]) -> str:
    """Return the right side of a join of stored records (``old``) with equal new records."""
    same = " and ".join(f'old."{c}" is not distinct from new."{c}"' for c in key)
    valid = "where fault is null" if "fault" in con.table(f"{relation}_read").columns else ""
    return f"(from {relation}_read {valid}) as new on {same}"
