"""Compare requested time limits with run times.

Limits are often the default of a queue, not an estimate. Runs that reach their limit are cut off.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.gang_sizes import gang_facts
from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.analyses.shared.user_counts import count_by_user
from philly_analysis.results import (
    Fact,
    Result,
    clustered_share,
    count,
    figures,
    gang_label,
    number,
    share,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace

_LISTED = 3
_FEWEST = 10
"""Fewest attempts of a user that a sentence names."""
_HOURS = """
    total(used_gpu_h), total(unused_gpu_h), total(case when at_limit then used_gpu_h end)
"""
_BY_USER = """
    "user",
    count(*) as attempts,
    count(*) filter (used_frac < 0.1) as over,
    total(unused_gpu_h) as gpu_h
"""


def compute(trace: Trace) -> Result:
    """Compare run times with requested limits, by gang size."""
    table = trace.answer("time_asked").df()
    attempts = trace.answer("limited_runs")
    by_user = count_by_user(attempts, "at_limit, used_frac < 0.1 as tenfold")
    [hours] = attempts.aggregate(_HOURS).fetchall()
    used_h, unused_h, lost_h = (hour or 0.0 for hour in hours)
    ended, tenfold = (
        clustered_share(by_user[hits], by_user["user"], by_user["n"])
        for hits in ("at_limit", "tenfold")
    )
    n = int(by_user["n"].sum())
    middle = table[table["percentile"] == 50].set_index("gang")["used_frac"]
    median = float(middle.get("all", np.nan))
    sizes = figures.ordered(set(middle.index) - {"all"}, GANGS)
    facts = (
        Fact("attempts", n, "ended attempts with a time limit"),
        Fact("used_p50_pct", 100 * median, "median share of the requested time that was used"),
        *gang_facts(
            "used_{}_p50_pct",
            100 * middle[sizes],
            "median share of the requested time that was used",
        ),
        *ended.facts("at_limit", "attempts ended by their time limit"),
        *tenfold.facts("tenfold", "attempts that requested over 10 times their run time"),
        Fact("used_gpu_h", used_h, "GPU hours of ended attempts with a time limit"),
        Fact("unused_gpu_h", unused_h, "GPU hours from the attempts' ends to their time limits"),
        Fact("lost_gpu_h", lost_h, "GPU hours of attempts ended by their time limit"),
    )
    sentences = []
    if n:
        sentences = [
            f"The median of {count(n, 'attempt')} used {share(median)} of the requested "
            f"time. {tenfold} of attempts requested more than ten times their run time.",
            f"{ended} of attempts were ended by their time limit, with {number(lost_h)} GPU hours.",
            f"The attempts requested {number(used_h + unused_h)} GPU hours and used "
            f"{number(used_h)}: limits overestimate the load by a factor of "
            f"{(used_h + unused_h) / used_h:.1f}."
            if used_h > 0
            else f"The attempts requested {number(unused_h)} GPU hours and used none.",
            _largest_requests(attempts.aggregate(_BY_USER).df()),
        ]
    return Result("time_asked", table, facts, sentences, CAVEATS["time_asked"])


def _largest_requests(users: pd.DataFrame) -> str:
    """Name the users who request more than ten times their run time in most attempts."""
    over = (users["attempts"] >= _FEWEST) & (users["over"] * 2 > users["attempts"])
    often = users[over & users["user"].notna()]
    if often.empty:
        return ""
    often = often.sort_values(["gpu_h", "user"], ascending=[False, True])
    listed = ", ".join(
        f"{u['user']} ({u['over']:,} of {u['attempts']:,} attempts, {number(u['gpu_h'])} GPU "
        "hours unused)"
        for u in often.head(_LISTED).to_dict("records")
    )
    return (
        f"{count(len(often), 'user')} of at least {_FEWEST} attempts requested more than ten times "
        f"the run time in more than half of their attempts. Most unused GPU hours: {listed}."
    )


def plot(result: Result) -> Figure:
    """Draw the share of time used as curves, and GPU hours used and unused, by gang size."""
    table = result.table
    fig, [used_ax, hours_ax] = figures.canvas(2, width=9.6, height=3.2)
    if table.empty:
        return figures.empty(fig, "no ended attempt had a time limit")
    groups = table[table["gang"] != "all"]
    sizes = groups.drop_duplicates("gang").set_index("gang")
    figures.cdf(
        used_ax,
        groups.assign(used_pct=100 * groups["used_frac"].clip(upper=1)),
        value="used_pct",
        by="gang",
        colors=figures.GANG_COLORS,
        counts="attempts",
        label=gang_label,
    )
    figures.percent_axis(used_ax, "share of the requested time", axis="x")
    used_ax.set_ylabel("share of attempts")
    figures.label_lines(used_ax)
    figures.title(used_ax, "time used, by gang size")
    gangs = figures.ordered(sizes.index, GANGS)
    asked = sizes[["used_gpu_h", "unused_gpu_h"]].sum(axis=1)[gangs]
    names = {"used": "used_gpu_h", "not used": "unused_gpu_h"}
    figures.bars(
        hours_ax,
        [f"{g}\n{number(h)} GPU h" for g, h in asked.items()],
        {word: list(100 * sizes[c][gangs] / asked.replace(0, 1)) for word, c in names.items()},
        colors=dict(zip(names, (figures.ACCENT, figures.CYCLE[1]), strict=True)),
        stacked=True,
        label="{:.0f} %",
    )
    figures.percent_axis(hours_ax, "share of requested GPU hours")
    figures.legend(hours_ax, beneath=True)
    figures.title(hours_ax, "requested GPU hours")
    return fig


ANALYSIS = Analysis(
    name="time_asked",
    question="How much of their requested time do jobs use?",
    needs=("jobs", "attempts", "jobs.time_limit_s"),
    compute=compute,
    plot=plot,
)
