"""Count the jobs in the workload of models, exports and simulations, and the excluded jobs.

Jobs from before the log is complete (left truncated) are few and long, and would bias loads and
run times. Jobs without an attempt have no run time and are excluded.
"""

import pandas as pd
import polars as pl
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.results import Fact, Result, count, figures, number
from philly_analysis.trace import Analysis, Trace
from philly_analysis.workload import account

_COLORS = {
    "ended": figures.ACCENT,
    "still running": figures.CYCLE[1],
    "left out": figures.MUTED,
}


def compute(trace: Trace) -> Result:
    """Count the jobs and GPU hours of the workload and of excluded jobs."""
    table = trace.answer("workload_account").df()
    inside, out = table[table["part"] != "left out"], table[table["part"] == "left out"]
    jobs, gpu_h = int(inside["jobs"].sum()), float(inside["gpu_h"].sum())
    running = int(inside.loc[inside["part"] == "still running", "jobs"].sum())
    reasons = pl.DataFrame(
        out.sort_values(["jobs", "why"], ascending=[False, True])[["why", "jobs", "gpu_h"]]
    )
    complete = ""
    if jobs:
        complete = f"The workload is every job: {count(jobs, 'job')}, {number(gpu_h)} GPU hours."
    facts = (
        Fact("jobs", jobs, "jobs in the workload"),
        Fact("gpu_h", gpu_h, "GPU hours of the workload"),
        Fact("running", running, "jobs of the workload that are running at the end of the log"),
        Fact("left_out", int(out["jobs"].sum()), "excluded jobs"),
        Fact(
            "left_out_gpu_h",
            float(out["gpu_h"].sum()),
            "GPU hours of excluded jobs with a known run time",
        ),
    )
    sentences = account(jobs, gpu_h, running, reasons) or [complete]
    return Result("workload_account", table, facts, sentences, CAVEATS["workload_account"])


def plot(result: Result) -> Figure:
    """Draw two stacked bars, jobs and GPU hours, by part."""
    table = result.table
    fig, [ax] = figures.canvas(height=2.2)
    if table.empty:
        return figures.empty(fig, "no jobs")
    parts: pd.DataFrame = table.groupby("part")[["gpu_h", "jobs"]].sum()
    pct = (100 * parts / parts.sum().replace(0, 1)).add_suffix("_pct")
    pct = pct.loc[figures.ordered(pct.index, list(_COLORS))]
    figures.job_shares(
        ax,
        pct.rename({"left out": "excluded"}),
        _COLORS | {"excluded": _COLORS["left out"]},
        "GPU hours",
    )
    n, gpu_h = int(table["jobs"].sum()), table["gpu_h"].sum()
    figures.title(ax, f"n = {n:,} jobs, {gpu_h:,.0f} GPU hours")
    return fig


ANALYSIS = Analysis(
    name="workload_account",
    question="Which jobs are in the workload, and which are excluded?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
)
