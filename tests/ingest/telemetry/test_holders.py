"""Check the machine, GPU and attempt of samples: names, MIG instances and labels."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.telemetry.history import epoch
from tests.ingest.telemetry.made import Made, at, made
from tests.ingest.telemetry.test_invalid_samples import answer, series
from tests.support.slow import quick_first

NOON = at("01-31 12:00:00")
T = epoch(NOON)
UTIL = "DCGM_FI_DEV_GPU_UTIL"
SMI = "timestamp, index, utilization.gpu [%]\n2026/01/31 12:00:00.000, 0, 5 %\n"


def steady(
    seconds: Any = 600, begin: Any = 0, metric: str = UTIL, value: str = "50", **labels: str
) -> dict[str, Any]:
    """A series that says the same every half minute."""
    moments = range(begin, begin + seconds, 30)
    return series(metric, *((T + s, value) for s in moments), **labels)


def minute(m: float) -> datetime:
    return NOON + timedelta(minutes=m)


def job(job_id: str, gpus: int | None, **fields: Any) -> dict[str, Any]:
    return {"job_id": job_id, "gpus": gpus, "submitted_at": NOON} | fields


def attempt(job_id: str, begin: float, end: float | None, number: int = 1) -> dict[str, Any]:
    times = {"started_at": minute(begin), "ended_at": None if end is None else minute(end)}
    return {"job_id": job_id, "attempt": number} | times


def place(job_id: str, machine: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"job_id": job_id, "attempt": number, "machine_id": machine} | fields


def machine(name: str, gpus: int = 4, **fields: Any) -> dict[str, Any]:
    return {"machine_id": name, "gpus": gpus} | fields


def placed(ingested: Made) -> list[tuple[Any, ...]]:
    return ingested.rows(
        "select job_id, attempt, machine_id, gpu, gpus from placements order by all nulls last"
    )


@pytest.mark.parametrize(
    ("labels", "machines", "expected"),
    quick_first(
        [
            ({"Hostname": "a01"}, ["a01"], "a01"),
            ({"Hostname": "A01.x.org"}, ["a01"], "a01"),
            ({"Hostname": "a01"}, ["a01.x.org"], "a01.x.org"),
            ({"Hostname": "", "instance": "a01:9400"}, ["a01"], "a01"),
            ({"Hostname": "", "instance": "a01.x.org:9400"}, ["a01"], "a01"),
            # the exporter's pod, and the node that it runs on
            ({"Hostname": "dcgm-exporter-x7", "node": "a01"}, ["a01"], "a01"),
            ({"Hostname": "", "instance": "10.0.0.1:9400", "node": "a01"}, ["b"], "a01"),
            ({"Hostname": "", "instance": "[fd00::1]:9400"}, ["b"], "fd00::1"),
            ({"Hostname": "a01"}, ["alpha:a01", "b"], "alpha:a01"),
            # two of that name: it is told by the label of its cluster, or not at all
            ({"Hostname": "a01"}, ["alpha:a01", "beta:a01"], "a01"),
            ({"Hostname": "a01", "cluster": "beta"}, ["alpha:a01", "beta:a01"], "beta:a01"),
            # what is the same only up to the first dot on both sides is not the same
            ({"Hostname": "a01.x.org"}, ["a01.y.org"], "a01.x.org"),
        ],
        3,
    ),
)
def test_a_machine_goes_by_several_names(
    labels: dict[str, str], machines: list[str], expected: str, tmp_path: Path
) -> None:
    servers = [machine(m, cluster=m.partition(":")[0] if ":" in m else None) for m in machines]
    ingested = made(tmp_path, {"a.json": answer(steady(**labels))}, machines=servers)
    assert ingested.rows("select distinct machine_id from gpu_samples") == [(expected,)]
    assert {m for (m,) in ingested.rows("select machine_id from machines")} == {*machines, expected}
    strange = [n for n in ingested.builder.notes if "not in the job log" in n]
    assert bool(strange) == (expected not in machines)


@pytest.mark.parametrize(
    "name",
    quick_first(
        [
            "a01.csv",
            "a01_nvidia-smi.csv",
            "nvidia-smi_a01_2026-01-31.csv",
            "a01/nvidia-smi.csv",
            "a01.x.org_gpu_util.csv",
            "rack7_a01_1769860800.txt",
            "gpus/a01/smi_2026-01-31T12:00:00.log",
        ],
        2,
    ),
)
def test_a_files_name_tells_its_host(name: str, tmp_path: Path) -> None:
    ingested = made(tmp_path, {name: SMI}, machines=[machine("a01"), machine("b")])
    machines = ingested.rows("select machine_id, gpus from machines order by all")
    assert machines == [("a01", 4), ("b", 4)]
    assert [m for _, m in ingested.samples()] == ["a01"]


@pytest.mark.slow
def test_a_folder_may_tell_the_cluster(tmp_path: Path) -> None:
    servers = [machine(f"{c}:a01", cluster=c) for c in ("alpha", "beta")]
    ingested = made(tmp_path, {"beta/a01.csv": SMI}, machines=servers)
    assert [m for _, m in ingested.samples()] == ["beta:a01"]


@pytest.mark.slow
def test_machines_show_as_many_gpus_as_were_read(tmp_path: Path) -> None:
    text = answer(steady(gpu="5", modelName="A100"), steady(Hostname="new", modelName="V100"))
    ingested = made(tmp_path, {"a.json": text}, machines=[machine("m1", 4, gpus_listed=4)])
    machines = ingested.rows("select machine_id, gpus, gpus_listed, gpu_model from machines")
    assert sorted(machines) == [("m1", 6, 4, "A100"), ("new", 1, 1, "V100")]
    devices = ingested.rows("select machine_id, gpu, model from devices")
    assert sorted(devices) == [("m1", 5, "A100"), ("new", 0, "V100")]


def test_mig_instances_stand_in_the_place_of_their_gpu(tmp_path: Path) -> None:
    """They have no utilisation; how long their engine was active is what comes nearest to it."""
    engine, sm = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE"
    cut = {"gpu": "1", "GPU_I_PROFILE": "3g.20gb", "UUID": "GPU-1"}
    text = answer(
        steady(value="40"),
        steady(metric=engine, value="0.9"),
        steady(gpu="1", value="0"),
        # by number, not by letter
        steady(metric=engine, value="0.25", GPU_I_ID="11", **cut),
        steady(metric=engine, value="0.75", GPU_I_ID="2", **cut),
        steady(metric=sm, value="0.5", GPU_I_ID="2", **cut),
        steady(gpu="2", value="60"),
    )
    ingested = made(tmp_path, {"a.json": text})
    [(util, sm_active)] = ingested.rows("select distinct util_pct, sm_active_pct from gpu_samples")
    assert util == [40.0, 75.0, 25.0, 60.0]
    assert sm_active == [None, 50.0, None, None]
    assert ingested.rows(
        "select gpu, of_gpu, mig_instance, mig_profile, util_metric from devices order by all"
    ) == [
        (0, None, None, None, "utilisation"),
        (1, 1, "2", "3g.20gb", "engine activity"),
        (2, 1, "11", "3g.20gb", "engine activity"),
        (3, None, None, None, "utilisation"),
    ]
    # the engine of a GPU that has utilisation is no sample, and no reject either
    assert ingested.account.read == 6 * 20
    assert ingested.account.rejected == {
        "of a GPU that is cut into MIG instances, which are read themselves": 20
    }
    assert "of 2 of 4 devices" in ingested.note("engine was active")
    assert "On 1 machines" in ingested.note("MIG instances")


@pytest.mark.slow
def test_a_gpu_without_utilisation_goes_by_its_engine_and_never_by_its_sm(tmp_path: Path) -> None:
    text = answer(
        steady(metric="DCGM_FI_PROF_GR_ENGINE_ACTIVE", value="0.5", Hostname="m2"),
        steady(metric="DCGM_FI_PROF_SM_ACTIVE", value="0.1", Hostname="m3"),
    )
    ingested = made(tmp_path, {"a.json": text})
    assert ingested.rows("select distinct machine_id, util_pct from gpu_samples") == [
        ("m2", [50.0])
    ]
    assert ingested.account.rejected == {"no utilisation of the GPU was read then": 20}


LABELS: dict[str, Any] = {
    # two of four GPUs of m1, then the others; a whole server; one known to the log; one elsewhere;
    # one that no label names
    "jobs": [job(str(i + 1), gpus) for i, gpus in enumerate((2, 2, 4, 1, 1, 3, 1))],
    "machines": [machine("m1"), machine("m2"), machine("m3")],
    "attempts": [
        *(attempt(job_id, 0, end) for job_id, end in zip("12346", (5, 4, 9, 5, 9), strict=True)),
        *(attempt("2", 6, 9, 2), attempt("5", 5, None), attempt("7", 20, 29)),
    ],
    "placements": [
        place("1", "m1", gpus=2),
        place("2", "m1", gpus=2),
        place("2", "m1", 2, gpus=2),
        place("3", "m2", gpus=4),
        place("4", "m3", gpu=0),
        place("5", "m3", gpu=0),
        place("6", "m3", gpus=3),
        place("7", "m1", gpus=1),
    ],
}


def labelled(key: str) -> str:
    """Series of each of the labels: GPUs, host, job, first and last minute."""
    held: tuple[tuple[Sequence[int], str, str, float, float], ...] = (
        ((1, 3), "m1", "1", 0, 5),
        ((0, 2), "m1", "2", 0, 4),
        ((1, 2), "m1", "2", 6, 9),  # the second time it held others
        (range(4), "m2", "3", 0, 9),
        ((0,), "m3", "4", 0, 5),
        ((1,), "m3", "5", 5, 9),
        ((2, 3), "m3", "6", 0, 9),
        ((3,), "m2", "1", 9, 10),
        ((2,), "m1", "77", 4.5, 5),
    )
    return answer(
        *(
            steady(
                round(60 * (end - begin)),
                round(60 * begin),
                **{"gpu": str(gpu), "Hostname": host, key: job_id},
            )
            for gpus, host, job_id, begin, end in held
            for gpu in gpus
        )
    )


@pytest.mark.parametrize(
    "key",
    ["hpc_job", *(pytest.param(k, marks=pytest.mark.slow) for k in ("jobid", "exported_pod"))],
)
def test_labels_tell_which_gpus_an_attempt_held(key: str, tmp_path: Path) -> None:
    ingested = made(tmp_path, {"a.json": labelled(key)}, **LABELS)
    assert placed(ingested) == [
        ("1", 1, "m1", 1, None),
        ("1", 1, "m1", 3, None),
        ("2", 1, "m1", 0, None),
        ("2", 1, "m1", 2, None),
        ("2", 2, "m1", 1, None),
        ("2", 2, "m1", 2, None),
        *(("3", 1, "m2", g, None) for g in range(4)),
        ("4", 1, "m3", 0, None),
        # the log says otherwise, and counts
        ("5", 1, "m3", 0, None),
        # the third was not labelled
        ("6", 1, "m3", 2, None),
        ("6", 1, "m3", 3, None),
        ("6", 1, "m3", None, 1),
        ("7", 1, "m1", None, 1),
    ]
    assert ingested.note("Labels of the telemetry").endswith(
        "server: 5 are known by labels alone; 1 agree with the job log; 1 contradict the job log, "
        "which counts."
    )
    assert "1 of 7 name none" in ingested.note("could name jobs")


@pytest.mark.slow
def test_labels_of_jobstats_are_numbers_that_it_reads(tmp_path: Path) -> None:
    plain = json.loads(labelled("hpc_job"))["data"]["result"]
    both = []
    for s in plain:
        number = s["metric"].pop("hpc_job")
        jobs = {**s, "metric": {**s["metric"], "__name__": "nvidia_gpu_jobId"}}
        jobs["values"] = [[moment, number] for moment, _ in s["values"]]
        both += [s, jobs]
    ingested = made(tmp_path, {"a.json": answer(*both)}, **LABELS)
    (tmp_path / "labels").mkdir()
    same = made(tmp_path / "labels", {"a.json": labelled("hpc_job")}, **LABELS)
    assert placed(ingested) == placed(same)
    assert ingested.account == same.account


def test_labels_place_attempts_that_the_log_does_not_place(tmp_path: Path) -> None:
    """Take GPUs as a table of jobs lists pods; only if the GPUs are all of the job's GPUs."""
    jobs = [job("train-1", 2), job("train-2", 2), job("train-3", None)]
    attempts = [attempt(j["job_id"], 0, 9) for j in jobs]
    text = answer(
        steady(pod="train-1", gpu="0"),
        steady(pod="train-1", gpu="1", Hostname="m2"),
        steady(pod="train-2", gpu="2"),
        steady(pod="train-3", gpu="3"),
        steady(pod="other", gpu="4"),
    )
    ingested = made(tmp_path, {"a.json": text}, jobs=jobs, attempts=attempts)
    assert placed(ingested) == [
        ("train-1", 1, "m1", 0, None),
        ("train-1", 1, "m2", 1, None),
        ("train-3", 1, "m1", 3, None),
    ]
    assert "; 1 name too few GPUs, and are not used." in ingested.note("Labels of the telemetry")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("a/train", "b/train"), [("a/train", 1, "m1", 0, None), ("b/train", 1, "m1", 1, None)]),
        (("train",), []),  # which of the two pods it is, nobody knows
    ],
)
def test_pods_of_one_name_in_two_namespaces_are_two_jobs(
    names: tuple[str, ...], expected: list[Any], tmp_path: Path
) -> None:
    text = answer(
        steady(exported_namespace="a", exported_pod="train", gpu="0"),
        steady(exported_namespace="b", exported_pod="train", gpu="1"),
    )
    jobs, attempts = [job(n, 1) for n in names], [attempt(n, 0, 9) for n in names]
    assert placed(made(tmp_path, {"a.json": text}, jobs=jobs, attempts=attempts)) == expected


@pytest.mark.slow
def test_a_number_that_two_clusters_gave_is_of_the_one_whose_job_was_there(tmp_path: Path) -> None:
    jobs = [job(f"{c}:7_1@x", 1, cluster=c, scheduler_id="7_1") for c in ("alpha", "beta")]
    names = [j["job_id"] for j in jobs]
    ingested = made(
        tmp_path,
        {"a.json": answer(steady(Hostname="b1", gpu="3", hpc_job="7_1"))},
        jobs=jobs,
        attempts=[attempt(name, 0, 9) for name in names],
        machines=[machine("alpha:a1", cluster="alpha"), machine("beta:b1", cluster="beta")],
        placements=[place(names[0], "alpha:a1", gpus=1), place(names[1], "beta:b1", gpus=1)],
    )
    assert placed(ingested) == [
        (names[0], 1, "alpha:a1", None, 1),
        (names[1], 1, "beta:b1", 3, None),
    ]
    assert ingested.note("Labels").endswith("server: 1 are known by labels alone.")
