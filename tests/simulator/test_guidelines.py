"""What the study asked of schedulers, as knobs: each on a schedule that one draws on paper."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import run
from philly_analysis.simulator.policies import Policy
from philly_analysis.simulator.policies.philly import Philly
from philly_analysis.simulator.policies.ranked import Fifo, Srtf
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.speed import Locality
from philly_analysis.workload import JobSpec, Machine

from ..strategies import one_in
from .drawn import done, gantt, held, job, machines
from .test_laws import MACHINES, QUOTAS, Rows, specs_of, workloads


def test_gangs_have_dedicated_servers_to_themselves() -> None:
    # two servers of 4: gang a takes the first with two of its GPUs; b runs on the second, where
    # gang d would fit beside it, but has to wait till b has left; e (one GPU) does not go beside a
    jobs = [job("a", 0, 2, 100), job("b", 0, 1, 50), job("d", 0, 2, 30), job("e", 60, 1, 10)]
    shared = run(jobs, machines(4, 4), Fifo())
    alone = run(jobs, machines(4, 4), Fifo(), dedicated=True)
    assert gantt(shared) == {
        "a": done(0, 100), "b": done(0, 50), "d": done(0, 30), "e": done(60, 70),
    }  # fmt: skip
    assert gantt(alone) == {
        "a": done(0, 100), "b": done(0, 50), "d": done(50, 80), "e": done(80, 90),
    }  # fmt: skip
    # three GPUs beside b, and later two beside each gang, are no room for those that wait
    assert set(alone.waits["cause"]) == {"fragmentation"}


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


def test_a_policy_that_places_gangs_beside_others_is_told_so() -> None:
    there = [Machine("m0", 4, cpus=8.0, mem_gb=32.0)]
    jobs = [job("a", 0, 1, 100), job("b", 1, 2, 100)]
    with pytest.raises(SimulationError, match="dedicated"):
        specs = [replace(s, cpus=1.0 * s.gpus, mem_gb=1.0 * s.gpus) for s in jobs]
        run(specs, there, Synergy(allocation="tune"), dedicated=True)


def test_dedicated_servers_take_interference_away() -> None:
    # Table 4: two gangs of two beside each other run at 77.1 / 114.8... of their speed
    jobs = [job("a", 0, 2, 100), job("b", 0, 2, 100)]
    both = run(jobs, machines(4, 4), Fifo(), speed=Locality())
    alone = run(jobs, machines(4, 4), Fifo(), speed=Locality(), dedicated=True)
    slowed = 100 / Locality().beside[0]
    assert gantt(both) == {name: done(0, round(slowed, 3)) for name in "ab"}
    assert gantt(alone) == {name: done(0, 100) for name in "ab"}


def fragmented() -> list[JobSpec]:
    """Two servers of 4, a job of one GPU on each for 1000 s, and then a gang of 4."""
    return [
        job("a", 0, 3, 20), job("b", 0, 4, 10), job("s", 1, 1, 1000), job("t", 12, 1, 1000),
        job("u", 12, 3, 8), job("g", 30, 4, 100),
    ]  # fmt: skip


def test_jobs_move_out_of_a_gangs_way() -> None:
    # a and s on one server, t and u on the other; from 20 on s and t alone, 3 GPUs free beside each
    quotas = {"a": 8}
    never = gantt(run(fragmented(), machines(4, 4), Philly(), quotas=quotas))
    assert never["g"][0][0] > 200 and len(never["s"]) == len(never["t"]) == 1
    moving = Philly(migrate_after_s=15.0, restart_s=5.0)
    schedule = run(fragmented(), machines(4, 4), moving, quotas=quotas)
    bars = gantt(schedule)
    assert bars["g"] == done(30, 130)
    moved, [stays] = sorted((bars["s"], bars["t"]), key=len, reverse=True)
    start_s = moved[0][0]
    assert moved == [(start_s, 30, "migrated"), (30, start_s + 1000 + 5, "completed")]
    assert stays[2] == "completed" and stays[1] == stays[0] + 1000
    # t has run for 18 s by then, s for 10 at least: who started lately is left where it is
    patient = Philly(migrate_after_s=60.0)
    assert gantt(run(fragmented(), machines(4, 4), patient, quotas=quotas))["g"][0][0] > 30


@given(workloads)
@one_in(4)
def test_migration_loses_nothing(rows: Rows) -> None:
    specs = specs_of(rows)
    schedule = run(specs, MACHINES, Philly(migrate_after_s=0.0), quotas=QUOTAS)
    assert schedule.jobs["end_s"].null_count() == 0
    kept = schedule.attempts.group_by("job_id").agg(pl.col("work_s").sum())
    asked = {s.job_id: s.run_s for s in specs}
    assert {j: pytest.approx(asked[j], abs=1e-3) for j, _ in kept.rows()} == dict(kept.rows())
