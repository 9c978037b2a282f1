"""Report GPUs in use over time, by virtual cluster.

Values are means of days, within which use varies; the peak is the most at one moment. A GPU is in
use while an attempt holds it, whether or not a kernel runs.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, figures, percent
from philly_analysis.trace import Analysis, Trace

_SHOWN = 7
_SHORT_DAYS = 2
"""Length up to which a log may have no whole day, so that means of days say little."""


def compute(trace: Trace) -> Result:
    """Compute the mean number of GPUs in use by day and virtual cluster, and its peak."""
    table = trace.answer("gpus_in_use").df()
    per_day = table.groupby("day")["mean_gpus"].sum()
    by_vc = table.groupby("vc")["mean_gpus"].sum().sort_values(ascending=False)
    largest_pct = 100 * by_vc.iloc[0] / by_vc.sum() if len(by_vc) else None
    capacity = None
    if "machines" in trace.tables:
        [capacity] = trace.answer("cluster_size").df()["gpus"].to_list()
    [(peak, log_s)] = trace.answer("peak_use").fetchall()
    facts = (
        Fact("peak_gpus", peak, "most GPUs in use at once"),
        Fact("log_days", (log_s or 0) / 86_400, "days from the first submission to the end"),
        Fact("capacity_gpus", capacity, "GPUs of the cluster"),
        Fact("busiest_day_gpus", per_day.max(), "mean GPUs in use on the busiest day"),
        Fact("median_day_gpus", per_day.median(), "mean GPUs in use on the median day"),
        Fact("largest_vc_pct", largest_pct, "GPU time of the virtual cluster that used most"),
    )
    sentences = []
    whole_days = (log_s or 0) >= _SHORT_DAYS * 86_400
    if len(per_day):
        busiest = pd.Timestamp(str(per_day.idxmax()))
        of_all = f" of {capacity:,}" if capacity else ""
        if whole_days:
            sentences.append(
                f"GPUs in use: {per_day.median():,.0f} on the median day, {per_day.max():,.0f}"
                f"{of_all} on the busiest ({busiest:%Y-%m-%d})."
            )
        sentences.append(f"At most {peak:,}{of_all} GPUs were in use at once.")
        if len(by_vc) > 1 and largest_pct is not None:
            sentences.append(f"{by_vc.index[0]} uses {percent(largest_pct)} of the GPU time.")
    caveats = [
        "Values are means of whole days: the first and the last day of the log are partial."
        if whole_days
        else "",
        "Each attempt counts where the log places several attempts on one GPU at once, so that a "
        "day may exceed the cluster."
        if capacity and per_day.max() > capacity
        else "",
    ]
    return Result("gpus_in_use", table, facts, sentences, caveats if len(per_day) else [])


def plot(result: Result) -> Figure:
    """Draw GPUs in use by day, stacked by virtual cluster, with small virtual clusters combined."""
    table = result.table
    fig, [ax] = figures.canvas(height=3.2)
    if table.empty:
        return figures.empty(fig, "no GPU was in use")
    days = result.fact("log_days")
    if isinstance(days, float) and days < _SHORT_DAYS:
        return figures.empty(fig, "the log has no whole day")
    sums = table.groupby("vc")["mean_gpus"].sum().sort_values(ascending=False)
    shown = list(sums.index[:_SHOWN])
    combined = table.assign(vc=table["vc"].where(table["vc"].isin(shown), "others"))
    wide = combined.pivot_table(
        index="day", columns="vc", values="mean_gpus", aggfunc="sum", fill_value=0.0
    )
    wide.index = pd.to_datetime(wide.index)
    wide = wide.asfreq("D", fill_value=0.0)[[n for n in (*shown, "others") if n in wide]]
    colors = [
        figures.MUTED if name == "others" else figures.CYCLE[i % len(figures.CYCLE)]
        for i, name in enumerate(wide)
    ]
    labels = [figures.literal(name) for name in wide]
    highest = figures.stacked_steps(ax, wide, colors, labels=labels)
    capacity = result.fact("capacity_gpus")
    if isinstance(capacity, int) and capacity:
        figures.capacity_line(ax, capacity)
        ax.set_ylim(0, 1.1 * max(capacity, highest))
    ax.set_ylabel("GPUs in use, mean of the day")
    figures.day_axis(ax)
    figures.legend(ax, "virtual cluster", loc="upper left", bbox_to_anchor=(1, 1))
    return fig


ANALYSIS = Analysis(
    name="gpus_in_use",
    question="How many GPUs are in use over time, and by which virtual clusters?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log does not show GPUs in use: no attempt has a known start and end.",
)
