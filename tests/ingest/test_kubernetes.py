"""Check ingest of snapshots of a Kubernetes cluster under Kueue, and of plain Jobs and pods."""

import gzip
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest, kubectl_command
from philly_analysis.analyses import borrowing, stated_causes
from philly_analysis.errors import InputError
from philly_analysis.ingest.source_registry import detect_source
from tests.ingest import kueue_snapshots as kueue
from tests.ingest.conftest import Ingest, Ingested, assert_equal_tables, check_causes
from tests.ingest.kueue_cluster import QUEUES, Cluster, Run, Work, simulated
from tests.support.facts import number
from tests.support.slow import quick_first

T = 1_770_000_000


def when(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)


def seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


@dataclass
class Shown:
    """An attempt that a snapshot showed, as snapshots can tell it."""

    work: Work
    run: Run
    attempt: int
    started: int
    ended: int | None
    exact: bool


def shown_attempts(cluster: Cluster, every_s: int) -> list[Shown]:
    """Return the attempts that snapshots of some interval show, by name and number."""
    shown = []
    for work in sorted(cluster.works, key=lambda work: work.name):
        attempts: list[Shown] = []
        for place, run in enumerate(work.runs):
            final = run is work.runs[-1]
            until = run.ended + kueue.KEPT_S if final else run.ended
            if not kueue.is_seen(run.admitted, until, every_s):
                if attempts:
                    attempts[-1].exact = False
                continue
            started = run.admitted
            if run.ready is not None and kueue.is_seen(run.ready, until, every_s):
                started = run.ready
            seen = final or kueue.is_seen(run.ended, work.runs[place + 1].reserved, every_s)
            ended = run.ended if seen else None
            attempts.append(Shown(work, run, len(attempts) + 1, started, ended, True))
        shown += attempts
    return shown


REASONS = {
    "Preempted": "preempted",
    "PodsReadyTimeout": "requeued",
    "Succeeded": "completed",
    "Failed": "failed",
}
CASES = [
    (1800, 20, 2, "v1beta1", True),
    (1800, 250, 14, "v1beta1", True),
    (1800, 250, 14, "v1beta2", False),
    (300, 250, 14, "v1beta2", True),
    (60, 250, 14, "v1beta2", True),
]
"""Seconds between snapshots, jobs, days, version of the API, and whether reasons are typed."""


@pytest.mark.parametrize(("every_s", "jobs", "days", "version", "typed"), quick_first(CASES))
def test_snapshots_give_the_schedule_and_the_causes_back(
    every_s: int,
    jobs: int,
    days: int,
    version: str,
    typed: bool,
    tmp_path: Path,
    ingested: Ingest,
) -> None:
    cluster = simulated(seed=5, jobs=jobs, days=days)
    raw = kueue.write(tmp_path / "raw", cluster, every_s, version, typed=typed)
    assert detect_source(raw)[0] == "kubernetes"
    trace = ingested("kubernetes", raw)
    check_jobs(trace, cluster)
    check_attempts(trace, cluster, every_s)
    check_quotas(trace)
    if days == 14:
        check_causes(trace, cluster.shares())
        check_statements(trace, typed)
        check_borrowing(trace, cluster, every_s)


def check_jobs(trace: Ingested, cluster: Cluster) -> None:
    rows = trace.rows(
        "select job_id, vc, account, gpus, submitted_at, status from jobs order by submitted_at"
    )
    assert rows == [
        (
            *(f"team/{work.name}", work.queue, "team", work.gpus, when(work.submitted)),
            "Failed" if work.fails else "Pass",
        )
        for work in cluster.works
    ]


