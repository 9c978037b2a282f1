"""Report the most frequent reason of failure, in one number.

Reasons are known for attempts with output, which a cluster may only keep for some jobs. A run that
its user stopped because it failed has the status killed, not failed.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.failure_reasons import by_frequency
from philly_analysis.analyses.shared.user_counts import count_by_user
from philly_analysis.analyses.worst_offenders import lost_to_failures, total_lost_h
from philly_analysis.failures import NO_SIGNATURE
from philly_analysis.results import (
    NOT_RECORDED,
    Fact,
    Result,
    Verdict,
    clustered_share,
    count,
    figures,
    number,
    share,
    share_trend,
    whole_percent,
)
from philly_analysis.trace import Analysis, Trace

_SHOWN = 5
"""Reasons in the figure."""


def compute(trace: Trace) -> Result:
    """Count failed attempts by reason or, without output, unsuccessful jobs by gang size.

    The table has a row per reason (``trials``, ``early``, ``timed``, ``gpu_h``), or per gang size
    (``jobs``, ``failed``).
    """
    if not trace.has_values("failures"):
        return _by_status(trace)
    failures = trace.answer("why_failures").df()
    table = failures.groupby("reason", as_index=False)[["trials", "early", "timed", "gpu_h"]].sum()
    table = by_frequency(table)
    trials = int(table["trials"].sum())
    lost_h, facts, lost = _cost(trace)
    facts = [Fact("trials", trials, "failed attempts with known output"), *facts]
    if not trials:
        none = ["No failed attempt has output."]
        return Result("why_failures", table, facts, none, verdict=Verdict("No failure with output"))
    top = table.iloc[0]
    hits = failures["reason"] == top["reason"]
    first = clustered_share(hits, failures["user"], failures["trials"])
    facts += first.facts("top", f"share of the most frequent reason, {top['reason']}")
    timed = int(table["timed"].sum())
    early = int(table["early"].sum()) / timed if timed else None
    facts.append(
        Fact(
            "early_pct",
            None if early is None else 100 * early,
            "failed attempts that ran for less than 5 minutes",
        )
    )
    trend = share_trend(failures["day"], hits, failures["user"], failures["trials"], "failures")
    early_words = (
        f"{share(early)} of failed attempts failed within 5 minutes." if early is not None else ""
    )
    pre_run, worth = _pre_run(trace)
    return Result(
        "why_failures",
        table,
        [*facts, *trend.facts()],
        (
            f"{share(first.frac)} of {count(trials, 'failed attempt')} with known output failed "
            f"for the reason “{top['reason']}”.",
            f"{lost}.",
            early_words,
            pre_run,
        ),
        verdict=Verdict(
            "No known reason" if top["reason"] == NO_SIGNATURE else top["reason"],
            whole_percent(first.frac),
            "of failed attempts",
            first.interval,
            f"{number(float(top['gpu_h']))} of {lost}.",
            str(trend),
            pre_run if worth else _costliest(table, lost_h),
        ),
    )


def _by_status(trace: Trace) -> Result:
    ended = trace.answer("started_jobs").filter("failed is not null")
    by_gang = ended.aggregate("gang, count(*) as jobs, count(*) filter (failed) as failed")
    table = by_gang.order("gang").df()
    jobs = int(table["jobs"].sum())
    by_user = count_by_user(ended, "failed, ended_on")
    hits, users, n = (by_user[column] for column in ("failed", "user", "n"))
    failed = clustered_share(hits, users, n)
    gpu_h, facts, lost = _cost(trace)
    facts = [
        Fact("jobs", jobs, "jobs with a known end"),
        *failed.facts("failed", "unsuccessful jobs"),
        *facts,
    ]
    if not jobs:
        verdict = Verdict(NOT_RECORDED, advice="Record how jobs end: passed, killed or failed.")
        return Result("why_failures", table, facts, verdict=verdict)
    trend = share_trend(by_user["ended_on"], hits, users, n, "ends of jobs")
    return Result(
        "why_failures",
        table,
        [*facts, *trend.facts()],
        (f"{share(failed.frac)} of {count(jobs, 'job')} ended unsuccessfully.", f"{lost}."),
        ["Without the output of failed attempts their reasons are unknown."],
        verdict=Verdict(
            "Unsuccessful",
            whole_percent(failed.frac),
            "of jobs",
            failed.interval,
            f"{lost}.",
            str(trend),
            "Ingest the output of failed attempts: the output shows why "
            f"{number(gpu_h)} GPU hours were lost."
            if gpu_h
            else "",
        ),
    )


def _cost(trace: Trace) -> tuple[float, list[Fact], str]:
    """Return the GPU hours of failed attempts, with or without output, as facts and a phrase."""
    gpu_h = total_lost_h(lost_to_failures(trace))
    [(total_h,)] = trace.answer("failure_costs_pool").select("held_gpu_h").fetchall()
    pct = 100 * gpu_h / total_h if total_h else None
    facts = [
        Fact("gpu_h", gpu_h, "GPU hours of failed attempts"),
        Fact("gpu_h_pct", pct, "share of all GPU hours used by failed attempts"),
    ]
    part = f" ({share(gpu_h / total_h)} of all GPU hours)" if total_h else ""
    return gpu_h, facts, f"{number(gpu_h)} GPU hours lost to failures{part}"


def _pre_run(trace: Trace) -> tuple[str, bool]:
    """Return a sentence on a pre-run of gangs on one GPU, and whether it saves GPU hours."""
    costs = trace.answer("failure_costs").filter("reason = 'all'").df()
    pool = trace.answer("failure_costs_pool").df().iloc[0]
    saved, cost = float(costs["pool_saved_gpu_h"].sum()), float(pool["cost_gpu_h"])
    return (
        f"A pre-run of every gang on one GPU for {int(pool['pool_min'])} minutes would have saved "
        f"{number(saved)} GPU hours and cost {number(cost)}.",
        saved > cost,
    )


def _costliest(table: pd.DataFrame, lost_h: float) -> str:
    """Return the advice to prevent the costliest reason, and its share of lost GPU hours."""
    gpu_h = table.set_index("reason")["gpu_h"]
    most, most_h = str(gpu_h.idxmax()), float(gpu_h.max())
    if not most_h:
        return ""
    what = "Find out the unknown reasons" if most == NO_SIGNATURE else f"Prevent “{most}”"
    part = f"{share(most_h / lost_h)} of the GPU hours lost to failures"
    return f"{what} first: {number(most_h)} GPU hours, {part}."


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
    for name, column, fact, shift, color in (
        ("of failed attempts", "trials", "trials", 0.2, figures.ACCENT),
        ("of GPU hours lost", "gpu_h", "gpu_h", -0.2, figures.CYCLE[1]),
    ):
        total = max(float(str(result.fact(fact))), 1e-9)
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


ANALYSIS = Analysis(
    name="why_failures",
    question="Why do jobs fail?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log does not record how jobs ended.",
)
