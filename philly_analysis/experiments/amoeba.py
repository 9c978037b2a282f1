"""Amoeba's headline, divided: what growing and shrinking each do to completion times."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments.curves import moved, over_load
from philly_analysis.experiments.effects import Row, Shown, drawn_from, effect, percent, trials
from philly_analysis.experiments.workloads import JobLaw
from philly_analysis.results import Comparison, Fact, Result
from philly_analysis.results.figures import MUTED, canvas, name_lines, title
from philly_analysis.simulator import Parallelism, run
from philly_analysis.simulator.policies import Amoeba, Policy, Tiresias
from philly_analysis.workload import JobSpec, at_load, fleet

QUESTION = "How much of elasticity's gain is growing, and how much shrinking?"

PUBLISHED_REDUCTION_PCT = 29.0
"""Mean JCT, elastic against not, 'as much as' (abstract of arXiv 1909.11985 v1)."""

STATIC, GROW, SHRINK, BOTH = "static", "growth only", "shrink only", "elastic"

TIRESIAS = "Tiresias"
"""The policy that the elastic one starts from, as published: jobs as they are, and promotion."""

MODELLED: tuple[str, ...] = (
    "64 GPUs on 8 servers; the scheduler is the published re-implementation's: Tiresias' queues "
    "(two, 3.2 GPU hours), compaction above 10 waiting jobs, marginal gains; decisions every "
    "300 s. static: the same with jobs that hold what they ask for. Tiresias: with promotion.",
    "How much a job gains by a GPU, and how far it can grow, is its model's: five models measured "
    "by Pollux (OSDI'21) on servers of 4 T4 GPUs, the batch as it was on the GPUs asked for. Which "
    "job trains which is drawn from those that scale at least half as well as perfectly to what "
    "it asks for. Amoeba's own curves are not public.",
    "Assumed: jobs may hold 1/4 to 2 times what they ask for (less, where the model's batch says "
    "so), a change costs 30 s. Amoeba's abstract names neither trace, load nor limits: these "
    "decide the gain, and the right-hand panel moves each, and the models.",
    "Where nobody waits, growth alone shortens jobs, whatever the trace: it uses GPUs that rigid "
    "jobs leave idle.",
    "The published cut of a change's cost, 95 %, is an input here, not a result: the right-hand "
    "panel moves the cost.",
    "Not modelled: accuracy by batch size, and speed by locality beyond what was measured.",
)


class Setting(NamedTuple):
    """What the scheduler and the jobs are taken to be."""

    policy: Amoeba
    speed: Parallelism = Parallelism()


USUAL = "as assumed"
"""Name of the setting from which all others differ in one thing."""

_BASE = Amoeba(thresholds_gpu_s=(3.2 * 3600,), round_s=300.0)


def _one_law(alpha: float) -> Setting:
    return Setting(replace(_BASE, alpha=alpha), Parallelism(alpha=alpha, models=()))


SETTINGS: dict[str, Setting] = {
    USUAL: Setting(_BASE),
    "one law, exponent 0.6": _one_law(0.6),
    "one law, exponent 0.9": _one_law(0.9),
    "one law, exponent 1": _one_law(1.0),
    "ImageNet only": Setting(_BASE, Parallelism(models=("imagenet",))),
    "BERT only": Setting(_BASE, Parallelism(models=("bert",))),
    "at most 1.5 times": Setting(replace(_BASE, scale_out=1.5)),
    "at most 4 times": Setting(replace(_BASE, scale_out=4.0)),
    "at least a half": Setting(replace(_BASE, shrink_to=0.5)),
    "a change costs 1.5 s": Setting(replace(_BASE, restart_s=1.5)),
    "a change costs 300 s": Setting(replace(_BASE, restart_s=300.0)),
    "shrinks above 1 waiting": Setting(replace(_BASE, pending_above=1)),
    "queues at 1 GPU hour": Setting(replace(_BASE, thresholds_gpu_s=(3600.0,))),
    "order SRTF": Setting(replace(_BASE, order="srtf")),
    "decides every 60 s": Setting(replace(_BASE, round_s=60.0)),
}
"""Settings by name: the usual one, and each constant moved."""

SHOWN: Shown = {
    "mean_jct_h": (
        (BOTH, STATIC, "elastic"),
        (GROW, STATIC, "growth only"),
        (SHRINK, STATIC, "shrink only"),
        (BOTH, GROW, "what shrinking adds"),
        (TIRESIAS, STATIC, "Tiresias"),
    )
}

MEASURES = ["mean_jct_h", "resizes", "lost_pct"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied: load, the constants (at one load), and the seeds of the draws."""

    loads: tuple[float, ...] = (0.5, 0.7, 0.9, 1.1)
    at: float = 0.9
    settings: tuple[str, ...] = field(default_factory=lambda: tuple(SETTINGS))
    jobs: int = 500
    seeds: tuple[int, ...] = tuple(range(1, 11))


def compute(
    law: JobLaw, law_name: str, sweep: Sweep | None = None, *, executor: Executor | None = None
) -> Result:
    """Simulate the arms over load, and elastic against static jobs under each constant.

    Returns
    -------
    Result
        Table: setting, load, arm, seed, mean_jct_h, resizes (per job), lost_pct (GPU time without
        progress, of all GPU time held).
    """
    sweep = sweep or Sweep()
    of_seed = partial(_rows, law, sweep)
    return result_of(trials(of_seed, sweep.seeds, MEASURES, executor), law_name, sweep)