def check_attempts(trace: Ingested, cluster: Cluster, every_s: int) -> None:
    """Check starts, ends, servers and notes; waits are right within the interval of snapshots."""
    rows = trace.rows(
        "select job_id, attempt, gpus, started_at, ended_at, end_reason, flag from attempts "
        "order by job_id, attempt"
    )
    shown = shown_attempts(cluster, every_s)
    assert [row[:4] for row in rows] == [
        (f"team/{s.work.name}", s.attempt, s.work.gpus, when(s.started)) for s in shown
    ]
    for (*_, ended_at, end_reason, flag), s in zip(rows, shown, strict=True):
        assert flag is None
        if s.ended is not None:
            assert (ended_at, end_reason) == (when(s.ended), REASONS[s.run.reason])
        elif s.exact:
            assert end_reason is None
            assert 0 < s.run.ended - seconds(ended_at) <= every_s
    missing = [n for n in trace.manifest.notes if "admitted again between two snapshots" in n]
    unseen = sum(s.ended is None and s.exact for s in shown)
    assert len(missing) == bool(unseen)
    assert all(int(note.split()[0]) >= unseen for note in missing)
    held = trace.rows("select job_id, attempt, machine_id, gpus from placements order by all")
    assert held == [
        (f"team/{s.work.name}", s.attempt, host, gpus)
        for s in shown
        for host, gpus in sorted(s.run.placed.items())
    ]


def check_quotas(trace: Ingested) -> None:
    assert trace.rows("select vc, gpus from virtual_clusters order by vc") == sorted(
        (name, queue.quota) for name, queue in QUEUES.items()
    )
    cohorts = trace.rows("select vc, cohort, borrowing_limit, lending_limit from cohorts")
    assert sorted(cohorts) == [("product", "all", None, 6), ("research", "all", 6, None)]


def check_statements(trace: Ingested, typed: bool) -> None:
    """Check that Kueue's reasons and the causes from arithmetic alone agree."""
    result = stated_causes.compute(trace.trace)
    assert number(result, "start_up_agree_pct") > 95
    if typed:
        assert number(result, "quota_agree_pct") > 90
        assert number(result, "agree_pct") > 90


def check_borrowing(trace: Ingested, cluster: Cluster, every_s: int) -> None:
    """Check who borrowed, and who waited for lent quota."""
    result = borrowing.compute(trace.trace)
    rows = result.table.set_index("vc")
    assert sorted(rows.index) == ["product", "research"]
    slack = 0.02 if every_s <= 300 else 0.06
    for vc in rows.index:
        truth = cluster.borrowed[vc] / 3600
        assert rows["borrowed_gpu_h"][vc] == pytest.approx(truth, rel=slack, abs=1)
        starved = cluster.starved[vc] / 3600
        assert rows["starved_h"][vc] == pytest.approx(starved, rel=5 * slack, abs=2)
    assert result.fact("borrower") == max(cluster.borrowed, key=cluster.borrowed.__getitem__)


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


@pytest.mark.slow
def test_deleted_workloads_have_no_end_and_are_counted(tmp_path: Path, ingested: Ingest) -> None:
    runs, waits, stays = work("runs", ADMITTED), work("waits", ("Q", "Pending", T)), work("stays")
    done = work("done", ADMITTED, ("Finished", "Succeeded", T + 80.0))
    raw = write(tmp_path / "raw", t100=[runs, waits, stays, done], t200=[stays])
    trace = ingested("kubernetes", raw)
    flag = "deleted_between_snapshots"
    assert trace.rows(ATTEMPTS) == [
        ("a/done", 1, 60, 80, "completed", "Pass", 2, None),
        ("a/runs", 1, 60, None, None, None, 2, flag),
        ("a/stays", 1, None, None, None, None, 2, None),
        ("a/waits", 1, None, None, None, None, 2, flag),
    ]
    assert any(n.startswith("2 attempts were deleted between") for n in trace.manifest.notes)


@pytest.mark.slow
def test_a_snapshot_that_was_cut_off_deletes_nothing(tmp_path: Path, ingested: Ingest) -> None:
    one, two = work("one", ADMITTED), work("two", ADMITTED)
    text = kueue.listed([json.dumps(one), json.dumps(two)])
    raw = write(tmp_path / "raw", t100=[one, two], t200=text[: len(text) - 300])
    trace = ingested("kubernetes", raw)
    assert [row[0] for row in trace.rows(ATTEMPTS)] == ["a/one", "a/two"]
    assert {row[-1] for row in trace.rows(ATTEMPTS)} == {None}
    assert any("cut off" in note for note in trace.manifest.notes)
    with pytest.raises(InputError, match="is no list of Kubernetes objects"):
        ingest("kubernetes", write(tmp_path / "cut", t0='{"items": [{"kind": "Work'))


