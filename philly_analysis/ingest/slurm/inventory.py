"""Read the servers of a cluster from ``scontrol show node``, ``sinfo`` and their JSON."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from philly_analysis.ingest.raw_file import (
    json_items,
    nesting_errors,
    open_bytes,
    text_lines,
)
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm.accounting_json import as_object, first_word, number_text
from philly_analysis.ingest.slurm.snapshots import print_time
from philly_analysis.ingest.sql import insert_rows
from philly_analysis.slurm_text import expand_hosts, record_fields, record_texts

_GRES = re.compile(r"(gpu|shard)(?::([A-Za-z][\w.\-]*|\d+g\.[\w.\-]+))?(?::(\d{1,6}))?(?:\(.*)?")
_MOST = 2**31 - 1
_SPLIT = re.compile(r",(?![^(]*\))")

Node = dict[str, Any]


def generic_resources(text: str | None) -> tuple[int, int, list[str]]:
    """Return GPUs, shards and models in a list such as ``gpu:a100:4(S:0-1),shard:16``.

    Examples
    --------
    >>> generic_resources("gpu:a100:2(S:0),gpu:v100:2,shard:a100:8")
    (4, 8, ['a100', 'v100'])
    """
    gpus, shards, models = 0, 0, []
    for one in _SPLIT.split(text or ""):
        if resource := _GRES.fullmatch(one.strip()):
            count = int(resource[3] or 1)
            if resource[1] == "shard":
                shards += count
            else:
                gpus += count
                models += [resource[2]] if resource[2] else []
    return gpus, shards, list(dict.fromkeys(models))


def read_nodes(
    con: duckdb.DuckDBPyConnection, nodes: Callable[[Path], Iterable[Node]], path: Path
) -> None:
    """Add the servers that a reader yields of a file."""
    with nesting_errors():
        rows = [{"source_file": path.name, **node} for node in nodes(path)]
    insert_rows(con, "inventory", pa.Table.from_pylist(rows, RAW_TABLES["inventory"]))


def scontrol_nodes(path: Path) -> Iterator[Node]:
    """Yield the servers of ``scontrol show node``, one a line (``-o``) or over several."""
    for number, text in record_texts(text_lines(path), "NodeName"):
        properties = record_fields(text)
        if name := properties.get("NodeName"):
            resources = (
                properties.get("Gres", ""),
                properties.get("CPUTot"),
                properties.get("RealMemory"),
            )
            partitions = properties.get("Partitions", "").split(",")
            yield _node(number, text.strip(), None, name, resources, partitions)


def sinfo_columns(first: str) -> tuple[list[str], str | None] | None:
    """Return the columns of ``sinfo`` and their delimiter (None: spaces); None for other files."""
    delimiter = next((d for d in ("|", "\t", ";", ",") if d in first), None)
    names = [name.strip().upper() for name in first.split(delimiter)]
    named = {"NODELIST", "HOSTNAMES"} & set(names)
    sized = {"GRES", "CPUS", "MEMORY", "PARTITION"} & set(names)
    return (names, delimiter) if named and sized else None


def sinfo_nodes(names: list[str], delimiter: str | None, path: Path) -> Iterator[Node]:
    """Yield the servers of ``sinfo``, which lists a server once for each partition.

    Without the column GRES, the GPUs of a server are unknown.
    """
    for number, line in text_lines(path):
        if print_time(line) or sinfo_columns(line):
            continue
        values = dict(zip(names, (v.strip() for v in line.split(delimiter)), strict=False))
        partition = values.get("PARTITION", "").rstrip("*")
        resources = [values.get(name) for name in ("GRES", "CPUS", "MEMORY")]
        for node in expand_hosts(values.get("NODELIST") or values.get("HOSTNAMES") or ""):
            yield _node(number, line, None, node, resources, [partition])


def json_nodes(path: Path) -> Iterator[Node]:
    """Yield the servers of ``scontrol show nodes --json`` or ``sinfo --json``."""
    cluster = _cluster(path)
    for number, item in enumerate(json_items(path, "nodes", "sinfo"), 1):
        node = as_object(item)
        if name := first_word(node.get("name")):
            of_cluster = cluster or first_word(node.get("cluster_name"))
            sizes = (number_text(node.get(key)) for key in ("cpus", "real_memory"))
            resources = (node.get("gres"), *sizes)
            partitions = _words(node.get("partitions"))
            yield _node(number, name, of_cluster, name, resources, partitions)
        else:
            # sinfo groups equal servers, once for each partition
            nodes, cpus, memory, gres, partition = (
                as_object(node.get(key)) for key in ("nodes", "cpus", "memory", "gres", "partition")
            )
            of_cluster = cluster or first_word(node.get("cluster"))
            sizes = (number_text(size.get("maximum")) for size in (cpus, memory))
            resources = (gres.get("total"), *sizes)
            partitions = _words([partition.get("name")])
            for name in _words(nodes.get("nodes")):
                yield _node(number, name, of_cluster, name, resources, partitions)


def _words(listed: Any) -> list[str]:
    """Return the words in a list, if it is one."""
    words = listed if isinstance(listed, list) else []
    return [word for word in words if isinstance(word, str) and word]


def _cluster(path: Path) -> str | None:
    """Return the cluster that a JSON file names at its top, if any."""
    with open_bytes(path) as file:
        top = file.read(4096).decode("utf-8", "replace")
    cluster = re.search(r'"cluster"\s*:\s*"([^"]+)"', top.partition('"nodes"')[0])
    return cluster[1] if cluster else None


def _node(
    line: int,
    raw: str,
    cluster: str | None,
    node: str,
    resources: Sequence[Any],
    partitions: list[str],
) -> Node:
    """Return a row of the inventory; the resources are GRES, CPUs and MB of memory."""
    gres, cpus, mem_mb = resources
    gpus, shards, models = generic_resources(first_word(gres))
    listed = gres is not None
    return {
        "source_line": line,
        "raw": raw,
        "cluster": cluster or None,
        "node": node,
        "gpus": min(gpus, _MOST) if listed else None,
        "shards": min(shards, _MOST) if listed else None,
        "models": models,
        "cpus": _positive(cpus),
        "mem_mb": _positive(mem_mb),
        "partitions": [p for p in partitions if p],
    }


def _positive(text: Any) -> float | None:
    digits = re.match(r"\d{1,30}(\.\d{1,30})?", str(text or ""))
    return float(digits[0]) or None if digits else None
