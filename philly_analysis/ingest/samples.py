"""Fills streamed tables day by day, so that memory stays flat however long the raw files are."""

from pathlib import Path

import duckdb

from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.filling import (
    Fill,
    count_rejects,
    empty_view,
    names,
    path_text,
    save_rejects,
)
from philly_analysis.manifest import Account
from philly_analysis.schema import Table


def fill_streamed(fill: Fill, table: Table, parts: dict[str, tuple[str, CsvFile]]) -> None:
    """Fill a streamed table from one raw file, or from several joined on its key.

    Parameters
    ----------
    parts
        By name of the part: the SELECT that reads the raw file, and the raw file.
    """
    read = kept = 0
    staged: list[Part] = []
    for name, (sql, file) in parts.items():
        part = Part(fill, table, name, sql, file)
        read += part.write_days()
        part.settle_contested()
        kept += part.rows()
        staged.append(part)
    if parts:
        fill.accounts.append(Account(table.name, read, kept, count_rejects(fill, table)))
    if not kept:
        empty_view(fill.con, table)
        return
    target = fill.folder / table.name
    target.mkdir()
    if len(staged) == 1:
        for day, files in staged[0].days().items():
            for i, path in enumerate(files):
                path.rename(target / f"{day}.{i}.parquet")
    else:
        for day in sorted({day for part in staged for day in part.days()}):
            _join(fill, table, [p for p in staged if day in p.days()], day, target)
    fill.con.read_parquet(f"{target}/*.parquet").create_view(table.name)
    fill.rows[table.name] = _count(fill.con, table.name)


