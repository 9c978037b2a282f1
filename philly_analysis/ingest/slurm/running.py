"""Reads which GPUs running jobs hold, as ``scontrol show job -d`` says: sacct does not keep it."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.ingest.csv_file import whole
from philly_analysis.ingest.raw_file import line_text, open_bytes
from philly_analysis.ingest.slurm.node_list import hosts

_JOB = re.compile(r"JobId=(\d+)\s")
_START = re.compile(r"\sStartTime=(\S+)")
_HELD = re.compile(r"\sNodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*\(IDX:\S*)")
_GPUS = re.compile(r"gpu(?::[^:,()]+)?:\d+\(IDX:([\d,-]+)\)")
_COLUMNS = pa.schema(
    [("id", pa.string()), ("start", pa.string()), ("node", pa.string()), ("gpu", pa.int32())]
)

Held = tuple[str, str, str, int]


def read_running(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add what a file says to the table ``running``: job, start, node, GPU."""
    columns = zip(*_held(path), strict=True)
    arrays = [pa.array(c, t) for c, t in zip(columns, _COLUMNS.types, strict=True)]
    if arrays:
        con.register("running_read", pa.table(arrays, _COLUMNS))
        con.execute("insert into running from running_read")
        con.unregister("running_read")


def _held(path: Path) -> Iterator[Held]:
    with whole(path), open_bytes(path) as file:
        text = ""
        for line in file:
            shown = line_text(line)
            if _JOB.match(shown):
                yield from _of_job(text)
                text = ""
            text += f" {shown}"
        yield from _of_job(text)


def _of_job(text: str) -> Iterator[Held]:
    job, start = _JOB.match(text.lstrip()), _START.search(text)
    for nodes, gres in _HELD.findall(text) if job and start else ():
        for node in hosts(nodes):
            for indices in _GPUS.findall(gres):
                for gpu in _indices(indices):
                    yield job[1], start[1], node, gpu


def _indices(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(last or first) < 4:
            yield from range(int(first), int(last or first) + 1)
