"""Check the operator's chapter on hand-drawn cases and real logs."""

import csv
import gzip
import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import analyze, ingest
from philly_analysis.analyses import (
    gang_failures,
    gpus_in_use,
    node_failures,
    time_asked,
    usage,
    wait_states,
)
from philly_analysis.report.findings import ANALYSES, lacking, relevant
from philly_analysis.trace.manifest import Input
from philly_analysis.trace.trace import Trace
from tests.support.clusters import MakeTrace, frame, random_tables, write_tables
from tests.support.facts import number
from tests.support.small_traces import paper_trace

JOB = ("job_id", "vc", "user", "account", "gpus", "submitted_at")
ENDED = ("job_id", "attempt", "started_at", "ended_at", "end_reason")


def test_the_users_of_idle_hours_are_named(make_trace: MakeTrace) -> None:
    sunday = 6 * 24 * 60 - 2  # two minutes before Monday: minute 0 is on a Tuesday
    trace = make_trace(
        frame("jobs", JOB, [("a", "v", "ann", "lab", 2, 0)]),
        [("a", 1, sunday, sunday + 4)],
        machines={"m0": 2},
        placements=[("a", 1, "m0", 0), ("a", 1, "m0", 1)],
        gpu_samples=[(sunday + m, "m0", [0.0, 50.0]) for m in range(4)],
    )
    assert "ann (0.07 of 0.13 sampled, 50.0 %)" in " ".join(usage.compute(trace).sentences)


def test_gpus_in_use_of_jobs_drawn_by_hand(make_trace: MakeTrace) -> None:
    day = 24 * 60
    jobs = [("a", "x", "u", "l", 4, 0), ("b", "y", "u", "l", 8, day), ("c", "y", "u", "l", 2, 0)]
    runs = [("a", 1, 0, 3 * day), ("b", 1, day, 2 * day), ("c", 1, 0, day)]
    trace = make_trace(frame("jobs", JOB, jobs), runs, machines={"m0": 8, "m1": 8})
    result = gpus_in_use.compute(trace)
    assert {f.name: f.value for f in result.facts} == {
        "peak_gpus": 12,
        "log_days": 3,
        "capacity_gpus": 16,
        "busiest_day_gpus": 12,  # 6, 12 and 4 by day
        "median_day_gpus": 6,
        "largest_vc_pct": pytest.approx(100 * 12 / 22),
    }
    assert result.sentences[0] == (
        "GPUs in use: 6 on the median day, 12 of 16 on the busiest (2017-10-04)."
    )
    assert result.sentences[1] == "At most 12 of 16 GPUs were in use at once."
    assert result.sentences[2] == "x uses 54.5 % of the GPU time."


def test_a_log_of_minutes_has_a_peak_and_no_mean_of_days(make_trace: MakeTrace) -> None:
    jobs = [("a", "x", "u", "l", 4, 0), ("b", "y", "u", "l", 8, 5), ("c", "y", "u", "l", 2, 0)]
    runs = [("a", 1, 0, 9), ("b", 1, 5, 10), ("c", 1, 0, 5)]
    trace = make_trace(frame("jobs", JOB, jobs), runs, machines={"m0": 8, "m1": 8})
    result = gpus_in_use.compute(trace)
    assert result.fact("peak_gpus") == 12
    assert result.sentences[0] == "At most 12 of 16 GPUs were in use at once."


