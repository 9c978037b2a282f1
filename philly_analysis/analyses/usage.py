"""Report GPU hours, waits and idle GPU hours by account, user and week.

GPU hours are allocated GPU hours. Accounts merge and split over time, and the first and the last
week of the log are partial.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.exclusions import excluded, sample_gaps
from philly_analysis.results import UNNAMED, Fact, Result, duration, figures, number, share
from philly_analysis.trace import Analysis, Trace

_KEY = ["account", "user", "vc", "week"]
_IDLE = ["sampled_gpu_h", "idle_gpu_h"]
_WORDS = {"account": "account", "vc": "virtual cluster", "user": "user"}
_STACKED = 6
_LISTED = 10
_FEWEST = 10
"""Fewest waits of a week that a sentence names."""


def compute(trace: Trace) -> Result:
    """Sum allocated and idle GPU hours and waits by account, user and week."""
    table = trace.answer("usage").df()
    sampled = trace.has("usage_idle")
    if sampled:
        table = table.merge(trace.answer("usage_idle").df(), "left", _KEY)
    else:
        table[_IDLE] = np.nan
    kind = _largest_kind(table)
    sums = {k: _sums_by(table, k) for k in _WORDS}
    sampled_h, idle_h = (float(table[c].sum()) if sampled else None for c in _IDLE)
    named = {k: rows.drop(UNNAMED, errors="ignore") for k, rows in sums.items()}
    facts = [
        Fact("gpu_h", float(table["gpu_h"].sum()), "GPU hours allocated"),
        *(Fact(f"{k}s", len(named[k]), f"{word}s") for k, word in _WORDS.items()),
    ]
    for name, k in (("largest", kind), ("largest_user", "user")):
        rows = named[k]
        first = str(rows.index[0]) if len(rows) else None
        gpu_h = float(rows["gpu_h"].iloc[0]) if len(rows) else None
        facts.append(Fact(name, first, f"{_WORDS[k]} of most GPU hours"))
        facts.append(
            Fact(f"{name}_gpu_h", gpu_h, f"GPU hours of the {_WORDS[k]} of most GPU hours")
        )
    facts += [
        Fact("sampled_gpu_h", sampled_h, "sampled GPU hours"),
        Fact("idle_gpu_h", idle_h, "sampled GPU hours at exactly 0 %"),
    ]
    caveats = (
        *(sample_gaps(trace) if sampled else ()),
        "" if sampled else "Without samples of the GPUs in use, idle hours are unknown.",
        "A wait counts in the week in which the wait began, GPU hours in the weeks of their use. "
        "GPU hours of an attempt without a known start count from the job's submission on.",
        *excluded(trace, "wait"),
    )
    return Result("usage", table, facts, _sentences(table, kind, sums[kind], named), caveats)


def _largest_kind(table: pd.DataFrame) -> str:
    """Return the coarsest division of users in the log: account, virtual cluster or user."""
    return next((k for k in _WORDS if (table[k] != UNNAMED).any()), "user")


def _sums_by(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return sums by account, user or virtual cluster, most GPU hours first."""
    sums: pd.DataFrame = table.groupby(kind)[["jobs", "gpu_h", *_IDLE]].sum(min_count=1)
    return sums.reset_index().sort_values(["gpu_h", kind], ascending=[False, True]).set_index(kind)


def _sentences(
    table: pd.DataFrame, kind: str, sums: pd.DataFrame, named: dict[str, pd.DataFrame]
) -> list[str]:
    total = float(table["gpu_h"].sum())
    users = named["user"]
    if total <= 0:
        return ["No GPU hours are known."] if len(table) else []
    if not len(users) and not len(named[kind]):
        return [f"{number(total)} GPU hours were allocated; the log names no users."]
    sentences = []
    if kind != "user" and len(named[kind]):
        sentences.append(
            f"Largest shares of {number(total)} GPU hours by {_WORDS[kind]}: "
            f"{_top_shares(named[kind], total)}."
        )
        if UNNAMED in sums.index:
            unnamed = share(float(sums["gpu_h"][UNNAMED]) / total)
            sentences[-1] += f" {unnamed} belong to no known {_WORDS[kind]}."
    if len(users):
        sentences.append(f"Users of most GPU hours: {_top_shares(users, total)}.")
    waited = table[(table["waits"] >= _FEWEST) & (table["wait_weighted_s"] > 0)]
    if len(waited):
        worst = waited.sort_values(["wait_weighted_s", *_KEY]).iloc[-1]
        sentences.append(
            "The longest mean wait, weighted by GPU hours, was "
            f"{duration(worst['wait_weighted_s'])}: user {worst['user']} in {worst['vc']}, week of "
            f"{worst['week']:%Y-%m-%d} (weeks with at least {_FEWEST} waits)."
        )
    idle = users[users["idle_gpu_h"] > 0].nlargest(3, "idle_gpu_h")
    if len(idle):
        listed = ", ".join(
            f"{name} ({number(idle_h)} of {number(sampled_h)} sampled, {share(idle_h / sampled_h)})"
            for name, sampled_h, idle_h in idle[_IDLE].itertuples(name=None)
        )
        sentences.append(
            f"{number(float(table['idle_gpu_h'].sum()))} of "
            f"{number(table['sampled_gpu_h'].sum())} sampled GPU hours were idle. Users with "
            f"most idle GPU hours: {listed}."
        )
    return sentences