@pytest.mark.slow
def test_evictions_end_attempts_by_their_reason(tmp_path: Path, ingested: Ingest) -> None:
    def at(*conditions: tuple[str, str, float], name: str = "w") -> list[dict[str, Any]]:
        return [work(name, *conditions)]

    raw = write(
        tmp_path / "raw",
        t100=at(ADMITTED),
        t200=at(("Q", "Pending", T + 150), ("Evicted", "NodeFailures", T + 150)),
        t300=at(("Admitted", "Admitted", T + 250), ("PodsReady", "Started", T + 270)),
        t400=at(("Admitted", "Admitted", T + 250), ("PodsReady", "Recovered", T + 390)),
        t500=at(
            ("Q", "Pending", T + 450),
            ("Evicted", "DeactivatedDueToMaximumExecutionTimeExceeded", T + 450),
        ),
    )
    trace = ingested("kubernetes", raw)
    assert [row[:5] for row in trace.rows(ATTEMPTS)] == [
        ("a/w", 1, 60, 150, "node_failure"),
        ("a/w", 2, 270, 450, "time_limit"),
        ("a/w", 3, None, None, None),
    ]
    unseen = write(
        tmp_path / "unseen", t9=at(("Q", "Pending", T + 5), ("Evicted", "Preempted", T + 5))
    )
    with ingest("kubernetes", unseen) as evicted:
        assert any("no snapshot showed" in note for note in evicted.manifest.notes)


@pytest.mark.slow
def test_a_replaced_slice_is_no_end_of_its_job(tmp_path: Path, ingested: Ingest) -> None:
    slices: dict[str, Any] = {"annotations": {"kueue.x-k8s.io/workload-slice-name": "s1"}}
    first = work("s1", ADMITTED, ("Finished", "WorkloadSliceReplaced", T + 90.0), **slices)
    second = work("s2", ("Admitted", "Admitted", T + 90.0), gpus=4, **slices)
    raw = write(tmp_path / "raw", t100=[first, second])
    assert ingested("kubernetes", raw).rows(ATTEMPTS) == [
        ("a/s1", 1, 60, 90, "resized", None, 2, None),
        ("a/s1", 2, 90, None, None, None, 4, None),
    ]


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


def test_plain_jobs_and_pods_are_jobs(tmp_path: Path, ingested: Ingest) -> None:
    owner = {"kind": "Job", "name": "sweep", "uid": "u-sweep", "controller": True}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta("sweep"),
        "spec": {"parallelism": 2, "template": {"spec": pod("x", "Running")["spec"]}},
        "status": {
            "conditions": [kueue.condition("Complete", True, "", T + 400)],
            "completionTime": kueue.stamp(T + 400),
        },
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta("n1", namespace=None, labels={"nvidia.com/gpu.product": "NVIDIA-H100"}),
        "status": {"capacity": {"cpu": "96", "memory": "1000Gi", "nvidia.com/gpu": "8"}},
    }
    parts = [pod(f"p{i}", "Succeeded", ownerReferences=[owner]) for i in range(2)]
    raw = write(
        tmp_path / "raw",
        t600=[job, node, *parts, pod("alone", "Failed"), pod("new", "Pending", None)],
    )
    trace = ingested("kubernetes", raw)
    assert trace.rows(ATTEMPTS) == [
        ("a/alone", 1, 70, 500, "out_of_memory", "Failed", 2, None),
        ("a/new", 1, None, None, None, None, 2, None),
        ("a/sweep", 1, 70, 400, "completed", "Pass", 4, None),
    ]
    assert trace.rows("select job_id, machine_id, gpus from placements order by all") == [
        ("a/alone", "n1", 2),
        ("a/sweep", "n1", 4),
    ]
    machines = trace.rows("select machine_id, gpus, cpus, gpu_model from machines")
    assert machines == [("n1", 8, 96.0, "NVIDIA-H100")]


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


