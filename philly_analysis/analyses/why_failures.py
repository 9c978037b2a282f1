"""Why jobs fail, in one number: the part of failed attempts that has the most frequent reason.

Reasons are those of attempts whose output was kept, and a cluster may keep output of some jobs
only. A run that its user stopped because it failed is recorded as killed, not as failed.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.analyses.failure_reasons import by_frequency
from philly_analysis.results import Fact, Result, clustered_share, count, figures, number, share
from philly_analysis.trace import Trace

QUESTION = "Why do jobs fail?"
NEEDS = ("jobs", "attempts")

_DRAWN = 5
_EARLY = 0.5
"""The part of failures within five minutes from which a short test run is worth a thought."""


def compute(trace: Trace) -> Result:
    """Count failed attempts by reason where output tells it; otherwise jobs that failed, by gang.

    The table has a row per reason (``trials``, ``early``, ``timed``, ``gpu_h``), or per gang size
    (``jobs``, ``failed``).
    """
    if not trace.has_values("failures"):
        return _untold(trace)
    found = trace.answer("why_failures").df()
    table = found.groupby("reason", as_index=False)[["trials", "early", "timed", "gpu_h"]].sum()
    table = by_frequency(table)
    trials, gpu_h = int(table["trials"].sum()), float(table["gpu_h"].sum())
    facts = [Fact("trials", trials, "failed attempts whose output is known"), *_cost(trace, gpu_h)]
    if not trials:
        return Result(name="why_failures", table=table, facts=tuple(facts))
    top = str(table["reason"][0])
    first = clustered_share(found["reason"] == top, found["user"], found["trials"])
    facts += first.facts("top", f"of them for the most frequent reason, {top}")
    timed = int(table["timed"].sum())
    early = int(table["early"].sum()) / timed if timed else 0.0
    facts.append(Fact("early_pct", 100 * early if timed else None, "failed within 5 minutes"))
    which = "failed attempt whose output is known", "failed attempts whose output is known"
    return Result(
        name="why_failures",
        table=table,
        facts=tuple(facts),
        sentences=(
            f"Of {count(trials, *which)}, {share(first.frac)} failed for “{top}”.",
            _said(facts),
        ),
        headline="top_pct",
        advice=_advice(trace, early),
    )


def _untold(trace: Trace) -> Result:
    jobs = trace.answer("tried_jobs").filter("failed is not null").df()
    [(gpu_h,)] = trace.answer("status_failures").aggregate("coalesce(sum(gpu_h), 0)").fetchall()
    failed = clustered_share(jobs["failed"].astype(bool), jobs["user"])
    facts = [
        Fact("jobs", len(jobs), "jobs whose end is known"),
        *failed.facts("failed", "of them ended unsuccessful"),
        *_cost(trace, float(gpu_h)),
    ]
    ends = f"{share(failed.frac)} of {count(len(jobs), 'job')} ended unsuccessful."
    return Result(
        name="why_failures",
        table=jobs.groupby("gang", as_index=False).agg(
            jobs=("failed", "size"), failed=("failed", "sum")
        ),
        facts=tuple(facts),
        sentences=(ends, _said(facts)) if len(jobs) else (),
        caveats=("Without the output of failed attempts nothing tells why they failed.",),
        headline="failed_pct" if len(jobs) else "",
        advice="Ingest the output of failed attempts as well, to learn their reasons.",
    )


def _cost(trace: Trace, gpu_h: float) -> list[Fact]:
    [(held_h,)] = trace.answer("failure_costs_pool").select("held_gpu_h").fetchall()
    return [
        Fact("gpu_h", gpu_h, "GPU hours that failed attempts held"),
        Fact("gpu_h_pct", 100 * gpu_h / held_h if held_h else None, "of all GPU hours held"),
    ]


def _said(facts: list[Fact]) -> str:
    cost = {fact.name: fact for fact in facts}
    of_all = cost["gpu_h_pct"].value
    part = f", {share(float(of_all) / 100)} of all that were held" if of_all is not None else ""
    return f"Failed attempts held {number(float(cost['gpu_h'].value or 0))} GPU hours{part}."


def _advice(trace: Trace, early: float) -> str:
    """Say whether a short run on one GPU first would pay, and what else is to be done."""
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
    """Draw the most frequent reasons: their share of failed attempts, and of GPU hours lost.

    Without reasons, the share of jobs that failed by gang size.
    """
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    if result.table.empty:
        return figures.empty(fig, "no attempt is known to have failed")
    if "reason" not in result.table:
        return _by_gang(fig, ax, result.table)
    table = result.table.head(_DRAWN).iloc[::-1]
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


def _by_gang(fig: Figure, ax: Axes, table: pd.DataFrame) -> Figure:
    figures.gang_bars(ax, table, part="failed", whole="jobs")
    ax.set_xlabel("GPUs, and jobs")
    figures.title(ax, "Jobs that ended unsuccessful")
    return fig
