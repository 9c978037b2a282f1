"""AntMan's headline as a curve: what guests on half-used GPUs do to the cluster's use."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
from matplotlib.figure import Figure
from scipy.stats import beta

from philly_analysis.experiments.curves import below, heading
from philly_analysis.experiments.workloads import JobLaw
from philly_analysis.figures import CYCLE, MUTED, canvas
from philly_analysis.result import Comparison, Fact, Result
from philly_analysis.simulator.engine import run
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.schedule import Schedule
from philly_analysis.simulator.speed import PHILLY_MINUTES, Sharing
from philly_analysis.workload import JobSpec
from philly_analysis.workload.load import at_load
from philly_analysis.workload.machines import fleet

QUESTION = "What does sharing GPUs do to the use of the cluster?"

PUBLISHED_COMPUTE_PCT, PUBLISHED_MEMORY_PCT = 34.0, 42.0
"""Gains of the cluster's GPU compute and memory utilisation (abstract of OSDI'20)."""

MODELLED: tuple[str, ...] = (
    "64 GPUs on 8 servers; first come, first served, gangs whole and on as few servers as can "
    "be, blocking the queue; the same without guests is the baseline.",
    "Jobs that have waited 10 minutes may be guests beside a holder below 80 % utilisation whose "
    "memory leaves room; a guest runs on the compute that is left, holders run undisturbed.",
    "Mean utilisation per job is drawn from the Philly archive's per-minute readings (which "
    "spreads jobs too far) or from Beta laws; memory per job is Beta(2, 2.5): no trace has it.",
    "AntMan's own workload is Alibaba's, not Philly's, and it does not say whether its gains are "
    "relative or points; they are read as relative.",
    "A guest whose memory does not fit beside a holder that came later stands still; its memory "
    "is then not counted, as AntMan would have spilled it to the host.",
    "Not modelled: tenants' quotas, how fast a spilled guest runs, interference beyond compute.",
)


def beta_quantiles(mean: float, concentration: float = 3.0) -> tuple[float, ...]:
    """Return the quantiles, at each tenth, of a Beta law of mean utilisation."""
    law = beta(mean * concentration, (1 - mean) * concentration)
    return tuple(float(q) for q in law.ppf(np.linspace(0, 1, 11)))


UTILISATIONS: dict[str, tuple[float, ...]] = {
    "Philly's minutes": PHILLY_MINUTES,
    "Beta, mean 0.35": beta_quantiles(0.35),
    "Beta, mean 0.5": beta_quantiles(0.5),
    "Beta, mean 0.7": beta_quantiles(0.7),
}
"""Quantiles of jobs' mean utilisation by name."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied: load and utilisation; and the seeds of the draws."""

    loads: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
    utilisations: tuple[str, ...] = tuple(UTILISATIONS)
    jobs: int = 1500
    seeds: tuple[int, ...] = (1, 2, 3)


def compute(law: JobLaw, law_name: str, sweep: Sweep | None = None) -> Result:
    """Simulate sharing against none over load and utilisation.

    Returns
    -------
    Result
        Table: utilisation, load, seed, sharing (True or False), compute_pct, memory_pct (use
        of the cluster's, time mean from the arrival of the first fifth of the jobs to that of
        the last), mean_jct_h, holder_speed (mean over attempts that were holders), guests_pct
        (jobs that ran as guests).
    """
    sweep = sweep or Sweep()
    rows = []
    for seed in sweep.seeds:
        drawn = law(sweep.jobs, 64, seed)
        for name in sweep.utilisations:
            speed = Sharing(util_quantiles=UTILISATIONS[name])
            using = speed.completed(drawn, np.random.default_rng(seed))
            for load in sweep.loads:
                specs = at_load(using, load, 64)
                for sharing in (False, True):
                    policy = AntMan() if sharing else AntMan(convert_after_s=float("inf"))
                    schedule = run(specs, fleet("8x8"), policy, speed=speed)
                    rows.append((name, load, seed, sharing, *_outcome(schedule, specs)))
    columns = [
        "utilisation",
        "load",
        "seed",
        "sharing",
        "compute_pct",
        "memory_pct",
        "mean_jct_h",
        "holder_speed",
        "guests_pct",
    ]
    return _result(pd.DataFrame(rows, columns=columns), law_name)


