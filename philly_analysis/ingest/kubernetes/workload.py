"""Parse Workload objects of Kueue, versions v1beta1 and v1beta2 of its API.

Source of the fields: ``config/components/crd/bases/kueue.x-k8s.io_workloads.yaml`` of
kubernetes-sigs/kueue.
"""

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

_SLICE_NAME = "kueue.x-k8s.io/workload-slice-name"
"""Annotation with the name of the first Workload of a job that changes its size."""

_HOSTNAME = "kubernetes.io/hostname"
_MOST_DOMAINS = 100_000

_EVICTIONS = {
    "Preempted": "preempted",
    "FlavorMigration": "migrated",
    "NodeFailures": "node_failure",
}
"""End of an attempt by the first word of the reason of its eviction; others: requeued."""

_CHECKS = "UnsatisfiedAdmissionChecks"
"""Kueue's reason for a Workload with reserved quota that is not admitted."""

_FINISHES = {
    "Succeeded": ("completed", "Pass"),
    "Failed": ("failed", "Failed"),
    "OwnerNotFound": ("killed", "Killed"),
    "WorkloadSliceReplaced": ("resized", None),
}
"""End of an attempt, and status of its job, by the reason of the condition Finished."""


class Workload(NamedTuple):
    """State of a Workload in a snapshot.

    Attributes
    ----------
    fault
        Reason to reject the object, or None.
    life
        Identifier that the Workloads of one job share.
    owner_uids
        Identifiers of the job, or of the pods, that the Workload was made for.
    queue, cluster_queue
        LocalQueue as namespace/name; ClusterQueue of the admission.
    gpus, cpus, mem_gb
        Request of the whole gang, or what the admission granted.
    servers
        1 if all pods with GPUs must be on one server; None: no such requirement.
    pending_reason
        Reason of the condition QuotaReserved=False, else of Admitted=False.
    pending_s
        When the condition QuotaReserved became False.
    reserved_s, admitted_s, ready_s, recovered_s, evicted_s, requeued_s, finished_s
        When a condition became true, in seconds since 1970; None: it is not true.
    evict_reason, finish_reason, status
        End of the attempt, and status of its job, by the reasons of Evicted and Finished.
    hosts, host_gpus
        Servers of a topology assignment, and GPUs on each.
    """

    fault: str | None = None
    uid: str | None = None
    name: str | None = None
    life: str | None = None
    namespace: str | None = None
    owner_uids: tuple[str, ...] = ()
    queue: str | None = None
    cluster_queue: str | None = None
    priority_class: str | None = None
    active: bool = True
    created_s: float | None = None
    gpus: int | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    servers: int | None = None
    time_limit_s: float | None = None
    pending_reason: str | None = None
    pending_s: float | None = None
    reserved_s: float | None = None
    admitted_s: float | None = None
    ready_s: float | None = None
    recovered_s: float | None = None
    evicted_s: float | None = None
    evict_reason: str | None = None
    requeued_s: float | None = None
    finished_s: float | None = None
    finish_reason: str | None = None
    status: str | None = None
    hosts: tuple[str, ...] | None = None
    host_gpus: tuple[int, ...] | None = None


def parse_workload(item: dict[str, Any]) -> Workload:
    """Return the state of a Workload."""
    uid, name = identity(item)
    created = moment_s(item, "metadata", "creationTimestamp")
    if uid is None or name is None:
        return Workload(fault="the object has no uid or no name")
    if created is None:
        return Workload(fault="the object has no valid creationTimestamp")
    namespace = text(item, "metadata", "namespace")
    first = text(field(item, "metadata", "annotations"), _SLICE_NAME)
    queue = text(item, "spec", "queueName")
    state = conditions(item)
    ready = state.get("PodsReady")
    recovered = text(ready, "reason") == "Recovered"
    finish = text(state.get("Finished"), "reason")
    finished = since_s(state.get("Finished"))
    end_reason, status = _FINISHES.get(finish or "", (None, None))
    evicted = since_s(state.get("Evicted"))
    granted, cpus, memory = _resources(item)
    hosts = _topology(item)
    return Workload(
        uid=uid,
        name=f"{namespace}/{first}" if first else name,
        life=f"slices of {namespace}/{first}" if first else uid,
        namespace=namespace,
        owner_uids=tuple(o for owner in owners(item) if (o := text(owner, "uid"))),
        queue=f"{namespace}/{queue}" if queue else None,
        cluster_queue=text(item, "status", "admission", "clusterQueue"),
        priority_class=text(item, "spec", "priorityClassName")
        or text(item, "spec", "priorityClassRef", "name"),
        active=field(item, "spec", "active") is not False,
        created_s=created,
        gpus=granted,
        cpus=cpus or None,
        mem_gb=memory / 1e9 or None,
        time_limit_s=whole(item, "spec", "maximumExecutionTimeSeconds") or None,
        servers=_servers(item),
        pending_reason=_pending_reason(state),
        pending_s=since_s(state.get("QuotaReserved"), "False"),
        reserved_s=since_s(state.get("QuotaReserved")),
        admitted_s=since_s(state.get("Admitted")),
        ready_s=None if recovered else since_s(ready),
        recovered_s=since_s(ready) if recovered else None,
        evicted_s=evicted,
        evict_reason=None if evicted is None else _eviction(text(state["Evicted"], "reason")),
        requeued_s=since_s(state.get("Requeued")),
        finished_s=finished,
        finish_reason=None if finished is None else end_reason,
        status=None if finished is None else status,
        hosts=tuple(hosts) if hosts else None,
        host_gpus=tuple(hosts.values()) if hosts else None,
    )


