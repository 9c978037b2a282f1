"""Compare the jobs of a trace in demand, models, pages, exports and simulations."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from philly_analysis import Trace, Workload, analyze, export, simulate
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation.distances import Jobs
from philly_analysis.workload.demand import demand_of
from tests.support.small_traces import paper_trace


@dataclass(frozen=True, slots=True)
class Counted:
    """Totals of a loop over a trace's tables."""

    jobs: int
    gpu_h: float
    running: int
    left_out: dict[str, int]


@pytest.fixture(scope="module")
def counted(sample_trace: Path) -> Counted:
    """Count the jobs that can be run: no flag, a gang, a known run time or still running."""
    jobs = pl.read_parquet(sample_trace / "jobs.parquet").to_dicts()
    attempts: dict[str, list[dict[str, object]]] = {}
    for a in pl.read_parquet(sample_trace / "attempts.parquet").sort("attempt").to_dicts():
        attempts.setdefault(a["job_id"], []).append(a)
    times = [j["submitted_at"] for j in jobs]
    times += [
        a[k]
        for job_attempts in attempts.values()
        for a in job_attempts
        for k in ("started_at", "ended_at")
    ]
    end = max(t for t in times if isinstance(t, datetime))
    n, gpu_s, running = 0, 0.0, 0
    left_out: dict[str, int] = {}
    for job in jobs:
        job_attempts = attempts.get(job["job_id"], [])
        ran = [a for a in job_attempts if a["started_at"]]
        flag = job["flag"] or min((str(a["flag"]) for a in job_attempts if a["flag"]), default=None)
        goes_on = bool(ran) and ran[-1] is job_attempts[-1] and not job_attempts[-1]["ended_at"]
        if not flag and ran and not ran[-1]["ended_at"] and not goes_on:
            flag = "end_unknown"
        checks = {
            str(flag).replace("_", " "): flag,
            "no attempt": not job_attempts,
            "no attempt has a start": not ran,
            "gang size not known": job["gpus"] is None,
            "no GPUs asked for": job["gpus"] == 0,
        }
        if reason := next((reason for reason, applies in checks.items() if applies), None):
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        seconds = 0.0
        for a in ran:
            until = a["ended_at"] or (end if goes_on and a is job_attempts[-1] else None)
            if until:
                seconds += (until - a["started_at"]).total_seconds()  # type: ignore[operator]
        n, gpu_s, running = n + 1, gpu_s + seconds * job["gpus"], running + goes_on
    return Counted(n, gpu_s / 3600, running, left_out)


def test_every_reader_of_jobs_has_those_of_a_loop(
    sample_trace: Path, counted: Counted, tmp_path: Path
) -> None:
    needs = demand_of(Workload.from_trace(sample_trace))
    validated = Jobs.of_workload(Workload.from_trace(sample_trace)).frame
    with Trace(sample_trace, run_policy="sum") as trace:
        data = Observations.of_trace(trace)
    [page] = analyze(sample_trace, ["workload_account"]).values()
    exported = export(sample_trace, "batsim", tmp_path / "out.json")
    written = json.loads((tmp_path / "out.json").read_text())
    delay_s = [written["profiles"][job["profile"]]["delay"] for job in written["jobs"]]
    gpus = [job["res"] for job in written["jobs"]]
    demand = {
        "demand": (needs.jobs.height, needs.gpu_s / 3600),
        "models": (len(data.timed), np.dot(data.timed["run_s"], data.timed["gpus"]) / 3600),
        "page": (page.fact("jobs"), page.fact("gpu_h")),
        "validation": (len(validated), np.dot(validated["run_s"], validated["gpus"]) / 3600),
        "export": (len(delay_s), np.dot(delay_s, gpus) / 3600),
    }
    for reader, read in demand.items():
        assert read == pytest.approx((counted.jobs, counted.gpu_h)), reader
    running = (needs.jobs["censored"].sum(), data.timed["censored"].sum(), page.fact("running"))
    assert set(running) == {counted.running} and counted.running > 0
    assert needs.reasons == exported.left_out == counted.left_out and counted.left_out
    assert page.sentences == exported.account == needs.account()
    assert set(needs.account()) <= set(data.exclusions)


def test_some_jobs_of_a_trace_are_read_with_their_attempts_and_placements(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    whole = Workload.from_trace(path).frames
    some = whole["jobs"]["job_id"].to_list()[::2]
    part = Workload.from_trace(path, some).frames
    for table in ("jobs", "attempts", "placements"):
        rows = [row for row in whole[table].iter_rows(named=True) if row["job_id"] in some]
        assert part[table].to_dicts() == rows and len(rows) < whole[table].height
    assert part["machines"].equals(whole["machines"])
    assert Workload.from_trace(path, []).frames["jobs"].height == 0


@pytest.mark.slow
def test_the_same_jobs_are_simulated(sample_trace: Path, counted: Counted, tmp_path: Path) -> None:
    workload = Workload.from_trace(sample_trace)
    specs = list(workload.specs())
    assert len(specs) == counted.jobs and sum(s.censored for s in specs) == counted.running
    assert sum(s.gpu_s for s in specs) / 3600 == pytest.approx(counted.gpu_h)
    out = simulate(workload, "fifo", tmp_path / "out").path
    with Trace(out, run_policy="sum") as trace:
        assert set(demand_of(workload).account()) <= set(trace.manifest.notes)
        again = demand_of(Workload.from_trace(trace))
        # jobs still running at the end of the log have no status
        unknown = trace.sql("select count(*) from jobs where status is null").fetchall()
    assert again.jobs.height == counted.jobs
    assert again.gpu_s / 3600 == pytest.approx(counted.gpu_h, rel=1e-6)
    asked = {s.job_id for s in specs if s.status is None}
    assert unknown == [(len(asked),)]


@pytest.mark.slow
def test_quotas_are_those_of_the_relation(sample_trace: Path, tmp_path: Path) -> None:
    workload = Workload.from_trace(sample_trace)
    workload = replace(workload, virtual_clusters=workload.virtual_clusters.limit(0))
    rows = workload.answer("vc_quotas").filter(pl.col("method") == "p99").select("vc", "gpus")
    out = simulate(workload, "philly", tmp_path / "out").path
    vcs = pl.read_parquet(out / "virtual_clusters.parquet")
    assert dict(vcs.iter_rows()) == dict(rows.iter_rows())
