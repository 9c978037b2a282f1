"""Check GPU fractions: placements worked out by hand, and a reference without state."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import POLICIES, Schedule, policy_named, run
from philly_analysis.simulator.assumptions import fraction_notes
from philly_analysis.simulator.cluster.gpu_sharing import as_allocated
from philly_analysis.simulator.engine.pools import Pool
from philly_analysis.simulator.policies.gandiva import Gandiva
from philly_analysis.simulator.policies.priority import Fifo
from philly_analysis.workload import JobSpec, fleet
from tests.simulator import reference_gpu_sharing as slow
from tests.simulator.drawn import assert_same_bars, done, gantt, job, machines, migrates
from tests.simulator.reference import (
    FinishTimeFairness,
    InTurn,
    LeastAttained,
    ShortestRemaining,
    World,
    shortest,
    simulate,
    submitted,
)
from tests.simulator.reference_shares import (
    GittinsIndices,
    MaxMinFairness,
    Predicted,
    ShortestService,
)
from tests.simulator.test_reference import examples
from tests.support.slow import quick_first


def part(name: str, submit_s: float, share: float, run_s: float) -> JobSpec:
    return replace(job(name, submit_s, 1, run_s), gpu_frac=share)


Rows = list[tuple[int, Fraction, list[int]]]
"""Submission, GPUs asked for and run times of each job."""

SHARES = [Fraction(n) for n in ("1/10", "1/4", "1/3", "2/5", "1/2", "3/4", "1/7", "1", "2", "3")]

workloads: st.SearchStrategy[Rows] = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.sampled_from(SHARES),
        st.lists(st.integers(1, 40), min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=14,
)

PAIRS: dict[str, tuple[dict[str, object], Callable[[list[JobSpec]], slow.Sharing]]] = {
    "fifo": ({}, lambda _: slow.InTurn(InTurn(submitted))),
    "fifo backfill": ({"backfill": True}, lambda _: slow.InTurn(InTurn(submitted, blocks=False))),
    "sjf": ({}, lambda _: slow.InTurn(InTurn(shortest))),
    "easy": ({}, lambda _: slow.Easy()),
    "srtf": ({}, lambda _: slow.InOrder(ShortestRemaining())),
    "srsf": ({}, lambda _: slow.InOrder(ShortestService())),
    "qssf": ({}, lambda specs: slow.InTurn(InTurn(Predicted(specs)))),
    "tiresias": (
        {"thresholds_gpu_s": [8, 40], "promote": 2},
        lambda _: slow.InOrder(LeastAttained((8, 40), 2.0)),
    ),
    "gittins": (
        {"thresholds_gpu_s": [8, 40], "service_gpu_s": [4, 12, 80]},
        lambda _: slow.InOrder(GittinsIndices([4, 12, 80], (8, 40))),
    ),
    "maxmin": ({"round_s": 20, "of": "vc"}, lambda _: slow.Counted(MaxMinFairness(20))),
    "las": ({"thresholds_gpu_s": [8, 40]}, lambda _: slow.InOrder(LeastAttained((8, 40)))),
    "drf": ({}, lambda _: slow.LeastShare()),
    "tetris": ({}, lambda _: slow.Aligned()),
    "themis": ({"lease_s": 20}, lambda _: slow.Leases(FinishTimeFairness(20))),
}


def asking(rows: Rows) -> list[JobSpec]:
    return [
        replace(
            job(f"j{i:02d}", s, max(int(gpus), 1), *runs, vc="abc"[i % 3]),
            user=f"u{i % 3}",
            gpu_frac=float(gpus) if gpus < 1 else 1.0,
        )
        for i, (s, gpus, runs) in enumerate(rows)
    ]


def assert_equals_reference(name: str, rows: Rows) -> None:
    knobs, reference = PAIRS[name]
    if name in ("las", "tiresias", "gittins", "maxmin"):  # GPU-seconds divide without rounding
        rows = [(s, g if 4 * g in (1, 2, 4, 8) else Fraction(1, 2), runs) for s, g, runs in rows]
    specs = asking(rows)
    schedule = run(specs, machines(3), policy_named(name.split()[0], knobs))
    ours = gantt(schedule)
    # a migrated job starts anew in the queues, but not in the lists of the reference
    assume(name not in ("las", "tiresias") or not migrates(ours))
    in_turn = sorted(specs, key=lambda spec: (spec.submit_s, spec.job_id))
    world = World(machines(3), make=slow.SharingJob)
    assert_same_bars(ours, simulate(specs, world, reference(in_turn)), within_s=2e-3)
    never_over_one(specs, schedule)


def never_over_one(specs: list[JobSpec], schedule: Schedule) -> None:
    shares = {s.job_id: s.gpu_frac for s in specs}
    held = schedule.placements.join(schedule.attempts, on=["job_id", "attempt"]).rows(named=True)
    for start_s in {row["start_s"] for row in held}:
        by_gpu: Counter[int] = Counter()
        for row in held:
            if row["start_s"] <= start_s < row["end_s"]:
                by_gpu[row["gpu"]] += shares[row["job_id"]]  # type: ignore[assignment]
        assert all(share <= 1 + 1e-9 for share in by_gpu.values())


@examples(10)
@pytest.mark.parametrize("name", PAIRS)
def test_policies_share_gpus_as_their_references_do(name: str, examples: int) -> None:
    check = given(workloads)(lambda rows: assert_equals_reference(name, rows))
    settings(max_examples=examples)(check)()


PARTING = [name for name, policy in POLICIES.items() if policy.fractional]

HALVED: dict[str, dict[str, list[float]]] = {
    "las": {"thresholds_gpu_s": [40, 200]},
    "tiresias": {"thresholds_gpu_s": [40, 200]},
    "gittins": {"thresholds_gpu_s": [40, 200], "service_gpu_s": [20, 60, 400]},
}
"""Knobs that count GPU time."""


@pytest.mark.parametrize("name", quick_first(PARTING, 2))
@settings(max_examples=5)
@given(workloads)
def test_gpus_in_halves_are_twice_as_many(name: str, rows: Rows) -> None:
    """Half a GPU each of four is one GPU each of eight, in quotas and service, too."""
    whole = [replace(spec, gpus=1, gpu_frac=1.0) for spec in asking(rows)]
    half = [replace(spec, gpu_frac=0.5) for spec in whole]
    counts = HALVED.get(name, {})
    halves = {knob: [value / 2 for value in values] for knob, values in counts.items()}
    one = run(half, machines(4), policy_named(name, halves), quotas={"a": 2, "b": 1, "c": 1})
    other = run(whole, machines(8), policy_named(name, counts), quotas={"a": 4, "b": 2, "c": 2})
    assert sorted(one.attempts.rows()) == sorted(other.attempts.rows())
    assert (2 * one.placements["gpu"].n_unique()) >= other.placements["gpu"].n_unique()


@pytest.mark.parametrize("name", quick_first(sorted(POLICIES.keys() - {"recorded"}), 3))
@settings(max_examples=4)
@given(workloads)
def test_all_policies_serve_what_shares_ask_for(name: str, rows: Rows) -> None:
    specs = asking(rows)
    there = [replace(m, cpus=12.0, mem_gb=240.0) for m in machines(2, 1, 1)]
    policy = POLICIES[name]
    schedule = run(specs, there, policy(), quotas={"a": 2, "b": 1, "c": 1})
    assert set(schedule.jobs["end_s"].is_not_null()) == {True}
    if policy.elastic:
        return
    served = schedule.attempts.group_by("job_id").agg((pl.col("end_s") - pl.col("start_s")).sum())
    took_s = dict(served.iter_rows())
    for spec in specs:
        assert took_s[spec.job_id] == pytest.approx(spec.run_s, abs=1e-3)
    if policy.fractional:
        one = run(specs, machines(3), policy(), quotas={"a": 2, "b": 1, "c": 1})
        never_over_one(specs, one)


def test_instances_are_as_large_as_nvidia_makes_them() -> None:
    def slices(share: float, of: int) -> float:
        return as_allocated(part("a", 0, share, 1), of).gpu_frac * of

    # 1g, 2g, 3g, 4g and 7g; shares written to two digits name them too
    assert [slices(s, 7) for s in (0.1, 0.14, 1 / 7, 0.15, 0.29, 0.4, 0.43, 0.5, 0.6, 0.9)] == [
        *(1, 1, 1, 2, 2, 3, 3, 4, 7, 7)
    ]
    assert [slices(s, 4) for s in (0.25, 0.3, 0.5, 0.51, 0.75)] == [1, 2, 2, 2, 4]
    assert [slices(s, 3) for s in (0.1, 0.33, 0.34, 0.5)] == [1, 1, 1, 3]
    gang = replace(job("a", 0, 4, 1), gpu_frac=0.5)
    assert as_allocated(gang, 7).gpu_s == as_allocated(gang, None).gpu_s == 4


def test_gpus_cut_otherwise_are_other_pools() -> None:
    jobs = [part("a", 0, 0.1, 10)]
    with pytest.raises(SimulationError, match="different slices"):
        run(jobs, fleet("1x1/7,1x1"), Fifo())
    assert [m.slices for m in fleet("1x8/7:24:500@4=A100,1x8")] == [7, None]


def test_a_what_if_says_what_became_of_shares() -> None:
    jobs = [part("a", 0, 0.5, 3600), part("b", 0, 0.5, 3600), job("c", 0, 1, 3600)]
    assert gantt(run(jobs[:2], machines(1), Fifo()))["b"] == done(0, 3600)
    assert gantt(run(jobs[:2], machines(1), Gandiva(quantum_s=1e5)))["b"] == done(3600, 7200)

    def said(slices: int | None, *, parts: bool = True) -> tuple[str, ...]:
        there = tuple(replace(m, slices=slices) for m in machines(1))
        return fraction_notes([Pool("", there, tuple(jobs))], fractional=parts)

    [fractional], [whole], [sliced] = said(None), said(None, parts=False), said(7)
    assert fractional.startswith("2 jobs") and "no more" in fractional
    assert whole.startswith("2 jobs") and "1.00 GPU hours more" in whole
    assert sliced.startswith("2 jobs") and f"{2 * (4 / 7 - 0.5):.2f} GPU hours more" in sliced
    assert fraction_notes([Pool("", tuple(machines(1)), (jobs[2],))], fractional=True) == ()
