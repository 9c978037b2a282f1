"""Whose jobs left most GPU hours idle, and whose failures cost most, by name."""

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis import figures
from philly_analysis.prose import number, share
from philly_analysis.result import Fact, Result
from philly_analysis.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUESTION = "Whose GPU hours are idle, and whose are lost to failures?"
NEEDS = ("jobs", "attempts")

MOST = 5
"""How many are named of each kind."""

KINDS = {
    "idle_user": "Idle GPU hours, by user",
    "idle_job": "Idle GPU hours, by job",
    "failed_user": "GPU hours of failed attempts, by user",
    "failed_job": "GPU hours of failed attempts, by job",
}
_WORDS = {"idle": "were idle", "failed": "were lost to attempts that failed"}


def compute(trace: Trace) -> Result:
    """Name the users and jobs of most GPU hours idle, and of most lost to failures."""
    parts, facts, said = [], [], []
    for kind, relation in (("idle", "worst_offenders_idle"), ("failed", "worst_offenders_failed")):
        if kind == "idle" and not (trace.holds("gpu_samples") and trace.has(relation)):
            continue
        jobs = trace.answer(relation).df()
        lost_h = float(jobs["lost_h"].sum())
        facts.append(Fact(f"{kind}_gpu_h", lost_h, f"GPU hours that {_WORDS[kind]}"))
        by_user = jobs.groupby("user", as_index=False)["lost_h"].sum().assign(kind=f"{kind}_user")
        by_job = jobs.assign(kind=f"{kind}_job").rename(columns={"job_id": "job"})
        for rows in (by_user, by_job):
            ranked = rows[rows["lost_h"] > 0].sort_values(
                ["lost_h", "job" if "job" in rows else "user"], ascending=[False, True]
            )
            parts.append(ranked.head(MOST).assign(pct=lambda r, of=lost_h: 100 * r["lost_h"] / of))
        if lost_h > 0 and len(parts[-2]):
            worst = parts[-2].iloc[0]
            said.append(
                f"{number(lost_h)} GPU hours {_WORDS[kind]}, {share(worst['pct'] / 100)} of them "
                f"held by {worst['user']}."
            )
    columns = ["kind", "user", "job", "lost_h", "pct"]
    table = pd.concat(parts, ignore_index=True).reindex(columns=columns)
    return Result(
        name="worst_offenders",
        table=table.rename(columns={"lost_h": "lost_gpu_h", "pct": "lost_pct"}),
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "Idle is a GPU that its job held alone, read at exactly 0 %. Failed is an attempt that "
            "another followed, or with which its job ended unsuccessful.",
        ),
    )


def plot(result: Result) -> Figure:
    """Draw a bar per user and job."""
    table = result.table
    kinds = [kind for kind in KINDS if (table["kind"] == kind).any()]
    fig, axes = figures.canvas(2, max(1, len(kinds) // 2), width=9.6, height=1.9 * len(kinds) / 2)
    if not kinds:
        return figures.empty(fig, "no GPU hour is known to be idle or lost")
    for ax, kind in zip(axes, kinds, strict=False):
        _bars(ax, table[table["kind"] == kind].iloc[::-1], kind)
    return fig


def _bars(ax: "Axes", rows: pd.DataFrame, kind: str) -> None:
    names = rows["job" if kind.endswith("job") else "user"]
    color = figures.ACCENT if kind.startswith("idle") else figures.CYCLE[4]
    drawn = ax.barh(range(len(rows)), rows["lost_gpu_h"], 0.7, color=color)
    ax.bar_label(drawn, [number(h) for h in rows["lost_gpu_h"]], fontsize=7.5, padding=2)
    ax.set_yticks(range(len(rows)), [figures.plain(name) for name in names], fontsize=7.5)
    ax.set_xlim(0, float(rows["lost_gpu_h"].max()) * 1.18)
    ax.grid(visible=False, axis="y")
    figures.title(ax, KINDS[kind])
