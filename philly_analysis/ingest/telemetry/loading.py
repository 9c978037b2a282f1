"""Fill samples and devices from telemetry, and add what its labels show to placements."""

from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.sql import (
    arrow_table,
    create_empty_view,
    create_table,
    parquet_scan,
)
from philly_analysis.ingest.telemetry import Telemetry, stage_files
from philly_analysis.ingest.telemetry.staging import Stage
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace import DEVICES, GPU_SAMPLES, MACHINES, PLACEMENTS, RAW, Account, Table

_RELATIONS = (
    *("machine_names", "series_machines", "facts", "series_devices", "devices"),
    *("labelled_gpus", "labelled_placements"),
)
"""Relations that samples, placements and machines are made of, in order of creation."""
_BATCH_READINGS = 8_000_000
"""Readings of some machines that are processed at once, in memory."""


def fill_telemetry(builder: TraceBuilder, telemetry: Telemetry | None) -> None:
    """Write samples and devices; add GPU indices to placements, and GPUs to machines.

    In a trace that grows, earlier samples are not changed. Facts on series and hours are stored,
    and an append matches them again with all jobs.

    Parameters
    ----------
    builder
        The trace, with its jobs and attempts, and with placements and machines if there are any.
    telemetry
        The files; None: only facts of earlier ingests.

    Raises
    ------
    InputError
        No file is telemetry, or none has utilisation; or the job log has samples itself.
    TraceError
        Device indices of earlier samples would change with other MIG instances.
    """
    if GPU_SAMPLES.name in builder.accounts:
        raise InputError("the raw logs have GPU samples themselves: omit the telemetry.")
    con, store = builder.con, builder.store
    stored_series = sum(pq.read_metadata(f).num_rows for f in store.files(f"{RAW}/series"))
    stage = Stage(builder.scratch / "telemetry", stored_series)
    stage.folder.mkdir()
    if telemetry and telemetry.files:
        stage_files(telemetry, stage)
    stage.write()
    for table in (MACHINES, PLACEMENTS, GPU_SAMPLES):
        create_empty_view(con, table)
    _open(builder, stage)
    for name in _RELATIONS:
        _create(con, name)
        if name == "facts":
            store.merge(con, name)
    _check_devices(builder)
    _write_samples(builder, stage)
    builder.notes += [*stage.notes, *(note for (note,) in con.sql(_select("notes")).fetchall())]
    if stage.ignored:
        listed = ", ".join(f"{name} ({n:,})" for name, n in stage.ignored.most_common(5))
        more = ", …" if len(stage.ignored) > 5 else ""
        builder.notes.append(f"Metrics of the telemetry that no table takes: {listed}{more}.")
    for table in (PLACEMENTS, MACHINES, DEVICES):
        _write_table(builder, table)
    con.execute("drop table devices")  # from here on the view of this name reads the written file


def _open(builder: TraceBuilder, stage: Stage) -> None:
    """Create the relations of staged readings, series and files, with the stored series."""
    con, store = builder.con, builder.store
    create_table(con, "series", stage.series_table())
    store.merge(con, "series")
    create_table(con, "files", arrow_table(enumerate(stage.files), RAW_TABLES["files"]))
    if not (stage.series or stage.first_series):
        raise InputError("the telemetry has no utilisation of a GPU.")
    con.sql(f"from {parquet_scan(stage.parts('readings'))}").create_view("telemetry_readings")
    samples = store.files(GPU_SAMPLES.name)
    source = parquet_scan(samples, "union_by_name = true") if samples else GPU_SAMPLES.name
    [(begins, ends)] = con.sql(
        "select coalesce(min(at_us), 0), coalesce(max(at_us), 0) from telemetry_readings"
    ).fetchall()
    con.execute(
        "create view earlier_samples as select machine_id, epoch_us(sampled_at) as from_us, "
        f"from_us + (coalesce(seconds, 60) * 1e6)::bigint as until_us from {source} "
        f"where sampled_at between make_timestamp({begins}) - interval 1 hour "
        f"and make_timestamp({ends})"
    )


