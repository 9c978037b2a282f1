"""AntMan: the contributions of job order, idle GPUs and GPU sharing to the cluster's use."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from matplotlib.figure import Figure
from scipy.stats import beta

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
from philly_analysis.experiments.job_sources import quotas_by_use
from philly_analysis.experiments.panels import mark_published, over_load, sensitivity
from philly_analysis.results import Fact, Result
from philly_analysis.results.figures import canvas, label_lines, title
from philly_analysis.simulator import PHILLY_MINUTES, Schedule, Sharing, run
from philly_analysis.simulator.policies import AntMan, Fifo, Gandiva, Philly, Policy
from philly_analysis.workload import JobSpec, fleet

QUESTION = "How much of AntMan's gain is sharing?"

BLOCKED, BACKFILL, IDLE, SHARED = "blocked", "backfill", "idle guests", "sharing"
UPGRADED, YARN, GANDIVA = "sharing, upgraded", "YARN", "Gandiva"
"""Arms: a queue that blocks; with backfill; AntMan with guests on unallocated GPUs only; AntMan;
AntMan whose guests keep GPUs that become unallocated; and the paper's baselines."""

_ONLY_IDLE = 1e-9
"""Utilisation below which GPUs are unallocated only."""


def beta_quantiles(mean: float, concentration: float = 3.0) -> tuple[float, ...]:
    """Return the deciles of a Beta distribution of mean utilisation."""
    distribution = beta(mean * concentration, (1 - mean) * concentration)
    return tuple(float(q) for q in distribution.ppf(np.linspace(0, 1, 11)))


class Setting(NamedTuple):
    """Assumptions about AntMan and the jobs."""

    policy: AntMan = AntMan()
    speed: Sharing = Sharing(util_quantiles=beta_quantiles(0.5))


SETTINGS: dict[str, Setting] = {
    USUAL: Setting(),
    "utilisation 0.35": Setting(speed=Sharing(util_quantiles=beta_quantiles(0.35))),
    "utilisation 0.7": Setting(speed=Sharing(util_quantiles=beta_quantiles(0.7))),
    "Philly's minutes": Setting(speed=Sharing(util_quantiles=PHILLY_MINUTES)),
    **changed_settings("antman", Setting()),
}
"""Settings by name: the usual one, and one for each changed assumption; Beta means are named."""

_WITHOUT_GUESTS = (BLOCKED, BACKFILL, YARN)
_ALONE = (*_WITHOUT_GUESTS, IDLE)
_COMPUTE_PCT, _MEMORY_PCT = (row.published for row in PUBLISHED["antman"])

INCREMENTS = (
    Increment("GPU sharing", "mean_jct_h", SHARED, _ALONE),
    Increment("GPU sharing", "compute_pct", SHARED, _ALONE, more=True, published_pct=_COMPUTE_PCT),
    Increment("GPU sharing", "memory_pct", SHARED, _ALONE, more=True, published_pct=_MEMORY_PCT),
    Increment("guests on idle GPUs", "mean_jct_h", IDLE, _WITHOUT_GUESTS),
)

SHOWN = {
    "compute_pct": (
        (SHARED, BLOCKED, "AntMan"),
        (IDLE, BLOCKED, "idle guests"),
        (BACKFILL, BLOCKED, "backfill"),
        (SHARED, IDLE, "sharing alone"),
        (UPGRADED, BLOCKED, "upgraded"),
    ),
    "mean_jct_h": (
        (SHARED, BLOCKED, "AntMan"),
        (YARN, BLOCKED, "YARN"),
        (GANDIVA, BLOCKED, "Gandiva"),
        (SHARED, IDLE, "sharing alone"),
    ),
    "wait_h": tuple((arm, BLOCKED, arm) for arm in (BACKFILL, IDLE, SHARED, YARN, GANDIVA)),
}


def policies(policy: AntMan, speed: Sharing) -> dict[str, tuple[Policy, Sharing]]:
    """Return the policy and the speed of jobs in each arm."""
    alone = replace(speed, together=False)
    return {
        YARN: (Philly(), alone),
        GANDIVA: (Gandiva(), speed),
        BLOCKED: (replace(policy, convert_after_s=float("inf")), alone),
        BACKFILL: (Fifo(backfill=True, consolidate=True), alone),
        IDLE: (replace(policy, util_below_frac=_ONLY_IDLE), alone),
        SHARED: (policy, speed),
        UPGRADED: (replace(policy, upgrade=True), speed),
    }


def _compared(_: str) -> tuple[str, ...]:
    return IDLE, SHARED


