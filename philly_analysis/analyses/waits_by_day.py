"""Report the median and 90th percentile of waits by day.

Each wait counts on the day on which the wait begins, not on the day of the attempt's start.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.exclusions import excluded
from philly_analysis.results import Fact, Result, duration, figures, number
from philly_analysis.trace import Analysis, Trace


def compute(trace: Trace) -> Result:
    """Compute percentiles of the waits that began on each day, and find the worst days."""
    table = trace.answer("waits_by_day").df()
    worst_day = worst_gpu_h = None
    sentences = []
    median, highest = table["p90_s"].median(), table["p90_s"].max()
    if len(table):
        worst = table.loc[table["gpu_wait_h"].idxmax()]
        worst_day, worst_gpu_h = f"{worst['day']:%Y-%m-%d}", worst["gpu_wait_h"]
        sentences = (
            ["No attempt waited."]
            if not worst_gpu_h
            else [
                f"The 90th percentile of waits is {duration(float(median))} on the median day and "
                f"{duration(float(highest))} on the worst day.",
                f"Most waiting began on {worst_day}: {number(float(worst_gpu_h))} GPU hours.",
            ]
        )
    facts = (
        Fact("days", len(table), "days on which a wait began"),
        Fact("median_day_p90_s", median, "90th percentile of waits on the median day"),
        Fact("worst_day_p90_s", highest, "90th percentile of waits on the worst day"),
        Fact("worst_day", worst_day, "day on which most GPU hours of waiting began"),
        Fact(
            "worst_day_gpu_wait_h",
            worst_gpu_h,
            "GPU hours of waiting (waits times gang sizes) on the worst day",
        ),
    )
    caveats = ("A wait counts on the day on which it began.", *excluded(trace, "wait"))
    return Result("waits_by_day", table, facts, sentences, caveats)


def plot(result: Result) -> Figure:
    """Draw the median and the 90th percentile of waits by day, and the number of waits."""
    table = result.table
    fig, [top, bottom] = figures.canvas(
        1, 2, height=3.6, sharex=True, gridspec_kw={"height_ratios": [2, 1]}
    )
    if table.empty:
        return figures.empty(fig, "no attempt has a trusted wait")
    days = pd.to_datetime(table["day"])
    for column, label, color in (
        ("p50_s", "median", figures.ACCENT),
        ("p90_s", "90th percentile", figures.CYCLE[1]),
    ):
        top.plot(days, table[column].clip(lower=1), ".-", color=color, label=label, linewidth=1.2)
    figures.time_axis(top, axis="y")
    top.set_ylabel("wait")
    figures.daily_columns(bottom, days, table["waits"], color=figures.MUTED)
    bottom.set_ylabel("waits begun")
    bottom.yaxis.set_major_formatter("{x:,.0f}")
    figures.day_axis(bottom)
    figures.label_lines(top)
    return fig


ANALYSIS = Analysis(
    name="waits_by_day",
    question="How do waits change from day to day?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log has no waits: no attempt has a known submission and start.",
)
