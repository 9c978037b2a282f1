"""Parse ClusterQueues, LocalQueues and Cohorts of Kueue, and queues of Volcano.

Source of the fields: ``config/components/crd/bases/`` of kubernetes-sigs/kueue. ClusterQueues name
their cohort ``cohort`` in v1beta1 and ``cohortName`` in v1beta2.
"""

from typing import Any, NamedTuple

from philly_analysis.ingest.kubernetes.fields import (
    GPU_RESOURCE,
    field,
    gpus,
    identity,
    objects,
    quantity,
    rounded,
    text,
)


class Queue(NamedTuple):
    """A queue or a Cohort in a snapshot.

    Attributes
    ----------
    fault
        Reason to reject the object, or None.
    cluster_queue
        Name of the ClusterQueue; None for a Cohort.
    cohort
        Cohort of a ClusterQueue, or parent of a Cohort.
    gpus
        Nominal quota of GPUs over all flavors; None where no flavor has GPUs.
    borrowing_limit
        GPUs beyond the quota that the queue may take; None: one flavor or more has no limit.
    lending_limit
        GPUs of the quota that others may take; None: no flavor has a limit.
    """

    fault: str | None = None
    uid: str | None = None
    name: str | None = None
    cluster_queue: str | None = None
    cohort: str | None = None
    gpus: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None


def parse_cluster_queue(item: dict[str, Any]) -> Queue:
    """Return a ClusterQueue with its quota of GPUs, and its limits of borrowing and lending."""
    cohort = text(item, "spec", "cohortName") or text(item, "spec", "cohort")
    return _queue(item, cluster_queue=identity(item)[1], cohort=cohort, **_quotas(item)._asdict())


def parse_volcano_queue(item: dict[str, Any]) -> Queue:
    """Return a queue of Volcano; its quota is its capability."""
    quota = gpus(field(item, "spec", "capability")) or None
    return _queue(item, cluster_queue=identity(item)[1], gpus=quota)


def parse_cohort(item: dict[str, Any]) -> Queue:
    """Return a Cohort with its parent, and its own quota of GPUs."""
    parent = text(item, "spec", "parentName") or text(item, "spec", "parent")
    return _queue(item, cohort=parent, **_quotas(item)._asdict())


def parse_local_queue(item: dict[str, Any]) -> Queue:
    """Return a LocalQueue with its ClusterQueue."""
    return _queue(item, cluster_queue=text(item, "spec", "clusterQueue"))


def _queue(item: dict[str, Any], **fields: Any) -> Queue:
    """Return a queue with fields; the object must have a uid and a name."""
    uid, name = identity(item)
    if uid is None or name is None:
        return Queue(fault="the object has no uid or no name")
    return Queue(uid=uid, name=name, **fields)


class _Quotas(NamedTuple):
    """Quota and limits of GPUs, summed over flavors, as in `Queue`."""

    gpus: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None


def _quotas(item: dict[str, Any]) -> _Quotas:
    resources = [
        resource
        for group in objects(item, "spec", "resourceGroups")
        for flavor in objects(group, "flavors")
        for resource in objects(flavor, "resources")
        if GPU_RESOURCE.fullmatch(text(resource, "name") or "")
        and quantity(field(resource, "nominalQuota")) is not None
    ]
    if not resources:
        return _Quotas()
    nominal = [quantity(field(resource, "nominalQuota")) or 0.0 for resource in resources]
    borrowed = [quantity(field(resource, "borrowingLimit")) for resource in resources]
    lent = [quantity(field(resource, "lendingLimit")) for resource in resources]
    lendable = [gpus if most is None else most for gpus, most in zip(nominal, lent, strict=True)]
    limits = [limit for limit in borrowed if limit is not None]
    return _Quotas(
        rounded(sum(nominal)),
        rounded(sum(limits)) if len(limits) == len(borrowed) else None,
        None if lent == [None] * len(lent) else rounded(sum(lendable)),
    )
