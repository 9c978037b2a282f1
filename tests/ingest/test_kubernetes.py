"""Check ingest of snapshots of a Kubernetes cluster under Kueue, and of plain Jobs and pods."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest, kubectl_command
from philly_analysis.errors import InputError
from philly_analysis.ingest.source_registry import detect_source
from tests.ingest import kueue_snapshots as kueue
from tests.ingest.conftest import Ingest, assert_equal_tables
from tests.support.slow import quick_first

T = 1_770_000_000


def when(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)


def seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("every_s", "jobs", "days", "version"),
    quick_first(
        [
            (300, 10, 1, "v1beta2"),
            (1800, 40, 4, "v1beta1"),
            (1800, 150, 14, "v1beta1"),
            (300, 150, 14, "v1beta2"),
            (60, 150, 14, "v1beta2"),
        ]
    ),
)
def test_snapshots_give_the_schedule_back(
    every_s: int, jobs: int, days: int, version: str, tmp_path: Path, ingested: Ingest
) -> None:
    works = kueue.fortnight(seed=3, jobs=jobs, days=days)
    raw = kueue.write(tmp_path / "raw", works, every_s, version)
    assert detect_source(raw)[0] == "kubernetes"
    trace = ingested("kubernetes", raw)
    rows = trace.rows(
        "select job_id, vc, account, gpus, submitted_at, status from jobs order by submitted_at"
    )
    assert rows == [
        (
            *(f"team/{work.name}", work.queue, "team", work.gpus, when(work.submitted)),
            "Failed" if work.fails else "Pass",
        )
        for work in works
    ]
    attempts = trace.rows(
        "select job_id, attempt, gpus, started_at, ended_at, end_reason, flag from attempts "
        "order by job_id, attempt"
    )
    truth = [
        (f"team/{work.name}", attempt, work, run)
        for work in sorted(works, key=lambda work: work.name)
        for attempt, run in enumerate(work.runs, 1)
    ]
    assert [row[:4] for row in attempts] == [
        (name, attempt, work.gpus, when(run.ready)) for name, attempt, work, run in truth
    ]
    unseen = 0
    for (*_, ended_at, end_reason, flag), (_, _, work, run) in zip(attempts, truth, strict=True):
        late_s = run.ended - seconds(ended_at)
        assert flag is None
        if run.preempted and not kueue.is_seen(run.ended, work.runs[1].admitted, every_s):
            unseen += 1
            assert end_reason is None
            assert 0 < late_s <= every_s
        else:
            expected = "preempted" if run.preempted else "failed" if work.fails else "completed"
            assert (late_s, end_reason) == (0, expected)
    notes = [n for n in trace.manifest.notes if "admitted again between two snapshots" in n]
    assert len(notes) == bool(unseen)
    assert all(note.startswith(f"{unseen} attempts") for note in notes)
    held = trace.rows("select job_id, attempt, machine_id, gpus from placements order by all")
    assert held == [(name, n, run.placed[0][0], work.gpus) for name, n, work, run in truth]
    assert trace.rows("from virtual_clusters order by vc") == sorted(kueue.QUOTAS.items())
    spans = trace.rows("select job_id, since_at, until_at, reason from queue_states")
    assert spans
    waits: dict[str, list[tuple[int, int]]] = {}
    for name, attempt, work, run in truth:
        since = work.submitted if attempt == 1 else work.runs[0].ended
        waits.setdefault(name, []).append((since, run.admitted))
    for name, since_at, until_at, reason in spans:
        assert reason == "WaitingForQuota"
        assert any(
            since - every_s <= seconds(since_at) < seconds(until_at) <= until + every_s
            for since, until in waits[name]
        )


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
    works = kueue.fortnight(seed=4, jobs=30, days=4)
    whole = kueue.write(tmp_path / "whole", works, 1800)
    at_once = ingested("kubernetes", whole)
    files = sorted(whole.iterdir())
    grown = tmp_path / "grown"
    for number, part in enumerate((files[:150], files[150:])):
        (half := tmp_path / f"half{number}").mkdir()
        for file in part:
            (half / file.name).write_bytes(file.read_bytes())
        ingest("kubernetes", half, grown, append=True)
    names = ["jobs", "attempts", "placements", "machines", "queue_states", "virtual_clusters"]
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