@pytest.mark.slow
def test_owners_of_pods_are_jobs(tmp_path: Path, ingested: Ingest) -> None:
    """A JobSet of two Jobs, a RayJob, Kubeflow's PyTorchJob, and two gangs of PodGroups."""
    template = {"spec": {"parallelism": 1, "template": {"spec": pod("x", "Running")["spec"]}}}
    jobset = owned("set", "JobSet", "jobset.x-k8s.io/v1alpha2", **ended("Completed", 450))
    parts = [owned(f"set-{i}", "Job", "batch/v1", reference(jobset), **template) for i in range(2)]
    ray = owned(
        "ray",
        "RayJob",
        "ray.io/v1",
        status={"jobStatus": "STOPPED", "endTime": kueue.stamp(T + 460)},
    )
    cluster = owned("ray-c", "RayCluster", "ray.io/v1", reference(ray))
    torch = owned("torch", "PyTorchJob", "kubeflow.org/v1", **ended("Failed", 500))
    volcano = owned("vc", "Job", "batch.volcano.sh/v1alpha1", spec={"queue": "prod"})
    demand = {"minMember": 2, "queue": "prod", "minResources": {"nvidia.com/gpu": "4"}}
    group_version = "scheduling.volcano.sh/v1beta1"
    group = owned("vc-1", "PodGroup", group_version, reference(volcano), spec=demand)
    waits = owned("waits", "PodGroup", group_version, spec=demand)
    plugin = owned("gang", "PodGroup", "scheduling.x-k8s.io/v1alpha1", spec={"minMember": 2})
    of_group = {"annotations": {"scheduling.k8s.io/group-name": "vc-1"}}
    of_plugin = {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"} | {
        "metadata": {"name": "prod", "uid": "u-prod"},
        "spec": {"capability": {"nvidia.com/gpu": 16, "cpu": "64"}},
    }
    late = pod("g2", "Running", **of_plugin)
    late["status"]["conditions"][0]["lastTransitionTime"] = kueue.stamp(T + 95)
    pods = [
        *(pod(f"s{i}", "Succeeded", ownerReferences=[reference(parts[i])]) for i in range(2)),
        pod("r", "Running", ownerReferences=[reference(cluster)]),
        pod("t", "Failed", ownerReferences=[reference(torch)]),
        *(
            pod(f"v{i}", "Running", ownerReferences=[reference(volcano)], **of_group)
            for i in (1, 2)
        ),
        pod("g1", "Running", **of_plugin),
        late,
    ]
    owners = [jobset, ray, cluster, torch, volcano, group, waits, plugin, queue]
    raw = write(tmp_path / "raw", t600=[*parts, *pods], t601=owners)
    trace = ingested("kubernetes", raw)
    assert trace.rows(ATTEMPTS) == [
        ("a/gang", 1, 95, None, None, None, 4, None),
        ("a/ray", 1, 70, 460, "killed", "Killed", 2, None),
        ("a/set", 1, 70, 450, "completed", "Pass", 4, None),
        ("a/torch", 1, 70, 500, "out_of_memory", "Failed", 2, None),
        ("a/vc", 1, 70, None, None, None, 4, None),
        ("a/waits", 1, None, None, None, None, 4, None),
    ]
    assert trace.rows("select job_id, vc from jobs where vc is not null order by all") == [
        ("a/vc", "prod"),
        ("a/waits", "prod"),
    ]
    assert trace.rows("select vc, gpus from virtual_clusters") == [("prod", 16)]
    assert trace.rows("select job_id, gpus from placements order by all")[0] == ("a/gang", 4)


