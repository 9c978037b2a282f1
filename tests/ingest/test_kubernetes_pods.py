"""Check ingest of pods, Jobs and other owners of pods, and of metrics of pods."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ingest import kueue_snapshots as kueue
from tests.ingest.conftest import Ingest
from tests.ingest.kubernetes_objects import (
    ADMITTED,
    ATTEMPTS,
    T,
    ended,
    meta,
    owned,
    pod,
    reference,
    work,
    write,
)


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
    of_group: dict[str, Any] = {"annotations": {"scheduling.k8s.io/group-name": "vc-1"}}
    of_plugin: dict[str, Any] = {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}
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


def pod_series(name: str, last: int, metrics: dict[str, float], **labels: str) -> list[Any]:
    """Return series of metrics of a pod from second 300 to another second."""
    names = {"namespace": "a", "pod": name, "uid": f"u-{name}"} | labels
    return [
        {
            "metric": {"__name__": f"kube_pod_{metric}", **names},
            "values": [[T + 300, str(value)], [T + last, str(value)]],
        }
        for metric, value in metrics.items()
    ]


def test_pods_of_kube_state_metrics_are_jobs(tmp_path: Path, ingested: Ingest) -> None:
    """A Job of two pods, of which one ran out of memory; a pod that vanished; a pending pod."""
    owner = {"owner_kind": "Job", "owner_name": "sweep", "owner_is_controller": "true"}
    times = {"sweep-a": (60, 400), "sweep-b": (70, 500), "gone": (80, None), "new": (None, None)}
    phases = {"sweep-a": "Succeeded", "sweep-b": "Failed", "gone": "Running", "new": "Pending"}
    series: list[Any] = []
    for name, (scheduled, end) in times.items():
        last = 700 if name == "gone" else 900
        known = {"created": 5, "status_scheduled_time": scheduled, "completion_time": end}
        moments = {metric: float(T + at) for metric, at in known.items() if at is not None}
        series += pod_series(name, last, moments)
        series += pod_series(name, last, {"status_phase": 1}, phase=phases[name])
        series += pod_series(name, last, {"status_phase": 0}, phase="Unknown")
        for resource, amount in (("nvidia_com_gpu", 2.0), ("cpu", 8.0), ("memory", 1e9)):
            request = {"container_resource_requests": amount}
            series += pod_series(name, last, request, container="c", resource=resource, node="n1")
        if name.startswith("sweep"):
            series += pod_series(name, last, {"owner": 1}, **owner)
    reason = {"container_status_terminated_reason": 1.0}
    series += pod_series("sweep-b", 900, reason, reason="OOMKilled")
    series.append({"metric": {"__name__": "up"}, "value": [T + 900, "1"]})
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
