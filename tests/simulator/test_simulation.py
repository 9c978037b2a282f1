"""Check that a what-if is a valid trace."""

import gc
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from philly_analysis.errors import (
    PhillyError,
    SimulationError,
    TraceError,
    UnknownNameError,
    WorkloadError,
)
from philly_analysis.simulator import POLICIES, simulate
from philly_analysis.simulator.engine.event_loop import Simulation
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.output.samples import PublishedMeans
from philly_analysis.simulator.policies import policy_named
from philly_analysis.simulator.policies.priority import Fifo
from philly_analysis.simulator.policies.tiresias import Las
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import Workload, fleet
from philly_analysis.workload.demand import demand_of
from tests.simulator.drawn import job, machines
from tests.support.simulated import simulated_causes

ORIGIN = datetime(2026, 1, 5, 9, 30)


def workload(jobs: int = 300, seed: int = 5, **columns: object) -> Workload:
    """Jobs for a cluster of 24 GPUs at a load near 1, some of them retried."""
    rng = np.random.default_rng(seed)
    submitted = np.cumsum(rng.exponential(220, jobs)).round()
    gpus = rng.choice([1, 1, 1, 1, 2, 4, 8, 16], jobs)
    attempts = []
    for i in range(jobs):
        runs = rng.lognormal(6, 1.5, rng.choice([1, 1, 1, 2, 3])).round().clip(1)
        at = submitted[i]
        for k, run in enumerate(runs):
            attempts.append((f"j{i}", k + 1, at, at + run, int(gpus[i])))
            at += run
    at = pl.lit(ORIGIN) + pl.duration(seconds=pl.col("s"))
    frame = pl.DataFrame(
        {
            "job_id": [f"j{i}" for i in range(jobs)],
            "vc": rng.choice(["blue", "red"], jobs, p=[0.7, 0.3]).tolist(),
            "user": "u",
            "gpus": gpus.tolist(),
            "s": submitted,
            "status": rng.choice(["Pass", "Killed", "Failed"], jobs).tolist(),
        }
    ).with_columns(submitted_at=at, **{k: pl.lit(v) for k, v in columns.items()})
    table = pl.DataFrame(attempts, schema=["job_id", "attempt", "s", "e", "gpus"], orient="row")
    table = table.with_columns(
        started_at=at, ended_at=pl.lit(ORIGIN) + pl.duration(seconds=pl.col("e"))
    )
    return Workload(name="drawn", jobs=frame.drop("s"), attempts=table.drop("s", "e"))


MACHINES = fleet("2x8:24:500@1,4x2:6:125@2")


QUICK = ("fifo", "philly", "antman")


@pytest.mark.parametrize(
    "policy", [p if p in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in POLICIES]
)
def test_every_policy_writes_a_valid_trace_that_can_be_questioned(
    policy: str, tmp_path: Path
) -> None:
    load = workload(120)
    simulate(load, policy, tmp_path / "out", cluster=MACHINES)  # the writer validates
    with Trace(tmp_path / "out") as trace:
        assert trace.manifest.source == "simulate" and trace.manifest.synthetic
        assert trace.manifest.rows["jobs"] == 120
        waits = trace.answer("waits").pl()
        assert waits["flag"].null_count() == waits.height  # no attempt overlaps another
        runs = trace.answer("job_runs").pl()
        assert runs["last_ended_at"].null_count() == 0
        assert (
            runs.join(load.jobs.pl(), on="job_id")
            .filter(pl.col("status") != pl.col("status_right"))
            .is_empty()
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    ["philly", *(pytest.param(p, marks=pytest.mark.slow) for p in ("fifo", "las", "srtf"))],
)
def test_delay_causes_agrees_with_the_engine(policy: str, tmp_path: Path) -> None:
    """The causes that the log shows are the engine's on at least 95 % of waits."""
    quotas = pl.DataFrame({"vc": ["blue", "red"], "gpus": [18, 8]})
    load = replace(workload(400, seed=0), virtual_clusters=quotas)
    out = simulate(load, policy, tmp_path / "t", cluster=MACHINES)
    causes = simulated_causes(out)
    with Trace(out) as trace:
        seen = trace.answer("study_causes").pl()
    seen = seen.with_columns(pl.col("cause").replace("start_up", "unknown"))
    assert set(seen["method"]) == {"given"}
    both = causes.with_columns(pl.col("cause").replace("other", "unknown")).join(
        seen, on=["job_id", "attempt"]
    )
    assert both.height == causes.height > 150
    assert set(causes["cause"]) >= {"fair_share", "fragmentation"}
    assert (both["cause"] == both["cause_right"]).to_numpy().mean() >= 0.95
    for part in ("fair_share_s", "fragmentation_s"):
        off_s = (both[part] - both[f"{part}_right"]).abs()
        assert (off_s < 1e-3).to_numpy().mean() >= 0.95


def test_the_published_means_come_back_from_the_samples() -> None:
    from .drawn import job

    law, rng = PublishedMeans(), np.random.default_rng(1)
    for gpus, status, servers, mean in [
        (1, "Pass", 1, 53.51),
        (8, "Killed", 1, 60.63),
        (16, "Failed", 2, 39.02),
        (16, "Pass", 8, 44.88 * 28.56 / 43.66),
        (2, "Failed", 1, 62.82),
    ]:
        spec = job("a", 0, gpus, 1, status=status)
        levels = [law.level(spec, servers, rng) for _ in range(4000)]
        assert np.mean(levels) == pytest.approx(mean, abs=2)
    assert law.minutes(40, 20_000, 2, rng).mean() == pytest.approx(40, abs=1)


