"""Compare experiments on small sweeps with computations that need no simulator."""

import heapq
import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.ticker import FixedLocator

from philly_analysis.errors import WorkloadError
from philly_analysis.experiments import (
    ACROSS,
    EXPERIMENTS,
    amoeba,
    antman,
    guidelines,
    synergy,
    synergy_arms,
)
from philly_analysis.experiments.effects import USUAL, contrast_tables, contrasts, effect, effects
from philly_analysis.experiments.experiment import CAVEATS, Experiment, Sweep
from philly_analysis.experiments.job_sources import (
    EnsembleJobs,
    ModelJobs,
    TraceJobs,
    at_rate,
    one_gpu_each,
)
from philly_analysis.experiments.optimum import best_throughput
from philly_analysis.experiments.panels import symlog_percent
from philly_analysis.experiments.study_failures import with_study_failures
from philly_analysis.models.library import load_model
from philly_analysis.parallel import open_executor
from philly_analysis.results import Result, figures
from philly_analysis.results.paired_effects import Paired
from philly_analysis.simulator import run
from philly_analysis.simulator.policies.amoeba import Amoeba
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.speed.models import HostResources, Parallelism
from philly_analysis.simulator.speed.profiles import PROFILES
from philly_analysis.simulator.speed.sharing import Sharing
from philly_analysis.workload import AttemptSpec, JobSpec, fleet
from philly_analysis.workload.load import load_of, stretch_to_load
from tests.simulator.drawn import job
from tests.simulator.literature import literature
from tests.support.slow import quick_first
from tests.support.strategies import one_in


def queue_jct_h(
    specs: Sequence[JobSpec],
    speed_of: Callable[[JobSpec], float],
    servers: int,
    window: tuple[int, int],
) -> float:
    """Return the mean completion time in a queue (Kiefer and Wolfowitz' recursion)."""
    free_at_s = [0.0] * servers
    jct_s = []
    for s in specs:
        start_s = max(s.submit_s, heapq.heappop(free_at_s))
        heapq.heappush(free_at_s, start_s + s.run_s / speed_of(s))
        jct_s.append(start_s + s.run_s / speed_of(s) - s.submit_s)
    return float(np.mean(jct_s[slice(*window)])) / 3600


@pytest.mark.parametrize("load", [pytest.param(0.6, marks=pytest.mark.slow), 1.2])
def test_synergy_is_a_queue_with_faster_servers(load: float) -> None:
    """Compare the ratio of completion times with the ratio of a queue without CPUs and memory."""
    jobs = synergy_arms.with_models(one_gpu_each(literature(3000, 128, 3)), (20, 70, 10), seed=3)
    specs, window = stretch_to_load(jobs, load, 128), (2000, 2500)
    speed = {m: p.throughput(p.cpus, p.mem_gb) for m, p in PROFILES.items()}
    jct_h = {}
    for allocation, of, within in (
        ("proportional", lambda s: 1.0, 1.0),
        ("tune", lambda s: speed[s.job_type], 1.15),
    ):
        schedule = run(
            specs, fleet("16x8:24:500"), Synergy(allocation=allocation), speed=HostResources()
        )
        jct_h[allocation] = schedule.jct_s[slice(*window)].mean() / 3600
        # lower bound: every job has its preferred CPUs and memory
        least = queue_jct_h(specs, of, 128, window)
        assert least * (1 - 1e-9) <= jct_h[allocation] <= least * (within + 1e-9)
    ratio = jct_h["proportional"] / jct_h["tune"]
    assert (1.02 < ratio < 1.25) if load < 1 else (ratio > 1.6)


def compute(experiment: Experiment, **changes: Any) -> Result:
    """Run a small sweep on the literature's jobs."""
    sweep = replace(experiment.sweep, **{"seeds": (1, 2, 3), **changes})
    return experiment.compute(literature, "literature", sweep)


def at(result: Result, measure: str, arm: str, against: str, setting: str, load: float) -> Paired:
    return effect(result.table, measure, arm, against, setting=setting, load=load)