def test_time_asked_of_jobs_drawn_by_hand(make_trace: MakeTrace) -> None:
    columns = ("job_id", "user", "gpus", "submitted_at", "time_limit_s")
    jobs: list[tuple[object, ...]]
    attempts: list[tuple[object, ...]]
    jobs = [("a", "u", 1, 0, 3600), ("b", "u", 4, 0, 3600), ("c", "v", 8, 0, 600)]
    jobs += [("d", "v", 1, 0, None), ("e", "v", 1, 0, 3600), ("f", "w", 0, 0, 3600)]
    attempts = [("a", 1, 0, 3, "completed"), ("b", 1, 0, 60, "time_limit")]
    attempts += [("b", 2, 60, 90, "completed"), ("c", 1, 0, 11, None), ("d", 1, 0, 9, None)]
    attempts += [("e", 1, 0, None, None), ("f", 1, 0, 60, "time_limit")]
    # jobs that used less than a tenth, and those that used a tenth
    tenth = {"x": (6, 4), "y": (5, 5), "z": (9, 0)}
    for user, (below, just) in tenth.items():
        jobs += [(f"{user}{i}", user, 1, 0, 3600) for i in range(below + just)]
        attempts += [(f"{user}{i}", 1, 0, 3, "completed") for i in range(below)]
        attempts += [(f"{user}{i}", 1, 0, 6, "completed") for i in range(below, below + just)]
    trace = make_trace(frame("jobs", columns, jobs), frame("attempts", ENDED, attempts))
    result = time_asked.compute(trace)
    # d has no limit, e still ran, f has no GPU; c ran for longer than its limit
    facts = [result.fact(f) for f in ("attempts", "at_limit_pct", "tenfold_pct", "used_p50_pct")]
    used = [0.05] * 21 + [0.1] * 9 + [0.5, 1, 1.1]
    assert facts == pytest.approx([33, 200 / 33, 2100 / 33, 100 * np.median(used)])
    of_gangs = [result.fact(f"used_{gang}_p50_pct") for gang in ("1", "2_4", "5_8")]
    assert of_gangs == pytest.approx([5, 75, 110])
    assert result.fact("lost_gpu_h") == pytest.approx((4 * 60 + 8 * 11) / 60)
    # y did so in half of its attempts, z has nine
    assert result.sentences[-1].startswith("1 user of at least 10 attempts")
    assert result.sentences[-1].endswith(": x (6 of 10 attempts, 9.30 GPU hours unused).")


def test_of_users_with_equal_unused_hours_the_first_by_name_is_listed_first() -> None:
    rows = [(user, 10, 10, 20.0) for user in ("b", "a", "c", None)]
    users = pd.DataFrame(rows, columns=["user", "attempts", "over", "gpu_h"])
    sentence = time_asked._largest_requests(users)
    assert re.findall(r"(\w) \(10 of 10", sentence) == ["a", "b", "c"]


@pytest.mark.parametrize("scheduler", ["slurm", "kueue"])
def test_reasons_have_the_causes_of_the_schedulers_list(
    scheduler: str, make_trace: MakeTrace
) -> None:
    """Each job waits for 60 minutes, of which 20 before it is eligible."""
    file = Path(__file__).with_name(f"{scheduler}_reasons.toml")
    reasons = tomllib.loads(file.read_text("utf-8"))
    words = [(cause, w) for cause, listed in reasons.items() for w in listed]
    columns = ("job_id", "gpus", "submitted_at", "eligible_at")
    jobs = frame("jobs", columns, [(w, 1, 0, 20) for _, w in words])
    attempts = frame(
        "attempts",
        ("job_id", "attempt", "started_at", "ended_at", "wait_reason"),
        [(w, 1, 60, 70, w) for _, w in words],
    )
    trace = make_trace(jobs, attempts)
    minutes: dict[str, dict[str, float]] = {w: {} for _, w in words}
    for job, cause, wait_s in trace.sql(
        "select job_id, cause, sum(wait_s) from wait_causes_unplaced group by all"
    ).fetchall():
        minutes[job][cause] = wait_s / 60
    expected = {w: {"held": 20, "pending" if cause == "held" else cause: 40} for cause, w in words}
    if "JobArrayTaskLimit" in expected:
        expected["JobArrayTaskLimit"] = {"limit": 60}
    assert minutes == expected
    result = wait_states.compute(trace)
    held_h = sum(part.get("held", 0) for part in expected.values()) / 60
    assert result.fact("held_h") == pytest.approx(held_h)
    assert sum(number(result, f"{cause}_pct") for cause in reasons) == pytest.approx(100)


