"""Read accounting logs of PBS, LSF and Grid Engine: one record a line, one reader per scheduler.

Each reader turns a line into a :class:`~philly_analysis.ingest.accounting.record.Record`; the SQL
of this folder, shared by the three sources, makes jobs, attempts and placements of the records.
"""

from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.accounting import grid_engine, lsf, pbs
from philly_analysis.ingest.accounting.record import Parse, Record
from philly_analysis.ingest.raw_file import Read, first_lines, kind_error, read_files, text_lines
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.sql import create_table_of, insert_rows
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace import DUPLICATES

_BATCH_RECORDS = 20_000

_SAME = (
    *("event", "job", "created_s", "started_s", "ended_s", "local_s", "exit_code", "hosts"),
    *("gpus", "vc", "user", "account"),
)
"""Columns in which a record printed again equals the first print."""


def prepare(
    parse: Parse,
    servers: Callable[[Path], list[dict[str, object]] | None],
    settings: Callable[[Path], list[dict[str, object]] | None],
    kind: str,
    builder: TraceBuilder,
    raw: Path,
) -> RawFiles:
    """Open one file, or a folder of files, each detected by its content.

    Parameters
    ----------
    parse
        Returns the record of a line, or None for a line that describes no job.
    servers, settings
        Returns the rows of a list of servers or of the scheduler's settings; None for another file.
    kind
        Name of the scheduler's accounting records, for errors.

    Raises
    ------
    InputError
        No file is an accounting log of this scheduler.
    """
    con, store = builder.con, builder.store
    for name in ("accounting", "accounting_servers", "accounting_settings"):
        create_table_of(con, name, RAW_TABLES[name])
    new = store.new_files(_files(raw))

    def detect(file: Path) -> Read | None:
        if any(map(parse, first_lines(file))):
            return partial(_read_records, con, parse)
        for table, read in (("accounting_servers", servers), ("accounting_settings", settings)):
            if rows := read(file):
                return partial(_insert, con, table, rows)
        raise InputError(f"no line is a record of {kind}.")

    refused = read_files(new, detect)
    records = len(con.table("accounting"))
    if refused and not records and not store.before:
        raise kind_error(refused, f"accounting log of {kind}")
    if not records and not store.before:
        raise InputError(f"{raw} has no record of {kind}. Give the accounting log.")
    earlier = store.account("attempts").read
    stored = store.merge(con, "accounting", ("fault", *_SAME))
    for name in ("accounting_servers", "accounting_settings"):
        store.merge(con, name, [n for n in RAW_TABLES[name].names if "source" not in n])
    dropped = earlier - stored
    return RawFiles(
        files=tuple(file for file in new if file not in refused),
        records={"attempts": earlier + records},
        dropped={"attempts": {DUPLICATES[0]: dropped}} if dropped else {},
        notes=tuple(f"{file.name} was not read: {why}" for file, why in refused.items()),
    )


def _files(raw: Path) -> list[Path]:
    if raw.is_dir():
        return sorted(p for p in raw.iterdir() if p.is_file() and not p.name.startswith("."))
    if not raw.is_file():
        raise InputError(f"there is no {raw}: give an accounting log, or a folder of them.")
    return [raw]


def _read_records(con: duckdb.DuckDBPyConnection, parse: Parse, path: Path) -> None:
    """Add the records of a log to the table ``accounting``; other lines are rejected rows."""
    numbered = text_lines(path)
    schema = RAW_TABLES["accounting"]
    while batch := list(islice(numbered, _BATCH_RECORDS)):
        rows = []
        for number, line in batch:
            if line.strip() and not line.startswith("#"):
                record = parse(line) or Record(fault="not a record of a job")
                rows.append(
                    {"source_file": path.name, "source_line": number, "raw": line}
                    | record._asdict()
                )
        insert_rows(con, "accounting", pa.Table.from_pylist(rows, schema))


def _insert(
    con: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, object]], path: Path
) -> None:
    named = [{"source_file": path.name, **row} for row in rows]
    insert_rows(con, table, pa.Table.from_pylist(named, RAW_TABLES[table]))


def _nothing(_: Path) -> None:
    """Return None: no reader exists for the scheduler's lists."""


PARSERS = {"pbs": pbs.parse, "lsf": lsf.parse, "gridengine": grid_engine.parse}
"""The parser of each scheduler's lines."""

_FOLDER = Path(__file__).parent

PBS = Source("pbs", _FOLDER, partial(prepare, pbs.parse, pbs.read_nodes, _nothing, "PBS"))
LSF = Source("lsf", _FOLDER, partial(prepare, lsf.parse, _nothing, _nothing, "LSF"))
GRID_ENGINE = Source(
    "gridengine",
    _FOLDER,
    partial(
        prepare, grid_engine.parse, grid_engine.read_hosts, grid_engine.read_settings, "Grid Engine"
    ),
)
