"""The jobs that models are fitted to, exports carry and what-ifs run, and the others, by reason.

Survivors of a time before the log (left truncated) are few, long and stretch the log: with them,
loads and run times would be those of survivors. Jobs without an attempt have no run time, and are
left out whatever kept them waiting.
"""

import pandas as pd
import polars as pl
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, figures
from philly_analysis.trace import Trace
from philly_analysis.workload import account

QUESTION = "Which jobs can be run again, and which are left out?"
NEEDS = ("jobs", "attempts")

_COLORS = {
    "ended": figures.ACCENT,
    "still running": figures.CYCLE[1],
    "left out": figures.MUTED,
}


def compute(trace: Trace) -> Result:
    """Count the jobs and GPU hours of the workload, and of what is left out of it."""
    table = trace.answer("workload_account").df()
    mine, out = table[table["part"] != "left out"], table[table["part"] == "left out"]
    jobs, gpu_h = int(mine["jobs"].sum()), float(mine["gpu_h"].sum())
    running = int(mine.loc[mine["part"] == "still running", "jobs"].sum())
    left_out = pl.DataFrame(
        out.sort_values(["jobs", "why"], ascending=[False, True])[["why", "jobs", "gpu_h"]]
    )
    said = account(jobs, gpu_h, running, left_out)
    everything = f"The workload is all {jobs:,} jobs, {gpu_h:,.0f} GPU hours." if jobs else ""
    return Result(
        name="workload_account",
        table=table,
        facts=(
            Fact("jobs", jobs, "jobs in the workload"),
            Fact("gpu_h", gpu_h, "their GPU hours"),
            Fact("running", running, "of these jobs, those that still ran as the log ended"),
            Fact("left_out", int(out["jobs"].sum()), "jobs left out"),
            Fact("left_out_gpu_h", float(out["gpu_h"].sum()), "their GPU hours, where known"),
        ),
        sentences=said or tuple(filter(None, [everything])),
        caveats=(
            "Models, exports and what-ifs take these jobs and no others; other findings count "
            "more, and say which.",
        ),
    )


def plot(result: Result) -> Figure:
    """Draw two stacked bars: all jobs, and all their GPU hours, by part."""
    table = result.table
    fig, [ax] = figures.canvas(height=2.2)
    if table.empty:
        return figures.empty(fig, "no jobs")
    parts: pd.DataFrame = table.groupby("part")[["gpu_h", "jobs"]].sum()
    totals = parts.sum().replace(0, 1)
    left = [0.0, 0.0]
    for part in figures.ordered(parts.index, list(_COLORS)):
        values = [100 * float(parts[c][part]) / float(totals[c]) for c in ("gpu_h", "jobs")]
        drawn = ax.barh(
            ["GPU hours", "jobs"],
            values,
            left=left,
            height=0.6,
            label=part,
            color=_COLORS[part],
        )
        ink = figures.readable(_COLORS[part])
        labels = [f"{v:.1f} %" if v >= 6 else "" for v in values]
        ax.bar_label(drawn, labels, label_type="center", color=ink, fontsize=8.5)
        left = [a + b for a, b in zip(left, values, strict=True)]
    figures.percent_axis(ax, "share", axis="x")
    ax.grid(visible=False, axis="y")
    figures.title(
        ax, f"n = {int(table['jobs'].sum()):,} jobs, {table['gpu_h'].sum():,.0f} GPU hours"
    )
    figures.legend(ax, beneath=True)
    return fig
