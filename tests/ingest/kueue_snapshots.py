"""Write the objects of a simulated cluster under Kueue as kubectl prints them, minute by minute.

Kueue keeps the latest admission only, and deletes finished Workloads after two hours. The package
is not used.
"""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.ingest.kueue_cluster import QUEUES, START, Cluster, Run, Work

FIRST_S = START + 17
"""Time of the first snapshot."""
KEPT_S = 7_200
"""Seconds after its end for which a finished Workload is kept."""


def stamp(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, status: bool, reason: str, since: float) -> dict[str, Any]:
    return {
        "type": kind,
        "status": str(status),
        "reason": reason,
        "message": f"{reason}.",
        "lastTransitionTime": stamp(since),
        "observedGeneration": 1,
    }


def workload(work: Work, now: int, version: str, typed: bool) -> dict[str, Any] | None:
    """Return the object of a job at a moment; None before its creation and after its deletion.

    Parameters
    ----------
    typed
        Whether Kueue states typed reasons (KEP-10852).
    """
    if not work.submitted <= now < work.last + KEPT_S:
        return None
    begun = [run for run in work.runs if run.reserved <= now]
    status: dict[str, Any] = {
        "resourceRequests": [
            {"name": "main", "resources": {"cpu": str(work.gpus), "nvidia.com/gpu": str(work.gpus)}}
        ],
        "conditions": _conditions(work, begun, now, typed),
    }
    if begun and not is_evicted(begun[-1], now):
        status["admission"] = _admission(work, begun[-1], version)
    resources = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "1"}}
    container = {"name": "c", "image": "train", "resources": resources}
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "Workload",
        "metadata": {
            "name": work.name,
            "namespace": "team",
            "uid": f"uid-{work.number}",
            "creationTimestamp": stamp(work.submitted),
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "controller": True,
                    "name": f"train{work.number}",
                    "uid": f"job-{work.number}",
                }
            ],
        },
        "spec": {
            "active": True,
            "queueName": f"{work.queue}-local",
            "priority": work.priority,
            "podSets": [
                {
                    "name": "main",
                    "count": work.gpus,
                    "template": {"spec": {"containers": [container]}},
                }
            ],
        },
        "status": status,
    }


def is_evicted(run: Run, now: int) -> bool:
    return now >= run.ended and run.reason in ("Preempted", "PodsReadyTimeout")


def stated(work: Work, now: int, typed: bool) -> str:
    """Return Kueue's reason for a job without quota."""
    if not typed:
        return "Pending"
    waiting = now >= (work.requeues[-1] if work.requeues else work.submitted)
    reasons = [reason for at, reason in work.stated if at <= now] if waiting else []
    return reasons[-1] if reasons else "PendingEvaluation"


def _conditions(work: Work, begun: list[Run], now: int, typed: bool) -> list[dict[str, Any]]:
    """Return the conditions as Kueue's reconcilers set them."""
    if not begun or is_evicted(begun[-1], now):
        since = begun[-1].ended if begun else work.submitted
        made = [condition("QuotaReserved", False, stated(work, now, typed), since)]
        if begun or typed:
            made.append(condition("Admitted", False, "NoReservation", since))
    else:
        made = _reserved_conditions(begun[-1], now, typed)
    past = [run for run in begun if is_evicted(run, now)]
    if past:
        run = past[-1]
        made += _eviction(work, run, begun[-1], work.requeues[len(past) - 1], now)
    if begun and not is_evicted(begun[-1], now) and now >= begun[-1].ended:
        made.append(condition("Finished", True, begun[-1].reason, begun[-1].ended))
    return made


def _reserved_conditions(run: Run, now: int, typed: bool) -> list[dict[str, Any]]:
    made = [condition("QuotaReserved", True, "QuotaReserved", run.reserved)]
    if now < run.admitted:
        waits = condition("Admitted", False, "UnsatisfiedAdmissionChecks", run.reserved)
        return [*made, *([waits] if typed else [])]
    made.append(condition("Admitted", True, "Admitted", run.admitted))
    ready = run.ready is not None and run.ready <= min(now, run.ended)
    if ready and run.ready is not None:
        return [*made, condition("PodsReady", True, "Started", run.ready)]
    return [*made, condition("PodsReady", False, "WaitForStart", run.admitted)]


def _eviction(work: Work, run: Run, latest: Run, requeued: int, now: int) -> list[dict[str, Any]]:
    """Return the conditions on the last eviction; the next reservation clears two of them."""
    evicted = is_evicted(latest, now)
    since = run.ended if evicted else latest.reserved
    made = [condition("Evicted", evicted, run.reason if evicted else "QuotaReserved", since)]
    if run.reason == "Preempted":
        made.append(condition("Preempted", evicted, "InClusterQueue", since))
    over = requeued <= now
    reason = "Preempted" if run.reason == "Preempted" else "BackoffFinished"
    waits = condition("Requeued", over, reason if over else run.reason, requeued if over else since)
    return [*made, waits]


