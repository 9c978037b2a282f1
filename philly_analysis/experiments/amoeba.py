"""Amoeba's headline as a curve: what elastic jobs do to completion times, and at what cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.experiments.curves import below, heading
from philly_analysis.experiments.workloads import JobLaw
from philly_analysis.figures import CYCLE, MUTED, canvas
from philly_analysis.result import Comparison, Fact, Result
from philly_analysis.simulator.engine import run
from philly_analysis.simulator.policies.amoeba import Amoeba
from philly_analysis.simulator.speed import Parallelism
from philly_analysis.workload import JobSpec
from philly_analysis.workload.load import at_load
from philly_analysis.workload.machines import fleet

QUESTION = "What does elasticity do to completion times?"

PUBLISHED_REDUCTION_PCT = 29.0
"""Mean JCT, elastic against not, 'as much as' (abstract of arXiv 1909.11985 v1)."""

PUBLISHED_COST_CUT = 0.95
"""Cost of a change of GPUs, against stopping and resuming ('about 95 % lower')."""

MODELLED: tuple[str, ...] = (
    "64 GPUs on 8 servers; speed is (GPUs held / GPUs asked for) to the power alpha.",
    "The scheduler is the published re-implementation's: Tiresias' queues (two, 3.2 GPU hours), "
    "compaction above 10 waiting jobs, marginal gains; decisions every 300 s.",
    "The paper's abstract names neither the trace, nor the load, nor how far jobs may grow: these "
    "are swept, not chosen.",
    "Below full load most of the gain comes from idle GPUs that a rigid job leaves idle.",
    "Not modelled: batch sizes, accuracy, and speed by locality.",
)
_THRESHOLD_GPU_S = 3.2 * 3600


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied.

    Attributes
    ----------
    loads, scale_outs, alphas
        Offered load, most GPUs in multiples of those asked for (1: only shrinking), exponent.
    stop_resume_s
        What stopping and resuming costs: swept at ``cost_load``, first cap, first exponent,
        beside the published 5 % of it.
    jobs, seeds
        Jobs drawn, and the seeds of the draws.
    """

    loads: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)
    scale_outs: tuple[float, ...] = (2.0, 1.0, 4.0)
    alphas: tuple[float, ...] = (0.9, 0.6, 0.8, 1.0)
    orders: tuple[str, ...] = ("las", "srtf")
    resize_s: float = 30.0
    stop_resume_s: tuple[float, ...] = (30.0, 120.0, 300.0, 600.0)
    cost_load: float = 0.9
    jobs: int = 800
    seeds: tuple[int, ...] = (1, 2, 3)


def compute(law: JobLaw, law_name: str, sweep: Sweep | None = None) -> Result:
    """Simulate elastic against rigid jobs over load, cap, exponent and cost.

    Returns
    -------
    Result
        Table: order, load, alpha, scale_out, resize_s, seed, rigid_jct_h, elastic_jct_h,
        resizes (per job), lost_pct (GPU time without progress, of all GPU time held).
    """
    sweep = sweep or Sweep()
    cap, alpha = sweep.scale_outs[0], sweep.alphas[0]
    first = sweep.orders[0]
    settings = [
        *(
            (o, ld, alpha, c, sweep.resize_s)
            for o in sweep.orders
            for c in sweep.scale_outs
            for ld in sweep.loads
        ),
        *((first, ld, a, cap, sweep.resize_s) for a in sweep.alphas for ld in sweep.loads),
        *(
            (first, sweep.cost_load, alpha, cap, cost * part)
            for cost in sweep.stop_resume_s
            for part in (1.0, 1 - PUBLISHED_COST_CUT)
        ),
    ]
    rows = []
    for seed in sweep.seeds:
        drawn = law(sweep.jobs, 64, seed)
        rigid: dict[tuple[str, float], float] = {}
        for order, load, exponent, scale_out, resize_s in dict.fromkeys(settings):
            specs = at_load(drawn, load, 64)
            if (order, load) not in rigid:
                never = Amoeba(
                    order=order,
                    thresholds_gpu_s=(_THRESHOLD_GPU_S,),
                    scale_out=1.0,
                    shrink_to=1.0,
                    round_s=300.0,
                    resize_s=sweep.resize_s,
                )
                rigid[order, load] = _outcome(specs, never)[0]
            elastic = Amoeba(
                order=order,
                thresholds_gpu_s=(_THRESHOLD_GPU_S,),
                scale_out=scale_out,
                alpha=exponent,
                resize_s=resize_s,
                round_s=300.0,
            )
            rows.append(
                (
                    order,
                    load,
                    exponent,
                    scale_out,
                    resize_s,
                    seed,
                    rigid[order, load],
                    *_outcome(specs, elastic),
                )
            )
    columns = [
        "order",
        "load",
        "alpha",
        "scale_out",
        "resize_s",
        "seed",
        "rigid_jct_h",
        "elastic_jct_h",
        "resizes",
        "lost_pct",
    ]
    return _result(pd.DataFrame(rows, columns=columns), law_name, sweep)


