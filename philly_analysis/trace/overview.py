"""Plot an overview of a trace: submissions, allocated GPUs, and queueing delay by gang size."""

from collections.abc import Callable
from datetime import date

import duckdb
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.results import figures, gang_label

_MIN_WAITS = 5


def overview(
    name: str,
    answer: Callable[[str], duckdb.DuckDBPyRelation],
    has: Callable[[str], bool],
    *,
    synthetic: bool,
) -> Figure:
    """Plot the overview, by day since the log is complete.

    Parameters
    ----------
    name
        Title of the figure.
    answer
        Returns a table or relation by name.
    has
        Returns whether the trace can answer it.
    synthetic
        Mark the figure as of synthetic data.
    """
    fig, axes = figures.canvas(3, width=11, height=3.2)
    fig.suptitle(name, fontsize=10)
    [(since,)] = answer("snapshot").project("coalesce(complete_from, began_at)::date").fetchall()
    _submissions(axes[0], answer, since)
    _allocated(axes[1], answer, has, since)
    _waits(axes[2], answer, has)
    return figures.mark_synthetic(fig, synthetic=synthetic)


def _submissions(ax: Axes, answer: Callable[[str], duckdb.DuckDBPyRelation], since: date) -> None:
    days = answer("jobs").aggregate("submitted_at::date as day, count(*) as jobs").df()
    days = days[days["day"] >= pd.Timestamp(since)]
    figures.title(ax, f"Jobs submitted  n={days['jobs'].sum():,}")
    figures.daily_columns(ax, days["day"], days["jobs"], color=figures.ACCENT)
    figures.day_axis(ax)
    figures.amount_axis(ax, "jobs a day")


def _allocated(
    ax: Axes,
    answer: Callable[[str], duckdb.DuckDBPyRelation],
    has: Callable[[str], bool],
    since: date,
) -> None:
    figures.title(ax, "GPUs allocated, daily mean")
    days = answer("vc_days").aggregate("day, sum(gpu_h) as gpu_h").df() if has("vc_days") else None
    if days is None or days.empty:
        ax.set_axis_off()
        return
    days = days[days["day"] >= pd.Timestamp(since)]
    figures.daily_columns(ax, days["day"], days["gpu_h"] / 24, color=figures.SOFT)
    if has("cluster_size"):
        [(gpus,)] = answer("cluster_size").project("gpus").fetchall()
        figures.capacity_line(ax, gpus)
        ax.set_ylim(0, 1.1 * max(gpus, ax.get_ylim()[1] / 1.05))
    figures.day_axis(ax)
    figures.amount_axis(ax, "GPUs")


def _waits(
    ax: Axes, answer: Callable[[str], duckdb.DuckDBPyRelation], has: Callable[[str], bool]
) -> None:
    figures.title(ax, "Queueing delay by gang size")
    waits = answer("queueing_delay").filter("vc is null") if has("queueing_delay") else None
    rows = waits.filter(f"waits >= {_MIN_WAITS}").df() if waits else None
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
