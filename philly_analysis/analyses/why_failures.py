"""Report the most frequent reason of failure, in one number.

Reasons are known for attempts with output, which a cluster may only keep for some jobs. A run that
its user stopped because it failed has the status killed, not failed.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.failure_reasons import by_frequency
from philly_analysis.results import Fact, Result, clustered_share, count, figures, number, share
from philly_analysis.trace import Trace

QUESTION = "Why do jobs fail?"
NEEDS = ("jobs", "attempts")

_SHOWN = 5
_EARLY = 0.5
"""Least share of failures within five minutes for which the advice names it."""


def compute(trace: Trace) -> Result:
    """Count failed attempts by reason or, without output, unsuccessful jobs by gang size.

    The table has a row per reason (``trials``, ``early``, ``timed``, ``gpu_h``), or per gang size
    (``jobs``, ``failed``).
    """
    if not trace.has_values("failures"):
        return _by_status(trace)
    found = trace.answer("why_failures").df()
    table = found.groupby("reason", as_index=False)[["trials", "early", "timed", "gpu_h"]].sum()
    table = by_frequency(table)
    trials = int(table["trials"].sum())
    facts, cost = _cost(trace, float(table["gpu_h"].sum()))
    facts = [Fact("trials", trials, "failed attempts with known output"), *facts]
    if not trials:
        return Result("why_failures", table, facts)
    top = str(table["reason"][0])
    first = clustered_share(found["reason"] == top, found["user"], found["trials"])
    facts += first.facts("top", f"share of the most frequent reason, {top}")
    timed = int(table["timed"].sum())
    early = int(table["early"].sum()) / timed if timed else 0.0
    facts.append(Fact("early_pct", 100 * early if timed else None, "failed within 5 minutes"))
    return Result(
        "why_failures",
        table,
        facts,
        (
            f"{share(first.frac)} of {count(trials, 'failed attempt')} with known output failed "
            f"for the reason “{top}”.",
            cost,
        ),
        headline="top_pct",
        advice=_advice(trace, early),
    )


def _by_status(trace: Trace) -> Result:
    jobs = trace.answer("started_jobs").filter("failed is not null").df()
    [(gpu_h,)] = trace.answer("status_failures").aggregate("coalesce(sum(gpu_h), 0)").fetchall()
    failed = clustered_share(jobs["failed"].astype(bool), jobs["user"])
    facts, cost = _cost(trace, float(gpu_h))
    return Result(
        "why_failures",
        jobs.groupby("gang", as_index=False).agg(jobs=("failed", "size"), failed=("failed", "sum")),
        (
            Fact("jobs", len(jobs), "jobs with a known end"),
            *failed.facts("failed", "unsuccessful jobs"),
            *facts,
        ),
        (f"{share(failed.frac)} of {count(len(jobs), 'job')} ended unsuccessful.", cost)
        if len(jobs)
        else (),
        ["Without the output of failed attempts their reasons are unknown."],
        headline="failed_pct" if len(jobs) else "",
        advice="Ingest the output of failed attempts to find their reasons.",
    )


def _cost(trace: Trace, gpu_h: float) -> tuple[list[Fact], str]:
    """Return the GPU hours of failed attempts as facts and as a sentence."""
    [(total_h,)] = trace.answer("failure_costs_pool").select("held_gpu_h").fetchall()
    pct = 100 * gpu_h / total_h if total_h else None
    facts = [
        Fact("gpu_h", gpu_h, "GPU hours of failed attempts"),
        Fact("gpu_h_pct", pct, "their share of all GPU hours"),
    ]
    part = f", {share(gpu_h / total_h)} of all" if total_h else ""
    return facts, f"Failed attempts used {number(gpu_h)} GPU hours{part}."


def _advice(trace: Trace, early: float) -> str:
    """Return whether a pre-run on one GPU would save GPU hours."""
    costs = trace.answer("failure_costs").filter("reason = 'all'").df()
    pool = trace.answer("failure_costs_pool").df().iloc[0]
    saved, cost = float(costs["pool_saved_gpu_h"].sum()), float(pool["cost_gpu_h"])
    within = f"{share(early)} fail within 5 minutes. " if early >= _EARLY else ""
    not_worth = "not worth it here. Check inputs and settings at submission."
    verdict = "worth it here." if saved > cost else not_worth
    return (
        f"{within}A pre-run of every gang on one GPU for {int(pool['pool_min'])} minutes would "
        f"have saved {number(saved)} GPU hours and cost {number(cost)}: {verdict}"
    )


def plot(result: Result) -> Figure:
    """Draw the most frequent reasons by their shares of failed attempts and of GPU hours lost.

    Without reasons, draw the share of unsuccessful jobs by gang size.
    """
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    if result.table.empty:
        return figures.empty(fig, "no attempt is known to have failed")
    if "reason" not in result.table:
        figures.gang_shares(ax, result.table, part="failed", total="jobs")
        ax.set_xlabel("GPUs, and jobs")
        figures.title(ax, "Unsuccessful jobs")
        return fig
    table = result.table.head(_SHOWN).iloc[::-1]
    longest = 0.0
    y = pd.RangeIndex(len(table)).to_numpy(float)
    for name, column, shift, color in (
        ("of failed attempts", "trials", 0.2, figures.ACCENT),
        ("of GPU hours lost", "gpu_h", -0.2, figures.CYCLE[1]),
    ):
        total = max(float(result.table[column].sum()), 1e-9)
        widths = 100 * table[column].to_numpy(float) / total
        longest = max(longest, float(widths.max()))
        drawn = ax.barh(y + shift, widths, 0.38, color=color, label=name)
        ax.bar_label(drawn, [f"{w:.0f} %" for w in widths], fontsize=7.5, padding=2)
    ax.set_yticks(y, [figures.literal(reason) for reason in table["reason"]])
    ax.set_xlim(0, 1.15 * longest)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    ax.grid(visible=False)
    figures.legend(ax, loc="lower right", bbox_to_anchor=(1.03, 1), ncols=2, fontsize=8)
    return fig
