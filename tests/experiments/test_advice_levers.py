"""Check each lever of advice: what it changes, where it applies, and the bounds of assumptions."""

from dataclasses import replace
from pathlib import Path

import pytest

from philly_analysis.errors import InputError
from philly_analysis.experiments.advice.gains import gain_of
from philly_analysis.experiments.advice.lever import Assumptions, Change
from philly_analysis.experiments.advice.recorded import recorded_scenario
from philly_analysis.experiments.advice.scenario import (
    LogFacts,
    Scenario,
    outcome,
    period_of,
)
from philly_analysis.simulator import Outage
from philly_analysis.simulator.policies import Easy, Fifo, Philly
from philly_analysis.trace import Trace
from philly_analysis.workload import AttemptSpec, Estimates
from tests.experiments.test_advice import GIVEN, LEVER, H, applied, job, scenario
from tests.support.clusters import trace_of


def run_times(change: Change) -> dict[str, list[float]]:
    return {s.job_id: [a.run_s for a in s.attempts] for s in change.scenario.jobs}


def test_idle_jobs_end_after_the_first_period_that_is_longer() -> None:
    now = scenario(job("a", 10 * H), job("b", 5 * H, 5 * H), job("c", 10 * H), job("d", 9 * H))
    log_facts = LogFacts(
        idle={
            "a": ((2 * H, 5 * H, False),),
            "b": ((H, 2 * H, True), (6 * H, 4.5 * H, True)),
            "c": ((H, 4 * H, False),),
        }
    )
    change = applied("end_idle", now, log_facts)
    whole = {"c": [10 * H], "d": [9 * H]}
    assert run_times(change) == {"a": [6 * H], "b": [5 * H, 5 * H], **whole}
    assert change.losers == {"b"}
    assert run_times(applied("end_idle", now, log_facts, idle_h=1))["b"] == [2 * H]
    assert LEVER["end_idle"].apply(now, log_facts, Assumptions(idle_h=6)) is None


USER_ERROR = AttemptSpec(H, "failed", failure="Syntax error")
CRASH = AttemptSpec(2.5 * H, "failed", failure="MPI runtime failure")


def test_user_errors_are_not_retried_unless_the_retry_passed() -> None:
    failed = replace(USER_ERROR, run_s=2 * H)
    now = scenario(
        job("a", USER_ERROR, failed, status="Failed"),
        job("b", USER_ERROR, H),
        job("c", CRASH, failed, status="Failed"),
        job("d", H),
    )
    change = applied("retries", now)
    assert run_times(change) == {"a": [H], "b": [H, H], "c": [2.5 * H, 2 * H], "d": [H]}
    assert change.losers == {"b"}


def test_retries_continue_from_the_last_checkpoint_but_not_after_user_errors() -> None:
    lost = AttemptSpec(1.5 * H, "node_failure")
    now = scenario(
        job("a", CRASH, 3 * H), job("b", USER_ERROR, 3 * H), job("c", CRASH, lost, 5 * H)
    )
    times = run_times(applied("checkpoints", now))
    # c: its retry runs for 1.5 h, all of it repeated
    assert times == {"a": [2.5 * H, H], "b": [H, 3 * H], "c": [2.5 * H, 0.0, 3 * H]}
    assert run_times(applied("checkpoints", now, checkpoint_h=0.5))["a"] == [2.5 * H, 0.5 * H]


def test_failed_runs_do_not_happen_on_repaired_servers() -> None:
    now = scenario(job("a", CRASH, 3 * H), job("b", CRASH, status="Failed"))
    log_facts = LogFacts(broken={"a": frozenset({0}), "b": frozenset({0})})
    log_facts = replace(log_facts, worst_servers=("m1", "m2"))
    change = applied("repair", now, log_facts, repair_days=2)
    assert run_times(change) == {"a": [3 * H], "b": [2.5 * H]}
    assert change.scenario.outages == tuple(Outage(0.0, 2 * 24 * H, name) for name in ("m1", "m2"))
    assert LEVER["repair"].apply(now, LogFacts(), GIVEN) is None


