"""Check advice: the fit of the policy, each lever, gains with their intervals, and the page."""

import inspect
import re
import time
from collections.abc import Iterator
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
from philly_analysis.errors import InputError
from philly_analysis.experiments.advice.advice import Advice, _why_withheld, disputed_levers
from philly_analysis.experiments.advice.baseline import (
    CANDIDATES,
    THRESHOLD,
    Baseline,
    distance_of,
    fit_baseline,
    near_ties,
)
from philly_analysis.experiments.advice.gains import (
    Gain,
    Monthly,
    gain_of,
    monthly,
    p_value,
    predicted,
)
from philly_analysis.experiments.advice.lever import Assumptions, Change
from philly_analysis.experiments.advice.levers import LEVERS
from philly_analysis.experiments.advice.pricing import Priced, Pricing, clear
from philly_analysis.experiments.advice.resampling import drawn_month
from philly_analysis.experiments.advice.scenario import (
    Known,
    Scenario,
    outcome,
    period_of,
    recorded_scenario,
)
from philly_analysis.experiments.advice.wording import parts, settings, without_clear_gain
from philly_analysis.parallel import InlineExecutor
from philly_analysis.simulator import Pool, run
from philly_analysis.simulator.policies import Easy, Fifo, Philly, Policy
from philly_analysis.workload import AttemptSpec, JobSpec, Workload, fleet
from tests.support.repository import SAMPLE

H = 3600.0
LEVER = {lever.name: lever for lever in LEVERS}
GIVEN = Assumptions()
NOTHING = Known()
Span = tuple[float, float, float]


def job(name: str, *runs: AttemptSpec | float, **fields: object) -> JobSpec:
    attempts = tuple(r if isinstance(r, AttemptSpec) else AttemptSpec(r, "completed") for r in runs)
    spec = JobSpec(name, "v", "ann", 1, 0.0, attempts, status="Pass")
    return replace(spec, **fields)  # type: ignore[arg-type]


def scenario(*jobs: JobSpec, policy: Policy | None = None, machines: str = "4x4") -> Scenario:
    return Scenario((Pool("", fleet(machines), jobs),), policy or Fifo())


def applied(name: str, now: Scenario, known: Known = NOTHING, **moved: float) -> Change:
    change = LEVER[name].apply(now, known, replace(GIVEN, **moved))  # type: ignore[arg-type]
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


@pytest.mark.parametrize("policy", [Fifo(), pytest.param(Easy(), marks=pytest.mark.slow)])
def test_a_known_policy_is_found_and_a_sample_of_its_jobs_is_refused(policy: Policy) -> None:
    jobs = convoys(np.random.default_rng(3))
    waits = dict(outcome(scenario(*jobs, policy=policy)).select("job_id", "first_wait_s").rows())
    fitted = fit_baseline(scenario(*jobs), waits, None, InlineExecutor())
    assert fitted is not None and fitted.near
    assert fitted.scenario.policy == policy
    half = fit_baseline(scenario(*jobs[::2]), waits, None, InlineExecutor())
    assert half is not None and not half.near
    assert "withheld" in half.sentence
    fits = [fit_baseline(scenario(*jobs[:n]), waits, None, InlineExecutor()) for n in (40, 41)]
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
    fitted = fit_baseline(
        replace(now, policy=Fifo()), waits, None, InlineExecutor(), quotas=recorded
    )
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


def test_the_larger_distance_of_the_two_halves_decides() -> None:
    jobs = convoys(np.random.default_rng(3))
    now = scenario(*jobs)
    waits = dict(outcome(now).select("job_id", "first_wait_s").rows())
    late = {name: wait + 30 * H * (name >= "j0120") for name, wait in waits.items()}
    fitted = fit_baseline(now, late, None, InlineExecutor(), CANDIDATES[:1])
    assert fitted is not None
    [row] = fitted.tried.to_dict("records")
    assert row["first_half"] < 0.1 < row["second_half"] == fitted.distance.total
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


def test_the_threshold_separates_the_simulated_clusters() -> None:
    assert THRESHOLD["near"] < THRESHOLD["distance"] < THRESHOLD["far"]
    near, far = (
        np.array([row[i] for row in THRESHOLD["clusters"]]) <= THRESHOLD["distance"] for i in (3, 4)
    )
    assert (near.mean(), 1 - far.mean()) == (THRESHOLD["accepted"], THRESHOLD["refused"])


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


def test_the_interval_of_drawn_months_has_twice_their_variance() -> None:
    found = predicted(10.0, [1.0, 2.0, 3.0])
    # the 95th percentile of Student's t with 2 degrees of freedom is 2.92
    assert found == pytest.approx((10, 10 - 2.92 * 2**0.5, 10 + 2.92 * 2**0.5), abs=0.001)


def test_a_drawn_month_has_days_of_the_log_with_their_jobs() -> None:
    jobs = [
        job(f"d{day} {hour}", H, submit_s=86_400.0 * day + 3600 * hour)
        for day in range(40)
        for hour in range(24)
    ]
    known = Known(
        idle={"d5 3": ((0.0, H, False),)},
        spread=frozenset({"d5 4"}),
        broken={"d5 5": frozenset({0})},
    )
    drawn, then = drawn_month(scenario(*jobs), known, 2)
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
    assert drawn_month(scenario(*jobs), known, 3)[0].jobs != drawn.jobs


