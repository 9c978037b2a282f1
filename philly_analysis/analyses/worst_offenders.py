"""List the users and jobs of most idle GPU hours and of most GPU hours lost to failures.

Hours depend on the number of GPUs: users of many GPUs are high in a list by hours. The share of the
total shows how high. Only GPUs allocated to one attempt count as idle, and only at exactly 0 %.
"""

import duckdb
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
_JOBS = f"""
job_id as job, coalesce("user", '{UNNAMED}') as "user", lost_h::double as lost_gpu_h
"""
_USERS = """
"user", total(lost_gpu_h) as lost_gpu_h, arg_min(job, (-lost_gpu_h, job)) as job
"""
_WORDS = {"idle": "were idle", "failed": "were lost to failed attempts"}


def compute(trace: Trace) -> Result:
    """Find the users and jobs of most idle GPU hours, and of most lost to failures."""
    no_rows = pd.DataFrame(columns=list(_TYPES)).astype(_TYPES)
    parts, facts, sentences = [no_rows], [], []
    jobs_by_kind: dict[str, duckdb.DuckDBPyRelation] = {}
    if trace.has_values("gpu_samples") and trace.has("worst_offenders_idle"):
        jobs_by_kind["idle"] = trace.answer("worst_offenders_idle")
    jobs_by_kind["failed"] = lost_to_failures(trace)
    for kind, all_jobs in jobs_by_kind.items():
        words = _WORDS[kind]
        jobs = all_jobs.select(_JOBS)
        lost_h = total_lost_h(all_jobs)
        facts.append(Fact(f"{kind}_gpu_h", lost_h, f"GPU hours that {words}"))
        if not lost_h > 0:
            continue
        users = jobs.filter(f"\"user\" <> '{UNNAMED}'").aggregate(_USERS)
        for of, rows in (("user", users), ("job", jobs)):
            most = rows.filter("lost_gpu_h > 0").order(f'lost_gpu_h desc, "{of}"').limit(MOST)
            worst = most.df()
            pct = 100 * worst["lost_gpu_h"] / lost_h
            parts.append(worst.assign(kind=f"{kind}_{of}", lost_pct=pct))
        sentences.append(f"{number(lost_h)} GPU hours {words}.")
        for first in parts[-2].head(1).to_dict("records"):  # no row: the log names no user
            part = share(first["lost_pct"] / 100)
            sentences.append(f"User {first['user']} has {part} of these GPU hours.")
    sentences = sentences or ["No GPU hour is known to have been idle or lost to a failure."]
    table = pd.concat(parts, ignore_index=True)[list(_TYPES)]
    return Result("worst_offenders", table, facts, sentences, CAVEATS["worst_offenders"])


def lost_to_failures(trace: Trace) -> duckdb.DuckDBPyRelation:
    """Return the GPU hours of failed attempts by job: by statuses and retries, or by their output.

    Returns
    -------
    duckdb.DuckDBPyRelation
        A row per job that lost any: job_id, user, lost_h (GPU hours).
    """
    by_output = "failures" in trace.tables
    return trace.answer("lost_to_failures_by_output" if by_output else "lost_to_failures")


def total_lost_h(jobs: duckdb.DuckDBPyRelation) -> float:
    """Return the sum of the column lost_h, 0 without jobs."""
    [(lost_h,)] = jobs.aggregate("total(lost_h)").fetchall()
    return lost_h or 0.0


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
