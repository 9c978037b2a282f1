"""Waits day by day: what operators ask for first.

A wait counts on the day on which it began, so that a day with long waits may be the day before
the cluster was full.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.exclusions import left_out
from philly_analysis.results import Fact, Result, duration, figures
from philly_analysis.trace import Trace

QUESTION = "How do waits change from day to day?"
NEEDS = ("jobs", "attempts")


def compute(trace: Trace) -> Result:
    """Give the waits that began on each day, and the worst days."""
    table = trace.answer("waits_by_day").df()
    worst = table.loc[table["gpu_wait_h"].idxmax()] if len(table) else None
    facts = (
        Fact("days", len(table), "days on which a wait began"),
        Fact("median_day_p90_s", table["p90_s"].median(), "90th percentile on the median day"),
        Fact("worst_day_p90_s", table["p90_s"].max(), "the highest of all days"),
        Fact(
            "worst_day",
            None if worst is None else f"{worst['day']:%Y-%m-%d}",
            "day on which most GPU hours of waiting began",
        ),
        Fact(
            "worst_day_gpu_wait_h",
            None if worst is None else worst["gpu_wait_h"],
            "waits times gang sizes that began on it",
        ),
    )
    said = []
    if worst is not None:
        said = [
            f"On the median day 90 % of attempts wait no longer than "
            f"{duration(float(table['p90_s'].median()))}; on the worst, "
            f"{duration(float(table['p90_s'].max()))}.",
            f"Most waiting began on {worst['day']:%Y-%m-%d}: {worst['gpu_wait_h']:,.0f} GPU hours.",
        ]
    return Result(
        name="waits_by_day",
        table=table,
        facts=facts,
        sentences=tuple(said),
        caveats=("A wait counts on the day on which it began.", *left_out(trace, "wait")),
    )


def plot(result: Result) -> Figure:
    """Draw the median and the 90th percentile of waits by day, over the number of waits."""
    table = result.table
    fig, [top, bottom] = figures.canvas(
        1, 2, height=3.6, sharex=True, gridspec_kw={"height_ratios": [2, 1]}
    )
    if table.empty:
        return figures.empty(fig, "no attempt has a trusted wait")
    days = pd.to_datetime(table["day"])
    for column, label, color in (
        ("p50_s", "median", figures.ACCENT),
        ("p90_s", "90 % wait no longer", figures.CYCLE[1]),
    ):
        top.plot(days, table[column].clip(lower=1), ".-", color=color, label=label, linewidth=1.2)
    figures.time_axis(top, axis="y")
    top.set_ylabel("wait")
    figures.columns(bottom, days, table["waits"], color=figures.MUTED)
    bottom.set_ylabel("waits begun")
    bottom.yaxis.set_major_formatter("{x:,.0f}")
    figures.day_axis(bottom)
    figures.name_lines(top)
    return fig