def _pending_reason(state: dict[str, dict[str, Any]]) -> str | None:
    """Return the reason of QuotaReserved=False, else of Admitted=False.

    Before KEP-10852, a Workload that waits for an admission check has no condition Admitted.
    """
    if field(state.get("QuotaReserved"), "status") == "False":
        return text(state["QuotaReserved"], "reason")
    if "QuotaReserved" in state and field(state.get("Admitted"), "status") != "True":
        return text(state.get("Admitted"), "reason") or _CHECKS
    return None


def _eviction(reason: str | None) -> str:
    """Return how an attempt ended, by the reason of its eviction."""
    if reason and "MaximumExecutionTimeExceeded" in reason:
        return "time_limit"
    if reason and reason.startswith("Deactivated"):
        return "killed"
    return _EVICTIONS.get(reason or "", "requeued")


def _resources(item: dict[str, Any]) -> tuple[int, float, float]:
    """Return GPUs, CPU cores and bytes: granted, else requested, else the limits of the pods."""
    for path, name in (
        (("status", "admission", "podSetAssignments"), "resourceUsage"),
        (("status", "resourceRequests"), "resources"),
    ):
        totals = [field(one, name) for one in objects(item, *path)]
        if any(isinstance(total, dict) and total for total in totals):
            cpus, memory = (
                sum(quantity(field(total, resource)) or 0.0 for total in totals)
                for resource in ("cpu", "memory")
            )
            return rounded(sum(map(gpus, totals))), cpus, memory
    sets = [
        (whole(one, "count") or 0, *pod_resources(field(one, "template", "spec")))
        for one in objects(item, "spec", "podSets")
    ]
    gang, cores, size = (sum(one[0] * one[i] for one in sets) for i in (1, 2, 3))
    return rounded(gang), cores, size


def _servers(item: dict[str, Any]) -> int | None:
    """Return 1 if a topology request requires one server for all pods with GPUs."""
    required = [
        text(one, "topologyRequest", "required")
        for one in objects(item, "spec", "podSets")
        if pod_resources(field(one, "template", "spec"))[0]
    ]
    return 1 if required == [_HOSTNAME] else None


def _topology(item: dict[str, Any]) -> dict[str, int]:
    """Return the GPUs on each server that a topology assignment names."""
    held: dict[str, int] = {}
    for one in objects(item, "status", "admission", "podSetAssignments"):
        levels, pods = field(one, "topologyAssignment", "levels"), whole(one, "count")
        total = gpus(field(one, "resourceUsage"))
        if not isinstance(levels, list) or levels[-1:] != [_HOSTNAME] or not pods or not total:
            continue
        domains = [
            *_domains(objects(one, "topologyAssignment", "domains")),
            *_slices(objects(one, "topologyAssignment", "slices")),
        ]
        for host, count in domains:
            held[host] = held.get(host, 0) + total * count // pods
    return held


def _domains(domains: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return servers and numbers of pods of v1beta1."""
    pairs = []
    for domain in domains:
        values = field(domain, "values")
        if isinstance(values, list) and values and isinstance(values[-1], str):
            pairs.append((values[-1], whole(domain, "count") or 0))
    return pairs


def _slices(slices: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return servers and numbers of pods of v1beta2, which prints equal parts of names once."""
    pairs: list[tuple[str, int]] = []
    for one in slices:
        domains = min(whole(one, "domainCount") or 0, _MOST_DOMAINS)
        level = objects(one, "valuesPerLevel")[-1:]
        values = level[0] if level else {}
        prefix, suffix = (text(values, "individual", part) or "" for part in ("prefix", "suffix"))
        roots = field(values, "individual", "roots")
        names = (
            [f"{prefix}{root}{suffix}" for root in roots]
            if isinstance(roots, list)
            else [text(values, "universal")] * domains
        )
        counts = field(one, "podCounts", "individual")
        pods = (
            [n if isinstance(n, int) and 0 <= n < 2**31 else 0 for n in counts]
            if isinstance(counts, list)
            else [whole(one, "podCounts", "universal") or 0] * domains
        )
        pairs += [(name, n) for name, n in zip(names, pods, strict=False) if name]
    return pairs
