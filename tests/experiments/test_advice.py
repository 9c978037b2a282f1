"""Check advice: the fit of the policy, each lever, gains with their intervals, and the page."""

import inspect
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import rankdata

from philly_analysis import Result, Trace, advise, ingest, simulate
from philly_analysis.analyses.shared import completeness
from philly_analysis.errors import InputError, SimulationError
from philly_analysis.experiments.advice.advice import Advice, _why_withheld, disputed_levers
from philly_analysis.experiments.advice.agreement import THRESHOLD, Agreement, agreement
from philly_analysis.experiments.advice.baseline import CANDIDATES, Baseline, fit_baseline
from philly_analysis.experiments.advice.candidates import Candidate
from philly_analysis.experiments.advice.distances import distance_of, near_ties
from philly_analysis.experiments.advice.gains import (
    Gain,
    Monthly,
    gain_of,
    monthly,
    over_drawn,
    p_value,
    pooled,
)
from philly_analysis.experiments.advice.judging import clear, harm, objection
from philly_analysis.experiments.advice.lever import VALUES, Assumptions, Change, Lever
from philly_analysis.experiments.advice.levers import LEVERS
from philly_analysis.experiments.advice.pricing import Priced, Pricing
from philly_analysis.experiments.advice.recorded import Recorded, recorded_scenario
from philly_analysis.experiments.advice.resampling import drawn_month
from philly_analysis.experiments.advice.scenario import (
    LogFacts,
    Scenario,
    outcome,
    period_of,
)
from philly_analysis.experiments.advice.typed import settings
from philly_analysis.experiments.advice.wording import parts, recommendation, without_card
from philly_analysis.parallel import InlineExecutor
from philly_analysis.results import NOT_KNOWN
from philly_analysis.simulator import Pool, run
from philly_analysis.simulator.policies import Easy, Fifo, Philly, Policy
from philly_analysis.workload import AttemptSpec, JobSpec, Workload, fleet
from tests.support.repository import SAMPLE

H = 3600.0
LEVER = {lever.name: lever for lever in LEVERS}
GIVEN = Assumptions()
NOTHING = LogFacts()
Span = tuple[float, float, float]
CRASH_AT_NIGHT = AttemptSpec(20 * H, "failed", failure="MPI runtime failure")


def job(name: str, *runs: AttemptSpec | float, **fields: object) -> JobSpec:
    attempts = tuple(r if isinstance(r, AttemptSpec) else AttemptSpec(r, "completed") for r in runs)
    spec = JobSpec(name, "v", "ann", 1, 0.0, attempts, status="Pass")
    return replace(spec, **fields)  # type: ignore[arg-type]


def scenario(*jobs: JobSpec, policy: Policy | None = None, machines: str = "4x4") -> Scenario:
    return Scenario((Pool("", fleet(machines), jobs),), policy or Fifo())


def applied(name: str, now: Scenario, log_facts: LogFacts = NOTHING, **moved: float) -> Change:
    change = LEVER[name].apply(now, log_facts, replace(GIVEN, **moved))  # type: ignore[arg-type]
    assert change is not None
    return change


def convoys(rng: np.random.Generator, jobs: int = 240, load: float = 0.8) -> list[JobSpec]:
    """Return jobs of 1 to 16 GPUs for a cluster of 16, where large ones block a queue."""
    gpus = rng.choice([1, 2, 4, 16], jobs, p=[0.6, 0.2, 0.15, 0.05])
    run_s = rng.exponential(H, jobs)
    gap_s = float((gpus * run_s).sum()) / 16 / load / jobs
    submit_s = np.cumsum(rng.exponential(gap_s, jobs))
    return [
        job(f"j{i:04d}", float(r), gpus=int(g), submit_s=float(s), user=f"u{i % 7}", vc=f"v{i % 3}")
        for i, (g, r, s) in enumerate(zip(gpus, run_s, submit_s, strict=True))
    ]


def fitted_to(
    now: Scenario, waits_s: Mapping[str, float], candidates: Sequence[Candidate] = CANDIDATES
) -> Baseline | None:
    return fit_baseline(Recorded(now, NOTHING, waits_s), None, InlineExecutor(), candidates)


# the fit


def test_the_distance_of_equal_waits_is_0_and_of_opposite_ones_1() -> None:
    jobs = [job(f"j{i}", H, submit_s=600.0 * i, gpus=1 + i % 2) for i in range(40)]
    waits = np.linspace(100, 4000, 40)
    assert distance_of(jobs, waits, waits, 60.0).total == pytest.approx(0)
    assert distance_of(jobs, waits, waits[::-1], 60.0).order == 1
    none = np.zeros(40)
    assert distance_of(jobs, none, none, 60.0).total == 0
    far = distance_of(jobs, waits, none, 60.0)
    assert far.order == 1
    assert far.queue == pytest.approx(1)
    # waits of start-up are equal, whatever their length
    assert distance_of(jobs, none + 59, none, 60.0).total == 0


def test_the_distance_of_waits_is_relative_by_gang_size() -> None:
    jobs = [job(f"j{i}", H, submit_s=60.0 * i, gpus=1 if i < 30 else 8) for i in range(40)]
    recorded = np.full(40, 100.0)
    replayed = np.where(np.arange(40) < 30, 200.0, 100.0)
    # single GPUs, three quarters of the jobs, wait half as long
    assert distance_of(jobs, recorded, replayed, 1.0).waits == pytest.approx(0.75 * 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [Fifo(), Easy()])
