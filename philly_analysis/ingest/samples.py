"""Fills streamed tables, so that memory stays flat however long the raw files are."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from philly_analysis.contract import Table
from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.filling import (
    Fill,
    count_rejects,
    empty_view,
    names,
    parquet,
    path_text,
    save_rejects,
)
from philly_analysis.ingest.kept import Kept
from philly_analysis.manifest import Account

_FORMAT = "format parquet, compression snappy, dictionary_size_limit 4000"
"""Readings hardly compress: half the time of zstd for a fifth more space; times and machines
repeat, and are worth a dictionary."""
_JOINED_ROWS = 1_000_000
"""Rows of each part that are joined at once."""
_GROUP_ROWS = 122_880
"""Rows of a row group, the least of a file that the engine reads."""
_SCATTERED = 4
"""How often a row group may be read when days are read one by one, before sorting pays."""

_Numbers = npt.NDArray[np.int64]


def fill_streamed(
    fill: Fill, kept: Kept, table: Table, parts: dict[str, tuple[str, CsvFile]]
) -> None:
    """Fill a streamed table from one raw file, or from several joined on its key.

    Its files of before stay as they are; a new row whose key is in them repeats it.

    Parameters
    ----------
    parts
        By name of the part: the SELECT that reads the raw file, and the raw file.
    """
    before, files = kept.account(table.name), kept.files(table.name)
    read, sound = before.read, before.kept
    staged: list[Part] = []
    for name, (sql, file) in parts.items():
        part = Part(fill, table, name, sql, file, whole=len(parts) == 1)
        read += part.write(files)
        sound += part.rows
        if part.rows:
            staged.append(part)
    if parts or read:
        fill.accounts.append(Account(table.name, read, sound, count_rejects(fill, table)))
    if not sound:
        empty_view(fill.con, table)
        return
    target = fill.folder / table.name
    if staged:
        target.mkdir()
    if len(parts) == 1:
        for part in staged:
            part.move(target / "0000.parquet")
    else:
        _join(fill, table, staged, target)
    files = [*files, *target.glob("*.parquet")]
    fill.con.sql(f"from {parquet(files, 'union_by_name = true')}").create_view(table.name)
    fill.rows[table.name] = _count(fill.con, table.name)


class Part:
    """The rows of one raw file on their way into a streamed table.

    They are written as they come, in the order of the raw file, faulty ones among them, without
    a time: so the position of a row tells on what line it stood. Only where some are faulty or
    repeat is the raw file looked at again, at these lines.

    Attributes
    ----------
    path
        Parquet file of the rows as written.
    rows
        How many are kept; known once they are written.
    """

    def __init__(
        self, fill: Fill, table: Table, name: str, sql: str, file: CsvFile, *, whole: bool
    ) -> None:
        self.con = fill.con
        self.fill = fill
        self.table = table
        self.name = name
        self.sql = sql
        self.file = file
        self.path = fill.scratch / f"{name}.parquet"
        self.rows = 0
        self._dropped = f"dropped_{file.relation}"
        file.read(self.con)
        given = self.con.sql(sql).columns
        self.columns = tuple(c for c in table.column_names if c in given or whole)
        """Columns of the table that this part fills."""
        self._typed = ", ".join(
            f'"{c.name}"::{c.type} as "{c.name}"'
            if c.name in given
            else f'null::{c.type} as "{c.name}"'
            for c in table.columns
        )
        self._sound = "sound" if "sound" in given else "false as sound"

    def write(self, before: list[Path]) -> int:
        """Write the rows that can be kept, and reject the others; return how many were read.

        Parameters
        ----------
        before
            Files of the table that are there already: a row whose key they have repeats it.
        """
        with ThreadPoolExecutor(1) as beside:
            looked = beside.submit(self.file.find_misshapen) if self.file.commas else None
            parsed = self._copy()
            misshapen = looked.result() if looked else np.zeros(0, np.int64)
        save_rejects(
            self.fill,
            self.table,
            f"{self.name}-unparsed",
            f"select '{self.file.relation}' as source_file, source_line, reason, raw "
            f"from ({self.file.unparsed()})",
        )
        unparsed = _numbers(self.con, f"select source_line from ({self.file.unparsed()})")
        lines = self.fill.lines(self.file.path) - 1
        blank = np.zeros(0, np.int64)
        if parsed + len(unparsed) < lines:
            blank = self.file.find_blank()
        misshapen = np.setdiff1d(misshapen, np.concatenate([unparsed, blank]))
        stood = Lines(np.union1d(unparsed, blank))
        self._drop(stood.rows(misshapen), before)
        dropped = _numbers(self.con, f"from {self._dropped}")
        self._reject(stood.of(dropped))
        self.rows = parsed - len(dropped)
        return lines - len(blank)

    @property
    def kept(self) -> str:
        """SELECT of the rows that are kept."""
        return (
            f"select {names(self.columns)} from {parquet([self.path], _NUMBERED)} "
            f"where file_row_number not in (from {self._dropped})"
        )

    def move(self, target: Path) -> None:
        """Make a file of the rows that are kept."""
        if _count(self.con, self._dropped):
            self.con.execute(f"copy ({self.kept}) to {path_text(target)} ({_FORMAT})")
        else:
            self.path.rename(target)

    def days(self) -> list[tuple[str, int]]:
        """Count the rows of each day, and sort them by day where one is read in too many places."""
        counted = self.con.sql(
            "select sampled_at::date::varchar as day, count(*), "
            f"count(distinct file_row_number // {_GROUP_ROWS}) "
            f"from {parquet([self.path], _NUMBERED)} where sampled_at is not null group by day"
        ).fetchall()
        groups = sum(rows for _, rows, _ in counted) // _GROUP_ROWS + len(counted)
        if sum(places for _, _, places in counted) > _SCATTERED * groups:
            by_day = self.path.with_suffix(".days")
            self.con.execute(
                f"copy ({self.kept} order by sampled_at::date) to {path_text(by_day)} ({_FORMAT})"
            )
            by_day.rename(self.path)
            self.con.execute(f"truncate {self._dropped}")
        return [(day, rows) for day, rows, _ in counted]

    def _copy(self) -> int:
        """Write every row that parses, in order, and return how many; without a time if faulty."""
        # the same as a reason that is null, at half the time
        sound = " and ".join(f"not ({fault.predicate})" for fault in self.table.faults())
        columns = names(self.columns).replace(
            '"sampled_at"',
            f"case when reject is null and (sound or ({sound})) then sampled_at end as sampled_at",
            1,
        )
        [(written,)] = self.con.execute(
            f"copy (select {columns} from ({self._typed_rows()})) to {path_text(self.path)} "
            f"({_FORMAT})"
        ).fetchall()
        return int(written)

    def _typed_rows(self) -> str:
        return (
            f"select {self._typed}, source_file, source_line, raw, reject, {self._sound} "
            f"from ({self.sql})"
        )

    def _drop(self, misshapen: _Numbers, before: list[Path]) -> None:
        """Note which rows are faulty or misshapen, and all but the first that share a key."""
        con, key, written = self.con, names(self.table.key), parquet([self.path], _NUMBERED)
        con.register("misshapen", {"row": misshapen})
        con.execute(
            f"create temp table {self._dropped} as "
            f"select file_row_number as row from {written} where sampled_at is null "
            "union select row from misshapen"
        )
        con.unregister("misshapen")
        if before:
            [span] = con.sql(f"select min(sampled_at), max(sampled_at) from {written}").fetchall()
            # of files whose statistics lie outside of the span nothing is read
            con.execute(
                f"insert into {self._dropped} select file_row_number from {written} as written "
                f"semi join (select {key} from {parquet(before)} "
                f"where sampled_at between ? and ?) as earlier using ({key}) "
                f"where file_row_number not in (from {self._dropped})",
                span,
            )
        # cheap: in an hour of a machine, more rows than different minutes
        con.execute(
            "create temp table crowded as "
            "select machine_id, epoch_us(sampled_at) // 3600000000 as hour "
            f"from {written} group by all having count(*) > "
            "bit_count(bit_or(1::ubigint << (epoch_us(sampled_at) // 60000000 % 60)))"
        )
        if _count(con, "crowded"):
            con.execute(
                f"insert into {self._dropped} select row from ("
                f"select file_row_number as row, row_number() over (partition by {key} "
                "order by file_row_number) > 1 as repeats "
                f"from {written} as written semi join crowded "
                "on written.machine_id = crowded.machine_id "
                "and epoch_us(written.sampled_at) // 3600000000 = crowded.hour "
                f"where file_row_number not in (from {self._dropped})) where repeats"
            )
        con.execute("drop table crowded")

    def _reject(self, lines: _Numbers) -> None:
        """Reject the rows on these lines, each for what is wrong with it, or because it repeats."""
        if not len(lines):
            return
        self.file.read_lines(self.con, lines)
        save_rejects(
            self.fill,
            self.table,
            self.name,
            "select source_file, source_line, raw, case "
            f"when {self.file.misshapen} then 'wrong number of fields' "
            f"else coalesce(reject, {self.table.fault_sql}, "
            f"'the key ({', '.join(self.table.key)}) repeats') end as reason "
            f"from ({self._typed_rows()})",
        )


class Lines:
    """On what line of a raw file each row stands, given the lines that are none."""

    def __init__(self, skipped: _Numbers) -> None:
        self._skipped = skipped
        self._before = skipped - 2 - np.arange(len(skipped))  # rows before each

    def of(self, rows: _Numbers) -> _Numbers:
        """Return the lines of rows, which count from 0."""
        return rows + 2 + np.searchsorted(self._before, rows, side="right")

    def rows(self, lines: _Numbers) -> _Numbers:
        """Return the rows of lines, which count from 1 and begin with the header."""
        return lines - 2 - np.searchsorted(self._skipped, lines)


def _join(fill: Fill, table: Table, parts: list[Part], target: Path) -> None:
    """Join parts on the key, as many whole days at once as memory likes."""
    con, key = fill.con, names(table.key)
    held = {c for p in parts for c in p.columns}
    columns = ", ".join(
        f'"{c.name}"' if c.name in held else f'null::{c.type} as "{c.name}"' for c in table.columns
    )
    counted: dict[str, int] = {}
    for part in parts:
        for day, rows in part.days():
            counted[day] = max(rows, counted.get(day, 0))
    for first, last in _runs(counted):
        of_days = f"sampled_at >= date '{first}' and sampled_at < date '{last}' + interval 1 day"
        joined = " full join ".join(
            f"({p.kept} and {of_days}) as p{i}" + (f" using ({key})" if i else "")
            for i, p in enumerate(parts)
        )
        con.execute(
            f"copy (select {columns} from {joined}) "
            f"to {path_text(target / f'{first}.parquet')} ({_FORMAT})"
        )


def _runs(counted: dict[str, int]) -> list[tuple[str, str]]:
    """Put days together, first and last, that have few enough rows to be joined at once."""
    runs: list[tuple[str, str]] = []
    held = 0
    for day, rows in sorted(counted.items()):
        held += rows
        if runs and held <= _JOINED_ROWS:
            runs[-1] = (runs[-1][0], day)
        else:
            runs.append((day, day))
            held = rows
    return runs


def _numbers(con: duckdb.DuckDBPyConnection, sql: str) -> _Numbers:
    [column] = con.sql(sql).fetchnumpy().values()
    return np.sort(np.asarray(column, np.int64))


def _count(con: duckdb.DuckDBPyConnection, relation: str) -> int:
    [(rows,)] = con.sql(f"select count(*) from {relation}").fetchall()
    return int(rows)


_NUMBERED = "union_by_name = false, file_row_number = true"
