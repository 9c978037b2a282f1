"""Causes of waits on schedules drawn by hand: one or two servers, and a few jobs."""

from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from philly_analysis.trace.trace import Trace
from tests.support.clusters import frame, write_tables
from tests.support.small_traces import at


def causes(out: Path, schedule: Mapping[str, Any], **tables: Any) -> dict[tuple[str, str], float]:
    """Return minutes waited by job and cause.

    Parameters
    ----------
    schedule
        For each job the minutes of its submission, start and end, its GPUs, its server, and other
        columns of the job or of the attempt.
    """
    jobs, attempts, placements = [], [], []
    for job, (submitted, start, end, gpus, server, others) in schedule.items():
        reason = {k: v for k, v in others.items() if k in ("end_reason", "wait_reason")}
        jobs.append(
            {"job_id": job, "user": "ann", "vc": "x", "gpus": gpus, "submitted_at": at(submitted)}
            | {k: v for k, v in others.items() if k not in reason}
        )
        attempts.append(
            {"job_id": job, "attempt": 1, "started_at": at(start), "ended_at": at(end),
             "gpus": gpus, **reason}
        )  # fmt: skip
        placements.append({"job_id": job, "attempt": 1, "machine_id": server, "gpus": gpus})
    tables.setdefault("machines", [{"machine_id": "m0", "gpus": 4}])
    tables |= {"jobs": jobs, "attempts": attempts, "placements": placements}
    folder = write_tables(out, {name: frame_of(name, rows) for name, rows in tables.items()})
    with Trace(folder) as trace:
        rows = trace.sql("select job_id, cause, sum(wait_s) / 60 from wait_causes group by all")
        return {(job, cause): minutes for job, cause, minutes in rows.fetchall()}


