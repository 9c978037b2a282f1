"""Simulate a cluster under Kueue, and write its objects as kubectl prints them, with the truth.

Two ClusterQueues admit jobs first-in first-out within their quotas; some jobs are preempted once.
Nothing of the package is used.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

START = 1_770_000_000  # 2026-02-02 02:40:00 UTC
DAYS = 14
QUOTAS = {"research": 16, "product": 8}
FIRST_S = START + 17
"""Time of the first snapshot."""
KEPT_S = 7_200
"""Seconds after its end for which a finished Workload is kept."""


@dataclass
class Run:
    """An admission: when, until when, and how it ended."""

    admitted: int
    ready: int
    ended: int
    preempted: bool
    placed: list[tuple[str, int]]


@dataclass
class Work:
    """A job with its runs, and the span of its waiting for each of them."""

    number: int
    queue: str
    gpus: int
    submitted: int
    run_s: int
    fails: bool
    preempt_after: int | None
    backoff_s: int
    runs: list[Run] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"job-train{self.number}-{self.number * 7919 % 65536:05x}"


def stamp(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fortnight(seed: int, jobs: int = 150, days: int = DAYS) -> list[Work]:
    """Return jobs with their runs under first-in first-out and quotas, second by event."""
    random = Random(seed)
    works = [
        Work(
            number=number,
            queue=random.choice(list(QUOTAS)),
            gpus=random.choice([1, 1, 2, 4, 8]),
            submitted=at,
            run_s=random.randrange(7_200, 60_000),
            fails=random.random() < 0.2,
            preempt_after=random.randrange(3_600, 7_000) if random.random() < 0.25 else None,
            backoff_s=random.randrange(20, 2_000),
        )
        for number, at in enumerate(
            sorted(START + random.randrange(days * 80_000) for _ in range(jobs)), 1
        )
    ]
    for queue, quota in QUOTAS.items():
        waiting = [(w.submitted, w.number, w) for w in works if w.queue == queue]
        running: list[tuple[int, int, Work]] = []
        now = START
        while waiting:
            waiting.sort()
            moment, _, work = waiting[0]
            now = max(now, moment)
            running = [one for one in running if one[0] > now]
            free = quota - sum(one[1] for one in running)
            if work.gpus > free:
                now = min(one[0] for one in running)
                continue
            waiting.pop(0)
            first = not work.runs
            preempted = first and work.preempt_after is not None
            ready = now + random.randrange(1, 90)
            ended = ready + (work.preempt_after if preempted else work.run_s)  # type: ignore[operator]
            placed = [(f"{queue}-{work.number % 2}", work.gpus)]
            work.runs.append(Run(now, ready, ended, preempted, placed))
            running.append((ended, work.gpus, work))
            if preempted:
                waiting.append((ended + work.backoff_s, work.number, work))
    return works


def condition(kind: str, status: bool, reason: str, since: float) -> dict[str, Any]:
    return {
        "type": kind,
        "status": str(status),
        "reason": reason,
        "message": f"{reason}.",
        "lastTransitionTime": stamp(since),
        "observedGeneration": 1,
    }


def workload(work: Work, now: int, version: str) -> dict[str, Any] | None:
    """Return the object of a job at a moment; None before its creation and after its deletion."""
    last = work.runs[-1].ended
    if not work.submitted <= now < last + KEPT_S:
        return None
    begun = [run for run in work.runs if run.admitted <= now]
    status: dict[str, Any] = {
        "resourceRequests": [
            {"name": "main", "resources": {"cpu": str(work.gpus), "nvidia.com/gpu": str(work.gpus)}}
        ]
    }
    if begun:
        status["conditions"] = _run_conditions(work, begun[-1], now)
    else:
        reserved = condition("QuotaReserved", False, "WaitingForQuota", work.submitted)
        status["conditions"] = [reserved]
    if begun and (not begun[-1].preempted or now < begun[-1].ended):
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


def _run_conditions(work: Work, run: Run, now: int) -> list[dict[str, Any]]:
    """Return the conditions in the latest run, as Kueue's reconcilers set them."""
    first = work.runs[0]
    evicted = run.preempted and now >= run.ended
    since = run.ended if evicted else run.admitted
    made = [
        condition(
            "QuotaReserved", not evicted, "WaitingForQuota" if evicted else "QuotaReserved", since
        ),
        condition("Admitted", not evicted, "NoReservation" if evicted else "Admitted", since),
    ]
    if now >= run.ready and not evicted:
        made.append(condition("PodsReady", True, "Started", run.ready))
    else:
        made.append(condition("PodsReady", False, "WaitForStart", since))
    if evicted:
        made.append(condition("Evicted", True, "Preempted", run.ended))
        made.append(condition("Preempted", True, "InClusterQueue", run.ended))
        made.append(condition("Requeued", True, "Preempted", run.ended))
    elif run is not first:
        made.append(condition("Evicted", False, "QuotaReserved", run.admitted))
        made.append(condition("Requeued", True, "Preempted", first.ended))
    if not run.preempted and now >= run.ended:
        made.append(condition("Finished", True, "Failed" if work.fails else "Succeeded", run.ended))
    return made


