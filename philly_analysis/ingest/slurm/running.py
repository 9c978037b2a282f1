"""Read the GPUs of running jobs from ``scontrol show job -d``: sacct does not store them."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb

from philly_analysis.ingest.raw_file import line_groups
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm.node_list import expand_hosts
from philly_analysis.ingest.sql import arrow_table, insert_rows

_JOB = re.compile(r"JobId=(\d+)\s")
_START = re.compile(r"\sStartTime=(\S+)")
_ALLOCATED = re.compile(r"\sNodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*\(IDX:\S*)")
_GPUS = re.compile(r"gpu(?::[^:,()]+)?:\d+\(IDX:([\d,-]+)\)")


def read_running(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Add the GPUs of a file's jobs to the table ``running``."""
    rows = ((path.name, *row) for row in _gpus(path))
    insert_rows(con, "running", arrow_table(rows, RAW_TABLES["running"]))


def _gpus(path: Path) -> Iterator[tuple[Any, ...]]:
    for line, text in line_groups(path, "JobId="):
        job, start = _JOB.match(text), _START.search(text)
        if job and start:
            for nodes, gres in _ALLOCATED.findall(text):
                gpus = [gpu for indices in _GPUS.findall(gres) for gpu in _expand(indices)]
                for node, gpu in product(expand_hosts(nodes), gpus):
                    yield line, job[1], start[1], node, gpu


def _expand(indices: str) -> Iterator[int]:
    for part in indices.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and len(last or first) < 4:
            yield from range(int(first), int(last or first) + 1)
