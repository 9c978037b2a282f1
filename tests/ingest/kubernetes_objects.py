"""Make Kubernetes objects by hand, and write snapshots of these objects."""

import json
from pathlib import Path
from typing import Any

from tests.ingest import kueue_snapshots as kueue

T = 1_770_000_000


def meta(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": "a",
        "uid": f"u-{name}",
        "creationTimestamp": kueue.stamp(T),
    } | more


def work(
    name: str, *conditions: tuple[str, str, float], gpus: int = 2, **more: Any
) -> dict[str, Any]:
    """Return a Workload whose conditions are true; Q: QuotaReserved is false."""
    usage = {"nvidia.com/gpu": str(gpus)}
    pods = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
    admitted = any(kind == "Admitted" for kind, *_ in conditions)
    assignment = {"name": "m", "count": gpus, "resourceUsage": usage}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": meta(name, **more),
        "spec": {"queueName": "q", "podSets": [{"count": gpus, "template": {"spec": pods}}]},
        "status": {
            "conditions": [
                kueue.condition("QuotaReserved", False, reason, since)
                if kind == "Q"
                else kueue.condition(kind, True, reason, since)
                for kind, reason, since in conditions
            ],
        }
        | (
            {"admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}}
            if admitted
            else {}
        ),
    }


ADMITTED = ("Admitted", "Admitted", T + 60.0)


def write(folder: Path, **files: list[dict[str, Any]] | str) -> Path:
    """Write snapshots; ``t60`` is taken 60 seconds after the start."""
    folder.mkdir(exist_ok=True)
    for name, items in files.items():
        stamp = kueue.stamp(T + int(name[1:])).replace(":", "-")
        content = items if isinstance(items, str) else kueue.listed([json.dumps(i) for i in items])
        (folder / f"{stamp}.json").write_text(content, "utf-8")
    return folder


ATTEMPTS = (
    "select job_id, attempt, epoch(started_at)::bigint - 1770000000, "
    "epoch(ended_at)::bigint - 1770000000, end_reason, status, a.gpus, a.flag "
    "from attempts as a join jobs using (job_id) order by job_id, attempt"
)


def pod(name: str, phase: str, node: str | None = "n1", **more: Any) -> dict[str, Any]:
    over = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": kueue.stamp(T + 500)}
    failed = [{"state": {"terminated": over}}] if phase == "Failed" else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, **more),
        "spec": {
            "nodeName": node,
            "containers": [{"resources": {"limits": {"nvidia.com/gpu": 2}}}],
        },
        "status": {
            "phase": phase,
            "conditions": [kueue.condition("PodScheduled", True, "", T + 70)] if node else [],
            "containerStatuses": failed,
        },
    }


def owned(name: str, kind: str, group: str, *owners: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object of a kind, with its owners."""
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": meta(name, ownerReferences=list(owners)),
    } | more


def reference(item: dict[str, Any]) -> dict[str, Any]:
    """Return the owner reference that names an object as the controller."""
    names = {key: item["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "controller": True} | names


def ended(kind: str, at: int) -> dict[str, Any]:
    return {"status": {"conditions": [kueue.condition(kind, True, "", T + at)]}}


def on_host(item: dict[str, Any], host: str) -> dict[str, Any]:
    """Assign all pods of an admitted Workload to one server."""
    [assignment] = item["status"]["admission"]["podSetAssignments"]
    domain = {"values": [host], "count": assignment["count"]}
    assignment["topologyAssignment"] = {"levels": ["kubernetes.io/hostname"], "domains": [domain]}
    return item
