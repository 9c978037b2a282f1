"""Check reservations, fair shares, time slices and multi-resource demands drawn by hand."""

from dataclasses import replace

import pytest

from philly_analysis.simulator import run
from philly_analysis.simulator.policies.conservative import Conservative
from philly_analysis.simulator.policies.drf import Drf
from philly_analysis.simulator.policies.easy import Easy
from philly_analysis.simulator.policies.gandiva import Gandiva
from philly_analysis.simulator.policies.gittins import Gittins
from philly_analysis.simulator.policies.maxmin import MaxMin
from philly_analysis.simulator.policies.priority import Srsf
from philly_analysis.simulator.policies.qssf import Qssf, predicted_gpu_s
from philly_analysis.simulator.policies.tetris import Tetris
from philly_analysis.simulator.speed.models import Sharing
from philly_analysis.workload import JobSpec, Machine
from tests.simulator.drawn import done, gantt, job, machines


def test_conservative_backfilling_delays_nobody_who_came_before() -> None:
    #   0    10   20   30   40
    # a ==========                 3 of 4 GPUs until 20
    # b      .....=====            3 GPUs: reserved for 20 to 30
    # c      ............=====     4 GPUs: reserved for 30 to 40
    # d                       ===  1 GPU, 32 s: under EASY it starts at once, on the GPU that a and
    #                              b leave, and delays c till 39; here it waits till 40
    jobs = [job("a", 0, 3, 20), job("b", 5, 3, 10), job("c", 6, 4, 10), job("d", 7, 1, 32)]
    easy, conservative = (gantt(run(jobs, machines(4), p)) for p in (Easy(), Conservative()))
    assert easy["d"] == done(7, 39) and easy["c"] == done(39, 49)
    assert conservative["c"] == done(30, 40) and conservative["d"] == done(40, 72)


def test_reservations_move_up_when_a_run_ends_before_it_was_believed_to() -> None:
    # a is believed to run till 40, so b is reserved for then; a ends at 20
    jobs = [job("a", 0, 3, 20), job("b", 5, 2, 10), job("c", 6, 1, 30)]
    bars = gantt(run(jobs, machines(4), Conservative(estimate=2.0)))
    assert bars["b"] == done(20, 30)


def test_srsf_counts_gpus() -> None:
    # b needs 6 s on 4 GPUs, c 10 s on one: c goes first, under SRTF it would be b; a has less left
    jobs = [job("a", 0, 4, 5), job("b", 1, 4, 6), job("c", 4, 1, 10)]
    assert gantt(run(jobs, machines(4), Srsf())) == {
        "a": done(0, 5),
        "c": done(5, 15),
        "b": done(15, 21),
    }


def test_gittins_prefers_jobs_likely_to_end_soon() -> None:
    # half of all jobs take 2 GPU-s, half 100. b comes at 1: both have reached no value, and a
    # came first; at 2 a is one of the long, its index 1 / 98, and b's is 1/2 / 2
    jobs = [job("a", 0, 1, 100), job("b", 1, 1, 2)]
    policy = Gittins(thresholds_gpu_s=(), service_gpu_s=(2.0, 100.0))
    assert gantt(run(jobs, machines(1), policy)) == {
        "a": [(0, 2, "preempted"), (4, 102, "completed")],
        "b": done(2, 4),
    }


def by(user: str, spec: JobSpec) -> JobSpec:
    return replace(spec, user=user)


def test_qssf_predicts_by_what_a_user_ran_before() -> None:
    jobs = [
        by("u", job("a", 0, 1, 10)),
        by("u", job("b", 5, 1, 30)),
        by("v", job("c", 20, 2, 50)),  # of v nothing is known, nor of 2 GPUs: a is all that ended
        by("u", job("d", 40, 1, 1)),  # a, then b: half of each
        by("u", job("e", 41, 4, 1)),  # of u, if not with 4 GPUs
        by("w", job("f", 80, 2, 1)),  # c had 2 GPUs
    ]
    assert predicted_gpu_s(jobs, 0.5) == {
        "a": 1.0,
        "b": 1.0,
        "c": 20.0,
        "d": 20.0,
        "e": 4 * 10.5,  # a, b, then d: it had ended at 41
        "f": 2 * 50.0,
    }


def test_qssf_starts_first_what_is_predicted_to_be_short() -> None:
    # u's first took 5 s and v's 50: when the GPU is free at 100, u's next goes first
    jobs = [
        by("u", job("u1", 0, 1, 5)),
        by("v", job("v1", 1, 1, 50)),
        by("w", job("w", 55, 1, 45)),
        by("v", job("v2", 60, 1, 10)),
        by("u", job("u2", 61, 1, 10)),
    ]
    bars = gantt(run(jobs, machines(1), Qssf()))
    assert bars["u2"] == done(100, 110) and bars["v2"] == done(110, 120)


