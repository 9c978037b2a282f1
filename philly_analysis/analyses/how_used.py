"""Report how busy the GPUs of jobs are, in one number.

Utilisation is the driver's: the share of time with a running kernel, not of the GPU's capacity.
Minutes without a reading are excluded, not counted as idle. Without any readings the answer is the
share of GPU time that was allocated.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, Share, clustered_share, figures, number, share
from philly_analysis.trace import Trace

QUESTION = "How well are GPUs used?"
NEEDS = ("jobs", "attempts", "gpu_samples or summaries or placements")

_LEVELS = {-1: "0 %", 0: "1-25 %", 25: "26-50 %", 50: "51-75 %", 75: "76-100 %"}
_COLORS = ("#c4473f", "#bcd3ea", "#8fb8de", "#3d7ab5", "#1b3f73")
_PARTS = {
    "held": ("allocated", figures.ACCENT),
    "free beside\nothers' jobs": ("idle on partly\nused servers", figures.CYCLE[1]),
    "free on\nempty servers": ("idle on\nempty servers", figures.MUTED),
}
"""Label and colour of each part of the GPU time."""
_OF = ["capacity_gpu_h", "held_gpu_h", "partly_gpu_h"]
_SAMPLE = "Sample the GPUs once a minute to measure how busy allocated GPUs are and whose are idle."
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
    sentences, advice = [], ""
    if gpu_h > 0:
        sentences.append(f"The mean utilisation of allocated GPUs was {share(busy.frac)}.")
    if sampled and gpu_h > 0:
        idle, idle_h = _share_of(users, "idle_h"), float(users["idle_h"].sum())
        facts += idle.facts("idle", "share of those GPU hours at exactly 0 %")
        facts.append(Fact("idle_gpu_h", idle_h, "GPU hours at exactly 0 %"))
        sentences.append(
            f"They were idle (0 % utilisation) for {share(idle.frac)} of that time: "
            f"{number(idle_h)} of {number(gpu_h)} sampled GPU hours."
        )
        advice = _advice(users, idle_h)
    return Result(
        "how_used",
        levels,
        facts,
        sentences,
        [] if sampled else ["Only means of whole attempts are known, not the idle time of GPUs."],
        headline="mean_pct" if gpu_h > 0 else "",
        advice=advice or ("" if sampled else _SAMPLE),
    )


def _allocated(trace: Trace) -> Result:
    """Compute the share of GPU time that was allocated, for a trace without utilisation."""
    weeks = trace.answer("idle_gpus").df() if trace.has("idle_gpus") else pd.DataFrame(columns=_OF)
    total, held_h, partly_h = (float(weeks[name].sum()) for name in _OF)
    table = pd.DataFrame(
        {"part": [*_PARTS], "gpu_h": [held_h, partly_h, total - held_h - partly_h]}
    )
    if not total > 0:
        return Result("how_used", table, advice=_SAMPLE)
    held = clustered_share(weeks["held_gpu_h"] / weeks[_OF[0]], weeks["week"], weeks[_OF[0]])
    return Result(
        "how_used",
        table,
        (
            *held.facts("held", "share of the GPU time that was allocated"),
            Fact("capacity_gpu_h", total, "GPU hours of the cluster"),
        ),
        (
            f"{share(held.frac)} of the GPU time was allocated; {share(partly_h / total)} was idle "
            "on partly used servers.",
            "The utilisation of allocated GPUs was not recorded.",
        ),
        (
            "From the first start, or from when the log is complete, to the last end.",
            "The interval reflects differences between weeks; it needs at least three.",
        ),
        headline="held_pct",
        advice=_SAMPLE,
    )


def _share_of(users: pd.DataFrame, column: str) -> Share:
    return clustered_share(users[column] / users["gpu_h"], users["user"], users["gpu_h"])


def _advice(users: pd.DataFrame, idle_h: float) -> str:
    if not idle_h:
        return ""
    causes = "whether their jobs wait for data, for interactive input, or for nothing."
    if len(users) * _TOP_FRACTION < 1:
        return f"Ask the users named below {causes}"
    top = round(_TOP_FRACTION * len(users))
    theirs = float(users["idle_h"].nlargest(top).sum()) / idle_h
    return (
        f"A tenth of the users, {top:,} of {len(users):,}, have {share(theirs)} of the idle GPU "
        f"hours: ask those named below first {causes}"
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
