"""Report empty servers by the share of GPUs in use (ATC'19, section 3.1).

Gangs of one pool cannot use empty servers of another. Only GPUs known to exist count.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, count_note, figures, percent
from philly_analysis.trace import Analysis, Trace

_TWO_THIRDS = (64, 69)
"""Whole percentages of use that count as two thirds."""


def compute(trace: Trace) -> Result:
    """Weight each level of use by its time, and report the empty servers at that level.

    Levels are per pool. Numbers for several pools are weighted by their GPUs.
    """
    table = trace.answer("occupancy").df()
    sizes = table.groupby("pool")["gpus"].first()
    gpu_h = table["hours"] * table["gpus"]
    hours = float(gpu_h.sum() / sizes.sum()) if len(sizes) else 0.0
    near = table[table["used_pct"].between(*_TWO_THIRDS)]
    full_h = float(gpu_h[table["used_pct"] >= 67].sum() / sizes.sum()) if len(sizes) else 0.0
    mean_pct = _mean(table, "used_pct") if hours else None
    empty_pct, partly_pct = _mean(near, "empty_pct"), _mean(near, "partly_pct")
    facts = (
        Fact("hours", hours, "hours from the first start to the last end"),
        *([Fact("pools", len(sizes), "pools of servers")] if len(sizes) > 1 else []),
        Fact("mean_used_pct", mean_pct, "GPUs in use, mean over time, rounded down"),
        Fact("hours_above_two_thirds", full_h, "hours with at least two thirds of the GPUs in use"),
        Fact("empty_at_two_thirds_pct", empty_pct, "empty servers at 64-69 % of GPUs in use"),
        Fact("partly_at_two_thirds_pct", partly_pct, "partly used servers meanwhile"),
    )
    sentences = []
    if mean_pct is not None:
        sentences.append(f"On average {mean_pct:.0f} % of the GPUs are in use.")
        several = len(sizes) > 1
        if empty_pct is None:
            which = "No pool" if several else "The cluster"
            sentences.append(f"{which} was {'ever' if several else 'never'} two thirds full.")
        else:
            where, whose = (f" of one of the {len(sizes)} pools", "its") if several else ("", "the")
            sentences.append(
                f"When two thirds of the GPUs{where} are in use, {percent(empty_pct)} of {whose} "
                f"servers are empty and {percent(partly_pct or 0)} partly used."
            )
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    [gaps] = trace.answer("placement_gaps").df().itertuples(index=False)
    caveats = (
        count_note(gaps.spells, "interval", " with several attempts on a GPU, which counts once."),
        count_note(log.attempts_endless, "attempt", " of unknown end, whose GPUs count as free."),
        count_note(gaps.unused_machines, "machine", " without any job: counted as empty."),
    )
    return Result("occupancy", table, facts, sentences, caveats)


def _mean(rows: pd.DataFrame, column: str) -> float | None:
    """Return the mean of a column weighted by GPU hours; None without any."""
    gpu_h = rows["hours"] * rows["gpus"]
    return float((rows[column] * gpu_h).sum() / gpu_h.sum()) if gpu_h.sum() else None


def _over_pools(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per level of use: the mean over pools, weighted by GPU hours."""
    means = ["hours", "empty_pct", "partly_pct"]
    gpu_h = table["hours"] * table["gpus"]
    weighted = table[means].mul(gpu_h, axis="index")
    levels = pd.concat([table["used_pct"], gpu_h.rename("gpu_h"), weighted], axis="columns")
    sums = levels.groupby("used_pct").sum()
    extremes = table.groupby("used_pct").agg({"empty_min_pct": "min", "empty_max_pct": "max"})
    return sums[means].div(sums["gpu_h"], axis="index").join(extremes).reset_index()


def plot(result: Result) -> Figure:
    """Draw empty and partly used servers over the share of GPUs in use, and its time."""
    table = _over_pools(result.table)
    fig, [top, bottom] = figures.canvas(
        1, 2, height=3.9, sharex=True, gridspec_kw={"height_ratios": [3, 1]}
    )
    if table.empty:
        return figures.empty(fig, "no GPU was in use")
    x = table["used_pct"] + 0.5
    least, most = table["empty_min_pct"], table["empty_max_pct"]
    top.fill_between(x, least, most, color=figures.ACCENT, alpha=0.15, linewidth=0)
    top.plot(x, table["empty_pct"], color=figures.ACCENT, label="empty")
    top.plot(x, table["partly_pct"], color=figures.CYCLE[1], label="partly used")
    top.axvline(200 / 3, color=figures.MUTED, linestyle=":", label="two thirds in use")
    figures.percent_axis(top, "share of servers")
    figures.title(top, "mean over hours; shaded: range of empty servers")
    bottom.bar(x, table["hours"], width=1, color=figures.MUTED)
    bottom.set_ylabel("hours")
    figures.percent_axis(bottom, "share of GPUs in use", axis="x")
    bottom.set_xlim(0, 101)
    figures.label_lines(top)
    return fig


ANALYSIS = Analysis(
    name="occupancy",
    question="How full is the cluster, and how many servers are empty meanwhile?",
    needs=("jobs", "attempts", "placements", "machines"),
    compute=compute,
    plot=plot,
    all_jobs=True,
)
