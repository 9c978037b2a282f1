"""Check simulated waits against hand-drawn schedules, and drawn run times against their sources."""

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from philly_analysis.experiments.advice.candidates import CANDIDATES
from philly_analysis.forecasts.replay import Runner, Situation
from philly_analysis.forecasts.run_times import FEWEST, RunTimes
from philly_analysis.simulator.policies import Easy, Fifo, Policy
from philly_analysis.simulator.policies.limit import Limit
from philly_analysis.workload import AttemptSpec, Estimates, JobSpec, Machine, Stay


def job(gpus: int, submit_s: float = 0.0, run_s: float = 0.0, **others: object) -> JobSpec:
    """Return a job of one user."""
    spec = JobSpec(f"{gpus} at {submit_s}", "p", "u", gpus, submit_s, (AttemptSpec(run_s),))
    return JobSpec(**{name: getattr(spec, name) for name in JobSpec.__slots__} | others)


def runner(gpus: int, start_s: float, *places: tuple[str, int]) -> Runner:
    """Return a job that runs on servers since a moment."""
    shares = tuple((server, count, ()) for server, count in places)
    return Runner(job(gpus, start_s), Stay(start_s, 10_000.0, shares))


ALWAYS_100_S = RunTimes.of([job(gpus, run_s=100.0) for gpus in (1, 2, 4, 8) for _ in range(FEWEST)])


def waits(
    asked: JobSpec,
    running: Sequence[Runner] = (),
    waiting: Sequence[JobSpec] = (),
    policy: Policy | None = None,
    servers: int = 2,
    past: Sequence[JobSpec] = (),
) -> list[float]:
    """Return the simulated waits of a job at 40 s, on servers with four GPUs."""
    simulated = at_40_s([*waiting, asked], running, policy, servers, past).waits(
        [asked.job_id], seed=1, samples=3
    )
    return [float(seconds) for [seconds] in simulated]


def at_40_s(
    waiting: Sequence[JobSpec],
    running: Sequence[Runner] = (),
    policy: Policy | None = None,
    servers: int = 2,
    past: Sequence[JobSpec] = (),
    run_times: RunTimes = ALWAYS_100_S,
) -> Situation:
    """Return the situation at 40 s, on servers with four GPUs."""
    return Situation(
        now_s=40.0,
        machines=[Machine(f"m{i}", 4) for i in range(servers)],
        policy=policy or Fifo(),
        quotas={},
        estimates=Estimates(),
        running=tuple(running),
        waiting=tuple(waiting),
        past=past,
        run_times=run_times,
    )


def test_a_job_starts_at_once_on_free_gpus() -> None:
    assert waits(job(4, 40.0), [runner(4, 0.0, ("m1", 4))]) == [0, 0, 0]


def test_a_job_waits_for_the_rest_of_a_run() -> None:
    running = [runner(4, 0.0, ("m0", 4)), runner(4, 10.0, ("m1", 4))]
    assert waits(job(4, 40.0), running) == [60, 60, 60]


def test_a_job_waits_behind_the_queue() -> None:
    running = [runner(4, 0.0, ("m0", 4)), runner(4, 10.0, ("m1", 4))]
    # the waiting gang starts at 110 s on both servers, and ends at 210 s
    assert waits(job(4, 40.0), running, [job(8, 20.0)]) == [170, 170, 170]


def test_a_small_job_passes_where_the_policy_allows() -> None:
    running = [runner(4, 0.0, ("m0", 4)), runner(3, 10.0, ("m1", 3))]
    queue = [job(8, 20.0)]
    assert waits(job(1, 40.0), running, queue) == [170, 170, 170]
    assert waits(job(1, 40.0), running, queue, Fifo(backfill=True)) == [0, 0, 0]
    # a run of 100 s would end at 140 s, after the reservation at 110 s
    assert waits(job(1, 40.0), running, queue, Easy()) == [170, 170, 170]