def test_a_known_policy_is_found_and_a_sample_of_its_jobs_is_refused(policy: Policy) -> None:
    jobs = convoys(np.random.default_rng(3))
    waits = dict(outcome(scenario(*jobs, policy=policy)).select("job_id", "first_wait_s").rows())
    fitted = fitted_to(scenario(*jobs), waits)
    assert fitted is not None and fitted.near
    assert fitted.scenario.policy == policy
    half = fitted_to(scenario(*jobs[::2]), waits)
    assert half is not None and not half.near
    assert "withheld" in half.sentence
    fits = [fitted_to(scenario(*jobs[:n]), waits) for n in (40, 41)]
    assert [fit is None for fit in fits] == [True, False], "39 and 40 after the first"


def test_candidates_within_one_standard_error_are_near_ties() -> None:
    distances = np.array([[0.3, 0.3], [0.1, 0.3], [0.2, 0.25], [0.25, 0.25]])
    # differences from the second: in each half 4 blocks, two 0.1 below and two 0.1 above the mean
    spread = np.array([-0.1, 0.1, -0.1, 0.1])
    deleted = np.repeat(distances[:, :, None], 4, axis=2)
    assert near_ties(distances, deleted) == [1]
    deleted[2:] += spread / 3
    # variance: 3 times 0.1² / 9 in each half, so that the mean's standard error is 0.0408
    assert near_ties(distances, deleted) == [1, 2]
    deleted[3] += spread / 3
    assert near_ties(distances, deleted) == [1, 2, 3]
    # a difference of exactly one standard error is a tie
    assert near_ties(np.array([[0.5], [0.0]]), np.array([[[0.0, 1.0]], [[0.0, 0.0]]])) == [0, 1]


def chosen(jobs: list[JobSpec], policy: Policy, *, recorded: bool) -> Baseline:
    """Return the baseline of a simulated cluster with quotas."""
    now = replace(scenario(*jobs, policy=policy), quotas={"v0": 6, "v1": 5, "v2": 5})
    waits = dict(outcome(now).select("job_id", "first_wait_s").rows())
    log = Recorded(replace(now, policy=Fifo()), NOTHING, waits, quotas=recorded)
    fitted = fit_baseline(log, None, InlineExecutor())
    assert fitted is not None
    return fitted


def test_of_near_ties_the_simpler_or_that_of_recorded_quotas_is_chosen() -> None:
    # without waits, all policies are equal
    jobs = [replace(s, submit_s=9 * H * i) for i, s in enumerate(convoys(np.random.default_rng(3)))]
    equal = chosen(jobs, Fifo(), recorded=False)
    assert equal.name == CANDIDATES[0].name
    assert list(equal.rivals) == [c.name for c in CANDIDATES[1:] if "limits" not in c.name]
    assert f"Within one standard error are also: {len(equal.rivals)} others." in equal.sentence
    by_quotas = chosen(jobs, Fifo(), recorded=True)
    assert by_quotas.scenario.policy == Philly()
    assert list(by_quotas.rivals) == ["quotas with borrowing, patient gangs"]
    assert by_quotas.tried["near_tie"].all()
    assert "Within one standard error are also: quotas" in by_quotas.sentence
    # the lever is withheld where a near tie lacks it
    disputed = disputed_levers(equal, NOTHING, GIVEN)
    assert disputed["backfill"] and disputed["quotas"] and "servers" not in disputed
    assert "quotas" not in disputed_levers(by_quotas, NOTHING, GIVEN)


def test_a_replay_is_believed_if_mean_waits_and_distributions_agree_in_each_half() -> None:
    jobs = convoys(np.random.default_rng(3))
    now = scenario(*jobs)
    waits = dict(outcome(now).select("job_id", "first_wait_s").rows())
    late = {name: wait + 30 * H * (name >= "j0120") for name, wait in waits.items()}
    fitted = fitted_to(now, late, CANDIDATES[:1])
    assert fitted is not None
    [row] = fitted.tried.to_dict("records")
    assert row["first_half"] < 0.1 < row["second_half"]
    assert fitted.distance.total == row["distance"]
    first, second = fitted.halves
    assert first.holds and not second.holds and not fitted.near
    assert second.recorded_s > second.replayed_s + 29 * H
    assert "First half of the log: mean wait " in fitted.sentence
    assert "(Kolmogorov-Smirnov) 0." in fitted.sentence
    assert row["distance"] == pytest.approx((row["first_half"] + row["second_half"]) / 2)
    assert row["near_tie"] and not fitted.rivals


@pytest.mark.slow
def test_the_right_policy_is_chosen_at_three_loads() -> None:
    """18 of 18 at the time of writing."""
    right = []
    for load, seed in product((0.5, 0.65, 0.8), (1, 2)):
        for policy in (Fifo(), Easy(), Philly()):
            jobs = convoys(np.random.default_rng(seed), 480, load)
            fitted = chosen(jobs, policy, recorded=policy.quotas)
            right.append(fitted.near and fitted.scenario.policy == policy)
    assert np.mean(right) >= 0.9


