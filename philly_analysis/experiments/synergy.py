"""Synergy's headline as a curve: what dividing CPUs and memory by need does to completion times."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments.curves import below, heading
from philly_analysis.experiments.workloads import JobLaw, one_gpu_each
from philly_analysis.figures import CYCLE, MUTED, canvas
from philly_analysis.result import Comparison, Fact, Result
from philly_analysis.simulator.engine import run
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.speed import HostResources
from philly_analysis.workload import JobSpec
from philly_analysis.workload.load import at_load
from philly_analysis.workload.machines import fleet

QUESTION = "What does dividing CPUs and memory by need do to completion times?"

PUBLISHED_RATIO = 3.4
"""Mean completion time, proportional over Synergy, 'up to' (abstract of OSDI'22)."""

SPLITS = ((20, 70, 10), (33, 33, 33), (50, 0, 50))
"""Percent of image, language and speech jobs, as in the artifact."""

MODELLED: tuple[str, ...] = (
    "128 GPUs on 16 servers of 8 GPUs, 24 CPUs and 500 GB, as in the artifact, and 32 and 512.",
    "Job types are drawn by split; CPU and memory profiles are the artifact's measurements.",
    "Jobs 4000 to 4999 of the stream are measured, as in the artifact; so, past a load of 1, "
    "completion times grow with the window's place.",
    "Jobs ask for one GPU each, as in the artifact's single-GPU figures, unless said otherwise.",
    "Not modelled: rounds of 300 s (we decide at each event, jobs stay where they are), "
    "profiling, the optimal allocation, storage and network.",
)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied.

    Attributes
    ----------
    loads
        Offered load with proportional shares.
    orders, splits, servers
        Orders of jobs, task splits and cluster sizes (servers of 8 GPUs); all but the first of
        each are swept one at a time.
    jobs, window
        Jobs drawn, and which of them are measured.
    seeds
        Of the draws; curves are means over them.
    """

    loads: tuple[float, ...] = (0.52, 0.75, 0.92, 1.0, 1.05, 1.1, 1.18)
    orders: tuple[str, ...] = ("fifo", "srtf", "las")
    splits: tuple[tuple[int, int, int], ...] = SPLITS
    servers: tuple[int, ...] = (16, 4, 64)
    jobs: int = 6000
    window: tuple[int, int] = (4000, 5000)
    seeds: tuple[int, ...] = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class _Setting:
    order: str
    split: tuple[int, int, int]
    servers: int
    gangs: str


def compute(law: JobLaw, law_name: str, sweep: Sweep | None = None) -> Result:
    """Simulate Synergy's allocations over load, order, split and cluster size.

    Parameters
    ----------
    law
        Draws the jobs.
    law_name
        What the law is called, e.g. ``literature``.

    Returns
    -------
    Result
        Table: order, split (image/language/speech), gpus, gangs (one: single GPUs; own: as
        drawn), load, allocation, seed, mean_jct_h, p99_jct_h.
    """
    sweep = sweep or Sweep()
    base = _Setting(sweep.orders[0], sweep.splits[0], sweep.servers[0], "one")
    settings = dict.fromkeys(
        [
            base,
            *(replace(base, order=order) for order in sweep.orders),
            *(replace(base, split=split) for split in sweep.splits),
            *(replace(base, servers=servers) for servers in sweep.servers),
            replace(base, gangs="own"),
        ]
    )
    rows = []
    for setting in settings:
        for seed in sweep.seeds:
            drawn = law(sweep.jobs, setting.servers * 8, seed)
            specs = typed(
                one_gpu_each(drawn) if setting.gangs == "one" else drawn, setting.split, seed
            )
            for load in sweep.loads:
                for allocation in _allocations(setting, base):
                    jct_h = _jct_h(
                        at_load(specs, load, setting.servers * 8), setting, allocation, sweep
                    )
                    rows.append(
                        (
                            setting.order,
                            "/".join(map(str, setting.split)),
                            setting.servers * 8,
                            setting.gangs,
                            load,
                            allocation,
                            seed,
                            jct_h.mean(),
                            np.percentile(jct_h, 99),
                        )
                    )
    columns = [
        "order",
        "split",
        "gpus",
        "gangs",
        "load",
        "allocation",
        "seed",
        "mean_jct_h",
        "p99_jct_h",
    ]
    return _result(pd.DataFrame(rows, columns=columns), law_name)


def _allocations(setting: _Setting, base: _Setting) -> tuple[str, ...]:
    """Return what is compared: greedy too where only the split is varied."""
    also_greedy = replace(setting, split=base.split) == base
    return ("proportional", "greedy", "tune") if also_greedy else ("proportional", "tune")


def typed(specs: Sequence[JobSpec], split: tuple[int, int, int], seed: int) -> list[JobSpec]:
    """Return the jobs with models drawn by task split (percent image, language, speech)."""
    tasks = tuple(zip(("image", "language", "speech"), map(float, split), strict=True))
    bare = [replace(s, job_type=None, cpus=None, mem_gb=None) for s in specs]
    return list(HostResources(split=tasks).completed(bare, np.random.default_rng(seed)))


def _jct_h(
    specs: Sequence[JobSpec], setting: _Setting, allocation: str, sweep: Sweep
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    watched = [s.job_id for s in specs[slice(*sweep.window)]]
    schedule = run(
        specs,
        fleet(f"{setting.servers}x8:24:500"),
        Synergy(allocation=allocation, order=setting.order),
        speed=HostResources(),
        until_done=watched,
    )
    ended = schedule.jobs.filter(schedule.jobs["job_id"].is_in(watched))
    return ((ended["end_s"] - ended["submit_s"]) / 3600).to_numpy()


def ratios(table: pd.DataFrame, measure: str = "mean_jct_h") -> pd.DataFrame:
    """Return proportional over tuned completion time, per setting and load, over the seeds.

    Columns: order, split, gpus, gangs, load, ratio (of the seeds' means), lowest, highest.
    """
    keys = ["order", "split", "gpus", "gangs", "load"]
    wide = table.pivot_table(index=[*keys, "seed"], columns="allocation", values=measure)
    wide["each"] = wide["proportional"] / wide["tune"]
    groups = wide.groupby(keys, sort=False)
    means = groups[["proportional", "tune"]].mean()
    return pd.DataFrame(
        {
            "ratio": means["proportional"] / means["tune"],
            "lowest": groups["each"].min(),
            "highest": groups["each"].max(),
        }
    ).reset_index()


def _result(table: pd.DataFrame, law_name: str) -> Result:
    over = ratios(table)
    base = table.iloc[0]
    same_size = over[over["gpus"] == base["gpus"]]
    main = same_size[
        (same_size["order"] == base["order"])
        & (same_size["split"] == base["split"])
        & (same_size["gangs"] == base["gangs"])
    ].sort_values("load")
    peak = same_size.sort_values("ratio").iloc[-1]
    most = over.sort_values("ratio").iloc[-1]
    light = main[main["load"] < 0.95]["ratio"]
    facts = [
        Fact(
            "highest_ratio",
            float(peak["ratio"]),
            f"highest ratio of mean JCT on {base['gpus']} GPUs",
        ),
        Fact("highest_ratio_load", float(peak["load"]), "offered load at which it is reached"),
    ]
    sentences = []
    if len(main) and len(light):
        facts.append(Fact("light_ratio", float(light.max()), "highest ratio below a load of 0.95"))
        sentences.append(
            f"On the {law_name} law, FIFO, one GPU per job and 20/70/10, proportional shares take "
            f"{light.min():.2f} to {light.max():.2f} times as long below a load of 0.95, and "
            f"{main['ratio'].iloc[-1]:.1f} times at {main['load'].iloc[-1]:g}."
        )
    p99 = ratios(table, "p99_jct_h")
    p99_peak = p99[p99["gpus"] == base["gpus"]].sort_values("ratio").iloc[-1]
    facts.append(
        Fact("highest_p99_ratio", float(p99_peak["ratio"]), "the same, of the 99th percentile")
    )
    sentences.append(
        f"The highest ratio on {base['gpus']} GPUs is {peak['ratio']:.1f} (by seed "
        f"{peak['lowest']:.1f} to {peak['highest']:.1f}): {_named(peak)}. In the whole sweep it is "
        f"{most['ratio']:.1f}: {_named(most)}."
    )
    return Result(
        name=f"synergy_{law_name}",
        table=table,
        facts=tuple(facts),
        sentences=tuple(sentences),
        caveats=MODELLED,
        comparisons=(
            Comparison(
                what=f"mean JCT, proportional over tuned shares, the most on {base['gpus']} GPUs",
                published=PUBLISHED_RATIO,
                measured=float(peak["ratio"]),
                unit="x",
                source="OSDI'22, abstract ('up to')",
                reason="past a load of 1 the ratio is one of backlogs: it depends on where the "
                "window lies as much as on the allocation",
            ),
        ),
        synthetic=True,
    )


def _named(row: "pd.Series[Any]") -> str:
    """Say which setting a row of ratios is of."""
    gangs = "one GPU per job" if row["gangs"] == "one" else "gangs as drawn"
    return (
        f"{row['order']}, split {row['split']}, {row['gpus']} GPUs, {gangs}, load {row['load']:g}"
    )


def plot(result: Result) -> Figure:
    """Draw the ratio over load, by order, by split, and by cluster size and gangs.

    Thin dashes are ratios of the 99th percentile, bands go from the lowest to the highest seed.
    """
    over = ratios(result.table)
    over["p99"] = ratios(result.table, "p99_jct_h")["ratio"]
    first = {k: result.table[k].iloc[0] for k in ("order", "split", "gpus", "gangs")}
    fig, axes = canvas(3, width=11, height=4.2, sharey=True)
    panels = (("order", "order"), ("split", "image/language/speech"), ("gpus", "GPUs"))
    for ax, (vary, title) in zip(axes, panels, strict=True):
        rows = over
        for fixed, value in first.items():
            if fixed != vary:
                rows = rows[rows[fixed] == value]
        for i, (name, curve) in enumerate(rows.groupby(vary, sort=False)):
            color = CYCLE[i % len(CYCLE)]
            ax.plot(curve["load"], curve["ratio"], color=color, marker="o", ms=3, label=str(name))
            ax.plot(curve["load"], curve["p99"], color=color, ls="--", lw=0.8)
            ax.fill_between(
                curve["load"], curve["lowest"], curve["highest"], color=color, alpha=0.12, lw=0
            )
        if vary == "gpus":
            own = over[(over["gangs"] == "own")]
            label = f"{first['gpus']}, own gangs"
            ax.plot(own["load"], own["ratio"], color=CYCLE[3], ls=":", label=label)
        ax.axhline(PUBLISHED_RATIO, color=MUTED, ls="--", lw=1.2, label="published, 'up to'")
        ax.set(xlabel="offered load (proportional shares)")
        heading(ax, f"by {title}")
        below(ax)
    axes[0].set(ylabel="JCT, proportional / tuned (dashed: p99)", ylim=(0, None))
    return fig
