"""GPU time lost to failures, and what the study's guidelines would save (ATC'19, section 5).

GPU time until a failure is not all lost where runs keep checkpoints. What a pre-run pool or fewer
retries would save is counted on the jobs from which the rule was read, and would be less on
others; savings of both do not add up.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.failure_reasons import by_frequency
from philly_analysis.results import Fact, Result, count, figures, share
from philly_analysis.trace import Trace

QUESTION = "What GPU time do failures cost, and what would failing early save?"
NEEDS = ("jobs", "attempts", "failures")


def compute(trace: Trace) -> Result:
    """Sum GPU time until failure by reason, and what a pool and no vain retries would save."""
    table = by_frequency(trace.answer("failure_costs").df())
    total = table[table["reason"] == "all"].sum(numeric_only=True)
    [costs] = trace.answer("failure_costs_pool").df().itertuples(index=False)
    lost, pool, retries = (
        float(total.get(c, 0)) for c in ("gpu_h", "pool_saved_gpu_h", "retry_saved_gpu_h")
    )
    facts = (
        Fact("lost_gpu_h", lost, "GPU hours until failure, of attempts with known output"),
        Fact(
            "lost_pct",
            100 * lost / costs.held_gpu_h if costs.held_gpu_h else None,
            "their share of all GPU time",
        ),
        Fact("pool_min", costs.pool_min, "minutes on one GPU before a job gets its gang"),
        Fact("pool_saved_gpu_h", pool, "GPU hours not held by gangs that fail in these minutes"),
        Fact("pool_cost_gpu_h", costs.cost_gpu_h, "GPU hours that the pool spends on all gangs"),
        Fact("pool_net_gpu_h", pool - costs.cost_gpu_h, "what the pool saves less what it costs"),
        Fact("retry_saved_gpu_h", retries, "GPU hours of retries that never helped"),
    )
    return Result(
        name="failure_costs",
        table=table,
        facts=facts,
        sentences=_sentences(table, facts),
        caveats=(
            f"Pool: every job of more than one GPU first runs {costs.pool_min} min on one; a gang "
            "that failed within that time is taken to fail there too, at the same minute, and its "
            "other GPUs count as saved. Faults that only a whole gang shows would slip through.",
            "Retries: where at least 5 jobs were tried again after a reason and none passed, a "
            "job is taken to stop at its first such failure. The rule is judged on the jobs that "
            "it is derived from, so what it would save elsewhere is less.",
            "The two are computed apart; a job caught by the pool would not be tried again, so "
            "they do not add up.",
        )
        if len(table)
        else (),
    )


def _sentences(table: pd.DataFrame, facts: tuple[Fact, ...]) -> tuple[str, ...]:
    value = {fact.name: float(fact.value or 0) for fact in facts}
    if not value["lost_gpu_h"]:
        return ()
    said = [
        f"Failed attempts with known output held {value['lost_gpu_h']:,.0f} GPU hours, "
        f"{share(value['lost_pct'] / 100)} of all GPU time."
    ]
    net = value["pool_net_gpu_h"]
    said.append(
        f"A pre-run pool of {value['pool_min']:.0f} minutes would have spared gangs "
        f"{value['pool_saved_gpu_h']:,.1f} GPU hours and cost {value['pool_cost_gpu_h']:,.1f}: "
        f"a net {'saving' if net > 0 else 'loss'} of {abs(net):,.1f} GPU hours."
    )
    never = table.loc[table["retry_never_helped"].fillna(False).astype(bool), "reason"]
    if len(never):
        said.append(
            f"Trying again never helped after {count(len(never), 'reason')} "
            f"({', '.join(sorted(never))}); the later attempts of these jobs held "
            f"{value['retry_saved_gpu_h']:,.0f} GPU hours."
        )
    return tuple(said)


def plot(result: Result) -> Figure:
    """Draw GPU hours lost by reason, and the parts that each guideline would save."""
    table = result.table[result.table["reason"] != "all"]
    table = table[table["gpu_h"] > 0].sort_values("gpu_h").tail(12)
    fig, [lost, saved] = figures.canvas(
        2, width=8.2, height=max(2.4, 1.1 + 0.24 * len(table)), sharey=True
    )
    if table.empty:
        return figures.empty(fig, "no failed attempt has known GPU time")
    drawn = lost.barh(table["reason"], table["gpu_h"], color=figures.ACCENT)
    lost.bar_label(drawn, [f"{v:,.0f}" for v in table["gpu_h"]], fontsize=7, padding=2)
    lost.set_xlim(0, float(table["gpu_h"].max()) * 1.18)
    lost.set_xlabel("GPU hours until failure")
    y = range(len(table))
    for offset, column, label, color in (
        (0.2, "retry_saved_gpu_h", "no retry where none ever helped", figures.CYCLE[1]),
        (
            -0.2,
            "pool_saved_gpu_h",
            f"{result.fact('pool_min')} min on a pre-run pool",
            figures.CYCLE[2],
        ),
    ):
        drawn = saved.barh(
            [at + offset for at in y], table[column], height=0.38, color=color, label=label
        )
        values = [f"{v:,.1f}" if v else "" for v in table[column]]
        saved.bar_label(drawn, values, fontsize=6.5, padding=2)
    most = float(table[["retry_saved_gpu_h", "pool_saved_gpu_h"]].to_numpy().max())
    saved.set_xlim(0, most * 1.25 or 1)
    saved.set_xlabel("GPU hours that it would save")
    figures.title(lost, f"n = {int(table['trials'].sum()):,} trials")
    figures.legend(saved, loc="lower right", fontsize=7.5)
    for ax in (lost, saved):
        ax.grid(visible=False, axis="y")
    return fig
