"""Divide waiting time by cause, and name the holds and limits behind it.

The finding sums rows of the relation ``wait_causes``, as does the finding on why jobs wait. Traces
without placements have the causes that the scheduler stated.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.completeness import preferred
from philly_analysis.analyses.shared.exclusions import excluded
from philly_analysis.analyses.shared.wait_cause import CAUSES, named_causes
from philly_analysis.results import (
    Fact,
    Result,
    count,
    figures,
    number,
    share,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace

_COLORS = {cause: fields.color for cause, fields in CAUSES.items()}
_NAMED = ("held", "limit")
_NAMES_SHOWN = 8
_NAMES_LISTED = 3


def compute(trace: Trace) -> Result:
    """Divide waits by cause, hold and limit."""
    placed = trace.has("wait_states")
    table = trace.answer("wait_states" if placed else "wait_states_unplaced").df()
    method = preferred(table["method"])
    named = named_causes(method)
    table = table[table["method"] == method].drop(columns="method")
    table = table.reset_index(drop=True)
    total_h, gpu_h = float(table["wait_h"].sum()), float(table["gpu_wait_h"].sum())
    hours = table.groupby("cause")[["wait_h", "gpu_wait_h", "attempts"]].sum()
    causes = [cause for cause in CAUSES if cause in hours.index]
    facts = [
        Fact("quota_method", method, "source of the quotas"),
        Fact("wait_h", total_h, "hours that attempts waited"),
    ]
    for cause in causes:
        row, label = hours.loc[cause], named[cause].label
        facts += [
            Fact(f"{cause}_h", float(row["wait_h"]), f"hours waited: {label}"),
            Fact(f"{cause}_pct", 100 * row["wait_h"] / total_h, f"share of all hours: {label}"),
            Fact(
                f"{cause}_gpu_pct",
                100 * row["gpu_wait_h"] / gpu_h if gpu_h else None,
                f"share of all hours weighted by GPUs: {label}",
            ),
        ]
    sentences = []
    if total_h > 0:
        ranked = sorted(causes, key=lambda cause: -hours.loc[cause, "wait_h"])
        listed = "; ".join(
            f"{share(hours.loc[c, 'wait_h'] / total_h)}, {named[c].meaning}" for c in ranked
        )
        sentences = [f"Attempts waited {number(total_h)} hours: {listed}.", _top_names(table)]
    unnamed = bool(table.loc[table["cause"] == "held", "name"].eq("not stated").any())
    caveats = (
        "The log does not say what held some of the jobs." if unnamed else "",
        _division(trace),
        "Jobs that were cancelled or still waiting at the end of the log count with the time "
        "waited.",
        *excluded(trace, "wait"),
    )
    return Result("wait_states", table, facts, sentences, caveats)


def _division(trace: Trace) -> str:
    """Return how the time of attempts is divided whose limit has no recorded times."""
    spans = trace.answer("queue_states").shape[0] if trace.has("queue_states") else 0
    if spans:
        return f"The scheduler's own reasons cover {count(spans, 'span')} of pending time."
    limits = trace.answer("limit_amounts").df()
    if limits.empty:
        return ""
    levels = "recorded" if limits["recorded"].all() else "estimated as the most that jobs ever took"
    return (
        f"A limit counts while its use and the job exceed the limit, which is {levels}. A last "
        "recorded reason that is a limit adds time in which the job had room."
    )


def _top_names(table: pd.DataFrame) -> str:
    named = table[table["cause"].isin(_NAMED)]
    most = named.groupby("name")["wait_h"].sum().sort_values(ascending=False, kind="stable")
    top = most.head(_NAMES_LISTED)
    listed = ", ".join(f"{name} ({number(float(h))} h)" for name, h in top.items())
    return f"The holds and limits with most hours: {listed}." if listed else ""


def plot(result: Result) -> Figure:
    """Draw the hours of each cause by gang size, and the holds and limits of most hours."""
    table, named = result.table, named_causes(result.fact("quota_method"))
    fig, [gangs_ax, names_ax] = figures.canvas(2, width=9.6, height=3.4)
    if table.empty:
        return figures.empty(fig, "no attempt waited for a known time")
    sums = table.pivot_table(
        index="gang", columns="cause", values="wait_h", aggfunc="sum", fill_value=0.0
    )
    gangs = figures.ordered(sums.index, GANGS)
    totals = sums.sum(axis=1)[gangs]
    shown = [cause for cause in CAUSES if cause in sums]
    figures.bars(
        gangs_ax,
        [f"{gang}\n{number(float(h))} h" for gang, h in totals.items()],
        {named[c].label: list(100 * sums[c][gangs] / totals) for c in shown},
        colors={named[c].label: _COLORS[c] for c in shown},
        stacked=True,
        label="{:.0f} %",
    )
    gangs_ax.set_xlabel("GPUs, and hours waited")
    figures.percent_axis(gangs_ax, "share of hours waited")
    figures.legend(gangs_ax, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.08), fontsize=7)
    names = table.groupby(["name", "cause"])["wait_h"].sum().reset_index()
    rows = names.nlargest(_NAMES_SHOWN, "wait_h").iloc[::-1]
    figures.hbars(
        names_ax,
        [
            named[c].label if n == "(none)" else f"{named[c].label}: {n}"
            for n, c in zip(rows["name"], rows["cause"], strict=True)
        ],
        rows["wait_h"],
        [number(float(h)) for h in rows["wait_h"]],
        color=[_COLORS[c] for c in rows["cause"]],
        names_fontsize=8,
    )
    figures.amount_axis(names_ax, "hours waited", axis="x")
    figures.title(names_ax, "cause, hold or limit")
    return fig


ANALYSIS = Analysis(
    name="wait_states",
    question="Which holds, limits and shortages keep jobs waiting?",
    needs=("jobs", "attempts", "jobs.eligible_at"),
    compute=compute,
    plot=plot,
    all_jobs=True,
)
