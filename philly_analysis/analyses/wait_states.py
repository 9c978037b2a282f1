"""Waiting that is not queueing: jobs held, throttled or refused; and those pending.

A scheduler keeps one reason, the last: an attempt that was throttled and then waited for its turn
shows one of the two. Sources that keep none show everything as pending.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.exclusions import left_out
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
from philly_analysis.trace import Trace

QUESTION = "Which waiting jobs are held, throttled, refused, or pending for their turn?"
NEEDS = ("jobs", "attempts", "jobs.eligible_at")

STATES = {
    "held": "held back: dependency, begin time or hold",
    "throttled": "throttled: at a limit of account, QOS or array",
    "refused": "refused: asks for more than it may",
    "pending": "pending: for its turn or for machines",
}
_SAID = {
    "held": "were held back before they could start at all",
    "throttled": "were throttled by a limit",
    "refused": "were of jobs that ask for more than they may",
}
_COLORS = dict(
    zip(STATES, (figures.MUTED, figures.CYCLE[1], figures.CYCLE[4], figures.ACCENT), strict=True)
)
_REASONS_DRAWN = 8
_REASONS_SAID = 3


def compute(trace: Trace) -> Result:
    """Divide waits by what kept their attempts waiting."""
    table = trace.answer("wait_states").df()
    spans = trace.answer("wait_spans").df()
    hours = {s: float(table.loc[table["state"] == s, "wait_h"].sum()) for s in STATES}
    waited = spans[spans["wait_s"] > 0]
    shares = {
        s: clustered_share(waited[f"{s}_s"] / waited["wait_s"], waited["user"], waited["wait_s"])
        for s in STATES
    }
    facts = [
        Fact("attempts", len(waited), "attempts that waited, and whose wait is trusted"),
        Fact("never_started", int((waited["outcome"] != "started").sum()), "never started"),
    ]
    for state in STATES:
        touched = int((waited[f"{state}_s"] > 0).sum())
        facts += [
            Fact(f"{state}_attempts", touched, f"attempts that were {state} for a time"),
            Fact(f"{state}_h", hours[state], "hours that they were"),
            *shares[state].facts(state, "their share of all waiting"),
            Fact(
                f"{state}_p50_s",
                waited.loc[waited[f"{state}_s"] > 0, f"{state}_s"].median(),
                "median of their seconds in it",
            ),
        ]
    said = []
    if sum(hours.values()) > 0:
        said = [
            f"Of {number(sum(hours.values()))} hours that {count(len(waited), 'attempt')} waited, "
            f"{shares['pending']} were pending for their turn or for machines"
            + "".join(f"; {share(shares[s].frac)} {w}" for s, w in _SAID.items() if hours[s] > 0)
            + ".",
            *_reasons(table),
        ]
        pending = waited.loc[waited["pending_s"] > 0, "pending_s"]
        if len(pending):
            whole = waited.loc[pending.index, "wait_s"]
            said.append(
                f"Half of the attempts that were pending were so for no longer than "
                f"{duration(float(pending.median()))}; counted from their submission, half of them "
                f"waited no longer than {duration(float(whole.median()))}."
            )
    return Result(
        name="wait_states",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "A scheduler keeps one reason, the last that was not turn or machines: an attempt "
            "that it names throttled counts so for all its time since it was eligible, though "
            "some of that was its turn.",
            *(
                ()
                if table["reason"].ne("(none)").any()
                else ("The log has no reasons: throttled and refused jobs count as pending.",)
            ),
            "Jobs that were given up or still waited as the log ended count with the time waited.",
            *left_out(trace, "wait"),
        ),
    )


def _reasons(table: pd.DataFrame) -> list[str]:
    named = table[(table["reason"] != "(none)") & (table["state"] != "pending")]
    most = named.groupby("reason")["wait_h"].sum().sort_values(ascending=False, kind="stable")
    if most.empty:
        return []
    listed = ", ".join(f"{r} ({number(float(h))} h)" for r, h in most.head(_REASONS_SAID).items())
    return [f"The reasons behind most hours of being held, throttled or refused: {listed}."]


def plot(result: Result) -> Figure:
    """Draw the hours of each state by gang size, and the reasons behind most of them."""
    table = result.table
    fig, [left, right] = figures.canvas(2, width=9.6, height=3.4)
    if table.empty:
        return figures.empty(fig, "no attempt waited for a known time")
    sums = table.pivot_table(
        index="gang", columns="state", values="wait_h", aggfunc="sum", fill_value=0.0
    )
    gangs = figures.ordered(sums.index, GANGS)
    totals = sums.sum(axis=1)
    figures.bars(
        left,
        gangs,
        {s: [100 * sums[s][g] / totals[g] for g in gangs] for s in STATES if s in sums},
        colors=_COLORS,
        stacked=True,
        label="{:.0f} %",
    )
    left.set_xticks(range(len(gangs)), [f"{g}\n{number(float(totals[g]))} h" for g in gangs])
    left.set_xlabel("GPUs, and hours waited")
    figures.percent_axis(left, "share of hours waited")
    figures.legend(left, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.08))
    reasons = table.groupby(["reason", "state"])["wait_h"].sum().reset_index()
    rows = reasons.nlargest(_REASONS_DRAWN, "wait_h").iloc[::-1]
    drawn = right.barh(range(len(rows)), rows["wait_h"], color=[_COLORS[s] for s in rows["state"]])
    right.bar_label(drawn, [number(float(h)) for h in rows["wait_h"]], fontsize=8, padding=2)
    labels = [
        figures.plain("turn or machines" if r == "(none)" and s == "pending" else f"{r}, {s}")
        for r, s in zip(rows["reason"], rows["state"], strict=True)
    ]
    right.set_yticks(range(len(rows)), labels, fontsize=8)
    right.set_xlim(0, 1.2 * float(rows["wait_h"].max()))
    figures.amount_axis(right, "hours waited", axis="x")
    right.grid(visible=False, axis="y")
    figures.title(right, "last recorded reason, and state")
    return fig