@pytest.mark.slow
def test_servers_to_repair_have_many_failures_that_are_not_user_errors(tmp_path: Path) -> None:
    # 20 jobs on each server; half fail: on m0 for MPI, on m1 by syntax errors. At the mean rate of
    # 10 of 40, 10 or more of 20 have the probability 0.014, below 0.05 for two servers
    names = [f"j{i:02d}" for i in range(40)]
    failed = [name for i, name in enumerate(names) if i % 20 < 10]
    path = trace_of(
        tmp_path / "t",
        [(name, "v", "u", 1, 10 * i, "Failed") for i, name in enumerate(names)],
        [(name, 1, 10 * i, 10 * i + 5) for i, name in enumerate(names)],
        machines={"m0": 4, "m1": 4},
        placements=[(name, 1, f"m{i // 20}", 0) for i, name in enumerate(names)],
        failures=[
            (name, 1, "MPI runtime failure" if name < "j20" else "Syntax error") for name in failed
        ],
    )
    with Trace(path) as trace:
        log_facts = recorded_scenario(trace).log_facts
    assert log_facts.worst_servers == ("m0",)
    assert log_facts.broken == {name: {0} for name in failed[:10]}


def test_jobs_of_low_utilisation_get_half_their_gpus() -> None:
    now = scenario(
        job("a", H, gpus=3, util_frac=0.29),
        job("b", H, gpus=1, util_frac=0.1),
        job("c", H, gpus=4, util_frac=0.3),
        job("d", H, gpus=5, util_frac=0.1),
        job("e", H, gpus=2),
    )
    after = {s.job_id: s for s in applied("share", now).scenario.jobs}
    sizes = {name: (s.gpus, s.gpu_frac) for name, s in after.items()}
    assert sizes == {"a": (2, 1.0), "b": (1, 0.5), "c": (4, 1.0), "d": (5, 1.0), "e": (2, 1.0)}
    assert after["a"].run_s == pytest.approx(H / 0.95)
    assert after["e"].run_s == H


def test_lower_limits_are_offered_where_users_ask_for_much_more() -> None:
    def asking(*factors: float) -> Scenario:
        jobs = (job(f"j{i}", H, time_limit_s=f * H) for i, f in enumerate(factors))
        now = scenario(*jobs, job("none", H), policy=Easy())
        return replace(now, estimates=Estimates(requested=True))

    # the median is at least twice the lever's 1.5
    now = asking(1.1, 3, 10)
    after = applied("limits", now).scenario
    limits = {s.job_id: s.time_limit_s for s in after.jobs}
    assert limits == {"j0": 1.1 * H, "j1": 1.5 * H, "j2": 1.5 * H, "none": None}
    assert (after.policy, after.estimates) == (now.policy, now.estimates)
    assert LEVER["limits"].apply(asking(1.05, 1.3, 10), LogFacts(), GIVEN) is None
    assert LEVER["limits"].apply(replace(now, estimates=Estimates()), LogFacts(), GIVEN) is None
    assert LEVER["limits"].apply(replace(now, policy=Fifo()), LogFacts(), GIVEN) is None
    # whole minutes, as Slurm's limits
    odd = replace(now, pools=scenario(job("a", 50.0, time_limit_s=H)).pools)
    [lowered] = applied("limits", odd).scenario.jobs
    assert lowered.time_limit_s == 120


def test_the_gain_of_lower_limits_is_that_of_a_schedule_by_hand() -> None:
    """Of 4 GPUs, 3 run for an hour. A gang of 4 waits, and a job of half an hour behind the gang.

    The job asks for 2 h, so that EASY keeps the job behind the gang, until 3 h: the gang runs from
    1 h to 3 h. With a limit of 45 min the job starts at once.
    """
    jobs = (
        job("running", H, gpus=3, submit_s=0.0, time_limit_s=H),
        job("gang", 2 * H, gpus=4, submit_s=60.0, time_limit_s=6 * H),
        job("small", H / 2, gpus=1, submit_s=120.0, time_limit_s=2 * H),
    )
    now = replace(
        scenario(*jobs, policy=Easy(), machines="1x4"), estimates=Estimates(requested=True)
    )

    def waits(of: Scenario) -> list[float]:
        return outcome(of).sort("job_id")["wait_s"].to_list()

    assert waits(now) == [H - 60, 0, 3 * H - 120]
    assert waits(applied("limits", now).scenario) == [H - 60, 0, 0]