def test_the_function_has_the_usual_assumptions_as_defaults() -> None:
    given = inspect.signature(advise).parameters
    usual = asdict(Assumptions())
    assert {name: given[name].default for name in usual} == usual


def test_an_interval_needs_three_months_and_advice_all_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trace_of(convoys(np.random.default_rng(7), 20), tmp_path) as trace:
        for months in (-1, 1, 2):
            with pytest.raises(InputError, match="months"):
                advise(trace, months=months)
        assert _why_withheld(trace, None).endswith("withheld: too few jobs have a known wait.")
        monkeypatch.setattr(completeness, "missing_jobs", lambda _: "jobs are missing")
        assert _why_withheld(trace, None).endswith("withheld: jobs are missing.")


def test_gains_are_those_of_an_independent_simulation() -> None:
    jobs = convoys(np.random.default_rng(5))
    now = scenario(*jobs)
    change = applied("backfill", now)
    gain = gain_of(now, change, (outcome(now), outcome(change.scenario)), 1.0)
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


def test_added_servers_cost_their_hours_and_lost_work_counts() -> None:
    jobs = convoys(np.random.default_rng(5), 60)
    now = scenario(*jobs)
    gain = gain_of(now, Change(now.with_servers(2), frozenset({"j0050"})), None, 1.0)
    assert gain.gpu_h.mean == gain.value_h.mean == pytest.approx(-2 * 4 * 720)
    assert (gain.later_jobs, gain.later_users, gain.wait_h) == (1, 1, None)
    longer = now.with_jobs(
        lambda s: replace(s, attempts=(replace(s.attempts[0], run_s=s.run_s + 601),))
    )
    later = gain_of(now, Change(longer), None, 1.0)
    assert later.later_jobs == later.jobs == 59  # the first one was submitted before the period
    assert later.gpu_h.mean < 0
    assert later.users == 7


def priced(name: str, gpu_h: Span, wait_h: Span | None, value_h: float = 1.0) -> Priced:
    wait = None if wait_h is None else Monthly(*wait_h)
    value = Monthly(value_h, value_h, value_h)
    return Priced(name, name, Gain(Monthly(*gpu_h), wait, value, 0, 0, 0, 0, pd.DataFrame()))


def test_an_interval_that_includes_0_is_not_clear_and_the_clear_gain_is_first() -> None:
    now = scenario(job("a", H))
    advice = Advice(None, now, 100.0, 50.0, (), (), {}, (), (), "")
    waited, freed, *_ = parts(advice, priced("share", (10, 0, 20), (5, 1, 9)))
    assert (
        waited == "5 hours less waiting a month, 10 % of the waiting (nine of ten months: 1 to 9)"
    )
    assert freed == "GPU hours a month: not clear (nine of ten months: 0 to 20)"
    first, *_ = parts(advice, priced("share", (10, 1, 20), (5, 1, 9)))
    assert first.startswith("10 GPU hours a month, 10 % of all")
    costs, *_ = parts(advice, priced("servers", (-10, -20, -1), None))
    assert costs.startswith("costs 10 GPU hours a month")
    listed = [
        priced("backfill", (0, 0, 0), (5, 1, 9)),
        priced("share", (10, 0, 20), None),
        priced("repair", (10, 1, 20), None),
        priced("servers", (-10, -20, -1), None, value_h=0),
    ]
    folded = without_clear_gain(replace(advice, levers=listed, disputed={"backfill": "EASY"}))
    assert folded["why"].tolist() == [
        "the log also fits EASY, which does not have this lever",
        "not above 0 in significantly many parts of the log",
        "costs more than it gains",
    ]
    assert folded["GPU hours a month"].tolist()[:2] == ["0", "10 (0 to 20)"]


@pytest.mark.parametrize(
    ("gpu_h", "wait_h", "value_h", "expected"),
    [
        ((5, 1, 9), None, 1, True),
        ((5, 0, 10), None, 1, False),
        ((5, 1, 9), (0, -2, 2), 1, True),
        ((0, 0, 0), (5, 1, 9), 1, True),
        ((0, 0, 0), (5, 0, 9), 1, False),
        ((5, 1, 9), (-5, -9, -1), 1, False),
        ((5, 1, 9), (-5, -9, 0), 1, True),
        ((-5, -9, -1), (5, 1, 9), 1, False),
        ((5, 1, 9), (0, -2, 2), 0, False),
    ],
)
def test_a_gain_is_clear_if_an_interval_is_above_0_and_none_below(
    gpu_h: Span, wait_h: Span | None, value_h: float, *, expected: bool
) -> None:
    assert clear(priced("share", gpu_h, wait_h, value_h)) is expected


