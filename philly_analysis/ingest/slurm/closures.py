"""Read when servers took no jobs: ``sacctmgr show event -P``, ``scontrol show reservation``."""

from collections.abc import Iterator
from pathlib import Path

import duckdb

from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.sql import arrow_table, insert_rows
from philly_analysis.slurm_text import expand_hosts, record_fields, record_texts, table_rows

EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|"
"""Start of the header of ``sacctmgr show event -P``."""
RESERVATIONS = ("ReservationName=", "No reservations in the system")
"""Starts of what ``scontrol show reservation`` prints."""
_STATES = (("DRAIN", "drained"), ("POWER", None), ("DOWN", "down"), ("FAIL", "down"))
"""Words in the state of an event, and the state of a closure; servers that save power take jobs."""

Closure = tuple[str | None, str, str, str, str]


def read_events(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add the servers that were down or drained."""
    _insert(con, path, _events(path))


def read_reservations(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add the servers that were reserved."""
    _insert(con, path, _reservations(path))


def _insert(con: duckdb.DuckDBPyConnection, path: Path, closures: Iterator[Closure]) -> None:
    rows = [(path.name, *closure) for closure in closures]
    insert_rows(con, "closures", arrow_table(rows, RAW_TABLES["closures"]))


def _events(path: Path) -> Iterator[Closure]:
    for row in table_rows(line for _, line in text_lines(path)):
        state = next((state for word, state in _STATES if word in row["State"].upper()), None)
        if row["NodeName"] and state:
            times = row["TimeStart"], row["TimeEnd"]
            yield row["Cluster"] or None, row["NodeName"], state, *times


def _reservations(path: Path) -> Iterator[Closure]:
    for _, text in record_texts(text_lines(path), "ReservationName"):
        fields = record_fields(text)
        start, end = fields.get("StartTime"), fields.get("EndTime")
        if start and end:
            for node in expand_hosts(fields.get("Nodes", "")):
                yield None, node, "reserved", start, end
