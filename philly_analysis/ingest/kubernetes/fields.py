"""Read fields of Kubernetes objects, whose text and nesting may be anything."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

GPU_RESOURCE = re.compile(r"nvidia\.com/gpu|amd\.com/gpu|nvidia\.com/mig-[a-z0-9.+-]+")
"""Extended resources that count GPUs; an instance of MIG counts as one GPU."""

_QUANTITY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?")
_FACTORS = {
    "": 1.0,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
}
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z")
_MOST = 2**31 - 1


def field(value: Any, *path: str) -> Any:
    """Return a nested field of an object; None where the path ends earlier."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def objects(value: Any, *path: str) -> list[dict[str, Any]]:
    """Return the objects of a nested list."""
    listed = field(value, *path)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def text(value: Any, *path: str) -> str | None:
    """Return a nested text that is not empty."""
    text = field(value, *path)
    return text if isinstance(text, str) and text else None


def whole(value: Any, *path: str) -> int | None:
    """Return a nested whole number from 0 to the largest 32-bit integer."""
    number = field(value, *path)
    fits = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST
    return number if fits else None


def rounded(number: float) -> int:
    """Return a number from 0 as the nearest whole number, at most the largest 32-bit integer."""
    return min(round(number), _MOST)


def moment_s(value: Any, *path: str) -> float | None:
    """Return a time as seconds since 1970; None for another text and for Go's zero time.

    Examples
    --------
    >>> moment_s("1970-01-02T00:00:00Z"), moment_s("0001-01-01T00:00:00Z"), moment_s("soon")
    (86400.0, None, None)
    """
    stamp = field(value, *path)
    if not isinstance(stamp, str) or not _TIME.fullmatch(stamp):
        return None
    try:
        moment = datetime.fromisoformat(stamp[:19]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return moment.timestamp() if moment.year >= 1970 else None


def quantity(value: Any) -> float | None:
    """Return a quantity of a resource in its unit: cores, bytes or devices.

    Examples
    --------
    >>> quantity("1500m"), quantity("2Gi"), quantity(8), quantity("many")
    (1.5, 2147483648.0, 8.0, None)
    """
    match = _QUANTITY.fullmatch(str(value))
    return float(match[1]) * _FACTORS[match[2] or ""] if match else None


def gpus(resources: Any) -> int:
    """Return the GPUs among resources and their quantities."""
    if not isinstance(resources, dict):
        return 0
    counts = (quantity(n) or 0 for name, n in resources.items() if GPU_RESOURCE.fullmatch(name))
    return rounded(sum(counts))


def pod_resources(template: Any) -> tuple[int, float, float]:
    """Return GPUs, CPU cores and bytes of memory of a pod, by its specification.

    Containers that initialise the pod run one after the other before the other containers.
    """
    limits = [_resources(c) for c in objects(template, "containers")]
    initial = [_resources(c) for c in objects(template, "initContainers")]
    gpu, cpu, memory = (
        max([sum(one[i] for one in limits), *(one[i] for one in initial)]) for i in range(3)
    )
    return rounded(gpu), cpu, memory


def _resources(container: dict[str, Any]) -> tuple[float, float, float]:
    limits = field(container, "resources", "limits")
    requests = field(container, "resources", "requests")
    cpu, memory = (
        quantity(field(requests, name)) or quantity(field(limits, name)) or 0.0
        for name in ("cpu", "memory")
    )
    return gpus(limits) or gpus(requests), cpu, memory


def conditions(item: Any) -> dict[str, dict[str, Any]]:
    """Return the conditions of an object by their type."""
    listed = objects(item, "status", "conditions")
    return {kind: one for one in listed if (kind := text(one, "type"))}


def since_s(condition: Any, status: str = "True") -> float | None:
    """Return when a condition got a status; None if its status is another."""
    return (
        moment_s(condition, "lastTransitionTime") if field(condition, "status") == status else None
    )


def owners(item: Any) -> Iterator[dict[str, Any]]:
    """Yield the owner references of an object, the controller first."""
    listed = objects(item, "metadata", "ownerReferences")
    yield from sorted(listed, key=lambda owner: field(owner, "controller") is not True)


def identity(item: Any) -> tuple[str | None, str | None]:
    """Return the unique identifier of an object, and its namespace/name."""
    name, namespace = text(item, "metadata", "name"), text(item, "metadata", "namespace")
    return text(item, "metadata", "uid"), f"{namespace}/{name}" if name and namespace else name
