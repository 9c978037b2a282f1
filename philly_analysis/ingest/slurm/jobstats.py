"""Read job summaries of jobstats: ``JS1:`` and gzipped JSON in AdminComment."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.sql import create_table_of, insert_rows

_MOST_BYTES = 8 << 20
"""Limit on an unpacked summary; a larger one is damaged or hostile."""
_BATCH_ROWS = 1_000


Summary = dict[str, Any]
"""Columns of the table ``jobstats``: a job on a server, or on one of its GPUs."""


def read_summaries(con: duckdb.DuckDBPyConnection) -> None:
    """Create ``jobstats``: the summaries in the comments of the table ``sacct``."""
    create_table_of(con, "jobstats", RAW_TABLES["jobstats"])
    cursor = con.cursor()
    cursor.execute(
        "select distinct admincomment from sacct where starts_with(admincomment, 'JS1:')"
    )
    while comments := cursor.fetchmany(_BATCH_ROWS):
        job_summaries = [summary for (text,) in comments for summary in summaries(text)]
        insert_rows(con, "jobstats", pa.Table.from_pylist(job_summaries, RAW_TABLES["jobstats"]))


def summaries(comment: str) -> Iterator[Summary]:
    """Yield the summaries of a comment by server; none for a comment without a summary.

    A comment that cannot be read yields a fault.
    """
    packed = comment.removeprefix("JS1:").strip()
    if re.fullmatch(r"|None|Short", packed):
        return
    try:
        unpack = zlib.decompressobj(wbits=31)
        text = unpack.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
        if not unpack.eof:
            raise ValueError("it was cut off, or is too long")
        job = json.loads(text)
        node_summaries = [s for name, node in job["nodes"].items() for s in _of_node(name, node)]
        total_s = _number(job.get("total_time"))
    except (
        *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
        zlib.error,
    ):
        yield {"admin_comment": comment, "fault": "the summary of jobstats cannot be read"}
        return
    for summary in node_summaries:
        yield summary | {"admin_comment": comment, "total_s": total_s}


def _of_node(name: str, node: dict[str, Any]) -> Iterator[Summary]:
    yield {
        "node": name,
        "cpu_s": _number(node.get("total_time")),
        "cpus": _number(node.get("cpus")),
        "mem_used_gb": _number(node.get("used_memory"), 1e9),
        "mem_gb": _number(node.get("total_memory"), 1e9),
    }
    util = node.get("gpu_utilization") or {}
    used, total = node.get("gpu_used_memory") or {}, node.get("gpu_total_memory") or {}
    for gpu in sorted({*util, *used, *total}, key=int):
        yield {
            "node": name,
            "gpu": int(gpu),
            "util_pct": _number(util.get(gpu)),
            "gpu_mem_used_gb": _number(used.get(gpu), 1e9),
            "gpu_mem_gb": _number(total.get(gpu), 1e9),
        }


def _number(value: Any, unit: float = 1) -> float | None:
    return None if value is None else float(value) / unit
