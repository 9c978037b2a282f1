"""What a trace keeps of its raw files so that it can grow: their records, and their digests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from philly_analysis.ingest.loading import RAW_SHOWN, masked_raw, parquet, path_text
from philly_analysis.trace import RAW, Account, Manifest, matches_any


@dataclass(frozen=True, slots=True)
class Kept:
    """What was read before, where a trace grows; nothing, where one begins.

    Attributes
    ----------
    folder
        Where the records go that are kept from now on.
    trace, before
        The trace that grows and its manifest.
    passed
        Files that were read before and now passed over.
    masked
        Replace secrets and personal data in the raw rows that are kept to show them.
    """

    folder: Path
    trace: Path = Path()
    before: Manifest | None = None
    passed: list[Path] = field(default_factory=list)
    masked: bool = True

    def knows(self, file: Path) -> bool:
        """Tell whether a file of the same bytes was read before."""
        seen = self.before.inputs if self.before else ()
        size = file.stat().st_size
        return matches_any(file, {i.digest for i in seen if i.bytes == size})

    def fresh(self, files: Iterable[Path]) -> list[Path]:
        """Return the files that were not read before, and pass over the others."""
        new: list[Path] = []
        for file in files:
            (self.passed if self.knows(file) else new).append(file)
        return new

    def files(self, name: str) -> list[Path]:
        """Return the files that the trace has of a table so far, or of ``raw/<relation>``."""
        return self.before.paths(self.trace, name) if self.before else []

    def account(self, table: str) -> Account:
        """Return what became so far of the rows meant for a table."""
        accounts = self.before.accounts if self.before else ()
        return next((a for a in accounts if a.table == table), Account(table, 0, 0))

    def still(self, note: str) -> bool:
        """Tell whether a note on what is not there holds: nothing was there before either."""
        return self.before is None or note in self.before.notes

    def keep(self, con: duckdb.DuckDBPyConnection, relation: str, same: Sequence[str] = ()) -> int:
        """Put the records that were kept before to those of a relation, and keep them all.

        A file that is named as one before goes on where that ended: its lines are numbered on.

        Parameters
        ----------
        same
            Expressions on columns. Of records before that are equal in all, the one that stands
            last is kept and the others are left out, so that what is printed again and again does
            not pile up. None: all are kept.

        Returns
        -------
        int
            How many records there are from before.
        """
        tables = {name for (name,) in con.sql("select table_name from duckdb_tables()").fetchall()}
        kind = "table" if relation in tables else "view"
        con.execute(f"alter {kind} {relation} rename to {relation}_read")
        columns = con.table(f"{relation}_read").columns
        shown = f" replace (raw[:{RAW_SHOWN + 1}] as raw)" if "raw" in columns else ""
        select = f"select *{shown} from {relation}_read"
        if self.masked and "raw" in columns:
            select = masked_raw(con, select)
        if old := self.files(f"{RAW}/{relation}"):
            if "source_line" in columns:
                by = "source_file" if "source_file" in columns else "true"
                select = (
                    f"select * replace (source_line + coalesce((select max(source_line) "
                    f"from {parquet(old)} as old where {_equal(by)}), 0) as source_line) "
                    f"from ({select}) as new"
                )
            place = [f"{c} desc" for c in ("source_file", "source_line") if c in columns]
            latest = (
                f"qualify row_number() over (partition by {', '.join(same)} "
                f"order by {', '.join(place or same)}) = 1"
                if same
                else ""
            )
            select = f"(select * from {parquet(old)} {latest}) union all by name ({select})"
        file = self.folder / RAW / f"{relation}.parquet"
        file.parent.mkdir(exist_ok=True)
        [(kept,)] = con.execute(
            f"copy ({select}) to {path_text(file)} (format parquet, compression zstd)"
        ).fetchall()
        [(read,)] = con.sql(f"select count(*) from {relation}_read").fetchall()
        con.execute(f"drop {kind} {relation}_read")
        con.sql(f"from {parquet([file])}").create_view(relation)
        return int(kept - read)


def _equal(column: str) -> str:
    return column if column == "true" else f"old.{column} = new.{column}"