def test_contrasts_have_intervals_by_load() -> None:
    rows = [
        (setting, load, arm, seed, jct_h * (1 + seed / 10))
        for setting, load in ((USUAL, 1.0), (USUAL, 0.5), ("other", 2.0))
        for seed in range(3)
        for arm, jct_h in (("rigid", 10.0), ("elastic", 8.0))
    ]
    rows += [("no jobs", 1.0, arm, 0, 0.0) for arm in ("rigid", "elastic")]  # a change is undefined
    table = pd.DataFrame(rows, columns=["setting", "load", "arm", "seed", "mean_jct_h"])
    pairs = (("elastic", "rigid", "grown"), ("rigid", "elastic", "shrunk"))
    all_settings = contrasts(table, {"mean_jct_h": pairs})
    assert all_settings["effect_pct"].tolist() == pytest.approx([-20] * 3 + [25] * 3)
    assert list(all_settings.columns[:5]) == ["measure", "arm", "against", "setting", "load"]
    [(title, found)] = contrast_tables(all_settings, USUAL).items()
    assert title == "change of mean completion time"
    assert found.to_numpy().tolist() == [
        ["elastic, over rigid", *["−20 % (−20 to −20)"] * 2],
        ["rigid, over elastic", *["+25 % (+25 to +25)"] * 2],
    ]
    assert list(found.columns) == ["contrast", "load 0.5", "load 1"]


@pytest.mark.parametrize(("along", "other"), ["xy", "yx"])
def test_percentages_are_logarithmic_along_one_axis(along: Literal["x", "y"], other: str) -> None:
    _, [ax] = figures.canvas()
    symlog_percent(ax, along)
    axes = {"x": ax.xaxis, "y": ax.yaxis}
    assert [axes[name].get_scale() for name in (along, other)] == ["symlog", "linear"]
    located = [isinstance(axes[name].get_major_locator(), FixedLocator) for name in (along, other)]
    assert located == [True, False]


def test_measures_of_synergys_cluster_by_hand() -> None:
    """The first of two jobs on a server of 8 GPUs and 24 CPUs ends before the second comes."""
    setting = synergy_arms.SETTINGS[synergy_arms.USUAL]._replace(servers=1)
    policy = synergy_arms.arms(setting)[synergy_arms.PROPORTIONAL]
    jobs = [job("a", 0, 1, 3600), job("b", 7200, 1, 7200)]
    times = synergy_arms.completion_times(jobs, setting, policy, ["a", "b"])
    assert times == pytest.approx({"mean_jct_h": 1.5, "p99_jct_h": 1.99})
    at_once = synergy_arms.static_trace(jobs, setting, policy)
    assert at_once["makespan_h"] == pytest.approx(2)
    assert at_once["gpu_pct"] == pytest.approx(100 * 3 / 16)


@pytest.mark.slow
def test_synergy_gains_only_with_unequal_profiles() -> None:
    result = compute(
        synergy.SYNERGY, loads=(0.6, 1.2), at=0.6, jobs=400, window=(200, 320), jobs_per_h=0,
        settings=(synergy_arms.USUAL, "order SRTF", "split 0/100/0", "4 CPUs a GPU"),
    )  # fmt: skip
    tune = partial(at, result, "mean_jct_h", synergy_arms.TUNE, synergy_arms.PROPORTIONAL)
    language = tune(setting="split 0/100/0", load=0.6)
    assert (language.effect, language.low, language.high) == pytest.approx((0, 0, 0), abs=1e-6)
    for setting, load in (
        (synergy_arms.USUAL, 0.6),
        (synergy_arms.USUAL, 1.2),
        ("order SRTF", 0.6),
    ):
        assert tune(setting=setting, load=load).effect < -1
    richer = tune(setting="4 CPUs a GPU", load=0.6)  # proportional shares are larger there
    assert tune(setting=synergy_arms.USUAL, load=0.6).effect < richer.effect
    assert all(c.measured is None for c in result.comparisons)
    assert len(synergy.SYNERGY.plot(result).axes) == 6
    static = result.table[result.table["setting"] == synergy.STATIC].groupby("arm")
    last_h, cpu_pct = static["makespan_h"].mean(), static["cpu_pct"].mean()
    # the longest job decides the makespan
    assert last_h[synergy_arms.TUNE] <= last_h[synergy_arms.PROPORTIONAL] * (1 + 1e-9)
    assert cpu_pct.between(0, 100).all() and static["gpu_pct"].mean().between(0, 100).all()


