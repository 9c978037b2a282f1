"""The experiments on small sweeps, against sums that one can do without a simulator."""

import heapq
import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.errors import WorkloadError
from philly_analysis.experiments import EXPERIMENTS, amoeba, antman, guidelines, shares, synergy
from philly_analysis.experiments.effects import effect, effects, in_words
from philly_analysis.experiments.optimum import best_throughput
from philly_analysis.experiments.printed_failures import failing_as_printed
from philly_analysis.experiments.workloads import LawOf, MonthsOf, WindowsOf, at_rate, one_gpu_each
from philly_analysis.models.library import load_model
from philly_analysis.parallel import workers
from philly_analysis.results.intervals import Paired
from philly_analysis.results.result import Result
from philly_analysis.simulator import run
from philly_analysis.simulator.policies.amoeba import Amoeba
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.speed.profiles import PROFILES
from philly_analysis.simulator.speed.speed import HostResources, Parallelism, Sharing
from philly_analysis.workload import AttemptSpec, JobSpec, fleet
from philly_analysis.workload.load import at_load, load_of
from tests.simulator.drawn import job
from tests.simulator.literature import literature
from tests.support.strategies import one_in


def queue_jct_h(
    specs: Sequence[JobSpec],
    speed_of: Callable[[JobSpec], float],
    servers: int,
    window: tuple[int, int],
) -> float:
    """Mean completion time in a queue of so many servers (Kiefer and Wolfowitz' recursion)."""
    free_at_s = [0.0] * servers
    jct_s = []
    for s in specs:
        start_s = max(s.submit_s, heapq.heappop(free_at_s))
        heapq.heappush(free_at_s, start_s + s.run_s / speed_of(s))
        jct_s.append(start_s + s.run_s / speed_of(s) - s.submit_s)
    return float(np.mean(jct_s[slice(*window)])) / 3600


def fluid_jct_h(
    specs: Sequence[JobSpec], speed_of: Callable[[JobSpec], float], servers: int, first: int
) -> float:
    """Mean service, and what the work that came before job `first` exceeds the drain by."""
    service_s = np.array([s.run_s / speed_of(s) for s in specs])
    backlog_s = service_s[:first].sum() / servers - specs[first].submit_s
    return float(service_s.mean() + max(backlog_s, 0)) / 3600


