"""Fills samples and devices from telemetry, beside any source's tables, and what labels tell."""

import hashlib
from dataclasses import replace
from pathlib import Path

import duckdb

from philly_analysis.errors import InputError
from philly_analysis.ingest.filling import (
    Fill,
    count_rejects,
    empty_view,
    names,
    parquet,
    path_text,
    save_rejects,
)
from philly_analysis.ingest.telemetry import Telemetry, stage_files
from philly_analysis.ingest.telemetry.readings import Stage
from philly_analysis.manifest import Account, Input
from philly_analysis.schema import DEVICES, GPU_SAMPLES, MACHINES, PLACEMENTS, Table

_SQL = Path(__file__).parent
_RELATIONS = (
    "machine_names",
    "told_of",
    "facts",
    "places",
    "devices",
    "job_names",
    "holdings",
    "indices",
)
"""What samples, placements and machines are made of, in order of creation."""
_AT_ONCE = 8_000_000
"""Readings that are put together at once, those of some machines: what memory holds with ease."""


def fill_telemetry(fill: Fill, telemetry: Telemetry) -> tuple[Input, ...]:
    """Write samples and devices, and what they add to placements and machines.

    Parameters
    ----------
    fill
        A trace in the making, its jobs and attempts filled, its placements and machines if there
        are any.
    telemetry
        The files.

    Returns
    -------
    tuple of Input
        The files, for the manifest.

    Raises
    ------
    InputError
        No file is telemetry, or none tells how busy a GPU is; or the job log has samples itself.
    """
    if GPU_SAMPLES.name in fill.rows:
        raise InputError("the raw logs hold samples of GPUs themselves: leave out the telemetry.")
    con = fill.con
    stage = Stage(fill.scratch / "telemetry")
    stage.folder.mkdir()
    stage_files(telemetry, stage)
    stage.write()
    created = con.sql("select view_name from duckdb_views()").fetchall()
    for table in (MACHINES, PLACEMENTS):
        # a source that cannot fill it may not even have tried
        if (table.name,) not in created:
            empty_view(con, table)
    _open(con, stage)
    for name in _RELATIONS:
        _relate(con, name)
    _write_samples(fill, stage)
    fill.notes += [*stage.notes, *(note for (note,) in con.sql(_text("notes")).fetchall())]
    if stage.passed_over:
        listed = ", ".join(f"{name} ({n:,})" for name, n in stage.passed_over.most_common(5))
        more = ", …" if len(stage.passed_over) > 5 else ""
        fill.notes.append(f"Metrics of the telemetry that no table takes: {listed}{more}.")
    for table in (PLACEMENTS, MACHINES, DEVICES):
        _write_table(fill, table, _text(table.name))
    for name in _RELATIONS:
        con.execute(f"drop table {name}")
    con.execute("drop view telemetry_readings; drop table series; drop table files")
    return tuple(_input(file) for file in telemetry.files)


def _input(file: Path) -> Input:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return Input(file.name, file.stat().st_size, digest)


def _open(con: duckdb.DuckDBPyConnection, stage: Stage) -> None:
    """Create the relations of what is staged: readings, series and files."""
    con.register("series_read", stage.series_table())
    con.execute("create temp table series as from series_read")
    con.unregister("series_read")
    con.execute("create temp table files (file integer, name varchar)")
    con.executemany("insert into files values (?, ?)", [*enumerate(stage.files)])
    if not stage.parts("readings"):
        raise InputError("nothing in the telemetry tells how busy a GPU is.")
    con.sql(f"from {parquet(stage.parts('readings'))}").create_view("telemetry_readings")