def _outcome(
    schedule: Schedule, specs: Sequence[JobSpec]
) -> tuple[float, float, float, float, float]:
    begin_s, end_s = specs[len(specs) // 5].submit_s, specs[-1].submit_s
    traits = pl.DataFrame(
        [(s.job_id, s.util_frac, s.gpu_mem_frac) for s in specs],
        schema=["job_id", "u", "m"],
        orient="row",
    )
    guests = schedule.attempts.select("job_id", "attempt", "guest")
    runs = schedule.speeds.join(traits, on="job_id").join(guests, on=["job_id", "attempt"])
    inside = runs.with_columns(
        gpu_s=(
            pl.min_horizontal("end_s", pl.lit(end_s))
            - pl.max_horizontal("start_s", pl.lit(begin_s))
        ).clip(lower_bound=0)
        * pl.col("gpus")
    )
    there_gpu_s = 64 * (end_s - begin_s)
    compute, memory = inside.select(
        (pl.col("gpu_s") * pl.col("u") * pl.col("speed")).sum().alias("compute"),
        (pl.col("gpu_s") * pl.col("m")).filter(pl.col("speed") > 0).sum().alias("memory"),
    ).row(0)
    holders = runs.filter(~pl.col("guest"))["speed"]
    return (
        100 * compute / there_gpu_s,
        100 * memory / there_gpu_s,
        float(schedule.jct_s.mean()) / 3600,
        float(holders.min() or 0),  # type: ignore[arg-type]
        100 * schedule.attempts.filter("guest")["job_id"].n_unique() / len(specs),
    )


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return the relative gains of sharing, per setting, over the seeds.

    Columns: utilisation, load, measure (compute_pct, memory_pct, mean_jct_h), gain_pct (of the
    seeds' means), lowest, highest.
    """
    measures = ["compute_pct", "memory_pct", "mean_jct_h"]
    keys = ["utilisation", "load", "seed", "sharing"]
    long = table.melt(keys, measures, var_name="measure")
    wide = long.pivot_table(
        index=["utilisation", "load", "measure", "seed"],
        columns="sharing",
        values="value",
        sort=False,
    )
    wide = wide.rename(columns={True: "shared", False: "alone"})
    wide["each"] = 100 * (wide["shared"] / wide["alone"] - 1)
    groups = wide.groupby(level=[0, 1, 2], sort=False)
    means = groups[["shared", "alone"]].mean()
    return pd.DataFrame(
        {
            "gain_pct": 100 * (means["shared"] / means["alone"] - 1),
            "lowest": groups["each"].min(),
            "highest": groups["each"].max(),
        }
    ).reset_index()


def _result(table: pd.DataFrame, law_name: str) -> Result:
    over = gains(table)
    full = over[np.isclose(over["load"], 1.0)]
    facts, sentences, comparisons = [], [], []
    for measure, word, published in (
        ("compute_pct", "compute", PUBLISHED_COMPUTE_PCT),
        ("memory_pct", "memory", PUBLISHED_MEMORY_PCT),
    ):
        rows = over[over["measure"] == measure]
        at_one = full[full["measure"] == measure]["gain_pct"]
        low, high = float(rows["gain_pct"].min()), float(rows["gain_pct"].max())
        facts.append(Fact(f"highest_{word}_gain_pct", high, f"most gain of {word} in the sweep"))
        said = f"; at a load of 1 by {at_one.min():.0f} to {at_one.max():.0f} %" * bool(len(at_one))
        sentences.append(
            f"On the {law_name} law guests raise the use of GPU {word} by {low:.0f} to "
            f"{high:.0f} %, by load and utilisation{said} (published: {published:g} %)."
        )
        comparisons.append(
            Comparison(
                what=f"gain of the cluster's GPU {word} utilisation at a load of 1, mean over "
                "utilisations",
                published=published,
                measured=float(at_one.mean()) if len(at_one) else None,
                unit="%",
                source="OSDI'20, abstract",
                reason="another cluster, another workload; the gain is set by the load",
            )
        )
    slowest = float(table[table["sharing"]]["holder_speed"].min())
    facts.append(Fact("slowest_holder_speed", slowest, "lowest speed of a guaranteed job"))
    return Result(
        name=f"antman_{law_name}",
        table=table,
        facts=tuple(facts),
        sentences=tuple(sentences),
        caveats=MODELLED,
        comparisons=tuple(comparisons),
        synthetic=True,
    )


def plot(result: Result) -> Figure:
    """Draw the gains over load, by utilisation."""
    over = gains(result.table)
    fig, axes = canvas(3, width=11, height=4.2)
    panels = (
        ("compute_pct", "compute in use", PUBLISHED_COMPUTE_PCT),
        ("memory_pct", "memory in use", PUBLISHED_MEMORY_PCT),
        ("mean_jct_h", "mean JCT", None),
    )
    for ax, (measure, title, published) in zip(axes, panels, strict=True):
        rows = over[over["measure"] == measure]
        for i, (name, curve) in enumerate(rows.groupby("utilisation", sort=False)):
            color = CYCLE[i % len(CYCLE)]
            ax.plot(
                curve["load"], curve["gain_pct"], color=color, marker="o", ms=3, label=str(name)
            )
            ax.fill_between(
                curve["load"], curve["lowest"], curve["highest"], color=color, alpha=0.1, lw=0
            )
        if published:
            ax.axhline(published, color=MUTED, ls="--", lw=1.2, label="published")
        ax.set(xlabel="offered load")
        heading(ax, title)
    axes[0].set(ylabel="change with guests, %")
    for ax in axes:
        below(ax)
    return fig
