"""AntMan's headline, divided: what order, idle GPUs and sharing each do to the cluster's use."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from matplotlib.figure import Figure
from scipy.stats import beta

from philly_analysis.experiments.curves import moved, over_load
from philly_analysis.experiments.effects import Row, Shown, drawn_from, effect, percent, trials
from philly_analysis.experiments.workloads import JobLaw, quotas_by_use
from philly_analysis.results import Comparison, Fact, Result
from philly_analysis.results.figures import MUTED, canvas, name_lines, title
from philly_analysis.simulator import PHILLY_MINUTES, Schedule, Sharing, run
from philly_analysis.simulator.policies import POLICIES, AntMan, Fifo, Philly, Policy, policy_named
from philly_analysis.workload import JobSpec, at_load, fleet

QUESTION = "How much of AntMan's gain is sharing?"

PUBLISHED_COMPUTE_PCT, PUBLISHED_MEMORY_PCT = 34.0, 42.0
"""Gains of the cluster's GPU compute and memory utilisation (abstract of OSDI'20)."""

BLOCKED, BACKFILL, IDLE, SHARED = "blocked", "backfill", "idle guests", "sharing"
UPGRADED, YARN, GANDIVA = "sharing, upgraded", "YARN", "Gandiva"
"""First come, first served, and a gang that does not fit blocks the queue; smaller gangs pass it;
AntMan, whose guests run on GPUs that nobody holds, and stand still while somebody does; AntMan;
AntMan, whose guests hold GPUs that nobody else holds any more; and the paper's baselines: Philly's
scheduler, and Gandiva's."""

MODELLED: tuple[str, ...] = (
    "64 GPUs on 8 servers; gangs whole and on as few servers as can be, in every arm.",
    "blocked: first come, first served, a gang that does not fit blocks the queue. backfill: "
    "smaller gangs pass it. idle guests: as AntMan, but guests run only while nobody holds their "
    "GPUs. sharing: AntMan, guests run on what holders leave. sharing, upgraded: and hold their "
    "GPUs once nobody else does. YARN: policy “philly”, which is a YARN with gangs. Gandiva: time "
    "slices of ten minutes, and two jobs on a GPU if both fit.",
    "Sharing's own increment is that over idle guests; the two differ in nothing else.",
    "Synthetic: how busy jobs keep their GPUs, how much of their memory they take (Beta(2, 2.5)), "
    "and that holders are not disturbed, are assumptions; all three decide the gain, and the "
    "right-hand panel moves each.",
    "AntMan's own workload is Alibaba's, not Philly's, and it does not say whether its gains are "
    "relative or points; they are read as relative.",
    "A guest whose memory does not fit beside a holder that came later stands still; its memory "
    "is then not counted, as AntMan would have spilled it to the host.",
    "Quotas, where they count, are shares of the GPU time that virtual clusters ask for. Fairness "
    "is Jain's index of their mean slowdowns.",
    "Not modelled: how fast a spilled guest runs.",
)
_JUST_IDLE = 1e-9
"""Utilisation below which only GPUs that nobody holds are."""


def beta_quantiles(mean: float, concentration: float = 3.0) -> tuple[float, ...]:
    """Return the quantiles, at each tenth, of a Beta law of mean utilisation."""
    law = beta(mean * concentration, (1 - mean) * concentration)
    return tuple(float(q) for q in law.ppf(np.linspace(0, 1, 11)))


class Setting(NamedTuple):
    """What AntMan and its jobs are taken to be."""

    policy: AntMan = AntMan()
    speed: Sharing = Sharing(util_quantiles=beta_quantiles(0.5))


USUAL = "as assumed"
"""Name of the setting from which all others differ in one thing."""

_POLICY, _SPEED = Setting()
SETTINGS: dict[str, Setting] = {
    USUAL: Setting(),
    "utilisation 0.35": Setting(speed=replace(_SPEED, util_quantiles=beta_quantiles(0.35))),
    "utilisation 0.7": Setting(speed=replace(_SPEED, util_quantiles=beta_quantiles(0.7))),
    "Philly's minutes": Setting(speed=replace(_SPEED, util_quantiles=PHILLY_MINUTES)),
    "fully used GPUs": Setting(speed=replace(_SPEED, util_quantiles=(1.0, 1.0))),
    "memory 0.3": Setting(speed=replace(_SPEED, gpu_mem=(2.0, 4.7))),
    "memory 0.6": Setting(speed=replace(_SPEED, gpu_mem=(2.0, 1.3))),
    "holders lose 5 %": Setting(speed=replace(_SPEED, interference=0.05)),
    "holders lose 20 %": Setting(speed=replace(_SPEED, interference=0.2)),
    "guests after 1 min": Setting(replace(_POLICY, convert_after_s=60.0)),
    "guests after 1 h": Setting(replace(_POLICY, convert_after_s=3600.0)),
    "beside holders < 0.5": Setting(replace(_POLICY, util_below_frac=0.5)),
    "tenants' quotas": Setting(replace(_POLICY, tenants=True)),
}
"""Settings by name: the usual one, and each constant moved. The means of Beta laws are named."""

