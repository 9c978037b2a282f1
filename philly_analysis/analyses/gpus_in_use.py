"""GPUs in use over time, by virtual cluster.

Means of whole days: within a day use is higher and lower. A GPU is in use while an attempt holds
it, whether or not anything runs on it.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, figures, share
from philly_analysis.trace import Trace

QUESTION = "How many GPUs are in use over time, and by whom?"
NEEDS = ("jobs", "attempts")

_SHOWN = 7


def compute(trace: Trace) -> Result:
    """Give the mean number of GPUs in use by day and virtual cluster, and the peak."""
    table = trace.answer("gpus_in_use").df()
    per_day = table.groupby("day")["mean_gpus"].sum()
    by_vc = table.groupby("vc")["mean_gpus"].sum().sort_values(ascending=False)
    capacity = None
    if "machines" in trace.tables:
        [capacity] = trace.answer("cluster_size").df()["gpus"].to_list()
    facts = (
        Fact("capacity_gpus", capacity, "GPUs of the cluster"),
        Fact("busiest_day_gpus", per_day.max(), "GPUs in use on the busiest day, mean"),
        Fact("median_day_gpus", per_day.median(), "GPUs in use on the median day, mean"),
        Fact(
            "largest_vc_pct",
            100 * by_vc.iloc[0] / by_vc.sum() if len(by_vc) else None,
            "GPU time of the virtual cluster that used most",
        ),
    )
    said = []
    if len(per_day):
        busiest = pd.Timestamp(str(per_day.idxmax()))
        said.append(
            f"On the median day {per_day.median():,.0f} GPUs are in use, on the busiest "
            f"({busiest:%Y-%m-%d}) {per_day.max():,.0f}"
            f"{f' of {capacity:,}' if capacity else ''}."
        )
        if len(by_vc) > 1:
            said.append(
                f"{by_vc.index[0]} alone takes {share(by_vc.iloc[0] / by_vc.sum())} of GPU time."
            )
    return Result(
        name="gpus_in_use",
        table=table,
        facts=facts,
        sentences=tuple(said),
        caveats=("Means of whole days: the first and the last day of the log are partial.",)
        if len(per_day)
        else (),
    )


def plot(result: Result) -> Figure:
    """Draw GPUs in use by day, stacked by virtual cluster, the smaller ones pooled."""
    table = result.table
    fig, [ax] = figures.canvas(height=3.2)
    if table.empty:
        return figures.empty(fig, "no GPU was held")
    sums = table.groupby("vc")["mean_gpus"].sum().sort_values(ascending=False)
    shown = list(sums.index[:_SHOWN])
    pooled = table.assign(vc=table["vc"].where(table["vc"].isin(shown), "others"))
    wide = pooled.pivot_table(
        index="day", columns="vc", values="mean_gpus", aggfunc="sum", fill_value=0.0
    )
    wide.index = pd.to_datetime(wide.index)
    wide = wide.asfreq("D", fill_value=0.0)
    edges = pd.date_range(wide.index[0], periods=len(wide) + 1)
    bottom = pd.Series(0.0, index=wide.index)
    names = [n for n in (*shown, "others") if n in wide]
    for i, name in enumerate(names):
        color = figures.MUTED if name == "others" else figures.CYCLE[i % len(figures.CYCLE)]
        top = bottom + wide[name]
        ax.stairs(top, edges, baseline=bottom, fill=True, color=color, label=figures.plain(name))
        bottom = top
    capacity = result.fact("capacity_gpus")
    if isinstance(capacity, int) and capacity:
        ax.axhline(capacity, color=figures.INK, linestyle=":", linewidth=1)
        ax.annotate(
            f"{capacity:,} GPUs",
            (1, capacity),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
        )
        ax.set_ylim(0, 1.1 * max(capacity, float(bottom.max())))
    ax.set_ylabel("GPUs in use, mean of the day")
    figures.day_axis(ax)
    figures.legend(ax, "VC", loc="upper left", bbox_to_anchor=(1, 1))
    return fig
