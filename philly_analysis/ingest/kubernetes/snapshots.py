"""Read snapshots of Kubernetes objects, ``kubectl get … -o json``, in the order of their times.

An object that did not change between snapshots is one record, with the times of the first and the
last snapshot that held it.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from philly_analysis.errors import InputError
from philly_analysis.ingest.kubernetes import cluster, owners, queues, workload
from philly_analysis.ingest.kubernetes.fields import moment_s, text
from philly_analysis.ingest.raw_file import json_items

_RAW_CHARS = 2_000
"""Characters of a faulty object that are compared and stored."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)[-:]?(\d\d)[-:]?(\d\d)Z")
_TIMES = {"creationTimestamp", "lastTransitionTime", "startTime", "startedAt", "finishedAt"}
"""Fields of times that are past when an object is printed."""

Parsed = workload.Workload | cluster.Pod | cluster.Job | cluster.Node | owners.Owner | queues.Queue

Versions = dict[tuple[str, str], tuple[str, Parsed]]
"""Latest version of each object, by table and uid, and its record."""


class Kind(NamedTuple):
    """A kind of objects: the table of its records, and the parser of an object."""

    table: str
    parse: Callable[[dict[str, Any]], Parsed]


KINDS = {
    ("kueue.x-k8s.io", "Workload"): Kind("kubernetes_workloads", workload.parse_workload),
    ("kueue.x-k8s.io", "ClusterQueue"): Kind("kubernetes_queues", queues.parse_cluster_queue),
    ("kueue.x-k8s.io", "LocalQueue"): Kind("kubernetes_queues", queues.parse_local_queue),
    ("kueue.x-k8s.io", "Cohort"): Kind("kubernetes_cohorts", queues.parse_cohort),
    ("batch", "Job"): Kind("kubernetes_jobs", cluster.parse_job),
    ("", "Pod"): Kind("kubernetes_pods", cluster.parse_pod),
    ("", "Node"): Kind("kubernetes_nodes", cluster.parse_node),
    ("scheduling.volcano.sh", "Queue"): Kind("kubernetes_queues", queues.parse_volcano_queue),
    **dict.fromkeys(
        ((group, kind) for group, kinds in owners.JOB_OWNERS.items() for kind in kinds),
        Kind("kubernetes_owners", owners.parse_owner),
    ),
    **dict.fromkeys(
        ((group, "PodGroup") for group in owners.POD_GROUPS),
        Kind("kubernetes_owners", owners.parse_pod_group),
    ),
}
"""Kinds of objects that are read, by API group and kind."""

_OWNERS = (owners.parse_owner, owners.parse_pod_group)
"""Parsers of owners, whose kinds are counted together in a snapshot."""


class Reading(NamedTuple):
    """An object in a snapshot, with its place in the list."""

    kind: str
    table: str
    record: Parsed
    raw: str
    number: int


@dataclass
class Snapshot:
    """A file with a list of objects.

    Attributes
    ----------
    taken_s
        Time in the name of the file, else the latest time of its objects, a lower bound.
    stamped
        Whether the name of the file has the time.
    objects
        Number of objects of each kind.
    fault
        Reason why objects at its end are missing, or None.
    """

    path: Path
    taken_s: float | None
    stamped: bool
    readings: list[Reading] | None = None
    objects: dict[str, int] = field(default_factory=dict)
    others: int = 0
    fault: str | None = None


def is_list(path: Path, lines: Sequence[str]) -> bool:
    """Return whether a file with these first lines is a list of Kubernetes objects."""
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    try:
        items = json_items(path, "items")
        first = next(items, None)
    except InputError:
        return False
    if first is None:
        return any(re.search(r'"kind"\s*:\s*"List"', line) for line in lines)
    return _kind(first) is not None


def _kind(item: Any) -> Kind | None:
    group, _, _ = (text(item, "apiVersion") or "").rpartition("/")
    return KINDS.get((group, text(item, "kind") or ""))


def open_snapshots(files: Sequence[Path]) -> list[Snapshot]:
    """Return snapshots in the order of their times; files without a time in the name are read."""
    snapshots: list[Snapshot] = []
    for file in files:
        stamp = _STAMP.search(file.name)
        taken = _stamp_s(stamp) if stamp else None
        snapshot = Snapshot(file, taken, taken is not None)
        if taken is None:
            snapshot.readings, snapshot.taken_s = _read(snapshot, {})
        snapshots.append(snapshot)
    return sorted(snapshots, key=lambda s: (s.taken_s or 0, s.path.name))


def _stamp_s(stamp: re.Match[str]) -> float | None:
    try:
        moment = datetime.fromisoformat(f"{stamp[1]}T{stamp[2]}:{stamp[3]}:{stamp[4]}")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp()


def _read(snapshot: Snapshot, versions: Versions) -> tuple[list[Reading], float | None]:
    """Return the objects of a file, and the latest time in any object."""
    readings: list[Reading] = []
    latest: float | None = None
    try:
        for number, item in enumerate(json_items(snapshot.path, "items"), 1):
            kind = _kind(item)
            if kind is None:
                snapshot.others += 1
                continue
            record = _parsed(kind, item, versions)
            name = kind.table if kind.parse in _OWNERS else item["kind"]
            raw = record.name or json.dumps(item)[:_RAW_CHARS]
            readings.append(Reading(name, kind.table, record, raw, number))
            snapshot.objects[name] = snapshot.objects.get(name, 0) + 1
            if not snapshot.stamped:
                latest = max(filter(None, (latest, *_times(item))), default=None)
    except InputError as error:
        snapshot.fault = str(error)
    return readings, latest


def _parsed(kind: Kind, item: dict[str, Any], versions: Versions) -> Parsed:
    """Return the record of an object, parsed once for each version of the object."""
    uid = text(item, "metadata", "uid")
    version = text(item, "metadata", "resourceVersion")
    if uid is None or version is None:
        return kind.parse(item)
    key = kind.table, uid
    before, record = versions.get(key, (None, None))
    if record is None or before != version:
        record = kind.parse(item)
        versions[key] = version, record
    return record


def _times(value: Any) -> Iterator[float]:
    """Yield the past times of an object."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            yield from (m for k in _TIMES & one.keys() if (m := moment_s(one, k)) is not None)
            stack += one.values()
        elif isinstance(one, list):
            stack += one


@dataclass
class _Span:
    record: Parsed
    row: dict[str, object]
    last_s: float


def unchanged_spans(snapshots: Sequence[Snapshot]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the table and the row of each object and span of snapshots in which it is equal."""
    open_spans: dict[tuple[str, str], _Span] = {}
    versions: Versions = {}
    for snapshot in snapshots:
        taken = snapshot.taken_s
        listed = snapshot.readings
        for reading in _read(snapshot, versions)[0] if listed is None else listed:
            if taken is None:
                continue
            key = reading.table, reading.record.uid or reading.raw
            span = open_spans.get(key)
            if span and span.record == reading.record:
                span.last_s = taken
                continue
            if span:
                yield key[0], {**span.row, "last_s": span.last_s}
            row = {
                "source_file": snapshot.path.name,
                "source_line": reading.number,
                "raw": reading.raw,
                "first_s": taken,
                **reading.record._asdict(),
            }
            open_spans[key] = _Span(reading.record, row, taken)
        snapshot.readings = None
    for (table, _), span in open_spans.items():
        yield table, {**span.row, "last_s": span.last_s}