def _check_devices(builder: TraceBuilder) -> None:
    """Refuse to number the devices of a machine otherwise than its earlier samples."""
    if files := builder.store.files(DEVICES.name):
        changed = builder.con.sql(
            f"select distinct machine_id from {parquet_scan(files)} as old "
            "inner join devices as new using (machine_id, gpu) "
            "where (old.of_gpu, old.mig_instance) is distinct from (new.of_gpu, new.mig_instance) "
            "order by all limit 3"
        ).fetchall()
        if changed:
            raise TraceError(
                f"GPUs of {', '.join(name for (name,) in changed)} are split into other MIG "
                "instances than before. Ingest all raw files once more, or into another trace."
            )


def _create(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(f"create or replace temp table {name} as {_select(name)}")


def _select(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text("utf-8")


def _write_samples(builder: TraceBuilder, stage: Stage) -> None:
    """Combine readings into samples, some machines at a time."""
    con, store = builder.con, builder.store
    target = store.folder / GPU_SAMPLES.name
    before = store.account(GPU_SAMPLES.name)
    kept = unrelated = 0
    if stage.series:
        target.mkdir()
    for part, source in enumerate(_batches(con, stage) if stage.series else ()):
        con.sql(f"from {source}").create_view("batch_readings", replace=True)
        _create(con, "checked_readings")
        _create(con, "sample_readings")
        columns = GPU_SAMPLES.typed_columns(GPU_SAMPLES.column_names)
        rows = con.sql(f"select {columns} from ({_select(GPU_SAMPLES.name)})")
        rows.write_parquet(str(target / f"{part:04}.parquet"), compression="zstd")
        builder.write_rejects(GPU_SAMPLES, f"telemetry-{part:05}", _select("rejected_readings"))
        [(used, other)] = con.sql(
            "select (select count(*) from sample_readings "
            "where measures & ~previous > 0 and complete), "
            "(select count(*) from checked_readings where measures = 0)"
        ).fetchall()
        kept, unrelated = kept + used, unrelated + other
    unreadable = f"from {parquet_scan(stage.parts('unreadable'))}"
    builder.write_rejects(GPU_SAMPLES, "telemetry-unreadable", unreadable)
    builder.add_account(GPU_SAMPLES, before.read + stage.read - unrelated, before.kept + kept)
    files = [*store.files(GPU_SAMPLES.name), *target.glob("*.parquet")]
    scan = parquet_scan(files, "union_by_name = true")
    samples = con.sql(f"from {scan}").create_view(GPU_SAMPLES.name, replace=True)
    if not len(samples):
        rejected = builder.accounts[GPU_SAMPLES.name].rejected
        reasons = "; ".join(f"{n:,} {why}" for why, n in rejected.items())
        raise InputError(f"the telemetry has no utilisation of a GPU: {reasons or 'it is empty'}.")
    builder.rows[GPU_SAMPLES.name] = len(samples)


def _batches(con: duckdb.DuckDBPyConnection, stage: Stage) -> list[str]:
    """Return the sources of batches of readings, each with all readings of some machines."""
    if stage.read <= _BATCH_READINGS:
        return ["telemetry_readings"]
    folder = stage.folder / "by-machine"
    con.sql(
        "select r.*, hash(d.machine_id) % $parts as part from telemetry_readings as r "
        "inner join series_devices as d using (series)",
        params={"parts": stage.read // _BATCH_READINGS + 1},
    ).write_parquet(str(folder), partition_by=["part"])
    for part in stage.parts("readings"):
        part.unlink()
    return [parquet_scan(p.glob("*.parquet")) for p in sorted(folder.iterdir())]


def _write_table(builder: TraceBuilder, table: Table) -> None:
    """Write a table, or rewrite it with the rows that telemetry adds."""
    select = _select(table.name)
    before = builder.rows.get(table.name)
    if before is None and not builder.con.sql(f"select 1 from ({select}) limit 1").fetchall():
        return
    rows = builder.write_table(table, select)
    account = builder.accounts.get(table.name, Account(table.name, 0, 0))
    added = rows - (before or 0)
    builder.add_account(table, account.read + added, account.kept + added, account.rejected)