SHOWN: Shown = {
    "compute_pct": (
        (SHARED, BLOCKED, "AntMan"),
        (IDLE, BLOCKED, "idle guests"),
        (BACKFILL, BLOCKED, "backfill"),
        (SHARED, IDLE, "sharing's own"),
        (UPGRADED, BLOCKED, "upgraded"),
    ),
    "mean_jct_h": (
        (SHARED, BLOCKED, "AntMan"),
        (YARN, BLOCKED, "YARN"),
        (GANDIVA, BLOCKED, "Gandiva"),
        (SHARED, IDLE, "sharing's own"),
    ),
}

MEASURES = [
    "compute_pct",
    "memory_pct",
    "mean_jct_h",
    "holders_jct_h",
    "guests_pct",
    "wait_h",
    "fairness",
]


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied: load, the constants (at one load), and the seeds of the draws."""

    loads: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2)
    at: float = 1.0
    settings: tuple[str, ...] = field(default_factory=lambda: tuple(SETTINGS))
    jobs: int = 1000
    seeds: tuple[int, ...] = tuple(range(1, 11))


def compute(
    law: JobLaw, law_name: str, sweep: Sweep | None = None, *, executor: Executor | None = None
) -> Result:
    """Simulate the arms over load, and the two that differ in sharing under each constant.

    Returns
    -------
    Result
        Table: setting, load, arm, seed, compute_pct, memory_pct (use of the cluster's, time mean
        from the arrival of the first fifth of the jobs to that of the last), mean_jct_h,
        holders_jct_h (of the jobs that were never guests), guests_pct (jobs that ran as guests),
        wait_h (from submission to the first start), fairness (Jain's index of the virtual
        clusters' mean slowdowns).
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
        using = speed.completed(drawn, np.random.default_rng(seed))
        for load in sweep.loads if name == USUAL else (sweep.at,):
            specs = at_load(using, load, 64)
            for arm, (who, how) in arms(policy, speed).items():
                if name != USUAL and arm not in (IDLE, SHARED):
                    continue
                quotas = quotas_by_use(specs, 64)
                schedule = run(specs, fleet("8x8"), who, speed=how, quotas=quotas)
                yield (name, load, arm, seed, *_outcome(schedule, specs))


def arms(policy: AntMan, speed: Sharing) -> dict[str, tuple[Policy, Sharing]]:
    """Return who decides, and how fast jobs run, in each arm."""
    alone = replace(speed, together=False)
    rivals: dict[str, tuple[Policy, Sharing]] = {YARN: (Philly(), alone)}
    if "gandiva" in POLICIES:
        rivals[GANDIVA] = (policy_named("gandiva", {}), speed)
    return rivals | {
        BLOCKED: (replace(policy, convert_after_s=float("inf")), alone),
        BACKFILL: (Fifo(backfill=True, consolidate=True), alone),
        IDLE: (replace(policy, util_below_frac=_JUST_IDLE), alone),
        SHARED: (policy, speed),
        UPGRADED: (replace(policy, upgrade=True), speed),
    }


def in_use_pct(schedule: Schedule, specs: Sequence[JobSpec], gpus: int) -> tuple[float, float]:
    """Return how much of a cluster's compute and memory jobs use, of all that so many GPUs have.

    Means over the time from the arrival of the first fifth of the jobs to that of the last.
    """
    begin_s, end_s = specs[len(specs) // 5].submit_s, specs[-1].submit_s
    traits = pl.DataFrame(
        [(s.job_id, s.util_frac, s.gpu_mem_frac) for s in specs],
        schema=["job_id", "u", "m"],
        orient="row",
    )
    inside = schedule.speeds.join(traits, on="job_id").with_columns(
        gpu_s=(
            pl.min_horizontal("end_s", pl.lit(end_s))
            - pl.max_horizontal("start_s", pl.lit(begin_s))
        ).clip(lower_bound=0)
        * pl.col("gpus")
    )
    there_gpu_s = gpus * (end_s - begin_s)
    compute, memory = inside.select(
        (pl.col("gpu_s") * pl.col("u") * pl.col("speed")).sum().alias("compute"),
        (pl.col("gpu_s") * pl.col("m")).filter(pl.col("speed") > 0).sum().alias("memory"),
    ).row(0)
    return 100 * compute / there_gpu_s, 100 * memory / there_gpu_s


def _outcome(schedule: Schedule, specs: Sequence[JobSpec]) -> tuple[float, ...]:
    compute_pct, memory_pct = in_use_pct(schedule, specs, 64)
    guests = schedule.attempts.filter("guest")["job_id"].unique()
    ended = schedule.jobs.with_columns(jct_h=(pl.col("end_s") - pl.col("submit_s")) / 3600)
    first = schedule.attempts.group_by("job_id").agg(pl.col("start_s").min())
    wait_h = ended.join(first, on="job_id").select((pl.col("start_s") - pl.col("submit_s")) / 3600)
    slowdown = (
        ended.filter(pl.col("run_s") > 0)
        .group_by("vc", maintain_order=True)
        .agg((3600 * pl.col("jct_h") / pl.col("run_s")).mean().alias("slowdown"))["slowdown"]
        .to_numpy()
    )
    holders = ended.filter(~pl.col("job_id").is_in(guests.implode()))["jct_h"].to_numpy()
    return (
        compute_pct,
        memory_pct,
        float(ended["jct_h"].to_numpy().mean()),
        float(holders.mean()) if len(holders) else float("nan"),
        100 * len(guests) / len(specs),
        float(wait_h.to_series().to_numpy().mean()),
        float(slowdown.sum() ** 2 / (len(slowdown) * (slowdown**2).sum())),
    )


def result_of(table: pd.DataFrame, law_name: str, sweep: Sweep) -> Result:
    """Return what trials show, in facts and sentences."""
    usual = partial(effect, table, setting=USUAL, load=sweep.at)
    facts, sentences, comparisons = [], [], []
    for measure, word, published in (
        ("compute_pct", "compute", PUBLISHED_COMPUTE_PCT),
        ("memory_pct", "memory", PUBLISHED_MEMORY_PCT),
        ("mean_jct_h", "mean JCT", None),
    ):
        whole = usual(measure, SHARED, BLOCKED)
        backfill = usual(measure, BACKFILL, BLOCKED)
        idle = usual(measure, IDLE, BLOCKED)
        own = usual(measure, SHARED, IDLE)
        short = measure.removesuffix("_pct").removesuffix("_h")
        facts += [
            Fact(f"sharing_{short}_pct", own.effect, f"change of {word} by sharing itself"),
            Fact(f"whole_{short}_pct", whole.effect, f"change of {word}, AntMan over blocked"),
            Fact(f"backfill_{short}_pct", backfill.effect, f"change of {word} by backfill alone"),
        ]
        sentences.append(
            f"Against a queue that blocks, AntMan changes {word} by {percent(whole)}, guests on "
            f"idle GPUs alone by {percent(idle)}, plain backfill by {percent(backfill)}. Sharing "
            f"itself adds {percent(own)}."
        )
        if published is not None:
            comparisons.append(
                Comparison(
                    what=f"gain of the cluster's GPU {word} utilisation",
                    published=published,
                    measured=None,
                    unit="%",
                    source="OSDI'20, abstract",
                    reason="not measured here: the baseline, the load and the assumed utilisation "
                    "and memory of jobs decide it, as the figure shows; the paper's are not public",
                )
            )
    rivals = [
        f"{arm} {percent(found)}"
        for arm in (UPGRADED, YARN, GANDIVA)
        if (found := usual("mean_jct_h", arm, SHARED)).pairs
    ]
    waits = [
        f"{arm} {percent(usual('wait_h', arm, BLOCKED))}"
        for arm in (BACKFILL, IDLE, SHARED, UPGRADED, YARN, GANDIVA)
        if usual("wait_h", arm, BLOCKED).pairs
    ]
    rows = table[(table["setting"] == USUAL) & (table["load"] == sweep.at)]
    fair = rows.groupby("arm", sort=False)["fairness"].mean()
    sentences += [
        f"Against AntMan as assumed, mean JCT differs by: {'; '.join(rivals)}.",
        f"Queueing delay against a queue that blocks: {'; '.join(waits)}.",
    ]
    if (fair < 1).any():  # of several virtual clusters
        each = "; ".join(f"{arm} {value:.2f}" for arm, value in fair.items())
        sentences.append(f"Fairness among virtual clusters (1: slowed alike): {each}.")
    return Result(
        name=f"antman_{law_name}",
        table=table,
        facts=tuple(facts),
        sentences=(*sentences, drawn_from(law_name, sweep.at, sweep.seeds)),
        caveats=MODELLED,
        comparisons=tuple(comparisons),
        synthetic=True,
    )


def plot(result: Result) -> Figure:
    """Draw the gain of compute and the change of JCT by arm over load; and what moves sharing's."""
    table = result.table
    fig, axes = canvas(3, width=12.1, height=4.2)
    for ax, (measure, pairs), what in zip(
        axes, SHOWN.items(), ("GPU compute in use", "mean JCT"), strict=False
    ):
        over_load(ax, table, measure, pairs, USUAL)
        title(ax, what)
        ax.set(ylabel="change against blocked gangs, %")
    name_lines(axes[1])
    axes[0].axhline(PUBLISHED_COMPUTE_PCT, color=MUTED, ls="--", lw=1.2, label="published")
    name_lines(axes[0])
    load = float(table.loc[table["setting"] != USUAL, "load"].mean())
    if load == load:
        moved(axes[2], table, "compute_pct", SHARED, IDLE, load, USUAL)
        axes[2].set(xlabel="sharing's own gain of compute, %")
        title(axes[2], f"what moves it, at a load of {load:g}")
    return fig