def test_the_agreement_of_waits_is_that_of_means_and_of_counts() -> None:
    # of 10 jobs, the waits of 3 are above 100 s in the record and not in the replay: distance 0.3
    recorded = np.array([30.0, 100, 100, 100, 100, 100, 100, 900, 900, 900])
    replayed = np.where(recorded > 500, 100.0, recorded)
    found = agreement(recorded, replayed, 60.0)
    assert found == pytest.approx((330.0, 90.0, 0.3))
    assert not found.means_agree
    # waits of start-up, up to 60 s, are 0: one tenth of the jobs
    assert agreement(np.full(10, 59.0), np.zeros(10), 60.0) == (0, 0, 0)
    assert Agreement(400, 300, 0.0).holds and Agreement(400, 500, 0.0).holds
    assert not Agreement(400, 299, 0.0).holds and not Agreement(400, 501, 0.0).holds
    assert Agreement(10, 119, 0.0).holds, "nobody waits"
    assert not Agreement(400, 400, THRESHOLD["ks"] + 0.01).holds


def test_the_threshold_separates_the_simulated_clusters() -> None:
    assert THRESHOLD["near"] < THRESHOLD["ks"] < THRESHOLD["far"]
    believed, refused = (
        [agree and ks <= THRESHOLD["ks"] for agree, ks in (row[i] for row in THRESHOLD["clusters"])]
        for i in (3, 4)
    )
    assert np.mean(believed) == pytest.approx(THRESHOLD["accepted"], abs=5e-4)
    assert 1 - np.mean(refused) == pytest.approx(THRESHOLD["refused"], abs=5e-4)


@pytest.mark.slow
def test_names_of_policies_fit_the_log() -> None:
    jobs = convoys(np.random.default_rng(3), 60)
    waits = dict(outcome(scenario(*jobs)).select("job_id", "first_wait_s").rows())
    three = fitted_to(scenario(*jobs), waits)
    alone = [replace(spec, vc="v") for spec in jobs]
    one = fitted_to(scenario(*alone), waits)
    assert three is not None and one is not None
    assert not any("quota" in name for name in three.tried["policy"])
    assert "gangs hold free GPUs in turns" in set(three.tried["policy"])
    assert set(three.tried["policy"]) - set(one.tried["policy"]) == {
        *("max-min fairness over virtual clusters", "backfilling, priority by fair share"),
    }


# gains


def test_nine_of_ten_months_lie_in_the_interval() -> None:
    rng = np.random.default_rng(1)
    days = np.arange(720) / 24 * 86_400
    inside = []
    for _ in range(400):
        first, following = rng.gamma(2.0, 3.0, (2, 720))
        found = monthly(first, days)
        inside.append(found.low <= following.sum() <= found.high)
    assert 0.85 <= np.mean(inside) <= 0.95
    even = monthly(np.ones(720), days)
    assert even.mean == pytest.approx(720 * 30 / (719 / 24))
    assert even.high - even.low < 0.01 * even.mean


@pytest.mark.parametrize(
    "sums",
    [(0.3, 1.2, -0.7, 2.0, 0.1, -0.2, 3.5, 1.1, 0.9, -4.0, 5.0, 0.6), (2, 2, -2, 0, 0, 1, 3, -1),
     (0,), (1,) * 12, (-1, -2)],
)  # fmt: skip
def test_a_p_value_is_the_share_of_signs_with_a_sum_of_ranks_as_large(
    sums: tuple[float, ...],
) -> None:
    blocks = np.pad(np.array(sums, float), (0, 12 - len(sums)))
    found = p_value(np.append(blocks, 0), np.append(np.arange(12) + 0.5, 12.0) - 0.5)
    kept = blocks[blocks != 0]
    ranks = rankdata(abs(kept))
    drawn = np.array(list(product((0, 1), repeat=len(kept)))) @ ranks
    assert found == pytest.approx(np.mean(drawn >= ranks @ (kept > 0)))


def test_the_interval_pools_blocks_of_the_log_and_drawn_months() -> None:
    # 95th percentiles of Student's t: 1.796 with 11 degrees of freedom, 1.771 with 13
    log = Monthly(10.0, 10 - 1.796 * 3, 10 + 1.796 * 3)
    half = 1.771 * ((11 * 3**2 + 2 * (2 * 1.0)) / 13) ** 0.5
    assert pooled(log, [1.0, 2.0, 3.0]) == pytest.approx((10, 10 - half, 10 + half), abs=0.005)


