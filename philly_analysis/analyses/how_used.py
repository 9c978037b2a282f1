"""How well GPUs are used, in one number: how busy those are that jobs hold.

Utilisation is the driver's: the share of time in which anything ran on the GPU, not how much of
it was filled, so that 100 % may be a small part of what the GPU can do. Minutes without a reading
are left out, not taken for idle. Where nothing was read at all, the answer is how much of the
GPU time there was is held.
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
    "held": figures.ACCENT,
    "free beside\nothers' jobs": figures.CYCLE[1],
    "free on\nempty servers": figures.MUTED,
}
"""What becomes of GPU time, and its colours."""
_OF = ["capacity_gpu_h", "held_gpu_h", "partly_gpu_h"]
_SAMPLE = (
    "Sample the GPUs once a minute, to see how busy those are that jobs hold, and whose stand idle."
)
_MOST = 0.1
"""The part of the users who are looked at for most of the idle time."""


def compute(trace: Trace) -> Result:
    """Give the mean use of GPUs held, over their time, and how long they were held and idle."""
    sampled = trace.has_values("gpu_samples") and trace.has("how_used")
    if not sampled and not trace.has_values("summaries"):
        return _held(trace)
    if sampled:
        # at once, so that the samples are read once
        trace.create(["how_used", "how_used_levels"])
        users, levels = trace.answer("how_used").df(), trace.answer("how_used_levels").df()
    else:
        users = trace.answer("how_used_told").df()
        levels = users.groupby("level", as_index=False)["gpu_h"].sum()
    gpu_h = float(users["gpu_h"].sum())
    busy = _part(users, "busy_h")
    facts = [
        *busy.facts("mean", "mean utilisation of the GPUs that jobs held"),
        Fact("gpu_h", gpu_h, "GPU hours held with a reading"),
    ]
    said = []
    if gpu_h > 0:
        said.append(f"The GPUs that jobs held were busy {share(busy.frac)} of the time.")
    idle, advice = None, ""
    if sampled and gpu_h > 0:
        idle = _part(users, "idle_h")
        facts += idle.facts("idle", "part of those GPU hours at exactly 0 %")
        idle_h = float(users["idle_h"].sum())
        facts.append(Fact("idle_gpu_h", idle_h, "GPU hours at exactly 0 %"))
        said.append(
            f"They stood at 0 % for {share(idle.frac)} of it, {number(idle_h)} of "
            f"{number(gpu_h)} GPU hours with a reading."
        )
        advice = _advice(users, idle_h)
    return Result(
        name="how_used",
        table=levels,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=()
        if sampled
        else ("Only means of whole attempts are known: how long GPUs were idle is not.",),
        headline="mean_pct" if gpu_h > 0 else "",
        advice=advice or "Sample the GPUs once a minute, to see whose stand idle." * (not sampled),
    )


def _held(trace: Trace) -> Result:
    """Give the part of the GPU time that jobs held, where nobody read how busy the GPUs were."""
    weeks = trace.answer("idle_gpus").df() if trace.has("idle_gpus") else pd.DataFrame(columns=_OF)
    whole, held_h, partly_h = (float(weeks[name].sum()) for name in _OF)
    table = pd.DataFrame(
        {"part": [*_PARTS], "gpu_h": [held_h, partly_h, whole - held_h - partly_h]}
    )
    if not whole > 0:
        return Result(name="how_used", table=table, advice=_SAMPLE)
    held = clustered_share(weeks["held_gpu_h"] / weeks[_OF[0]], weeks["week"], weeks[_OF[0]])
    return Result(
        name="how_used",
        table=table,
        facts=(
            *held.facts("held", "part of the GPU time there was that jobs held"),
            Fact("capacity_gpu_h", whole, "GPU hours that there were"),
        ),
        sentences=(
            f"Jobs held {share(held.frac)} of the GPU time that there was; another "
            f"{share(partly_h / whole)} stood free on servers that were in part in use.",
            "How busy the GPUs were that they held, nobody read.",
        ),
        caveats=(
            "From the first start, or from when the log is complete, to the last end.",
            "The interval is what the weeks' differences make of it: three at least.",
        ),
        headline="held_pct",
        advice=_SAMPLE,
    )


def _part(users: pd.DataFrame, column: str) -> Share:
    return clustered_share(users[column] / users["gpu_h"], users["user"], users["gpu_h"])


def _advice(users: pd.DataFrame, idle_h: float) -> str:
    if not idle_h:
        return ""
    few = max(1, round(_MOST * len(users)))
    theirs = float(users["idle_h"].nlargest(few).sum()) / idle_h
    return (
        f"A tenth of the users, {few:,} of {len(users):,}, hold {share(theirs)} of the idle GPU "
        "hours: ask those named below first whether their jobs wait for data, for a notebook's "
        "user, or for nothing."
        if len(users) >= 1 / _MOST
        else "Ask those named below whether their jobs wait for data, for a user, or for nothing."
    )


def plot(result: Result) -> Figure:
    """Draw how many of the GPU hours held stood at each level of use; else how many were held."""
    if "part" in result.table:
        return _parts(result.table)
    held = result.table.set_index("level")["gpu_h"]
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    if held.sum() <= 0:
        return figures.empty(fig, "no GPU hours with a reading")
    fracs = [float(held.get(level, 0.0)) / float(held.sum()) for level in _LEVELS]
    figures.share_bars(ax, list(_LEVELS.values()), fracs, _COLORS)
    ax.set_xlabel("utilisation of a GPU held")
    figures.title(ax, "Share of GPU hours held")
    return fig


def _parts(table: pd.DataFrame) -> Figure:
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    if table["gpu_h"].sum() <= 0:
        return figures.empty(fig, "no GPU was held")
    fracs = table["gpu_h"] / table["gpu_h"].sum()
    figures.share_bars(ax, list(table["part"]), list(fracs), list(_PARTS.values()))
    figures.title(ax, "Share of the GPU hours there were")
    return fig
