"""Policies equal a slow reference written from their papers, on small random workloads."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from philly_analysis.simulator import Policy, policy_named, run
from philly_analysis.simulator.jobs.job import FOREVER
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.policies.gandiva import Gandiva
from philly_analysis.simulator.policies.philly import Philly
from philly_analysis.simulator.policies.view import Plan, View, Wish
from philly_analysis.simulator.speed.profiles import PROFILES
from philly_analysis.simulator.speed.speed import Sharing
from philly_analysis.workload import JobSpec, Machine
from tests.simulator import reference as slow
from tests.simulator import reference_servers as on_servers
from tests.simulator import reference_shares as shares
from tests.simulator.drawn import gantt, job, machines
from tests.simulator.reference_philly import Quotas
from tests.support.strategies import one_in

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


class EagerPhilly(Philly):
    """Looks at each gang whenever it asks or lets go, at all groups, and keeps nothing."""

    def wake_s(self, view: View) -> float:
        gangs = [job for job in view.queue if job.gpus > 1]
        cycles = [
            (job, self._patience.cycle(job, view.now_s) + i) for job in gangs for i in range(2)
        ]
        lets_go_s = [self._patience.lets_go_s(job, cycle) for job, cycle in cycles]
        moments_s = [at_s + wait_s for at_s in lets_go_s for wait_s in (0, self.backoff_s)]
        soonest_s = min((at_s for at_s in moments_s if at_s > view.now_s + 1e-5), default=FOREVER)
        return min(soonest_s, super().wake_s(view))

    def _concerned(self, plan: Plan) -> list[Any]:
        return list(plan.view.queue.groups)

    def _front(self, view: View, group: Any, *, after: bool = False) -> Any:
        view.kept.clear()
        return super()._front(view, group, after=after)


class ForgetfulAntMan(AntMan):
    """Looks at all machines for each guest, each time."""

    def decide(self, view: View) -> Wish:
        view.kept.clear()
        return super().decide(view)


@one_in(2)
@given(workloads, st.lists(st.sampled_from("abc"), min_size=14, max_size=14))
def test_philly_misses_nothing_by_looking_only_where_something_may_happen(
    rows: Rows, vcs: list[str]
) -> None:
    eager_equals_lazy(rows, vcs)


@pytest.mark.slow
@settings(max_examples=3_000)
@given(workloads, st.lists(st.sampled_from("abc"), min_size=14, max_size=14))
def test_philly_misses_nothing_on_thousands_of_workloads(rows: Rows, vcs: list[str]) -> None:
    eager_equals_lazy(rows, vcs)


def eager_equals_lazy(rows: Rows, vcs: list[str]) -> None:
    specs = [
        job(f"j{i:02d}", s, g, *runs, vc=vc)
        for i, ((s, g, runs), vc) in enumerate(zip(rows, vcs, strict=False))
    ]
    knobs: dict[str, Any] = {"hold_s": 17.0, "backoff_s": 12.0, "relax": (1.0, 2.0)}
    servers, quotas = machines(4, 4, 2, 1, rack="r"), {"a": 5, "b": 4, "c": 2}
    lazy, eager = (
        run(specs, servers, policy, quotas=quotas)
        for policy in (Philly(**knobs), EagerPhilly(**knobs))
    )
    assert gantt(lazy) == gantt(eager)
    assert lazy.placements.equals(eager.placements)


@one_in(2)
@given(workloads, st.lists(st.tuples(*[st.floats(0.05, 1)] * 2), min_size=14, max_size=14))
def test_antman_misses_no_room_by_looking_only_where_something_changed(
    rows: Rows, uses: list[tuple[float, float]]
) -> None:
    specs = [
        replace(job(f"j{i:02d}", s, g, *runs), util_frac=util, gpu_mem_frac=mem)
        for i, ((s, g, runs), (util, mem)) in enumerate(zip(rows, uses, strict=False))
    ]
    knobs: dict[str, Any] = {"convert_after_s": 5.0, "looks_at": 4}
    ours, theirs = (
        run(specs, machines(4, 4, 2, 1), policy, speed=Sharing())
        for policy in (AntMan(**knobs), ForgetfulAntMan(**knobs))
    )
    assert gantt(ours) == gantt(theirs)
    assert ours.placements.equals(theirs.placements)


ASKED_AGAIN: dict[str, dict[str, object]] = {
    "srtf": {"restart_s": 3},
    "srsf": {"restart_s": 3},
    "las": {"thresholds_gpu_s": [8, 40]},
    "tiresias": {"thresholds_gpu_s": [8, 40], "promote": 2},
    "gittins": {"thresholds_gpu_s": [8, 40], "steps": 5},
}


@pytest.mark.parametrize("consolidate", [False, True])
@pytest.mark.parametrize("name", ASKED_AGAIN)
@settings(max_examples=25)
@given(rows=workloads)
def test_an_order_misses_nothing_by_deciding_only_where_something_may_change(
    name: str, rows: Rows, consolidate: bool
) -> None:
    lazy = policy_named(name, {**ASKED_AGAIN[name], "consolidate": consolidate})

    class Eager(type(lazy)):  # type: ignore[misc]
        def may_change(self, view: View) -> bool:
            return bool(view.queue.groups)

    specs = [job(f"j{i:02d}", s, g, *runs) for i, (s, g, runs) in enumerate(rows)]
    servers = machines(4, 4, 2, 1)
    ours, theirs = (
        run(specs, servers, policy)
        for policy in (lazy, Eager(**{f.name: getattr(lazy, f.name) for f in fields(lazy)}))
    )
    assert gantt(ours) == gantt(theirs)
    assert ours.placements.equals(theirs.placements)


@one_in(2)
@given(workloads)
def test_packing_adds_nothing_where_every_gpu_is_fully_used(rows: Rows) -> None:
    specs = [
        replace(job(f"j{i:02d}", s, g, *runs), util_frac=1.0, gpu_mem_frac=0.1)
        for i, (s, g, runs) in enumerate(rows)
    ]
    packed, alone = (
        run(specs, machines(4, 2, 2), Gandiva(quantum_s=20.0, pack=pack), speed=Sharing())
        for pack in (True, False)
    )
    assert gantt(packed) == gantt(alone)


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
        {"thresholds_gpu_s": [40, 200], "steps": 5},
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
    "las": ({"thresholds_gpu_s": [40, 200]}, lambda _: slow.LeastAttained((40, 200))),
    "tiresias": (
        {"thresholds_gpu_s": [40, 200], "promote": 2},
        lambda _: slow.LeastAttained((40, 200), 2.0),
    ),
    "las restarts": (
        {"thresholds_gpu_s": [40, 200], "restart_s": 6.5},
        lambda _: slow.LeastAttained((40, 200)),
    ),
    "tiresias restarts": (
        {"thresholds_gpu_s": [40, 200], "promote": 1, "restart_s": 23.5},
        lambda _: slow.LeastAttained((40, 200), 1.0),
    ),
    "gittins restarts": (
        {"thresholds_gpu_s": [40, 200], "steps": 5, "restart_s": 6.5},
        lambda specs: shares.GittinsIndices(shares.quantiles(specs, 5), (40, 200)),
    ),
    "themis": ({"lease_s": 20}, lambda _: slow.FinishTimeFairness(20.0)),
}


def same(name: str, rows: Rows) -> None:
    knobs, reference = PAIRS[name]
    if name.split()[0] in ("las", "tiresias", "conservative"):  # no two passes of one moment
        rows = [(s, g, [max(run_s, 1) for run_s in runs]) for s, g, runs in rows]
    sizes = (8, 3)
    if name.split()[0] == "gandiva":  # so few GPUs that jobs share them
        sizes, rows = (2, 1), [(s, g // 2 or 1, runs) for s, g, runs in rows if g < 8]
    assume(rows)
    specs = [
        replace(
            job(f"j{i:02d}", s, g, *runs, vc="abc"[i % 3]),
            user=f"u{i % 3}",
            util_frac=(i * 5 % 8 + 1) / 10,
            gpu_mem_frac=(i * 3 % 8 + 1) / 10,
        )
        for i, (s, g, runs) in enumerate(rows)
    ]
    policy: Policy = policy_named(name.split()[0], knobs)
    ours = gantt(run(specs, machines(*sizes), policy, speed=policy.speed()))
    # who is moved begins to run anew, which a walk that counts GPUs cannot know
    assume(all(how != "migrated" for bars in ours.values() for *_, how in bars))
    in_turn = sorted(specs, key=lambda spec: (spec.submit_s, spec.job_id))
    theirs = slow.walk_through(specs, sum(sizes), reference(in_turn), restart_s=policy.restart_s)
    # a moment that is less than a millisecond away is the same to the engine, and not to the walk
    assert {name: [how for *_, how in bars] for name, bars in ours.items()} == {
        name: [how for *_, how in bars] for name, bars in theirs.items()
    }
    found, wanted = (
        [moment for name in ours for *moments, _ in bars[name] for moment in moments]
        for bars in (ours, theirs)
    )
    assert found == pytest.approx(wanted, abs=1e-3, rel=0)


SERVERS = [
    Machine("m0", 4, cpus=12.0, mem_gb=250.0, rack="r"),
    Machine("m1", 4, cpus=12.0, mem_gb=250.0, rack="r"),
    Machine("m2", 2, cpus=8.0, mem_gb=100.0, rack="s"),
]
QUOTAS = {"a": 5, "b": 3, "c": 2}
MODELS: list[str | None] = [None, *list(PROFILES)[:4]]
ON_SERVERS: dict[str, tuple[dict[str, object], Callable[[], on_servers.Policy]]] = {
    "drf": ({"of": "vc"}, lambda: on_servers.DominantShares()),
    "tetris": ({}, lambda: on_servers.Alignment()),
    "philly": (
        {"hold_s": 17, "backoff_s": 12, "relax": [1, 2]},
        lambda: Quotas(17, 12, (1, 2), QUOTAS),
    ),
    "synergy": ({}, lambda: on_servers.Tuned()),
    "synergy greedy": ({"allocation": "greedy"}, lambda: on_servers.Greedy()),
    "antman": (
        {"convert_after_s": 15, "looks_at": 4},
        lambda: on_servers.Opportunistic(15, looks_at=4),
    ),
    "amoeba": (
        {"order": "srtf", "round_s": 20, "pending_above": 1, "restart_s": 3.3},
        lambda: on_servers.Elastic(
            round_s=20, pending_above=1, most=2, least=0.25, alpha=0.9, stall_s=3.3
        ),
    ),
}
ALONE = [Machine("all", sum(m.gpus for m in SERVERS), cpus=99.0, mem_gb=999.0)]


def same_on_servers(name: str, rows: Rows) -> None:
    knobs, reference = ON_SERVERS[name]
    specs = []
    for i, (submit_s, asked, runs_s) in enumerate(rows):
        gpus = 1 if name == "synergy" else asked
        model = MODELS[(i * 3 + gpus) % len(MODELS)]
        off_s = submit_s + 0.0123 * i  # nobody comes just as another leaves
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
    theirs = on_servers.walk_on(specs, ALONE if name == "amoeba" else SERVERS, reference())
    assert set(ours) == set(theirs)
    for job_id, bars in ours.items():
        assert [how for *_, how in bars] == [how for *_, how in theirs[job_id]]
        for one, other in zip(bars, theirs[job_id], strict=True):
            assert one[:2] == pytest.approx(other[:2], abs=2e-3)


@pytest.mark.parametrize("name", ON_SERVERS)
@settings(max_examples=15)
@given(workloads)
def test_a_policy_on_servers_is_its_paper_on_some_workloads(name: str, rows: Rows) -> None:
    same_on_servers(name, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_SERVERS)
@settings(max_examples=3_000)
@given(workloads)
def test_a_policy_on_servers_is_its_paper_on_thousands_of_workloads(name: str, rows: Rows) -> None:
    same_on_servers(name, rows)


@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=25)
@given(workloads)
@example(  # stops so soon after starts that what is lost of a millisecond adds up
    rows=[
        (0, 1, [0]),
        (0, 4, [7]),
        (0, 8, [5]),
        (4, 8, [0]),
        (23, 4, [5]),
        (29, 8, [1]),
        (35, 4, [0]),
    ]
)
def test_a_policy_is_its_paper_on_some_workloads(name: str, rows: Rows) -> None:
    same(name, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=3_000)
@given(workloads)
def test_a_policy_is_its_paper_on_thousands_of_workloads(name: str, rows: Rows) -> None:
    same(name, rows)
