"""Compare policies with slow references written from their papers, on small random workloads."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from philly_analysis.simulator import Policy, policy_named, run
from philly_analysis.simulator.policies.view import View
from philly_analysis.simulator.speed.profiles import PROFILES
from philly_analysis.workload import JobSpec, Machine
from tests.simulator import reference as slow
from tests.simulator import reference_servers as on_servers
from tests.simulator import reference_shares as shares
from tests.simulator.drawn import assert_same_bars, bars_of, gantt, job, machines, migrates
from tests.simulator.reference_philly import Quotas
from tests.support.slow import quick_first

Rows = list[tuple[int, int, list[int]]]
"""Submission, gang and run times of each job."""

workloads: st.SearchStrategy[Rows] = st.lists(
    st.tuples(
        st.integers(0, 100),
        st.sampled_from([1, 1, 2, 4, 8]),  # GPU-seconds divide without rounding
        st.lists(st.integers(0, 60), min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=14,
)


def examples(few: int, many: int = 3_000) -> pytest.MarkDecorator:
    """Run a test with a few examples, and with many in the slow suite."""
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.slow)])


def specs_of(rows: Rows) -> list[JobSpec]:
    return [job(f"j{i:02d}", s, g, *runs) for i, (s, g, runs) in enumerate(rows)]


def assert_same(specs: list[JobSpec], one: Policy, other: Policy, **options: Any) -> None:
    """Whether two policies place and run jobs equally on servers of 4, 4, 2 and 1 GPUs."""
    servers = machines(4, 4, 2, 1, rack="r")
    ours, theirs = (run(specs, servers, policy, **options) for policy in (one, other))
    assert gantt(ours) == gantt(theirs)
    assert ours.placements.equals(theirs.placements)


PREEMPTIVE: dict[str, dict[str, object]] = {
    "srtf": {"restart_s": 3},
    "srsf": {"restart_s": 3},
    "las": {"thresholds_gpu_s": [8, 40]},
    "tiresias": {"thresholds_gpu_s": [8, 40], "promote": 2},
    "tiresias arrival": {"thresholds_gpu_s": [8, 40], "promote": 2, "order": "arrival"},
    "gittins": {"thresholds_gpu_s": [8, 40], "steps": 5},
}


@pytest.mark.parametrize("consolidate", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("name", quick_first(PREEMPTIVE, 2))
@settings(max_examples=25)
@given(rows=workloads)
def test_lazy_preemption_equals_eager_preemption(name: str, rows: Rows, consolidate: bool) -> None:
    lazy = policy_named(name.split()[0], {**PREEMPTIVE[name], "consolidate": consolidate})

    class Eager(type(lazy)):  # type: ignore[misc]
        def may_change(self, view: View) -> bool:
            return bool(view.queue.groups)

    eager = Eager(**{f.name: getattr(lazy, f.name) for f in fields(lazy)})
    assert_same(specs_of(rows), lazy, eager)


LIMITS: dict[str, object] = {"thresholds_gpu_s": [40, 200]}
PAIRS: dict[str, tuple[dict[str, object], Callable[[list[JobSpec]], slow.Policy]]] = {
    "fifo": ({}, lambda _: slow.InTurn(slow.submitted)),
    "fifo backfill": ({"backfill": True}, lambda _: slow.InTurn(slow.submitted, blocks=False)),
    "sjf": ({}, lambda _: slow.InTurn(slow.shortest)),
    "easy": ({}, lambda _: slow.EasyBackfill()),
    "easy guess": ({"estimate": 3}, lambda _: slow.EasyBackfill(3.0)),
    "conservative": ({}, lambda _: shares.ConservativeBackfill()),
    "conservative guess": ({"estimate": 3}, lambda _: shares.ConservativeBackfill(3.0)),
    "qssf": ({}, lambda specs: slow.InTurn(shares.Predicted(specs))),
    "srsf": ({}, lambda _: shares.ShortestService()),
    "gittins": (
        {**LIMITS, "steps": 5},
        lambda specs: shares.GittinsIndices(shares.quantiles(specs, 5), (40, 200)),
    ),
    "gittins given": (
        {"thresholds_gpu_s": [], "service_gpu_s": [20, 60, 400]},
        lambda _: shares.GittinsIndices([20, 60, 400], ()),
    ),
    "maxmin": ({"round_s": 20, "of": "vc"}, lambda _: shares.MaxMinFairness(20)),
    "gandiva": ({"quantum_s": 20}, lambda _: shares.TimeSlices(20, pack=True)),
    "gandiva alone": ({"quantum_s": 20, "pack": False}, lambda _: shares.TimeSlices(20)),
    "srtf": ({}, lambda _: slow.ShortestRemaining()),
    "las": (LIMITS, lambda _: slow.LeastAttained((40, 200))),
    "tiresias": ({**LIMITS, "promote": 2}, lambda _: slow.LeastAttained((40, 200), 2.0)),
    "las restarts": ({**LIMITS, "restart_s": 6.5}, lambda _: slow.LeastAttained((40, 200))),
    "tiresias restarts": (
        {**LIMITS, "promote": 1, "restart_s": 23.5},
        lambda _: slow.LeastAttained((40, 200), 1.0),
    ),
    "tiresias arrival": (
        {**LIMITS, "promote": 2, "order": "arrival"},
        lambda _: slow.LeastAttainedByArrival((40, 200), 2.0),
    ),
    "gittins restarts": (
        {**LIMITS, "steps": 5, "restart_s": 6.5},
        lambda specs: shares.GittinsIndices(shares.quantiles(specs, 5), (40, 200)),
    ),
    "themis": ({"lease_s": 20}, lambda _: slow.FinishTimeFairness(20.0)),
}


def assert_equals_reference(name: str, rows: Rows) -> None:
    knobs, reference = PAIRS[name]
    policy: Policy = policy_named(name.split()[0], knobs)
    if policy.name in ("las", "tiresias", "conservative"):  # no two decisions at one moment
        rows = [(s, g, [max(run_s, 1) for run_s in runs]) for s, g, runs in rows]
    sizes = (8, 3)
    if policy.name == "gandiva":  # so few GPUs that jobs share them
        sizes, rows = (2, 1), [(s, g // 2 or 1, runs) for s, g, runs in rows if g < 8]
    assume(rows)
    specs = [
        replace(
            spec,
            vc="abc"[i % 3],
            user=f"u{i % 3}",
            util_frac=(i * 5 % 8 + 1) / 10,
            gpu_mem_frac=(i * 3 % 8 + 1) / 10,
        )
        for i, spec in enumerate(specs_of(rows))
    ]
    ours = bars_of(specs, sizes, policy, speed=policy.speed())
    assume(not migrates(ours))  # a reference that counts GPUs has no migrations
    in_turn = sorted(specs, key=lambda spec: (spec.submit_s, spec.job_id))
    model = reference(in_turn)
    model.stall_s = policy.restart_s
    # the engine joins moments less than a millisecond apart, the reference does not
    assert_same_bars(ours, slow.simulate(specs, slow.World(machines(sum(sizes))), model))


SERVERS = [
    Machine("m0", 4, cpus=12.0, mem_gb=250.0, rack="r"),
    Machine("m1", 4, cpus=12.0, mem_gb=250.0, rack="r"),
    Machine("m2", 2, cpus=8.0, mem_gb=100.0, rack="s"),
]
QUOTAS = {"a": 5, "b": 3, "c": 2}
MODELS: list[str | None] = [None, *list(PROFILES)[:4]]
ON_SERVERS: dict[str, tuple[dict[str, object], Callable[[], slow.Policy]]] = {
    "drf": ({"of": "vc"}, on_servers.DominantShares),
    "tetris": ({}, on_servers.Alignment),
    "philly": (
        {"hold_s": 17, "backoff_s": 12, "relax": [1, 2]},
        lambda: Quotas(17, 12, (1, 2), QUOTAS),
    ),
    "synergy": ({}, on_servers.Tuned),
    "synergy greedy": ({"allocation": "greedy"}, on_servers.Greedy),
    "antman": (
        {"convert_after_s": 15},
        lambda: on_servers.Opportunistic(15),
    ),
    "amoeba": (
        {"order": "srtf", "round_s": 20, "pending_above": 1, "restart_s": 3.3},
        lambda: on_servers.Elastic(
            round_s=20, pending_above=1, most=2, least=0.25, alpha=0.9, stall_s=3.3
        ),
    ),
}
ALONE = [Machine("all", sum(m.gpus for m in SERVERS), cpus=99.0, mem_gb=999.0)]


def assert_equals_reference_on_servers(name: str, rows: Rows) -> None:
    knobs, reference = ON_SERVERS[name]
    specs = []
    for i, (submit_s, requested, runs_s) in enumerate(rows):
        gpus = 1 if name == "synergy" else requested
        model = MODELS[(i * 3 + gpus) % len(MODELS)]
        off_s = submit_s + 0.0123 * i  # no job arrives just as another ends
        spec = job(f"j{i:02d}", off_s, gpus, *(max(run_s, 1) for run_s in runs_s))
        wants = PROFILES[model] if model else None
        specs.append(
            replace(
                spec,
                vc="abc"[i % 3],
                job_type=model,
                cpus=wants.cpus * gpus if wants else None,
                mem_gb=wants.mem_gb * gpus if wants else None,
                util_frac=(i * 5 % 8 + 1) / 8,
                gpu_mem_frac=(i * 3 % 8 + 1) / 8,
            )
        )
    policy: Policy = policy_named(name.split()[0], knobs)
    ours = gantt(run(specs, SERVERS, policy, speed=policy.speed(), quotas=QUOTAS))
    world = slow.World(ALONE if name == "amoeba" else SERVERS)
    assert_same_bars(ours, slow.simulate(specs, world, reference()), within_s=2e-3)


HOLDS_AGAIN: Rows = [
    *((0, 1, [0, 0]), (28, 8, [60]), (70, 8, [5, 60]), (2, 1, [51, 60]), (10, 4, [60, 21])),
    *((9, 2, [53]), (60, 4, [7]), (6, 2, [33]), (0, 1, [2]), (24, 4, [12, 60])),
]
"""A gang that holds leaves a GPU to another one, which takes it once a job has ended."""


@examples(15)
@pytest.mark.parametrize("name", ON_SERVERS)
def test_policies_on_servers_equal_their_references(name: str, examples: int) -> None:
    check = given(workloads)(lambda rows: assert_equals_reference_on_servers(name, rows))
    settings(max_examples=examples)(example(HOLDS_AGAIN)(check))()


STOPS_SOON: Rows = [
    *((0, 1, [0]), (0, 4, [7]), (0, 8, [5]), (4, 8, [0]), (23, 4, [5]), (29, 8, [1]), (35, 4, [0]))
]
"""Preemptions so soon after starts that the milliseconds lost add up."""


@examples(15)
@pytest.mark.parametrize("name", PAIRS)
def test_policies_equal_their_references(name: str, examples: int) -> None:
    check = given(workloads)(lambda rows: assert_equals_reference(name, rows))
    settings(max_examples=examples)(example(STOPS_SOON)(check))()