def test_a_drawn_month_has_days_of_the_log_with_their_jobs() -> None:
    jobs = [
        job(f"d{day} {hour}", H, submit_s=86_400.0 * day + 3600 * hour)
        for day in range(40)
        for hour in range(24)
    ]
    log_facts = LogFacts(
        idle={"d5 3": ((0.0, H, False),)},
        spread=frozenset({"d5 4"}),
        broken={"d5 5": frozenset({0})},
        worst_servers=("m1",),
        binding=frozenset({"account a"}),
    )
    drawn, then = drawn_month(scenario(*jobs), log_facts, 2)
    begin_s, _ = period_of(jobs)
    of_day: dict[int, set[str]] = {}
    for spec in drawn.jobs:
        name, _, day = spec.job_id.partition(" on day ")
        [source] = [s for s in jobs if s.job_id == name]
        assert (spec.submit_s - source.submit_s) % 86_400 == 0
        assert int((spec.submit_s - begin_s) // 86_400) == int(day)
        of_day.setdefault(int(day), set()).add(name)
    assert list(of_day) == list(range(30)) and all(len(names) == 24 for names in of_day.values())
    copies = sum("d5 4" in names for names in of_day.values())
    assert [len(then.idle), len(then.spread), len(then.broken)] == [copies] * 3
    assert then.spread <= {spec.job_id for spec in drawn.jobs}
    assert then.worst_servers == ("m1",)
    assert then.binding == {"account a"}
    assert drawn_month(scenario(*jobs), log_facts, 3)[0].jobs != drawn.jobs


def test_the_function_has_the_usual_assumptions_as_defaults() -> None:
    given = inspect.signature(advise).parameters
    usual = asdict(Assumptions())
    assert {name: given[name].default for name in usual} == usual


@pytest.mark.slow
def test_an_interval_needs_three_months_and_advice_all_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trace_of(convoys(np.random.default_rng(7), 20), tmp_path) as trace:
        for months in (-1, 1, 2):
            with pytest.raises(InputError, match="months"):
                advise(trace, months=months)
        assert _why_withheld(trace, None, "").endswith("withheld: too few jobs have a known wait.")
        monkeypatch.setattr(completeness, "missing_jobs", lambda _: "jobs are missing")
        assert _why_withheld(trace, None, "").endswith("withheld: jobs are missing.")


def test_gains_are_those_of_an_independent_simulation() -> None:
    jobs = convoys(np.random.default_rng(5))
    now = scenario(*jobs)
    change = applied("backfill", now)
    gain = gain_of(now, change, (outcome(now), outcome(change.scenario)), GIVEN)
    waits = []
    for policy in (Fifo(), Easy()):
        table = run(jobs, fleet("4x4"), policy).jobs.sort("job_id")
        run_s = np.array([spec.attempts[0].run_s for spec in jobs])
        waits.append((table["end_s"] - table["submit_s"]).to_numpy() - run_s)
    saved_s = waits[0] - waits[1]
    begin_s, end_s = period_of(jobs)
    counted = np.array([s.submit_s >= begin_s for s in jobs])
    month = 30 * 86_400 / (end_s - begin_s)
    gpus = np.array([s.gpus for s in jobs])
    assert gain.wait_h is not None
    assert gain.wait_h.mean == pytest.approx(month * saved_s[counted].sum() / H)
    assert gain.value_h.mean == pytest.approx(month * (gpus * saved_s)[counted].sum() / H)
    assert (gain.gpu_h.mean, gain.jobs, gain.users) == (0, 0, 0)
    assert gain.later_jobs == int((saved_s[counted] < -600).sum())
    for low, high, row in zip((1, 2, 9), (1, 4, 16), gain.by_gang.itertuples(), strict=True):
        own = counted & (gpus >= low) & (gpus <= high)
        assert row.jobs == own.sum()
        before, after = (wait_s[own] for wait_s in waits)
        assert (row.mean_before_s, row.mean_after_s) == pytest.approx((before.mean(), after.mean()))
        assert row.p90_before_s == pytest.approx(np.quantile(before, 0.9))
        assert (row.longest_before_s, row.longest_after_s) == pytest.approx(
            (before.max(), after.max())
        )
    means = [w[counted].mean() for w in waits]
    assert gain.saved_s == pytest.approx(means[0] - means[1])


def test_added_servers_cost_their_hours_and_lost_work_counts() -> None:
    jobs = convoys(np.random.default_rng(5), 60)
    now = scenario(*jobs)
    gain = gain_of(now, Change(now.with_servers(2), frozenset({"j0050"})), None, GIVEN)
    assert gain.gpu_h.mean == gain.value_h.mean == pytest.approx(-2 * 4 * 720)
    assert (gain.later_jobs, gain.later_users, gain.wait_h) == (1, 1, None)
    longer = now.with_jobs(
        lambda s: replace(s, attempts=(replace(s.attempts[0], run_s=s.run_s + 601),))
    )
    later = gain_of(now, Change(longer), None, GIVEN)
    assert later.later_jobs == later.jobs == 59  # the first one was submitted before the period
    assert later.gpu_h.mean < 0
    assert later.users == 7


def test_the_measure_is_freed_gpu_hours_saved_waiting_or_both() -> None:
    jobs = convoys(np.random.default_rng(5))
    now = scenario(*jobs)
    half = now.with_jobs(
        lambda s: replace(s, attempts=(replace(s.attempts[0], run_s=s.run_s / 2),))
    )
    waits = outcome(now), outcome(half)
    values = {
        name: gain_of(now, Change(half), waits, Assumptions(value=name)).value_h.mean
        for name in VALUES
    }
    assert values["total"] == pytest.approx(values["freed"] + values["waiting"])
    begin_s, end_s = period_of(jobs)
    month = 30 * 86_400 / (end_s - begin_s)
    ran_h = sum(s.gpus * s.run_s for s in jobs if s.submit_s >= begin_s) / H
    assert values["freed"] == pytest.approx(month * ran_h / 2)
    servers = gain_of(now, Change(now.with_servers(1)), waits, Assumptions(value="waiting"))
    assert servers.value_h.mean == pytest.approx(values["waiting"]), "no cost in waiting"


def by_gang(
    before_s: float, after_s: float, *, gang: str = ">8", factor: float = 2
) -> pd.DataFrame:
    """Return waits of ten jobs of a gang size; 90th percentile and longest are multiples."""
    row: dict[str, object] = {"gang": gang, "jobs": 10}
    for nth, name in enumerate(("mean", "p90", "longest")):
        row |= {
            f"{name}_before_s": before_s * factor**nth,
            f"{name}_after_s": after_s * factor**nth,
        }
    return pd.DataFrame([row])


def gain(
    value_h: Span, *, gpu_h: float = 0.0, p: float = 0.01, waits: pd.DataFrame | None = None
) -> Gain:
    freed = Monthly(gpu_h, gpu_h, gpu_h)
    table = pd.DataFrame() if waits is None else waits
    months = () if waits is None else (waits,)
    return Gain(freed, None, Monthly(*value_h), 0, 0, 0, 0, table, p, months)


def priced(name: str, found: Gain) -> Priced:
    return Priced(name, name, found)


@pytest.mark.parametrize(
    ("found", "value", "why"),
    [
        (gain((5, 1, 9), gpu_h=5), "total", ""),
        (gain((5, -1, 9), gpu_h=5), "total", ""),
        (gain((5, -1, 9), gpu_h=5, p=0.05), "total", "too few of the log's twelve parts"),
        (gain((5, 1, 9), gpu_h=5, p=0.05), "total", ""),
        (gain((0.9, 0.5, 1), gpu_h=0.9), "total", "less than 1 % of the GPU hours"),
        (gain((5, 1, 9), waits=by_gang(400, 280)), "total", ""),
        (gain((5, 1, 9), waits=by_gang(400, 281)), "total", "and 2 min a job"),
        (gain((5, 1, 9), waits=by_gang(400, 281), gpu_h=5), "waiting", "and 2 min a job"),
        (gain((5, 1, 9), waits=by_gang(400, 280)), "freed", "less than 1 %"),
        (gain((0, 0, 0), gpu_h=5), "total", "costs more"),
        (gain((-5, -9, -1), gpu_h=5), "total", "costs more"),
        (gain((5, 1, 9), gpu_h=5, waits=by_gang(1000, 1251)), "total", "raises the mean wait"),
        (gain((5, 1, 9), gpu_h=5, waits=by_gang(100, 210)), "total", "raises the 90th percentile"),
        (gain((5, 1, 9), gpu_h=5, waits=by_gang(1000, 1250)), "total", ""),
        (gain((5, 1, 9), gpu_h=5, waits=by_gang(10, 60)), "total", ""),
    ],
)
def test_a_lever_has_a_card_unless_there_is_an_objection(found: Gain, value: str, why: str) -> None:
    told = objection(found, 100.0, value)
    assert why in told if why else told == ""


def test_harm_is_stated_with_the_longest_wait() -> None:
    two = pd.concat([by_gang(50, 40, gang="1"), by_gang(11 * H, 49 * H)])
    assert harm(gain((1, 1, 1), waits=two)) == (
        "raises the mean wait of jobs with >8 GPUs from 11 h to 2.04 days, and the longest wait "
        "from 44 h to 8.17 days"
    )
    assert gain((1, 1, 1), waits=two).saved_s == pytest.approx((50 + 11 * H - 40 - 49 * H) / 2)


def test_harm_counts_by_gang_size_and_over_the_drawn_months_together() -> None:
    """30 gangs of 2 wait as long, 30 gangs of 4 longer, and 5 gangs of 3 are too few for a row."""
    gpus = (2, 4) * 30 + (3,) * 5
    jobs = [job(f"j{i:02d}", H, gpus=n, submit_s=H * i) for i, n in enumerate(gpus, 1)]
    now = scenario(job("first", H), *jobs)

    def waiting(*, large_s: float) -> pl.DataFrame:
        waits = [0.0, *(large_s if n == 4 else 600.0 for n in gpus)]
        return pl.DataFrame({"job_id": ["first", *(s.job_id for s in jobs)], "wait_s": waits})

    def month(after_s: float) -> Gain:
        waits = waiting(large_s=600), waiting(large_s=after_s)
        return gain_of(now, Change(now), waits, GIVEN)

    log, busy = month(600), month(1300)
    assert log.by_gang["gang"].tolist() == ["2-4"]
    assert log.by_size["gang"].tolist() == ["2", "2-4", "4"]
    assert log.by_size["jobs"].tolist() == [30, 5, 30]
    assert harm(log) == ""
    assert harm(busy).startswith("raises the mean wait of jobs with 4 GPUs from 10 min to 21.7 min")
    # the mean after is (2 · 600 s + 1300 s) / 3; with three more quiet months it rises by a fifth
    three = harm(over_drawn(log, [log, busy]))
    assert "mean wait of jobs with 4 GPUs from 10 min to 13.9 min, and the longest" in three
    assert three.endswith("from 10 min to 21.7 min")
    six = over_drawn(log, [log, log, log, log, busy])
    assert harm(six) == ""
    # a rise in a fifth of the months is harm, although all months together have none
    quiet = month(300)
    assert harm(over_drawn(quiet, [quiet, quiet, busy])).endswith("1 of 4 months have such a rise")
    assert harm(over_drawn(quiet, [quiet] * 4 + [busy])) == ""


def given(now: Scenario, *levers: Priced, **fields: object) -> Advice:
    nothing: dict[str, object] = {
        **{name: {} for name in ("disputed", "objections", "failed")},
        **dict.fromkeys(("best", "combined", "moved"), ()),
        "withheld": "",
    }
    rest = {**nothing, **fields}
    return Advice(None, now, 100.0, 50.0, levers, **rest)  # type: ignore[arg-type]


def test_a_gain_whose_interval_contains_0_is_likely_and_the_measure_is_first() -> None:
    both = priced("share", gain((15, -5, 35), gpu_h=10, waits=by_gang(2 * H, H)))
    advice = given(scenario(job("a", H)), both)
    first, *others = parts(advice, both)
    assert not clear(both.gain)
    assert first == (
        "likely 15 GPU hours a month freed or waited less "
        "(nine of ten months: \N{MINUS SIGN}5 to 35)"
    )
    assert others == [
        "10 GPU hours a month freed: 10 % of all GPU hours",
        "the mean wait changes from 2 h to 60 min",
        "no job completes later",
    ]
    sure = priced("backfill", gain((5, 1, 9), waits=by_gang(2 * H, H)))
    assert parts(advice, sure)[0] == "5 GPU hours a month waited less (nine of ten months: 1 to 9)"
    costs, *_ = parts(advice, priced("servers", gain((-10, -20, -1), gpu_h=-10)))
    assert costs.startswith("costs 10 GPU hours a month (nine of ten months: 1 to 20)")
    # where nobody waits, waits are not mentioned
    idle = priced("end_idle", gain((10, 5, 15), gpu_h=10, waits=by_gang(60, 30)))
    calm = given(scenario(job("a", H)), idle)
    assert parts(calm, idle)[0].startswith("10 GPU hours a month freed (")
    assert not any("mean wait" in part for part in parts(calm, idle))
    assert "The mean wait is 1 min: no lever can shorten it" in recommendation(calm)
    assert "The mean wait" not in recommendation(advice)


def test_levers_without_a_card_have_a_reason() -> None:
    names = ("backfill", "share", "repair")
    listed = [priced(name, gain((10, 0, 20), gpu_h=10)) for name in names]
    advice = given(
        scenario(job("a", H)),
        *listed,
        best=listed[:1],
        objections={"share": "costs"},
        failed={"Migrate": "no such knob"},
    )
    folded = without_card(advice)
    assert folded["lever"].tolist() == ["share", "repair", "Migrate"]
    assert folded["why"].tolist() == [
        *("costs", "three other levers gain more", "could not be priced: no such knob"),
    ]
    assert folded.iloc[:, 1].tolist() == ["10 (0 to 20)", "10 (0 to 20)", NOT_KNOWN]


def test_three_levers_at_most_have_a_card_and_none_with_a_purchase() -> None:
    names = ("servers", "share", "repair", "backfill", "retries", "end_idle")
    found = [priced(name, gain((5, 1, 9), gpu_h=5)) for name in names]
    found[3] = priced("backfill", gain((0.1, 0, 0.2), gpu_h=0.1))
    now = scenario(*(job(f"j{i}", H, submit_s=864.0 * i) for i in range(101)))
    pricing = Pricing(now, NOTHING, GIVEN, None, InlineExecutor())
    assert pricing.ran_h == pytest.approx(100 * 30 / (99 * 0.01))
    small = GIVEN
    assert Pricing(now, NOTHING, small, None, InlineExecutor()).with_cards(found, 0) == ([], [])
    large = [replace(p, gain=p.gain._replace(gpu_h=Monthly(50, 50, 50))) for p in found]
    large[3] = found[3]
    cards, _ = pricing.with_cards(large, 0)
    assert [p.name for p in cards] == ["share", "repair", "retries"]


def test_a_repair_has_no_card_if_the_drained_days_of_other_months_are_busy() -> None:
    """Draining one of two servers for the log's first day is free: the day has one job.

    Every other day has six jobs of a server each for three hours, one and a half hours apart, so
    that two run at once.
    """
    day = 24 * H
    jobs = [job("first", H, gpus=4)]  # before the period
    jobs += [job(f"d{d:02d}", CRASH_AT_NIGHT, H, gpus=4, submit_s=day * d) for d in range(0, 20, 2)]
    for d in range(1, 20, 2):
        jobs += [
            job(f"d{d:02d} {n}", 3 * H, gpus=4, submit_s=day * d + 1.5 * H * n) for n in range(6)
        ]
    now = scenario(*jobs, machines="2x4")
    broken = {s.job_id: frozenset({0}) for s in jobs if len(s.attempts) == 2}
    server = now.pools[0].machines[0].machine_id
    log_facts = LogFacts(broken=broken, worst_servers=(server,))
    assumed = replace(GIVEN, repair_days=0.9)
    pricing = Pricing(now, log_facts, assumed, outcome(now), InlineExecutor())
    [repair] = pricing.levers([LEVER["repair"]])
    assert pricing.with_cards([repair], 0) == ([repair], [])
    cards, [refused] = pricing.with_cards([repair], 3)
    assert cards == []
    assert "raises the mean wait of jobs with 4 GPUs" in pricing.objection(refused)
    # harm in the log alone is no objection if other months are quiet
    busy = repair.gain._replace(months=(by_gang(400, 700, gang="4"),))
    assert "raises" in pricing.objection(replace(repair, gain=busy))
    assert "raises" not in pricing.objection(replace(repair, gain=busy), harmful=True)


def test_the_failure_of_one_lever_is_a_row_and_the_others_are_priced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = convoys(np.random.default_rng(5), 60)
    now = scenario(*jobs)

    def fails_at_once(*_: object) -> Change:
        raise SimulationError("no such knob")

    def fails_in_replay(before: Scenario, *_: object) -> Change:
        return Change(replace(before, pools=(replace(before.pools[0], machines=()),)))

    levers = [
        Lever("consolidate", fails_at_once, lambda _: "Fail at once", "Nothing."),
        Lever("migrate", fails_in_replay, lambda _: "Fail in the replay", "Nothing."),
        LEVER["backfill"],
    ]
    pricing = Pricing(now, NOTHING, GIVEN, outcome(now), InlineExecutor())
    assert [p.name for p in pricing.levers(levers)] == ["backfill"]
    assert pricing.failed.keys() == {"Fail at once", "Fail in the replay"}
    assert pricing.failed["Fail at once"] == "no such knob"
    assert "machines" in pricing.failed["Fail in the replay"]
    monkeypatch.setattr(
        "philly_analysis.experiments.advice.pricing._BY_NAME", {"migrate": levers[1]}
    )
    broken = priced("migrate", gain((5, 1, 9)))
    assert pricing.over_months([broken], 3) == []
    assert pricing.failed["migrate"].endswith(pricing.failed["Fail in the replay"])


# all of it


def trace_of(jobs: list[JobSpec], folder: Path, policy: str = "fifo") -> Trace:
    """Return the trace of a simulated cluster of 16 GPUs."""
    start = pl.datetime(2024, 1, 1, time_unit="us")
    at = pl.duration(microseconds=(pl.col("submit_s") * 1e6).cast(pl.Int64))
    rows = pl.DataFrame(
        [(s.job_id, s.vc, s.user, s.gpus, s.status, s.submit_s, s.run_s) for s in jobs],
        ["job_id", "vc", "user", "gpus", "status", "submit_s", "run_s"],
        orient="row",
    ).with_columns(submitted_at=start + at)
    attempts = rows.select(
        "job_id",
        "gpus",
        attempt=pl.lit(1),
        started_at="submitted_at",
        ended_at=pl.col("submitted_at")
        + pl.duration(microseconds=(pl.col("run_s") * 1e6).cast(pl.Int64)),
    )
    workload = Workload("convoys", rows.drop("submit_s", "run_s"), attempts)
    return simulate(workload, policy, folder / "trace", cluster="4x4")


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Result, Path]]:
    folder = tmp_path_factory.mktemp("advice")
    with trace_of(convoys(np.random.default_rng(7), load=0.5), folder) as trace:
        yield advise(trace, folder / "page", months=3), folder / "page" / "report.html"


