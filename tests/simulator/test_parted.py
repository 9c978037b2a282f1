"""Shares of GPUs: what fits beside what, on paper and against a walk that keeps nothing."""

from dataclasses import replace
from heapq import heappop, heappush

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from philly_analysis.simulator import Schedule, run
from philly_analysis.simulator.assumed import shares
from philly_analysis.simulator.outages import Outage
from philly_analysis.simulator.policies.ranked import Fifo, Srtf
from philly_analysis.workload import JobSpec
from tests.simulator.drawn import done, gantt, job, machines


def part(name: str, submit_s: float, share: float, run_s: float) -> JobSpec:
    return replace(job(name, submit_s, 1, run_s), gpu_frac=share)


def gpus(schedule: Schedule) -> dict[str, int]:
    return dict(schedule.placements.select("job_id", "gpu").iter_rows())


def test_shares_fill_a_gpu_before_the_next_is_parted() -> None:
    # c leaves least where b is, d fits beside a only; e wants a whole one and waits for both
    jobs = [
        part("a", 0, 0.5, 20),
        part("b", 1, 0.6, 10),
        part("c", 2, 0.4, 10),
        part("d", 3, 0.5, 10),
        job("e", 4, 1, 5),
    ]
    schedule = run(jobs, machines(2), Fifo())
    assert gpus(schedule) == {"a": 0, "b": 1, "c": 1, "d": 0, "e": 1}
    assert gantt(schedule)["e"] == done(12, 17)


def test_a_share_spans_no_two_gpus() -> None:
    # 0.8 are left in all, 0.4 of each
    jobs = [part("a", 0, 0.6, 20), part("b", 0, 0.6, 30), part("c", 1, 0.5, 5)]
    schedule = run(jobs, machines(2), Fifo())
    assert gantt(schedule)["c"] == done(20, 25)
    [wait] = schedule.waits.to_dicts()
    assert wait["cause"] == "fragmentation" and wait["fragmentation_s"] == 19


def test_who_wants_less_passes_by_where_that_is_allowed() -> None:
    jobs = [part("a", 0, 0.7, 20), part("b", 1, 0.5, 5), part("c", 2, 0.3, 5)]
    assert gantt(run(jobs, machines(1), Fifo(backfill=True)))["c"] == done(2, 7)
    assert gantt(run(jobs, machines(1), Fifo()))["c"] == done(20, 25)


def test_thirds_add_up() -> None:
    jobs = [part(name, 0, share, 10) for name, share in (("a", 0.1), ("b", 0.2), ("c", 0.7))]
    assert all(bars == done(0, 10) for bars in gantt(run(jobs, machines(1), Fifo())).values())


def test_a_gpu_that_fails_stops_all_who_share_it() -> None:
    jobs = [part("a", 0, 0.5, 20), part("b", 0, 0.5, 20)]
    outage = [Outage(5.0, 8.0, "m0", 0)]
    bars = gantt(run(jobs, machines(1), Fifo(), outages=outage))
    assert {tuple(own) for own in bars.values()} == {
        ((0, 5, "node_failure"), (8, 23, "completed")),
    }


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 60),
            st.sampled_from([0.1, 0.25, 0.4, 0.5, 0.75, 1.0]),
            st.integers(1, 40),
        ),
        min_size=1,
        max_size=14,
    )
)
def test_first_come_first_served_is_a_walk_over_shares(rows: list[tuple[int, float, int]]) -> None:
    # nobody comes just as another leaves
    jobs = [
        part(f"j{i:02d}", s + 0.0123 * i, share, length)
        for i, (s, share, length) in enumerate(rows)
    ]
    schedule = run(jobs, machines(3), Fifo())
    assert gantt(schedule) == walk(jobs, 3)
    held = schedule.placements.join(schedule.attempts, on=["job_id", "attempt"]).with_columns(
        share=pl.col("job_id").replace_strict({j.job_id: j.gpu_frac for j in jobs})
    )
    for start_s in held["start_s"]:
        there = held.filter((pl.col("start_s") <= start_s) & (pl.col("end_s") > start_s))
        by_gpu = there.group_by("machine_id", "gpu").agg(pl.col("share").sum())
        assert (by_gpu["share"] <= 1 + 1e-9).all()


def walk(jobs: list[JobSpec], count: int) -> dict[str, list[tuple[float, float, str]]]:
    """Best fit on one server in the order of submission; who does not fit blocks all behind."""
    left, now_s = [1.0] * count, 0.0
    ends: list[tuple[float, int, float]] = []
    bars: dict[str, list[tuple[float, float, str]]] = {}
    for spec in sorted(jobs, key=lambda j: (j.submit_s, j.job_id)):
        now_s = max(now_s, spec.submit_s)
        while True:
            while ends and ends[0][0] <= now_s:
                _, gpu, share = heappop(ends)
                left[gpu] += share
            if fitting := [(n, i) for i, n in enumerate(left) if n + 1e-9 >= spec.gpu_frac]:
                break
            now_s = ends[0][0]
        _, gpu = min((round(n, 6), i) for n, i in fitting)
        left[gpu] -= spec.gpu_frac
        heappush(ends, (now_s + spec.run_s, gpu, spec.gpu_frac))
        bars[spec.job_id] = done(round(now_s, 3), round(now_s + spec.run_s, 3))
    return bars


def test_a_what_if_says_what_became_of_shares() -> None:
    jobs = [part("a", 0, 0.5, 3600), part("b", 0, 0.5, 3600), job("c", 0, 1, 3600)]
    assert gantt(run(jobs[:2], machines(1), Fifo()))["b"] == done(0, 3600)
    assert gantt(run(jobs[:2], machines(1), Srtf()))["b"] == done(3600, 7200)
    [parted] = shares(jobs, parts=True)
    [whole] = shares(jobs, parts=False)
    assert parted.startswith("2 jobs") and "no more" in parted
    assert whole.startswith("2 jobs") and "1.00 GPU hours more" in whole
    assert shares(jobs[2:], parts=True) == ()
