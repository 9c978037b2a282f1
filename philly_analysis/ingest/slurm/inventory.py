"""Reads the servers of a cluster from ``scontrol show node``, ``sinfo`` and their JSON."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from philly_analysis.ingest.raw_file import objects, open_bytes
from philly_analysis.ingest.slurm.accounting_json import number, word_of
from philly_analysis.ingest.slurm.node_list import hosts

_GRES = re.compile(r"(gpu|shard)(?::([A-Za-z][\w.\-]*|\d+g\.[\w.\-]+))?(?::(\d+))?(?:\(.*)?")
_SPLIT = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, slots=True)
class Node:
    """A server as one print lists it.

    Attributes
    ----------
    gpus, shards
        GPUs of all models together, and shards that they are cut into.
    models
        Their models.
    """

    line: int
    raw: str
    cluster: str | None
    node: str
    gpus: int
    shards: int
    models: tuple[str, ...]
    cpus: float | None
    mem_mb: float | None
    partitions: tuple[str, ...]


def generic_resources(text: str | None) -> tuple[int, int, tuple[str, ...]]:
    """Return GPUs, shards and models in a list such as ``gpu:a100:4(S:0-1),shard:16``.

    Examples
    --------
    >>> generic_resources("gpu:a100:2(S:0),gpu:v100:2,shard:a100:8")
    (4, 8, ('a100', 'v100'))
    """
    gpus, shards, models = 0, 0, []
    for part in _SPLIT.split(text or ""):
        if found := _GRES.fullmatch(part.strip()):
            count = int(found[3] or 1)
            if found[1] == "shard":
                shards += count
            else:
                gpus += count
                models += [found[2]] if found[2] else []
    return gpus, shards, tuple(dict.fromkeys(models))


def read_scontrol(path: Path) -> Iterator[Node]:
    """Yield the servers of ``scontrol show node``, one a line (``-o``) or over several."""
    with open_bytes(path) as file:
        start, text = 0, ""
        for place, line in enumerate(file, 1):
            shown = line.decode("utf-8", "replace")
            if shown.startswith("NodeName=") and text:
                yield from _scontrol(start, text)
                text = ""
            start = start if text else place
            text += shown
        yield from _scontrol(start, text)


def _scontrol(line: int, text: str) -> Iterator[Node]:
    found = dict(re.findall(r"(?:^|\s)(NodeName|CPUTot|RealMemory|Gres|Partitions)=(\S*)", text))
    if found.get("NodeName"):
        yield _node(
            line,
            text.strip(),
            None,
            found["NodeName"],
            found.get("Gres"),
            found.get("CPUTot"),
            found.get("RealMemory"),
            found.get("Partitions", "").split(","),
        )


def sinfo_columns(first: str) -> tuple[list[str], str | None] | None:
    """Return the columns of ``sinfo -N -o`` and what stands between them (None: spaces)."""
    delimiter = next((d for d in ("|", "\t", ";", ",") if d in first), None)
    names = [name.strip().upper() for name in first.split(delimiter)]
    named = {"NODELIST", "HOSTNAMES"} & set(names)
    return (names, delimiter) if named and {"GRES", "CPUS", "MEMORY"} & set(names) else None


def read_sinfo(path: Path, names: list[str], delimiter: str | None) -> Iterator[Node]:
    """Yield the servers of ``sinfo -N -o``: a server stands there once for each partition."""
    with open_bytes(path) as file:
        for place, line in enumerate(file, 1):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            values = dict(zip(names, (v.strip() for v in text.split(delimiter)), strict=False))
            named = values.get("NODELIST") or values.get("HOSTNAMES") or ""
            if place == 1 or not named:
                continue
            for node in hosts(named):
                yield _node(
                    place,
                    text,
                    None,
                    node,
                    values.get("GRES"),
                    values.get("CPUS"),
                    values.get("MEMORY"),
                    [values.get("PARTITION", "").rstrip("*")],
                )


def read_json(path: Path) -> Iterator[Node]:
    """Yield the servers of ``scontrol show nodes --json`` or ``sinfo --json``."""
    cluster = _cluster(path)
    for place, item in enumerate(objects(path, "nodes", "sinfo"), 1):
        if "name" in item:
            yield _node(
                place,
                item["name"],
                cluster or item.get("cluster_name"),
                item["name"],
                item.get("gres"),
                number(item.get("cpus")),
                number(item.get("real_memory")),
                item.get("partitions") or [],
            )
        else:
            # sinfo lists groups of servers that are alike, once for each partition
            listed, limit = item.get("nodes") or {}, item.get("memory") or {}
            cpus = (item.get("cpus") or {}).get("maximum")
            for node in listed.get("nodes") or []:
                yield _node(
                    place,
                    node,
                    cluster or item.get("cluster"),
                    node,
                    (item.get("gres") or {}).get("total"),
                    number(cpus),
                    number(limit.get("maximum")),
                    [(item.get("partition") or {}).get("name") or ""],
                )


def _cluster(path: Path) -> str | None:
    """Return the cluster that a file of JSON is of, where it says so at its top."""
    with open_bytes(path) as file:
        top = file.read(4096).decode("utf-8", "replace")
    found = re.search(r'"cluster"\s*:\s*"([^"]+)"', top.partition('"nodes"')[0])
    return found[1] if found else None


def _node(
    line: int,
    raw: str,
    cluster: str | None,
    node: str,
    gres: str | None,
    cpus: Any,
    mem: Any,
    partitions: list[str],
) -> Node:
    gpus, shards, models = generic_resources(word_of(gres))
    return Node(
        line,
        raw,
        cluster or None,
        node,
        gpus,
        shards,
        models,
        _positive(cpus),
        _positive(mem),
        tuple(p for p in partitions if p),
    )


def _positive(text: Any) -> float | None:
    found = re.match(r"\d+(\.\d+)?", str(text or ""))
    return float(found[0]) or None if found else None
