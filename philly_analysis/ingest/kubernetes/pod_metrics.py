"""Read pods from kube-state-metrics: responses of Prometheus' HTTP API with ``kube_pod_…`` metrics.

A metric of a pod states one field, so that the latest value of each metric gives the pod's state.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from philly_analysis.errors import InputError
from philly_analysis.ingest.kubernetes.cluster import SERVICES, Pod
from philly_analysis.ingest.kubernetes.fields import rounded, text
from philly_analysis.ingest.raw_file import json_items

_TIMES = {
    "kube_pod_created": "created_s",
    "kube_pod_start_time": "started_s",
    "kube_pod_status_scheduled_time": "scheduled_s",
    "kube_pod_completion_time": "completed_s",
}
"""Fields of times, in seconds since 1970, by metric."""

_REQUESTS = "kube_pod_container_resource_requests"
_REASONS = "kube_pod_container_status_terminated_reason"
_PHASE, _OWNER, _INFO = "kube_pod_status_phase", "kube_pod_owner", "kube_pod_info"
_METRICS = {*_TIMES, _REQUESTS, _REASONS, _PHASE, _OWNER, _INFO}
_GPU = re.compile(r"nvidia_com_gpu|amd_com_gpu|nvidia_com_mig_[a-z0-9_]+")
_OVER = ("Succeeded", "Failed")
_LATEST_S = 4_102_444_800
"""2100-01-01 UTC."""


class Sample(NamedTuple):
    """The latest value of a series, with the times of its first and its latest value."""

    first_s: float
    last_s: float
    value: float


@dataclass
class _State:
    """What the metrics state about a pod."""

    number: int
    namespace: str
    name: str
    first_s: float = float("inf")
    last_s: float = 0.0
    times: dict[str, float] = field(default_factory=dict)
    requests: dict[tuple[str, str], float] = field(default_factory=dict)
    reasons: set[str] = field(default_factory=set)
    phase: tuple[float, str] = (0.0, "")
    owner: tuple[str, str] | None = None
    node: str | None = None


class PodMetrics(NamedTuple):
    """Pods of a file.

    Attributes
    ----------
    taken_s
        Time of the latest value.
    pods
        Place of the first series, times of the first and the latest value, and state of each pod.
    others
        Number of series that state nothing about a pod.
    fault
        Reason why series at its end are missing, or None.
    """

    taken_s: float
    pods: list[tuple[int, float, float, Pod]]
    others: int
    fault: str | None


def is_pod_metrics(path: Path, lines: Sequence[str]) -> bool:
    """Return whether a file with these first lines is a response with metrics of pods."""
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    try:
        first = next(json_items(path, "result"), None)
    except InputError:
        return False
    return text(first, "metric", "__name__") in _METRICS


def read_pod_metrics(path: Path) -> PodMetrics:
    """Return the pods of a response of Prometheus."""
    states: dict[str, _State] = {}
    others, fault = 0, None
    try:
        for number, series in enumerate(json_items(path, "result"), 1):
            metric = series.get("metric") if isinstance(series, dict) else None
            labels = metric if isinstance(metric, dict) else {}
            sample = _sample(series) if labels else None
            uid, name = text(labels, "uid"), text(labels, "pod")
            if text(labels, "__name__") not in _METRICS or not (sample and uid and name):
                others += 1
                continue
            namespace = text(labels, "namespace") or ""
            state = states.setdefault(uid, _State(number, namespace, name))
            _add(state, labels, sample)
    except InputError as error:
        fault = str(error)
    pods = [(s.number, s.first_s, s.last_s, _pod(uid, s)) for uid, s in states.items()]
    return PodMetrics(max((last for *_, last, _ in pods), default=0.0), pods, others, fault)


def _sample(series: dict[str, Any]) -> Sample | None:
    """Return the latest value of a range or instant query; None where no value is valid."""
    values = series["values"] if "values" in series else [series.get("value")]
    pairs = list(_pairs(values)) if isinstance(values, list) else []
    return Sample(pairs[0][0], *pairs[-1]) if pairs else None


def _pairs(values: list[Any]) -> Iterator[tuple[float, float]]:
    for pair in values:
        try:
            at, value = float(pair[0]), float(pair[1])
        except (TypeError, ValueError, IndexError, KeyError):
            continue
        if 0 < at < _LATEST_S and abs(value) < 1e18:
            yield at, value


def _add(state: _State, labels: dict[str, Any], sample: Sample) -> None:
    """Add what a series states."""
    metric = labels["__name__"]
    state.first_s = min(state.first_s, sample.first_s)
    state.last_s = max(state.last_s, sample.last_s)
    if metric in _TIMES and 0 < sample.value < _LATEST_S:
        state.times[_TIMES[metric]] = sample.value
    elif metric == _REQUESTS:
        key = text(labels, "container") or "", text(labels, "resource") or ""
        state.requests[key] = sample.value
        state.node = text(labels, "node") or state.node
    elif metric == _REASONS and sample.value == 1 and (reason := text(labels, "reason")):
        state.reasons.add(reason)
    elif metric == _PHASE and sample.value == 1:
        state.phase = max(state.phase, (sample.last_s, text(labels, "phase") or ""))
    elif metric == _OWNER and text(labels, "owner_is_controller") == "true":
        state.owner = text(labels, "owner_kind") or "", text(labels, "owner_name") or ""
    elif metric == _INFO:
        state.node = text(labels, "node") or state.node


def _pod(uid: str, state: _State) -> Pod:
    created = state.times.get("created_s")
    if created is None:
        return Pod(fault="no kube_pod_created states when the pod was created", uid=uid)
    kind, owner = state.owner or ("", "")
    grouped = bool(owner) and kind not in SERVICES
    phase = state.phase[1] or None
    return Pod(
        uid=uid,
        name=f"{state.namespace}/{state.name}",
        namespace=state.namespace or None,
        owner_uid=f"{kind} {state.namespace}/{owner}" if grouped else None,
        owner_name=f"{state.namespace}/{owner}" if grouped else None,
        node=state.node,
        created_s=created,
        scheduled_s=state.times.get("scheduled_s", state.times.get("started_s")),
        ended_s=state.times.get("completed_s") if phase in _OVER else None,
        gpus=rounded(sum(n for (_, r), n in state.requests.items() if _GPU.fullmatch(r))),
        cpus=_total(state, "cpu"),
        mem_gb=(memory / 1e9) if (memory := _total(state, "memory")) else None,
        phase=phase,
        end_reason=_end(phase, state.reasons) if phase in _OVER else None,
    )


def _total(state: _State, resource: str) -> float | None:
    return sum(n for (_, r), n in state.requests.items() if r == resource) or None


def _end(phase: str | None, reasons: set[str]) -> str:
    """Return how a pod ended, by its phase and the reasons of its containers."""
    if "OOMKilled" in reasons:
        return "out_of_memory"
    if "DeadlineExceeded" in reasons:
        return "time_limit"
    return "completed" if phase == "Succeeded" else "failed"