def in_use_pct(schedule: Schedule, specs: Sequence[JobSpec], gpus: int) -> tuple[float, float]:
    """Return the shares of a cluster's GPU compute and memory that jobs use, in percent.

    The shares are means from the submission after the first fifth of jobs to the last submission.
    """
    begin_s, end_s = specs[len(specs) // 5].submit_s, specs[-1].submit_s
    traits = pl.DataFrame(
        [(s.job_id, s.util_frac, s.gpu_mem_frac) for s in specs],
        schema=["job_id", "util_frac", "mem_frac"],
        orient="row",
    )
    inside = schedule.speeds.join(traits, on="job_id").with_columns(
        gpu_s=(
            pl.min_horizontal("end_s", pl.lit(end_s))
            - pl.max_horizontal("start_s", pl.lit(begin_s))
        ).clip(lower_bound=0)
        * pl.col("gpus")
    )
    capacity_gpu_s = gpus * (end_s - begin_s)
    compute, memory = inside.select(
        (pl.col("gpu_s") * pl.col("util_frac") * pl.col("speed")).sum().alias("compute"),
        (pl.col("gpu_s") * pl.col("mem_frac")).filter(pl.col("speed") > 0).sum().alias("memory"),
    ).row(0)
    return 100 * compute / capacity_gpu_s, 100 * memory / capacity_gpu_s


def _outcome(specs: Sequence[JobSpec], policy: Policy, speed: Sharing) -> tuple[float, ...]:
    quotas = quotas_by_use(specs, 64)
    schedule = run(specs, fleet("8x8"), policy, speed=speed, quotas=quotas)
    guests = schedule.attempts.filter("guest")["job_id"].unique()
    ended = schedule.jobs.with_columns(jct_h=(pl.col("end_s") - pl.col("submit_s")) / 3600)
    first = schedule.attempts.group_by("job_id").agg(pl.col("start_s").min())
    wait_h = ended.join(first, on="job_id", maintain_order="left").select(
        (pl.col("start_s") - pl.col("submit_s")) / 3600
    )
    slowdown = (
        ended.filter(pl.col("run_s") > 0)
        .group_by("vc", maintain_order=True)
        .agg((3600 * pl.col("jct_h") / pl.col("run_s")).mean().alias("slowdown"))["slowdown"]
        .to_numpy()
    )
    holders = ended.filter(~pl.col("job_id").is_in(guests.implode()))["jct_h"].to_numpy()
    return (
        *in_use_pct(schedule, specs, 64),
        float(ended["jct_h"].to_numpy().mean()),
        float(holders.mean()) if len(holders) else float("nan"),
        100 * len(guests) / len(specs),
        float(wait_h.to_series().to_numpy().mean()),
        float(slowdown.sum() ** 2 / (len(slowdown) * (slowdown**2).sum())),
    )


def _summarize(table: pd.DataFrame, sweep: Sweep) -> Summary:
    usual = partial(effect, table, setting=USUAL, load=sweep.at)
    facts, sentences = [], []
    for short, measure, word in (
        ("compute", "compute_pct", "compute"),
        ("memory", "memory_pct", "memory"),
        ("mean_jct", "mean_jct_h", "mean JCT"),
    ):
        total, backfill = (usual(measure, arm, BLOCKED) for arm in (SHARED, BACKFILL))
        sharing = usual(measure, SHARED, IDLE)
        facts += [
            Fact(f"sharing_{short}_pct", sharing.effect, f"change of {word} by sharing alone"),
            Fact(f"whole_{short}_pct", total.effect, f"change of {word}, AntMan over blocked"),
            Fact(f"backfill_{short}_pct", backfill.effect, f"change of {word} by backfill alone"),
        ]
    rows = table[(table["setting"] == USUAL) & (table["load"] == sweep.at)]
    fairness = rows.groupby("arm", sort=False)["fairness"].mean()
    if (fairness < 1).any():  # several virtual clusters
        fairness_by_arm = "; ".join(f"{arm} {value:.2f}" for arm, value in fairness.items())
        sentences.append(
            f"Fairness among virtual clusters (1: equal slowdowns): {fairness_by_arm}."
        )
    return Summary(facts, sentences)


def _plot(result: Result) -> Figure:
    """Draw the changes of compute and JCT by arm over load, and the sensitivity of sharing."""
    fig, axes = canvas(3, width=12.1, height=4.2)
    panels = zip(axes, SHOWN.items(), ("GPU compute in use", "mean JCT"), strict=False)
    for ax, (measure, pairs), what in panels:
        over_load(ax, result.table, measure, pairs)
        title(ax, what)
        ax.set(ylabel="change against blocked gangs, %")
    label_lines(axes[1])
    mark_published(axes[0], PUBLISHED["antman"][0].published, "published")
    label_lines(axes[0])
    label = "gain of compute by sharing alone, %"
    sensitivity(axes[2], result.table, "compute_pct", (SHARED, IDLE), label)
    return fig


ANTMAN = Experiment(
    name="antman",
    question=QUESTION,
    sweep=Sweep(loads=(0.6, 0.8, 1.0, 1.2), at=1.0, settings=tuple(SETTINGS), jobs=1000),
    measures=(
        *("compute_pct", "memory_pct", "mean_jct_h", "holders_jct_h", "guests_pct", "wait_h"),
        "fairness",
    ),
    rows=partial(system_rows, SETTINGS, policies, _compared, _outcome),
    summarize=_summarize,
    increments=INCREMENTS,
    choices=("guests after 1 min", "guests after 1 h", "beside holders < 0.5", "tenants' quotas"),
    shown=SHOWN,
    plot=_plot,
)
"""Table: compute_pct and memory_pct of the cluster's (see :func:`in_use_pct`); holders_jct_h: of
jobs that were never guests; guests_pct: jobs that ran as guests; wait_h: to the first start;
fairness: Jain's index of the virtual clusters' mean slowdowns."""