def test_one_simulation_has_the_waits_of_all_jobs_of_the_queue() -> None:
    running = [runner(4, 0.0, ("m0", 4)), runner(4, 10.0, ("m1", 4))]
    queue = [job(8, 20.0), job(4, 30.0), job(4, 40.0)]
    names = [spec.job_id for spec in queue]
    # the gang of 8 starts at 110 s, and the two gangs of 4 start beside each other at 210 s
    together = at_40_s(queue, running).waits(names, seed=1, samples=3)
    assert together.tolist() == [[70, 170, 170]] * 3
    runs = RunTimes.of([job(gpus, run_s=s) for gpus in (4, 8) for s in range(60, 500, 20)])
    situation = at_40_s(queue, running, Easy(), past=queue, run_times=runs)
    together = situation.waits(names, seed=2, samples=9)
    alone = [situation.waits([name], seed=2, samples=9)[:, 0] for name in names]
    assert np.ptp(together, axis=0).all()
    np.testing.assert_array_equal(together, np.column_stack(alone))


def test_a_limit_holds_a_job_beside_free_gpus() -> None:
    """The policy is the one that the baseline tries where a log has limits."""
    [within] = [
        c.policy for c in CANDIDATES if c.name == "backfilling by time limits within limits"
    ]
    policy = within.within([Limit("a: 4 GPUs", "a", None, None, None, None, "gpus", 4)])
    running = [Runner(job(3, 0.0, account="a"), Stay(0.0, 10_000.0, (("m0", 3, ()),)))]
    # GPUs are free; account a has one left until the run of three ends at 100 s
    for account, gpus, wait in (("a", 2, 60), ("a", 1, 0), ("b", 2, 0)):
        asked = job(gpus, 40.0, account=account, time_limit_s=200.0)
        assert waits(asked, running, policy=policy) == pytest.approx([wait] * 3, abs=2)


def test_running_jobs_keep_their_servers() -> None:
    asked = job(4, 40.0, gpus_by_server=(4,))
    apart = [runner(1, 0.0, ("m0", 1)), runner(1, 0.0, ("m1", 1))]
    together = [runner(1, 0.0, ("m0", 1)), runner(1, 0.0, ("m0", 1))]
    assert waits(asked, apart) == [60, 60, 60]
    assert waits(asked, together) == [0, 0, 0]


def test_later_jobs_delay_a_gang_that_they_may_pass() -> None:
    running = [runner(4, 0.0, ("m0", 4))]
    stream = [job(2, 10.0 * i, run_s=100.0) for i in range(60)]
    first = waits(job(8, 40.0), running, policy=Fifo(backfill=True), past=stream)
    assert min(first) > 60
    assert waits(job(8, 40.0), running, past=stream) == [60, 60, 60]


def test_a_job_that_never_fits_never_starts() -> None:
    assert waits(job(4, 40.0, gpus_by_server=(4,)), servers=0) == [inf, inf, inf]


def test_drawn_run_times_exceed_the_elapsed_time_and_follow_the_group() -> None:
    rng = np.random.default_rng(3)
    runs = RunTimes.of(
        [job(2, run_s=float(s), user="a") for s in range(1, 101)]
        + [job(2, run_s=1e6, user="b") for _ in range(FEWEST - 1)]
    )
    drawn = [runs.draw(job(2, user="a"), 60.0, rng) for _ in range(2_000)]
    assert set(drawn) == set(map(float, range(61, 101)))
    assert np.mean(drawn) == pytest.approx(80.5, abs=1)
    # user b has too few runs: runs of the gang class count
    assert {runs.draw(job(2, user="b"), 0.0, rng) for _ in range(500)} > {1e6}
    assert runs.draw(job(2, user="a"), 2e6, rng) == 4e6


def test_drawn_run_times_are_shares_of_the_limit() -> None:
    rng = np.random.default_rng(3)
    runs = RunTimes.of([job(2, run_s=30.0, time_limit_s=60.0) for _ in range(FEWEST)])
    assert runs.draw(job(2, time_limit_s=600.0), 0.0, rng) == 300.0
    assert runs.draw(job(2, time_limit_s=600.0), 400.0, rng) == 600.0
    assert runs.draw(job(2), 0.0, rng) == 30.0
