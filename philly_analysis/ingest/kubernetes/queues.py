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
    text,
)

_MOST = 2**31 - 1


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
    uid, name = identity(item)
    if uid is None or name is None:
        return Queue(fault="the object has no uid or no name")
    cohort = text(item, "spec", "cohortName") or text(item, "spec", "cohort")
    return Queue(uid=uid, name=name, cluster_queue=name, cohort=cohort, **_quotas(item))


def parse_volcano_queue(item: dict[str, Any]) -> Queue:
    """Return a queue of Volcano; its quota is its capability."""
    uid, name = identity(item)
    if uid is None or name is None:
        return Queue(fault="the object has no uid or no name")
    capability = field(item, "spec", "capability")
    return Queue(uid=uid, name=name, cluster_queue=name, gpus=gpus(capability) or None)


def parse_cohort(item: dict[str, Any]) -> Queue:
    """Return a Cohort with its parent, and its own quota of GPUs."""
    uid, name = identity(item)
    if uid is None or name is None:
        return Queue(fault="the object has no uid or no name")
    parent = text(item, "spec", "parentName") or text(item, "spec", "parent")
    return Queue(uid=uid, name=name, cohort=parent, **_quotas(item))


def parse_local_queue(item: dict[str, Any]) -> Queue:
    """Return a LocalQueue with its ClusterQueue."""
    uid, name = identity(item)
    if uid is None or name is None:
        return Queue(fault="the object has no uid or no name")
    return Queue(uid=uid, name=name, cluster_queue=text(item, "spec", "clusterQueue"))


def _quotas(item: dict[str, Any]) -> dict[str, int | None]:
    """Return the quota and the limits of GPUs, summed over flavors."""
    flavors = [
        (nominal, *(quantity(field(resource, f"{name}Limit")) for name in ("borrowing", "lending")))
        for group in objects(item, "spec", "resourceGroups")
        for flavor in objects(group, "flavors")
        for resource in objects(flavor, "resources")
        if GPU_RESOURCE.fullmatch(text(resource, "name") or "")
        and (nominal := quantity(field(resource, "nominalQuota"))) is not None
    ]
    if not flavors:
        return {}
    borrowed = [borrowing for _, borrowing, _ in flavors]
    limited = any(lending is not None for *_, lending in flavors)
    return {
        "gpus": _whole(sum(nominal for nominal, *_ in flavors)),
        "borrowing_limit": _whole(sum(filter(None, borrowed))) if None not in borrowed else None,
        "lending_limit": _whole(sum(n if lent is None else lent for n, _, lent in flavors))
        if limited
        else None,
    }


def _whole(number: float) -> int:
    return min(round(number), _MOST)