@pytest.fixture
def lost_trace(make_trace: MakeTrace) -> Trace:
    """Three servers of 8 GPUs. m0 fails under two jobs at once, then a day later; a gang fails.

    m0: a and b until 600 (at 1 min of each other), c until 2040; m1: d until 3000, fine; a gang on
    m1 and m2 is lost at 4440; f, of no GPU, is lost too.
    """
    jobs = [(j, "v", "u", "l", g, 0) for j, g in zip("abcdef", (2, 2, 8, 8, 16, 0), strict=True)]
    attempts = [
        ("a", 1, 0, 600, "node_failure"),
        ("b", 1, 300, 601, "node_failure"),
        ("c", 1, 1440, 2040, "node_failure"),
        ("d", 1, 0, 3000, "completed"),
        ("e", 1, 3000, 4440, "node_failure"),
        ("f", 1, 0, 10, "node_failure"),
    ]
    where = {"a": ["m0"], "b": ["m0"], "c": ["m0"], "d": ["m1"], "e": ["m1", "m2"]}
    gpus = {"a": range(2), "b": range(2, 4)}
    placed = [(j, 1, m, g) for j, ms in where.items() for m in ms for g in gpus.get(j, range(8))]
    return make_trace(
        frame("jobs", JOB, jobs),
        frame("attempts", ENDED, attempts),
        machines={"m0": 8, "m1": 8, "m2": 8},
        placements=placed,
    )


def test_attempts_lost_within_five_minutes_on_a_server_are_one_failure() -> None:
    rng = np.random.default_rng(4)
    moments = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.choice(20, 60) * 150, unit="s")
    lost = pd.DataFrame({"job_id": [f"j{i:02}" for i in range(60)], "attempt": 1,
                         "ended_at": moments})  # fmt: skip
    machines = [rng.choice(12, size, replace=False) for size in rng.integers(1, 4, 60)]
    held = pd.DataFrame(
        [(f"j{i:02}", 1, f"m{m}", len(its)) for i, its in enumerate(machines) for m in its],
        columns=["job_id", "attempt", "machine_id", "servers"],
    )
    order = sorted(range(60), key=lambda i: (moments[i], len(machines[i]), i))
    last: dict[int, pd.Timestamp] = {}
    begins = {}
    for i in order:
        begins[f"j{i:02}"] = all(
            m not in last or moments[i] - last[m] > pd.Timedelta(minutes=5) for m in machines[i]
        )
        last.update(dict.fromkeys(machines[i], moments[i]))
    incidents = node_failures.incidents(lost, held)
    assert len(incidents) == len(held)
    assert dict(zip(incidents["job_id"], incidents["begins"], strict=True)) == begins


def test_failures_of_servers_drawn_by_hand(lost_trace: Trace) -> None:
    result, gangs = node_failures.compute(lost_trace), gang_failures.compute(lost_trace)
    table = result.table.set_index("machine_id")
    days = (601 + 600 + 3000 + 1440 + 1440) / 1440
    assert table["failures"].to_dict() == {"m0": 2, "m1": 0, "m2": 0}
    assert table["in_gangs"].to_dict() == {"m0": 0, "m1": 1, "m2": 1}
    assert table["days_held"].to_dict() == pytest.approx(
        {"m0": 1201 / 1440, "m1": 4440 / 1440, "m2": 1}
    )
    assert (result.fact("lost_attempts"), result.fact("failures")) == (4, 3)
    assert result.fact("mttf_s") == pytest.approx(86_400 * days / 3)
    by_gpus = {row["gpus"]: row for row in gangs.table.to_dict("records")}
    assert by_gpus[8]["mttf_s"] == pytest.approx(86_400 * days / 3)
    assert by_gpus[1024]["mttf_low_s"] == pytest.approx(by_gpus[8]["mttf_low_s"] / 128)
    assert [by_gpus[16][c] for c in ("attempts", "lost", "seen_mttf_s")] == [1, 1, 86_400]
    assert gangs.fact("expected_gangs") == pytest.approx(2 * 3 / days)
    assert "1 attempt on several servers was lost" in gangs.sentences[-1]


