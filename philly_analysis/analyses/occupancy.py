"""Empty servers at each level of use of the cluster (ATC'19, section 3.1).

Levels of use are of the whole cluster; with pools of different GPUs empty servers of one do not
help gangs of another. Only GPUs known to be there count.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside
from philly_analysis.results import Fact, Result, count, figures, share
from philly_analysis.trace import Trace

QUESTION = "How full is the cluster, and how many servers are then wholly empty?"
NEEDS = ("jobs", "attempts", "placements", "machines")

_TWO_THIRDS = (64, 69)
"""Whole percents of use that count as two thirds."""


def compute(trace: Trace) -> Result:
    """Weigh each level of use by the time spent at it, and give the servers empty meanwhile.

    Of several pools each is taken by itself; where one number is said of all, they count by their
    GPUs.
    """
    table = trace.answer("occupancy").df()
    sizes = table.groupby("pool")["gpus"].first()
    gpu_h = table["hours"] * table["gpus"]
    hours = float(gpu_h.sum() / sizes.sum()) if len(sizes) else 0.0
    near = table[table["used_pct"].between(*_TWO_THIRDS)]
    above_h = float(gpu_h[table["used_pct"] >= 67].sum())
    facts = (
        Fact("hours", hours, "hours from the first start to the last end"),
        *([Fact("pools", len(sizes), "pools of servers")] if len(sizes) > 1 else []),
        Fact(
            "mean_used_pct",
            _mean(table, "used_pct") if hours else None,
            "GPUs in use, mean over time, rounded down",
        ),
        Fact(
            "hours_above_two_thirds",
            above_h / float(sizes.sum()) if len(sizes) else 0.0,
            "hours with two thirds of the GPUs in use and more",
        ),
        Fact(
            "empty_at_two_thirds_pct",
            _mean(near, "empty_pct"),
            "servers wholly empty while 64-69 % of the GPUs are in use",
        ),
        Fact(
            "partly_at_two_thirds_pct", _mean(near, "partly_pct"), "servers partly in use meanwhile"
        ),
    )
    return Result(
        name="occupancy",
        table=table,
        facts=facts,
        sentences=_sentences({f.name: f.value for f in facts}),
        caveats=_caveats(trace),
        comparisons=beside(trace, "occupancy", facts),
    )


def _mean(rows: pd.DataFrame, column: str) -> float | None:
    gpu_h = rows["hours"] * rows["gpus"]
    return float((rows[column] * gpu_h).sum() / gpu_h.sum()) if gpu_h.sum() else None


def _sentences(fact: dict[str, float | int | str | None]) -> tuple[str, ...]:
    if fact["mean_used_pct"] is None:
        return ()
    said = [f"On average {float(fact['mean_used_pct']):.0f} % of the GPUs are in use."]
    pools = fact.get("pools")
    if fact["empty_at_two_thirds_pct"] is None:
        said.append(f"{'None of the pools' if pools else 'The cluster'} was never two thirds full.")
    else:
        where, whose = (f" of one of the {pools} pools", "its") if pools else ("", "the")
        said.append(
            f"When two thirds of the GPUs{where} are in use, "
            f"{share(float(fact['empty_at_two_thirds_pct']) / 100)} of {whose} servers are wholly "
            f"empty and {share(float(fact['partly_at_two_thirds_pct'] or 0) / 100)} partly in use."
        )
    return tuple(said)


def _caveats(trace: Trace) -> tuple[str, ...]:
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    [gaps] = trace.answer("placement_gaps").df().itertuples(index=False)
    return tuple(
        f"{count(n, thing)} {why}"
        for n, thing, why in (
            (gaps.spells, "spell", "in which attempts overlap on a GPU: it counts as in use once."),
            (log.attempts_endless, "attempt", "of unknown end: those GPUs count as free."),
            (
                gaps.unused_machines,
                "machine",
                "without any job in this log: counted as empty throughout.",
            ),
        )
        if n
    )


def _over_pools(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per level of use: the mean over the pools that were at it, by GPU time."""
    means = ["hours", "empty_pct", "partly_pct"]
    gpu_h = table["hours"] * table["gpus"]
    weighted = table[means].mul(gpu_h, axis="index")
    levels = pd.concat([table["used_pct"], gpu_h.rename("gpu_h"), weighted], axis="columns")
    sums = levels.groupby("used_pct").sum()
    extremes = table.groupby("used_pct").agg({"empty_min_pct": "min", "empty_max_pct": "max"})
    return sums[means].div(sums["gpu_h"], axis="index").join(extremes).reset_index()


def plot(result: Result) -> Figure:
    """Draw the share of empty servers over the share of GPUs in use, and the time spent there."""
    table = _over_pools(result.table)
    fig, [top, bottom] = figures.canvas(
        1, 2, height=3.9, sharex=True, gridspec_kw={"height_ratios": [3, 1]}
    )
    if table.empty:
        return figures.empty(fig, "no GPU was held")
    x = table["used_pct"] + 0.5
    top.fill_between(
        x,
        table["empty_min_pct"],
        table["empty_max_pct"],
        color=figures.ACCENT,
        alpha=0.15,
        linewidth=0,
    )
    top.plot(x, table["empty_pct"], color=figures.ACCENT, label="wholly empty")
    top.plot(x, table["partly_pct"], color=figures.CYCLE[1], label="partly in use")
    top.axvline(200 / 3, color=figures.MUTED, linestyle=":", label="two thirds in use")
    figures.percent_axis(top, "share of servers")
    figures.title(top, "mean over hours; shaded: least to most that were wholly empty")
    bottom.bar(x, table["hours"], width=1, color=figures.MUTED)
    bottom.set_ylabel("hours")
    figures.percent_axis(bottom, "share of GPUs in use", axis="x")
    figures.name_lines(top)
    return fig