def frame_of(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a table, with the types of the schema."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return frame(table, columns, [[row.get(column) for column in columns] for row in rows])


@pytest.mark.slow
def test_a_recorded_limit_binds_while_use_and_request_exceed_it(tmp_path: Path) -> None:
    account = {"account": "prod"}
    schedule: dict[str, Any] = {
        "first": (0, 0, 10, 2, "m0", account),
        "second": (1, 10, 20, 1, "m0", account),  # two GPUs are free, but prod may have two
        "other": (1, 1, 5, 1, "m0", {"account": "research"}),
    }
    limit = {"name": "account prod: 2 GPUs", "scope": "account", "account": "prod",
             "resource": "gpus", "amount": 2.0}  # fmt: skip
    found = causes(tmp_path / "t", schedule, limits=[limit])
    assert found == {("second", "limit"): pytest.approx(9)}


@pytest.mark.slow
def test_a_limit_on_a_model_counts_gpus_of_that_model(tmp_path: Path) -> None:
    """Two GPUs of the account are of another model, so that the limit binds from minute 3 on."""
    account = {"account": "prod"}
    schedule: dict[str, Any] = {
        "other model": (0, 0, 10, 2, "m1", {**account, "gpu_model": "v100"}),
        "first": (0, 3, 10, 2, "m0", {**account, "gpu_model": "a100"}),
        "second": (1, 10, 20, 1, "m0", {**account, "gpu_model": "a100"}),
    }
    machines = [
        {"machine_id": m, "gpus": 4, "gpu_model": model}
        for m, model in (("m0", "a100"), ("m1", "v100"))
    ]
    limit = {"name": "account prod: 2 a100 GPUs", "scope": "account", "account": "prod",
             "gpu_model": "a100", "resource": "gpus", "amount": 2.0}  # fmt: skip
    found = causes(tmp_path / "t", schedule, limits=[limit], machines=machines)
    assert found[("second", "limit")] == pytest.approx(7)
    assert ("first", "limit") not in found


@pytest.mark.slow
def test_a_job_at_a_limit_is_in_the_queue_until_the_limit_binds(tmp_path: Path) -> None:
    prod, research = {"account": "prod"}, {"account": "research"}
    schedule: dict[str, Any] = {
        "running": (0, 0, 10, 3, "m0", research),
        # one GPU is free; from minute 8 on, prod may start no second GPU more
        "capped": (2, 30, 40, 2, "m0", {**prod, "wait_reason": "AssocGrpGRES"}),
        "small": (3, 10, 12, 1, "m0", research),
        "overtaking": (8, 8, 30, 1, "m0", prod),
    }
    limit = {"name": "account prod: 2 GPUs", "scope": "account", "account": "prod",
             "resource": "gpus", "amount": 2.0}  # fmt: skip
    found = causes(tmp_path / "t", schedule, limits=[limit])
    assert found == {
        ("capped", "too_few"): pytest.approx(6),
        ("capped", "limit"): pytest.approx(22),
        ("small", "behind"): pytest.approx(5),
        ("small", "too_few"): pytest.approx(2),
    }


@pytest.mark.slow
def test_free_gpus_beside_taken_cpus_are_stranded(tmp_path: Path) -> None:
    schedule: dict[str, Any] = {
        "wide": (0, 0, 10, 1, "m0", {"cpus": 16.0, "mem_gb": 8.0}),
        "narrow": (2, 10, 20, 1, "m0", {"cpus": 4.0, "mem_gb": 8.0}),
    }
    machines = [{"machine_id": "m0", "gpus": 4, "cpus": 16.0, "mem_gb": 64.0}]
    hosts = [
        {"job_id": job, "attempt": 1, "machine_id": "m0", "cpus": cpus, "mem_gb": 8.0}
        for job, cpus in (("wide", 16.0), ("narrow", 4.0))
    ]
    found = causes(tmp_path / "t", schedule, machines=machines, host_allocations=hosts)
    assert found == {("narrow", "stranded"): pytest.approx(8)}


@pytest.mark.slow
def test_a_job_with_room_is_behind_an_older_one_without(tmp_path: Path) -> None:
    schedule: dict[str, Any] = {
        "running": (0, 0, 10, 3, "m0", {}),
        "large": (1, 10, 20, 4, "m0", {}),
        "small": (2, 20, 30, 1, "m0", {}),  # one GPU is free up to minute 10
    }
    found = causes(tmp_path / "t", schedule)
    assert found == {
        ("large", "too_few"): pytest.approx(9),
        ("small", "behind"): pytest.approx(8),
        ("small", "too_few"): pytest.approx(10),
    }


@pytest.mark.slow
def test_a_server_is_out_of_service_from_its_failure_to_its_next_start(tmp_path: Path) -> None:
    schedule: dict[str, Any] = {
        "lost": (0, 0, 10, 4, "m0", {"end_reason": "node_failure"}),
        "beside": (0, 0, 60, 4, "m1", {}),
        "after": (5, 30, 40, 4, "m0", {}),
    }
    machines = [{"machine_id": m, "gpus": 4} for m in ("m0", "m1")]
    found = causes(tmp_path / "t", schedule, machines=machines)
    assert found == {("after", "too_few"): pytest.approx(25)}


@pytest.mark.slow
def test_free_gpus_of_a_closed_server_are_out_of_service(tmp_path: Path) -> None:
    """Drain m0 from minute 4 to 20, while a job holds two of its GPUs up to minute 10."""
    schedule: dict[str, Any] = {
        "running": (0, 0, 10, 2, "m0", {}),
        "beside": (0, 0, 60, 4, "m1", {}),
        "next": (5, 20, 30, 1, "m0", {}),
    }
    machines = [{"machine_id": m, "gpus": 4} for m in ("m0", "m1")]
    drained = {"machine_id": "m0", "since_at": at(4), "until_at": at(20), "state": "drained"}
    found = causes(tmp_path / "t", schedule, machines=machines, server_closures=[drained])
    assert found == {("next", "too_few"): pytest.approx(15)}


@pytest.mark.slow
def test_a_launching_job_holds_its_gpus(tmp_path: Path) -> None:
    """Each job launches for two minutes; "next" is submitted while "last" launches."""
    schedule: dict[str, Any] = {
        f"quick {i}": (20 * i, 20 * i + 2, 20 * i + 10, 1, "m0", {}) for i in range(12)
    } | {
        "last": (300, 302, 310, 4, "m0", {}),
        "next": (301, 312, 320, 4, "m0", {}),
    }  # fmt: skip
    found = causes(tmp_path / "t", schedule)
    assert found.pop(("next", "too_few")) == pytest.approx(9)
    assert {cause for _, cause in found} == {"start_up"}
    assert set(found.values()) == {2}


@pytest.mark.slow
def test_a_stated_launch_holds_gpus_and_quota(tmp_path: Path) -> None:
    """Reserve GPUs for "first" at minute 2 for a check, admit it at 6, and start its pods at 10."""
    schedule: dict[str, Any] = {
        "first": (0, 10, 20, 2, "m0", {}),
        "second": (3, 20, 30, 2, "m0", {}),  # free GPUs, but the quota is taken from minute 2 on
    }
    reasons = [
        ("first", 0, 2, "PendingEvaluation"),
        ("first", 2, 6, "UnsatisfiedAdmissionChecks"),
        ("first", 6, 10, "WaitForStart"),
    ]
    states = [
        {"job_id": job, "since_at": at(since), "until_at": at(until), "reason": reason}
        for job, since, until, reason in reasons
    ]
    quotas = [{"vc": "x", "gpus": 3}]
    found = causes(tmp_path / "t", schedule, queue_states=states, virtual_clusters=quotas)
    assert found == {
        ("first", "behind"): pytest.approx(2),
        ("first", "held"): pytest.approx(4),
        ("first", "start_up"): pytest.approx(4),
        ("second", "quota"): pytest.approx(17),
    }


QUOTAS = {"a": (6, 3, None), "b": (5, None, 2), "c": (4, 0, 0), "d": (3, None, None)}
"""Quota, borrowing limit and lending limit of each virtual cluster; all but d are in a cohort."""


def quota_room(vc: str, used: Mapping[str, int]) -> int:
    """Return the largest gang that a virtual cluster may start, by trying each."""
    if vc == "d":
        return QUOTAS["d"][0] - used["d"]

    def fits(gpus: int) -> bool:
        quota, borrowing, _ = QUOTAS[vc]
        use = {v: used[v] + gpus * (v == vc) for v in "abc"}
        kept = {v: 0 if lent is None else q - lent for v, (q, _, lent) in QUOTAS.items()}
        lendable = sum(QUOTAS[v][0] - kept[v] for v in "abc")
        taken = sum(max(0, use[v] - kept[v]) for v in "abc")
        return taken <= lendable and (borrowing is None or use[vc] <= quota + borrowing)

    return max(gpus for gpus in range(40) if fits(gpus))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_cohort_shares_what_its_members_do_not_use(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    used = dict.fromkeys("abcd", 0)
    ends: list[tuple[int, str, int]] = []
    jobs, attempts, levels = [], [], {vc: {0: quota_room(vc, used)} for vc in "abcd"}
    for number in range(40):
        moment = 10 * number
        vc = rng.choice("abcd")
        for end, other, gpus in [e for e in sorted(ends) if e[0] <= moment]:
            used[other] -= gpus
            ends.remove((end, other, gpus))
            for v in "abcd":
                levels[v][end] = quota_room(v, used)
        if room := quota_room(vc, used):
            gpus, end = rng.randint(1, room), moment + 5 + 10 * rng.randint(1, 6)
            used[vc] += gpus
            ends.append((end, vc, gpus))
            key = {"job_id": f"j{number}"}
            jobs.append(key | {"vc": vc, "gpus": gpus, "submitted_at": at(moment)})
            started = {"started_at": at(moment), "ended_at": at(end)}
            attempts.append(key | {"attempt": 1, "gpus": gpus, **started})
        for v in "abcd":
            levels[v][moment] = quota_room(v, used)
    tables: dict[str, list[dict[str, Any]]] = {
        "jobs": jobs,
        "attempts": attempts,
        "virtual_clusters": [{"vc": vc, "gpus": q} for vc, (q, _, _) in QUOTAS.items()],
        "cohorts": [
            {"vc": vc, "cohort": "all", "borrowing_limit": most, "lending_limit": lent}
            for vc, (_, most, lent) in QUOTAS.items()
            if vc != "d"
        ],
    }
    folder = write_tables(tmp_path / "t", {n: frame_of(n, rows) for n, rows in tables.items()})
    with Trace(folder) as trace:
        rows = trace.sql(
            "select vc, moment, room_before, room_after from quota_room order by vc, moment"
        ).fetchall()
    start_us = round(at(0).replace(tzinfo=UTC).timestamp() * 1e6)
    before = dict.fromkeys("abcd", 0)
    for vc, moment, room_before, room_after in rows:
        minute = (moment // 2 - start_us) // 60_000_000 if moment else 0
        if moment:
            assert room_before == before[vc]
        before[vc] = room_after
        if moment and minute in levels[vc] and minute + 1 < 400:
            assert room_after == levels[vc][minute], (vc, minute)