def _outcome(specs: Sequence[JobSpec], policy: Amoeba) -> tuple[float, float, float]:
    """Return mean JCT (h), changes of GPUs per job, and GPU time without progress (%)."""
    schedule = run(specs, fleet("8x8"), policy, speed=Parallelism(alpha=policy.alpha))
    bars = schedule.attempts
    held_s = (bars["end_s"] - bars["start_s"]) * bars["gpus"]
    again = bars["attempt"] > 1
    stalled_s = (bars["end_s"] - bars["start_s"]).clip(0, policy.resize_s) * bars["gpus"]
    resizes = bars.filter(bars["end_reason"] == "resized").height
    return (
        float(schedule.jct_s.mean()) / 3600,
        resizes / len(specs),
        100 * float(stalled_s.filter(again).sum()) / float(held_s.sum()),
    )


def reductions(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how much elastic jobs end earlier, per setting, over the seeds.

    Columns: order, load, alpha, scale_out, resize_s, reduction_pct (of the seeds' means),
    lowest, highest, resizes, lost_pct.
    """
    keys = ["order", "load", "alpha", "scale_out", "resize_s"]
    each = table.assign(each=100 * (1 - table["elastic_jct_h"] / table["rigid_jct_h"]))
    groups = each.groupby(keys, sort=False)
    means = groups[["rigid_jct_h", "elastic_jct_h", "resizes", "lost_pct"]].mean()
    return pd.DataFrame(
        {
            "reduction_pct": 100 * (1 - means["elastic_jct_h"] / means["rigid_jct_h"]),
            "lowest": groups["each"].min(),
            "highest": groups["each"].max(),
            "resizes": means["resizes"],
            "lost_pct": means["lost_pct"],
        }
    ).reset_index()


def _result(table: pd.DataFrame, law_name: str, sweep: Sweep) -> Result:
    over = reductions(table)
    las = over[(over["order"] == sweep.orders[0]) & (over["resize_s"] == sweep.resize_s)]
    far = (las["reduction_pct"] - PUBLISHED_REDUCTION_PCT).abs()
    near = las.iloc[int(far.argmin())]
    most = las.sort_values("reduction_pct").iloc[-1]
    sentences = [
        f"On the {law_name} law elastic jobs end from {las['reduction_pct'].min():.0f} to "
        f"{most['reduction_pct']:.0f} % earlier than rigid ones, by load, cap and exponent; "
        f"nearest to the published {PUBLISHED_REDUCTION_PCT:g} % is "
        f"{near['reduction_pct']:.0f} % at load {near['load']:g}, cap {near['scale_out']:g}, "
        f"exponent {near['alpha']:g}."
    ]
    costs = over[over["load"] == sweep.cost_load]
    costs = costs[(costs["alpha"] == sweep.alphas[0]) & (costs["order"] == sweep.orders[0])]
    costs = costs[costs["scale_out"] == sweep.scale_outs[0]].sort_values("resize_s")
    dear = costs.iloc[-1]
    dearest = float(dear["resize_s"])
    part = dearest * (1 - PUBLISHED_COST_CUT)
    cheap = costs[(costs["resize_s"] - part).abs() < 1e-6].iloc[0]
    sentences.append(
        f"A change of GPUs that costs {dearest:g} s loses {dear['lost_pct']:.2g} % of the GPU "
        f"time held, one that costs 95 % less {cheap['lost_pct']:.2g} %; the reduction is "
        f"{dear['reduction_pct']:.0f} % and {cheap['reduction_pct']:.0f} %."
    )
    return Result(
        name=f"amoeba_{law_name}",
        table=table,
        facts=(
            Fact("highest_reduction_pct", float(most["reduction_pct"]), "most in the sweep, LAS"),
            Fact("lowest_reduction_pct", float(las["reduction_pct"].min()), "least, LAS"),
            Fact(
                "lost_stop_resume_pct",
                float(dear["lost_pct"]),
                f"GPU time lost at {dearest:g} s per change",
            ),
            Fact("lost_elastic_pct", float(cheap["lost_pct"]), "GPU time lost at 5 % of that"),
        ),
        sentences=tuple(sentences),
        caveats=MODELLED,
        comparisons=(
            Comparison(
                what="reduction of mean JCT by elasticity, the most in the sweep",
                published=PUBLISHED_REDUCTION_PCT,
                measured=float(most["reduction_pct"]),
                unit="%",
                source="arXiv 1909.11985 v1, abstract ('as much as')",
                reason="load and cap decide; the paper's are not in its abstract",
            ),
            Comparison(
                what="reduction of the GPU time lost to changes, against stop and resume",
                published=100 * PUBLISHED_COST_CUT,
                measured=float(100 * (1 - cheap["lost_pct"] / dear["lost_pct"])),
                unit="%",
                source="arXiv 1909.11985 v1, abstract",
                reason="the cost per change is the paper's; what is simulated is how often jobs "
                "change when it is cheap and when it is dear",
            ),
        ),
        synthetic=True,
    )


def plot(result: Result) -> Figure:
    """Draw the reduction over load by cap and by exponent, and over the cost of a change."""
    over = reductions(result.table)
    first = over.iloc[0]
    fig, axes = canvas(3, width=11, height=4.2, sharey=True)
    usual = over[over["resize_s"] == first["resize_s"]]
    caps = usual[usual["alpha"] == first["alpha"]]
    for i, ((order, cap), curve) in enumerate(caps.groupby(["order", "scale_out"], sort=False)):
        _curve(axes[0], curve, f"{order}, at most {cap:g}x", i)
    exponents = usual[(usual["order"] == first["order"])]
    exponents = exponents[exponents["scale_out"] == first["scale_out"]]
    for i, (alpha, curve) in enumerate(exponents.groupby("alpha")):
        _curve(axes[1], curve, f"exponent {alpha:g}", i)
    for ax in axes[:2]:
        ax.set(xlabel="offered load (rigid jobs)")
    same = over[["order", "alpha", "scale_out"]] == first[["order", "alpha", "scale_out"]]
    costs = over[same.all(axis=1)]
    costs = costs[costs.groupby("load")["resize_s"].transform("nunique") > 1]
    costs = costs.sort_values("resize_s")
    axes[2].plot(
        costs["resize_s"],
        costs["reduction_pct"],
        color=CYCLE[0],
        marker="o",
        ms=3,
        label="reduction",
    )
    axes[2].plot(
        costs["resize_s"],
        costs["lost_pct"],
        color=CYCLE[1],
        marker="o",
        ms=3,
        label="GPU time lost to changes",
    )
    axes[2].set(xscale="log", xlabel="cost of a change of GPUs, s")
    heading(axes[2], "by cost")
    axes[0].set(ylabel="reduction of mean JCT, %")
    heading(axes[0], "by order and cap")
    heading(axes[1], "by scaling")
    for ax in axes:
        ax.axhline(
            PUBLISHED_REDUCTION_PCT, color=MUTED, ls="--", lw=1.2, label="published, 'as much as'"
        )
        below(ax)
    return fig


def _curve(ax: Axes, curve: pd.DataFrame, label: str, i: int) -> None:
    curve = curve.sort_values("load")
    color = CYCLE[i % len(CYCLE)]
    ax.plot(curve["load"], curve["reduction_pct"], color=color, marker="o", ms=3, label=label)
    ax.fill_between(curve["load"], curve["lowest"], curve["highest"], color=color, alpha=0.1, lw=0)
