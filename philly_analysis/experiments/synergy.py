"""Synergy: changes of completion times if CPUs and memory are allocated by need."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.experiments.effects import effect
from philly_analysis.experiments.experiment import PUBLISHED, Experiment, Row, Summary, Sweep
from philly_analysis.experiments.increments import Increment
from philly_analysis.experiments.job_sources import DrawJobs, at_rate, one_gpu_each
from philly_analysis.experiments.panels import (
    other_load,
    over_load,
    sensitivity,
    symlog_percent,
)
from philly_analysis.experiments.synergy_arms import (
    BIG_DATA,
    GREEDY,
    PROPORTIONAL,
    SETTINGS,
    TUNE,
    USUAL,
    arms,
    completion_times,
    static_trace,
    throughputs,
    with_models,
)
from philly_analysis.results import Comparison, Fact, Paired, Result, change_text, paired
from philly_analysis.results.figures import CYCLE, INK, MUTED, canvas, forest, label_lines, title
from philly_analysis.simulator import PROFILES
from philly_analysis.workload import load_of, stretch_to_load

QUESTION = "What does dividing CPUs and memory by need do to completion times?"

RATE = "9 jobs an hour"
"""Setting of the artifact's own check."""

STATIC = "100 jobs at once"
"""Setting of the paper's static trace."""

MEASURES = ("mean_jct_h", "p99_jct_h", "throughput", "makespan_h", "gpu_pct", "cpu_pct")

_FASTEST_PCT = 100 * (1 / PUBLISHED["synergy"][0].published - 1)
_UNTUNED = (PROPORTIONAL, GREEDY, *BIG_DATA)

INCREMENTS = (
    Increment("tuning shares", "mean_jct_h", TUNE, _UNTUNED, published_pct=_FASTEST_PCT),
    Increment("tuning shares", "p99_jct_h", TUNE, _UNTUNED),
)

SHOWN = {
    "mean_jct_h": (
        (TUNE, PROPORTIONAL, "tune vs proportional"),
        (GREEDY, PROPORTIONAL, "greedy vs proportional"),
        (TUNE, GREEDY, "tune vs greedy"),
        *((TUNE, arm, f"tune vs {arm}") for arm in BIG_DATA),
    )
}


@dataclass(frozen=True, slots=True)
class SynergySweep(Sweep):
    """What is varied.

    Attributes
    ----------
    window
        Positions of the measured jobs among the jobs drawn.
    jobs_per_h
        Rate of the artifact's check, on the artifact's source of jobs; 0: no check.
    """

    window: tuple[int, int] = (4000, 5000)
    jobs_per_h: float = 9.0


