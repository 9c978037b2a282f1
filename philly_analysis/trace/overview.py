"""Plot an overview of a trace: submissions, allocated GPUs, and queueing delay by gang size."""

from collections.abc import Callable
from datetime import date

import duckdb
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.results import figures, gang_label

Answer = Callable[[str], duckdb.DuckDBPyRelation]
"""Returns a table or relation by its name."""
_MIN_WAITS = 5


def overview(name: str, answer: Answer, gpus: int | None, *, synthetic: bool) -> Figure:
    """Plot the overview, by day since the log is complete; without waits if no gang waited.

    Parameters
    ----------
    name
        Title of the figure.
    gpus
        GPUs of the cluster, if known.
    synthetic
        Mark the figure as of synthetic data.
    """
    delays = answer("queueing_delay").filter(f"vc is null and waits >= {_MIN_WAITS}").df()
    waited = bool(delays["wait_s"].any())
    fig, axes = figures.canvas(3 if waited else 2, width=11, height=3.2)
    fig.suptitle(name, fontsize=10)
    [(since,)] = answer("snapshot").project("coalesce(complete_from, began_at)::date").fetchall()
    _submissions(axes[0], answer, since)
    _allocated(axes[1], answer, since, gpus)
    if waited:
        _waits(axes[2], delays)
    return figures.mark_synthetic(fig, synthetic=synthetic)


def _submissions(ax: Axes, answer: Answer, since: date) -> None:
    days = answer("jobs").aggregate("submitted_at::date as day, count(*) as jobs").df()
    days = days[days["day"] >= pd.Timestamp(since)]
    figures.title(ax, f"Jobs submitted  n={days['jobs'].sum():,}")
    figures.daily_columns(ax, days["day"], days["jobs"], color=figures.ACCENT)
    figures.day_axis(ax)
    figures.amount_axis(ax, "jobs a day")


def _allocated(ax: Axes, answer: Answer, since: date, gpus: int | None) -> None:
    days = answer("vc_days").aggregate("day, sum(gpu_h) as gpu_h").df()
    if days.empty:
        figures.title(ax, "GPUs allocated: the starts of attempts are not known")
        ax.set_axis_off()
        return
    figures.title(ax, "GPUs allocated, daily mean")
    days = days[days["day"] >= pd.Timestamp(since)]
    figures.daily_columns(ax, days["day"], days["gpu_h"] / 24, color=figures.SOFT)
    if gpus is not None:
        figures.capacity_line(ax, gpus)
        ax.set_ylim(0, 1.1 * max(gpus, ax.get_ylim()[1] / 1.05))
    figures.day_axis(ax)
    figures.amount_axis(ax, "GPUs")


def _waits(ax: Axes, rows: pd.DataFrame) -> None:
    figures.title(ax, "Queueing delay by gang size")
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
