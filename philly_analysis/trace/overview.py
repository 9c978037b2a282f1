"""Plot an overview of a trace: submissions, allocated GPUs, and queueing delay by gang size."""

from datetime import date
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.results import figures, gang_label

if TYPE_CHECKING:
    from philly_analysis.trace.trace import Trace

_MIN_WAITS = 5


def overview(trace: "Trace") -> Figure:
    """Plot the overview, by day since the log is complete."""
    fig, axes = figures.canvas(3, width=11, height=3.2)
    fig.suptitle(trace.name, fontsize=10)
    snapshot = trace.answer("snapshot")
    [(since,)] = snapshot.project("coalesce(complete_from, began_at)::date").fetchall()
    _submissions(axes[0], trace, since)
    _allocated(axes[1], trace, since)
    _waits(axes[2], trace)
    return figures.mark_synthetic(fig, synthetic=trace.manifest.synthetic)


def _submissions(ax: Axes, trace: "Trace", since: date) -> None:
    days = trace.answer("jobs").aggregate("submitted_at::date as day, count(*) as jobs").df()
    days = days[days["day"] >= pd.Timestamp(since)]
    figures.title(ax, f"Jobs submitted  n={days['jobs'].sum():,}")
    figures.daily_columns(ax, days["day"], days["jobs"], color=figures.ACCENT)
    figures.day_axis(ax)
    figures.amount_axis(ax, "jobs a day")


def _allocated(ax: Axes, trace: "Trace", since: date) -> None:
    figures.title(ax, "GPUs allocated, daily mean")
    used = trace.answer("vc_days") if trace.has("vc_days") else None
    days = used.aggregate("day, sum(gpu_h) as gpu_h").df() if used else None
    if days is None or days.empty:
        ax.set_axis_off()
        return
    days = days[days["day"] >= pd.Timestamp(since)]
    figures.daily_columns(ax, days["day"], days["gpu_h"] / 24, color=figures.SOFT)
    if trace.has("cluster_size"):
        [(gpus,)] = trace.answer("cluster_size").project("gpus").fetchall()
        figures.capacity_line(ax, gpus)
        ax.set_ylim(0, 1.1 * max(gpus, ax.get_ylim()[1] / 1.05))
    figures.day_axis(ax)
    figures.amount_axis(ax, "GPUs")


def _waits(ax: Axes, trace: "Trace") -> None:
    figures.title(ax, "Queueing delay by gang size")
    waits = trace.answer("queueing_delay") if trace.has("queueing_delay") else None
    rows = waits.filter(f"vc is null and waits >= {_MIN_WAITS}").df() if waits else None
    if rows is None or rows.empty:
        ax.set_axis_off()
        return
    figures.cdf(
        ax,
        rows.assign(wait_s=rows["wait_s"].clip(lower=1)),
        value="wait_s",
        by="gang",
        colors=figures.GANG_COLORS,
        label=gang_label,
    )
    figures.time_axis(ax)
    ax.set(xlabel="queueing delay", ylabel="share of attempts")
    figures.label_lines([ax])
