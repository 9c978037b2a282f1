"""Who uses the cluster, week by week: GPU hours, waits, and GPU hours left idle.

GPU hours are those held. Accounts merge and split over time, and a week at either end of the log
is partial.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.analyses.exclusions import left_out, unsampled
from philly_analysis.results import NOBODY, Fact, Result, duration, figures, number, share
from philly_analysis.trace import Trace

QUESTION = "Who uses the GPUs, how long do they wait, and what do they leave idle?"
NEEDS = ("jobs", "attempts")

_KEY = ["account", "user", "vc", "week"]
_IDLE = ["sampled_gpu_h", "idle_gpu_h"]
_WORDS = {"account": "account", "vc": "virtual cluster", "user": "user"}
_SHOWN = 6
_LISTED = 10
_FEWEST = 10
"""Waits in a week below which their mean is not worth naming."""


def compute(trace: Trace) -> Result:
    """Add up what each account and user held, waited and left idle in each week."""
    table = trace.answer("usage").df()
    sampled = trace.has("usage_idle")
    if sampled:
        table = table.merge(trace.answer("usage_idle").df(), "left", _KEY)
    else:
        table[_IDLE] = np.nan
    kind = payer(table)
    sums = by(table, kind)
    users = by(table, "user")
    gpu_h = float(table["gpu_h"].sum())
    read_h, idle_h = (float(table[c].sum()) if sampled else None for c in _IDLE)
    facts = (
        Fact("gpu_h", gpu_h, "GPU hours held"),
        *(
            Fact(f"{k}s", int((by(table, k).index != NOBODY).sum()), f"{_WORDS[k]}s")
            for k in _WORDS
        ),
        Fact("largest", _first(sums), f"the {_WORDS[kind]} that held most GPU hours"),
        Fact("largest_gpu_h", _top(sums), "its GPU hours"),
        Fact("largest_user", _first(users), "the user who held most GPU hours"),
        Fact("largest_user_gpu_h", _top(users), "their GPU hours"),
        Fact("sampled_gpu_h", read_h, "GPU hours with a reading of their use"),
        Fact("idle_gpu_h", idle_h, "of these, at exactly 0 %"),
    )
    return Result(
        name="usage",
        table=table,
        facts=facts,
        sentences=tuple(_sentences(table, kind, sums, users)),
        caveats=(
            *(unsampled(trace) if sampled else ()),
            *(
                ()
                if sampled
                else ("Without samples of the GPUs in use, hours left idle are not known.",)
            ),
            "A wait counts in the week in which it began, GPU hours in those in which they were "
            "held; of an attempt whose start is not known, from its submission on.",
            *left_out(trace, "wait"),
        ),
    )


def payer(table: pd.DataFrame) -> str:
    """Return the widest division of users that the log knows: account, virtual cluster or user."""
    known = [k for k in _WORDS if (table[k] != NOBODY).any()]
    return known[0] if known else "user"


def by(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return sums by account, user or virtual cluster, those with most GPU hours first."""
    sums: pd.DataFrame = table.groupby(kind)[["jobs", "gpu_h", *_IDLE]].sum(min_count=1)
    return sums.reset_index().sort_values(["gpu_h", kind], ascending=[False, True]).set_index(kind)


def _first(sums: pd.DataFrame) -> str | None:
    return next((str(name) for name in sums.index if name != NOBODY), None)


def _top(sums: pd.DataFrame) -> float | None:
    return next((float(h) for name, h in sums["gpu_h"].items() if name != NOBODY), None)


def _sentences(
    table: pd.DataFrame, kind: str, sums: pd.DataFrame, users: pd.DataFrame
) -> list[str]:
    total = float(table["gpu_h"].sum())
    if total <= 0:
        return ["Nobody is known to have held a GPU."] if len(table) else []
    said = []
    named = sums.drop(NOBODY, errors="ignore")
    if kind != "user" and len(named):
        said.append(
            f"Of {number(total)} GPU hours, {_held(named, total)}."
            + (
                f" {share(float(sums['gpu_h'][NOBODY]) / total)} belong to no known {_WORDS[kind]}."
                if NOBODY in sums.index
                else ""
            )
        )
    people = users.drop(NOBODY, errors="ignore")
    if not len(people) and not len(named):
        return [f"{number(total)} GPU hours were held; the log names nobody."]
    if len(people):
        said.append(f"The users of most GPU hours: {_held(people, total)}.")
    waited = table[(table["waits"] >= _FEWEST) & table["wait_weighted_s"].notna()]
    if len(waited):
        worst = waited.sort_values(["wait_weighted_s", *_KEY]).iloc[-1]
        said.append(
            f"A GPU hour was waited for longest by user {worst['user']} in {worst['vc']} in the "
            f"week of {worst['week']:%Y-%m-%d}: {duration(float(worst['wait_weighted_s']))} on "
            f"average, of weeks with {_FEWEST} waits or more."
        )
    idle = people.dropna(subset=["idle_gpu_h"]).nlargest(3, "idle_gpu_h")
    if len(idle) and idle["idle_gpu_h"].sum() > 0:
        everybody = float(table["idle_gpu_h"].sum())
        listed = ", ".join(
            f"{name} ({number(idle_h)} of {number(read_h)} sampled, {share(idle_h / read_h)})"
            for name, read_h, idle_h in idle[_IDLE].itertuples(name=None)
        )
        said.append(
            f"{number(everybody)} of {number(table['sampled_gpu_h'].sum())} GPU hours with a "
            f"reading were idle, most of them held by {listed}."
        )
    return said


