"""Read repeated snapshots of a Kubernetes cluster: Kueue's Workloads, Jobs, pods, nodes, queues."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.kubernetes.pod_metrics import is_pod_metrics, read_pod_metrics
from philly_analysis.ingest.kubernetes.snapshots import (
    KINDS,
    Snapshot,
    is_list,
    open_snapshots,
    unchanged_spans,
)
from philly_analysis.ingest.raw_file import first_lines, kind_error
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.sql import create_table_of, insert_rows
from philly_analysis.ingest.trace_builder import TraceBuilder

_SNAPSHOTS = "kubernetes_snapshots"
_TABLES = (*dict.fromkeys(kind.table for kind in KINDS.values()), _SNAPSHOTS)
_BATCH_ROWS = 20_000

Span = tuple[str, dict[str, Any]]
"""Table and row of an object that did not change between snapshots."""


def prepare(builder: TraceBuilder, raw: Path) -> RawFiles:
    """Open a snapshot, or a folder of snapshots.

    Raises
    ------
    InputError
        No file is a list of Kubernetes objects.
    """
    con, store = builder.con, builder.store
    for name in _TABLES:
        create_table_of(con, name, RAW_TABLES[name])
    new = store.new_files(_files(raw))
    lists, metrics, refused = _sorted_files(new)
    snapshots = open_snapshots(lists)
    _insert_spans(con, unchanged_spans(snapshots))
    for file in metrics:
        snapshot, spans = _pods_of(file)
        snapshots.append(snapshot)
        _insert_spans(con, spans)
    for snapshot in snapshots:
        if snapshot.fault and not snapshot.objects:
            refused[snapshot.path] = snapshot.fault
    _insert_snapshots(con, [s for s in snapshots if s.path not in refused])
    if refused and len(refused) == len(new) and not store.before:
        raise kind_error(refused, "list of Kubernetes objects")
    for name in _TABLES:
        store.merge(con, name)
    if not con.sql(f"from {_SNAPSHOTS} limit 1").fetchall():
        raise InputError(f"{raw} has no Workload, Job or pod. Print them: philly kubectl-command")
    return RawFiles(
        files=tuple(file for file in new if file not in refused),
        notes=(
            *(f"{file.name} was not read: {why}" for file, why in refused.items()),
            *_count_notes(snapshots),
        ),
    )


def _files(raw: Path) -> list[Path]:
    if raw.is_dir():
        return sorted(p for p in raw.iterdir() if p.is_file() and not p.name.startswith("."))
    if not raw.is_file():
        raise InputError(f"there is no {raw}: give a snapshot, or a folder of snapshots.")
    return [raw]


def _sorted_files(files: Sequence[Path]) -> tuple[list[Path], list[Path], dict[Path, str]]:
    """Return the lists of objects, the responses with metrics, and why others are not read."""
    lists, metrics, refused = [], [], {}
    for file in files:
        try:
            lines = first_lines(file)
        except InputError as error:
            refused[file] = str(error)
            continue
        if is_list(file, lines):
            lists.append(file)
        elif is_pod_metrics(file, lines):
            metrics.append(file)
        else:
            refused[file] = "it is no list of Workloads, Jobs, pods, nodes or queues."
    return lists, metrics, refused


def _pods_of(file: Path) -> tuple[Snapshot, Iterator[Span]]:
    """Return a file of metrics as a snapshot of its pods, and the rows of the pods."""
    read = read_pod_metrics(file)
    counts = {"Pod": len(read.pods)} if read.pods else {}
    snapshot = Snapshot(file, read.taken_s, True, [], counts, read.others, read.fault)
    rows = (
        {
            "source_file": file.name,
            "source_line": number,
            "raw": pod.name or pod.uid,
            "first_s": first_s,
            "last_s": last_s,
            **pod._asdict(),
        }
        for number, first_s, last_s, pod in read.pods
    )
    return snapshot, (("kubernetes_pods", row) for row in rows)


def _insert_spans(con: duckdb.DuckDBPyConnection, spans: Iterator[Span]) -> None:
    while rows := list(islice(spans, _BATCH_ROWS)):
        by_table: dict[str, list[dict[str, Any]]] = {}
        for table, row in rows:
            by_table.setdefault(table, []).append(row)
        for table, listed in by_table.items():
            insert_rows(con, table, pa.Table.from_pylist(listed, RAW_TABLES[table]))


def _insert_snapshots(con: duckdb.DuckDBPyConnection, snapshots: list[Snapshot]) -> None:
    rows = [
        {
            "source_file": s.path.name,
            "taken_s": s.taken_s,
            "stamped": s.stamped,
            "kind": kind,
            "objects": count,
            "complete": s.fault is None,
        }
        for s in snapshots
        for kind, count in s.objects.items()
    ]
    insert_rows(con, _SNAPSHOTS, pa.Table.from_pylist(rows, RAW_TABLES[_SNAPSHOTS]))


def _count_notes(snapshots: list[Snapshot]) -> list[str]:
    """Return notes on objects that were not read."""
    notes = []
    if others := sum(s.others for s in snapshots):
        notes.append(f"Objects of other kinds in the lists: {others:,}. They were not read.")
    if dateless := [s.path.name for s in snapshots if s.objects and s.taken_s is None]:
        notes.append(
            f"{len(dateless):,} files, such as {dateless[0]}, have no time in the name and in "
            "their objects. They were not read."
        )
    return notes


KUBERNETES = Source("kubernetes", Path(__file__).parent, prepare)