def test_a_queue_that_blocks_is_advised_to_backfill(advised: tuple[Result, Path]) -> None:
    result, page = advised
    assert result.facts.distance == pytest.approx(0, abs=0.05)
    assert result.facts.best_1 == "backfill"
    assert result.sentences[0].startswith("Switch on backfilling: ")
    assert "GPU hours a month waited less" in result.sentences[0]
    assert result.facts.recorded_wait_1_s == pytest.approx(result.facts.replayed_wait_1_s, rel=0.01)
    assert result.facts.ks_1 == pytest.approx(0, abs=0.05)
    assert "SchedulerType=sched/backfill" in page.read_text("utf-8")
    gains = result.table["value_h"]
    assert gains.is_monotonic_decreasing
    assert result.table["frontier"][0]
    html = page.read_text("utf-8")
    assert "What to type in Slurm" in html and "nine of ten months" in html
    assert '<a href="https://slurm.schedmd.com/slurm.conf.html#OPT_bf_window">' in html
    assert "<summary>No card: " in html and "costs more than it gains" in html


def test_every_lever_has_its_settings_and_wording() -> None:
    import tomllib

    import philly_analysis.experiments.advice as package

    toml = tomllib.loads((Path(package.__file__).parent / "slurm.toml").read_text("utf-8"))
    assert toml.keys() == LEVER.keys()
    pages = r"gres|sacctmgr|sbatch|scontrol|slurm\.conf|sstat"
    for row in (row for rows in toml.values() for row in rows):
        assert re.fullmatch(rf"({pages})\.html(#[A-Za-z_-]+)?", row["link"])
    for lever in LEVERS:
        assert lever.title(GIVEN) and lever.assumes.endswith(".")
        assert not lever.moves or hasattr(GIVEN, lever.moves)


