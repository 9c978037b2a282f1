"""Synergy's headline as a curve: what dividing CPUs and memory by need does to completion times."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments.curves import below, heading, moved, over_load
from philly_analysis.experiments.effects import Row, effect, percent, trials
from philly_analysis.experiments.optimum import best_throughput
from philly_analysis.experiments.workloads import JobLaw, at_rate, one_gpu_each
from philly_analysis.figures import canvas
from philly_analysis.inference import Paired, paired
from philly_analysis.result import Comparison, Fact, Result
from philly_analysis.simulator.engine import run
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.profiles import PROFILES
from philly_analysis.simulator.speed import HostResources
from philly_analysis.workload import AttemptSpec, JobSpec
from philly_analysis.workload.load import at_load, load_of
from philly_analysis.workload.machines import fleet

QUESTION = "What does dividing CPUs and memory by need do to completion times?"

PUBLISHED_RATIO = 3.4
"""Mean completion time, proportional over Synergy, 'up to' (abstract of OSDI'22)."""

PUBLISHED_TUNE_H, PUBLISHED_TUNE_P99_H = 21.8766, 156.93308
"""Mean and 99th percentile of completion time, FIFO, tune, 9 jobs an hour on 128 GPUs, 20/70/10
(hours): ``ae-readme.md`` of msr-fiddle/synergy at 05bb5a5."""

PROPORTIONAL, GREEDY, TUNE = "proportional", "greedy", "tune"

MODELLED: tuple[str, ...] = (
    "128 GPUs on 16 servers of 8 GPUs, 24 CPUs and 500 GB, first come, first served, one GPU per "
    "job, as in the artifact, unless said otherwise. Offered load: that with proportional shares.",
    "CPU and memory profiles are the artifact's measurements of ten models; which job trains "
    "which model is drawn by its split of tasks (percent image, language, speech).",
    "Jobs 4000 to 4999 of the stream are looked at, as in the artifact; past a load of 1 "
    "completion times grow with the window's place, so that a ratio there is one of backlogs: it "
    "depends on where the window lies as much as on the allocation.",
    "The optimum is an integer program over 16 jobs that start at once on two servers: the most "
    "throughput that any division could give, no job below its proportional share.",
    "Not modelled: rounds of 300 s (we decide at each event, jobs stay where they are), profiling, "
    "DRF and Tetris as baselines, the 512-GPU window of the Philly trace, storage and network.",
)


class Setting(NamedTuple):
    """Jobs, order and servers."""

    order: str = "fifo"
    split: tuple[int, int, int] = (20, 70, 10)
    servers: int = 16
    cpus: int = 24
    gangs: str = "one"

    @property
    def fleet(self) -> str:
        """The servers as :func:`fleet` reads them."""
        return f"{self.servers}x8:{self.cpus}:500"


USUAL = "FIFO, 20/70/10"
"""Name of the setting from which all others differ in one thing."""

_BASE = Setting()
SETTINGS: dict[str, Setting] = {
    USUAL: _BASE,
    "order SRTF": _BASE._replace(order="srtf"),
    "order LAS": _BASE._replace(order="las"),
    "split 33/33/33": _BASE._replace(split=(33, 33, 33)),
    "split 50/0/50": _BASE._replace(split=(50, 0, 50)),
    "split 0/100/0": _BASE._replace(split=(0, 100, 0)),
    "gangs as drawn": _BASE._replace(gangs="own"),
    "32 GPUs": _BASE._replace(servers=4),
    "4 CPUs a GPU": _BASE._replace(cpus=32),
    "5 CPUs a GPU": _BASE._replace(cpus=40),
    "6 CPUs a GPU": _BASE._replace(cpus=48),
}
"""Settings by name: the usual one, and each thing varied."""

RATE = "9 jobs an hour"
"""Setting of the artifact's own check."""

MEASURES = ["mean_jct_h", "p99_jct_h"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied.

    Attributes
    ----------
    loads, at
        Offered loads of the usual setting, and those of the others.
    jobs, window
        Jobs drawn, and which of them are looked at.
    jobs_per_h
        Rate at which the artifact's check is run on the law that it uses; 0: not at all.
    seeds
        Of the draws.
    """

    loads: tuple[float, ...] = (0.6, 0.75, 0.92, 1.0, 1.1, 1.18)
    at: tuple[float, ...] = (0.92,)
    settings: tuple[str, ...] = field(default_factory=lambda: tuple(SETTINGS))
    jobs: int = 5500
    window: tuple[int, int] = (4000, 5000)
    jobs_per_h: float = 9.0
    seeds: tuple[int, ...] = tuple(range(1, 11))


def compute(
    law: JobLaw, law_name: str, sweep: Sweep | None = None, *, executor: Executor | None = None
) -> Result:
    """Simulate Synergy's allocations over load, and under each setting.

    Returns
    -------
    Result
        Table: setting, load, arm (allocation; optimum: the integer program), seed, mean_jct_h,
        p99_jct_h, throughput (of 16 jobs at once, relative to proportional shares).
    """
    sweep = sweep or Sweep()
    of_seed = partial(_rows, law, law_name, sweep)
    return _result(
        trials(of_seed, sweep.seeds, [*MEASURES, "throughput"], executor), law_name, sweep
    )


def _rows(law: JobLaw, law_name: str, sweep: Sweep, seed: int) -> list[Row]:
    return list(_of_seed(law, law_name, sweep, seed))


def _of_seed(law: JobLaw, law_name: str, sweep: Sweep, seed: int) -> Iterator[Row]:
    for name in sweep.settings:
        setting = SETTINGS[name]
        drawn = law(sweep.jobs, setting.servers * 8, seed)
        specs = typed(one_gpu_each(drawn) if setting.gangs == "one" else drawn, setting.split, seed)
        for load in sweep.loads if name == USUAL else sweep.at:
            stretched = at_load(specs, load, setting.servers * 8, slice(*sweep.window))
            # greedy gives no gang room that asks for more than a server has
            for arm in (PROPORTIONAL, GREEDY, TUNE) if name == USUAL else (PROPORTIONAL, TUNE):
                yield (name, load, arm, seed, *_jct_h(stretched, setting, arm, sweep), np.nan)
        if name == USUAL and sweep.jobs_per_h and law_name == "literature":
            hourly = at_rate(specs, sweep.jobs_per_h)
            load = round(load_of(hourly, setting.servers * 8, slice(*sweep.window)), 3)
            for arm in (PROPORTIONAL, TUNE):
                yield (RATE, load, arm, seed, *_jct_h(hourly, setting, arm, sweep), np.nan)
        if name == USUAL:
            for arm, throughput in at_once(setting, seed).items():
                yield (USUAL, np.nan, arm, seed, np.nan, np.nan, throughput)


def typed(specs: Sequence[JobSpec], split: tuple[int, int, int], seed: int) -> list[JobSpec]:
    """Return the jobs with models drawn by task split (percent image, language, speech)."""
    tasks = tuple(zip(("image", "language", "speech"), map(float, split), strict=True))
    bare = [replace(s, job_type=None, cpus=None, mem_gb=None) for s in specs]
    return list(HostResources(split=tasks).completed(bare, np.random.default_rng(seed)))


def at_once(setting: Setting, seed: int, servers: int = 2) -> dict[str, float]:
    """Return the throughput of jobs that fill a few servers, by allocation, and the optimum."""
    there = fleet(setting._replace(servers=servers).fleet)
    same = [
        JobSpec(f"j{i:03d}", "v", "u", 1, 0.0, (AttemptSpec(3600.0),), status="Pass")
        for i in range(sum(m.gpus for m in there))
    ]
    specs = typed(same, setting.split, seed)
    found = {}
    for allocation in (PROPORTIONAL, TUNE):
        schedule = run(specs, there, Synergy(allocation=allocation), speed=HostResources())
        first = schedule.speeds.filter(schedule.speeds["start_s"] == 0)
        found[allocation] = float(first["speed"].sum()) / len(specs)
    best = best_throughput([PROFILES[s.job_type or ""] for s in specs], there)
    return found | {"optimum": best / len(specs)}


def _jct_h(
    specs: Sequence[JobSpec], setting: Setting, allocation: str, sweep: Sweep
) -> tuple[float, float]:
    watched = [s.job_id for s in specs[slice(*sweep.window)]]
    schedule = run(
        specs,
        fleet(setting.fleet),
        Synergy(allocation=allocation, order=setting.order),
        speed=HostResources(),
        until_done=watched,
    )
    ended = schedule.jobs.filter(schedule.jobs["job_id"].is_in(watched))
    jct_h = ((ended["end_s"] - ended["submit_s"]) / 3600).to_numpy()
    return float(jct_h.mean()), float(np.percentile(jct_h, 99))


def _result(table: pd.DataFrame, law_name: str, sweep: Sweep) -> Result:
    facts, said = [], []
    for load in sorted({*sweep.loads, *sweep.at}):
        tune = effect(table, "mean_jct_h", TUNE, PROPORTIONAL, setting=USUAL, load=load)
        if tune.pairs:
            said.append(f"{percent(tune)} at {load:g}")
            name = f"tune_jct_at_{load:g}_pct".replace(".", "_")
            facts.append(
                Fact(name, tune.effect, f"change of mean JCT by tune at a load of {load:g}")
            )
    sentences = [
        f"On the {law_name} law, {len(sweep.seeds)} draws, tuned shares change mean JCT against "
        f"proportional ones by {'; '.join(said)} of offered load."
    ]
    rivals = [
        f"{percent(found)} at {load:g}"
        for load in sweep.loads
        if (found := effect(table, "mean_jct_h", TUNE, GREEDY, setting=USUAL, load=load)).pairs
    ]
    if rivals:
        sentences.append(f"Against giving each job greedily what it wants: {'; '.join(rivals)}.")
    once = table[table["throughput"].notna()].pivot_table(
        index="seed", columns="arm", values="throughput"
    )
    if len(once):
        gap = paired(once[TUNE], once["optimum"], relative=True)
        most = paired(once["optimum"], once[PROPORTIONAL], relative=True)
        facts += [
            Fact("optimum_throughput_pct", most.effect, "throughput that the best division adds"),
            Fact("tune_below_optimum_pct", gap.effect, "throughput of tune against that optimum"),
        ]
        sentences.append(
            f"For 16 jobs at once the best division adds {percent(most)} of throughput; tune is "
            f"{percent(gap)} off it."
        )
    return Result(
        name=f"synergy_{law_name}",
        table=table,
        facts=tuple(facts),
        sentences=tuple(sentences),
        caveats=MODELLED,
        comparisons=tuple(_comparisons(table, law_name)),
        synthetic=True,
    )


def _comparisons(table: pd.DataFrame, law_name: str) -> Iterator[Comparison]:
    yield Comparison(
        what="mean JCT, proportional over tuned shares, 'up to'",
        published=PUBLISHED_RATIO,
        measured=None,
        unit="x",
        source="OSDI'22, abstract",
        reason="not measured here: past a load of 1 the ratio is one of backlogs and grows with "
        "the window; the curve shows it by load",
    )
    checked = table[(table["setting"] == RATE) & (table["arm"] == TUNE)]
    if len(checked):
        ends = _across(checked["mean_jct_h"]), _across(checked["p99_jct_h"])
        for found, what, published in (
            (ends[0], "mean", PUBLISHED_TUNE_H),
            (ends[1], "99th percentile of", PUBLISHED_TUNE_P99_H),
        ):
            yield Comparison(
                what=f"{what} JCT with tuned shares, FIFO, 9 jobs an hour on 128 GPUs (draws here: "
                f"{found.low:.0f} to {found.high:.0f}, 95 % of their mean)",
                published=published,
                measured=found.effect,
                unit="h",
                source="artifact's README, one run",
                reason="one run of theirs against many draws here; past a load of 1 draws differ "
                "much; they decide in rounds of 300 s and pack all servers anew",
            )


def _across(values: "pd.Series[float]") -> Paired:
    return paired(values, np.zeros(len(values)))


def plot(result: Result) -> Figure:
    """Draw the change of JCT over load, what moves it, and throughput against the optimum."""
    table = result.table
    fig, axes = canvas(3, width=11, height=4.2)
    over_load(
        axes[0],
        table,
        "mean_jct_h",
        (
            (TUNE, PROPORTIONAL, "tune against proportional"),
            (GREEDY, PROPORTIONAL, "greedy against proportional"),
            (TUNE, GREEDY, "tune against greedy"),
        ),
        USUAL,
    )
    axes[0].set(ylabel="change of mean JCT, %")
    heading(axes[0], "by allocation")
    below(axes[0])
    load = float(table.loc[~table["setting"].isin((USUAL, RATE)), "load"].median())
    if load == load:
        moved(axes[1], table, "mean_jct_h", TUNE, PROPORTIONAL, load, USUAL)
        axes[1].set(xlabel="tune against proportional, mean JCT, %")
        heading(axes[1], f"what moves it, at a load of {load:g}")
    once = table[table["throughput"].notna()]
    for i, (_, pair) in enumerate(once.groupby("seed")):
        values = pair.set_index("arm")["throughput"].reindex([PROPORTIONAL, TUNE, "optimum"])
        axes[2].plot(range(3), values, color="#9aa5b1", lw=1, marker="o", ms=3, label="_" * (i > 0))
    axes[2].set_xticks(range(3), [PROPORTIONAL, TUNE, "optimum"], fontsize=8)
    axes[2].set(ylabel="throughput per job, proportional = 1")
    heading(axes[2], "16 jobs at once, by draw")
    return fig
