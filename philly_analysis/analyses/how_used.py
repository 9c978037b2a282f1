"""Report how busy the GPUs of jobs are, in one number.

Utilisation is the driver's: the share of time with a running kernel, not of the GPU's capacity.
Minutes without a reading are excluded, not counted as idle. Without any readings the answer is the
share of GPU time that was allocated.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import (
    NOT_RECORDED,
    UNNAMED,
    Fact,
    Result,
    Share,
    Verdict,
    clustered_share,
    count,
    figures,
    number,
    share,
    share_trend,
    whole_percent,
)
from philly_analysis.trace import Analysis, Trace

_LEVELS = {-1: "0 %", 0: "1-25 %", 25: "26-50 %", 50: "51-75 %", 75: "76-100 %"}
_COLORS = ("#c4473f", "#bcd3ea", "#8fb8de", "#3d7ab5", "#1b3f73")
_PARTS = {
    "held": ("allocated", figures.ACCENT),
    "free beside\nothers' jobs": ("idle on partly\nused servers", figures.CYCLE[1]),
    "free on\nempty servers": ("idle on\nempty servers", figures.MUTED),
}
"""Label and colour of each part of the GPU time."""
_OF = ["capacity_gpu_h", "held_gpu_h", "partly_gpu_h"]
_SAMPLE = "Sample the GPUs once a minute, to measure how busy {} are and whose are idle."
_TOP_FRACTION = 0.1
"""Fraction of the users for the share of the top users in idle time."""


def compute(trace: Trace) -> Result:
    """Compute the mean utilisation of allocated GPUs, weighted by time, and their idle time."""
    sampled = trace.has_values("gpu_samples") and trace.has("how_used")
    if not sampled and not trace.has_values("summaries"):
        return _allocated(trace)
    if sampled:
        # together, so that the samples are read once
        trace.create(["how_used", "how_used_levels"])
        users, levels = trace.answer("how_used").df(), trace.answer("how_used_levels").df()
    else:
        users = trace.answer("how_used_by_summary").df()
        levels = users.groupby("level", as_index=False)["gpu_h"].sum()
    gpu_h = float(users["gpu_h"].sum())
    busy = _share_of(users, "busy_h")
    facts = [
        *busy.facts("mean", "mean utilisation of allocated GPUs"),
        Fact("gpu_h", gpu_h, "sampled GPU hours of attempts"),
    ]
    caveats = [] if sampled else ["Only means of whole attempts are known, not when GPUs idled."]
    if not gpu_h > 0:
        verdict = Verdict(NOT_RECORDED, advice=_SAMPLE.format("allocated GPUs"))
        return Result("how_used", levels, facts, caveats=caveats, verdict=verdict)
    sentences = [f"The mean utilisation of allocated GPUs was {share(busy.frac)}."]
    if sampled:
        idle, idle_h = _share_of(users, "idle_h"), float(users["idle_h"].sum())
        facts += idle.facts("idle", "share of the sampled GPU hours at exactly 0 %")
        facts.append(Fact("idle_gpu_h", idle_h, "GPU hours at exactly 0 %"))
        sentences.append(
            f"Allocated GPUs were idle (0 % utilisation) for {share(idle.frac)} of the sampled "
            f"time: {number(idle_h)} of {number(gpu_h)} GPU hours."
        )
        cost = f"{number(idle_h)} of {number(gpu_h)} sampled GPU hours were idle (0 % utilisation)."
        advice, what = _advice(users, idle_h), "sampled attempts"
    else:
        unused_h = number(gpu_h - float(users["busy_h"].sum()))
        cost = f"{unused_h} of {number(gpu_h)} GPU hours without a running kernel."
        advice, what = _SAMPLE.format("GPUs are over time"), "summaries"
    trend = share_trend(
        users["day"], users["busy_h"] / users["gpu_h"], users["user"], users["gpu_h"], what
    )
    return Result(
        "how_used",
        levels,
        [*facts, *trend.facts()],
        sentences,
        caveats,
        verdict=Verdict(
            "Allocated GPUs",
            whole_percent(busy.frac),
            "mean utilisation",
            busy.interval,
            cost,
            str(trend),
            advice,
        ),
    )


def _allocated(trace: Trace) -> Result:
    """Compute the share of GPU time that was allocated, for a trace without utilisation."""
    weeks = trace.answer("idle_gpus").df() if trace.has("idle_gpus") else pd.DataFrame(columns=_OF)
    total, held_h, partly_h = (float(weeks[name].sum()) for name in _OF)
    table = pd.DataFrame(
        {"part": [*_PARTS], "gpu_h": [held_h, partly_h, total - held_h - partly_h]}
    )
    if not total > 0:
        verdict = Verdict(NOT_RECORDED, advice=_SAMPLE.format("allocated GPUs"))
        return Result("how_used", table, verdict=verdict)
    frac, weights = weeks["held_gpu_h"] / weeks["capacity_gpu_h"], weeks["capacity_gpu_h"]
    held = clustered_share(frac, weeks["week"], weights)
    days = weeks.loc[weeks.index.repeat(7)]  # each week's share counts on its seven days
    days["day"] = pd.to_datetime(days["week"]) + pd.to_timedelta(
        days.groupby("week").cumcount(), "D"
    )
    trend = share_trend(
        days["day"],
        days["held_gpu_h"] / days["capacity_gpu_h"],
        days["week"],
        days["capacity_gpu_h"],
        "weeks",
    )
    return Result(
        "how_used",
        table,
        (
            *held.facts("held", "share of the GPU time that was allocated"),
            Fact("capacity_gpu_h", total, "GPU hours of the cluster"),
            *trend.facts(),
        ),
        (
            f"{share(held.frac)} of the GPU time was allocated. {share(partly_h / total)} was "
            "unallocated on partly used servers.",
            "The utilisation of allocated GPUs was not recorded.",
        ),
        (
            "The period is from the first start, or the time from which the log is complete, to "
            "the last end.",
            "The interval reflects differences between weeks, and needs at least three weeks.",
        ),
        verdict=Verdict(
            "Allocated",
            whole_percent(held.frac),
            "of GPU time",
            held.interval,
            f"{number(total - held_h)} GPU hours were not allocated. {number(partly_h)} of the "
            "unallocated GPU hours were on partly used servers.",
            str(trend),
            _SAMPLE.format(f"GPUs are in the {number(held_h)} allocated GPU hours"),
        ),
    )


def _share_of(users: pd.DataFrame, column: str) -> Share:
    return clustered_share(users[column] / users["gpu_h"], users["user"], users["gpu_h"])


def _advice(users: pd.DataFrame, idle_h: float) -> str:
    """Return which users to ask about idle GPU hours: a tenth of all, at least one."""
    idle = users.groupby(users["user"].fillna(UNNAMED))["idle_h"].sum().sort_values()
    top = max(1, round(_TOP_FRACTION * len(idle)))
    theirs = float(idle.tail(top).sum())
    if not theirs:
        return ""
    who = "This user has" if top == 1 else "These users have"
    return (
        f"Ask {count(top, 'user')} of {len(idle):,} what their idle jobs wait for. {who} "
        f"{number(theirs)} of the idle GPU hours ({share(theirs / idle_h)})."
    )


def plot(result: Result) -> Figure:
    """Draw the distribution of GPU hours over levels of utilisation, or by allocation."""
    table = result.table
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    total = float(table["gpu_h"].sum())
    if "part" in table:
        if total <= 0:
            return figures.empty(fig, "no GPU was allocated")
        names, colors = zip(*(_PARTS[part] for part in table["part"]), strict=True)
        figures.share_bars(ax, names, list(table["gpu_h"] / total), colors)
        figures.title(ax, "Share of the GPU hours of the cluster")
        return fig
    if total <= 0:
        return figures.empty(fig, "no sampled GPU hours")
    hours = table.set_index("level")["gpu_h"]
    fracs = [float(hours.get(level, 0.0)) / total for level in _LEVELS]
    figures.share_bars(ax, list(_LEVELS.values()), fracs, _COLORS)
    ax.set_xlabel("utilisation of an allocated GPU")
    figures.title(ax, "Share of sampled GPU hours")
    return fig


ANALYSIS = Analysis(
    name="how_used",
    question="How well are GPUs used?",
    needs=("jobs", "attempts", "gpu_samples or summaries or placements"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_use_bins",
)
