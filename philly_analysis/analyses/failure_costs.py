"""Estimate GPU time lost to failures, and savings of the study's guidelines (ATC'19, section 5).

Not all GPU time until a failure is lost if runs write checkpoints. The savings are computed on the
jobs from which the rules were derived, and are smaller on other jobs. The savings of several rules
do not add up.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.failure_reasons import by_frequency
from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.results import Fact, Result, count, figures, number, percent
from philly_analysis.trace import Analysis, Trace

_SHOWN = 12


def compute(trace: Trace) -> Result:
    """Sum GPU time until failure by reason, and the savings of a pool and of fewer retries."""
    table = by_frequency(trace.answer("failure_costs").df())
    total = table[table["reason"] == "all"].sum(numeric_only=True)
    [costs] = trace.answer("failure_costs_pool").df().itertuples(index=False)
    lost, pool, retries = (
        float(total.get(c, 0)) for c in ("gpu_h", "pool_saved_gpu_h", "retry_saved_gpu_h")
    )
    lost_pct = 100 * lost / costs.held_gpu_h if costs.held_gpu_h else None
    net = pool - costs.cost_gpu_h
    facts = (
        Fact("lost_gpu_h", lost, "GPU hours until failure, attempts with known output"),
        Fact(
            "lost_pct", lost_pct, "share of all GPU time used by failed attempts with known output"
        ),
        Fact("pool_min", costs.pool_min, "minutes of the pre-run on one GPU"),
        Fact("pool_saved_gpu_h", pool, "GPU hours saved on gangs that fail during the pre-run"),
        Fact("pool_cost_gpu_h", costs.cost_gpu_h, "GPU hours of the pre-runs of all gangs"),
        Fact("pool_net_gpu_h", net, "net saving of the pool"),
        Fact("retry_saved_gpu_h", retries, "GPU hours of retries that never succeeded"),
    )
    sentences = []
    if lost:
        sentences = [
            f"Failed attempts with known output used {number(lost)} GPU hours, "
            f"{percent(lost_pct or 0)} of all GPU time.",
            f"A pre-run pool of {float(costs.pool_min):.0f} minutes would have saved "
            f"{number(pool)} GPU hours and cost {number(costs.cost_gpu_h)}"
            + (f": a net {'saving' if net > 0 else 'loss'} of {number(abs(net))}." if net else "."),
        ]
        never = table.loc[table["retry_never_helped"].fillna(False).astype(bool), "reason"]
        if len(never):
            reasons = "this reason" if len(never) == 1 else "these reasons"
            sentences.append(
                f"Retries never succeeded after {count(len(never), 'reason')} "
                f"({', '.join(sorted(never))}). After failures for {reasons}, later attempts used "
                f"{number(retries)} GPU hours."
            )
    caveats = (
        f"Pool: every job of more than one GPU first runs {costs.pool_min} min on one GPU. A gang "
        "that failed within that time is assumed to fail in the pool at the same minute, which "
        "saves the gang's other GPUs. The pool misses faults that only occur on several GPUs.",
        *CAVEATS["failure_costs"],
    )
    return Result("failure_costs", table, facts, sentences, caveats if len(table) else ())


def plot(result: Result) -> Figure:
    """Draw GPU hours lost by reason, and the savings of each guideline."""
    table = result.table[result.table["reason"] != "all"]
    table = table[table["gpu_h"] > 0].sort_values("gpu_h").tail(_SHOWN)
    fig, [lost, saved] = figures.canvas(
        2, width=8.2, height=max(2.4, 1.1 + 0.24 * len(table)), sharey=True
    )
    if table.empty:
        return figures.empty(fig, "no failed attempt has known GPU time")
    reasons, hours = list(table["reason"]), table["gpu_h"]
    labels = [f"{v:,.0f}" for v in hours]
    figures.hbars(lost, reasons, hours, labels, color=figures.ACCENT, space=1.18, fontsize=7)
    lost.set_xlabel("GPU hours until failure")
    pool = f"{result.fact('pool_min')} min in a pre-run pool"
    for offset, column, label, color in (
        (0.2, "retry_saved_gpu_h", "no retry where none ever succeeded", figures.CYCLE[1]),
        (-0.2, "pool_saved_gpu_h", pool, figures.CYCLE[2]),
    ):
        y = [at + offset for at in range(len(table))]
        drawn = saved.barh(y, table[column], height=0.38, color=color, label=label)
        values = [f"{v:,.1f}" if v else "" for v in table[column]]
        saved.bar_label(drawn, values, fontsize=6.5, padding=2)
    most = float(table[["retry_saved_gpu_h", "pool_saved_gpu_h"]].to_numpy().max())
    saved.set_xlim(0, most * 1.25 or 1)
    saved.set_xlabel("GPU hours saved")
    saved.grid(visible=False, axis="y")
    figures.title(lost, f"n = {int(table['trials'].sum()):,} trials")
    figures.legend(saved, loc="lower right", fontsize=7.5)
    return fig


ANALYSIS = Analysis(
    name="failure_costs",
    question="How much GPU time do failures cost, and what would a pre-run pool save?",
    needs=("jobs", "attempts", "failures"),
    compute=compute,
    plot=plot,
)
