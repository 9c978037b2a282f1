"""Parse objects that own pods or Jobs: JobSets, RayJobs, Kubeflow's jobs, Volcano's, PodGroups."""

from typing import Any, NamedTuple

from philly_analysis.ingest.kubernetes.fields import (
    conditions,
    field,
    gpus,
    identity,
    moment_s,
    owners,
    since_s,
    text,
    whole,
)

JOB_OWNERS = {
    "jobset.x-k8s.io": ("JobSet",),
    "ray.io": ("RayJob", "RayCluster"),
    "kubeflow.org": ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"),
    "trainer.kubeflow.org": ("TrainJob",),
    "batch.volcano.sh": ("Job",),
    "workload.codeflare.dev": ("AppWrapper",),
}
"""Kinds of which one object is one job, by API group."""

POD_GROUPS = ("scheduling.volcano.sh", "scheduling.x-k8s.io")
"""API groups of PodGroups: of Volcano, and of the coscheduling plugin."""

_PASSED = ("Complete", "Completed", "Succeeded")
_PHASES = {
    "SUCCEEDED": "Pass",
    "FAILED": "Failed",
    "STOPPED": "Killed",
    "Completed": "Pass",
    "Failed": "Failed",
    "Aborted": "Killed",
    "Terminated": "Killed",
}
"""Status of a job by ``status.jobStatus`` of a RayJob, or ``status.state.phase`` of Volcano's."""


class Owner(NamedTuple):
    """State of an owner in a snapshot.

    Attributes
    ----------
    fault
        Reason to reject the object, or None.
    owner_uid
        Identifier of the job that owns this object.
    queue
        Queue of Volcano.
    gpus
        GPUs that a PodGroup asks for (``spec.minResources``); None: not stated.
    min_member
        Pods of a PodGroup that start together; None for other kinds.
    """

    fault: str | None = None
    uid: str | None = None
    name: str | None = None
    namespace: str | None = None
    owner_uid: str | None = None
    queue: str | None = None
    priority_class: str | None = None
    created_s: float | None = None
    ended_s: float | None = None
    status: str | None = None
    gpus: int | None = None
    min_member: int | None = None


def is_job_owner(owner: Any) -> bool:
    """Return whether an owner reference names a kind of which one object is one job."""
    group, _, _ = (text(owner, "apiVersion") or "").rpartition("/")
    return text(owner, "kind") in JOB_OWNERS.get(group, ())


def parse_owner(item: dict[str, Any]) -> Owner:
    """Return the state of an object that owns pods or Jobs."""
    uid, name = identity(item)
    created = moment_s(item, "metadata", "creationTimestamp")
    if uid is None or name is None or created is None:
        return Owner(fault="the object has no uid, no name or no valid creationTimestamp")
    ended, status = _end(item)
    parent = next(owners(item), {})
    return Owner(
        uid=uid,
        name=name,
        namespace=text(item, "metadata", "namespace"),
        owner_uid=text(parent, "uid") if is_job_owner(parent) else None,
        queue=text(item, "spec", "queue"),
        priority_class=text(item, "spec", "priorityClassName"),
        created_s=created,
        ended_s=ended,
        status=status,
    )


def parse_pod_group(item: dict[str, Any]) -> Owner:
    """Return the state of a PodGroup."""
    owner = parse_owner(item)
    if owner.fault:
        return owner
    return owner._replace(
        ended_s=None,
        status=None,
        gpus=gpus(field(item, "spec", "minResources")) or None,
        min_member=whole(item, "spec", "minMember") or 1,
    )


def _end(item: dict[str, Any]) -> tuple[float | None, str | None]:
    """Return when a job ended, and its status; None: it has not ended."""
    state = conditions(item)
    for kind in (*_PASSED, "Failed"):
        if (since := since_s(state.get(kind))) is not None:
            status = "Pass" if kind in _PASSED else "Failed"
            return moment_s(item, "status", "completionTime") or since, status
    for phase, since in (
        (text(item, "status", "jobStatus"), moment_s(item, "status", "endTime")),
        (
            text(item, "status", "state", "phase"),
            moment_s(item, "status", "state", "lastTransitionTime"),
        ),
    ):
        if phase in _PHASES and since is not None:
            return since, _PHASES[phase]
    return None, None