def _relate(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(f"create or replace temp table {name} as {_text(name)}")


def _text(name: str) -> str:
    return (_SQL / f"{name}.sql").read_text("utf-8")


def _write_samples(fill: Fill, stage: Stage) -> None:
    """Put readings together to samples, some machines at a time."""
    con, target = fill.con, fill.folder / GPU_SAMPLES.name
    target.mkdir()
    kept = beside = 0
    for part, source in enumerate(_parts(con, stage)):
        con.sql(f"from {source}").create_view("readings_at_hand", replace=True)
        _relate(con, "judged")
        _relate(con, "rows_at_hand")
        typed = ", ".join(f'"{c.name}"::{c.type} as "{c.name}"' for c in GPU_SAMPLES.columns)
        con.execute(
            f"copy (select {typed} from ({_text(GPU_SAMPLES.name)})) to "
            f"{path_text(target / f'{part:04}.parquet')} (format parquet, compression zstd)"
        )
        save_rejects(fill, GPU_SAMPLES, f"telemetry-{part:05}", _text("refused"))
        [(taken, other)] = con.sql(
            "select (select count(*) from rows_at_hand where tells & ~before > 0 and whole), "
            "(select count(*) from judged where tells = 0)"
        ).fetchall()
        kept, beside = kept + taken, beside + other
    con.execute("drop table judged; drop table rows_at_hand; drop view readings_at_hand")
    if unreadable := stage.parts("unreadable"):
        save_rejects(fill, GPU_SAMPLES, "telemetry-unreadable", f"from {parquet(unreadable)}")
    fill.accounts.append(
        Account(GPU_SAMPLES.name, stage.read - beside, kept, count_rejects(fill, GPU_SAMPLES))
    )
    con.sql(f"from {parquet(target.iterdir())}").create_view(GPU_SAMPLES.name)
    [(rows,)] = con.sql(f"select count(*) from {GPU_SAMPLES.name}").fetchall()
    if not rows:
        reasons = "; ".join(f"{n:,} {why}" for why, n in fill.accounts[-1].rejected.items())
        raise InputError(f"nothing in the telemetry tells how busy a GPU is: {reasons or 'empty'}.")
    fill.rows[GPU_SAMPLES.name] = rows


def _parts(con: duckdb.DuckDBPyConnection, stage: Stage) -> list[str]:
    """Return what to read for the readings of some machines at a time, all of each together."""
    if stage.read <= _AT_ONCE:
        return ["telemetry_readings"]
    folder = stage.folder / "by-machine"
    con.execute(
        "copy (select r.*, hash(p.machine_id) % $parts as part from telemetry_readings as r "
        f"inner join places as p using (series)) to {path_text(folder)} "
        "(format parquet, partition_by (part))",
        {"parts": stage.read // _AT_ONCE + 1},
    )
    for part in stage.parts("readings"):
        part.unlink()
    return [parquet(p.glob("*.parquet")) for p in sorted(folder.iterdir())]


def _write_table(fill: Fill, table: Table, sql: str) -> None:
    """Write a table, or write it anew with what telemetry adds."""
    con, file = fill.con, fill.folder / f"{table.name}.parquet"
    given = con.sql(sql).columns
    columns = ", ".join(
        f'"{c.name}"::{c.type} as "{c.name}"'
        if c.name in given
        else f'null::{c.type} as "{c.name}"'
        for c in table.columns
    )
    new = file.with_suffix(".new")
    con.execute(
        f"copy (select {columns} from ({sql}) order by {names(table.key)}) to {path_text(new)} "
        "(format parquet, compression zstd)"
    )
    [(rows,)] = con.sql(f"select count(*) from {parquet([new])}").fetchall()
    if not rows and table.name not in fill.rows:
        new.unlink()
        return
    new.rename(file)
    con.sql(f"from {parquet([file])}").create_view(table.name, replace=True)
    added = rows - fill.rows.get(table.name, 0)
    fill.rows[table.name] = rows
    for i, account in enumerate(fill.accounts):
        if account.table == table.name:
            fill.accounts[i] = replace(
                account, read=account.read + added, kept=account.kept + added
            )
            return
    fill.accounts.append(Account(table.name, rows, rows))