def _rows(law: JobLaw, sweep: Sweep, seed: int) -> list[Row]:
    return list(_of_seed(law, sweep, seed))


def _of_seed(law: JobLaw, sweep: Sweep, seed: int) -> Iterator[Row]:
    drawn = law(sweep.jobs, 64, seed)
    for name in sweep.settings:
        policy, speed = SETTINGS[name]
        training = speed.completed(drawn, np.random.default_rng(seed))
        for load in sweep.loads if name == USUAL else (sweep.at,):
            specs = at_load(training, load, 64)
            for arm, who in arms(policy).items():
                if name == USUAL or arm in (STATIC, BOTH):
                    yield (name, load, arm, seed, *_outcome(specs, who, speed))


def arms(policy: Amoeba) -> dict[str, Policy]:
    """Return the policy of each arm: all but one differ in how far jobs may grow and shrink."""
    return {
        TIRESIAS: Tiresias(
            thresholds_gpu_s=policy.thresholds_gpu_s,
            round_s=policy.round_s,
            restart_s=policy.restart_s,
        ),
        STATIC: replace(policy, scale_out=1.0, shrink_to=1.0),
        GROW: replace(policy, shrink_to=1.0),
        SHRINK: replace(policy, scale_out=1.0),
        BOTH: policy,
    }


def _outcome(
    specs: Sequence[JobSpec], policy: Policy, speed: Parallelism
) -> tuple[float, float, float]:
    schedule = run(specs, fleet("8x8"), policy, speed=speed)
    held_s = (schedule.speeds["end_s"] - schedule.speeds["start_s"]) * schedule.speeds["gpus"]
    stalled_s = held_s.filter(schedule.speeds["speed"] == 0)
    resizes = schedule.attempts.filter(schedule.attempts["end_reason"] == "resized").height
    return (
        float(schedule.jct_s.mean()) / 3600,
        resizes / len(specs),
        100 * float(stalled_s.sum()) / float(held_s.sum()),
    )


def result_of(table: pd.DataFrame, law_name: str, sweep: Sweep) -> Result:
    """Return what trials show, in facts and sentences."""
    usual = partial(effect, table, "mean_jct_h", setting=USUAL, load=sweep.at)
    parts = {arm: usual(arm, STATIC) for arm in (BOTH, GROW, SHRINK)}
    added, promotion = usual(BOTH, GROW), usual(TIRESIAS, STATIC)
    lost = table[(table["arm"] == BOTH) & (table["load"] == sweep.at)]
    lost_pct = float(lost.loc[lost["setting"] == USUAL, "lost_pct"].mean())
    return Result(
        name=f"amoeba_{law_name}",
        table=table,
        facts=(
            Fact("elastic_jct_pct", parts[BOTH].effect, "change of mean JCT by elasticity"),
            Fact("growth_jct_pct", parts[GROW].effect, "the same, if jobs only grow"),
            Fact("shrink_jct_pct", parts[SHRINK].effect, "the same, if jobs only shrink"),
            Fact("shrink_added_pct", added.effect, "what shrinking adds to growing"),
            Fact("lost_pct", lost_pct, "GPU time lost to changes, of all that is held"),
        ),
        sentences=(
            f"Elastic jobs change mean JCT by {percent(parts[BOTH])} against rigid ones; jobs that "
            f"only grow by {percent(parts[GROW])}, that only shrink by {percent(parts[SHRINK])}.",
            f"Shrinking adds {percent(added)} to growing. With promotion Tiresias changes it by "
            f"{percent(promotion)} against the rigid arm.",
            f"Changes of GPUs lose {lost_pct:.2g} % of the GPU time held, at "
            f"{SETTINGS[USUAL].policy.restart_s:g} s each.",
            drawn_from(law_name, sweep.at, sweep.seeds),
        ),
        caveats=MODELLED,
        comparisons=(
            Comparison(
                what="reduction of mean JCT by elasticity",
                published=PUBLISHED_REDUCTION_PCT,
                measured=None,
                unit="%",
                source="arXiv 1909.11985 v1, abstract ('as much as')",
                reason="not measured here: how far jobs may grow and how well they scale decide "
                "it, and the abstract says neither, nor the load",
            ),
        ),
        synthetic=True,
    )


def plot(result: Result) -> Figure:
    """Draw the change of JCT by arm over load, and what moves it."""
    table = result.table
    fig, axes = canvas(2, width=10, height=4.4)
    over_load(axes[0], table, "mean_jct_h", SHOWN["mean_jct_h"], USUAL)
    axes[0].axhline(
        -PUBLISHED_REDUCTION_PCT, color=MUTED, ls="--", lw=1.2, label="published: as much as"
    )
    axes[0].set(ylabel="change of mean JCT, %")
    title(axes[0], "against static gangs")
    name_lines(axes[0])
    load = float(table.loc[table["setting"] != USUAL, "load"].mean())
    if load == load:
        moved(axes[1], table, "mean_jct_h", BOTH, STATIC, load, USUAL)
        axes[1].set(xlabel="elastic against static, change of mean JCT, %")
        title(axes[1], f"what moves it, at a load of {load:g}")
    return fig
