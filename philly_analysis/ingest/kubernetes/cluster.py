"""Parse pods, Jobs and nodes."""

from typing import Any, NamedTuple

from philly_analysis.ingest.kubernetes.fields import (
    conditions,
    field,
    gpus,
    identity,
    moment_s,
    objects,
    owners,
    pod_resources,
    quantity,
    rounded,
    since_s,
    text,
    whole,
)
from philly_analysis.ingest.kubernetes.owners import is_job_owner

_WORKLOAD = "kueue.x-k8s.io/workload"
"""Annotation of a pod with the name of its Workload."""

_GROUP_NAMES = {
    "annotations": ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"),
    "labels": ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"),
}
"""Annotations and labels of a pod with the name of its PodGroup."""

SERVICES = ("ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Node")
"""Owners whose pods are no gang: each pod is a job of its own."""


class Pod(NamedTuple):
    """State of a pod in a snapshot; times are seconds since 1970."""

    fault: str | None = None
    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    workload: str | None = None
    owner_uid: str | None = None
    owner_name: str | None = None
    pod_group: str | None = None
    node: str | None = None
    priority_class: str | None = None
    created_s: float | None = None
    scheduled_s: float | None = None
    ended_s: float | None = None
    gpus: int | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    phase: str | None = None
    exit_code: int | None = None
    end_reason: str | None = None


class Job(NamedTuple):
    """State of a Job (batch/v1) in a snapshot; its GPUs are the sum over its pods."""

    fault: str | None = None
    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    owner_uid: str | None = None
    owner_name: str | None = None
    created_s: float | None = None
    ended_s: float | None = None
    gpus: int | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    time_limit_s: float | None = None
    status: str | None = None


class Node(NamedTuple):
    """A server."""

    fault: str | None = None
    uid: str | None = None
    name: str | None = None
    gpus: int | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    gpu_model: str | None = None


def parse_pod(item: dict[str, Any]) -> Pod:
    """Return the state of a pod."""
    uid, name = identity(item)
    created = moment_s(item, "metadata", "creationTimestamp")
    if uid is None or name is None or created is None:
        return Pod(fault="the object has no uid, no name or no valid creationTimestamp")
    namespace = text(item, "metadata", "namespace")
    workload = text(field(item, "metadata", "annotations"), _WORKLOAD)
    owner = next(owners(item), {})
    grouped = text(owner, "kind") not in SERVICES
    owner_name = text(owner, "name")
    ends = [
        end
        for one in objects(item, "status", "containerStatuses")
        if isinstance(end := field(one, "state", "terminated"), dict)
    ]
    over = text(item, "status", "phase") in ("Succeeded", "Failed")
    moments = [m for end in ends if (m := moment_s(end, "finishedAt")) is not None]
    codes = [code for end in ends if (code := whole(end, "exitCode")) is not None]
    count, cpus, memory = pod_resources(field(item, "spec"))
    return Pod(
        uid=uid,
        name=name,
        namespace=namespace,
        workload=f"{namespace}/{workload}" if workload else None,
        owner_uid=text(owner, "uid") if grouped else None,
        owner_name=f"{namespace}/{owner_name}" if grouped and owner_name else None,
        pod_group=_pod_group(item, namespace),
        node=text(item, "spec", "nodeName"),
        priority_class=text(item, "spec", "priorityClassName"),
        created_s=created,
        scheduled_s=since_s(conditions(item).get("PodScheduled")),
        ended_s=max(moments) if over and moments else None,
        gpus=count,
        cpus=cpus or None,
        mem_gb=memory / 1e9 or None,
        phase=text(item, "status", "phase"),
        exit_code=max(codes) if over and codes else None,
        end_reason=_end(item, ends) if over else None,
    )


def _pod_group(item: dict[str, Any], namespace: str | None) -> str | None:
    """Return the PodGroup of a pod, as namespace/name."""
    for place, names in _GROUP_NAMES.items():
        for name in names:
            if group := text(field(item, "metadata", place), name):
                return f"{namespace}/{group}"
    return None


def _end(item: dict[str, Any], ends: list[dict[str, Any]]) -> str:
    """Return how a pod ended."""
    if any(text(end, "reason") == "OOMKilled" for end in ends):
        return "out_of_memory"
    disruption = text(conditions(item).get("DisruptionTarget"), "reason")
    if disruption == "PreemptionByScheduler":
        return "preempted"
    if text(item, "status", "reason") == "DeadlineExceeded":
        return "time_limit"
    if text(item, "status", "reason") in ("NodeLost", "NodeShutdown", "Terminated"):
        return "node_failure"
    return "completed" if text(item, "status", "phase") == "Succeeded" else "failed"


def parse_job(item: dict[str, Any]) -> Job:
    """Return the state of a Job."""
    uid, name = identity(item)
    created = moment_s(item, "metadata", "creationTimestamp")
    if uid is None or name is None or created is None:
        return Job(fault="the object has no uid, no name or no valid creationTimestamp")
    pods = whole(item, "spec", "parallelism")
    pods = 1 if pods is None else pods
    count, cpus, memory = pod_resources(field(item, "spec", "template", "spec"))
    namespace = text(item, "metadata", "namespace")
    owner = next(filter(is_job_owner, owners(item)), {})
    state = conditions(item)
    completed, failed = since_s(state.get("Complete")), since_s(state.get("Failed"))
    return Job(
        uid=uid,
        name=name,
        namespace=namespace,
        owner_uid=text(owner, "uid"),
        owner_name=f"{namespace}/{text(owner, 'name')}" if owner else None,
        created_s=created,
        ended_s=moment_s(item, "status", "completionTime") or completed or failed,
        gpus=rounded(pods * count),
        cpus=pods * cpus or None,
        mem_gb=pods * memory / 1e9 or None,
        time_limit_s=whole(item, "spec", "activeDeadlineSeconds") or None,
        status="Pass" if completed is not None else "Failed" if failed is not None else None,
    )


def parse_node(item: dict[str, Any]) -> Node:
    """Return a server: its capacity, and the GPU model that its labels name."""
    uid, name = text(item, "metadata", "uid"), text(item, "metadata", "name")
    if uid is None or name is None:
        return Node(fault="the object has no uid or no name")
    capacity, labels = field(item, "status", "capacity"), field(item, "metadata", "labels")
    return Node(
        uid=uid,
        name=name,
        gpus=gpus(capacity),
        cpus=quantity(field(capacity, "cpu")) or None,
        mem_gb=(quantity(field(capacity, "memory")) or 0) / 1e9 or None,
        gpu_model=text(labels, "nvidia.com/gpu.product")
        or text(labels, "amd.com/gpu.product-name"),
    )