def _rows(jobs: DrawJobs, source: str, sweep: SynergySweep, seed: int) -> Iterator[Row]:
    def row(setting: str, load: float, arm: str, **measured: float) -> Row:
        return (setting, load, arm, seed, *(measured.get(name, np.nan) for name in MEASURES))

    for name in sweep.settings:
        setting = SETTINGS[name]
        count = sweep.jobs if name == USUAL else sweep.jobs // 2
        drawn = jobs(count, setting.servers * 8, seed)
        gangs = one_gpu_each(drawn) if setting.gangs == "one" else drawn
        specs = with_models(gangs, setting.split, seed)
        window = slice(*(at * len(specs) // sweep.jobs for at in sweep.window))
        measured = [s.job_id for s in specs[window]]
        for load in sweep.loads if name == USUAL else (sweep.at,):
            rescaled = stretch_to_load(specs, load, setting.servers * 8, window)
            for arm, policy in arms(setting, several=name == USUAL).items():
                yield row(name, load, arm, **completion_times(rescaled, setting, policy, measured))
        if name != USUAL:
            continue
        if sweep.jobs_per_h and source == "literature":
            hourly = at_rate(specs, sweep.jobs_per_h)
            load = round(load_of(hourly, setting.servers * 8, window), 3)
            for arm, policy in arms(setting).items():
                yield row(RATE, load, arm, **completion_times(hourly, setting, policy, measured))
        for arm, throughput in throughputs(setting, seed).items():
            yield row(USUAL, np.nan, arm, throughput=throughput)
        small = setting._replace(servers=4)
        for arm, policy in arms(small, several=True).items():
            yield row(STATIC, np.nan, arm, **static_trace(specs[:100], small, policy))


def _summarize(table: pd.DataFrame, sweep: SynergySweep) -> Summary:
    def change(arm: str, load: float) -> Paired:
        return effect(table, "mean_jct_h", TUNE, arm, setting=USUAL, load=load)

    loads = sorted({*sweep.loads, sweep.at})
    tuned = {load: change(PROPORTIONAL, load) for load in loads}
    facts = [
        Fact(
            f"tune_jct_at_{load:g}_pct".replace(".", "_"),
            jct_change.effect,
            f"change of mean JCT by tune at a load of {load:g}",
        )
        for load, jct_change in tuned.items()
        if jct_change.pairs
    ]
    sentences = []
    static = table[table["setting"] == STATIC].pivot_table(
        index="seed", columns="arm", values=["makespan_h", "cpu_pct"]
    )
    if len(static):
        ends = paired(static["makespan_h", TUNE], static["makespan_h", PROPORTIONAL], relative=True)
        facts.append(Fact("static_makespan_pct", ends.effect, "makespan of 100 jobs, by tune"))
        cpus = {arm: float(static["cpu_pct", arm].mean()) for arm in (TUNE, PROPORTIONAL)}
        sentences.append(
            "Tuned shares change the makespan of 100 jobs at once on 32 GPUs by "
            f"{change_text(ends)}. They allocate {cpus[TUNE]:.0f} % of the CPUs until the "
            f"last job ends, proportional shares {cpus[PROPORTIONAL]:.0f} %."
        )
    once = table[table["throughput"].notna()].pivot_table(
        index="seed", columns="arm", values="throughput"
    )
    if len(once):
        gap = paired(once[TUNE], once["optimum"], relative=True)
        most = paired(once["optimum"], once[PROPORTIONAL], relative=True)
        facts += [
            Fact("optimum_throughput_pct", most.effect, "throughput added by the optimum"),
            Fact("tune_below_optimum_pct", gap.effect, "throughput of tune against the optimum"),
        ]
        sentences.append(
            "For 16 jobs at once the optimal allocation changes the throughput of proportional "
            f"shares by {change_text(most)}. Tuned shares differ from it by {change_text(gap)}."
        )
    return Summary(facts, sentences, list(_comparisons(table)))


def _comparisons(table: pd.DataFrame) -> Iterator[Comparison]:
    ratio, *of_artifact = PUBLISHED["synergy"]
    yield ratio
    checked = table[(table["setting"] == RATE) & (table["arm"] == TUNE)]
    for published, measure in zip(of_artifact, ("mean_jct_h", "p99_jct_h"), strict=True):
        mean = paired(checked[measure], np.zeros(len(checked)))
        if mean.pairs:
            draws = f"(draws here: {mean.low:.0f} to {mean.high:.0f}, 95 % of their mean)"
            yield replace(published, what=f"{published.what} {draws}", measured=mean.effect)


def _plot(result: Result) -> Figure:
    """Draw the change of JCT over load, sensitivity, CPUs per GPU, and the models' profiles."""
    table = result.table
    fig, axes = canvas(3, 2, width=11, height=8.2)
    over_load(axes[0], table, "mean_jct_h", SHOWN["mean_jct_h"], USUAL)
    axes[0].set(ylabel="change of mean JCT, %")
    symlog_percent(axes[0], "y")
    title(axes[0], "by allocation")
    label_lines(axes[0])
    if load := other_load(table, (USUAL, RATE, STATIC)):
        label = "tune against proportional, mean JCT, %"
        pair = (TUNE, PROPORTIONAL)
        sensitivity(axes[1], table, "mean_jct_h", pair, label, usual=USUAL, load=load)
        _by_ratio(axes[2], table, load)
    _profiles(axes[3])
    once = table[table["throughput"].notna()]
    allocations = [PROPORTIONAL, TUNE, "optimum"]
    for i, (_, pair_of_draw) in enumerate(once.groupby("seed")):
        values = pair_of_draw.set_index("arm")["throughput"].reindex(allocations)
        axes[4].plot(range(3), values, color="#9aa5b1", lw=1, marker="o", ms=3, label="_" * (i > 0))
    axes[4].set_xticks(range(3), allocations, fontsize=8)
    axes[4].set(ylabel="throughput per job, proportional = 1")
    title(axes[4], "16 jobs at once, by draw")
    static = table[table["setting"] == STATIC].fillna({"load": 0.0})
    rows = [
        (arm, effect(static, "makespan_h", arm, PROPORTIONAL, setting=STATIC, load=0), INK)
        for arm in dict.fromkeys(static["arm"])
        if arm != PROPORTIONAL
    ]
    forest(axes[5], rows)
    axes[5].set(xlabel="makespan against proportional, %")
    title(axes[5], "100 jobs at once on 32 GPUs")
    return fig


def _by_ratio(ax: Axes, table: pd.DataFrame, load: float) -> None:
    """Draw the gain over the CPUs of a server per GPU."""
    changes = {
        setting.cpus / 8: effect(table, "mean_jct_h", TUNE, PROPORTIONAL, setting=name, load=load)
        for name, setting in SETTINGS.items()
        if setting == SETTINGS[USUAL]._replace(cpus=setting.cpus)
    }
    ratios = sorted(changes)
    ax.plot(ratios, [changes[r].effect for r in ratios], color=CYCLE[0], marker="o", ms=3)
    lows, highs = ([getattr(changes[r], end) for r in ratios] for end in ("low", "high"))
    ax.fill_between(ratios, lows, highs, color=CYCLE[0], alpha=0.15, lw=0)
    ax.axhline(0, color=MUTED, lw=0.8)
    ax.set(xlabel="CPUs per GPU", ylabel="tune against proportional, %", xticks=ratios)
    title(ax, "by CPUs per GPU")


def _profiles(ax: Axes) -> None:
    """Draw each model's throughput by CPUs per GPU, with the memory that the model needs."""
    grid = np.linspace(1, 12, 45)
    styles = {"image": "-", "language": "--", "speech": ":"}
    for i, profile in enumerate(PROFILES.values()):
        curve = [profile.throughput(cpus, profile.mem_gb) for cpus in grid]
        color, style = CYCLE[i % len(CYCLE)], styles[profile.task]
        ax.plot(grid, curve, color=color, ls=style, lw=1.2, label=profile.job_type)
    ax.axvline(3, color=MUTED, lw=0.8)
    ax.set(xlabel="CPUs per GPU (line: proportional)", ylabel="throughput, proportional = 1")
    ax.set_xticks(range(0, 13, 3))
    title(ax, "measured profiles")
    label_lines(ax)


SYNERGY = Experiment(
    name="synergy",
    question=QUESTION,
    sweep=SynergySweep(loads=(0.75, 0.92, 1.0, 1.1), at=0.92, settings=tuple(SETTINGS), jobs=5500),
    measures=MEASURES,
    rows=_rows,
    summarize=_summarize,
    increments=INCREMENTS,
    choices=(),
    shown=SHOWN,
    plot=_plot,
    usual=USUAL,
)
"""The table's arm optimum is the integer program. Throughputs are of 16 jobs at once, relative to
proportional shares. makespan_h, gpu_pct and cpu_pct (allocated until the last job ends) are of 100
jobs at once."""
