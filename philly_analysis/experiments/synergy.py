"""Synergy's headline as a curve: what dividing CPUs and memory by need does to completion times."""

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.experiments.curves import far_apart, forest, moved, over_load
from philly_analysis.experiments.effects import Row, Shown, drawn_from, effect, percent, trials
from philly_analysis.experiments.shares import (
    BIG_DATA,
    GREEDY,
    PROPORTIONAL,
    SETTINGS,
    TUNE,
    USUAL,
    all_at_once,
    arms,
    at_once,
    completion_times,
    typed,
)
from philly_analysis.experiments.workloads import JobLaw, at_rate, one_gpu_each
from philly_analysis.results import Comparison, Fact, Paired, Result, paired
from philly_analysis.results.figures import CYCLE, INK, MUTED, canvas, name_lines, title
from philly_analysis.simulator import PROFILES
from philly_analysis.workload import at_load, load_of

QUESTION = "What does dividing CPUs and memory by need do to completion times?"

PUBLISHED_RATIO = 3.4
"""Mean completion time, proportional over Synergy, 'up to' (abstract of OSDI'22)."""

PUBLISHED_TUNE_H, PUBLISHED_TUNE_P99_H = 21.8766, 156.93308
"""Mean and 99th percentile of completion time, FIFO, tune, 9 jobs an hour on 128 GPUs, 20/70/10
(hours): ``ae-readme.md`` of msr-fiddle/synergy at 05bb5a5."""

MODELLED: tuple[str, ...] = (
    "128 GPUs on 16 servers of 8 GPUs, 24 CPUs and 500 GB, first come, first served, one GPU per "
    "job, as in the artifact, unless said otherwise. Offered load: that with proportional shares.",
    "CPU and memory profiles are the artifact's measurements of ten models; which job trains "
    "which model is drawn by its split of tasks (percent image, language, speech).",
    "Jobs 4000 to 4999 of the stream are looked at, as in the artifact, or as far into it where a "
    "stream is shorter, as it is under all settings but the usual one; past a load of 1 completion "
    "times grow with the window's place, so that a ratio there is one of backlogs: it depends on "
    "where the window lies as much as on the allocation.",
    "512 GPUs: 64 such servers and gangs as they are, which is the paper's window of the Philly "
    "trace when the jobs are Philly's (a model of them, or a trace by --model).",
    "DRF and Tetris take a job's wanted CPUs and memory for fixed, as the paper has it. Tetris "
    "prefers short jobs besides, which first come, first served does not; “packing only” does not "
    "either.",
    "100 jobs at once on 32 GPUs, one GPU each: the paper's static trace, of which it gives the "
    "makespan.",
    "The optimum is an integer program over 16 jobs that start at once on two servers: the most "
    "throughput that any division could give, no job below its proportional share.",
    "Not modelled: rounds of 300 s (we decide at each event, jobs stay where they are), profiling, "
    "storage and network.",
)


RATE = "9 jobs an hour"
"""Setting of the artifact's own check."""

STATIC = "100 jobs at once"
"""Setting of the paper's static trace."""

SHOWN: Shown = {
    "mean_jct_h": (
        (TUNE, PROPORTIONAL, "tune vs proportional"),
        (GREEDY, PROPORTIONAL, "greedy vs proportional"),
        (TUNE, GREEDY, "tune vs greedy"),
        *((TUNE, arm, f"tune vs {arm}") for arm in BIG_DATA),
    )
}

