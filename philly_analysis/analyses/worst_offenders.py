"""List the users and jobs of most idle GPU hours and of most GPU hours lost to failures.

Hours depend on the number of GPUs: users of many GPUs are high in a list by hours. The share of the
total shows how high. Only GPUs allocated to one attempt count as idle, and only at exactly 0 %.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.results import UNNAMED, Fact, Result, figures, number, share
from philly_analysis.trace import Analysis, Trace

MOST = 5
"""Number of users and of jobs in each list."""

KINDS = {
    "idle_user": "Idle GPU hours, by user",
    "idle_job": "Idle GPU hours, by job",
    "failed_user": "GPU hours of failed attempts, by user",
    "failed_job": "GPU hours of failed attempts, by job",
}
_TYPES = {"kind": "str", "user": "str", "job": "str", "lost_gpu_h": "float", "lost_pct": "float"}
_WORDS = {"idle": "were idle", "failed": "were lost to failed attempts"}


def compute(trace: Trace) -> Result:
    """Find the users and jobs of most idle GPU hours, and of most lost to failures."""
    no_rows = pd.DataFrame(columns=list(_TYPES)).astype(_TYPES)
    parts, facts, sentences = [no_rows], [], []
    jobs_by_kind: dict[str, pd.DataFrame] = {}
    if trace.has_values("gpu_samples") and trace.has("worst_offenders_idle"):
        jobs_by_kind["idle"] = trace.answer("worst_offenders_idle").df()
    jobs_by_kind["failed"] = lost_to_failures(trace)
    for kind, jobs in jobs_by_kind.items():
        words = _WORDS[kind]
        jobs = jobs.fillna({"user": UNNAMED})
        jobs = jobs.rename(columns={"job_id": "job", "lost_h": "lost_gpu_h"})
        lost_h = float(jobs["lost_gpu_h"].sum())
        facts.append(Fact(f"{kind}_gpu_h", lost_h, f"GPU hours that {words}"))
        if not lost_h > 0:
            continue
        named = jobs[jobs["user"] != UNNAMED]
        users = named.groupby("user", as_index=False)[["lost_gpu_h"]].sum()
        worst_jobs = jobs.sort_values(["lost_gpu_h", "job"], ascending=[False, True])
        users = users.merge(worst_jobs.drop_duplicates("user")[["user", "job"]], on="user")
        for of, rows in (("user", users), ("job", jobs)):
            worst = rows.sort_values(["lost_gpu_h", of], ascending=[False, True]).head(MOST)
            worst = worst[worst["lost_gpu_h"] > 0]
            pct = 100 * worst["lost_gpu_h"] / lost_h
            parts.append(worst.assign(kind=f"{kind}_{of}", lost_pct=pct))
        sentences.append(f"{number(lost_h)} GPU hours {words}.")
        for first in parts[-2].head(1).to_dict("records"):  # no row: the log names no user
            part = share(first["lost_pct"] / 100)
            sentences.append(f"User {first['user']} has {part} of these GPU hours.")
    sentences = sentences or ["No GPU hour is known to have been idle or lost to a failure."]
    table = pd.concat(parts, ignore_index=True)[list(_TYPES)]
    return Result("worst_offenders", table, facts, sentences, CAVEATS["worst_offenders"])


def lost_to_failures(trace: Trace) -> pd.DataFrame:
    """Sum the GPU hours of failed attempts: by statuses and retries, or by their output.

    Returns
    -------
    pandas.DataFrame
        A row per job that lost any: job_id, user, lost_h (GPU hours).
    """
    relation = "lost_to_failures_by_output" if "failures" in trace.tables else "lost_to_failures"
    lost: pd.DataFrame = trace.answer(relation).df()
    return lost


def plot(result: Result) -> Figure:
    """Draw a bar per user and job."""
    table = result.table
    kinds = [kind for kind in KINDS if (table["kind"] == kind).any()]
    if not kinds:
        return figures.empty(figures.canvas()[0], "no GPU hour is known to be idle or lost")
    panels = -(-len(kinds) // 2)
    fig, axes = figures.canvas(min(len(kinds), 2), panels, width=9.6, height=1.9 * panels)
    for ax, kind in zip(axes, kinds, strict=False):
        rows = table[table["kind"] == kind].iloc[::-1]
        figures.hbars(
            ax,
            list(rows[kind.partition("_")[2]]),
            rows["lost_gpu_h"],
            [number(h) for h in rows["lost_gpu_h"]],
            color=figures.ACCENT if kind.startswith("idle") else figures.CYCLE[4],
            space=1.18,
            fontsize=7.5,
            names_fontsize=7.5,
            height=0.7,
        )
        figures.amount_axis(ax, "", axis="x")
        figures.title(ax, KINDS[kind])
    for ax in axes[len(kinds) :]:
        ax.remove()
    return fig


ANALYSIS = Analysis(
    name="worst_offenders",
    question="Whose GPU hours are idle, and whose are lost to failures?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_use_bins",
)
