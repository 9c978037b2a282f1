"""Read when servers took no jobs: ``sacctmgr show event -P``, ``scontrol show reservation``."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

from philly_analysis.ingest.raw_file import line_groups, text_lines
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm.node_list import expand_hosts
from philly_analysis.ingest.sql import arrow_table, insert_rows

EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|"
"""Start of the header of ``sacctmgr show event -P``."""
RESERVATIONS = ("ReservationName=", "No reservations in the system")
"""Starts of what ``scontrol show reservation`` prints."""
_RESERVATION = re.compile(r"(?:^|\s)(StartTime|EndTime|Nodes)=(\S+)")
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
    for _, line in text_lines(path):
        if line.startswith(EVENTS) or line.count("|") < EVENTS.count("|"):
            continue
        cluster, node, since, until, words = line.split("|")[:5]
        state = next((state for word, state in _STATES if word in words.upper()), None)
        if node and state:
            yield cluster or None, node, state, since, until


def _reservations(path: Path) -> Iterator[Closure]:
    for _, text in line_groups(path, "ReservationName="):
        fields = dict(_RESERVATION.findall(text))
        if fields.keys() == {"StartTime", "EndTime", "Nodes"}:
            for node in expand_hosts(fields["Nodes"]):
                yield None, node, "reserved", fields["StartTime"], fields["EndTime"]
