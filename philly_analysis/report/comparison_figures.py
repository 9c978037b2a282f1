"""Draw a comparison of traces: times, groups that gain or lose, activity over time."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.report.comparison_groups import GroupChange, changes_in
from philly_analysis.results import Result, gang_label
from philly_analysis.results.figures import (
    CYCLE,
    Panel,
    amount_axis,
    bars,
    canvas,
    cdf,
    effect_color,
    empty,
    forest_panels,
    label_lines,
    legend,
    literal,
    shorten,
    time_axis,
    title,
)

_LONGEST_NAME = 22
_HEADINGS = {"gang": "By gang size", "vc": "By virtual cluster"}


def trace_colors(table: pd.DataFrame) -> dict[str, str]:
    """Return a colour per trace, in order."""
    names = dict.fromkeys(table["trace"])
    return {name: CYCLE[i % len(CYCLE)] for i, name in enumerate(names)}


def single_numbers(table: pd.DataFrame) -> "pd.Series[float]":
    """Return the single numbers of a comparison by trace and measure; NaN: not known."""
    rows = table[table["percentile"].isna() & table["by"].isna()]
    return rows.set_index(["trace", "measure"])["value"].astype(float)


def plot(result: Result) -> Figure:
    """Draw the distributions of completion times and waits, and the use of GPU time."""
    fig, axes = canvas(3, width=11, height=3.6)
    _distributions(axes[0], axes[1], result.table)
    single, colors = single_numbers(result.table), trace_colors(result.table)
    parts = {"allocated": "held_frac", "idle on partly\nused servers": "fragmented_frac"}
    bars(
        axes[2],
        list(parts),
        {n: [100 * single[n, m] for m in parts.values()] for n in colors},
        colors=colors,
    )
    axes[2].set(ylabel="share of GPU time, %", ylim=(0, 105))
    return fig


def plot_times(result: Result) -> Figure:
    """Draw the distribution of completion times above the distribution of waits."""
    if result.table["percentile"].isna().all():
        return empty(canvas()[0], "no job ended")
    fig, [jct, wait] = canvas(1, 2, width=4.6, height=4.6)
    _distributions(jct, wait, result.table)
    return fig


def _distributions(jct: Axes, wait: Axes, table: pd.DataFrame) -> None:
    colors, single = trace_colors(table), single_numbers(table)
    counts = {name: int(single[name, "jobs"]) for name in colors}
    for ax, curve, label in (
        (jct, "jct_s", "job completion time"),
        (wait, "wait_s", "queueing delay (wait)"),
    ):
        rows = table[(table["measure"] == curve) & table["percentile"].notna()]
        rows = rows.assign(value=rows["value"].clip(lower=1))  # where the axis begins
        cdf(ax, rows, value="value", by="trace", colors=colors, counts=counts)
        time_axis(ax, 1, max([60.0, *rows["value"]]))
        ax.set(xlabel=label, ylabel="share of jobs")
    label_lines([jct, wait])


def plot_groups(result: Result) -> Figure:
    """Draw a forest plot of the change of the mean completion time by gang size and cluster."""
    changes = [change for change in changes_in(result.table) if change.by != "user"]
    parts = [(trace, by) for trace, by in dict.fromkeys((c.trace, c.by) for c in changes)]
    if not parts:
        return empty(canvas()[0], "no groups")
    several = len({trace for trace, _ in parts}) > 1
    panels = [
        Panel(
            _HEADINGS[by] + (f", {trace}" if several else ""),
            [
                (_label(c), c.change, effect_color(c.change))
                for c in changes
                if (c.trace, c.by) == (trace, by)
            ],
        )
        for trace, by in parts
    ]
    return forest_panels(panels, "change of the mean completion time, %")


def _label(change: GroupChange) -> str:
    if change.by == "gang":
        return gang_label(change.group)
    return literal(shorten(change.group, _LONGEST_NAME))


def plot_activity(result: Result) -> Figure:
    """Draw the GPUs allocated and waited for over the time since the first submission."""
    rows = result.table[result.table["by"] == "time"]
    if rows.empty:
        return empty(canvas()[0], "no attempts with times")
    fig, axes = canvas(1, 2, width=4.6, height=4.6, sharex=True)
    for (name, measure), line in rows.groupby(["trace", "measure"], sort=False):
        at = pd.to_datetime(line["group"])
        width = at.iloc[1] - at.iloc[0]
        days = ((at - at.iloc[0]) / pd.Timedelta(days=1)).to_numpy()
        edges = [*days, days[-1] + width / pd.Timedelta(days=1)]
        ax = axes[measure == "waiting_gpus"]
        ax.stairs(
            line["value"],
            edges,
            color=trace_colors(result.table)[str(name)],
            label=literal(name),
            lw=1.4,
        )
    for ax, what in zip(axes, ("GPUs allocated", "GPUs waited for"), strict=True):
        ax.set_ylim(bottom=0)
        title(ax, what)
        amount_axis(ax, "GPUs")
    legend(axes[0])
    axes[1].set_xlabel("days since the first submission")
    return fig