def test_a_log_that_cannot_tell_of_servers_claims_nothing(make_trace: MakeTrace) -> None:
    jobs = frame("jobs", JOB, [("a", "v", "u", "l", 8, 0)])
    coarse, none_seen = (
        gang_failures.compute(make_trace(jobs, frame("attempts", ENDED, [run])))
        for run in (("a", 1, 0, 600, "failed"), ("a", 1, 0, 1440, "time_limit"))
    )
    assert coarse.table.empty and not coarse.sentences
    # 8 GPU-days without a failure: no rate above 3 in 8 days with 95 % confidence
    row = none_seen.table.set_index("gpus").loc[1]
    assert np.isnan(row["mttf_s"]) and np.isnan(row["mttf_high_s"])
    assert row["mttf_low_s"] == pytest.approx(86_400 * 8 / 2.995732, rel=1e-6)
    assert "No failure was seen in 8.00 GPU-days" in none_seen.sentences[0]


def test_output_tells_of_servers_that_the_scheduler_did_not_see_fail(make_trace: MakeTrace) -> None:
    jobs = frame("jobs", JOB, [(j, "v", "u", "l", 8, 0) for j in "abcd"])
    ended = [(j, 1, 0, 60, "failed") for j in "abc"] + [("d", 1, 0, 60, "node_failure")]
    told = [("a", "GPU ECC error", None), ("b", "CUDA failure", "gpu_fell_off_bus")]
    told += [("c", "MPI runtime failure", "connection_reset"), ("d", "GPU ECC error", None)]
    failures = pl.DataFrame(told, ["job_id", "reason", "fine"], orient="row")
    failures = failures.with_columns(attempt=pl.lit(1, pl.Int32), tier=pl.lit("AE"))
    trace = make_trace(jobs, frame("attempts", ENDED, ended), failures=failures)
    assert sorted(node_failures.lost_attempts(trace)["job_id"]) == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("source", "files", "philly"),
    [
        ("philly", (), True),
        ("table", ("philly-passed.toml", "philly.csv.gz"), True),
        ("table", ("helios-15k.toml", "helios_data_training.csv.gz"), False),
        ("table", ("mine.toml", "philly-like.csv"), False),
        ("slurm", ("sacct.txt",), False),
        ("simulate", (), False),
    ],
)
def test_phillys_own_sections_are_for_phillys_traces(
    tmp_path: Path, source: str, files: tuple[str, ...], philly: bool
) -> None:
    jobs = [("a", "v", "u", 1, 0, "Pass")]
    inputs = tuple(Input(file, 0, "") for file in files)
    with Trace(write_tables(tmp_path / "t", {"jobs": jobs}, source, inputs=inputs)) as trace:
        others = {"notebook_definitions", "philly_like"}  # compare with the study's cluster
        assert set(ANALYSES) - set(relevant(trace)) == (set() if philly else others)


def test_a_question_needs_a_column_that_says_something(tmp_path: Path, lost_trace: Trace) -> None:
    with Trace(paper_trace(tmp_path / "t")) as trace:
        assert lacking(trace, "time_asked") == ("jobs.time_limit_s",)
        assert lacking(trace, "gang_failures") == ("attempts.end_reason or failures",)
    assert not lacking(lost_trace, "node_failures")


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_jobs_without_gpus_are_counted_apart_and_change_no_finding(
    tmp_path: Path, whole: bool
) -> None:
    """Fast: the findings that used to count them; slow: every finding that can be asked."""
    few = ["overview", "workload_account", "job_status", "arrivals", "concentration"]
    every = random_tables(31, 80)
    jobs = every["jobs"].filter(pl.col("gpus") > 0)
    others = set(every["jobs"]["job_id"]) - set(jobs["job_id"])
    fewer = {
        name: rows.filter(~pl.col("job_id").is_in(list(others))) if "job_id" in rows else rows
        for name, rows in every.items()
    }
    assert others
    results, ends = [], []
    for name, tables in (("every", every), ("fewer", fewer)):
        with Trace(write_tables(tmp_path / name, tables)) as trace:
            ends.append(trace.sql("select began_at, ended_at from snapshot").fetchall())
            asked = [n for n in relevant(trace) if not lacking(trace, n)]
            results.append(analyze(trace, asked if whole else few))
    assert ends[0] == ends[1]
    mixed, pure = results
    assert mixed.keys() == pure.keys() >= set(few)
    assert mixed["overview"].fact("cpu_only_jobs") == len(others)
    assert f"{len(others):,} other jobs asked for no GPU" in mixed["overview"].sentences[1]
    out = mixed["workload_account"].table.set_index("why")["jobs"]
    assert out["no GPUs asked for"] == len(others)
    for name, result in mixed.items():
        told = {"overview": "cpu_only_jobs", "workload_account": "left_out"}.get(name)
        for mine, theirs in zip(result.facts, pure[name].facts, strict=True):
            if mine.name != told:
                alike = mine.value if mine.value is None else pytest.approx(mine.value)
                assert theirs.value == alike, (name, mine.name)
        if name != "workload_account":
            pd.testing.assert_frame_equal(result.table, pure[name].table, check_exact=False)


