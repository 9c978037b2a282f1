"""Divide waiting time into held, throttled, refused and pending.

The scheduler records one reason, the last: an attempt that was throttled and then pending has one
of the two. Sources without reasons have pending time only.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.exclusions import excluded
from philly_analysis.results import (
    Fact,
    Result,
    clustered_share,
    count,
    duration,
    figures,
    number,
    share,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace

_MEANINGS = {
    "held": "not eligible to start (dependency, begin time or hold)",
    "throttled": "throttled by a limit",
    "refused": "of jobs that exceed a limit on requests",
    "pending": "pending for priority or machines",
}
_SHADES = (figures.MUTED, figures.CYCLE[1], figures.CYCLE[4], figures.ACCENT)
_COLORS = dict(zip(_MEANINGS, _SHADES, strict=True))
_REASONS_SHOWN = 8
_REASONS_LISTED = 3


def compute(trace: Trace) -> Result:
    """Divide waits by the state of their attempts."""
    table = trace.answer("wait_states").df()
    spans = trace.answer("wait_spans").df()
    hours = {s: float(table.loc[table["state"] == s, "wait_h"].sum()) for s in _MEANINGS}
    waited = spans[spans["wait_s"] > 0]
    shares = {
        s: clustered_share(waited[f"{s}_s"] / waited["wait_s"], waited["user"], waited["wait_s"])
        for s in _MEANINGS
    }
    facts = [
        Fact("attempts", len(waited), "attempts with a trusted wait above zero"),
        Fact("never_started", int((waited["outcome"] != "started").sum()), "never started"),
    ]
    for state in _MEANINGS:
        inside = waited.loc[waited[f"{state}_s"] > 0, f"{state}_s"]
        facts += [
            Fact(f"{state}_attempts", len(inside), f"attempts that were {state}"),
            Fact(f"{state}_h", hours[state], f"hours {state}"),
            *shares[state].facts(state, "their share of all waiting time"),
            Fact(f"{state}_p50_s", inside.median(), f"median of their time {state}"),
        ]
    sentences = []
    total_h = sum(hours.values())
    if total_h > 0:
        others = "".join(
            f"; {share(shares[s].frac)} were {text}"
            for s, text in _MEANINGS.items()
            if s != "pending" and hours[s] > 0
        )
        sentences = [
            f"{shares['pending']} of {number(total_h)} hours that {count(len(waited), 'attempt')} "
            f"waited were {_MEANINGS['pending']}{others}.",
            _top_reasons(table),
        ]
        pending = waited.loc[waited["pending_s"] > 0, "pending_s"]
        if len(pending):
            since_submission = waited.loc[pending.index, "wait_s"]
            sentences.append(
                f"The median pending time is {duration(float(pending.median()))}; from submission, "
                f"these attempts waited {duration(float(since_submission.median()))} (median)."
            )
    caveats = (
        "The recorded reason is the last one other than priority or machines: a throttled attempt "
        "counts as throttled since it was eligible, although part of it was pending.",
        ""
        if table["reason"].ne("(none)").any()
        else "The log has no reasons: throttled and refused jobs count as pending.",
        "Jobs that were cancelled or still waiting at the end of the log count with the time "
        "waited.",
        *excluded(trace, "wait"),
    )
    return Result("wait_states", table, facts, sentences, caveats)


def _top_reasons(table: pd.DataFrame) -> str:
    named = table[(table["reason"] != "(none)") & (table["state"] != "pending")]
    most = named.groupby("reason")["wait_h"].sum().sort_values(ascending=False, kind="stable")
    top = most.head(_REASONS_LISTED)
    listed = ", ".join(f"{reason} ({number(float(h))} h)" for reason, h in top.items())
    return f"The reasons with most held, throttled or refused hours: {listed}." if listed else ""


def plot(result: Result) -> Figure:
    """Draw the hours of each state by gang size, and the reasons of most hours."""
    table = result.table
    fig, [left, right] = figures.canvas(2, width=9.6, height=3.4)
    if table.empty:
        return figures.empty(fig, "no attempt waited for a known time")
    sums = table.pivot_table(
        index="gang", columns="state", values="wait_h", aggfunc="sum", fill_value=0.0
    )
    gangs = figures.ordered(sums.index, GANGS)
    totals = sums.sum(axis=1)[gangs]
    figures.bars(
        left,
        [f"{gang}\n{number(float(h))} h" for gang, h in totals.items()],
        {s: list(100 * sums[s][gangs] / totals) for s in _MEANINGS if s in sums},
        colors=_COLORS,
        stacked=True,
        label="{:.0f} %",
    )
    left.set_xlabel("GPUs, and hours waited")
    figures.percent_axis(left, "share of hours waited")
    figures.legend(left, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.08))
    reasons = table.groupby(["reason", "state"])["wait_h"].sum().reset_index()
    rows = reasons.nlargest(_REASONS_SHOWN, "wait_h").iloc[::-1]
    figures.hbars(
        right,
        [
            "priority or machines" if r == "(none)" and s == "pending" else f"{r}, {s}"
            for r, s in zip(rows["reason"], rows["state"], strict=True)
        ],
        rows["wait_h"],
        [number(float(h)) for h in rows["wait_h"]],
        color=[_COLORS[s] for s in rows["state"]],
        names_fontsize=8,
    )
    figures.amount_axis(right, "hours waited", axis="x")
    figures.title(right, "last recorded reason, and state")
    return fig


ANALYSIS = Analysis(
    name="wait_states",
    question="Which waiting jobs are held, throttled, refused or pending?",
    needs=("jobs", "attempts", "jobs.eligible_at"),
    compute=compute,
    plot=plot,
    all_jobs=True,
)
