"""Fills streamed tables, so that memory stays flat however long the raw files are."""

from pathlib import Path

import duckdb

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
from philly_analysis.schema import Table

_FORMAT = "format parquet, compression snappy, dictionary_size_limit 4000"
"""Readings hardly compress: half the time of zstd for a fifth more space; times and machines
repeat, and are worth a dictionary."""
_FILE_BYTES = "64MB"


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
        part = Part(fill, table, name, sql, file, by_day=len(parts) > 1, before=files)
        read += part.write()
        rows = part.rows()
        sound += rows
        if rows:
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
        for i, path in enumerate(file for part in staged for file in part.files()):
            path.rename(target / f"{i:04}.parquet")
    else:
        for day in sorted({day for part in staged for day in part.days()}):
            _join(fill, table, [p for p in staged if day in p.days()], day, target)
    files = [*files, *target.glob("*.parquet")]
    fill.con.sql(f"from {parquet(files, 'union_by_name = true')}").create_view(table.name)
    fill.rows[table.name] = _count(fill.con, table.name)


class Part:
    """The rows of one raw file on their way into a streamed table.

    Attributes
    ----------
    by_day
        True where the rows go to one folder per day, to be joined with other parts.
    before
        Files of the table that are there already.
    """

    def __init__(
        self,
        fill: Fill,
        table: Table,
        name: str,
        sql: str,
        file: CsvFile,
        *,
        by_day: bool,
        before: list[Path],
    ) -> None:
        self.con = fill.con
        self.fill = fill
        self.table = table
        self.name = name
        self.sql = sql
        self.file = file
        self.by_day = by_day
        self.before = before
        self.folder = fill.scratch / name
        file.read(self.con)
        given = self.con.sql(sql).columns
        self.columns = tuple(c for c in table.column_names if c in given or not by_day)
        """Columns of the table that this part fills."""
        self._typed = ", ".join(
            f'"{c.name}"::{c.type} as "{c.name}"'
            if c.name in given
            else f'null::{c.type} as "{c.name}"'
            for c in table.columns
        )
        self._sound = "sound" if "sound" in given else "false as sound"

    def write(self) -> int:
        """Write the rows that can be kept, and reject the others; return how many were read."""
        con, key = self.con, names(self.table.key)
        written = self._write_sound()
        save_rejects(
            self.fill,
            self.table,
            f"{self.name}-unparsed",
            f"select '{self.file.relation}' as source_file, source_line, reason, raw "
            f"from ({self.file.unparsed()})",
        )
        unparsed = _count(con, f"({self.file.unparsed()})")
        lines = self.fill.lines(self.file.path) - 1
        con.execute(f"create temp table contested as select {key} from ({self._judged()}) limit 0")
        self._find_repeats()
        if self.file.commas:
            self.file.read_misshapen(con)
            con.execute(f"insert into contested select {key} from ({self._judged()})")
        blank = 0
        if written + unparsed < lines or _count(con, "contested"):
            blank = self._settle()
        con.execute("drop table contested; drop table earlier")
        return lines - blank

    def files(self) -> list[Path]:
        """Files of the rows that are kept."""
        return sorted(self.folder.rglob("*.parquet"))

    def days(self) -> dict[str, list[Path]]:
        """Files of each day, by its date."""
        return {
            folder.name.removeprefix("day="): sorted(folder.glob("*.parquet"))
            for folder in sorted(self.folder.glob("day=*"))
        }

    def rows(self) -> int:
        """Count the rows that are kept."""
        return _count(self.con, parquet(self.files())) if self.files() else 0

    def _judged(self) -> str:
        """SELECT of the rows with the reason why each cannot be kept, or null."""
        return (
            f"select *, coalesce(reject, {self.table.fault_sql}) as reason "
            f"from ({self._typed_rows()})"
        )

    def _typed_rows(self) -> str:
        return (
            f"select {self._typed}, source_file, source_line, raw, reject, {self._sound} "
            f"from ({self.sql})"
        )

    def _write_sound(self) -> int:
        day = ", sampled_at::date as day" if self.by_day else ""
        layout = "partition_by (day)" if self.by_day else f"file_size_bytes '{_FILE_BYTES}'"
        # the same as a reason that is null, at half the time
        sound = " and ".join(f"not ({fault.predicate})" for fault in self.table.faults())
        self.folder.mkdir()
        self.con.execute("set preserve_insertion_order = false")
        [(written,)] = self.con.execute(
            f"copy (select {names(self.columns)}{day} from ({self._typed_rows()}) "
            f"where reject is null and (sound or ({sound}))) "
            f"to {path_text(self.folder)} ({_FORMAT}, {layout})"
        ).fetchall()
        self.con.execute("set preserve_insertion_order = true")
        return int(written)

    def _find_repeats(self) -> None:
        """Add the keys that repeat to those contested, and find those that were there before."""
        key = names(self.table.key)
        self.con.execute("create temp table earlier as from contested")
        if not self.files():
            return
        kept = parquet(self.files())
        if self.before:
            [span] = self.con.sql(f"select min(sampled_at), max(sampled_at) from {kept}").fetchall()
            # of files whose statistics lie outside of the span nothing is read
            self.con.execute(
                f"insert into earlier select {key} from (from {parquet(self.before)} "
                f"where sampled_at between ? and ?) semi join {kept} using ({key})",
                span,
            )
            self.con.execute("insert into contested from earlier")
        # cheap: in an hour of a machine, more rows than different minutes
        self.con.execute(
            "create temp table crowded as "
            "select machine_id, epoch_us(sampled_at) // 3600000000 as hour "
            f"from {kept} group by all having count(*) > "
            "bit_count(bit_or(1::ubigint << (epoch_us(sampled_at) // 60000000 % 60)))"
        )
        if _count(self.con, "crowded"):
            self.con.execute(
                f"insert into contested select {key} from {kept} as kept semi join crowded "
                "on kept.machine_id = crowded.machine_id "
                "and epoch_us(kept.sampled_at) // 3600000000 = crowded.hour "
                f"group by {key} having count(*) > 1"
            )
        self.con.execute("drop table crowded")

    def _settle(self) -> int:
        """Reject what cannot be kept, and all but the first of rows that share a key.

        Which row comes first, and on what line it stands, only a second reading of the raw file
        tells, line by line. Returns how many lines were blank.
        """
        con, key = self.con, names(self.table.key)
        self.file.read_numbered(con)
        con.execute(
            "create temp table again as with rows as (select * replace ("
            f"case when {self.file.misshapen} then 'wrong number of fields' "
            "else reason end as reason) "
            f"from ({self._judged()})), concerned as (select * from rows "
            f"where reason is not null or ({key}) in (from contested)) "
            f"select *, (row_number() over (partition by {key}, reason is null "
            f"order by source_line) > 1 or ({key}) in (from earlier)) and reason is null "
            "as repeats from concerned"
        )
        save_rejects(
            self.fill,
            self.table,
            self.name,
            "select source_file, source_line, raw, coalesce(reason, "
            f"'the key ({', '.join(self.table.key)}) repeats') as reason "
            "from again where (reason is not null or repeats) and raw <> ''",
        )
        if _count(con, "contested"):
            self._replace_contested()
        blank = _count(con, "again where raw = ''")
        con.execute("drop table again")
        return blank

    def _replace_contested(self) -> None:
        """Take the contested rows out of the files, and put back those that are kept."""
        con, key, columns = self.con, names(self.table.key), names(self.columns)
        if self.files():
            concerned = con.sql(
                f"select distinct filename from {parquet(self.files(), 'filename = true')} "
                f"semi join contested using ({key})"
            ).fetchall()
            for (name,) in concerned:
                file = Path(name)
                con.execute(
                    f"copy (select {columns} from {parquet([file])} "
                    f"anti join contested using ({key})) "
                    f"to {path_text(file.with_suffix('.rest'))} ({_FORMAT})"
                )
                file.with_suffix(".rest").rename(file)
        settled = "again where reason is null and not repeats"
        days = con.sql(f"select distinct sampled_at::date::varchar from {settled}").fetchall()
        for (day,) in days:
            folder = self.folder / f"day={day}" if self.by_day else self.folder
            folder.mkdir(exist_ok=True)
            con.execute(
                f"copy (select {columns} from {settled} and sampled_at::date = date '{day}') "
                f"to {path_text(folder / f'settled-{day}.parquet')} ({_FORMAT})"
            )


def _join(fill: Fill, table: Table, parts: list[Part], day: str, target: Path) -> None:
    """Join the parts of one day on the key."""
    key = names(table.key)
    held = {c for p in parts for c in p.columns}
    columns = ", ".join(
        f'"{c.name}"' if c.name in held else f'null::{c.type} as "{c.name}"' for c in table.columns
    )
    joined = " full join ".join(
        f"(select {names(p.columns)} from {parquet(p.days()[day])}) as p{i}"
        + (f" using ({key})" if i else "")
        for i, p in enumerate(parts)
    )
    fill.con.execute(
        f"copy (select {columns} from {joined}) to {path_text(target / f'{day}.parquet')} "
        f"({_FORMAT})"
    )


def _count(con: duckdb.DuckDBPyConnection, relation: str) -> int:
    [(rows,)] = con.sql(f"select count(*) from {relation}").fetchall()
    return int(rows)
