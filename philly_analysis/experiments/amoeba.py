"""Amoeba: the contributions of growing and of shrinking to the gain in completion time."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments.effects import USUAL, effect
from philly_analysis.experiments.experiment import (
    PUBLISHED,
    Experiment,
    Summary,
    Sweep,
    changed_settings,
    system_rows,
)
from philly_analysis.experiments.increments import Increment
from philly_analysis.experiments.panels import mark_published, over_load, sensitivity
from philly_analysis.results import Fact, Result
from philly_analysis.results.figures import canvas, label_lines, title
from philly_analysis.simulator import Parallelism, run
from philly_analysis.simulator.policies import Amoeba, Policy, Tiresias
from philly_analysis.workload import JobSpec, fleet

QUESTION = "How much of elasticity's gain is growing, and how much shrinking?"

STATIC, GROW, SHRINK, BOTH = "static", "growth only", "shrink only", "elastic"

TIRESIAS = "Tiresias"
"""The policy that the elastic one extends, as published: static jobs, and promotion."""


class Setting(NamedTuple):
    """What is assumed of the scheduler and the jobs."""

    policy: Amoeba
    speed: Parallelism = Parallelism()
    tiresias_order: str = "running"


_USUAL = Setting(Amoeba(thresholds_gpu_s=(3.2 * 3600,), round_s=300.0))
BY_ARRIVAL = "Tiresias: earliest submission first"
"""Setting in which Tiresias serves a queue by submission; Tiresias' paper leaves the order open."""

SETTINGS: dict[str, Setting] = {USUAL: _USUAL, **changed_settings("amoeba", _USUAL)}
"""Settings by name: the usual one, and one for each changed assumption."""

_JCT = ("mean_jct_h", BOTH)
_PUBLISHED_PCT = -PUBLISHED["amoeba"][0].published

INCREMENTS = (
    Increment("elasticity", *_JCT, (TIRESIAS, STATIC), published_pct=_PUBLISHED_PCT),
    Increment("growing", *_JCT, (TIRESIAS, STATIC, SHRINK)),
    Increment("shrinking", *_JCT, (TIRESIAS, STATIC, GROW)),
)

SHOWN = {
    "mean_jct_h": (
        (BOTH, STATIC, "elastic"),
        (GROW, STATIC, "growth only"),
        (SHRINK, STATIC, "shrink only"),
        (BOTH, GROW, "added by shrinking"),
        (TIRESIAS, STATIC, "Tiresias"),
    )
}


def policies(
    policy: Amoeba, speed: Parallelism, tiresias_order: str
) -> dict[str, tuple[Policy, Parallelism]]:
    """Return the policy of each arm: all but one differ in how far jobs may grow and shrink."""
    tiresias = Tiresias(
        thresholds_gpu_s=policy.thresholds_gpu_s,
        round_s=policy.round_s,
        restart_s=policy.restart_s,
        order=tiresias_order,
    )
    return {
        TIRESIAS: (tiresias, speed),
        STATIC: (replace(policy, scale_out=1.0, shrink_to=1.0), speed),
        GROW: (replace(policy, shrink_to=1.0), speed),
        SHRINK: (replace(policy, scale_out=1.0), speed),
        BOTH: (policy, speed),
    }


def _compared(setting: str) -> tuple[str, ...]:
    return (TIRESIAS,) if setting == BY_ARRIVAL else (STATIC, BOTH)


def _outcome(
    specs: Sequence[JobSpec], policy: Policy, speed: Parallelism
) -> tuple[float, float, float]:
    schedule = run(specs, fleet("8x8"), policy, speed=speed)
    allocated_s = (schedule.speeds["end_s"] - schedule.speeds["start_s"]) * schedule.speeds["gpus"]
    stalled_s = allocated_s.filter(schedule.speeds["speed"] == 0)
    resizes = schedule.attempts.filter(schedule.attempts["end_reason"] == "resized").height
    return (
        float(schedule.jct_s.mean()) / 3600,
        resizes / len(specs),
        100 * float(stalled_s.sum()) / float(allocated_s.sum()),
    )


def _summarize(table: pd.DataFrame, sweep: Sweep) -> Summary:
    usual = partial(effect, table, "mean_jct_h", setting=USUAL, load=sweep.at)
    both, grow, shrink = (usual(arm, STATIC) for arm in (BOTH, GROW, SHRINK))
    added = usual(BOTH, GROW)
    elastic = (table["arm"] == BOTH) & (table["load"] == sweep.at) & (table["setting"] == USUAL)
    lost_pct = float(table.loc[elastic, "lost_pct"].mean())
    return Summary(
        facts=(
            Fact("elastic_jct_pct", both.effect, "change of mean JCT by elasticity"),
            Fact("growth_jct_pct", grow.effect, "change of mean JCT if jobs only grow"),
            Fact("shrink_jct_pct", shrink.effect, "change of mean JCT if jobs only shrink"),
            Fact("shrink_added_pct", added.effect, "change by shrinking in addition to growing"),
            Fact("lost_pct", lost_pct, "allocated GPU time that is lost to changes"),
        ),
        sentences=(
            f"Changes of GPUs lose {lost_pct:.2g} % of the allocated GPU time, at "
            f"{SETTINGS[USUAL].policy.restart_s:g} s each.",
        ),
    )


def _plot(result: Result) -> Figure:
    """Draw the change of JCT by arm over load, and the sensitivity of the change."""
    fig, axes = canvas(2, width=10, height=4.4)
    over_load(axes[0], result.table, "mean_jct_h", SHOWN["mean_jct_h"])
    mark_published(axes[0], -PUBLISHED["amoeba"][0].published, "published: as much as")
    axes[0].set(ylabel="change of mean JCT, %")
    title(axes[0], "against static gangs")
    label_lines(axes[0])
    label = "elastic against static, change of mean JCT, %"
    sensitivity(axes[1], result.table, "mean_jct_h", (BOTH, STATIC), label)
    return fig


AMOEBA = Experiment(
    name="amoeba",
    question=QUESTION,
    sweep=Sweep(loads=(0.5, 0.7, 0.9, 1.1), at=0.9, settings=tuple(SETTINGS), jobs=500),
    measures=("mean_jct_h", "resizes", "lost_pct"),
    rows=partial(system_rows, SETTINGS, policies, _compared, _outcome),
    summarize=_summarize,
    increments=INCREMENTS,
    choices=(
        *("at most 1.5 times", "at most 4 times", "at least a half", "shrinks above 1 waiting"),
        *("queues at 1 GPU hour", "order SRTF", "decides every 60 s", BY_ARRIVAL),
    ),
    shown=SHOWN,
    plot=_plot,
)
"""Table: resizes per job; lost_pct: GPU time without progress, of all allocated GPU time."""
