"""Write large tables as several Parquet files, and replace only files that an append changes."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from philly_analysis.ingest.sql import parquet_rows, parquet_scan

PART_ROWS = 65_536
"""Rows of a part of a table: rewriting a part takes about a quarter of a second (measured)."""


def write_parts(con: duckdb.DuckDBPyConnection, select: str, file: Path) -> list[Path]:
    """Write the rows of a SELECT in their order: as a file, or as parts in a folder of its stem."""
    folder = file.with_suffix("")
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    file.unlink(missing_ok=True)
    con.execute(
        f"copy ({select}) to '{str(folder).replace(chr(39), chr(39) * 2)}' (format parquet, "
        f"compression zstd, row_group_size {PART_ROWS}, row_groups_per_file 1, "
        "filename_pattern '{i}')"
    )
    parts = sorted(folder.glob("*.parquet"), key=lambda path: int(path.stem))
    if len(parts) > 1:
        return [part.rename(folder / f"{int(part.stem):06}.parquet") for part in parts]
    if parts:
        parts[0].replace(file)
        folder.rmdir()
    else:
        con.sql(select).write_parquet(str(file), compression="zstd")
    return [file]


def written_parts(file: Path) -> list[Path]:
    """Return the files that :func:`write_parts` wrote; empty: none."""
    return [file] if file.exists() else sorted(file.with_suffix("").glob("*.parquet"))


@dataclass(frozen=True, slots=True)
class Replacement:
    """Parts of a table after an append.

    Attributes
    ----------
    kept
        Earlier files that are unchanged.
    removed
        Number of rows that were removed from the other earlier files.
    """

    kept: tuple[Path, ...]
    removed: int


def replace_rows(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[Path],
    file: Path,
    *,
    removed: str,
    added: str,
    order: str,
) -> Replacement:
    """Write new files for the parts of a table from which rows are removed, and for added rows.

    Parameters
    ----------
    files
        Earlier files of the table.
    file
        File to write, or stem of the folder of the parts to write.
    removed
        Condition on the rows of the earlier files.
    added
        SELECT of the rows to add.
    order
        Columns by which the rows of the written files are ordered.
    """
    added_rows = _count(con, added)
    changed = rows_by_file(con, files, removed) if files else {}
    if added_rows and not changed:
        changed = dict.fromkeys(_smallest(files, PART_ROWS - added_rows), 0)
    if not changed and not added_rows:
        return Replacement(tuple(files), 0)
    rows = f"from ({added})"
    if changed:
        rows = (
            f"from {parquet_scan(changed)} where ({removed}) is not true union all by name ({rows})"
        )
    write_parts(con, f"from ({rows}) order by {order}", file)
    kept = tuple(path for path in files if path not in changed)
    return Replacement(kept, sum(changed.values()))


def rows_by_file(
    con: duckdb.DuckDBPyConnection, files: Collection[Path], condition: str
) -> dict[Path, int]:
    """Count the rows that meet a condition by file, without the files that have none."""
    scan = parquet_scan(files, "union_by_name = false, filename = true")
    rows = con.sql(f"select filename, count(*) from {scan} where {condition} group by all")
    return {Path(name): number for name, number in rows.fetchall()}


def _smallest(files: Sequence[Path], room: int) -> list[Path]:
    """Return the file with the fewest rows, if the file has at most so many."""
    sizes = {path: parquet_rows(path) for path in files}
    path = min(sizes, key=sizes.__getitem__, default=None)
    return [path] if path and sizes[path] <= room else []


def _count(con: duckdb.DuckDBPyConnection, rows: str) -> int:
    [(number,)] = con.sql(f"select count(*) from ({rows})").fetchall()
    return int(number)
