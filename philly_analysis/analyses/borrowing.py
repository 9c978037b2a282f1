"""Report which virtual clusters borrow quota, and which wait although their own quota would do.

The rules of borrowing and lending are Kueue's. GPU hours count from the reservation of the quota.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, duration, figures, number, share
from philly_analysis.trace import Analysis, Trace


def compute(trace: Trace) -> Result:
    """Add up borrowed GPU hours, and hours of waiting for quota, by virtual cluster."""
    table = trace.answer("borrowing").df()
    sums = table[["gpu_h", "borrowed_gpu_h", "quota_wait_h", "starved_h"]].sum()
    borrower = _largest(table, "borrowed_gpu_h")
    starved = _largest(table, "starved_h")
    facts = [
        Fact("gpu_h", float(sums["gpu_h"]), "GPU hours that virtual clusters of cohorts used"),
        Fact("borrowed_gpu_h", float(sums["borrowed_gpu_h"]), "GPU hours beyond the quotas"),
        Fact("quota_wait_h", float(sums["quota_wait_h"]), "hours that attempts waited for quota"),
        Fact(
            "starved_h",
            float(sums["starved_h"]),
            "hours that attempts waited within their own quota, which others had borrowed",
        ),
        Fact("borrower", borrower, "virtual cluster that borrowed most GPU hours"),
        Fact("most_starved", starved, "virtual cluster that waited longest for lent quota"),
    ]
    return Result("borrowing", table, facts, _sentences(table, borrower, starved), ())


def _largest(table: pd.DataFrame, column: str) -> str | None:
    """Return the virtual cluster with most of a column; None where all have none."""
    rows = table[table[column] > 0].sort_values([column, "vc"], ascending=[False, True])
    return str(rows["vc"].iloc[0]) if len(rows) else None


def _sentences(table: pd.DataFrame, borrower: str | None, starved: str | None) -> list[str]:
    if table.empty:
        return []
    rows = table.set_index("vc")
    borrowed_h, used_h = float(table["borrowed_gpu_h"].sum()), float(table["gpu_h"].sum())
    if borrower is None or used_h <= 0:
        sentences = ["No virtual cluster used more than its quota."]
    else:
        sentences = [
            f"{share(borrowed_h / used_h)} of {number(used_h)} GPU hours were borrowed. Largest "
            f"borrower: {borrower}, {number(float(rows['borrowed_gpu_h'][borrower]))} GPU hours, "
            f"and up to {int(rows['most_borrowed'][borrower]):,} GPUs beyond its quota."
        ]
    if starved is None:
        return [*sentences, "No job waited for quota that others had borrowed."]
    hours = float(table["starved_h"].sum())
    return [
        *sentences,
        f"Jobs waited {duration(3600 * hours)} within their own quota, which others had borrowed. "
        f"The longest such wait was {starved}'s: "
        f"{duration(3600 * float(rows['starved_h'][starved]))}.",
    ]


def plot(result: Result) -> Figure:
    """Draw borrowed GPU hours, and hours of waiting for lent quota, by virtual cluster."""
    fig, axes = figures.canvas(2, width=9.6, height=3.2)
    table = result.table
    if table.empty:
        return figures.empty(fig, "no virtual cluster belongs to a cohort")
    for ax, column, title in zip(
        axes,
        ("borrowed_gpu_h", "starved_h"),
        ("GPU hours beyond the quota", "Hours waited for lent quota"),
        strict=True,
    ):
        rows = table.nlargest(10, column).iloc[::-1]
        labels = [number(float(value)) for value in rows[column]]
        figures.hbars(ax, list(rows["vc"]), rows[column], labels, color=figures.ACCENT, space=1.35)
        figures.amount_axis(ax, title, axis="x")
        figures.title(ax, f"{title}, by virtual cluster")
    return fig


ANALYSIS = Analysis(
    name="borrowing",
    question="Who borrows quota, and who waits although the own quota would do?",
    needs=("jobs", "attempts", "placements", "machines", "virtual_clusters", "cohorts"),
    compute=compute,
    plot=plot,
)
