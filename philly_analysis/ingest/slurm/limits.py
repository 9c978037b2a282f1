"""Read limits: ``sacctmgr show assoc -P`` and ``show qos -P``, ``scontrol show partition``."""

from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.sql import create_table_of, insert_rows
from philly_analysis.slurm_text import (
    RUNNING_LIMITS,
    limit_amounts,
    record_fields,
    record_texts,
    table_rows,
)

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


def listed_owners(first: str) -> str | None:
    """Return whose limits a table of ``sacctmgr -P`` lists, by its header; None: another line."""
    names = set(first.split("|"))
    if names >= _OF_ASSOCIATION and "Share" in names:
        return "association"
    if names >= _OF_QOS and {"GrpTRES", "MaxTRESPU"} & names:
        return "qos"
    return None


def read_sacctmgr(con: duckdb.DuckDBPyConnection, kind: str, path: Path) -> None:
    """Add the limits of associations or QOS, and each association without a limit."""
    rows: list[dict[str, str]] = []
    for row in table_rows(line for _, line in text_lines(path)):
        who = {_WHO[name]: value for name, value in row.items() if name in _WHO and value}
        base = {"source_file": path.name, "kind": kind, **who}
        settings = [(name, row[name]) for name in RUNNING_LIMITS if row.get(name)]
        # an account without a limit may be below an account with one
        rows += [{**base, "setting": name, "value": value} for name, value in settings] or [base]
    insert_rows(con, "limit_settings", pa.Table.from_pylist(rows, RAW_TABLES["limit_settings"]))


def read_partitions(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add the QOS of each partition, whose limits hold for the partition."""
    rows = [
        {
            "source_file": path.name,
            "kind": "partition",
            "partition": fields["PartitionName"],
            "qos": fields["QoS"],
        }
        for _, text in record_texts(text_lines(path), "PartitionName")
        for fields in [record_fields(text)]
        if "PartitionName" in fields and fields.get("QoS", "") not in ("", "N/A", "(null)")
    ]
    insert_rows(con, "limit_settings", pa.Table.from_pylist(rows, RAW_TABLES["limit_settings"]))


def create_amounts(con: duckdb.DuckDBPyConnection) -> None:
    """Create the table ``setting_amounts``: the amounts of resources in each setting's value."""
    settings = con.sql(
        "select distinct setting, value from limit_settings where value is not null order by all"
    ).fetchall()
    rows = [
        (setting, value, *amount)
        for setting, value in settings
        for amount in limit_amounts(setting, value)
    ]
    create_table_of(con, "setting_amounts", RAW_TABLES["setting_amounts"], rows)
