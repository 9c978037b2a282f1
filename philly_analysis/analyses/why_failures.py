"""Why jobs fail, in one number: the part of failed attempts that has the most frequent reason."""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis import figures
from philly_analysis.failures import NO_SIGNATURE
from philly_analysis.inference import clustered_share
from philly_analysis.prose import count, number, share
from philly_analysis.result import Fact, Result
from philly_analysis.trace import Trace

QUESTION = "Why do jobs fail?"
NEEDS = ("jobs", "attempts")

_DRAWN = 5
_EARLY = 0.5
"""The part of failures within five minutes from which a short test run is worth a thought."""


def compute(trace: Trace) -> Result:
    """Count failed attempts by reason where output tells it, otherwise by what became of them."""
    told = trace.holds("failures")
    found = trace.answer("why_failures" if told else "why_failures_untold").df()
    found = found.rename(columns={"ending": "reason"})
    table = found.groupby("reason", as_index=False)[["trials", "early", "timed", "gpu_h"]].sum()
    order = table.assign(last=table["reason"] == NO_SIGNATURE)
    table = (
        order.sort_values(["last", "trials", "reason"], ascending=[True, False, True])
        .drop(columns="last")
        .reset_index(drop=True)
    )
    trials, gpu_h = int(table["trials"].sum()), float(table["gpu_h"].sum())
    [(held_h,)] = (
        trace.answer("attempt_runs")
        .filter("flag is null")
        .aggregate("coalesce(sum(run_s * gpus), 0) / 3600")
        .fetchall()
    )
    facts = [
        Fact("trials", trials, f"failed attempts{' whose output is known' if told else ''}"),
        Fact("gpu_h", gpu_h, "GPU hours that they held"),
        Fact("gpu_h_pct", 100 * gpu_h / held_h if held_h else None, "of all GPU hours held"),
    ]
    if not trials:
        return Result(name="why_failures", table=table, facts=tuple(facts))
    top = str(table["reason"][0])
    first = clustered_share(found["reason"] == top, found["user"], found["trials"])
    facts += first.facts("top", f"failed attempts: {top}")
    timed = int(table["timed"].sum())
    early = int(table["early"].sum()) / timed if timed else 0.0
    facts.append(Fact("early_pct", 100 * early if timed else None, "failed within 5 minutes"))
    cost = f"They held {number(gpu_h)} GPU hours" + (
        f", {share(gpu_h / held_h)} of all that were held." if held_h else "."
    )
    of = " whose output is known" if told else ""
    said = (
        f"Of {count(trials, f'failed attempt{of}', f'failed attempts{of}')}, {share(first.frac)} "
        f"{'failed for' if told else 'were the'} “{top}”.",
        cost,
    )
    return Result(
        name="why_failures",
        table=table,
        facts=tuple(facts),
        sentences=said,
        caveats=()
        if told
        else ("Without the output of failed attempts nothing tells why they failed.",),
        headline="top_pct",
        advice=_advice(trace, told=told, early=early),
    )


def _advice(trace: Trace, *, told: bool, early: float) -> str:
    """Say whether a short run on one GPU first would pay, and what else is to be done."""
    if not told:
        return "Ingest the output of failed attempts as well (--failures), to learn their reasons."
    costs = trace.answer("failure_costs").filter("reason = 'all'").df()
    pool = trace.answer("failure_costs_pool").df().iloc[0]
    saved = float(costs["pool_saved_gpu_h"].sum())
    paid = float(pool["cost_gpu_h"])
    minutes = int(pool["pool_min"])
    tried = (
        f"Running every gang first on one GPU for {minutes} minutes would have saved "
        f"{number(saved)} GPU hours and cost {number(paid)}"
    )
    within = f"{share(early)} fail within 5 minutes. " if early >= _EARLY else ""
    if saved > paid:
        return f"{within}{tried}: worth it here."
    return f"{within}{tried}: not worth it here. Check inputs and settings before the queue does."


def plot(result: Result) -> Figure:
    """Draw the most frequent reasons: their share of failed attempts, and of GPU hours lost."""
    table = result.table.head(_DRAWN).iloc[::-1]
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    if table.empty:
        return figures.empty(fig, "no attempt is known to have failed")
    shares = {
        name: 100 * table[column].to_numpy(float) / max(float(result.table[column].sum()), 1e-9)
        for name, column in (("of failed attempts", "trials"), ("of GPU hours lost", "gpu_h"))
    }
    y = pd.RangeIndex(len(table)).to_numpy(float)
    for (name, widths), shift, color in zip(
        shares.items(), (0.2, -0.2), (figures.ACCENT, figures.CYCLE[1]), strict=True
    ):
        drawn = ax.barh(y + shift, widths, 0.38, color=color, label=name)
        ax.bar_label(drawn, [f"{w:.0f} %" for w in widths], fontsize=7.5, padding=2)
    ax.set_yticks(y, [figures.plain(reason) for reason in table["reason"]])
    ax.set_xlim(0, 1.15 * max(float(w.max()) for w in shares.values()))
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    ax.grid(visible=False)
    figures.legend(ax, loc="lower right", bbox_to_anchor=(1.03, 1), ncols=2, fontsize=8)
    return fig