@pytest.mark.parametrize("load", [0.6, 1.2])
def test_synergy_is_a_queue_whose_servers_are_faster(load: float) -> None:
    """The published ratio is a ratio of backlogs: a queue without CPUs and memory shows it."""
    jobs = shares.typed(one_gpu_each(literature(3000, 128, 3)), (20, 70, 10), seed=3)
    specs, window = at_load(jobs, load, 128), (2000, 2500)
    speed = {m: p.throughput(p.cpus, p.mem_gb) for m, p in PROFILES.items()}
    jct_h, fluid_h = {}, {}
    for allocation, of, within in (
        ("proportional", lambda s: 1.0, 1.0),
        ("tune", lambda s: speed[s.job_type], 1.15),
    ):
        schedule = run(
            specs, fleet("16x8:24:500"), Synergy(allocation=allocation), speed=HostResources()
        )
        jct_h[allocation] = schedule.jct_s[slice(*window)].mean() / 3600
        fluid_h[allocation] = fluid_jct_h(specs, of, 128, sum(window) // 2)
        least = queue_jct_h(specs, of, 128, window)  # every job with all it wants
        assert least * (1 - 1e-9) <= jct_h[allocation] <= least * (within + 1e-9)
    ratio = jct_h["proportional"] / jct_h["tune"]
    assert ratio == pytest.approx(fluid_h["proportional"] / fluid_h["tune"], rel=0.35)
    assert (1.02 < ratio < 1.25) if load < 1 else (ratio > 1.6)


def at(result: Result, measure: str, arm: str, against: str, setting: str, load: float) -> Paired:
    return effect(result.table, measure, arm, against, setting=setting, load=load)


def test_a_page_says_effects_by_setting_and_load_each_with_its_interval() -> None:
    rows = [
        (setting, load, arm, seed, jct_h * (1 + seed / 10))
        for setting, load in (("as assumed", 0.5), ("as assumed", 1.0), ("other", 1.0))
        for seed in range(3)
        for arm, jct_h in (("rigid", 10.0), ("elastic", 8.0))
        if (setting, arm) != ("other", "elastic")
    ]
    table = pd.DataFrame(rows, columns=["setting", "load", "arm", "seed", "mean_jct_h"])
    found = in_words(table, {"mean_jct_h": (("elastic", "rigid", "grown"),)})
    assert list(found.columns) == ["setting", "load", "grown, mean_jct_h"]
    assert list(found["load"]) == [0.5, 1.0]
    assert list(found["grown, mean_jct_h"]) == ["−20 % (−20 to −20)"] * 2


@pytest.mark.slow
def test_synergy_gains_where_models_want_more_and_only_there() -> None:
    sweep = synergy.Sweep(
        loads=(0.6, 1.2),
        at=(0.6,),
        settings=(shares.USUAL, "order SRTF", "split 0/100/0", "4 CPUs a GPU"),
        jobs=400,
        window=(200, 320),
        jobs_per_h=0,
        seeds=(1, 2, 3),
    )
    result = synergy.compute(literature, "literature", sweep)
    tune = partial(at, result, "mean_jct_h", shares.TUNE, shares.PROPORTIONAL)
    language = tune(setting="split 0/100/0", load=0.6)
    assert (language.effect, language.low, language.high) == pytest.approx((0, 0, 0), abs=1e-6)
    for setting, load in ((shares.USUAL, 0.6), (shares.USUAL, 1.2), ("order SRTF", 0.6)):
        assert tune(setting=setting, load=load).effect < -1
    richer = tune(setting="4 CPUs a GPU", load=0.6)  # proportional shares are larger there
    assert tune(setting=shares.USUAL, load=0.6).effect < richer.effect
    assert all(c.measured is None for c in result.comparisons)
    assert len(synergy.plot(result).axes) == 6
    static = result.table[result.table["setting"] == synergy.STATIC].groupby("arm")
    last_h, cpu_pct = static["makespan_h"].mean(), static["cpu_pct"].mean()
    # held to the end by the longest job, most GPUs are idle by then
    assert last_h[shares.TUNE] <= last_h[shares.PROPORTIONAL] * (1 + 1e-9)
    assert cpu_pct.between(0, 100).all() and static["gpu_pct"].mean().between(0, 100).all()


@pytest.mark.parametrize("seed", range(4))
def test_no_division_of_cpus_is_better_than_the_optimum(seed: int) -> None:
    found = shares.at_once(shares.Setting(), seed)
    proportional, tune, optimum = found.values()
    assert proportional == pytest.approx(1)
    assert proportional <= tune + 1e-9 <= optimum + 2e-9


@given(st.lists(st.sampled_from(list(PROFILES)), min_size=1, max_size=2))
@one_in(3)
def test_the_optimum_is_that_of_trying_everything(models: list[str]) -> None:
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


def test_amoeba_gains_nothing_where_nothing_can_change() -> None:
    sweep = amoeba.Sweep(
        loads=(0.4, 0.9),
        settings=(amoeba.USUAL, "a change costs 300 s", "one law, exponent 0.9"),
        jobs=120,
        seeds=(1, 2, 3),
    )
    result = amoeba.compute(literature, "literature", sweep)
    against = partial(at, result, "mean_jct_h", against=amoeba.STATIC, setting=amoeba.USUAL)
    # at low load nobody waits, so without growth nothing differs; with twice the GPUs a job of the
    # power law takes 1 / 2^0.9 of its time, one of a measured model less far
    assert against(arm=amoeba.SHRINK, load=0.4).effect == pytest.approx(0, abs=1)
    assert -50 < against(arm=amoeba.GROW, load=0.4).effect < -10
    one_law = at(result, "mean_jct_h", amoeba.BOTH, amoeba.STATIC, "one law, exponent 0.9", 0.9)
    assert -100 * (1 - 2**-0.9) < one_law.effect < -10
    lost_pct = result.table[result.table["arm"] == amoeba.BOTH].groupby("setting")["lost_pct"]
    assert lost_pct.mean()["a change costs 300 s"] > 4 * lost_pct.mean()[amoeba.USUAL]
    assert len(amoeba.plot(result).axes) == 2


@pytest.mark.slow
def test_antman_fills_the_cluster_by_order_idle_gpus_and_sharing() -> None:
    sweep = antman.Sweep(
        loads=(0.3, 1.2), at=1.2, settings=(antman.USUAL, "utilisation 0.35"), jobs=300,
        seeds=(1, 2, 3),
    )  # fmt: skip
    result = antman.compute(literature, "literature", sweep)
    gain = partial(at, result, "compute_pct", setting=antman.USUAL)
    whole = gain(arm=antman.SHARED, against=antman.BLOCKED, load=1.2).effect
    own = gain(arm=antman.SHARED, against=antman.IDLE, load=1.2).effect
    idle = gain(arm=antman.IDLE, against=antman.BLOCKED, load=1.2).effect
    assert 0 < own < whole and idle > 0
    assert (1 + own / 100) * (1 + idle / 100) == pytest.approx(1 + whole / 100)
    table = result.table[result.table["setting"] == antman.USUAL]
    guests = table.groupby("arm")["guests_pct"].max()
    assert guests[antman.BLOCKED] == guests[antman.BACKFILL] == 0 < guests[antman.SHARED]
    # without guests compute use is GPUs in use times the mean utilisation of their jobs
    busy = table[(table["arm"] == antman.BLOCKED) & (table["load"] == 0.3)]["compute_pct"]
    assert busy.between(0.2 * 40, 0.5 * 60).all()
    assert all(c.measured is None for c in result.comparisons)
    assert len(antman.plot(result).axes) == 3


@pytest.mark.parametrize("load", [0.8, 1.2])
def test_sharing_adds_nothing_where_every_gpu_is_fully_used(load: float) -> None:
    policy, speed = antman.SETTINGS["fully used GPUs"]
    specs = at_load(literature(250, 64, 4), load, 64)
    using = speed.completed(specs, np.random.default_rng(1))
    arms = antman.arms(policy, speed)
    idle, shared = (
        run(using, fleet("8x8"), who, speed=how)
        for who, how in (arms[antman.IDLE], arms[antman.SHARED])
    )
    assert shared.attempts.equals(idle.attempts)
    assert shared.attempts["guest"].any()


def in_three_clusters(jobs: int, gpus: int, seed: int) -> list[JobSpec]:
    specs = literature(jobs, gpus, seed)
    return [replace(s, vc="abc"[i % 7 // 3]) for i, s in enumerate(specs)]


MOVING: dict[str, tuple[Any, tuple[str, str], Any]] = {
    "antman": (
        antman,
        (antman.SHARED, antman.IDLE),
        antman.Sweep(loads=(1.2,), at=1.2, jobs=200, seeds=(1,)),
    ),
    "amoeba": (
        amoeba,
        (amoeba.BOTH, amoeba.STATIC),
        amoeba.Sweep(loads=(1.4,), at=1.4, jobs=200, seeds=(1,)),
    ),
    "synergy": (
        synergy,
        (shares.TUNE, shares.PROPORTIONAL),
        synergy.Sweep(
            loads=(3.0,), at=(3.0,), jobs=400, window=(200, 350), jobs_per_h=0, seeds=(1,)
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVING)
def test_each_constant_moves_what_is_shown(name: str) -> None:
    """No number of the page is shown without what decides it: each setting moves it."""
    module, arms, sweep = MOVING[name]
    table = module.compute(in_three_clusters, "literature", sweep).table
    shown = effects(table, "mean_jct_h", *arms).set_index("setting")["effect_pct"]
    usual = shown.pop(module.USUAL)
    assert set(shown.index) == set(module.SETTINGS) - {module.USUAL}
    assert (abs(shown - usual) > 1e-4).all(), shown - usual


@pytest.mark.slow
def test_each_constant_moves_what_is_shown_of_the_guidelines() -> None:
    def short(jobs: int, gpus: int, seed: int) -> list[JobSpec]:
        """So short that the minutes of the settings count."""
        specs = in_three_clusters(jobs, gpus, seed)
        return [replace(s, attempts=(AttemptSpec(s.run_s / 30),)) for s in specs]

    sweep = guidelines.Sweep(loads=(1.2,), at=1.2, jobs=400, seeds=(1,))
    tables = [guidelines.compute(law, "", sweep).table for law in (in_three_clusters, short)]
    # jobs are moved out of a gang's way where GPUs are free, but apart
    moving = (guidelines.USUAL, "at once", "after 1 h")
    roomy = guidelines.Sweep(loads=(0.8,), at=0.8, settings=moving, jobs=800, seeds=(1,))
    tables.append(guidelines.compute(in_three_clusters, "", roomy).table)
    long = pd.concat(tables, keys=["long", "short", "roomy"], names=["law"]).reset_index("law")
    wide = long.pivot_table(index="setting", columns=["law", "arm"], values="jct_h")
    for setting in set(guidelines.SETTINGS) - {guidelines.USUAL}:
        change = wide.loc[setting] - wide.loc[guidelines.USUAL]
        assert (abs(change.to_numpy(float)) > 1e-4).any(), setting


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nothing_is_called_measured_that_an_assumption_decides(name: str) -> None:
    """What stands beside a published number does not change when every assumption's runs do."""
    asked: Any = EXPERIMENTS[name]
    settings_of = {"synergy": shares.SETTINGS}.get(name) or asked.SETTINGS
    knobs: dict[str, Any] = {"window": (30, 50)} if name == "synergy" else {}
    sweep = asked.Sweep(settings=tuple(settings_of)[:2], jobs=60, seeds=(1,), **knobs)
    sweep = replace(sweep, loads=(np.ravel(sweep.at)[0],))
    result = asked.compute(literature, "literature", sweep)
    said = [(c.what, c.measured) for c in result.comparisons]
    kept = (synergy.RATE,) if name == "synergy" else ()  # the artifact's own check, as it runs it
    assert all((m is None) or kept for _, m in said)
    other = result.table.copy()
    measures = other.select_dtypes("number").columns.difference(["load", "seed"])
    other.loc[~other["setting"].isin(kept), measures] *= np.arange(1, len(other) + 1)[
        (~other["setting"].isin(kept)).to_numpy(), None
    ]
    moved = asked.result_of(other, "literature", sweep)
    assert [(c.what, c.measured) for c in moved.comparisons] == said
    assert moved.facts != result.facts


def test_every_assumption_is_among_the_settings() -> None:
    """A new knob of a policy or speed that decides an experiment is moved there, or named here."""

    def varied(*variants: object) -> set[str]:
        first = variants[0]
        names = getattr(first, "_fields", None) or [f.name for f in fields(first)]  # type: ignore[arg-type]
        return {name for name in names if len({repr(getattr(v, name)) for v in variants}) > 1}

    def known(*kinds: type) -> set[str]:
        return {f.name for kind in kinds for f in fields(kind)}

    settings = antman.SETTINGS.values()
    moved = varied(*(s.policy for s in settings)) | varied(*(s.speed for s in settings))
    arms = {"together", "upgrade"}  # whether guests share, and come to hold, is the question
    not_assumed = {"round_s", "restart_s", "looks_at"}
    assert moved | arms | not_assumed >= known(AntMan, Sharing)
    elastic = amoeba.SETTINGS.values()
    settled = varied(*(s.policy for s in elastic)) | varied(*(s.speed for s in elastic))
    assert settled | {"shrink_to"} >= known(Amoeba, Parallelism)
    assert varied(*guidelines.SETTINGS.values()) == set(guidelines.Setting._fields)


@pytest.mark.slow
def test_trials_are_the_same_wherever_they_are_made() -> None:
    sweep = amoeba.Sweep(loads=(0.9,), settings=(amoeba.USUAL,), jobs=60, seeds=(3, 1, 2))
    with workers(2) as executor:
        there = amoeba.compute(literature, "literature", sweep, executor=executor)
    here = amoeba.compute(literature, "literature", sweep)
    pd.testing.assert_frame_equal(there.table, here.table)
    drawing = pickle.dumps(LawOf(load_model("literature").sample))
    assert len(pickle.loads(drawing)(20, 64, 1)) == 20  # noqa: S301 - our own bytes


def test_utilisation_laws_have_the_means_they_name() -> None:
    for mean in (0.35, 0.5, 0.7):
        drawn = np.interp(
            np.linspace(0, 1, 10_001), np.linspace(0, 1, 11), antman.beta_quantiles(mean)
        )
        assert drawn.mean() == pytest.approx(mean, abs=0.01)


def test_at_load_stretches_time_only() -> None:
    specs = [job("a", 10, 2, 100), job("b", 60, 4, 50), job("c", 110, 1, 200)]
    assert load_of(specs, 8) == (200 + 200 + 200) / 100 / 8
    stretched = at_load(specs, 0.5, 8)
    assert [s.submit_s for s in stretched] == [0, 75, 150]
    assert load_of(stretched, 8) == 0.5
    assert [s.submit_s for s in at_rate(specs, 36)] == [0, 100, 200]
    with pytest.raises(WorkloadError, match="no load"):
        at_load(specs[:1], 0.5, 8)


def test_the_law_of_a_model_offers_full_load() -> None:
    for name in ("literature", "itp-04"):
        drawn = LawOf(load_model(name).sample)(500, 64, 1)
        assert len(drawn) == 500 and max(s.gpus for s in drawn) <= 64
        assert load_of(drawn, 64) == pytest.approx(1, rel=0.001)


def test_the_months_of_an_ensemble_are_taken_as_they_are() -> None:
    months = load_model("literature").sample(jobs=30, seeds=(4, 9))
    law = MonthsOf(months)
    mine = [s for s in months[1].specs() if s.gpus <= 4]
    assert 0 < len(mine) < 30
    assert list(law(1000, 4, 9)) == mine and list(law(5, 4, 9)) == mine[:5]


def test_every_experiment_says_what_it_leaves_out() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert any("Not modelled" in line for line in experiment.MODELLED), name


def test_windows_of_a_trace_lie_apart() -> None:
    specs = [job(f"j{i:03d}", 10 * i, 64 if i % 50 == 9 else 1, 5) for i in range(100)]
    law = WindowsOf(specs)
    drawn = [law(1000, 8, seed) for seed in range(1, 12)]
    names = [[s.job_id for s in window] for window in drawn]
    # 98 jobs fit 8 GPUs: ten windows of nine, and the first once more
    assert all(len(window) == 9 and window[0].submit_s == 0 for window in drawn)
    assert len({name for window in names[:10] for name in window}) == 90
    assert names[0] == ["j000", "j001", "j002", *(f"j{i:03d}" for i in range(3, 9))] == names[10]
    with pytest.raises(WorkloadError, match="longer trace"):
        WindowsOf(specs[:15])(1000, 8, 1)


def test_jobs_fail_as_the_study_printed() -> None:
    rng = np.random.default_rng(3)
    jobs = [job(f"j{i}", i, 1 + i % 8, 600.0) for i in range(20_000)]
    failing = failing_as_printed(jobs, rng)
    failed = [s for s in failing if len(s.attempts) > 1 or s.status == "Failed"]
    unsuccessful = sum(s.status == "Failed" for s in failing)
    assert unsuccessful / len(jobs) == pytest.approx(0.172, abs=0.01)  # Table 6
    tries = sum(a.end_reason == "failed" for s in failed for a in s.attempts)
    # Table 7: 39,776 trials of 17,581 jobs, the mix of reasons weighted by demand
    assert tries / len(failed) == pytest.approx(39_776 / 17_581, rel=0.25)
    oom = [a.run_s / 60 for s in failed for a in s.attempts if a.failure == "CPU out of memory"]
    assert np.median(oom) == pytest.approx(13.45, rel=0.05)


def test_guidelines_on_a_cluster_where_they_can_do_nothing() -> None:
    """One-GPU jobs that never fail: no gang to help, and no error to leave out."""

    def law(jobs: int, gpus: int, seed: int) -> list[JobSpec]:
        sound = failing_as_printed(
            one_gpu_each(literature(jobs, gpus, seed)), np.random.default_rng(1)
        )
        infrastructure = AttemptSpec(60.0, "failed", failure="MPI runtime failure")
        return [
            replace(s, attempts=(infrastructure, *s.attempts[-1:]), status="Pass")
            for s in sound
            if s.attempts[-1].end_reason != "failed"
        ]

    sweep = guidelines.Sweep(
        loads=(0.9,), at=0.9, settings=(guidelines.USUAL,), jobs=150, seeds=(1,)
    )
    table = guidelines.compute(law, "singles", sweep).table.set_index("arm")
    same = table.loc[["patient", "anywhere", "apart", "migration", "by reason", "no interference"]]
    for measure in ("jct_h", "gpu_h", "passed"):
        assert same[measure].to_numpy() == pytest.approx(table.loc[guidelines.AS_IT_WAS, measure])
    jct_h = table["jct_h"].to_dict()
    assert jct_h["pre-run"] >= jct_h[guidelines.AS_IT_WAS]  # it has a server less


def test_guidelines_do_what_they_are_for() -> None:
    sweep = guidelines.Sweep(
        loads=(0.8,), settings=(guidelines.USUAL, "asks 24 times"), jobs=120, seeds=(1, 2, 3)
    )
    result = guidelines.compute(literature, "literature", sweep)
    change = partial(at, result, against=guidelines.AS_IT_WAS, setting=guidelines.USUAL, load=0.8)
    # without neighbours' interference, or with servers to themselves, gangs hold GPUs for less
    # long; relaxing at once they hold them for longer; fewer retries hold fewer
    assert change("gpu_h", "no interference").effect < -1
    assert change("gpu_h", "apart").effect < -1
    assert change("gpu_h", "by reason").effect < -1
    assert change("passed", "by reason").effect <= 0 == change("passed", "migration").effect
    assert len(guidelines.plot(result).axes) == 4