def test_levers_are_tested_until_three_have_a_clear_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = []

    def drawn(_: Pricing, best: list[Priced], months: int) -> list[Priced]:
        batches.append([each.name for each in best])
        return [p if p.name != "share" else priced("share", (5, -1, 11), None) for p in best]

    monkeypatch.setattr(Pricing, "over_months", drawn)
    names = ("servers", "share", "repair", "retries", "end_idle", "checkpoints")
    found = [priced(name, (5, 1, 9), None) for name in names]
    found.insert(1, priced("backfill", (0, 0, 0), (1, -1, 3)))
    pricing = Pricing(scenario(job("a", H)), NOTHING, GIVEN, pl.DataFrame(), InlineExecutor())
    tested = pricing.tested(found, 3)
    assert batches == [["share", "repair", "retries"], ["end_idle"]]
    assert [p.name for p in tested if clear(p)] == ["repair", "retries", "end_idle"]
    assert [p.name for p in pricing.tested(found, 0)] == ["share", "repair", "retries"]


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
    assert "hours less waiting a month" in result.sentences[0]
    assert "SchedulerType=sched/backfill" in page.read_text("utf-8")
    gains = result.table["value_h"]
    assert gains.is_monotonic_decreasing
    assert result.table["frontier"][0]
    html = page.read_text("utf-8")
    assert "What to type in Slurm" in html and "nine of ten months" in html
    assert '<a href="https://slurm.schedmd.com/slurm.conf.html#OPT_bf_window">' in html
    assert "<summary>No clear gain: " in html and "costs more than it gains" in html


def test_every_lever_has_its_settings_and_wording() -> None:
    import tomllib

    import philly_analysis.experiments.advice as package

    toml = tomllib.loads((Path(package.__file__).parent / "slurm.toml").read_text("utf-8"))
    assert toml.keys() == LEVER.keys()
    pages = "|".join(
        (
            *("gres", "job_submit_plugins", "priority_multifactor", "sacctmgr", "sbatch"),
            *("scancel", "scontrol", r"slurm\.conf", "sstat"),
        )
    )
    for row in (row for rows in toml.values() for row in rows):
        assert re.fullmatch(rf"({pages})\.html(#[A-Za-z_]+)?", row["link"])
    for lever in LEVERS:
        assert lever.title(GIVEN) and lever.assumes.endswith(".")
        assert not lever.moves or hasattr(GIVEN, lever.moves)


def test_settings_are_filled_in_from_the_log() -> None:
    def typed(name: str, **fields: object) -> pd.DataFrame:
        now = scenario(job("a", H, **fields), job("b", H, vc="it's"), machines="2x4,1x8")
        advice = Advice(None, now, 1.0, None, (), (), {}, (), (), "")
        advice = replace(advice, worst_servers=("m1", "m2;reboot"))
        return settings(advice, priced(name, (0, 0, 0), None), GIVEN)

    assert "NodeName='m1,m2;reboot' State=DRAIN" in typed("repair")["type"][0]
    assert typed("backfill")["type"][1] == "SchedulerParameters=bf_window=60,bf_continue"
    assert "bf_window=91," in typed("backfill", time_limit_s=90 * 60.0 + 1)["type"][1]
    assert "bf_window=43200," in typed("backfill", time_limit_s=1000 * 24 * H)["type"][1]
    assert typed("backfill")["link"][1] == "https://slurm.schedmd.com/slurm.conf.html#OPT_bf_window"
    assert typed("share")["type"][1] == "NodeName=NAME Gres=gpu:4,shard:8"
    assert typed("other_servers")["type"][0] == "NodeName=NEW[1-1] Gres=gpu:8"
    shares = typed("quotas")
    assert shares["type"][1] == """sacctmgr modify account name='it'"'"'s' set fairshare=8"""
    assert "GrpTRES=gres/gpu=8" in shares["documentation"][1]


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
    def fit(*_: object, quotas: bool, **__: object) -> None:
        raise InputError(f"quotas: {quotas}")

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


def wasteful(jobs: list[JobSpec]) -> Known:
    """Return that half of the jobs compute for half of their time only."""
    return Known(idle={s.job_id: ((0.5 * s.run_s, 0.5 * s.run_s, False),) for s in jobs[::2]})


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
        known = wasteful(jobs) if right == "end_idle" else Known()
        priced = Pricing(now, known, GIVEN, outcome(now), InlineExecutor()).levers(LEVERS)
        assert next(p.name for p in priced if p.name != "servers") == right, policy


@pytest.mark.slow
def test_freed_gpu_hours_of_following_months_lie_in_the_interval() -> None:
    inside = []
    for load, seed in product((0.5, 0.65, 0.8), range(4)):
        gains = []
        for n in range(6):
            jobs = month(np.random.default_rng([seed, n]), load)
            now = scenario(*jobs)
            gains.append(gain_of(now, applied("end_idle", now, wasteful(jobs)), None, 1.0).gpu_h)
        pairs = ((a, b) for i, a in enumerate(gains) for j, b in enumerate(gains) if i != j)
        inside += [told.low <= realised.mean <= told.high for told, realised in pairs]
    assert 0.8 <= np.mean(inside) <= 0.95
