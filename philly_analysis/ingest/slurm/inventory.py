"""Reads the servers of a cluster from ``scontrol show node``, ``sinfo`` and their JSON."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from philly_analysis.ingest.raw_file import (
    line_text,
    not_too_deep,
    numbered_lines,
    objects,
    open_bytes,
)
from philly_analysis.ingest.slurm.accounting_json import number, part, word_of
from philly_analysis.ingest.slurm.node_list import hosts

_GRES = re.compile(r"(gpu|shard)(?::([A-Za-z][\w.\-]*|\d+g\.[\w.\-]+))?(?::(\d{1,6}))?(?:\(.*)?")
_MOST_LINES = 200
"""Lines that tell of one server."""
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
    for one in _SPLIT.split(text or ""):
        if found := _GRES.fullmatch(one.strip()):
            count = int(found[3] or 1)
            if found[1] == "shard":
                shards += count
            else:
                gpus += count
                models += [found[2]] if found[2] else []
    return gpus, shards, tuple(dict.fromkeys(models))


def read_scontrol(path: Path) -> Iterator[Node]:
    """Yield the servers of ``scontrol show node``, one a line (``-o``) or over several."""
    start, said = 0, list[str]()
    for place, line in numbered_lines(path):
        shown = line.decode("utf-8", "replace")
        if shown.startswith("NodeName=") and said:
            yield from _scontrol(start, "".join(said))
            said = []
        start = start if said else place
        if len(said) < _MOST_LINES:
            said.append(shown)
    yield from _scontrol(start, "".join(said))


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
    for place, line in numbered_lines(path):
        text = line_text(line)
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
    with not_too_deep():
        yield from _read_json(path)


def _read_json(path: Path) -> Iterator[Node]:
    cluster = _cluster(path)
    for place, item in enumerate(objects(path, "nodes", "sinfo"), 1):
        said = part(item)
        if name := word_of(said.get("name")):
            yield _node(
                place,
                name,
                cluster or word_of(said.get("cluster_name")),
                name,
                said.get("gres"),
                number(said.get("cpus")),
                number(said.get("real_memory")),
                _words(said.get("partitions")),
            )
        else:
            # sinfo lists groups of servers that are alike, once for each partition
            nodes, cpus, memory, gres, partition = (
                part(said.get(name)) for name in ("nodes", "cpus", "memory", "gres", "partition")
            )
            for node in _words(nodes.get("nodes")):
                yield _node(
                    place,
                    node,
                    cluster or word_of(said.get("cluster")),
                    node,
                    gres.get("total"),
                    number(cpus.get("maximum")),
                    number(memory.get("maximum")),
                    _words([partition.get("name")]),
                )


def _words(listed: Any) -> list[str]:
    """Return the words in a list, if it is one."""
    words = listed if isinstance(listed, list) else []
    return [word for word in words if isinstance(word, str) and word]


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
    gres: Any,
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
    found = re.match(r"\d{1,30}(\.\d{1,30})?", str(text or ""))
    return float(found[0]) or None if found else None