MEASURES = ["mean_jct_h", "p99_jct_h", "throughput", "makespan_h", "gpu_pct", "cpu_pct"]


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

    loads: tuple[float, ...] = (0.75, 0.92, 1.0, 1.1)
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
        p99_jct_h, throughput (of 16 jobs at once, relative to proportional shares); of 100 jobs at
        once makespan_h, and gpu_pct and cpu_pct (what jobs held till the last one ended).
    """
    sweep = sweep or Sweep()
    of_seed = partial(_rows, law, law_name, sweep)
    return result_of(trials(of_seed, sweep.seeds, MEASURES, executor), law_name, sweep)


def _rows(law: JobLaw, law_name: str, sweep: Sweep, seed: int) -> list[Row]:
    return list(_of_seed(law, law_name, sweep, seed))


def _of_seed(law: JobLaw, law_name: str, sweep: Sweep, seed: int) -> Iterator[Row]:
    def row(setting: str, load: float, arm: str, **measured: float) -> Row:
        return (setting, load, arm, seed, *(measured.get(name, np.nan) for name in MEASURES))

    for name in sweep.settings:
        setting = SETTINGS[name]
        jobs = sweep.jobs if name == USUAL else sweep.jobs // 2
        drawn = law(jobs, setting.servers * 8, seed)
        specs = typed(one_gpu_each(drawn) if setting.gangs == "one" else drawn, setting.split, seed)
        window = slice(*(at * len(specs) // sweep.jobs for at in sweep.window))
        watched = [s.job_id for s in specs[window]]
        for load in sweep.loads if name == USUAL else sweep.at:
            stretched = at_load(specs, load, setting.servers * 8, window)
            for arm, policy in arms(setting, several=name == USUAL).items():
                yield row(name, load, arm, **completion_times(stretched, setting, policy, watched))
        if name != USUAL:
            continue
        if sweep.jobs_per_h and law_name == "literature":
            hourly = at_rate(specs, sweep.jobs_per_h)
            load = round(load_of(hourly, setting.servers * 8, window), 3)
            for arm, policy in arms(setting).items():
                yield row(RATE, load, arm, **completion_times(hourly, setting, policy, watched))
        for arm, throughput in at_once(setting, seed).items():
            yield row(USUAL, np.nan, arm, throughput=throughput)
        small = setting._replace(servers=4)
        for arm, policy in arms(small, several=True).items():
            yield row(STATIC, np.nan, arm, **all_at_once(specs[:100], small, policy))


def result_of(table: pd.DataFrame, law_name: str, sweep: Sweep) -> Result:
    """Return what trials show, in facts and sentences."""
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
        f"Tuned shares change mean JCT against proportional ones by {'; '.join(said)} of offered "
        "load."
    ]
    rivals = [
        f"{percent(found)} at {load:g}"
        for load in sweep.loads
        if (found := effect(table, "mean_jct_h", TUNE, GREEDY, setting=USUAL, load=load)).pairs
    ]
    if rivals:
        sentences.append(f"Against giving each job greedily what it wants: {'; '.join(rivals)}.")
    [first, *_] = sweep.at
    rivals = [
        f"{arm} {percent(found)}"
        for arm in BIG_DATA
        if (found := effect(table, "mean_jct_h", TUNE, arm, setting=USUAL, load=first)).pairs
    ]
    if rivals:
        sentences.append(
            f"Tuned shares against data clusters' schedulers at {first:g}: {'; '.join(rivals)}."
        )
    static = table[table["setting"] == STATIC].pivot_table(
        index="seed", columns="arm", values=["makespan_h", "cpu_pct"]
    )
    if len(static):
        ends = paired(static["makespan_h", TUNE], static["makespan_h", PROPORTIONAL], relative=True)
        facts.append(Fact("static_makespan_pct", ends.effect, "makespan of 100 jobs, by tune"))
        cpus = {arm: float(static["cpu_pct", arm].mean()) for arm in (TUNE, PROPORTIONAL)}
        sentences.append(
            f"Tuned shares change the makespan of 100 jobs at once on 32 GPUs by {percent(ends)}; "
            f"till the last one ends {cpus[TUNE]:.0f} % of the CPUs are held with them and "
            f"{cpus[PROPORTIONAL]:.0f} % with proportional ones."
        )
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
        sentences=(*sentences, drawn_from(law_name, None, sweep.seeds)),
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
    """Draw the change of JCT over load, what moves it, CPUs a GPU, and the models' sensitivity."""
    table = result.table
    fig, axes = canvas(3, 2, width=11, height=8.2)
    over_load(axes[0], table, "mean_jct_h", SHOWN["mean_jct_h"], USUAL)
    axes[0].set(ylabel="change of mean JCT, %")
    far_apart(axes[0], "y")
    title(axes[0], "by allocation")
    name_lines(axes[0])
    load = float(table.loc[~table["setting"].isin((USUAL, RATE, STATIC)), "load"].median())
    if load == load:
        moved(axes[1], table, "mean_jct_h", TUNE, PROPORTIONAL, load, USUAL)
        axes[1].set(xlabel="tune against proportional, mean JCT, %")
        title(axes[1], f"what moves it, at a load of {load:g}")
        _by_ratio(axes[2], table, load)
    _sensitivity(axes[3])
    once = table[table["throughput"].notna()]
    for i, (_, pair) in enumerate(once.groupby("seed")):
        values = pair.set_index("arm")["throughput"].reindex([PROPORTIONAL, TUNE, "optimum"])
        axes[4].plot(range(3), values, color="#9aa5b1", lw=1, marker="o", ms=3, label="_" * (i > 0))
    axes[4].set_xticks(range(3), [PROPORTIONAL, TUNE, "optimum"], fontsize=8)
    axes[4].set(ylabel="throughput per job, proportional = 1")
    title(axes[4], "16 jobs at once, by draw")
    static = table[table["setting"] == STATIC]
    rows = [
        (
            arm,
            effect(_at_zero(static), "makespan_h", arm, PROPORTIONAL, setting=STATIC, load=0),
            INK,
        )
        for arm in dict.fromkeys(static["arm"])
        if arm != PROPORTIONAL
    ]
    forest(axes[5], rows)
    axes[5].set(xlabel="makespan against proportional, %")
    title(axes[5], "100 jobs at once on 32 GPUs")
    return fig


