"""Check what drawn schedules do not show of single policies."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.simulator import Speed, run
from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.easy import fair_share_factors
from philly_analysis.simulator.policies.philly import Philly
from philly_analysis.simulator.policies.priority import Fifo, Srtf
from philly_analysis.simulator.policies.qssf import predicted_gpu_s
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.policies.tiresias import Tiresias
from philly_analysis.simulator.speed.profiles import PROFILES
from philly_analysis.workload import AttemptSpec, JobSpec
from philly_analysis.workload.load import stretch_to_load
from tests.simulator.drawn import ended_in_time, gantt, job, machines
from tests.simulator.literature import literature


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from([1, 1, 2, 4, 8]), st.integers(1, 40)),
        min_size=1,
        max_size=14,
    )
)
def test_counted_srtf_is_heliosartifacts_second_by_second(rows: list[tuple[int, int, int]]) -> None:
    specs = [job(f"{i:02}", at, gpus, run_s) for i, (at, gpus, run_s) in enumerate(rows)]
    policy = Srtf(consolidate=True, counted=True)
    bars = gantt(run(specs, machines(4, 4), policy))
    assert {name: runs[-1][1] for name, runs in bars.items()} == _second_by_second(specs, 4, 4)


def _second_by_second(specs: Sequence[JobSpec], *servers: int) -> dict[str, float]:
    """Simulate every second, as the simulator of Helios does; return when jobs end."""
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


def test_srtf_sorts_anew_when_speeds_change() -> None:
    class Halved(Speed):
        """Half as fast beside others."""

        neighbourly = True

        def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
            return 0.5 if neighbours and job.spec.job_id == "a" else 1.0

    # alone a would end at 10 and b at 11; beside b, a needs 20: when c (3 s) comes, a is preempted
    jobs = [job("a", 0, 1, 10), job("b", 0, 1, 11), job("c", 2, 1, 3)]
    bars = gantt(run(jobs, machines(2), Srtf(), speed=Halved()))
    assert [bars[name][0][:2] for name in "abc"] == [(0, 2), (0, 11), (2, 5)]


@pytest.mark.parametrize("counted", [True, False])
def test_gangs_whose_restart_exceeds_a_threshold_make_progress(counted: bool) -> None:
    # a gang of 12 has 52 GPU-s in 4.3 s; each promotion allows it these and a restart
    jobs = [job(f"j{i}", 60 + i, gpus, 60) for i, gpus in enumerate([8, 4, 8, 12, 12, 8])]
    policy = Tiresias(thresholds_gpu_s=(52.0,), promote=1.0, restart_s=40_016.0, counted=counted)
    assert ended_in_time(run(jobs, machines(8, 4, 2, 2), policy), events_per_job=20)


def test_attempts_that_a_scheduler_cut_are_one_run() -> None:
    ends = ((3.0, "preempted"), (4.0, "failed"), (5.0, "migrated"), (6.0, "killed"))
    attempts = tuple(AttemptSpec(*end) for end in ends)
    cut = replace(job("a", 0, 1), attempts=attempts, status="Killed")
    assert gantt(run([cut], machines(1), Fifo())) == {"a": [(0, 7, "failed"), (7, 18, "killed")]}


def test_gangs_wait_for_three_minutes_as_in_the_study() -> None:
    specs = stretch_to_load(literature(2500, 128, 4), 0.8, 128)
    at_step = {}
    for policy in (Philly(), Fifo(backfill=True)):
        schedule = run(specs, machines(*[8] * 16, rack="r"), policy, quotas={"v": 128})
        gangs = schedule.waits.join(schedule.jobs.filter(pl.col("gpus") > 1), on="job_id")
        wait_s = (gangs["until_s"] - gangs["since_s"]).to_numpy()
        assert len(wait_s) > 50
        at_step[policy.name] = ((wait_s > 179) & (wait_s < 181)).mean()
    assert at_step["philly"] > 0.15  # 15 to 40 points of each virtual cluster's curve there
    assert at_step["fifo"] < 0.02


def test_the_fair_share_factor_halves_with_each_used_share() -> None:
    week = 7 * 86_400.0
    jobs = [
        JobSpec(name, vc, "u", gpus, at, (AttemptSpec(100.0, "completed"),), status="Pass")
        for name, vc, gpus, at in (
            *(("a", "v", 2, 0.0), ("b", "w", 1, 0.0), ("c", "v", 1, 99.0)),
            *(("d", "w", 1, week), ("e", "v", 1, week + 100), ("f", "w", 1, 9 * week)),
        )
    ]
    factors = fair_share_factors(jobs)
    assert [factors[name] for name in "abc"] == [1, 1, 1]  # nothing has ended
    # v has used 200 + 100 GPU s, w 100: 3/4 and 1/4 of all, in shares of a half
    assert factors["d"] == pytest.approx(2**-0.5, rel=1e-3)
    # d ends as e comes, at full weight; the earlier use counts half: v 150 of 300
    assert factors["e"] == pytest.approx(2**-1.0, rel=1e-3)
    # v's share is now that of e, which decays like w's
    assert factors["f"] == pytest.approx(2 ** -(2 * 150 / 400), rel=1e-3)


def test_qssf_predicts_by_what_a_user_ran_before() -> None:
    jobs = [
        replace(spec, user=user)
        for user, spec in (
            ("u", job("a", 0, 1, 10)),
            ("u", job("b", 5, 1, 30)),
            ("v", job("c", 20, 2, 50)),  # only a has ended, of another user and gang
            ("u", job("d", 40, 1, 1)),  # a, then b: half of each
            ("u", job("e", 41, 4, 1)),  # of u, though not with 4 GPUs: a, b, then d
            ("w", job("f", 80, 2, 1)),  # c had 2 GPUs
        )
    ]
    expected = {"a": 1.0, "b": 1.0, "c": 2 * 10.0, "d": 20.0, "e": 4 * 10.5, "f": 2 * 50.0}
    assert predicted_gpu_s(jobs, 0.5) == expected


def test_synergy_names_what_it_needs() -> None:
    with pytest.raises(SimulationError, match="16x8:24:500"):
        run([job("a", 0, 1, 1)], machines(4), Synergy())
    with pytest.raises(UnknownNameError, match=r"greedy, proportional, tune"):
        Synergy(allocation="drf")


def test_profiles_are_1_at_a_proportional_share() -> None:
    for profile in PROFILES.values():
        assert profile.throughput(3, 62.5) == 1.0
    tuned = {name: p.throughput(p.cpus, p.mem_gb) for name, p in PROFILES.items()}
    assert tuned == {
        "alexnet": 2.94, "res18": 2.4, "res50": 1.15, "mobilenet": 1.55, "shufflenet": 2.89,
        "gnmt": 1, "transformer": 1, "lstm": 1, "m5": 2.5, "deepspeech": 1,
    }  # fmt: skip  # the speed-ups that the artifact names