def _admission(work: Work, run: Run, version: str) -> dict[str, Any]:
    [(host, pods)] = run.placed
    levels = ["kubernetes.io/hostname"]
    topology: dict[str, Any] = {
        "v1beta1": {"levels": levels, "domains": [{"values": [host], "count": pods}]},
        "v1beta2": {
            "levels": levels,
            "slices": [
                {
                    "domainCount": 1,
                    "valuesPerLevel": [{"individual": {"prefix": host[:-1], "roots": [host[-1]]}}],
                    "podCounts": {"universal": pods},
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


def snapshots(
    works: list[Work], every_s: int, version: str = "v1beta2"
) -> Iterator[tuple[int, list[str]]]:
    """Yield times and Workloads of snapshots, until the last job was deleted."""
    end = max(work.runs[-1].ended for work in works) + KEPT_S
    for now in range(FIRST_S, end, every_s):
        alive = [w for w in works if w.submitted <= now < w.runs[-1].ended + KEPT_S]
        yield now, [versioned(i) for w in alive if (i := workload(w, now, version))]


def is_seen(since: int, until: int, every_s: int) -> bool:
    """Return whether a snapshot was taken from one moment until another."""
    return FIRST_S + -((FIRST_S - since) // every_s) * every_s < until


def listed(items: list[str]) -> str:
    return f'{{"apiVersion": "v1", "items": [{", ".join(items)}], "kind": "List"}}'


def queues() -> list[str]:
    """Return the ClusterQueues and their LocalQueues."""
    made: list[dict[str, Any]] = []
    for number, (name, quota) in enumerate(QUOTAS.items()):
        resources = [
            {"name": "cpu", "nominalQuota": "100"},
            {"name": "nvidia.com/gpu", "nominalQuota": str(quota)},
        ]
        group = {
            "coveredResources": ["cpu", "nvidia.com/gpu"],
            "flavors": [{"name": "h100", "resources": resources}],
        }
        made += [
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ClusterQueue",
                "metadata": {"name": name, "uid": f"queue-{number}"},
                "spec": {"resourceGroups": [group]},
            },
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "LocalQueue",
                "metadata": {
                    "name": f"{name}-local",
                    "namespace": "team",
                    "uid": f"local-{number}",
                },
                "spec": {"clusterQueue": name},
            },
        ]
    return [versioned(item) for item in made]


def write(folder: Path, works: list[Work], every_s: int, version: str = "v1beta2") -> Path:
    """Write gzipped snapshots of Workloads, and one of the queues."""
    folder.mkdir(parents=True)
    for now, items in snapshots(works, every_s, version):
        name = stamp(now).replace(":", "-")
        (folder / f"workloads_{name}.json.gz").write_bytes(gzip.compress(listed(items).encode(), 1))
    (folder / f"queues_{stamp(START).replace(':', '-')}.json").write_text(listed(queues()))
    return folder