def test_settings_are_filled_in_from_the_log() -> None:
    def typed(name: str, **fields: object) -> pd.DataFrame:
        now = scenario(job("a", H, **fields), job("b", H, vc="it's"), machines="2x4,1x8")
        advice = given(now, worst_servers=("m1", "m2;reboot"))
        return settings(advice, priced(name, gain((0, 0, 0))), GIVEN)

    assert "NodeName='m1,m2;reboot' State=DRAIN" in typed("repair")["type"][0]
    assert typed("backfill")["type"][1] == (
        "SchedulerParameters=bf_window=60,bf_job_part_count_reserve=1"
    )
    assert "bf_window=91," in typed("backfill", time_limit_s=90 * 60.0 + 1)["type"][1]
    assert "bf_window=43200," in typed("backfill", time_limit_s=1000 * 24 * H)["type"][1]
    assert typed("backfill")["link"][1] == "https://slurm.schedmd.com/slurm.conf.html#OPT_bf_window"
    assert typed("share")["type"][1] == "NodeName=NAME Gres=gpu:4,shard:8"
    assert typed("other_servers")["type"][0] == "NodeName=NEW[1-1] Gres=gpu:8"
    assert typed("repair")["type"][1] == "scontrol update NodeName='m1,m2;reboot' State=RESUME"
    shares = typed("quotas")
    assert shares["type"][0] == """sacctmgr modify account name='it'"'"'s' set fairshare=8"""
    assert "GrpTRES=gres/gpu=8" in shares["documentation"][0]


