"""Report gangs on more servers than they need, with their owners and GPU time.

The minimum number of servers is computed for an empty cluster; at the time the servers were not
empty. Users may request a spread.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.texts import CAVEATS
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
    placed = trace.answer("wide_attempts").df()
    is_wide = placed["wide"].astype(bool)
    wide = placed[is_wide]
    gpu_h, wide_h = (float(rows["gpu_h"].sum()) for rows in (placed, wide))
    overall = clustered_share(is_wide, placed["user"])
    facts = [
        Fact("attempts", len(placed), "placed attempts on at least two GPUs"),
        Fact("wide", len(wide), "placed attempts on more servers than needed"),
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
        label, rows = gang_label(gang), placed["gang"] == gang
        part = clustered_share(is_wide[rows], placed["user"][rows])
        facts.append(Fact(f"wide_{slug(gang)}_pct", 100 * part.frac, f"wide gangs of {label}"))
        sizes.append(f"{part} on {label}")
    most = wide.dropna(subset=["gpu_h"]).sort_values(
        ["gpu_h", "job_id", "attempt"], ascending=[False, True, True]
    )
    listed = "; ".join(
        f"{a['job_id']} of {a['user'] or 'an unknown user'} ({a['gpus']:,} GPUs on "
        f"{a['servers']:,} servers, minimum {a['fewest']:,}, {number(a['gpu_h'])} GPU hours)"
        for a in most.head(_LISTED).to_dict("records")
    )
    hours = f", with {share(wide_h / gpu_h)} of the GPU hours" if gpu_h else ""
    sentences = (
        f"{overall} of {count(len(placed), 'placed attempt')} on at least two GPUs ran on more "
        f"servers than needed{hours}."
        if len(placed)
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
