"""Ingest telemetry beside a job log of a few rows, without a source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from philly_analysis.ingest.build import JOB_NAMES
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.telemetry import find_telemetry
from philly_analysis.ingest.telemetry.loading import fill_telemetry
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace.manifest import Account
from philly_analysis.trace.relations import MACROS
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.writer import violations
from tests.ingest.conftest import NOTHING, write_files

Rows = list[tuple[Any, ...]]


def at(text: str) -> datetime:
    """A moment of 2026, as ``01-31 12:00:07.5``."""
    return datetime.fromisoformat(f"2026-{text}")


@dataclass(slots=True)
class Made:
    """What came of telemetry."""

    builder: TraceBuilder

    def rows(self, query: str) -> Rows:
        return self.builder.con.sql(query).fetchall()

    def samples(self, *more: str) -> dict[tuple[datetime, str], tuple[Any, ...]]:
        """Samples by time and machine: utilisation, seconds, and more columns."""
        columns = ", ".join(("sampled_at", "machine_id", "util_pct", "seconds", *more))
        return {row[:2]: row[2:] for row in self.rows(f"select {columns} from gpu_samples")}

    def rejects(self) -> Rows:
        files = [str(p) for p in self.builder.rejects.iterdir()]
        return self.rows(
            f"select source_file, source_line, reason from read_parquet({files}) order by all"
        )

    @property
    def account(self) -> Account:
        return self.builder.accounts["gpu_samples"]

    def note(self, *words: str) -> str:
        assert not [note for note in self.builder.notes if NOTHING.search(note)]
        [note] = [n for n in self.builder.notes if all(w in n for w in words)]
        return note


def made(
    folder: Path,
    files: Mapping[str, str | bytes],
    clock: str = "UTC",
    **tables: Sequence[Mapping[str, Any]],
) -> Made:
    """Write the files, and fill a trace from them beside tables that are given by rows."""
    top = folder / "telemetry"
    write_files(top, files)
    for name in ("trace", "scratch"):
        (folder / name).mkdir()
    con = duckdb.connect()
    con.execute(MACROS)
    builder = TraceBuilder(con, RawStore(folder / "trace"), folder / "scratch")
    builder.rejects.mkdir()
    for name in ("jobs", "machines", "attempts", "placements"):
        arrow = TABLES[name].arrow
        full = [{c: row.get(c) for c in arrow.names} for row in tables.get(name, ())]
        frame = pl.DataFrame(full, schema=pl.DataFrame(arrow.empty_table()).schema)
        file = builder.store.folder / f"{name}.parquet"
        frame.write_parquet(file)
        con.read_parquet(str(file)).create_view(name)
        builder.rows[name] = len(full)
        builder.accounts[name] = Account(name, len(full), len(full))
    con.execute(f"create view job_names as {JOB_NAMES}")
    telemetry = find_telemetry(top, clock)
    assert telemetry is not None
    fill_telemetry(builder, telemetry)
    for name in ("devices", "gpu_samples"):
        assert violations(con, TABLES[name], builder.rows) == []
    return Made(builder)
