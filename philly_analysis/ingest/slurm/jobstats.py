"""Read job summaries of jobstats: ``JS1:`` and gzipped JSON in AdminComment."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from philly_analysis.ingest.sql import create_table, insert_rows

_MOST_BYTES = 8 << 20
"""Limit on an unpacked summary; a larger one is damaged or hostile."""
_BATCH_ROWS = 1_000


class Summary(NamedTuple):
    """Summary of a job on a server (`gpu` is None), or on one of its GPUs.

    Memory is the maximum in use, GPU utilisation the mean.
    """

    admin_comment: str
    node: str | None = None
    gpu: int | None = None
    util_pct: float | None = None
    gpu_mem_used_gb: float | None = None
    gpu_mem_gb: float | None = None
    cpu_s: float | None = None
    cpus: float | None = None
    mem_used_gb: float | None = None
    mem_gb: float | None = None
    total_s: float | None = None
    fault: str | None = None


_TEXTS = ("admin_comment", "node", "fault")
_COLUMNS = pa.schema(
    [
        (n, pa.string() if n in _TEXTS else pa.int64() if n == "gpu" else pa.float64())
        for n in Summary._fields
    ]
)


def read_summaries(con: duckdb.DuckDBPyConnection) -> None:
    """Create ``jobstats``: the summaries in the comments of the table ``sacct``."""
    create_table(con, "jobstats", _COLUMNS.empty_table())
    cursor = con.cursor()
    cursor.execute(
        "select distinct admincomment from sacct where starts_with(admincomment, 'JS1:')"
    )
    while comments := cursor.fetchmany(_BATCH_ROWS):
        found = [s._asdict() for (text,) in comments for s in summaries(text)]
        insert_rows(con, "jobstats", pa.Table.from_pylist(found, _COLUMNS))


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
        found = [s for name, node in job["nodes"].items() for s in _of_node(comment, name, node)]
        total_s = _number(job.get("total_time"))
    except (
        *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
        zlib.error,
    ):
        yield Summary(comment, fault="the summary of jobstats cannot be read")
        return
    for summary in found:
        yield summary._replace(total_s=total_s)


def _of_node(comment: str, name: str, node: dict[str, Any]) -> Iterator[Summary]:
    yield Summary(
        comment,
        name,
        cpu_s=_number(node.get("total_time")),
        cpus=_number(node.get("cpus")),
        mem_used_gb=_number(node.get("used_memory"), 1e9),
        mem_gb=_number(node.get("total_memory"), 1e9),
    )
    util = node.get("gpu_utilization") or {}
    used, total = node.get("gpu_used_memory") or {}, node.get("gpu_total_memory") or {}
    for gpu in sorted({*util, *used, *total}, key=int):
        memory_gb = (_number(used.get(gpu), 1e9), _number(total.get(gpu), 1e9))
        yield Summary(comment, name, int(gpu), _number(util.get(gpu)), *memory_gb)


def _number(value: Any, unit: float = 1) -> float | None:
    return None if value is None else float(value) / unit