@pytest.mark.parametrize("seed", range(4))
def test_no_allocation_exceeds_the_optimum(seed: int) -> None:
    throughputs = synergy_arms.throughputs(synergy_arms.Setting(), seed)
    proportional, tune, optimum = throughputs.values()
    assert proportional == pytest.approx(1)
    assert proportional <= tune + 1e-9 <= optimum + 2e-9


@given(st.lists(st.sampled_from(list(PROFILES)), min_size=1, max_size=2))
@one_in(3)
def test_the_optimum_is_that_of_enumeration(models: list[str]) -> None:
    jobs, [server] = [PROFILES[m] for m in models], fleet("1x2:6:125")
    divisions = product(product(range(1, 7), (20.8, 62.5, 125)), repeat=len(jobs))
    fair = [job.throughput(3, 62.5) for job in jobs]
    best = 0.0
    for division in divisions:
        speeds = [job.throughput(*held) for job, held in zip(jobs, division, strict=True)]
        fits = sum(c for c, _ in division) <= 6 and sum(m for _, m in division) <= 125
        if fits and all(v >= f for v, f in zip(speeds, fair, strict=True)):
            best = max(best, sum(speeds))
    assert best_throughput(jobs, [server]) == pytest.approx(best)


@pytest.mark.slow
def test_amoeba_gains_by_growth_at_low_load() -> None:
    settings = (USUAL, "a change costs 300 s", "one power law, exponent 0.9")
    result = compute(amoeba.AMOEBA, loads=(0.4, 0.9), settings=settings, jobs=120)
    against = partial(at, result, "mean_jct_h", against=amoeba.STATIC, setting=USUAL)
    # at low load no job waits, so that only growth has an effect; with twice the GPUs a job of the
    # power law takes 1 / 2^0.9 of its time, one of a measured model more
    assert against(arm=amoeba.SHRINK, load=0.4).effect == pytest.approx(0, abs=1)
    assert -50 < against(arm=amoeba.GROW, load=0.4).effect < -10
    one_exponent = at(
        result, "mean_jct_h", amoeba.BOTH, amoeba.STATIC, "one power law, exponent 0.9", 0.9
    )
    assert -100 * (1 - 2**-0.9) < one_exponent.effect < -10
    lost_pct = result.table[result.table["arm"] == amoeba.BOTH].groupby("setting")["lost_pct"]
    assert lost_pct.mean()["a change costs 300 s"] > 4 * lost_pct.mean()[USUAL]
    assert len(amoeba.AMOEBA.plot(result).axes) == 2


WAITING = [
    replace(job("a", 1000, 64, 3600), util_frac=0.5, gpu_mem_frac=0.25),
    replace(job("b", 2800, 1, 7200), util_frac=0.5, gpu_mem_frac=0.25),
]
"""Of 64 GPUs job a holds all for an hour, in whose middle b is submitted for two hours."""


def test_amoebas_lost_time_is_that_of_elastic_jobs_at_the_usual_load() -> None:
    arms = (amoeba.TIRESIAS, amoeba.STATIC, amoeba.GROW, amoeba.SHRINK, amoeba.BOTH)
    rows = [
        (setting, load, arm, seed, 10 - i + seed / 10, i + lost)
        for setting, load, lost in ((USUAL, 0.8, 0), (USUAL, 0.5, 50), ("other", 0.8, 70))
        for i, arm in enumerate(arms)
        for seed in range(3)
    ]
    columns = ["setting", "load", "arm", "seed", "mean_jct_h", "lost_pct"]
    table, sweep = pd.DataFrame(rows, columns=columns), Sweep((0.5, 0.8), 0.8, (USUAL,), 1)
    facts = {fact.name: fact.value for fact in amoeba._summarize(table, sweep).facts}
    assert facts["lost_pct"] == 4
    gains = [100 * ((6 + s) / (9 + s) - 1) for s in (0, 0.1, 0.2)]
    assert facts["elastic_jct_pct"] == pytest.approx(np.mean(gains), abs=0.1)


