"""Reads which GPUs running jobs hold, as ``scontrol show job -d`` says: sacct does not keep it."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.ingest.raw_file import line_text, numbered_lines
from philly_analysis.ingest.slurm.node_list import hosts

_JOB = re.compile(r"JobId=(\d+)\s")
_START = re.compile(r"\sStartTime=(\S+)")
_HELD = re.compile(r"\sNodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*\(IDX:\S*)")
_GPUS = re.compile(r"gpu(?::[^:,()]+)?:\d+\(IDX:([\d,-]+)\)")
_MOST_LINES = 10_000
"""Lines that tell of one job: a few, and one for each group of its servers."""
COLUMNS = {"id": "varchar", "start": "varchar", "node": "varchar", "gpu": "integer"}
"""What the table ``running`` says: job, start, node, GPU."""

_TYPES = (pa.string(), pa.int64(), pa.string(), pa.string(), pa.string(), pa.int32())

Held = tuple[int, str, str, str, int]


def read_running(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add what a file says to the table ``running``."""
    held = [(path.name, *row) for row in _held(path)]
    if held:
        columns = zip(*held, strict=True)
        names = ("source_file", "source_line", *COLUMNS)
        arrays = [pa.array(c, t) for c, t in zip(columns, _TYPES, strict=True)]
        con.register("running_read", pa.table(arrays, names))
        con.execute("insert into running by name from running_read")
        con.unregister("running_read")


def _held(path: Path) -> Iterator[Held]:
    begins, said = 1, list[str]()
    for place, line in numbered_lines(path):
        shown = line_text(line)
        if _JOB.match(shown):
            yield from _of_job(begins, " ".join(said))
            begins, said = place, []
        if len(said) < _MOST_LINES:
            said.append(shown)
    yield from _of_job(begins, " ".join(said))


def _of_job(line: int, text: str) -> Iterator[Held]:
    job, start = _JOB.match(text.lstrip()), _START.search(text)
    if job is None or start is None:
        return
    for nodes, gres in _HELD.findall(text):
        for node in hosts(nodes):
            for indices in _GPUS.findall(gres):
                for gpu in _indices(indices):
                    yield line, job[1], start[1], node, gpu


def _indices(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(last or first) < 4:
            yield from range(int(first), int(last or first) + 1)