def _top_shares(sums: pd.DataFrame, total: float) -> str:
    """List the three largest with their shares of all GPU hours."""
    return ", ".join(f"{name} ({share(h / total)})" for name, h in sums["gpu_h"].head(3).items())


def plot(result: Result) -> Figure:
    """Draw weekly GPU hours of the largest accounts, and the users of most idle GPU hours."""
    table = result.table
    fig, [weeks_ax, users_ax] = figures.canvas(2, width=9.6, height=3.6)
    if table.empty or table["gpu_h"].sum() <= 0:
        return figures.empty(fig, "no GPU hours are known")
    _draw_weeks(weeks_ax, table, _largest_kind(table))
    _draw_users(users_ax, _sums_by(table, "user"))
    return fig


def _draw_weeks(ax: Axes, table: pd.DataFrame, kind: str) -> None:
    names = list(_sums_by(table, kind).index)
    shown = names if len(names) <= _STACKED + 1 else names[:_STACKED]
    weekly = table.assign(name=table[kind].where(table[kind].isin(shown), None)).pivot_table(
        index="week", columns="name", values="gpu_h", aggfunc="sum", fill_value=0.0
    )
    total = table.groupby("week")["gpu_h"].sum()
    total = total.set_axis(pd.DatetimeIndex(total.index)).asfreq("7D", fill_value=0.0)
    weekly = weekly.reindex(total.index, fill_value=0.0)
    others = f"{len(names) - len(shown):,} others"
    weekly[others] = total - weekly.sum(axis=1)
    stack = [*shown, *([others] if len(shown) < len(names) else [])]
    muted = (others, UNNAMED)
    colors = [figures.MUTED if n in muted else figures.CYCLE[i] for i, n in enumerate(stack)]
    figures.stacked_steps(ax, weekly[stack], colors)
    for i, (name, color) in enumerate(zip(stack, colors, strict=True)):
        # a legend in the order of the stack
        ax.annotate(
            figures.literal(name),
            (1.02, i / max(len(stack), 8) + 0.03),
            xycoords="axes fraction",
            color=figures.darken(color),
            fontsize=8,
            fontweight="bold",
            annotation_clip=False,
        )
    figures.amount_axis(ax, "GPU hours")
    figures.day_axis(ax)
    ax.set_xlabel("week (UTC)")
    figures.title(ax, f"GPU hours by {_WORDS[kind]} and week")


def _draw_users(ax: Axes, users: pd.DataFrame) -> None:
    idle = users["idle_gpu_h"].fillna(0).sum() > 0
    column, what = ("idle_gpu_h", "idle GPU hours") if idle else ("gpu_h", "GPU hours")
    rows = users[users[column] > 0].nlargest(_LISTED, column).iloc[::-1]
    of = rows["sampled_gpu_h"] if idle else pd.Series(users["gpu_h"].sum(), rows.index)
    labels = [f"{number(float(h))}  {share(h / w)}" for h, w in zip(rows[column], of, strict=True)]
    color = figures.CYCLE[1] if idle else figures.ACCENT
    figures.hbars(
        ax, list(rows.index), rows[column], labels, color=color, space=1.35, names_fontsize=8
    )
    figures.amount_axis(ax, f"{what}, and share{' of sampled hours' if idle else ''}", axis="x")
    more = f", {_LISTED} of {len(users):,}" if len(rows) < len(users) else ""
    figures.title(ax, f"{what} by user{more}")


ANALYSIS = Analysis(
    name="usage",
    question="Who uses the GPUs, how long do they wait, and what do they leave idle?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_use_bins",
)
