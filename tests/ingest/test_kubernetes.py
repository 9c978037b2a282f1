"""Check ingest of snapshots of Kueue's Workloads that end, vanish, repeat or are faulty."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest, kubectl_command
from philly_analysis.errors import InputError
from tests.ingest import kueue_snapshots as kueue
from tests.ingest.conftest import Ingest, assert_equal_tables
from tests.ingest.kubernetes_objects import ADMITTED, ATTEMPTS, T, meta, on_host, pod, work, write
from tests.ingest.kueue_cluster import simulated


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


KUBECTL = """#!/bin/bash
echo "$@" >> "$CALLS"
case "$*" in
*api-resources*) printf '%s\\n' $KINDS ;;
*) echo '{"items": []}' ;;
esac
"""
"""A client of a cluster that has the resources of `$KINDS` and notes its calls."""


@pytest.mark.parametrize(
    ("kinds", "owners"),
    [
        ("pods jobs.batch", None),
        (
            "rayjobs.ray.io jobs.batch.volcano.sh jobs.batch appwrappers.workload.codeflare.dev",
            "rayjobs.ray.io,jobs.batch.volcano.sh,appwrappers.workload.codeflare.dev",
        ),
    ],
)
def test_the_command_only_reads_what_the_cluster_has(
    kinds: str, owners: str | None, tmp_path: Path
) -> None:
    folder, programs, calls = tmp_path / "my logs", tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    programs.mkdir()
    (programs / "kubectl").write_text(KUBECTL)
    (programs / "kubectl").chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "KINDS": kinds, "CALLS": str(calls)}
    commands = kubectl_command(folder, context="gpu")
    subprocess.run(["bash", "-ec", commands], env=environment, check=True, timeout=30)
    called = calls.read_text().splitlines()
    assert {call.split()[:2][1] for call in called} == {"get", "api-resources"}
    assert all(call.startswith("--context=gpu ") for call in called)
    assert [call.split()[2] for call in called[5:]] == ([] if owners is None else [owners])
    files = sorted(file.name.partition("_")[0] for file in folder.iterdir())
    assert files == sorted(["nodes", "queues", "workloads", "pods", *["owners"] * bool(owners)])
    assert all(gzip.decompress(file.read_bytes()) for file in folder.iterdir())