def test_drained_servers_run_no_jobs_until_the_repair() -> None:
    """Of two servers of 4 GPUs one is drained for a day: a job of 8 GPUs waits a day."""
    failed = job("failed", CRASH, H, submit_s=0.0)
    gang = job("gang", H, gpus=8, submit_s=5 * H)
    now = scenario(failed, gang, machines="2x4")
    names = [machine.machine_id for machine in now.pools[0].machines]
    log_facts = LogFacts(broken={"failed": frozenset({0})}, worst_servers=(names[1],))
    repaired = applied("repair", now, log_facts, repair_days=1)
    waits = dict(outcome(repaired.scenario).select("job_id", "wait_s").iter_rows())
    begin_s, _ = period_of(now.jobs)
    assert waits == {"failed": 0, "gang": begin_s + 24 * H - 5 * H}
    # without a replay the drained GPU hours are a cost
    days = [replace(failed, job_id=f"j{i}", submit_s=24 * H * i) for i in range(31)]
    month = scenario(*days, machines="2x4")
    log_facts = replace(log_facts, broken={"j3": frozenset({0})})
    change = applied("repair", month, log_facts, repair_days=1)
    gain = gain_of(month, change, None, GIVEN)
    log_d = 29  # the first job was submitted before the period
    assert gain.gpu_h.mean == pytest.approx((2.5 - 4 * 24) * 30 / log_d)


def test_levers_of_the_policy_apply_where_they_change_it() -> None:
    plain = job("a", H)
    two = scenario(plain, job("b", H, user="bob"))
    assert applied("backfill", two).scenario.policy == Easy()
    assert applied("consolidate", two).scenario.policy == Fifo(consolidate=True)
    assert LEVER["backfill"].apply(replace(two, policy=Easy()), LogFacts(), GIVEN) is None
    quotas = scenario(plain, job("b", 3 * H, vc="w"), policy=Philly())
    quotas = replace(quotas, quotas={"v": 4, "w": 4})
    assert applied("quotas", quotas).scenario.quotas == {"v": 4, "w": 12}
    patient = applied("locality", quotas, LogFacts(spread=frozenset({"a"}))).scenario
    assert patient.policy == Philly(asks=6)
    assert [s.run_s for s in patient.jobs] == [pytest.approx(0.95 * H), 3 * H]
    assert LEVER["locality"].apply(quotas, LogFacts(), GIVEN) is None
    assert applied("servers", two, servers=3).scenario.gpus == 16 + 12
    assert LEVER["other_servers"].apply(two, LogFacts(), GIVEN) is None
    mixed = scenario(plain, machines="2x4,1x8")
    assert applied("other_servers", mixed, servers=2).scenario.gpus == 16 + 16
    assert applied("servers", mixed).scenario.gpus == 16 + 4
    moving = applied("migrate", quotas, checkpoint_h=2).scenario
    assert moving.policy == Philly(migrate_after_s=2 * H)
    assert LEVER["migrate"].apply(moving, LogFacts(), GIVEN) is None
    assert LEVER["migrate"].apply(two, LogFacts(), GIVEN) is None
    asked = scenario(replace(plain, time_limit_s=9 * H), job("b", H))
    assert applied("backfill", asked).scenario.estimates == Estimates(requested=True)
    assert applied("backfill", two).scenario.estimates == Estimates()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"idle_h": 0}, {"interference_pct": 100}, {"servers": 0}, {"repair_days": 0}),
        *({"limit_factor": 0.99}, {"value": "money"}),
    ],
)
def test_assumptions_have_bounds(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Assumptions(**wrong)  # type: ignore[arg-type]
    assert Assumptions(limit_factor=1, interference_pct=99).limit_factor == 1


def test_an_assumption_is_moved_within_its_bounds() -> None:
    def moved(name: str, factor: float, **fields: float) -> float | None:
        found = Assumptions(**fields).moved(name, factor)  # type: ignore[arg-type]
        return None if found is None else getattr(found, name)

    assert moved("idle_h", 0.5) == 2
    # half of 1.5 would end jobs
    assert [moved("limit_factor", f) for f in (0.5, 2)] == [1, 3]
    assert moved("limit_factor", 0.5, limit_factor=1) is None
    assert moved("interference_pct", 2, interference_pct=60) is None
    assert [moved("servers", f) for f in (0.5, 2)] == [None, 2]
    assert moved("servers", 0.5, servers=3) == 2
