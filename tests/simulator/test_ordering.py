"""Compare the engine's sorted jobs and dates with sorting from scratch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.simulator.engine.event_queue import EventQueue
from philly_analysis.simulator.jobs import ordering
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.ordering import Queue, SortedJobs
from philly_analysis.workload import AttemptSpec, JobSpec


def jobs(count: int) -> list[Job]:
    spec = JobSpec("j", "vc", "u", 1, 0.0, (AttemptSpec(1.0),))
    return [Job(spec, index) for index in range(count)]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3))))
def test_an_order_is_sorted_by_key_then_submission(steps: list[tuple[int, bool, int]]) -> None:
    some, order = jobs(6), SortedJobs()
    keys: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "_BLOCK", 1)  # blocks of at most two jobs
        for which, there, key in steps:
            order.discard(some[which])
            keys.pop(which, None)
            if there:
                order.add(some[which], key)
                keys[which] = key
    expected = [some[which] for which in sorted(keys, key=lambda w: (keys[w], w))]
    assert list(order) == expected
    assert list(reversed(order)) == expected[::-1]
    assert len(order) == len(expected)


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([None, "a", "b"]), st.integers(0, 3))))
def test_a_queue_holds_each_job_in_its_last_group(steps: list[tuple[int, str | None, int]]) -> None:
    some, queue, filed = jobs(6), Queue(), {}
    for which, group, key in steps:
        queue.put(some[which], group, key)
        filed[which] = (group, key)
    asking = {w: (g, k) for w, (g, k) in filed.items() if g is not None}
    for name in ("a", "b"):
        members = sorted((k, w) for w, (g, k) in asking.items() if g == name)
        assert [j.index for j in queue.groups.get(name, ())] == [w for _, w in members]
    assert len(queue) == len(asking)
    assert all(queue.groups.values())


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["end", "review", "halt", "forget"]),
            st.integers(1, 9),
        )
    )
)
def test_of_all_dates_only_those_that_still_hold_come_due(
    steps: list[tuple[int, str, int]],
) -> None:
    some, event_queue = jobs(4), EventQueue()
    ends: dict[int, float] = {}
    reviews: dict[int, float] = {}
    for which, what, at_s in steps:
        job = some[which]
        if what == "end":  # as the engine sets it: a change of speed, then the new end
            job.change_speed(0.0, 1.0)
            event_queue.schedule_end(job, float(at_s))
            ends[which] = at_s
        elif what == "halt":
            job.stop(0.0)
            ends.pop(which, None)
        elif what == "review":
            event_queue.schedule_review(job, 0.0, float(at_s))
            reviews[which] = at_s
        else:
            event_queue.cancel_review(job)
            reviews.pop(which, None)
    seen = []
    while event_queue.next_s < FOREVER:
        now_s = event_queue.next_s
        for due in event_queue.due(now_s):
            assert due.at_s == now_s
            seen.append((due.at_s, due.job.index, due.ends))
            if due.ends:
                due.job.stop(now_s)
            else:
                event_queue.cancel_review(due.job)
    expected = [(at, w, True) for w, at in ends.items()]
    expected += [(at, w, False) for w, at in reviews.items()]
    assert sorted(seen) == sorted(expected)
    assert [at for at, _, _ in seen] == sorted(at for at, _, _ in seen)
