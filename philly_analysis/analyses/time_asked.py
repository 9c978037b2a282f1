"""The run time that jobs ask for against the run time that they use.

Limits are often a queue's default and then nobody's estimate. Runs that hit their limit would
have been longer.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import (
    Fact,
    Result,
    clustered_share,
    count,
    figures,
    gpus,
    number,
    share,
    slug,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Trace

QUESTION = "How much of the time that they ask for do jobs use?"
NEEDS = ("jobs", "attempts", "jobs.time_limit_s")

ALL = "all"
_LISTED = 3
_FEWEST = 10
"""Attempts of a user below which their habit is not worth naming."""


def compute(trace: Trace) -> Result:
    """Compare run times with the limits that were asked for, by gang size."""
    table = trace.answer("time_asked").df()
    runs = trace.answer("limited_runs").df()
    ended, tenfold = (
        clustered_share(hits, runs["user"]) for hits in (runs["at_limit"], runs["used_frac"] < 0.1)
    )
    used_h, unused_h = float(runs["used_gpu_h"].sum()), float(runs["unused_gpu_h"].sum())
    middle = table[table["percentile"] == 50].set_index("gang")
    facts = (
        Fact("attempts", len(runs), "attempts that ended, with a time limit"),
        Fact("used_p50_pct", _pct(runs["used_frac"].median()), "median share of its time used"),
        *(
            Fact(f"used_{slug(g)}_p50_pct", _pct(middle["used_frac"][g]), f"the same, {gpus(g)}")
            for g in figures.ordered(set(middle.index) - {ALL}, GANGS)
        ),
        *ended.facts("at_limit", "attempts that their limit ended"),
        *tenfold.facts("tenfold", "attempts that asked for over 10 times their need"),
        Fact("used_gpu_h", used_h, "GPU hours that they held"),
        Fact("unused_gpu_h", unused_h, "GPU hours from their ends to their limits"),
        Fact(
            "lost_gpu_h",
            float(runs.loc[runs["at_limit"], "used_gpu_h"].sum()),
            "GPU hours of attempts that their limit ended",
        ),
    )
    said = []
    if len(runs):
        said = [
            f"Half of {count(len(runs), 'attempt')} used no more than "
            f"{share(float(runs['used_frac'].median()))} of the time that they had asked for; "
            f"{tenfold} asked for more than ten times what they used.",
            f"The limit ended {ended} of them, with {number(_lost(runs))} GPU hours.",
            f"They asked for {number(used_h + unused_h)} GPU hours and used {number(used_h)}: a "
            "scheduler that plans by limits plans with "
            f"{(used_h + unused_h) / used_h:.1f} times the truth."
            if used_h > 0
            else f"They asked for {number(unused_h)} GPU hours and used none.",
            *_habits(runs),
        ]
    return Result(
        name="time_asked",
        table=table,
        facts=facts,
        sentences=tuple(said),
        caveats=(
            "The limit is that of the job, which each of its attempts has anew; attempts that "
            "still ran as the log ended, or whose times are not trusted, are left out.",
            "GPU hours asked for and not used went to others: what they cost is the scheduler's "
            "foresight, where it fills gaps by limits.",
        ),
    )


def _pct(frac: float) -> float:
    return 100 * frac


def _lost(runs: pd.DataFrame) -> float:
    return float(runs.loc[runs["at_limit"], "used_gpu_h"].sum())


def _habits(runs: pd.DataFrame) -> list[str]:
    """Name the users who most often ask for more than ten times what they use."""
    over = runs.assign(over=runs["used_frac"] < 0.1).groupby("user")
    users = over.agg(attempts=("over", "size"), over=("over", "sum"), gpu_h=("unused_gpu_h", "sum"))
    often = users[(users["attempts"] >= _FEWEST) & (users["over"] * 2 > users["attempts"])]
    if often.empty:
        return []
    often = often.reset_index().sort_values(["gpu_h", "user"], ascending=[False, True])
    listed = ", ".join(
        f"{u['user']} ({u['over']:,} of {u['attempts']:,} attempts, {number(u['gpu_h'])} GPU "
        "hours unused)"
        for u in often.head(_LISTED).to_dict("records")
    )
    return [
        f"{count(len(often), 'user')} did so with more than half of their attempts, of "
        f"{_FEWEST} or more; those who left most GPU hours unused: {listed}."
    ]


def plot(result: Result) -> Figure:
    """Draw the share of time used as curves, and GPU hours used and not used, by gang size."""
    table = result.table
    fig, [left, right] = figures.canvas(2, width=9.6, height=3.2)
    if table.empty:
        return figures.empty(fig, "no attempt that ended had a time limit")
    groups = table[table["gang"] != ALL]
    sizes = groups.drop_duplicates("gang").set_index("gang")
    figures.cdf(
        left,
        groups.assign(used_pct=100 * groups["used_frac"].clip(upper=1)),
        value="used_pct",
        by="gang",
        colors=figures.GANG_COLORS,
        counts=dict(zip(sizes.index, sizes["attempts"], strict=True)),
        say=gpus,
    )
    figures.percent_axis(left, "time used of time asked", axis="x")
    left.set_ylabel("share of attempts")
    figures.name_lines(left)
    figures.title(left, "time used, by gang size")
    gangs = figures.ordered(sizes.index, GANGS)
    asked = sizes[["used_gpu_h", "unused_gpu_h"]].sum(axis=1)
    figures.bars(
        right,
        gangs,
        {
            "used": [100 * sizes["used_gpu_h"][g] / (asked[g] or 1) for g in gangs],
            "asked for, not used": [
                100 * sizes["unused_gpu_h"][g] / (asked[g] or 1) for g in gangs
            ],
        },
        colors={"used": figures.ACCENT, "asked for, not used": figures.CYCLE[1]},
        stacked=True,
        label="{:.0f} %",
    )
    right.set_xticks(range(len(gangs)), [f"{g}\n{number(asked[g])} GPU h" for g in gangs])
    figures.percent_axis(right, "share of GPU hours asked for")
    figures.legend(right, beneath=True)
    figures.title(right, "GPU hours asked for")
    return fig