def test_the_same_seed_writes_the_same_samples(tmp_path: Path) -> None:
    load = workload(40)
    one, two = (
        simulate(load, "fifo", tmp_path / n, cluster=MACHINES, samples=True, seed=3)
        for n in ("one", "two")
    )
    read = [pl.read_parquet(p / "gpu_samples") for p in (one, two)]
    assert read[0].equals(read[1])


@pytest.mark.parametrize("run_policy", ["sum", "last"])
@pytest.mark.slow
def test_jobs_may_be_one_run_each(run_policy: str, tmp_path: Path) -> None:
    work = workload(60)
    single = work.as_runs(run_policy)
    out = simulate(single, "fifo", tmp_path / "out", cluster=MACHINES)
    with Trace(out) as trace:
        run_times = trace.sql(
            "select job_id, epoch(ended_at - started_at) from attempts"
        ).fetchall()
    asked = demand_of(work, run_policy).jobs
    assert dict(run_times) == dict(asked.select("job_id", "run_s").iter_rows())
    assert len(run_times) == asked.height == 60
    with pytest.raises(SimulationError, match="recorded replays attempts as they were recorded"):
        simulate(single, "recorded", tmp_path / "no", cluster=MACHINES)


def test_jobs_without_a_duration_are_left_out_and_counted(tmp_path: Path) -> None:
    load = workload(30)
    attempts = load.attempts.pl().filter(pl.col("job_id") != "j7")
    out = simulate(replace(load, attempts=attempts), "fifo", tmp_path / "o", cluster=MACHINES)
    manifest = json.loads((out / "manifest.json").read_text())
    assert any(note.startswith("The workload is 29 of 30 jobs") for note in manifest["notes"])
    assert "1 job excluded (0 GPU hours): no attempt." in manifest["notes"]
    assert manifest["rows"]["jobs"] == 29


def test_what_cannot_be_simulated_is_refused_with_what_there_is(tmp_path: Path) -> None:
    load, out = workload(20), tmp_path / "out"
    empty = replace(load, attempts=load.attempts.pl().clear())
    refused: list[tuple[Workload, str, dict[str, Any], type[PhillyError], str]] = [
        (load, "fifi", {}, UnknownNameError, r"no policy named 'fifi'.*'fifo'.*srtf"),
        (load, "philly", {"knobs": {"hold": 3}}, UnknownNameError, r"named 'hold'.*hold_s"),
        (load, "philly", {"knobs": {"hold_s": "soon"}}, SimulationError, "must be a number"),
        (load, "fifo", {"cluster": ()}, SimulationError, "0 machines"),
        (load, "fifo", {"cluster": "1x8"}, SimulationError, r"than the 8 GPUs of 1 .* for 16"),
        (empty, "fifo", {}, SimulationError, "workload with durations"),
        (load, "fifo", {"cluster": "many"}, WorkloadError, "COUNTxGPUS"),
    ]
    for jobs, policy, options, error, why in refused:
        with pytest.raises(error, match=why):
            simulate(jobs, policy, out, **{"cluster": MACHINES, **options})
    assert not out.exists()
    out.mkdir()
    with pytest.raises(TraceError, match="exists"):
        simulate(load, "fifo", out, cluster=MACHINES)


def test_only_jobs_that_wait_or_run_are_kept_in_memory() -> None:
    """Jobs are made when they arrive and forgotten when they end."""
    gc.freeze()  # objects of other tests are not searched at each step
    try:
        specs = [job(f"j{i}", 10 * i, 1, 9) for i in range(50)]
        simulation = Simulation(specs, machines(1), Fifo())
        most = 0
        while simulation.advance():
            simulation.apply(simulation.policy.decide(simulation.view))
            gc.collect()
            most = max(most, sum(isinstance(one, Job) for one in gc.get_objects()))
    finally:
        gc.unfreeze()
    assert 0 < most <= 2
    assert simulation.schedule().jobs["end_s"].to_list() == [10 * i + 9.0 for i in range(50)]


def test_knobs_are_read_from_text() -> None:
    policy = policy_named("las", {"thresholds_gpu_s": "[60, 600]", "restart_s": "5"})
    assert policy == Las(thresholds_gpu_s=(60, 600), restart_s=5.0)
    assert policy_named("fifo", {"backfill": "true"}) == Fifo(backfill=True)
    for name, kind in POLICIES.items():
        assert kind.name == name and kind.SOURCE and kind.__doc__


def test_only_the_last_attempt_of_a_job_last_seen_running_has_an_unknown_end(
    tmp_path: Path,
) -> None:
    load = workload(2)
    ten, noon = ORIGIN.replace(hour=10), ORIGIN.replace(hour=12)
    attempts = pl.DataFrame(
        [("j0", 1, ORIGIN, ten, 1), ("j0", 2, ten, None, 1), ("j1", 1, ten, noon, 1)],
        schema=["job_id", "attempt", "started_at", "ended_at", "gpus"],
        orient="row",
    )
    jobs = load.frames["jobs"].with_columns(status=pl.lit(None, pl.String), gpus=pl.lit(1))
    load = replace(load, jobs=jobs, attempts=attempts)
    simulate(load, "fifo", tmp_path / "out", cluster=MACHINES)
    with Trace(tmp_path / "out") as trace:
        ends = trace.sql("select end_reason is null from attempts order by all").fetchall()
        assert ends == [(False,), (False,), (True,)]
        [unknown] = trace.sql("select job_id from jobs where status is null").fetchall()
        assert unknown == ("j0",)
