"""Whose jobs left most GPU hours idle, and whose failures cost most, by name.

Hours, not rates: whoever holds many GPUs comes early in any such list, and the share of the whole
says how early. Only GPUs that one attempt held alone count as idle, and only at exactly 0 %.
"""

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import NOBODY, Fact, Result, figures, number, share
from philly_analysis.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUESTION = "Whose GPU hours are idle, and whose are lost to failures?"
NEEDS = ("jobs", "attempts")

MOST = 5
"""How many are named of each kind."""

_COLUMNS = ("kind", "user", "job", "lost_h", "pct")
KINDS = {
    "idle_user": "Idle GPU hours, by user",
    "idle_job": "Idle GPU hours, by job",
    "failed_user": "GPU hours of failed attempts, by user",
    "failed_job": "GPU hours of failed attempts, by job",
}
_EMPTY = pd.DataFrame(
    {c: pd.Series(dtype="float" if c in ("lost_h", "pct") else "str") for c in _COLUMNS}
)
_WORDS = {"idle": "were idle", "failed": "were lost to attempts that failed"}


def compute(trace: Trace) -> Result:
    """Name the users and jobs of most GPU hours idle, and of most lost to failures."""
    parts, facts, said = [_EMPTY], [], []
    for kind, relation in (("idle", "worst_offenders_idle"), ("failed", "worst_offenders_failed")):
        if kind == "idle" and not (trace.has_values("gpu_samples") and trace.has(relation)):
            continue
        jobs = trace.answer(relation).df().fillna({"user": NOBODY})
        lost_h = float(jobs["lost_h"].sum())
        facts.append(Fact(f"{kind}_gpu_h", lost_h, f"GPU hours that {_WORDS[kind]}"))
        if not lost_h > 0:
            continue
        users = jobs.groupby("user", as_index=False)["lost_h"].sum()
        for of, rows, name in (("user", users, "user"), ("job", jobs, "job_id")):
            worst = rows.sort_values(["lost_h", name], ascending=[False, True]).head(MOST)
            worst = worst[worst["lost_h"] > 0].rename(columns={"job_id": "job"})
            parts.append(worst.assign(kind=f"{kind}_{of}", pct=100 * worst["lost_h"] / lost_h))
        first = parts[-2].iloc[0]
        said.append(
            f"{number(lost_h)} GPU hours {_WORDS[kind]}, {share(first['pct'] / 100)} of them held "
            f"by {first['user']}."
        )
    table = pd.concat(parts, ignore_index=True)[list(_EMPTY)]
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
    if not kinds:
        return figures.empty(figures.canvas()[0], "no GPU hour is known to be idle or lost")
    rows = -(-len(kinds) // 2)
    fig, axes = figures.canvas(min(len(kinds), 2), rows, width=9.6, height=1.9 * rows)
    for ax, kind in zip(axes, kinds, strict=False):
        _bars(ax, table[table["kind"] == kind].iloc[::-1], kind)
    for ax in axes[len(kinds) :]:
        ax.remove()
    return fig


def _bars(ax: "Axes", rows: pd.DataFrame, kind: str) -> None:
    names = rows["job" if kind.endswith("job") else "user"]
    color = figures.ACCENT if kind.startswith("idle") else figures.CYCLE[4]
    drawn = ax.barh(range(len(rows)), rows["lost_gpu_h"], 0.7, color=color)
    ax.bar_label(drawn, [number(h) for h in rows["lost_gpu_h"]], fontsize=7.5, padding=2)
    ax.set_yticks(range(len(rows)), [figures.plain(name) for name in names], fontsize=7.5)
    ax.set_xlim(0, float(rows["lost_gpu_h"].max()) * 1.18)
    figures.amount_axis(ax, "", axis="x")
    ax.grid(visible=False, axis="y")
    figures.title(ax, KINDS[kind])
