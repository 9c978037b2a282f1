"""Report gangs on more servers than they need, with their owners and GPU time.

The minimum number of servers is computed for an empty cluster; at the time the servers were not
empty. Users may request a spread.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.analyses.shared.user_counts import count_by_user
from philly_analysis.results import (
    UNNAMED,
    Fact,
    Result,
    clustered_share,
    count,
    figures,
    gang_label,
    number,
    share,
    slug,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace

_WORDS = {"account": "account", "vc": "virtual cluster"}
_LISTED = 3
_SHOWN = 8


def compute(trace: Trace) -> Result:
    """Compare the servers of each gang with its minimum number."""
    table = trace.answer("wide_gangs").df()
    placed = trace.answer("wide_attempts")
    by_user = count_by_user(placed, "gang, wide")
    attempts, wide = (int(table[column].sum()) for column in ("attempts", "wide"))
    gpu_h, wide_h = (float(table[column].sum()) for column in ("gpu_h", "wide_gpu_h"))
    overall = clustered_share(by_user["wide"], by_user["user"], by_user["n"])
    facts = [
        Fact("attempts", attempts, "placed attempts on at least two GPUs"),
        Fact("wide", wide, "placed attempts on more servers than needed"),
        *overall.facts("wide", "share of placed attempts on more servers than needed"),
        Fact("wide_gpu_h", wide_h, "GPU hours of attempts on more servers than needed"),
        Fact(
            "wide_gpu_h_pct",
            100 * wide_h / gpu_h if gpu_h else None,
            "share of GPU hours of attempts on more servers than needed",
        ),
    ]
    sizes = []
    for gang in figures.ordered(table["gang"].unique(), GANGS):
        label, users = gang_label(gang), by_user[by_user["gang"] == gang]
        part = clustered_share(users["wide"], users["user"], users["n"])
        facts.append(Fact(f"wide_{slug(gang)}_pct", 100 * part.frac, f"wide gangs of {label}"))
        sizes.append(f"{part} on {label}")
    most = placed.filter("wide and gpu_h is not null").order("gpu_h desc, job_id, attempt")
    columns = most.select("job_id", "user", "gpus", "servers", "fewest", "gpu_h")
    listed = "; ".join(
        f"{job_id} of {user or 'an unknown user'} ({gpus:,} GPUs on {servers:,} servers, minimum "
        f"{fewest:,}, {number(hours)} GPU hours)"
        for job_id, user, gpus, servers, fewest, hours in columns.limit(_LISTED).fetchall()
    )
    hours = f", with {share(wide_h / gpu_h)} of the GPU hours" if gpu_h else ""
    sentences = (
        f"{overall} of {count(attempts, 'placed attempt')} on at least two GPUs ran on more "
        f"servers than needed{hours}."
        if attempts
        else "",
        f"Share by gang size: {', '.join(sizes)}." if len(sizes) > 1 else "",
        _top_owners(table),
        f"The attempts on more servers than needed with most GPU hours: {listed}."
        if listed
        else "",
    )
    return Result("wide_gangs", table, facts, sentences, CAVEATS["wide_gangs"])


def _by_owner(table: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return sums by account, or virtual cluster, most GPU hours of wide attempts first."""
    kind = "account" if (table["account"] != UNNAMED).any() else "vc"
    sums: pd.DataFrame = table.groupby(kind)[["attempts", "wide", "gpu_h", "wide_gpu_h"]].sum()
    order = ["wide_gpu_h", "wide", kind]
    sums = sums.reset_index().sort_values(order, ascending=[False, False, True])
    return _WORDS[kind], sums.set_index(kind)


def _top_owners(table: pd.DataFrame) -> str:
    word, sums = _by_owner(table)
    sums = sums.drop(UNNAMED, errors="ignore")
    sums = sums[sums["wide"] > 0]
    if len(sums) < 2:
        return ""
    listed = ", ".join(
        f"{name} ({s['wide']:,.0f} of {s['attempts']:,.0f} attempts, "
        f"{number(s['wide_gpu_h'])} GPU hours)"
        for name, s in sums.head(_LISTED).iterrows()
    )
    return f"The {word}s with most GPU hours on more servers than needed: {listed}."


def plot(result: Result) -> Figure:
    """Draw the share of wide attempts by gang size, and their GPU hours by owner."""
    table = result.table
    fig, [sizes_ax, owners_ax] = figures.canvas(2, width=9.6, height=3.2)
    if table.empty:
        return figures.empty(fig, "no placed attempt on at least two GPUs")
    sums = table.groupby("gang")[["attempts", "wide", "gpu_h", "wide_gpu_h"]].sum()
    sums = sums.loc[figures.ordered(sums.index, GANGS)]
    figures.bars(
        sizes_ax,
        [f"{g}\nn={n:,}" for g, n in sums["attempts"].items()],
        {
            "attempts": list(100 * sums["wide"] / sums["attempts"]),
            "GPU hours": list(100 * sums["wide_gpu_h"] / sums["gpu_h"].replace(0, 1)),
        },
        colors={"attempts": figures.CYCLE[5], "GPU hours": figures.ACCENT},
    )
    sizes_ax.set_xlabel("GPUs, and attempts")
    figures.percent_axis(sizes_ax, "on more servers than needed")
    sizes_ax.set(ylim=(0, 125), yticks=range(0, 101, 20))  # the legend is above the bars
    figures.legend(sizes_ax, loc="upper left", ncols=2)
    figures.title(sizes_ax, "wide gangs, by size")
    word, owners = _by_owner(table)
    rows = owners.head(_SHOWN).iloc[::-1]
    hours = rows["wide_gpu_h"]
    labels = [
        f"{number(wide_h)}  {share(wide_h / gpu_h) if gpu_h else ''}"
        for wide_h, gpu_h in zip(hours, rows["gpu_h"], strict=True)
    ]
    names = list(rows.index)
    figures.hbars(
        owners_ax, names, hours, labels, color=figures.ACCENT, space=1.4, names_fontsize=8
    )
    figures.amount_axis(owners_ax, "GPU hours of wide gangs, and share of all", axis="x")
    figures.title(owners_ax, f"wide gangs, by {word}")
    return fig


ANALYSIS = Analysis(
    name="wide_gangs",
    question="Which gangs run on more servers than they need?",
    needs=("jobs", "attempts", "placements", "machines"),
    compute=compute,
    plot=plot,
)