def test_time_that_amoebas_jobs_lose_by_hand() -> None:
    arms = amoeba.policies(*amoeba.SETTINGS[USUAL])
    _, resizes, lost_pct = amoeba._outcome(WAITING, *arms[amoeba.STATIC])
    # a is stopped for b and restarted: its 64 GPUs compute for 3600 s and load for 30 s
    assert resizes == 0
    assert lost_pct == pytest.approx(100 * 64 * 30 / (64 * 3630 + 7200))


def test_outcomes_of_antmans_arms_by_hand() -> None:
    arms = antman.policies(*antman.SETTINGS[USUAL])
    outcome = antman._outcome(WAITING, *arms[antman.BLOCKED])
    # use between the submissions; completion times of 1 and 2.5 h, all of holders; waits of 0 and
    # 0.5 h; one virtual cluster is fair
    assert outcome == pytest.approx((50, 25, 1.75, 1.75, 0, 0.25, 1))


def test_outcomes_of_the_guidelines_by_hand() -> None:
    setting = guidelines.SETTINGS[USUAL]
    outcome = guidelines._outcome(WAITING, setting.arms()[guidelines.BASELINE], setting)
    # both start at once on 128 GPUs: completion times, of the gang, its wait; GPU hours; passed
    assert outcome == pytest.approx((1.5, 1, 0, 66, 2))


@pytest.mark.slow
def test_antman_gains_by_idle_guests_and_sharing() -> None:
    settings = (USUAL, "utilisation 0.35")
    result = compute(antman.ANTMAN, loads=(0.3, 1.2), at=1.2, settings=settings, jobs=300)
    gain = partial(at, result, "compute_pct", setting=USUAL)
    whole = gain(arm=antman.SHARED, against=antman.BLOCKED, load=1.2).effect
    shared_gain = gain(arm=antman.SHARED, against=antman.IDLE, load=1.2).effect
    idle = gain(arm=antman.IDLE, against=antman.BLOCKED, load=1.2).effect
    assert 0 < shared_gain < whole and idle > 0
    assert (1 + shared_gain / 100) * (1 + idle / 100) == pytest.approx(1 + whole / 100)
    table = result.table[result.table["setting"] == USUAL]
    guests = table.groupby("arm")["guests_pct"].max()
    assert guests[antman.BLOCKED] == guests[antman.BACKFILL] == 0 < guests[antman.SHARED]
    # without guests compute use is GPUs in use times the mean utilisation of their jobs
    busy = table[(table["arm"] == antman.BLOCKED) & (table["load"] == 0.3)]["compute_pct"]
    assert busy.between(0.2 * 40, 0.5 * 60).all()
    assert all(c.measured is None for c in result.comparisons)
    assert len(antman.ANTMAN.plot(result).axes) == 3


@pytest.mark.parametrize("load", [0.8, 1.2])
def test_sharing_adds_nothing_on_fully_used_gpus(load: float) -> None:
    policy, speed = antman.SETTINGS["fully used GPUs"]
    specs = stretch_to_load(literature(250, 64, 4), load, 64)
    using = speed.complete(specs, np.random.default_rng(1))
    arms = antman.policies(policy, speed)
    idle, shared = (
        run(using, fleet("8x8"), who, speed=how)
        for who, how in (arms[antman.IDLE], arms[antman.SHARED])
    )
    assert shared.attempts.equals(idle.attempts)
    assert shared.attempts["guest"].any()


