"""Check each lever of advice: what it changes, where it applies, and the bounds of assumptions."""

from dataclasses import replace
from pathlib import Path

import pytest

from philly_analysis.errors import InputError
from philly_analysis.experiments.advice.lever import Assumptions, Change
from philly_analysis.experiments.advice.scenario import Known, recorded_scenario
from philly_analysis.simulator.policies import Easy, Fifo, Philly, Qssf
from philly_analysis.trace import Trace
from philly_analysis.workload import AttemptSpec, Estimates
from tests.experiments.test_advice import GIVEN, LEVER, H, applied, job, scenario
from tests.support.clusters import trace_of


def run_times(change: Change) -> dict[str, list[float]]:
    return {s.job_id: [a.run_s for a in s.attempts] for s in change.scenario.jobs}


def test_idle_jobs_end_after_the_first_period_that_is_longer() -> None:
    now = scenario(job("a", 10 * H), job("b", 5 * H, 5 * H), job("c", 10 * H), job("d", 9 * H))
    known = Known(
        idle={
            "a": ((2 * H, 5 * H, False),),
            "b": ((H, 2 * H, True), (6 * H, 4.5 * H, True)),
            "c": ((H, 4 * H, False),),
        }
    )
    change = applied("end_idle", now, known)
    whole = {"c": [10 * H], "d": [9 * H]}
    assert run_times(change) == {"a": [6 * H], "b": [5 * H, 5 * H], **whole}
    assert change.losers == {"b"}
    assert run_times(applied("end_idle", now, known, idle_h=1))["b"] == [2 * H]
    assert LEVER["end_idle"].apply(now, known, Assumptions(idle_h=6)) is None


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
    known = Known(broken={"a": frozenset({0}), "b": frozenset({0})})
    assert run_times(applied("repair", now, known)) == {"a": [3 * H], "b": [2.5 * H]}
    assert LEVER["repair"].apply(now, Known(), GIVEN) is None


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
        _, known = recorded_scenario(trace)
    assert known.worst_servers == ("m0",)
    assert known.broken == {name: {0} for name in failed[:10]}


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


def test_levers_of_the_policy_apply_where_they_change_it() -> None:
    plain = job("a", H)
    two = scenario(plain, job("b", H, user="bob"))
    assert applied("backfill", two).scenario.policy == Easy()
    assert applied("consolidate", two).scenario.policy == Fifo(consolidate=True)
    assert applied("predicted", two).scenario.policy == Qssf(backfill=True)
    assert LEVER["predicted"].apply(scenario(plain), Known(), GIVEN) is None
    assert LEVER["backfill"].apply(replace(two, policy=Easy()), Known(), GIVEN) is None
    limits = replace(two, policy=Easy(), estimates=Estimates(requested=True))
    planned = applied("limits", limits).scenario
    assert (planned.policy, planned.estimates) == (Easy(estimate=1.5), Estimates())
    assert LEVER["limits"].apply(replace(two, policy=Easy()), Known(), GIVEN) is None
    quotas = scenario(plain, job("b", 3 * H, vc="w"), policy=Philly())
    quotas = replace(quotas, quotas={"v": 4, "w": 4})
    assert applied("quotas", quotas).scenario.quotas == {"v": 4, "w": 12}
    patient = applied("locality", quotas, Known(spread=frozenset({"a"}))).scenario
    assert patient.policy == Philly(asks=6)
    assert [s.run_s for s in patient.jobs] == [pytest.approx(0.95 * H), 3 * H]
    assert LEVER["locality"].apply(quotas, Known(), GIVEN) is None
    assert applied("servers", two, servers=3).scenario.gpus == 16 + 12
    assert LEVER["other_servers"].apply(two, Known(), GIVEN) is None
    mixed = scenario(plain, machines="2x4,1x8")
    assert applied("other_servers", mixed, servers=2).scenario.gpus == 16 + 16
    assert applied("servers", mixed).scenario.gpus == 16 + 4
    moving = applied("migrate", quotas, checkpoint_h=2).scenario
    assert moving.policy == Philly(migrate_after_s=2 * H)
    assert LEVER["migrate"].apply(moving, Known(), GIVEN) is None
    assert LEVER["migrate"].apply(two, Known(), GIVEN) is None
    asked = scenario(replace(plain, time_limit_s=9 * H), job("b", H))
    assert applied("backfill", asked).scenario.estimates == Estimates(requested=True)
    assert applied("backfill", two).scenario.estimates == Estimates()


@pytest.mark.parametrize(
    "wrong", [{"idle_h": 0}, {"wait_weight": -1}, {"interference_pct": 100}, {"servers": 0}]
)
def test_assumptions_have_bounds(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Assumptions(**wrong)  # type: ignore[arg-type]
    assert Assumptions(wait_weight=0, interference_pct=99).wait_weight == 0
