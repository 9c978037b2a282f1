"""Gangs that run on more servers than they need: how many, whose, and at what GPU time.

The fewest servers that could hold a gang are counted with all servers empty; at the time they
were not. Users may ask for a spread on purpose.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.results import (
    NOBODY,
    Fact,
    Result,
    clustered_share,
    count,
    figures,
    gpus,
    number,
    share,
    slug,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Trace

QUESTION = "Which gangs run on more servers than they need?"
NEEDS = ("jobs", "attempts", "placements", "machines")

_WORDS = {"account": "account", "vc": "virtual cluster"}
_NAMED = 3
_DRAWN = 8


def compute(trace: Trace) -> Result:
    """Compare the servers of each gang with the fewest that hold its GPUs."""
    table = trace.answer("wide_gangs").df()
    placed = trace.answer("wide_attempts").df()
    wide = placed[placed["wide"].astype(bool)]
    gpu_h, wide_h = (float(rows["gpu_h"].sum()) for rows in (placed, wide))
    all_of_them = clustered_share(placed["wide"].astype(bool), placed["user"])
    facts = [
        Fact("attempts", len(placed), "placed attempts on two GPUs or more"),
        Fact("wide", len(wide), "of these, on more servers than they need"),
        *all_of_them.facts("wide", "their share"),
        Fact("wide_gpu_h", wide_h, "GPU hours that they held"),
        Fact("wide_gpu_h_pct", 100 * wide_h / gpu_h if gpu_h else None, "their share of all such"),
    ]
    said = []
    if len(placed):
        said.append(
            f"Of {count(len(placed), 'placed attempt')} on two GPUs or more, {all_of_them} ran on "
            f"more servers than they need"
            + (f", with {share(wide_h / gpu_h)} of their GPU hours." if gpu_h else ".")
        )
    sizes = []
    for gang in figures.ordered(table["gang"].unique(), GANGS):
        rows = placed[placed["gang"] == gang]
        told = clustered_share(rows["wide"].astype(bool), rows["user"])
        facts.append(Fact(f"wide_{slug(gang)}_pct", 100 * told.frac, f"wide ones on {gpus(gang)}"))
        sizes.append(f"{told} on {gpus(gang)}")
    if len(sizes) > 1:
        said.append(f"By size: {', '.join(sizes)}.")
    said += _whose(table)
    most = wide.dropna(subset=["gpu_h"]).sort_values(
        ["gpu_h", "job_id", "attempt"], ascending=[False, True, True]
    )
    if len(most):
        listed = "; ".join(
            f"{a['job_id']} of {a['user'] or 'nobody known'} ({a['gpus']:,} GPUs on "
            f"{a['servers']:,} servers, {a['fewest']:,} would do, {number(a['gpu_h'])} GPU hours)"
            for a in most.head(_NAMED).to_dict("records")
        )
        said.append(f"The wide attempts of most GPU hours: {listed}.")
    return Result(
        name="wide_gangs",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "The fewest servers are those that its GPUs need on the largest machines that may "
            "serve it, were they empty: a wide gang may have been the price of an earlier start.",
        ),
    )


def _payer(table: pd.DataFrame) -> str:
    return "account" if (table["account"] != NOBODY).any() else "vc"


def _by(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return sums by account or virtual cluster, those with most wide GPU hours first."""
    sums: pd.DataFrame = table.groupby(kind)[["attempts", "wide", "gpu_h", "wide_gpu_h"]].sum()
    order = ["wide_gpu_h", "wide", kind]
    return sums.reset_index().sort_values(order, ascending=[False, False, True]).set_index(kind)


def _whose(table: pd.DataFrame) -> list[str]:
    kind = _payer(table)
    sums = _by(table, kind).drop(NOBODY, errors="ignore")
    sums = sums[sums["wide"] > 0]
    if len(sums) < 2:
        return []
    listed = ", ".join(
        f"{s[kind]} ({s['wide']:,} of {s['attempts']:,} attempts, "
        f"{number(s['wide_gpu_h'])} GPU hours)"
        for s in sums.head(_NAMED).reset_index().to_dict("records")
    )
    return [f"By {_WORDS[kind]}, most of those GPU hours are of {listed}."]


def plot(result: Result) -> Figure:
    """Draw the share of wide attempts by gang size; beside it, whose they are."""
    table = result.table
    fig, [left, right] = figures.canvas(2, width=9.6, height=3.2)
    if table.empty:
        return figures.empty(fig, "no placed attempt on two GPUs or more")
    sums = table.groupby("gang")[["attempts", "wide", "gpu_h", "wide_gpu_h"]].sum()
    gangs = figures.ordered(sums.index, GANGS)
    figures.bars(
        left,
        gangs,
        {
            "attempts": [100 * sums["wide"][g] / sums["attempts"][g] for g in gangs],
            "GPU hours": [100 * sums["wide_gpu_h"][g] / (sums["gpu_h"][g] or 1) for g in gangs],
        },
        colors={"attempts": figures.CYCLE[5], "GPU hours": figures.ACCENT},
    )
    left.set_xticks(range(len(gangs)), [f"{g}\nn={sums['attempts'][g]:,}" for g in gangs])
    left.set_xlabel("GPUs, and attempts")
    figures.percent_axis(left, "on more servers than needed")
    figures.legend(left, loc="upper left")
    figures.title(left, "wide gangs, by size")
    _owners(right, table)
    return fig


def _owners(ax: Axes, table: pd.DataFrame) -> None:
    kind = _payer(table)
    rows = _by(table, kind).head(_DRAWN).iloc[::-1]
    drawn = ax.barh(range(len(rows)), rows["wide_gpu_h"], color=figures.ACCENT)
    labels = [
        f"{number(wide_h)}  {share(wide_h / gpu_h) if gpu_h else ''}"
        for wide_h, gpu_h in zip(rows["wide_gpu_h"], rows["gpu_h"], strict=True)
    ]
    ax.bar_label(drawn, labels, fontsize=8, padding=2)
    ax.set_yticks(range(len(rows)), [figures.plain(n) for n in rows.index], fontsize=8)
    ax.set_xlim(0, 1.4 * float(rows["wide_gpu_h"].max() or 1))
    figures.amount_axis(ax, "GPU hours of wide gangs, and share of all", axis="x")
    ax.grid(visible=False, axis="y")
    figures.title(ax, f"wide gangs, by {_WORDS[kind]}")
