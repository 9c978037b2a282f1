"""Check the mechanisms of the study's guidelines on schedules computed by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import run, run_first, simulate
from philly_analysis.simulator.jobs.run_failures import reason_shares, without_retries
from philly_analysis.simulator.policies import Policy
from philly_analysis.simulator.policies.philly import Philly
from philly_analysis.simulator.policies.priority import Fifo, Srtf
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import AttemptSpec, JobSpec, Machine, Prerun, Workload
from tests.simulator.drawn import assert_work_done, done, gantt, held, job, machines
from tests.simulator.test_properties import MACHINES, QUOTAS, Rows, specs_of, workloads
from tests.simulator.test_simulation import workload
from tests.support.strategies import one_in


@pytest.mark.parametrize("policy", [Fifo(backfill=True), Srtf(), Philly()])
@given(rows=workloads)
@one_in(4)
def test_no_gang_ever_shares_a_dedicated_server(policy: Policy, rows: Rows) -> None:
    specs = specs_of(rows)
    schedule = run(specs, MACHINES, policy, quotas=QUOTAS, dedicated=True)
    gangs = {s.job_id for s in specs if s.gpus > 1}
    bars = list(held(schedule))
    for machine, _, start_s, end_s, name in bars:
        for other, _, from_s, until_s, whose in bars:
            if machine == other and name != whose and name in gangs:
                assert until_s <= start_s + 1e-6 or from_s >= end_s - 1e-6
    assert schedule.jobs["end_s"].null_count() == 0


def test_policies_that_share_servers_reject_dedicated_ones() -> None:
    there = [Machine("m0", 4, cpus=8.0, mem_gb=32.0)]
    jobs = [job("a", 0, 1, 100), job("b", 1, 2, 100)]
    specs = [replace(s, cpus=1.0 * s.gpus, mem_gb=1.0 * s.gpus) for s in jobs]
    with pytest.raises(SimulationError, match="dedicated"):
        run(specs, there, Synergy(allocation="tune"), dedicated=True)


@given(workloads)
@one_in(4)
def test_migration_loses_nothing(rows: Rows) -> None:
    specs = specs_of(rows)
    schedule = run(specs, MACHINES, Philly(migrate_after_s=0.0), quotas=QUOTAS)
    assert_work_done(schedule, specs)


def failing(name: str, gpus: int, *runs: tuple[float, str | None]) -> JobSpec:
    """Return a job of runs that fail for a reason, or complete."""
    attempts = tuple(
        AttemptSpec(float(run_s), "failed" if why else "completed", failure=why)
        for run_s, why in runs
    )
    status = "Failed" if runs[-1][1] else "Pass"
    return replace(job(name, 0, gpus), attempts=attempts, status=status)


def test_users_errors_are_not_retried() -> None:
    wrong = failing("wrong", 4, (20, "Syntax error"), (30, "Syntax error"), (40, "Syntax error"))
    late = failing("late", 2, (10, "MPI runtime failure"), (10, "Incorrect inputs"), (90, None))
    broken = failing("broken", 2, (10, "GPU ECC error"), (90, None))
    other = replace(late, job_id="other")
    specs, said = without_retries([wrong, late, broken, other])
    ends = gantt(run(specs, machines(10), Fifo()))
    assert ends == {
        "wrong": [(0, 20, "failed")],
        "late": [(0, 10, "failed"), (10, 20, "failed")],
        "broken": [(0, 10, "failed"), (10, 100, "completed")],
        "other": [(0, 10, "failed"), (10, 20, "failed")],
    }
    assert [s.status for s in specs] == ["Failed", "Failed", "Pass", "Failed"]
    # 4 GPUs for 70 s and twice 2 for 90 s are saved; two jobs that passed fail now
    assert "3 jobs end earlier" in said[0] and "; 2 of them passed" in said[0]
    assert f"saves {(4 * 70 + 4 * 90) / 3600:,.0f} GPU hours" in said[0]
    long = failing("long", 4, (20, "Syntax error"), (3600 * 50, "Syntax error"), (3600 * 20, None))
    assert "saves 280 GPU hours; 1 of them passed" in without_retries([long])[1][0]


def test_early_failures_occur_in_the_prerun_pool() -> None:
    # one GPU for trials of 50 s, four for the rest. g fails at 20 on the pool, and at 70 again;
    # its third run is sound for 50 s, then it has its gang, and runs from the start. w, next on
    # the pool, fails there for good. s has one GPU and goes to the cluster at once.
    specs = [
        failing("g", 4, (20, "Syntax error"), (50, "Syntax error"), (100, None)),
        replace(failing("w", 2, (30, "Import error")), submit_s=1.0),
        failing("s", 1, (60, None)),
    ]
    prerun = Prerun(servers=1, limit_s=50.0)

    first = run_first(prerun, specs, machines(4, 1))
    schedule = first.joined(run(first.remaining, first.machines, Fifo()))
    assert gantt(schedule) == {
        "g": [
            (0, 20, "failed"), (20, 70, "failed"), (70, 120, "preempted"), (120, 220, "completed"),
        ],
        "w": [(120, 150, "failed")],
        "s": done(0, 60),
    }  # fmt: skip
    rows = schedule.attempts.filter(pl.col("job_id") == "g")
    assert rows["attempt"].to_list() == [1, 2, 3, 4] and rows["gpus"].to_list() == [1, 1, 1, 4]
    assert rows["lost_s"].to_list() == [0, 0, 50, 0] and rows["work_s"].to_list()[2:] == [0, 100]
    assert set(schedule.placements.filter(gpu=0, attempt=1, job_id="g")["machine_id"]) == {"m1"}
    by_id = dict(schedule.jobs.select("job_id", "end_s").rows())
    assert by_id == {"g": 220, "w": 150, "s": 60} and set(schedule.jobs["submit_s"]) == {0, 1}


def test_reasons_come_by_demand_and_run_time() -> None:
    """Check shares by Bayes' rule against the order that the study's table implies."""
    quick, slow = reason_shares(1, 35.0), reason_shares(1, 24 * 3600.0)
    # of what failed within a minute on one GPU most are wrong inputs, programs and dumps; after a
    # day a lost connection or a checkpoint is likelier than a typing error
    assert quick["Syntax error"] > 10 * slow["Syntax error"]
    assert slow["MPI runtime failure"] > 100 * quick["MPI runtime failure"]
    assert reason_shares(1, 60.0)["GPU ECC error"] < reason_shares(8, 60.0)["GPU ECC error"]
    rng = np.random.default_rng(1)
    minutes = rng.lognormal(np.log(13.45), np.log(17.73 / 13.45) / 1.2816, 300)
    guessed = np.mean([reason_shares(1, 60 * m)["CPU out of memory"] for m in minutes])
    assert guessed > 0.8  # its narrow law, and 11,465 of 26,000 trials


def test_notes_describe_the_guidelines_of_a_what_if(tmp_path: Path) -> None:
    load = workload(150)
    specs = list(load.specs())
    changed = load.with_prerun(1, 120).without_user_retries().dedicated()
    out = simulate(changed, "philly", tmp_path / "out", cluster="4x8")
    with Trace(out) as trace:
        said = " ".join(trace.manifest.notes)
        [(cut,)] = trace.sql("select count(*) from jobs where status = 'Failed'").fetchall()
        [(thrown,)] = trace.sql("select sum(lost_s) from attempts").fetchall()
    assert "as recorded for 0 of" in said and "are not retried" in said
    assert "Gangs have their servers to themselves." in said and thrown > 0
    failed = len(load.jobs.filter("status = 'Failed'"))
    assert failed < cut < 150  # some that had passed no longer do
    again = {s.job_id: s.run_s for s in Workload.from_trace(out).specs()}
    assert all(again[s.job_id] <= s.run_s + 1e-3 for s in specs)
    with pytest.raises(SimulationError, match="dedicated has no effect"):
        simulate(load.dedicated(), "recorded", tmp_path / "no", cluster="4x8")
