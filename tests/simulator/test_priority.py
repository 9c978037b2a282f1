"""Check FIFO, SRTF and LAS on schedules drawn by hand."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.simulator import POLICIES, Speed, policy_named, run
from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.easy import Easy
from philly_analysis.simulator.policies.priority import Fifo, PreemptiveOrder, Srtf
from philly_analysis.simulator.policies.themis import Themis
from philly_analysis.simulator.policies.tiresias import Las, Tiresias
from philly_analysis.workload import JobSpec
from tests.simulator.drawn import done, ended_in_time, gantt, job, machines


def test_fifo_blocks_behind_a_gang_that_does_not_fit() -> None:
    #   0    10   20   30   40
    # a ==========                 2 of 4 GPUs
    # b      .....=====            4 GPUs: waits for a
    # c      .....    .====        1 GPU: would fit at 5, but b is before it
    jobs = [job("a", 0, 2, 20), job("b", 5, 4, 10), job("c", 6, 1, 8)]
    assert gantt(run(jobs, machines(4), Fifo())) == {
        "a": done(0, 20),
        "b": done(20, 30),
        "c": done(30, 38),
    }


def test_fifo_with_backfill_lets_the_small_pass() -> None:
    jobs = [job("a", 0, 2, 20), job("b", 5, 4, 10), job("c", 6, 1, 8)]
    assert gantt(run(jobs, machines(4), Fifo(backfill=True))) == {
        "a": done(0, 20),
        "b": done(20, 30),
        "c": done(6, 14),
    }


def test_easy_lets_pass_only_who_delays_the_first_gang_by_nothing() -> None:
    #   0    10   20   30   40
    # a ==========                 2 of 4 GPUs, believed to end at 20
    # b      .....=====            3 GPUs: reserved for 20, and leaves one GPU
    # c      ..........=           1 GPU, 30 s: takes the GPU that b leaves
    # d      .....     ====        1 GPU, 18 s: would end at 26, and delay b
    # e       ===========          1 GPU, 12 s: ends by 20
    jobs = [job("a", 0, 2, 20), job("b", 5, 3, 10), job("c", 6, 1, 30), job("d", 7, 1, 18)]
    jobs += [job("e", 8, 1, 12)]
    bars = gantt(run(jobs, machines(4), Easy()))
    assert bars["b"] == done(20, 30)
    assert bars["c"] == done(6, 36) and bars["d"] == done(30, 48) and bars["e"] == done(8, 20)


def test_easy_believes_estimates_that_are_too_long() -> None:
    # e is believed to take 24 s, to 32, where b is believed to start at 40: so it may pass;
    # but a ends at 20, and b has to wait for e only till 20
    jobs = [job("a", 0, 3, 20), job("b", 5, 4, 10), job("e", 8, 1, 12), job("f", 9, 1, 16)]
    bars = gantt(run(jobs, machines(4), Easy(estimate=2.0)))
    assert bars == {"a": done(0, 20), "b": done(20, 30), "e": done(8, 20), "f": done(30, 46)}


ORDERS = [name for name, policy in POLICIES.items() if issubclass(policy, (Fifo, PreemptiveOrder))]


@pytest.mark.parametrize("name", ORDERS)
def test_a_gang_that_is_to_be_consolidated_waits_for_one_server(name: str) -> None:
    # a and x leave one GPU of each server: b starts on both, or waits for a to end
    jobs = [job("a", 0, 2, 8), job("x", 0, 2, 30), job("b", 1, 2, 10)]
    for consolidate, start_s in ((False, 1), (True, 8)):
        policy = policy_named(name, {"consolidate": consolidate})
        assert gantt(run(jobs, machines(3, 3), policy))["b"] == done(start_s, start_s + 10)


def test_srtf_may_let_all_who_run_lose_work_as_jobs_come_and_end() -> None:
    # a (20 s) loses 3 s as b comes at 5, and 3 as b ends at 9; c comes a second later, of which a
    # loses no more than that second; as d comes at 10 s, too, that is one event
    jobs = [job("a", 0, 1, 20), job("b", 5, 1, 4), job("c", 10, 1, 90), job("d", 10, 1, 90)]
    bars = gantt(run(jobs, machines(4), Srtf(event_s=3)))
    assert bars["b"] == done(5, 9)
    assert bars["a"] == done(0, 27)
    # c and d lose 3 s as a ends; as they end at one moment, neither loses anything by the other
    assert bars["c"] == bars["d"] == done(10, 103)


def test_a_consolidated_gang_takes_whole_servers_and_its_rest_of_the_emptiest() -> None:
    # p, q on the first server, x on the second: as p ends they leave 3 and 2 GPUs, none whole
    jobs = [job("p", 0, 3, 1), job("q", 0, 1, 8), job("x", 0, 2, 30), job("b", 1, 5, 9)]
    for consolidate, start_s in ((False, 1), (True, 8)):
        policy = Fifo(consolidate=consolidate)
        assert gantt(run(jobs, machines(4, 4), policy))["b"] == done(start_s, start_s + 9)
    # x leaves 1 GPU and the third server is empty: b's rest goes there, so that c has to wait
    jobs = [job("x", 0, 3, 99), job("b", 1, 5, 9), job("c", 2, 4, 3)]
    for consolidate, start_s in ((False, 2), (True, 10)):
        policy = Fifo(consolidate=consolidate)
        assert gantt(run(jobs, machines(4, 4, 4), policy))["c"] == done(start_s, start_s + 3)


def test_first_fit_takes_the_first_server_and_leaves_no_whole_one() -> None:
    # a leaves 2 GPUs of the first server and y 1 of the second: b fits the second best, so that
    # c finds two GPUs on the first; by first fit b is there
    jobs = [job("a", 0, 2, 99), job("y", 0, 3, 99), job("b", 1, 1, 9), job("c", 2, 2, 5)]
    for first_fit, start_s in ((False, 2), (True, 10)):
        policy = Fifo(consolidate=True, first_fit=first_fit)
        assert gantt(run(jobs, machines(4, 4), policy))["c"] == done(start_s, start_s + 5)
    # a gang for two servers waits until one is whole, and takes its rest of the next
    jobs = [job("a", 0, 1, 9), job("b", 1, 5, 5)]
    assert gantt(run(jobs, machines(3, 3), Fifo(first_fit=True)))["b"] == done(1, 6)
    jobs = [job("a", 0, 1, 9), job("b", 1, 6, 5)]
    assert gantt(run(jobs, machines(3, 3), Fifo(first_fit=True)))["b"] == done(9, 14)


def test_a_failed_run_is_retried_with_the_age_of_its_job() -> None:
    # a fails at 10 and again asks, before b which came later, though b waited already
    jobs = [job("a", 0, 1, 10, 5), job("b", 1, 1, 3)]
    assert gantt(run(jobs, machines(1), Fifo())) == {
        "a": [(0, 10, "failed"), (10, 15, "completed")],
        "b": done(15, 18),
    }


def test_srtf_preempts_the_longest_and_resumes_it() -> None:
    # one GPU: a (10 s) runs; at 2 comes b (3 s) < a's 8 left; at 3 comes c (1 s) < b's 2 left
    jobs = [job("a", 0, 1, 10), job("b", 2, 1, 3), job("c", 3, 1, 1)]
    assert gantt(run(jobs, machines(1), Srtf())) == {
        "a": [(0, 2, "preempted"), (6, 14, "completed")],
        "b": [(2, 3, "preempted"), (4, 6, "completed")],
        "c": done(3, 4),
    }


def test_srtf_passes_a_gang_that_does_not_fit_by() -> None:
    # 4 GPUs: s (2 GPUs, 5 s left) ranks before g (4 GPUs, 6 s), which cannot fit beside it;
    # t (2 GPUs, 20 s) ranks behind g but fits, and gives way when s ends
    jobs = [job("s", 0, 2, 5), job("g", 0, 4, 6), job("t", 0, 2, 20)]
    assert gantt(run(jobs, machines(4), Srtf())) == {
        "s": done(0, 5),
        "g": done(5, 11),
        "t": [(0, 5, "preempted"), (11, 26, "completed")],
    }


def test_gangs_counted_before_they_are_placed_stop_others_for_nothing() -> None:
    #   0 1      8
    # a ==========                 2 of 3 GPUs of one server, x of the other
    # c ==                         1 GPU, 40 s: b, which is shorter, needs one GPU more than is free
    # b   ........=====            2 GPUs: c gives way, and leaves one GPU of each server
    jobs = [job("a", 0, 2, 8), job("x", 0, 2, 30), job("c", 0, 1, 40), job("b", 1, 2, 10)]
    bars = gantt(run(jobs, machines(3, 3), Srtf(consolidate=True)))
    assert bars["c"] == done(0, 40) and bars["b"] == done(8, 18)
    bars = gantt(run(jobs, machines(3, 3), Srtf(consolidate=True, counted=True)))
    assert bars["c"] == [(0, 1, "preempted"), (8, 47, "completed")] and bars["b"] == done(8, 18)


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from([1, 1, 2, 4, 8]), st.integers(1, 40)),
        min_size=1,
        max_size=14,
    )
)
def test_srtf_that_counts_first_is_heliosartifacts_second_by_second(
    rows: list[tuple[int, int, int]],
) -> None:
    specs = [job(f"{i:02}", at, gpus, run_s) for i, (at, gpus, run_s) in enumerate(rows)]
    policy = Srtf(consolidate=True, counted=True)
    bars = gantt(run(specs, machines(4, 4), policy))
    assert {name: runs[-1][1] for name, runs in bars.items()} == _second_by_second(specs, 4, 4)


def _second_by_second(specs: Sequence[JobSpec], *servers: int) -> dict[str, float]:
    """Walk through every second, as the simulator of Helios does; return when jobs end."""
    order = sorted(specs, key=lambda s: (s.submit_s, s.job_id))
    left_s = {s.job_id: s.run_s for s in order}
    place: dict[str, list[int]] = {}
    ends_s: dict[str, float] = {}
    for now_s in range(2_000):
        for name in [name for name in place if not left_s[name]]:
            ends_s[name] = now_s
            del place[name]
        present = [s for s in order if s.submit_s <= now_s and s.job_id not in ends_s]
        quota, chosen = sum(servers), []
        for spec in sorted(present, key=lambda s: left_s[s.job_id]):
            if spec.gpus <= quota:
                quota -= spec.gpus
                chosen.append(spec)
        names = {s.job_id for s in chosen}
        place = {name: held for name, held in place.items() if name in names}
        for spec in (s for s in chosen if s.job_id not in place):
            free = [n - sum(held[m] for held in place.values()) for m, n in enumerate(servers)]
            fits = sorted((n, m) for m, n in enumerate(free) if n >= spec.gpus)
            if fits:
                place[spec.job_id] = [spec.gpus * (m == fits[0][1]) for m in range(len(servers))]
            elif free == list(servers) and spec.gpus == sum(servers):
                place[spec.job_id] = list(servers)
        for name in place:
            left_s[name] -= 1
    assert len(ends_s) == len(order)
    return ends_s


def test_a_restart_costs_what_the_knob_says() -> None:
    jobs = [job("a", 0, 1, 10), job("b", 2, 1, 3)]
    bars = gantt(run(jobs, machines(1), Srtf(restart_s=4.0)))
    assert bars["a"] == [(0, 2, "preempted"), (5, 17, "completed")]  # 4 s lost, then 8 s of work


def test_srtf_knows_how_long_a_restart_takes_and_does_not_swap_for_nothing() -> None:
    # a (10 s) gives way at 2 to b (5 s); restarted it needs 8 + 6 s, so that c (13 s), which
    # comes at 3, goes first though a has only 8 s of work left
    jobs = [job("a", 0, 1, 10), job("b", 2, 1, 5), job("c", 3, 1, 13)]
    bars = gantt(run(jobs, machines(1), Srtf(restart_s=6.0)))
    assert bars["b"] == done(2, 7) and bars["c"] == done(7, 20)
    assert bars["a"] == [(0, 2, "preempted"), (20, 34, "completed")]


def test_srtf_sorts_anew_when_speeds_change() -> None:
    class Halved(Speed):
        """Half as fast beside others."""

        neighbourly = True

        def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
            return 0.5 if neighbours and job.spec.job_id == "a" else 1.0

    # alone a would end at 10 and b at 11; beside b, a needs 20: when c (3 s) comes, a gives way
    jobs = [job("a", 0, 1, 10), job("b", 0, 1, 11), job("c", 2, 1, 3)]
    bars = gantt(run(jobs, machines(2), Srtf(), speed=Halved()))
    assert bars["b"] == done(0, 11) and bars["c"] == done(2, 5)
    assert bars["a"][0] == (0, 2, "preempted")


def test_las_sends_a_job_down_at_the_threshold() -> None:
    # threshold 8 GPU-s; a holds 2 GPUs, so it falls at 4; b then outranks it on arrival at 5,
    # and falls itself at 13 to the end of the second queue, behind a
    jobs = [job("a", 0, 2, 10), job("b", 5, 1, 12)]
    assert gantt(run(jobs, machines(2), Las(thresholds_gpu_s=(8.0,)))) == {
        "a": [(0, 5, "preempted"), (13, 18, "completed")],
        "b": [(5, 13, "preempted"), (18, 22, "completed")],
    }


def test_a_preempted_job_waits_before_those_that_have_waited_longer() -> None:
    # a falls at 8 and runs on alone; b and c come, fall at 17 and 25, each behind who waits there;
    # a, which runs from 25 on, is stopped by d at 26, and goes on before b, which waits since 17
    jobs = [job("a", 0, 1, 20), job("b", 9, 1, 20), job("c", 17, 1, 20), job("d", 26, 1, 2)]
    bars = gantt(run(jobs, machines(1), Las(thresholds_gpu_s=(8.0,))))
    assert bars["a"] == [(0, 9, "preempted"), (25, 26, "preempted"), (28, 38, "completed")]
    assert bars["b"] == [(9, 17, "preempted"), (38, 50, "completed")]
    assert bars["c"] == [(17, 25, "preempted"), (50, 62, "completed")]


def test_las_counts_gpus_as_well_as_time() -> None:
    # w (4 GPUs) has held 12 GPU-s when n comes at 3, and gives way; n (1 GPU) has held 8 at 11,
    # and gives way to x, which is new; then w has waited longest
    jobs = [job("w", 0, 4, 6), job("n", 3, 1, 20), job("x", 10, 4, 1)]
    assert gantt(run(jobs, machines(4), Las(thresholds_gpu_s=(8.0,)))) == {
        "w": [(0, 3, "preempted"), (12, 15, "completed")],
        "n": [(3, 11, "preempted"), (15, 27, "completed")],
        "x": done(11, 12),
    }


def test_a_starving_job_rises_to_the_first_queue_and_counts_anew() -> None:
    # a falls at 8 and gives way to b at 10; b falls at 18, behind a; c comes to the first queue
    # at 20, falls at 28. a, first in the second queue, runs on; b, which has held 8 s, has waited
    # 2 times as long at 34 and rises; it falls at 42, by then behind c
    jobs = [job("a", 0, 1, 40), job("b", 10, 1, 30), job("c", 20, 1, 30)]
    bars = gantt(run(jobs, machines(1), Tiresias(thresholds_gpu_s=(8.0,), promote=2.0)))
    assert [bar[:2] for bar in bars["a"][:2]] == [(0, 10), (18, 20)]
    assert [bar[:2] for bar in bars["b"][:2]] == [(10, 18), (34, 42)]
    assert [bars["c"][0][:2], bars["a"][2][0]] == [(20, 28), 28]


@pytest.mark.parametrize("counted", [True, False])
def test_gangs_that_restart_for_longer_than_they_stay_in_their_queue_get_on(counted: bool) -> None:
    # a gang of 12 has 52 GPU-s in 4.3 s; each rise gives it these and a restart before them
    jobs = [job(f"j{i}", 60 + i, gpus, 60) for i, gpus in enumerate([8, 4, 8, 12, 12, 8])]
    policy = Tiresias(thresholds_gpu_s=(52.0,), promote=1.0, restart_s=40_016.0, counted=counted)
    assert ended_in_time(run(jobs, machines(8, 4, 2, 2), policy), events_per_job=20)


def test_a_restart_is_no_service() -> None:
    # a falls at 8 and gives way to b at 10, which falls at 18; a then restarts for 5 s, and has had
    # 17 s of service 7 s later, at 30; counted from 18 on it would fall at 25
    jobs = [job("a", 0, 1, 20), job("b", 10, 1, 12), job("c", 30, 1, 4)]
    bars = gantt(run(jobs, machines(1), Las(thresholds_gpu_s=(8.0, 17.0), restart_s=5.0)))
    assert bars["a"][:2] == [(0, 10, "preempted"), (18, 30, "preempted")]
    assert [bars["b"][0], bars["c"][0]] == [(10, 18, "preempted"), (30, 34, "completed")]


def test_a_preempted_job_keeps_its_place_in_its_queue() -> None:
    # a falls at 8, b at 17, behind a; so a goes on though b runs; and b, stopped by c, before all
    jobs = [job("a", 0, 1, 20), job("b", 9, 1, 20), job("c", 30, 1, 4)]
    bars = gantt(run(jobs, machines(1), Tiresias(thresholds_gpu_s=(8.0,), promote=0.0)))
    assert bars == {
        "a": [(0, 9, "preempted"), (17, 28, "completed")],
        "b": [(9, 17, "preempted"), (28, 30, "preempted"), (34, 44, "completed")],
        "c": done(30, 34),
    }


def test_themis_leases_to_whom_sharing_costs_most() -> None:
    # at 0 both have rho 1, and a came first; at 300 a, which runs, has still 1, b 400 / 100
    jobs = [job("a", 0, 1, 1000), job("b", 0, 1, 100)]
    assert gantt(run(jobs, machines(1), Themis(lease_s=300.0))) == {
        "a": [(0, 300, "preempted"), (400, 1100, "completed")],
        "b": done(300, 400),
    }


def test_attempts_that_a_scheduler_cut_are_one_run() -> None:
    from philly_analysis.workload import AttemptSpec, JobSpec

    cut = JobSpec(
        "a",
        "v",
        "u",
        1,
        0.0,
        (
            AttemptSpec(3.0, "preempted"),
            AttemptSpec(4.0, "failed"),
            AttemptSpec(5.0, "migrated"),
            AttemptSpec(6.0, "killed"),
        ),
        status="Killed",
    )
    assert gantt(run([cut], machines(1), Fifo())) == {"a": [(0, 7, "failed"), (7, 18, "killed")]}