@pytest.mark.slow
def test_the_pods_of_a_ray_cluster_place_a_job_of_kueue(tmp_path: Path, ingested: Ingest) -> None:
    ray = owned("ray", "RayJob", "ray.io/v1")
    cluster = owned("ray-c", "RayCluster", "ray.io/v1", reference(ray))
    item = work("rayjob-ray", ADMITTED, ownerReferences=[reference(ray)])
    worker = pod("worker", "Running", ownerReferences=[reference(cluster)])
    raw = write(tmp_path / "raw", t100=[item, worker], t101=[ray, cluster])
    trace = ingested("kubernetes", raw)
    assert trace.rows("select job_id, machine_id, gpus from placements") == [
        ("a/rayjob-ray", "n1", 2)
    ]
    assert trace.rows("select job_id from jobs") == [("a/rayjob-ray",)]


@pytest.mark.slow
def test_pods_place_the_jobs_of_kueue(tmp_path: Path, ingested: Ingest) -> None:
    owner = {"kind": "Job", "name": "train", "uid": "u-train", "controller": True}
    item = work("job-train-1", ADMITTED, gpus=4, ownerReferences=[owner])
    pods = [pod(f"p{i}", "Running", f"n{i}", ownerReferences=[owner]) for i in range(2)]
    trace = ingested("kubernetes", write(tmp_path / "raw", t100=[item, *pods]))
    assert trace.rows("select job_id, machine_id, gpus from placements order by all") == [
        ("a/job-train-1", "n0", 2),
        ("a/job-train-1", "n1", 2),
    ]


