"""Fills samples and devices from telemetry, beside any source's tables, and what labels tell."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest.loading import (
    Fill,
    count_rejects,
    empty_view,
    input_of,
    names,
    parquet,
    path_text,
    save_rejects,
)
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.ingest.telemetry import Telemetry, stage_files
from philly_analysis.ingest.telemetry.readings import READINGS, Stage
from philly_analysis.trace import (
    DEVICES,
    GPU_SAMPLES,
    MACHINES,
    PLACEMENTS,
    RAW,
    Account,
    Input,
    Table,
)

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


def fill_telemetry(fill: Fill, kept: Kept, telemetry: Telemetry | None) -> tuple[Input, ...]:
    """Write samples and devices, and what they add to placements and machines.

    Where a trace grows, its samples stay as they are; what its series and hours tell is kept, and
    judged again beside the new ones and the jobs there are now.

    Parameters
    ----------
    fill
        A trace in the making, its jobs and attempts filled, its placements and machines if there
        are any.
    kept
        The trace that grows.
    telemetry
        The files; None: none but those of before.

    Returns
    -------
    tuple of Input
        The files, for the manifest.

    Raises
    ------
    InputError
        No file is telemetry, or none tells how busy a GPU is; or the job log has samples itself.
    TraceError
        Places in the lists of samples of before would be those of other MIG instances.
    """
    if any(account.table == GPU_SAMPLES.name for account in fill.accounts):
        raise InputError("the raw logs hold samples of GPUs themselves: leave out the telemetry.")
    con = fill.con
    stage = Stage(fill.scratch / "telemetry")
    stage.folder.mkdir()
    if telemetry and telemetry.files:
        stage_files(telemetry, stage)
    stage.write()
    for table in (MACHINES, PLACEMENTS):
        # a source that cannot fill it may not even have tried
        if not _is_view(con, table):
            empty_view(con, table)
    _open(con, stage, kept)
    for name in _RELATIONS:
        _relate(con, name)
        if name == "facts":
            kept.keep(con, name)
    _check_places(con, kept)
    _write_samples(fill, stage, kept)
    fill.notes += [*stage.notes, *(note for (note,) in con.sql(_text("notes")).fetchall())]
    if stage.passed_over:
        listed = ", ".join(f"{name} ({n:,})" for name, n in stage.passed_over.most_common(5))
        more = ", …" if len(stage.passed_over) > 5 else ""
        fill.notes.append(f"Metrics of the telemetry that no table takes: {listed}{more}.")
    for table in (PLACEMENTS, MACHINES, DEVICES):
        _write_table(fill, table, _text(table.name))
    for name in _RELATIONS:
        con.execute(f"drop {'view' if name == 'facts' else 'table'} {name}")
    con.execute(
        "drop view telemetry_readings; drop view series; drop table files; drop view samples_before"
    )
    return tuple(input_of(file) for file in (telemetry.files if telemetry else ()))


def _is_view(con: duckdb.DuckDBPyConnection, table: Table) -> bool:
    created = con.sql("select view_name from duckdb_views()").fetchall()
    return (table.name,) in created


def _open(con: duckdb.DuckDBPyConnection, stage: Stage, kept: Kept) -> None:
    """Create the relations of what is staged: readings, series and files; series of before too."""
    before = kept.files(f"{RAW}/series")
    first = 0
    if before:
        [(first,)] = con.sql(f"select max(series) + 1 from {parquet(before)}").fetchall()
    con.register("series_read", stage.series_table())
    con.execute(
        f"create temp table series as select * replace ((series + {first})::integer as series) "
        "from series_read"
    )
    con.unregister("series_read")
    kept.keep(con, "series")
    con.execute("create temp table files (file integer, name varchar)")
    if stage.files:
        con.executemany("insert into files values (?, ?)", [*enumerate(stage.files)])
    if not stage.parts("readings"):
        if not before:
            raise InputError("nothing in the telemetry tells how busy a GPU is.")
        pq.write_table(READINGS.empty_table(), stage.folder / "readings-none.parquet")
    con.sql(
        f"select * replace ((series + {first})::integer as series) "
        f"from {parquet(stage.parts('readings'))}"
    ).create_view("telemetry_readings")
    samples = kept.files(GPU_SAMPLES.name)
    source = parquet(samples, "union_by_name = true") if samples else GPU_SAMPLES.name
    if not samples and not _is_view(con, GPU_SAMPLES):
        empty_view(con, GPU_SAMPLES)
    [(begins, ends)] = con.sql(
        "select coalesce(min(at_us), 0), coalesce(max(at_us), 0) from telemetry_readings"
    ).fetchall()
    con.execute(
        "create view samples_before as select machine_id, epoch_us(sampled_at) as from_us, "
        f"from_us + (coalesce(seconds, 60) * 1e6)::bigint as until_us from {source} "
        f"where sampled_at between make_timestamp({begins}) - interval 1 hour "
        f"and make_timestamp({ends})"
    )


def _check_places(con: duckdb.DuckDBPyConnection, kept: Kept) -> None:
    """Refuse to number the devices of a machine otherwise than its samples of before do."""
    if files := kept.files(DEVICES.name):
        moved = con.sql(
            f"select distinct machine_id from {parquet(files)} as old "
            "inner join devices as new using (machine_id, gpu) "
            "where (old.of_gpu, old.mig_instance) is distinct from (new.of_gpu, new.mig_instance) "
            "order by all limit 3"
        ).fetchall()
        if moved:
            raise TraceError(
                f"GPUs of {', '.join(name for (name,) in moved)} are cut into other MIG instances "
                "than before. Ingest all raw files once more, or into a trace of its own."
            )


def _relate(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(f"create or replace temp table {name} as {_text(name)}")


def _text(name: str) -> str:
    return (_SQL / f"{name}.sql").read_text("utf-8")


def _write_samples(fill: Fill, stage: Stage, kept: Kept) -> None:
    """Put readings together to samples, some machines at a time."""
    con, target = fill.con, fill.folder / GPU_SAMPLES.name
    before = kept.account(GPU_SAMPLES.name)
    sound = beside = 0
    if stage.series:
        target.mkdir()
    for part, source in enumerate(_parts(con, stage) if stage.series else ()):
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
        sound, beside = sound + taken, beside + other
    for kind, name in (
        ("table", "judged"),
        ("table", "rows_at_hand"),
        ("view", "readings_at_hand"),
    ):
        con.execute(f"drop {kind} if exists {name}")
    if unreadable := stage.parts("unreadable"):
        save_rejects(fill, GPU_SAMPLES, "telemetry-unreadable", f"from {parquet(unreadable)}")
    fill.accounts.append(
        Account(
            GPU_SAMPLES.name,
            before.read + stage.read - beside,
            before.kept + sound,
            count_rejects(fill, GPU_SAMPLES),
        )
    )
    files = [*kept.files(GPU_SAMPLES.name), *target.glob("*.parquet")]
    con.sql(f"from {parquet(files, 'union_by_name = true')}").create_view(
        GPU_SAMPLES.name, replace=True
    )
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