def test_maxmin_divides_gpus_between_users() -> None:
    # u's two jobs have all 4 GPUs till the round at 100; then v gets half, and u's first goes on;
    # GPUs that v leaves at 150 are given out at 200
    jobs = [by("u", job(f"u{i}", 0, 2, 300)) for i in range(2)]
    jobs.append(by("v", job("v", 10, 2, 50)))
    bars = gantt(run(jobs, machines(4), MaxMin(round_s=100.0)))
    assert bars["u0"] == done(0, 300) and bars["v"] == done(100, 150)
    assert bars["u1"] == [(0, 100, "preempted"), (200, 400, "completed")]


def test_owners_take_turns_where_they_cannot_run_at_once() -> None:
    jobs = [by("u", job("u", 0, 2, 200)), by("v", job("v", 0, 2, 200))]
    bars = gantt(run(jobs, machines(2), MaxMin(round_s=100.0)))
    assert bars == {
        "u": [(0, 100, "preempted"), (200, 300, "completed")],
        "v": [(100, 200, "preempted"), (300, 400, "completed")],
    }


def test_gandiva_lets_jobs_take_turns() -> None:
    jobs = [job("a", 0, 1, 25), job("b", 1, 1, 15)]
    assert gantt(run(jobs, machines(1), Gandiva(quantum_s=10.0, pack=False))) == {
        "a": [(0, 10, "preempted"), (20, 30, "preempted"), (35, 40, "completed")],
        "b": [(10, 20, "preempted"), (30, 35, "completed")],
    }


@pytest.mark.parametrize(("util", "shared"), [(0.5, True), (0.6, False)])
def test_gandiva_packs_two_that_fit_on_a_gpu(util: float, shared: bool) -> None:
    # at 10 b has its turn and a, which leaves room, runs on beside it
    jobs = [
        replace(job(name, at, 1, 25), util_frac=util, gpu_mem_frac=0.4)
        for name, at in (("a", 0), ("b", 1))
    ]
    bars = gantt(run(jobs, machines(1), Gandiva(quantum_s=10.0), speed=Sharing()))
    beside = [(0, 10, "migrated"), (10, 25, "completed")]  # it turns guest, and stays
    assert (bars["a"] == beside and bars["b"] == done(10, 35)) == shared


SERVER = [Machine("m0", 8, cpus=24.0, mem_gb=500.0)]


def asking(spec: JobSpec, cpus: float, mem_gb: float) -> JobSpec:
    return replace(spec, cpus=cpus, mem_gb=mem_gb)


def test_drf_serves_whose_dominant_share_is_least() -> None:
    # u's first job takes 12 of 24 CPUs with its GPU, v's first 2 of 8 GPUs: a half and a quarter,
    # so that v's second goes before u's, which then finds too few CPUs
    jobs = [
        by("u", asking(job("u1", 0, 1, 100), 12, 10)),
        by("v", asking(job("v1", 0, 2, 100), 2, 10)),
        by("w", asking(job("w", 0, 5, 50), 5, 10)),
        by("u", asking(job("u2", 1, 1, 10), 9, 10)),
        by("v", asking(job("v2", 2, 1, 10), 3, 10)),
    ]
    bars = gantt(run(jobs, SERVER, Drf()))
    assert bars["v2"] == done(50, 60) and bars["u2"] == done(60, 70)


def test_tetris_starts_what_is_most_like_what_is_free() -> None:
    # c, which wants most of the server, goes first, though a and b came before; a fits beside it
    jobs = [
        asking(job("a", 0, 1, 100), 12, 10),
        asking(job("b", 0, 4, 10), 3, 10),
        asking(job("c", 0, 7, 10), 10, 10),
    ]
    bars = gantt(run(jobs, SERVER, Tetris(shortest=0.0)))
    assert bars["c"] == done(0, 10)
    assert bars["b"] == done(10, 20) and bars["a"][0][0] == 0


def test_tetris_prefers_the_short_if_told_to() -> None:
    long, short = asking(job("a", 0, 8, 100), 8, 10), asking(job("b", 0, 4, 1), 8, 10)
    for shortest, first in ((0.0, "a"), (10.0, "b")):
        bars = gantt(run([long, short], SERVER, Tetris(shortest=shortest)))
        assert bars[first][0][0] == 0


def test_tetris_serves_those_alike_as_they_came_where_only_packing_counts() -> None:
    jobs = [
        asking(job(name, at, 8, run_s), 8, 10) for name, at, run_s in (("a", 0, 9), ("b", 1, 9))
    ]
    jobs.append(asking(job("c", 2, 8, 1), 8, 10))
    for shortest, second in ((0.0, "b"), (1.0, "c")):
        assert gantt(run(jobs, SERVER, Tetris(shortest=shortest)))[second][0][0] == 9