def _admission(work: Work, run: Run, version: str) -> dict[str, Any]:
    levels = ["kubernetes.io/hostname"]
    hosts, pods = list(run.placed), list(run.placed.values())
    topology: dict[str, Any] = {
        "v1beta1": {
            "levels": levels,
            "domains": [{"values": [host], "count": n} for host, n in run.placed.items()],
        },
        "v1beta2": {
            "levels": levels,
            "slices": [
                {
                    "domainCount": len(hosts),
                    "valuesPerLevel": [
                        {"individual": {"prefix": "gpu-", "roots": [h[-1] for h in hosts]}}
                    ],
                    "podCounts": {"individual": pods},
                }
            ],
        },
    }[version]
    return {
        "clusterQueue": work.queue,
        "podSetAssignments": [
            {
                "name": "main",
                "count": work.gpus,
                "flavors": {"nvidia.com/gpu": "h100"},
                "resourceUsage": {"cpu": str(work.gpus), "nvidia.com/gpu": str(work.gpus)},
                "topologyAssignment": topology,
            }
        ],
    }


def versioned(item: dict[str, Any]) -> str:
    """Return the text of an object, with a resource version that changes with its content."""
    version = sha256(json.dumps(item).encode()).hexdigest()[:12]
    return json.dumps(item | {"metadata": item["metadata"] | {"resourceVersion": version}})


def moments(works: list[Work], every_s: int) -> range:
    """Return the times of snapshots, until the last job was deleted."""
    return range(FIRST_S, max(work.last for work in works) + KEPT_S, every_s)


def snapshots(
    works: list[Work], every_s: int, version: str, typed: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield times and Workloads of snapshots."""
    for now in moments(works, every_s):
        items = (workload(work, now, version, typed) for work in works)
        yield now, [versioned(item) for item in items if item]


def is_seen(since: int, until: int, every_s: int) -> bool:
    """Return whether a snapshot was taken from one moment until another."""
    first = FIRST_S + max(0, -((FIRST_S - since) // every_s)) * every_s
    return first < until


def listed(items: list[str]) -> str:
    return f'{{"apiVersion": "v1", "items": [{", ".join(items)}], "kind": "List"}}'


def queues(version: str) -> list[str]:
    """Return the ClusterQueues and their LocalQueues."""
    made: list[dict[str, Any]] = []
    for number, (name, queue) in enumerate(QUEUES.items()):
        gpus = {"name": "nvidia.com/gpu", "nominalQuota": str(queue.quota)}
        if queue.borrowing is not None:
            gpus["borrowingLimit"] = str(queue.borrowing)
        if queue.lending is not None:
            gpus["lendingLimit"] = str(queue.lending)
        group = {
            "coveredResources": ["cpu", "nvidia.com/gpu"],
            "flavors": [
                {"name": "h100", "resources": [{"name": "cpu", "nominalQuota": "100"}, gpus]}
            ],
        }
        spec: dict[str, Any] = {
            "resourceGroups": [group],
            "queueingStrategy": "StrictFIFO" if queue.strict else "BestEffortFIFO",
        }
        if queue.cohort:
            spec["cohort" if version == "v1beta1" else "cohortName"] = queue.cohort
        local = {"name": f"{name}-local", "namespace": "team", "uid": f"local-{number}"}
        for kind, metadata, content in (
            ("ClusterQueue", {"name": name, "uid": f"queue-{number}"}, spec),
            ("LocalQueue", local, {"clusterQueue": name}),
        ):
            made.append(
                {
                    "apiVersion": f"kueue.x-k8s.io/{version}",
                    "kind": kind,
                    "metadata": metadata,
                    "spec": content,
                }
            )
    return [versioned(item) for item in made]


def write(
    folder: Path, cluster: Cluster, every_s: int, version: str = "v1beta2", *, typed: bool = True
) -> Path:
    """Write gzipped snapshots of Workloads, and one of the queues."""
    folder.mkdir(parents=True)
    for now, items in snapshots(cluster.works, every_s, version, typed):
        name = stamp(now).replace(":", "-")
        (folder / f"workloads_{name}.json.gz").write_bytes(gzip.compress(listed(items).encode(), 1))
    (folder / f"queues_{stamp(START).replace(':', '-')}.json").write_text(listed(queues(version)))
    return folder
