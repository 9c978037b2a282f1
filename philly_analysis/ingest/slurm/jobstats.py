"""Reads what jobstats sums up of a job as it ends: ``JS1:`` and JSON, gzipped, in AdminComment."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

_MOST_BYTES = 8 << 20
"""A summary that unpacks to more is damaged or hostile."""
_AT_ONCE = 1_000


class Summary(NamedTuple):
    """What one comment says of a server (`gpu` is None), or of one of its GPUs.

    Of memory it is the most in use at any time, of a GPU's utilisation the mean.
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
    """Create ``jobstats``: what each comment in the table ``sacct`` says."""
    con.register("jobstats_read", _COLUMNS.empty_table())
    con.execute("create table jobstats as from jobstats_read")
    asked = con.cursor()
    asked.execute("select distinct admincomment from sacct where starts_with(admincomment, 'JS1:')")
    while comments := asked.fetchmany(_AT_ONCE):
        found = [s._asdict() for (text,) in comments for s in summaries(text)]
        con.register("jobstats_read", pa.Table.from_pylist(found, _COLUMNS))
        con.execute("insert into jobstats from jobstats_read")
    con.unregister("jobstats_read")


def summaries(comment: str) -> Iterator[Summary]:
    """Yield what a comment says, server by server; nothing for one that says why there is none.

    A comment that cannot be read yields its fault.
    """
    packed = comment.removeprefix("JS1:").strip()
    if re.fullmatch(r"|None|Short", packed):
        return
    try:
        unpack = zlib.decompressobj(wbits=31)
        text = unpack.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
        if not unpack.eof:
            raise ValueError("it was cut off, or is too long")
        told = json.loads(text)
        found = [s for name, node in told["nodes"].items() for s in _of_node(comment, name, node)]
        total_s = _number(told.get("total_time"))
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
        mem_used_gb=_gb(node.get("used_memory")),
        mem_gb=_gb(node.get("total_memory")),
    )
    util = node.get("gpu_utilization") or {}
    used, total = node.get("gpu_used_memory") or {}, node.get("gpu_total_memory") or {}
    for gpu in sorted({*util, *used, *total}, key=int):
        yield Summary(
            comment,
            name,
            int(gpu),
            _number(util.get(gpu)),
            _gb(used.get(gpu)),
            _gb(total.get(gpu)),
        )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _gb(value: Any) -> float | None:
    return None if value is None else float(value) / 1e9