@pytest.mark.slow
def test_a_sample_of_the_jobs_gets_no_advice_on_scheduling(tmp_path: Path) -> None:
    jobs = convoys(np.random.default_rng(7), load=0.9)
    with trace_of(jobs, tmp_path) as whole:
        workload = Workload.from_trace(whole)
    kept = [s.job_id for s in jobs[::2]]
    frames = {
        name: frame.filter(pl.col("job_id").is_in(kept)) if "job_id" in frame.columns else frame
        for name, frame in workload.frames_with_rows.items()
    }
    result = advise(frames)
    assert result.sentences[0].endswith(" Advice on scheduling is withheld.")
    assert any("withheld" in caveat for caveat in result.caveats)
    assert "Switch on backfilling" not in set(result.table["lever"])
    assert result.table["wait_h"].isna().all()
    assert result.facts.wait_h is None


@pytest.mark.slow
def test_gains_a_month_need_a_day_of_jobs(tmp_path: Path) -> None:
    with (
        trace_of(convoys(np.random.default_rng(7))[:9], tmp_path) as trace,
        pytest.raises(InputError, match=r"submitted within 103 min\. .* at least a day"),
    ):
        advise(trace)


@pytest.mark.slow
def test_quotas_count_where_the_trace_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(log: Recorded, *_: object, **__: object) -> None:
        raise InputError(f"quotas: {log.quotas}")

    monkeypatch.setattr("philly_analysis.experiments.advice.advice.fit_baseline", fit)
    with trace_of(convoys(np.random.default_rng(7), 9, 0.02), tmp_path) as trace:
        frames = Workload.from_trace(trace).frames_with_rows
    quotas = pl.DataFrame({"vc": ["v0"], "gpus": [6]})
    for given, known in ((frames, False), ({**frames, "virtual_clusters": quotas}, True)):
        with pytest.raises(InputError, match=f"quotas: {known}"):
            advise(given)


