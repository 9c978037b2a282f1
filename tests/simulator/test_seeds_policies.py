"""Check Synergy, Amoeba and AntMan on schedules drawn by hand."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.simulator import run
from philly_analysis.simulator.policies.amoeba import Amoeba
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.speed.models import HostResources, Locality, Parallelism, Sharing
from philly_analysis.simulator.speed.profiles import PROFILES, read_profiles
from philly_analysis.workload import JobSpec, Machine
from tests.simulator.drawn import done, gantt, job, machines


def trained(name: str, submit_s: float, run_s: float, model: str) -> JobSpec:
    """One GPU for a model, with the CPUs and the memory that its profile wants."""
    profile = PROFILES[model]
    return replace(
        job(name, submit_s, 1, run_s, job_type=model), cpus=profile.cpus, mem_gb=profile.mem_gb
    )


SERVER = [Machine("m0", 4, cpus=12.0, mem_gb=250.0)]
TRIO = [
    trained("a", 0, 240, "res18"),  # wants 9 CPUs: speed 2.4
    trained("b", 0, 1000, "lstm"),  # wants 1 CPU, never faster
    trained("c", 50, 100, "res50"),  # wants 4 CPUs: speed 1.15
]


def ends(policy: Synergy) -> dict[str, float]:
    schedule = run(TRIO, SERVER, policy, speed=HostResources())
    return dict(schedule.jobs.select("job_id", "end_s").iter_rows())


def test_proportional_shares_run_at_speed_one() -> None:
    assert ends(Synergy(allocation="proportional")) == {"a": 240, "b": 1000, "c": 150}


def test_greedy_makes_a_job_wait_for_the_cpus_it_wants() -> None:
    # at 50 a has 9 of 12 CPUs and b has 1: c waits for a, which ends at 240 / 2.4
    assert ends(Synergy(allocation="greedy")) == pytest.approx(
        {"a": 100, "b": 1000, "c": 100 + 100 / 1.15}
    )


def test_greedy_gives_a_share_to_whom_no_server_could_give_what_it_wants() -> None:
    # b wants 4 x 9 CPUs of a server that has 12: it gets 3 a GPU, as does c, which wants nothing
    jobs = [replace(job("b", 0, 4, 100), cpus=36.0, mem_gb=100.0), job("c", 1, 2, 10)]
    schedule = run(jobs, SERVER, Synergy(allocation="greedy"), speed=HostResources())
    assert gantt(schedule) == {"b": done(0, 100), "c": done(100, 110)}


def test_tune_takes_the_excess_back_and_hands_out_what_is_spare() -> None:
    # at 50 a falls to 3 CPUs so that c gets 3; of the 5 that are spare a, first come, gets all:
    # 8 CPUs, between 1.75 at 6 and 2.4 at 9. When a ends, c gets its fourth CPU
    speed = 1.75 + (2.4 - 1.75) * 2 / 3
    a = 50 + (240 - 50 * 2.4) / speed
    c = a + (100 - (a - 50)) / 1.15
    assert ends(Synergy(allocation="tune")) == pytest.approx({"a": a, "b": 1000, "c": c})


def test_a_change_of_cpus_is_no_new_attempt() -> None:
    schedule = run(TRIO, SERVER, Synergy(), speed=HostResources())
    assert schedule.attempts["attempt"].to_list() == [1, 1, 1]


def test_synergy_says_what_it_needs() -> None:
    with pytest.raises(SimulationError, match="16x8:24:500"):
        run(TRIO, machines(4), Synergy())
    with pytest.raises(UnknownNameError, match=r"greedy, proportional, tune"):
        Synergy(allocation="drf")


def test_profiles_are_normal_at_a_proportional_share() -> None:
    for profile in PROFILES.values():
        assert profile.throughput(3, 62.5) == 1.0
    tuned = {name: p.throughput(p.cpus, p.mem_gb) for name, p in PROFILES.items()}
    assert tuned == {
        "alexnet": 2.94, "res18": 2.4, "res50": 1.15, "mobilenet": 1.55, "shufflenet": 2.89,
        "gnmt": 1, "transformer": 1, "lstm": 1, "m5": 2.5, "deepspeech": 1,
    }  # fmt: skip  # the speed-ups that the artifact names


def test_users_bring_their_own_profiles(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("job_type,task,cpus,mem_gb,at_mem_gb,c1,c4\nmine,image,4,10,10,0.5,2\n")
    assert read_profiles(file)["mine"].throughput(2.5, 64) == 1.25
    file.write_text("job_type,task\n")
    with pytest.raises(SimulationError, match="no column cpus, mem_gb, at_mem_gb"):
        read_profiles(file)


def test_amoeba_grows_when_alone_and_shares_when_not() -> None:
    jobs = [job("a", 0, 2, 100), job("b", 10, 2, 100)]
    amoeba = Amoeba(round_s=0.0, alpha=1.0, scale_out=2.0, restart_s=0.0)
    assert gantt(run(jobs, machines(4), amoeba, speed=Parallelism(alpha=1.0))) == {
        "a": [(0, 10, "resized"), (10, 90, "completed")],  # 20 s of work done by 10, on 4 GPUs
        "b": [(10, 90, "resized"), (90, 100, "completed")],
    }


def test_a_change_of_gpus_costs_what_the_knob_says() -> None:
    jobs = [job("a", 0, 2, 100), job("b", 10, 2, 100)]
    amoeba = Amoeba(round_s=0.0, alpha=1.0, scale_out=2.0, restart_s=6.0)
    bars = gantt(run(jobs, machines(4), amoeba, speed=Parallelism(alpha=1.0)))
    assert bars["a"] == [(0, 10, "resized"), (10, 96, "completed")]
    assert bars["b"] == [(10, 96, "resized"), (96, 109, "completed")]  # 14 s left, 2 at a time


def test_amoeba_shrinks_jobs_outside_the_first_queue_for_those_that_wait() -> None:
    # a (4 GPUs) is past the threshold when b (4) comes: b goes first; with more than 0 waiting,
    # b is safe in the first queue, so a gets nothing till b falls at 100 GPU-s, i.e. at 75
    jobs = [job("a", 0, 4, 100), job("b", 50, 4, 100)]
    amoeba = Amoeba(
        round_s=0.0,
        thresholds_gpu_s=(100.0,),
        pending_above=0,
        scale_out=1.0,
        alpha=0.5,
        restart_s=0.0,
    )
    schedule = run(jobs, machines(4), amoeba, speed=Parallelism(alpha=0.5))
    bars = gantt(schedule)
    assert [bars[j][0] for j in "ab"] == [(0, 50, "preempted"), (50, 75, "resized")]
    second = schedule.attempts.filter(pl.col("start_s") == 75)
    assert dict(second.select("job_id", "gpus").iter_rows()) == {"a": 2, "b": 2}


def using(spec: JobSpec, util_frac: float, gpu_mem_frac: float) -> JobSpec:
    return replace(spec, util_frac=util_frac, gpu_mem_frac=gpu_mem_frac)


def test_antman_lets_a_patient_job_be_a_guest() -> None:
    # a uses 0.4 of the GPU, so b, which wants 0.8, runs at 0.6 / 0.8; only one guest at a time
    jobs = [
        using(job("a", 0, 1, 10_000), 0.4, 0.3),
        using(job("b", 1, 1, 300), 0.8, 0.5),
        using(job("c", 5, 1, 60), 0.2, 0.2),
    ]
    schedule = run(jobs, machines(1), AntMan(), speed=Sharing())
    assert gantt(schedule) == {"a": done(0, 10_000), "b": done(601, 1001), "c": done(1001, 1061)}


@pytest.mark.parametrize("holder", [(0.9, 0.1), (0.1, 0.9)], ids=["busy", "memory full"])
def test_antman_keeps_guests_away_where_there_is_no_room(holder: tuple[float, float]) -> None:
    jobs = [using(job("a", 0, 1, 2_000), *holder), using(job("b", 1, 1, 300), 0.5, 0.5)]
    assert gantt(run(jobs, machines(1), AntMan(), speed=Sharing()))["b"] == done(2_000, 2_300)


def test_a_holder_pushes_its_guest_aside_but_not_out() -> None:
    # g waits behind the gang w, becomes a guest on the idle GPU at 601 and runs at full speed;
    # when w takes both GPUs at 1000, g goes on with what w leaves: 0.5 of 1.0
    jobs = [
        using(job("a", 0, 1, 1000), 1.0, 0.1),
        using(job("w", 0.5, 2, 500), 0.5, 0.1),
        using(job("g", 1, 1, 600), 1.0, 0.1),
    ]
    schedule = run(jobs, machines(2), AntMan(), speed=Sharing())
    bars = gantt(schedule)
    assert bars["w"] == done(1000, 1500)
    left = 600 - (1000 - 601)
    assert bars["g"] == done(601, 1000 + left / 0.5)
    intervals = schedule.speeds.filter(job_id="g").select("start_s", "end_s", "speed").rows()
    assert intervals == [(601, 1000, 1.0), (1000, 1402, 0.5)]


@pytest.mark.parametrize(
    ("gpus", "servers", "beside", "speed"),
    [
        (2, (8,), False, 1.0),
        (2, (1, 1), False, 98.0 / 114.8),  # Table 4, DiffServer
        (2, (4,), True, 75.6 / 114.8),  # Table 4, IntraServer
        (16, (8, 8), False, 1.0),
        (16, (4,) * 4, False, 40.94 / 43.66),  # Table 5
        (16, (2,) * 8, False, 28.56 / 43.66),
    ],
)
def test_locality_costs_what_the_study_measured(
    gpus: int, servers: tuple[int, ...], beside: bool, speed: float
) -> None:
    jobs = [job("x", 0, gpus, 100)]
    if beside:
        jobs = [job("a", 0, 2, 1000), *jobs]
    from philly_analysis.simulator.policies.priority import Fifo

    bars = gantt(run(jobs, machines(*servers), Fifo(), speed=Locality()))
    assert bars["x"][0][1] == pytest.approx(100 / speed, abs=1e-3)


def guest_and_holder(*, gone_s: float = 300) -> list[JobSpec]:
    """A GPU that a holds until it has gone, and b, which uses half of what a leaves, from 10 on."""
    return [
        using(job("a", 0, 1, gone_s), 0.5, 0.3),
        using(job("b", 0, 1, 600), 1.0, 0.3),
        using(job("c", 20, 1, 100), 1.0, 0.3),
    ]


def test_a_guest_is_upgraded_when_its_holder_has_left() -> None:
    # b is a guest from 10 to 300, at half speed: 145 s of 600 are done. Upgraded, it holds the
    # GPU and ends at 300 + 455; c, a guest too, but behind it, has to wait for that: b leaves none
    schedule = run(
        guest_and_holder(), machines(1), AntMan(upgrade=True, convert_after_s=10.0), speed=Sharing()
    )
    bars = gantt(schedule)
    assert bars["b"] == [(10, 300, "migrated"), (300, 755, "completed")]
    assert bars["c"] == done(755, 855)
    guests = schedule.attempts.select("job_id", "attempt", "guest").rows()
    assert guests == [("a", 1, False), ("b", 1, True), ("b", 2, False), ("c", 1, False)]
    # without, c, which waits, is given what a left, and b stands still beside it
    plain = gantt(
        run(guest_and_holder(), machines(1), AntMan(convert_after_s=10.0), speed=Sharing())
    )
    assert plain["c"] == done(300, 400)
    assert plain["b"] == [(10, 855, "completed")]


def test_tenants_hold_up_to_their_quota_and_queue_apart() -> None:
    # x may hold one GPU of two. Its second job waits though a GPU is idle, and is its guest after
    # 50 s; y's job does not wait behind it
    jobs = [
        using(job("x1", 0, 1, 200, vc="x"), 1.0, 0.5),
        using(job("x2", 0, 1, 100, vc="x"), 1.0, 0.5),
        using(job("y1", 10, 1, 20, vc="y"), 1.0, 0.5),
    ]
    policy = AntMan(tenants=True, convert_after_s=50.0)
    schedule = run(jobs, machines(2), policy, speed=Sharing(), quotas={"x": 1, "y": 1})
    assert gantt(schedule) == {"x1": done(0, 200), "x2": done(50, 150), "y1": done(10, 30)}
    assert schedule.attempts["guest"].to_list() == [False, True, False]
    assert policy.quotas and not AntMan().quotas