@pytest.mark.real_data
def test_faults_of_a_real_training_cluster(traces: Path, make_trace: MakeTrace) -> None:
    """Servers in use between their faults: 400 of them over 349 days, 231 with 584 faults."""
    marks: dict[str, list[tuple[float, bool]]] = {f"s{i}": [] for i in range(400 - 231)}
    file = traces / "infinitehbd-faults-2024" / "fault_trace.json.gz"
    for e in json.loads(gzip.decompress(file.read_bytes())):
        mark = float(e["event_time"]), e["event_type"] == "fault_start"
        marks.setdefault(e["node_id"], []).append(mark)
    end = (max(day for on in marks.values() for day, _ in on), None)
    used = [
        (node, 1440 * since, 1440 * until, "node_failure" if fault else None)
        for node, on in marks.items()
        for (since, _), (until, fault) in pairwise([(0.0, False), *sorted(on), end])
        if fault is not False
    ]
    jobs = [(f"j{i}", "v", "u", "l", 8, since) for i, (_, since, *_) in enumerate(used)]
    placed = [(f"j{i}", 1, node, 8) for i, (node, *_) in enumerate(used)]
    trace = make_trace(
        frame("jobs", JOB, jobs),
        frame("attempts", ENDED, [(f"j{i}", 1, *run) for i, (_, *run) in enumerate(used)]),
        machines=dict.fromkeys(marks, 8),
        placements=frame("placements", ("job_id", "attempt", "machine_id", "gpus"), placed),
    )
    result = node_failures.compute(trace)
    up_days = sum(until - since for _, since, until, _ in used) / 1440
    assert sum(why is not None for *_, why in used) == 584 and result.fact("servers") == 400
    # two faults that overlap on one server, or follow within minutes, are one
    assert 564 <= number(result, "failures") <= 584
    assert number(result, "server_days") == pytest.approx(up_days)
    assert number(result, "unevenness_p") < 0.001


@pytest.mark.real_data
def test_limits_of_a_real_slurm_cluster_equal_a_plain_reading(traces: Path, tmp_path: Path) -> None:
    file = traces / "mit-supercloud-2021" / "slurm-log-queueing-clean.csv.gz"
    used, ended = [], 0
    with gzip.open(file, "rt") as text:
        for row in csv.DictReader(text):
            held = dict(part.split("=") for part in row["tres_alloc"].split(","))
            limit = int(float(row["timelimit"]))
            if int(held.get("1001", 0)) + int(held.get("1002", 0)) and limit != 2**32 - 1:
                run_s = float(row["time_end"]) - float(row["time_start"])
                used.append(run_s / (60 * limit))
                ended += row["state"] == "6"
    ingest("table", file, tmp_path / "t", map="mit-supercloud-2021")
    with Trace(tmp_path / "t") as trace:
        result = time_asked.compute(trace)
    assert result.fact("attempts") == len(used) > 1_000
    assert result.fact("used_p50_pct") == pytest.approx(100 * np.median(used))
    assert result.fact("at_limit_pct") == pytest.approx(100 * ended / len(used))
    assert result.fact("tenfold_pct") == pytest.approx(100 * np.mean(np.array(used) < 0.1))
