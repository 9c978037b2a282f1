"""Read the tables of a trace from ``tables.toml``: columns, types, units, keys and checks.

Times are UTC, stored as timestamps without a zone. A table or column that a source cannot fill is
absent or null.
"""

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

from philly_analysis.study import END_REASONS, STATUSES
from philly_analysis.trace.columns import Column, Table

VERSION = 3
"""Version of this schema, as a trace's manifest records it; a trace without a version has 1.

Version 2 added to attempts: run_s, eligible_at, wait_reason, ended_by; to jobs: cluster, account,
qos, pool, gpu_model, gpu_frac; to placements: rows without a GPU index; to samples: seconds, SM
activity, memory, power; and the tables devices and summaries.
"""

LONGEST_READING = timedelta(hours=1)
"""Longest interval that one sample may cover."""

_NAMED = {
    "statuses": STATUSES,
    "end_reasons": END_REASONS,
    "longest_s": int(LONGEST_READING.total_seconds()),
}
"""Values in checks, by name."""


def _column(name: str, declared: dict[str, Any]) -> Column:
    meaning, check = declared["meaning"], declared.get("check", "").format(**_NAMED)
    if wrong := declared.get("wrong"):
        meaning = f"by GPU index: {meaning}"
        check = f"len(list_filter({name}, lambda u: {wrong})) = 0"
    nullable = not declared.get("required", False)
    return Column(name, declared["type"], meaning, check, declared.get("text", ""), nullable)


def _table(name: str, declared: dict[str, Any]) -> Table:
    return Table(
        name,
        declared["row"],
        tuple(_column(column, fields) for column, fields in declared["columns"].items()),
        tuple(declared["key"]),
        tuple(declared.get("references", ())),
        declared.get("streamed", False),
    )


_DECLARED = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))
TABLES = {name: _table(name, declared) for name, declared in _DECLARED.items()}
"""The tables of a trace; a table follows the tables that it refers to."""

REJECTS = TABLES.pop("rejects")
JOBS, ATTEMPTS, PLACEMENTS = TABLES["jobs"], TABLES["attempts"], TABLES["placements"]
MACHINES, DEVICES, HOLDS = TABLES["machines"], TABLES["devices"], TABLES["holds"]
GPU_SAMPLES, HOST_SAMPLES = TABLES["gpu_samples"], TABLES["host_samples"]
FAILURES, VIRTUAL_CLUSTERS = TABLES["failures"], TABLES["virtual_clusters"]
