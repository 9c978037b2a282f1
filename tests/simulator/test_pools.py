"""Check pools in a what-if: two pools equal each alone, and no job leaves its pool."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import POLICIES, simulate
from philly_analysis.simulator.engine.event_loop import run
from philly_analysis.simulator.engine.pools import (
    Pool,
    assign_to_pools,
    divide_quotas,
    pool_notes,
)
from philly_analysis.simulator.engine.schedule import Schedule, merge_schedules
from philly_analysis.simulator.policies import policy_named
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import AttemptSpec, JobSpec, Machine, Workload, fleet
from philly_analysis.workload.machines import machine_rows
from tests.simulator.test_simulation import workload
from tests.support.strategies import one_in

_FLEETS = {"a": fleet("2x8:24:500@1,2x4:6:125@2"), "b": fleet("3x8:24:500@1")}


def _pool(name: str, seed: int) -> Workload:
    """A workload whose jobs and machines are all of one pool; names in it begin with its own."""
    load = workload(80, seed=seed, pool=name)
    expected = [
        replace(m, machine_id=f"{name}-{m.machine_id}", pool=name, gpu_model="v100")
        for m in _FLEETS[name]
    ]
    renamed = [pl.format(f"{name}-{{}}", "job_id").alias("job_id")]
    return replace(
        load,
        jobs=load.jobs.pl().with_columns(*renamed, pl.format(f"{name}-{{}}", "vc").alias("vc")),
        attempts=load.attempts.pl().with_columns(*renamed),
        machines=machine_rows(expected),
    )


@pytest.mark.parametrize(
    "policy",
    ["philly", *(pytest.param(p, marks=pytest.mark.slow) for p in POLICIES if p != "philly")],
)
def test_two_pools_run_as_each_alone(policy: str) -> None:
    a, b = _pool("a", 3), _pool("b", 4)
    both = replace(
        a,
        jobs=pl.concat([a.jobs.pl(), b.jobs.pl()]),
        attempts=pl.concat([a.attempts.pl(), b.attempts.pl()]),
        machines=pl.concat([a.machines.pl(), b.machines.pl()]),
    )
    specs = list(both.specs())
    pools, left_out = assign_to_pools(both, specs, both.servers())
    assert [p.name for p in pools] == ["pool a", "pool b"] and not left_out
    assert pool_notes(pools[:1], []) == ()
    assert pool_notes(pools, [])[0].startswith("The 2 pools of machines have separate queues: ")
    quotas = {"a-blue": 16, "a-red": 8, "b-blue": 16, "b-red": 8}

    def schedule(jobs: Sequence[JobSpec], machines: Sequence[Machine]) -> Schedule:
        return run(jobs, machines, policy_named(policy, {}), quotas=quotas)

    together = merge_schedules([schedule(p.jobs, p.machines) for p in pools])
    alone = [
        schedule([s for s in specs if s.job_id[0] == n], [m for m in both.servers() if m.pool == n])
        for n in "ab"
    ]
    for part in ("jobs", "attempts", "placements", "speeds", "waits"):
        each = pl.concat([getattr(s, part) for s in alone])
        every = getattr(together, part)
        assert each.sort(each.columns).equals(every.sort(every.columns)), part
    assert together.jobs["submit_s"].is_sorted()
    assert together.attempts["job_id"].unique(maintain_order=True).to_list() == [
        s.job_id for s in specs
    ]


_MACHINES = [
    Machine("m0", 4, gpu_model="v100", pool="x/fast"),
    Machine("m1", 2, gpu_model="v100", pool="x/slow"),
    Machine("m2", 4, gpu_model="a100", pool="x/fast"),
    Machine("m3", 4, pool="y"),
    Machine("m4", 8),
]


def _may_serve(machine: Machine, pool: str | None, model: str | None) -> bool:
    """What the schema says of pools and models, in words of its own."""
    if None not in (model, machine.gpu_model) and model != machine.gpu_model:
        return False
    if pool is None or machine.pool is None:
        return True
    return (machine.pool + "/").startswith(pool + "/")


@one_in(4)
@given(
    asks=st.lists(
        st.tuples(
            st.sampled_from([None, "x", "x/fast", "x/slow", "y", "z"]),
            st.sampled_from([None, "v100", "a100", "h100"]),
            st.sampled_from([1, 2, 4, 8, 16]),
        ),
        min_size=1,
        max_size=20,
    ),
    some=st.sets(st.sampled_from(_MACHINES), min_size=1),
)
def test_no_job_is_dealt_to_a_machine_that_may_not_serve_it(
    asks: list[tuple[str | None, str | None, int]], some: set[Machine]
) -> None:
    machines = sorted(some, key=lambda m: m.machine_id)
    load = workload(len(asks))
    pools, models, gangs = zip(*asks, strict=True)
    jobs = load.jobs.pl().with_columns(
        pool=pl.Series(pools, dtype=pl.String),
        gpu_model=pl.Series(models, dtype=pl.String),
        gpus=pl.Series(gangs, dtype=pl.Int32),
    )
    specs = list(replace(load, jobs=jobs).specs())
    asked = {f"j{i}": ask for i, ask in enumerate(asks)}
    try:
        dealt, left_out = assign_to_pools(replace(load, jobs=jobs), specs, machines)
    except SimulationError:  # no job has a pool
        dealt, left_out = [], specs
    places = [m.machine_id for pool in dealt for m in pool.machines]
    assert len(places) == len(set(places)), "no machine is in two pools"
    for pool in dealt:
        for spec in pool.jobs:
            own, model, _ = asked[spec.job_id]
            assert all(_may_serve(m, own, model) for m in pool.machines)
    for spec in left_out:
        own, model, gpus = asked[spec.job_id]
        fitting = [m for m in machines if _may_serve(m, own, model)]
        assert all(p.gpus < gpus for p in dealt if set(p.machines) <= set(fitting))
        assert not any(m.gpus >= gpus for m in fitting), "one machine would have been enough"
    ran = [s.job_id for p in dealt for s in p.jobs]
    assert sorted([*ran, *(s.job_id for s in left_out)]) == sorted(asked)


@pytest.mark.slow
def test_a_queue_waits_for_its_own_pool_and_a_job_that_names_none_goes_where_it_is_quiet(
    tmp_path: Path,
) -> None:
    load = workload(6)
    models = ["v100", "v100", "a100", None, None, "h100"]
    gpus = [8, 8, 4, 4, 4, 1]
    jobs = load.jobs.pl().with_columns(
        gpu_model=pl.Series(models, dtype=pl.String), gpus=pl.Series(gpus, dtype=pl.Int32)
    )
    machines = fleet("1x8=v100,1x8=a100")
    load = replace(load, jobs=jobs, machines=machine_rows(machines))
    with Trace(simulate(load, "fifo", tmp_path / "out")) as trace:
        where = dict(trace.sql("select distinct job_id, machine_id from placements").fetchall())
        notes = " ".join(trace.manifest.notes)
    assert where == {"j0": "m0", "j1": "m0", "j2": "m1", "j3": "m1", "j4": "m1"}
    assert "2 pools" in notes and "1 job excluded" in notes
    typed = replace(load, jobs=load.jobs.pl().head(3))
    with pytest.raises(SimulationError, match="None of 3 jobs fits in an eligible pool"):
        simulate(typed, "fifo", tmp_path / "none", cluster=fleet("2x8=tpu"))
    simulate(load, "fifo", tmp_path / "any", cluster=fleet("2x8"))  # machines that say nothing


def test_no_pool_mixes_models_of_gpus_though_no_job_names_one() -> None:
    machines = fleet("2x8=v100,1x8=a100,1x8")
    load = replace(workload(60), machines=machine_rows(machines))
    pools, left_out = assign_to_pools(load, list(load.specs()), machines)
    assert [{m.gpu_model for m in p.machines} for p in pools] == [{"a100"}, {None}, {"v100"}]
    sixteen = [s.job_id for s in load.specs() if s.gpus == 16]
    assert sixteen and not left_out
    assert {s.job_id for s in pools[2].jobs} >= set(sixteen), "no gang spans two models"


def test_a_quota_is_divided_by_what_is_asked_in_each_pool() -> None:
    def spec(vc: str, gpus: int, run_s: float) -> JobSpec:
        return JobSpec("", vc, "u", gpus, 0.0, (AttemptSpec(run_s),))

    pools = [
        Pool("a", (), (spec("v", 1, 300), spec("w", 2, 10))),
        Pool("b", (), (spec("v", 4, 25),)),
    ]
    quotas = {"v": 8, "w": 5, "idle": 3}
    assert divide_quotas(quotas, pools) == [
        {"v": 6, "w": 5, "idle": 3},
        {"v": 4, "w": 5, "idle": 3},  # a quarter of 8 would not hold the gang of 4
    ]