def in_three_clusters(jobs: int, gpus: int, seed: int) -> list[JobSpec]:
    specs = literature(jobs, gpus, seed)
    return [replace(s, vc="abc"[i % 7 // 3]) for i, s in enumerate(specs)]


CHANGED: dict[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "antman": ((antman.SHARED, antman.IDLE), {"loads": (1.2,), "at": 1.2, "jobs": 200}),
    "amoeba": ((amoeba.BOTH, amoeba.STATIC), {"loads": (1.4,), "at": 1.4, "jobs": 200}),
    "synergy": (
        (synergy_arms.TUNE, synergy_arms.PROPORTIONAL),
        {"loads": (3.0,), "at": 3.0, "jobs": 400, "window": (200, 350), "jobs_per_h": 0},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGED)
def test_every_setting_changes_the_effect_on_the_page(name: str) -> None:
    experiment = EXPERIMENTS[name]
    arms, changes = CHANGED[name]
    sweep = replace(experiment.sweep, seeds=(1,), **changes)
    table = experiment.compute(in_three_clusters, "literature", sweep).table
    shown = effects(table, "mean_jct_h", *arms).set_index("setting")["effect_pct"]
    usual = shown.pop(sweep.settings[0])
    of_tiresias = table[table["arm"] == amoeba.TIRESIAS].set_index("setting")["mean_jct_h"]
    if alone := set(sweep.settings) & {amoeba.BY_ARRIVAL}:
        assert abs(of_tiresias[amoeba.BY_ARRIVAL] - of_tiresias[sweep.settings[0]]) > 1e-4
    assert set(shown.index) == set(sweep.settings[1:]) - alone
    assert (abs(shown - usual) > 1e-4).all(), shown - usual


@pytest.mark.slow
def test_every_setting_changes_an_effect_of_the_guidelines() -> None:
    def short(jobs: int, gpus: int, seed: int) -> list[JobSpec]:
        """Return jobs so short that minutes in the settings matter."""
        specs = in_three_clusters(jobs, gpus, seed)
        return [replace(s, attempts=(AttemptSpec(s.run_s / 30),)) for s in specs]

    experiment = guidelines.GUIDELINES
    sweep = replace(experiment.sweep, loads=(1.2,), at=1.2, jobs=400, seeds=(1,))
    tables = [experiment.compute(jobs, "", sweep).table for jobs in (in_three_clusters, short)]
    # migration needs free GPUs that are fragmented
    moving = (USUAL, "at once", "after 1 h")
    low_load = replace(sweep, loads=(0.8,), at=0.8, settings=moving, jobs=800)
    tables.append(experiment.compute(in_three_clusters, "", low_load).table)
    long = pd.concat(tables, keys=["long", "short", "low load"], names=["case"])
    wide = long.reset_index("case").pivot_table(
        index="setting", columns=["case", "arm"], values="jct_h"
    )
    for setting in set(guidelines.SETTINGS) - {USUAL}:
        change = wide.loc[setting] - wide.loc[USUAL]
        assert (abs(change.to_numpy(float)) > 1e-4).any(), setting


@pytest.mark.parametrize("name", quick_first(EXPERIMENTS, 2))
def test_comparisons_do_not_depend_on_assumptions(name: str) -> None:
    """Check that measured values beside published ones stay if all other trials change."""
    experiment = EXPERIMENTS[name]
    changes: dict[str, Any] = {"window": (30, 50)} if name == "synergy" else {}
    at, settings = experiment.sweep.at, experiment.sweep.settings[:2]
    result = compute(experiment, loads=(at,), settings=settings, jobs=60, seeds=(1,), **changes)
    compared = [(c.what, c.measured) for c in result.comparisons]
    kept = (synergy.RATE,) if name == "synergy" else ()  # the artifact's own check
    assert all((measured is None) or kept for _, measured in compared)
    other = result.table.copy()
    measures = other.select_dtypes("number").columns.difference(["load", "seed"])
    changed = ~other["setting"].isin(kept)
    factors = np.arange(1, len(other) + 1)[changed.to_numpy(), None]
    other.loc[changed, measures] *= factors
    again = experiment.result(
        other, "literature", replace(experiment.sweep, loads=(at,), seeds=(1,))
    )
    assert [(c.what, c.measured) for c in again.comparisons] == compared
    assert again.facts != result.facts


def test_every_assumption_is_among_the_settings() -> None:
    """Check that settings change every knob of policies and speeds that is not listed here."""

    def varied(*variants: object) -> set[str]:
        first = variants[0]
        names = getattr(first, "_fields", None) or [f.name for f in fields(first)]  # type: ignore[arg-type]
        return {name for name in names if len({repr(getattr(v, name)) for v in variants}) > 1}

    def known(*kinds: type) -> set[str]:
        return {f.name for kind in kinds for f in fields(kind)}

    settings = antman.SETTINGS.values()
    moved = varied(*(s.policy for s in settings)) | varied(*(s.speed for s in settings))
    arms = {"together", "upgrade"}  # whether guests share, and come to hold, is the question
    not_assumed = {"round_s", "restart_s"}
    assert moved | arms | not_assumed >= known(AntMan, Sharing)
    elastic = amoeba.SETTINGS.values()
    varied_there = varied(*(s.policy for s in elastic)) | varied(*(s.speed for s in elastic))
    assert varied_there | {"shrink_to"} >= known(Amoeba, Parallelism)
    assert varied(*guidelines.SETTINGS.values()) == set(guidelines.Setting._fields)


@pytest.mark.slow
def test_processes_give_the_same_trials() -> None:
    experiment = amoeba.AMOEBA
    sweep = replace(experiment.sweep, loads=(0.9,), settings=(USUAL,), jobs=60, seeds=(3, 1, 2))
    with open_executor(2) as executor:
        there = experiment.compute(literature, "literature", sweep, executor=executor)
    here = experiment.compute(literature, "literature", sweep)
    pd.testing.assert_frame_equal(there.table, here.table)
    drawing = pickle.dumps(ModelJobs(load_model("literature").sample))
    assert len(pickle.loads(drawing)(20, 64, 1)) == 20  # noqa: S301 - our own bytes


def test_utilisation_distributions_have_their_means() -> None:
    for mean in (0.35, 0.5, 0.7):
        drawn = np.interp(
            np.linspace(0, 1, 10_001), np.linspace(0, 1, 11), antman.beta_quantiles(mean)
        )
        assert drawn.mean() == pytest.approx(mean, abs=0.01)


def test_at_load_rescales_submissions() -> None:
    specs = [job("a", 10, 2, 100), job("b", 60, 4, 50), job("c", 110, 1, 200)]
    assert load_of(specs, 8) == (200 + 200 + 200) / 100 / 8
    stretched = stretch_to_load(specs, 0.5, 8)
    assert [s.submit_s for s in stretched] == [0, 75, 150]
    assert load_of(stretched, 8) == 0.5
    assert [s.submit_s for s in at_rate(specs, 36)] == [0, 100, 200]
    with pytest.raises(WorkloadError, match="no load"):
        stretch_to_load(specs[:1], 0.5, 8)


def test_jobs_of_an_ensemble_are_its_draws() -> None:
    months = load_model("literature").sample(jobs=30, seeds=(4, 9))
    source = EnsembleJobs(months)
    mine = [s for s in months[1].specs() if s.gpus <= 4]
    assert 0 < len(mine) < 30
    assert list(source(1000, 4, 9)) == mine and list(source(5, 4, 9)) == mine[:5]


def test_caveats_list_what_is_not_modelled() -> None:
    assert CAVEATS.keys() == {*EXPERIMENTS, *ACROSS}
    assert all("Not modelled" in " ".join(sentences) for sentences in CAVEATS.values())


def test_windows_of_a_trace_are_disjoint() -> None:
    specs = [job(f"j{i:03d}", 10 * i, 64 if i % 50 == 9 else 8, 5) for i in range(100)]
    source = TraceJobs(specs)
    drawn = [source(1000, 8, seed) for seed in range(1, 12)]
    names = [[s.job_id for s in window] for window in drawn]
    # 98 jobs fit 8 GPUs: ten windows of nine, and the first once more
    assert all(len(window) == 9 and window[0].submit_s == 0 for window in drawn)
    assert len({name for window in names[:10] for name in window}) == 90
    assert names[0] == ["j000", "j001", "j002", *(f"j{i:03d}" for i in range(3, 9))] == names[10]
    with pytest.raises(WorkloadError, match="longer trace"):
        TraceJobs(specs[:15])(1000, 8, 1)


def test_study_failures_have_the_rates_of_its_tables() -> None:
    rng = np.random.default_rng(3)
    jobs = [job(f"j{i}", i, 1 + i % 8, 600.0) for i in range(20_000)]
    failing = with_study_failures(jobs, rng)
    failed = [s for s in failing if len(s.attempts) > 1 or s.status == "Failed"]
    unsuccessful = sum(s.status == "Failed" for s in failing)
    assert unsuccessful / len(jobs) == pytest.approx(0.172, abs=0.01)  # Table 6
    tries = sum(a.end_reason == "failed" for s in failed for a in s.attempts)
    # Table 7: 39,776 trials of 17,581 jobs, the mix of reasons weighted by demand
    assert tries / len(failed) == pytest.approx(39_776 / 17_581, rel=0.25)
    oom = [a.run_s / 60 for s in failed for a in s.attempts if a.failure == "CPU out of memory"]
    assert np.median(oom) == pytest.approx(13.45, rel=0.05)
    # trials of jobs with one GPU, times jobs by trials
    reasons = [s.attempts[0].failure for s in failed if s.gpus == 1]
    expected = (11_465 * 2_803 / 12_076) / (5_844 * 4_936 / 9_690)
    ratio = reasons.count("CPU out of memory") / reasons.count("Incorrect inputs")
    assert ratio == pytest.approx(expected, rel=0.3)


@pytest.mark.slow
def test_guidelines_change_nothing_for_single_gpu_jobs() -> None:
    """Check jobs of one GPU without users' errors: only the pre-run pool takes a server away."""

    def single(jobs: int, gpus: int, seed: int) -> list[JobSpec]:
        sound = with_study_failures(
            one_gpu_each(literature(jobs, gpus, seed)), np.random.default_rng(1)
        )
        infrastructure = AttemptSpec(60.0, "failed", failure="MPI runtime failure")
        return [
            replace(s, attempts=(infrastructure, *s.attempts[-1:]), status="Pass")
            for s in sound
            if s.attempts[-1].end_reason != "failed"
        ]

    experiment = guidelines.GUIDELINES
    changes: dict[str, Any] = {"loads": (0.9,), "at": 0.9, "settings": (USUAL,), "jobs": 150}
    sweep = replace(experiment.sweep, seeds=(1,), **changes)
    table = experiment.compute(single, "single", sweep).table.set_index("arm")
    same = table.loc[["patient", "anywhere", "apart", "migration", "by reason", "no interference"]]
    for measure in ("jct_h", "gpu_h", "passed"):
        assert same[measure].to_numpy() == pytest.approx(table.loc[guidelines.BASELINE, measure])
    jct_h = table["jct_h"].to_dict()
    assert jct_h["pre-run"] >= jct_h[guidelines.BASELINE]  # it has a server less


@pytest.mark.slow
def test_guidelines_change_allocated_gpu_time() -> None:
    settings = (USUAL, "asks 24 times")
    result = compute(guidelines.GUIDELINES, loads=(0.8,), settings=settings, jobs=120)
    change = partial(at, result, against=guidelines.BASELINE, setting=USUAL, load=0.8)
    # without neighbours' interference, or with servers to themselves, gangs hold GPUs for less
    # long; relaxing at once they hold them for longer; fewer retries hold fewer
    assert change("gpu_h", "no interference").effect < -1
    assert change("gpu_h", "apart").effect < -1
    assert change("gpu_h", "by reason").effect < -1
    assert change("passed", "by reason").effect <= 0 == change("passed", "migration").effect
    assert len(guidelines.GUIDELINES.plot(result).axes) == 4