def test_readings_name_the_gpus_of_a_pod_by_its_namespace_and_name(
    tmp_path: Path, ingested: Ingest
) -> None:
    owner = {"kind": "Job", "name": "train", "uid": "u-train", "controller": True}
    item = work("job-train-1", ADMITTED, gpus=2, ownerReferences=[owner])
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta("n1", namespace=None),
        "status": {"capacity": {"nvidia.com/gpu": "4"}},
    }
    raw = write(tmp_path / "raw", t100=[item, node, pod("p1", "Running", ownerReferences=[owner])])
    readings = [
        {
            "metric": {
                "__name__": "DCGM_FI_DEV_GPU_UTIL",
                "Hostname": "n1",
                "gpu": str(gpu),
                "exported_namespace": namespace,
                "exported_pod": "p1",
            },
            "values": [[T + s, "50"] for s in range(120, 600, 30)],
        }
        for namespace, gpu in (("a", 1), ("a", 3), ("other", 0))
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": readings}}
    (tmp_path / "readings.json").write_text(json.dumps(answer))
    trace = ingested("kubernetes", raw, telemetry=tmp_path / "readings.json")
    assert trace.rows("select job_id, machine_id, gpu from placements order by all") == [
        ("a/job-train-1", "n1", 1),
        ("a/job-train-1", "n1", 3),
    ]


def test_pods_of_kube_state_metrics_are_jobs(tmp_path: Path, ingested: Ingest) -> None:
    """A Job of two pods, of which one ran out of memory; a pod that vanished; a pending pod."""
    pods: dict[str, dict[str, Any]] = {
        "sweep-a": {"owner": "sweep", "scheduled": 60, "end": 400, "phase": "Succeeded"},
        "sweep-b": {"owner": "sweep", "scheduled": 70, "end": 500, "phase": "Failed"},
        "gone": {"scheduled": 80, "phase": "Running", "last": 700},
        "new": {"phase": "Pending"},
    }
    series: list[dict[str, Any]] = []
    for name, pod in pods.items():
        last = pod.get("last", 900)

        def add(
            metric: str, value: float, name: str = name, last: int = last, **labels: str
        ) -> None:
            labels |= {"namespace": "a", "pod": name, "uid": f"u-{name}"}
            values = [[T + 300, str(value)], [T + last, str(value)]]
            series.append({"metric": {"__name__": metric, **labels}, "values": values})

        add("kube_pod_created", T + 5)
        add("kube_pod_status_phase", 1, phase=pod["phase"])
        add("kube_pod_status_phase", 0, phase="Unknown")
        for resource, amount in (("nvidia_com_gpu", 2), ("cpu", 8), ("memory", 1e9)):
            labels = {"container": "c", "resource": resource, "node": "n1"}
            add("kube_pod_container_resource_requests", amount, **labels)
        if "owner" in pod:
            owner = {"owner_kind": "Job", "owner_name": pod["owner"], "owner_is_controller": "true"}
            add("kube_pod_owner", 1, **owner)
        if "scheduled" in pod:
            add("kube_pod_status_scheduled_time", T + pod["scheduled"])
        if "end" in pod:
            add("kube_pod_completion_time", T + pod["end"])
    metrics = {"namespace": "a", "pod": "sweep-b", "uid": "u-sweep-b", "reason": "OOMKilled"}
    metrics |= {"__name__": "kube_pod_container_status_terminated_reason"}
    series += [
        {"metric": metrics, "value": [T + 900, "1"]},
        {"metric": {"__name__": "up"}, "value": [T + 900, "1"]},
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    (raw := tmp_path / "raw").mkdir()
    (raw / "pods.json").write_text(json.dumps(answer))
    trace = ingested("auto", raw)
    assert trace.rows(ATTEMPTS) == [
        ("a/gone", 1, 80, None, None, None, 2, "deleted_between_snapshots"),
        ("a/new", 1, None, None, None, None, 2, None),
        ("a/sweep", 1, 60, 500, "out_of_memory", "Failed", 2, None),
    ]
    placed = trace.rows("select job_id, machine_id, gpus from placements order by all")
    assert placed[0] == ("a/gone", "n1", 2)
    assert any("other kinds in the lists: 1." in note for note in trace.manifest.notes)


def test_hostile_objects_are_counted(tmp_path: Path, ingested: Ingest) -> None:
    names = ["'; drop table jobs; --", "<script>alert(1)</script>", "\ud800 ☃", "a" * 10_000]
    items = [work(name, ADMITTED) for name in names]
    faulty: list[Any] = [
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"},
        {**work("late"), "metadata": meta("late", creationTimestamp="soon")},
        {**work("odd", ADMITTED), "status": [1, {"conditions": "no"}], "spec": {"podSets": 7}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {}},
        "text",
        7,
    ]
    raw = write(tmp_path / "raw", t100=[*items, *faulty], t200=[*items, *faulty])
    trace = ingested("kubernetes", raw)
    [(jobs, odd)] = trace.rows("select count(*), count(*) filter (job_id = 'a/odd') from jobs")
    assert (jobs, odd) == (len(names) + 1, 1)
    assert trace.account("jobs").rejected == {
        "the object has no uid or no name": 1,
        "the object has no valid creationTimestamp": 1,
    }
    assert "Objects of other kinds in the lists: 6. They were not read." in trace.manifest.notes


def on_host(item: dict[str, Any], host: str) -> dict[str, Any]:
    """Assign all pods of an admitted Workload to one server."""
    [assignment] = item["status"]["admission"]["podSetAssignments"]
    domain = {"values": [host], "count": assignment["count"]}
    assignment["topologyAssignment"] = {"levels": ["kubernetes.io/hostname"], "domains": [domain]}
    return item


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["TopologyPlacementFailed", "Pending"])
def test_a_gang_that_needs_one_server_waits_for_fragmented_gpus(
    reason: str, tmp_path: Path, ingested: Ingest
) -> None:
    """Two servers of four GPUs are half full until second 300, so that a gang of four waits."""
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, namespace=None)}
        | {"status": {"capacity": {"nvidia.com/gpu": "4"}}}
        for name in ("n1", "n2")
    ]
    end = ("Finished", "Succeeded", T + 300.0)
    admitted = ("Admitted", "Admitted", T + 0.0)
    halves = [on_host(work(f"half{n}", admitted), f"n{n}") for n in (1, 2)]
    done = [on_host(work(f"half{n}", admitted, end), f"n{n}") for n in (1, 2)]
    waits = work("gang", ("Q", reason, T), gpus=4)
    started = on_host(work("gang", ("Admitted", "Admitted", T + 300.0), gpus=4), "n1")
    for item in (waits, started):
        [pods] = item["spec"]["podSets"]
        pods["topologyRequest"] = {"required": "kubernetes.io/hostname"}
    raw = write(
        tmp_path / "raw",
        t10=[*nodes, *halves, waits],
        t200=[*halves, waits],
        t400=[*done, started],
    )
    trace = ingested("kubernetes", raw)
    assert trace.rows("select servers from jobs where job_id = 'a/gang'") == [(1,)]
    causes = trace.rows("select job_id, cause, sum(wait_s) from wait_causes group by all")
    assert causes == [("a/gang", "fragmented", 300)]