def _held(sums: pd.DataFrame, total: float) -> str:
    """List the first three by their share of all GPU hours."""
    return ", ".join(f"{name} held {share(h / total)}" for name, h in sums["gpu_h"].head(3).items())


def plot(result: Result) -> Figure:
    """Draw weekly GPU hours of the largest accounts; beside it, who left most of theirs idle."""
    table = result.table
    fig, [left, right] = figures.canvas(2, width=9.6, height=3.6)
    if table.empty or table["gpu_h"].sum() <= 0:
        return figures.empty(fig, "nobody is known to have held a GPU")
    _weeks(left, table, payer(table))
    _people(right, by(table, "user"))
    return fig


def _weeks(ax: Axes, table: pd.DataFrame, kind: str) -> None:
    names = list(by(table, kind).index)
    shown = names if len(names) <= _SHOWN + 1 else names[:_SHOWN]
    weekly = table.assign(name=table[kind].where(table[kind].isin(shown), None)).pivot_table(
        index="week", columns="name", values="gpu_h", aggfunc="sum", fill_value=0.0
    )
    total = table.groupby("week")["gpu_h"].sum()
    total.index = pd.DatetimeIndex(total.index)
    total = total.asfreq("7D", fill_value=0.0)
    edges = pd.date_range(total.index[0], periods=len(total) + 1, freq="7D")
    bottom = np.zeros(len(total))
    others = f"{len(names) - len(shown):,} others"
    weekly = weekly.reindex(total.index, fill_value=0.0)
    weekly[others] = total - weekly.sum(axis=1)
    drawn = [*shown, *([others] if len(shown) < len(names) else [])]
    for i, name in enumerate(drawn):
        color = figures.MUTED if name in (others, NOBODY) else figures.CYCLE[i]
        top = bottom + weekly[name].to_numpy(float)
        ax.stairs(top, edges, baseline=bottom, fill=True, color=color)
        # a key that reads as the bars are stacked, each name in its colour
        ax.annotate(
            figures.plain(name),
            (1.02, i / max(len(drawn), 8) + 0.03),
            xycoords="axes fraction",
            color=figures.legible(color),
            fontsize=8,
            fontweight="bold",
            annotation_clip=False,
        )
        bottom = top
    figures.amount_axis(ax, "GPU hours")
    figures.day_axis(ax)
    ax.set_xlabel("week (UTC)")
    figures.title(ax, f"GPU hours by {_WORDS[kind]} and week")


def _people(ax: Axes, users: pd.DataFrame) -> None:
    idle = users["idle_gpu_h"].fillna(0).sum() > 0
    column = "idle_gpu_h" if idle else "gpu_h"
    rows = users.nlargest(_LISTED, column).iloc[::-1]
    y = np.arange(len(rows))
    drawn = ax.barh(y, rows[column], color=figures.CYCLE[1] if idle else figures.ACCENT)
    whole = rows["sampled_gpu_h"] if idle else pd.Series(users["gpu_h"].sum(), rows.index)
    ax.bar_label(
        drawn,
        [f"{number(float(h))}  {share(h / w)}" for h, w in zip(rows[column], whole, strict=True)],
        fontsize=8,
        padding=2,
    )
    ax.set_yticks(y, [figures.plain(name) for name in rows.index], fontsize=8)
    ax.set_xlim(0, 1.35 * float(rows[column].max() or 1))
    ax.grid(visible=False, axis="y")
    more = f", {_LISTED} of {len(users):,}" if len(rows) < len(users) else ""
    label = "idle GPU hours, and share of those sampled" if idle else "GPU hours, and share"
    figures.amount_axis(ax, label, axis="x")
    figures.title(ax, f"idle GPU hours by user{more}" if idle else f"GPU hours by user{more}")
