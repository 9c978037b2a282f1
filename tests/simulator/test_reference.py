"""Policies equal a slow reference written from their papers, on small random workloads."""

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from philly_analysis.simulator import Policy, policy_named, run

from . import reference as slow
from .drawn import gantt, job, machines

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
GPUS = 11

PAIRS: dict[str, tuple[dict[str, object], Callable[[], slow.Policy]]] = {
    "fifo": ({}, lambda: slow.InTurn(slow.submitted)),
    "fifo backfill": ({"backfill": True}, lambda: slow.InTurn(slow.submitted, blocks=False)),
    "sjf": ({}, lambda: slow.InTurn(slow.shortest)),
    "easy": ({}, lambda: slow.EasyBackfill()),
    "easy guess": ({"estimate": 3}, lambda: slow.EasyBackfill(3.0)),
    "srtf": ({}, lambda: slow.ShortestRemaining()),
    "las": ({"thresholds_gpu_s": [40, 200]}, lambda: slow.LeastAttained((40, 200))),
    "tiresias": (
        {"thresholds_gpu_s": [40, 200], "promote": 2},
        lambda: slow.LeastAttainedWithPromotion((40, 200), 2.0),
    ),
    "themis": ({"lease_s": 20}, lambda: slow.FinishTimeFairness(20.0)),
}


def same(name: str, rows: Rows) -> None:
    knobs, reference = PAIRS[name]
    specs = [job(f"j{i:02d}", s, g, *runs) for i, (s, g, runs) in enumerate(rows)]
    policy: Policy = policy_named(name.split()[0], knobs)
    ours = gantt(run(specs, machines(8, 3), policy))
    # who is moved begins to run anew, which a walk that counts GPUs cannot know
    assume(all(how != "migrated" for bars in ours.values() for *_, how in bars))
    theirs = slow.walk_through(specs, GPUS, reference())
    assert ours == {
        name: [(round(a, 3), round(b, 3), how) for a, b, how in bars]
        for name, bars in theirs.items()
    }


@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=25)
@given(workloads)
def test_a_policy_is_its_paper_on_some_workloads(name: str, rows: Rows) -> None:
    same(name, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=3_000)
@given(workloads)
def test_a_policy_is_its_paper_on_thousands_of_workloads(name: str, rows: Rows) -> None:
    same(name, rows)