@pytest.mark.slow
def test_clocks_that_differ_are_counted(tmp_path: Path, ingested: Ingest) -> None:
    """A pod ends before its start by the clock of its server; a job is admitted too early."""
    behind = pod("behind", "Failed")
    [container] = behind["status"]["containerStatuses"]
    container["state"]["terminated"]["finishedAt"] = kueue.stamp(T + 50)
    early = work("early", ("Admitted", "Admitted", T - 30.0), ("PodsReady", "Started", T - 40.0))
    trace = ingested("kubernetes", write(tmp_path / "raw", t100=[behind, early]))
    assert [row[:3] for row in trace.rows(ATTEMPTS)] == [("a/early", 1, -30)]
    assert trace.rows("select job_id from jobs order by all") == [("a/behind",), ("a/early",)]
    reasons = trace.account("attempts").rejected
    assert reasons == {"ended_at fails: ended_at >= started_at": 1}
    assert trace.note("1 attempts started before their job was created")


@pytest.mark.slow
def test_a_name_used_again_is_another_job(tmp_path: Path, ingested: Ingest) -> None:
    later = work("w", uid="other", creationTimestamp=kueue.stamp(T + 150))
    trace = ingested("kubernetes", write(tmp_path / "raw", t100=[work("w")], t200=[later]))
    assert [job for (job,) in trace.rows("select job_id from jobs order by all")] == [
        "a/w",
        f"a/w@{kueue.stamp(T + 150).removesuffix('Z')}",
    ]


@pytest.mark.slow
def test_two_appends_equal_one_ingest(tmp_path: Path, ingested: Ingest) -> None:
    whole = kueue.write(tmp_path / "whole", simulated(seed=4, jobs=30, days=4), 1800)
    at_once = ingested("kubernetes", whole)
    files = sorted(whole.iterdir())
    grown = tmp_path / "grown"
    for half, part in ((tmp_path / "1", files[:150]), (tmp_path / "2", files[150:])):
        half.mkdir()
        for file in part:
            (half / file.name).write_bytes(file.read_bytes())
        ingest("kubernetes", half, grown, append=True)
    names = ["jobs", "attempts", "placements", "machines", "queue_states"]
    names += ["virtual_clusters", "cohorts"]
    assert_equal_tables(Path(at_once.trace.path), grown, names)


@pytest.mark.slow
def test_a_file_without_a_time_in_its_name_has_the_time_of_its_objects(
    tmp_path: Path, ingested: Ingest
) -> None:
    raw = tmp_path / "workloads.json.gz"
    raw.write_bytes(gzip.compress(kueue.listed([json.dumps(work("w", ADMITTED))]).encode()))
    trace = ingested("auto", raw)
    assert [row[:3] for row in trace.rows(ATTEMPTS)] == [("a/w", 1, 60)]
    assert any("no time in their name" in note for note in trace.manifest.notes)


def test_the_command_only_reads(tmp_path: Path) -> None:
    lines = kubectl_command("/srv/my logs", context="gpu").splitlines()
    commands = [line for line in lines if not line.startswith("#")]
    assert all(line.startswith("kubectl --context=gpu get ") for line in commands)
    assert all("'/srv/my logs'/" in line and line.endswith("Z).json.gz") for line in commands)