class Part:
    """The rows of one raw file on their way into a streamed table, in one folder per day."""

    def __init__(self, fill: Fill, table: Table, name: str, sql: str, file: CsvFile) -> None:
        self.con = fill.con
        self.fill = fill
        self.table = table
        self.name = name
        self.sql = sql
        self.file = file
        self.folder = fill.scratch / name
        file.read(self.con)
        given = self.con.sql(sql).columns
        self.given = tuple(c for c in table.column_names if c in given)
        self._typed = ", ".join(
            f'"{c.name}"::{c.type} as "{c.name}"'
            if c.name in given
            else f'null::{c.type} as "{c.name}"'
            for c in table.columns
        )

    def _judged(self) -> str:
        """SELECT of the rows with the reason why each cannot be kept, or null."""
        return (
            f"select *, coalesce(reject, {self.table.fault_sql}) as reason from "
            f"(select {self._typed}, source_file, source_line, raw, reject from ({self.sql}))"
        )

    def write_days(self) -> int:
        """Write the rows that can be kept by day, the others aside; return how many there were."""
        con = self.con
        con.execute("set preserve_insertion_order = false")
        [(written,)] = con.execute(
            f'copy (select {names(self.columns)}, case when reason is null then "at"::date end '
            f"as day from ({self._judged()})) to {path_text(self.folder)} "
            "(format parquet, compression zstd, partition_by (day))"
        ).fetchall()
        con.execute("set preserve_insertion_order = true")
        save_rejects(
            self.fill,
            self.table,
            f"{self.name}-unparsed",
            f"select '{self.file.relation}' as source_file, source_line, reason, raw "
            f"from ({self.file.unparsed()})",
        )
        [(unparsed,)] = con.sql(f"select count(*) from ({self.file.unparsed()})").fetchall()
        return int(written) + int(unparsed)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that this part fills."""
        return self.given

    def days(self) -> dict[str, list[Path]]:
        """Files of each day, by its date."""
        return {
            folder.name.removeprefix("day="): sorted(folder.glob("*.parquet"))
            for folder in sorted(self.folder.glob("day=????-??-??"))
        }

    def rows(self) -> int:
        """Count the rows that are kept."""
        files = [str(f) for day in self.days().values() for f in day]
        return sum(_count(self.con, f"read_parquet([{path_text(Path(f))}])") for f in files)

    def settle_contested(self) -> None:
        """Reject what cannot be kept, and all but the first of rows that share a key.

        Which row comes first, and on what line it stands, only a second reading of the raw file
        tells. It is done only where there is something to settle.
        """
        con = self.con
        key = names(self.table.key)
        con.execute(
            f"create temp table contested as select {key} from ({self._judged()}) where false"
        )
        contested_days = [d for d, files in self.days().items() if self._find_repeats(files)]
        aside = [f for f in self.folder.glob("day=*/*") if f.parent.name[4:] not in self.days()]
        if self.file.shape:
            self.file.read_short(con)
            con.execute(f"insert into contested select {key} from ({self._judged()})")
            contested_days = sorted(
                {str(d) for (d,) in con.sql('select distinct "at"::date from contested').fetchall()}
                & self.days().keys()
            )
        if aside or contested_days:
            self._read_again()
            for day in contested_days:
                self._rewrite(day)
            con.execute("drop table again")
        con.execute("drop table contested")

    def _find_repeats(self, files: list[Path]) -> bool:
        """Add the keys that repeat within a day; tell whether there are any."""
        relation = f"read_parquet([{', '.join(map(path_text, files))}])"
        # cheap: in an hour of a machine, more rows than different minutes
        hours = self.con.sql(
            "select count(*) from (select 1 from "
            f'{relation} group by machine_id, hour("at") '
            'having count(*) > bit_count(bit_or(1::ubigint << minute("at"))))'
        ).fetchall()
        if hours == [(0,)]:
            return False
        key = names(self.table.key)
        [(found,)] = self.con.execute(
            f"insert into contested select {key} from {relation} group by {key} having count(*) > 1"
        ).fetchall()
        return bool(found)

    def _read_again(self) -> None:
        key = names(self.table.key)
        short = f"raw not like '{self.file.shape}'" if self.file.shape else "false"
        self.file.read_numbered(self.con)
        self.con.execute(
            "create temp table again as with rows as ("
            f"select * replace (case when {short} then 'too few fields' else reason end as reason) "
            f"from ({self._judged()})), concerned as ("
            f"select * from rows where reason is not null or ({key}) in (from contested)) "
            "select *, row_number() over ("
            f"partition by {key}, reason is null order by source_line) > 1 and reason is null "
            "as repeats from concerned"
        )
        save_rejects(
            self.fill,
            self.table,
            self.name,
            "select source_file, source_line, raw, coalesce(reason, "
            f"'the key ({', '.join(self.table.key)}) repeats') as reason "
            "from again where reason is not null or repeats",
        )

    def _rewrite(self, day: str) -> None:
        files = self.days()[day]
        settled = self.folder / f"day={day}" / "settled.parquet"
        columns = names(self.columns)
        self.con.execute(
            f"copy (select {columns} from read_parquet([{', '.join(map(path_text, files))}]) "
            f"anti join contested using ({names(self.table.key)}) union all "
            f"select {columns} from again where reason is null and not repeats "
            f"and \"at\"::date = date '{day}') to {path_text(settled)} "
            "(format parquet, compression zstd)"
        )
        for file in files:
            file.unlink()


def _join(fill: Fill, table: Table, parts: list[Part], day: str, target: Path) -> None:
    """Join the parts of one day on the key."""
    key = names(table.key)
    held = {c for p in parts for c in p.columns}
    columns = ", ".join(
        f'"{c.name}"' if c.name in held else f'null::{c.type} as "{c.name}"' for c in table.columns
    )
    joined = " full join ".join(
        f"(select {names(p.columns)} from read_parquet("
        f"[{', '.join(map(path_text, p.days()[day]))}])) as p{i}" + (f" using ({key})" if i else "")
        for i, p in enumerate(parts)
    )
    fill.con.execute(
        f"copy (select {columns} from {joined}) to {path_text(target / f'{day}.parquet')} "
        "(format parquet, compression zstd)"
    )


def _count(con: duckdb.DuckDBPyConnection, relation: str) -> int:
    [(rows,)] = con.sql(f"select count(*) from {relation}").fetchall()
    return int(rows)