def _at_zero(table: pd.DataFrame) -> pd.DataFrame:
    """Return trials without a load as such of load 0, to be paired like any other."""
    return table.assign(load=table["load"].fillna(0.0))


def _by_ratio(ax: Axes, table: pd.DataFrame, load: float) -> None:
    """Draw the gain over the CPUs that a server has for each GPU."""
    found = {
        setting.cpus / 8: effect(table, "mean_jct_h", TUNE, PROPORTIONAL, setting=name, load=load)
        for name, setting in SETTINGS.items()
        if setting == SETTINGS[USUAL]._replace(cpus=setting.cpus)
    }
    ratios = sorted(found)
    ax.plot(ratios, [found[r].effect for r in ratios], color=CYCLE[0], marker="o", ms=3)
    lows, highs = ([getattr(found[r], end) for r in ratios] for end in ("low", "high"))
    ax.fill_between(ratios, lows, highs, color=CYCLE[0], alpha=0.15, lw=0)
    ax.axhline(0, color=MUTED, lw=0.8)
    ax.set(xlabel="CPUs a GPU", ylabel="tune against proportional, %", xticks=ratios)
    title(ax, "by CPUs a GPU")


def _sensitivity(ax: Axes) -> None:
    """Draw each model's throughput by CPUs a GPU, with the memory that it wants."""
    grid = np.linspace(1, 12, 45)
    styles = {"image": "-", "language": "--", "speech": ":"}
    for i, profile in enumerate(PROFILES.values()):
        curve = [profile.throughput(cpus, profile.mem_gb) for cpus in grid]
        ax.plot(
            grid,
            curve,
            color=CYCLE[i % len(CYCLE)],
            ls=styles[profile.task],
            lw=1.2,
            label=profile.job_type,
        )
    ax.axvline(3, color=MUTED, lw=0.8)
    ax.set(xlabel="CPUs a GPU (line: proportional)", ylabel="throughput, proportional = 1")
    ax.set_xticks(range(0, 13, 3))
    title(ax, "sensitivity, as measured")
    name_lines(ax)
