"""Check properties of every policy on any workload."""

import itertools
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.simulator import POLICIES, Schedule, run
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.workload import JobSpec
from tests.simulator.drawn import job, machines
from tests.simulator.literature import literature
from tests.support.slow import quick_first

Rows = list[tuple[int, int, list[int], str]]
"""Submission, gang, run times and virtual cluster of each job."""

workloads: st.SearchStrategy[Rows] = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.sampled_from([1, 1, 1, 2, 3, 4, 8, 12]),
        st.lists(st.integers(0, 60), min_size=1, max_size=3),
        st.sampled_from("abc"),
    ),
    min_size=1,
    max_size=25,
)
MACHINES = [
    replace(m, cpus=3.0 * m.gpus, mem_gb=60.0 * m.gpus) for m in machines(8, 4, 2, 2, rack="r")
]
QUOTAS = {"a": 6, "b": 4, "c": 4}
RIGID = [p for p in POLICIES.values() if not p.elastic and not p.guests]


def specs_of(rows: Rows) -> list[JobSpec]:
    return [job(f"j{i:02d}", s, g, *runs, vc=vc) for i, (s, g, runs, vc) in enumerate(rows)]


def simulated(rows: Rows, policy: Policy) -> tuple[list[JobSpec], Schedule]:
    specs = specs_of(rows)
    return specs, run(specs, MACHINES, policy, quotas=QUOTAS)


@pytest.mark.parametrize("policy", quick_first(RIGID, 2))
@given(workloads)
def test_gpu_seconds_granted_are_those_served_and_gangs_are_whole(
    policy: type[Policy], rows: Rows
) -> None:
    specs, schedule = simulated(rows, policy())
    bars = schedule.attempts.with_columns(
        gpu_s=(pl.col("end_s") - pl.col("start_s")) * pl.col("gpus")
    )
    held_s = dict(bars.group_by("job_id").agg(pl.col("gpu_s").sum()).iter_rows())
    for spec in specs:
        assert held_s[spec.job_id] == pytest.approx(spec.gpus * spec.run_s, abs=1e-3)
    gangs = schedule.placements.group_by("job_id", "attempt").agg(
        pl.struct("machine_id", "gpu").n_unique().alias("n")
    )
    joined = schedule.attempts.join(gangs, on=["job_id", "attempt"], how="left")
    assert (joined["n"] == joined["gpus"]).all()
    assert dict(schedule.attempts.select("job_id", "gpus").iter_rows()) == {
        s.job_id: s.gpus for s in specs
    }


@pytest.mark.parametrize("policy", POLICIES.values())
@given(workloads)
def test_every_job_ends_once_and_never_starts_before_it_was_submitted(
    policy: type[Policy], rows: Rows
) -> None:
    specs, schedule = simulated(rows, policy())
    by_job = schedule.attempts.group_by("job_id", maintain_order=True).agg(pl.all())
    assert set(by_job["job_id"]) == {s.job_id for s in specs}
    submitted = {s.job_id: s for s in specs}
    for row in by_job.iter_rows(named=True):
        spec = submitted[row["job_id"]]
        assert row["attempt"] == list(range(1, len(row["attempt"]) + 1))
        times = [spec.submit_s, *itertools.chain(*zip(row["start_s"], row["end_s"], strict=True))]
        assert times == sorted(times)
        reasons = [r for r in row["end_reason"] if r not in ("preempted", "migrated", "resized")]
        assert reasons == ["failed"] * (len(spec.attempts) - 1) + ["completed"]


@pytest.mark.parametrize("policy", quick_first(POLICIES.values(), 3))
def test_the_same_jobs_give_the_same_schedule(policy: type[Policy]) -> None:
    specs = literature(60, 12, 3)
    one, other = (run(specs, MACHINES, policy(), quotas={"v": 14}) for _ in range(2))
    assert one.attempts.equals(other.attempts) and one.placements.equals(other.placements)
