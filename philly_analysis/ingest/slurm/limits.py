"""Read limits: ``sacctmgr show assoc -P`` and ``show qos -P``, ``scontrol show partition``."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.ingest.raw_file import line_groups, text_lines
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.sql import insert_rows

_OF_ASSOCIATION = {"Cluster", "Account", "User"}
_OF_QOS = {"Name", "Priority"}
_WHO = {
    "Cluster": "cluster",
    "Account": "account",
    "ParentName": "parent",
    "Par Name": "parent",
    "User": "user",
    "Partition": "partition",
    "Name": "qos",
}
_SETTINGS = (
    *("GrpTRES", "GrpJobs", "MaxJobs"),
    *("MaxTRESPU", "MaxJobsPU", "MaxTRESPA", "MaxJobsPA"),
)
"""Limits on what runs at once; other limits are on one job, on time, or on what waits."""
_PARTITION = re.compile(r"(?:^|\s)(PartitionName|QoS)=(\S+)")


def limit_columns(first: str) -> tuple[str, list[str]] | None:
    """Return what a header of ``sacctmgr -P`` lists and its columns; None for another line."""
    names = first.split("|")
    if set(names) >= _OF_ASSOCIATION and "Share" in names:
        return "association", names
    if set(names) >= _OF_QOS and {"GrpTRES", "MaxTRESPU"} & set(names):
        return "qos", names
    return None


def read_sacctmgr(con: duckdb.DuckDBPyConnection, kind: str, names: list[str], path: Path) -> None:
    """Add the limits of associations or QOS, and each association without a limit."""
    rows = []
    for _, line in text_lines(path):
        values = dict(zip(names, line.split("|"), strict=False))
        if line.split("|") == names or not line.strip():
            continue
        who = {_WHO[n]: v for n, v in values.items() if n in _WHO and v}
        base = {"source_file": path.name, "kind": kind, **who}
        set_here = [(n, values[n]) for n in _SETTINGS if values.get(n)]
        # an account without a limit may be below an account with one
        for setting, value in [*set_here, *([] if set_here else [(None, None)])]:
            rows.append({**base, "setting": setting, "value": value})
    insert_rows(con, "limit_settings", pa.Table.from_pylist(rows, RAW_TABLES["limit_settings"]))


def read_partitions(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add the QOS of each partition, whose limits hold for the partition."""
    rows = [
        {"source_file": path.name, "kind": "partition", "partition": name, "qos": qos}
        for name, qos in _partitions(path)
    ]
    insert_rows(con, "limit_settings", pa.Table.from_pylist(rows, RAW_TABLES["limit_settings"]))


def _partitions(path: Path) -> Iterator[tuple[str, str]]:
    for _, text in line_groups(path, "PartitionName="):
        properties = dict(_PARTITION.findall(text))
        if "PartitionName" in properties and properties.get("QoS", "N/A") not in ("N/A", "(null)"):
            yield properties["PartitionName"], properties["QoS"]