def month(rng: np.random.Generator, load: float) -> list[JobSpec]:
    """Return 600 convoy jobs over 30 days, with a given expected load."""
    month_s = 30 * 86_400.0
    return [
        replace(s, submit_s=at, attempts=(AttemptSpec(s.run_s * load * 16 * month_s / (1440 * H)),))
        for s, at in zip(convoys(rng, 600), np.sort(rng.uniform(0, month_s, 600)), strict=True)
    ]


def wasteful(jobs: list[JobSpec]) -> LogFacts:
    """Return that half of the jobs compute for half of their time only."""
    return LogFacts(idle={s.job_id: ((0.5 * s.run_s, 0.5 * s.run_s, False),) for s in jobs[::2]})


def notebook_waste_h(trace: Trace) -> float:
    """Return the GPU hours of the sample's notebook user beyond four idle ones of each run."""
    runs = trace.sql(
        "select any_value(started_at), any_value(ended_at), machine_id, list(gpu) from attempts "
        "inner join placements using (job_id, attempt) inner join jobs using (job_id) "
        "where \"user\" = '1d1e00' group by job_id, attempt, machine_id"
    ).fetchall()
    waste_h = 0.0
    for started, ended, machine, gpus in runs:
        readings = trace.sql(
            "select sampled_at, util_pct from gpu_samples where machine_id = $machine "
            "and sampled_at >= $started and sampled_at < $ended order by sampled_at",
            machine=machine,
            started=started,
            ended=ended,
        ).fetchall()
        since = None
        for at, percent in readings:
            if any(percent[gpu] for gpu in gpus):
                since = None
            elif (at - (since := since or at)).total_seconds() > 4 * H:
                waste_h += len(gpus) * ((ended - since).total_seconds() / H - 4)
                break
    return waste_h


@pytest.mark.slow
def test_the_waste_of_the_sample_is_found_and_priced(tmp_path: Path) -> None:
    """A user's daily notebook hardly computes. The policy is Philly's.

    Advice takes 90 s of processor time, which is tested, as the machine may be busy.
    """
    ingest("philly", SAMPLE, tmp_path / "trace", quotas=SAMPLE / "quotas.csv")
    begun_s = time.process_time()
    with Trace(tmp_path / "trace") as trace:
        result = advise(trace)
        took_s = time.process_time() - begun_s
        waste_h = notebook_waste_h(trace)
        begin_s, end_s = period_of(recorded_scenario(trace)[0].jobs)
    assert took_s < 120
    assert "quotas with borrowing, patient gangs" in str(result.caveats)
    row = result.table.set_index("lever").loc["End jobs idle for 4 h"]
    assert 0 < row["gpu_h_low"] <= waste_h * 30 * 24 * H / (end_s - begin_s) <= row["gpu_h_high"]


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.5, 0.65, 0.8])
def test_the_right_lever_is_first(load: float) -> None:
    """A queue that blocks: backfill; gangs above quotas: quotas; else idle jobs."""
    for policy, right in ((Fifo(), "backfill"), (Easy(), "end_idle"), (Philly(), "quotas")):
        jobs = month(np.random.default_rng(round(100 * load)), load)
        now = replace(scenario(*jobs, policy=policy), quotas={"v0": 6, "v1": 5, "v2": 5})
        log_facts = wasteful(jobs) if right == "end_idle" else LogFacts()
        priced = Pricing(now, log_facts, GIVEN, outcome(now), InlineExecutor()).levers(LEVERS)
        assert next(p.name for p in priced if p.name != "servers") == right, policy


@pytest.mark.slow
def test_freed_gpu_hours_of_following_months_lie_in_the_interval() -> None:
    inside = []
    for load, seed in product((0.5, 0.65, 0.8), range(4)):
        gains = []
        for n in range(6):
            jobs = month(np.random.default_rng([seed, n]), load)
            now = scenario(*jobs)
            gains.append(gain_of(now, applied("end_idle", now, wasteful(jobs)), None, GIVEN).gpu_h)
        pairs = ((a, b) for i, a in enumerate(gains) for j, b in enumerate(gains) if i != j)
        inside += [told.low <= realised.mean <= told.high for told, realised in pairs]
    assert 0.8 <= np.mean(inside) <= 0.95
