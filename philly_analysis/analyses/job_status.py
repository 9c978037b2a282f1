"""Report the final status of jobs, by count and by GPU time (ATC'19, Table 6).

A status is the scheduler's record of the last attempt. Jobs that users stop after they have their
result are killed, and a program that fails with exit code 0 has passed. Few long jobs dominate the
GPU time.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, count_note, figures, share
from philly_analysis.study import PASS, STATUSES
from philly_analysis.trace import Analysis, Trace

_WORDS = dict(zip(STATUSES, ("passed", "were killed", "were unsuccessful"), strict=True))


def compute(trace: Trace) -> Result:
    """Count jobs and GPU hours by final status."""
    table = trace.answer("job_status").df()
    facts = (
        Fact("jobs", int(table["jobs"].sum()), "jobs"),
        Fact("gpu_h", float(table["gpu_h"].sum()), "GPU hours of jobs"),
        *(
            Fact(f"{column}_{status}_pct", pct, f"share of {what}, {status}")
            for column, what in (("jobs", "jobs"), ("gpu_h", "GPU time"))
            for status, pct in zip(table["status"], table[f"{column}_pct"], strict=True)
        ),
    )
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    caveats = (
        count_note(log.jobs_running, "job", " still running: GPU time up to the end of the log."),
        count_note(log.attempts_untimed, "attempt", " without an end: no GPU time counted."),
        count_note(
            log.jobs_flagged,
            "flagged job",
            " counted; the GPU time of flagged jobs may be too small.",
        ),
    )
    return Result("job_status", table, facts, _sentences(table), caveats)


def _sentences(table: pd.DataFrame) -> list[str]:
    jobs = dict(zip(table["status"], table["jobs_pct"] / 100, strict=True))
    gpu_h = dict(zip(table["status"], table["gpu_h_pct"] / 100, strict=True))
    statuses = [s for s in _WORDS if s in jobs]
    if not statuses or not table["gpu_h"].sum():
        return []
    shares = "; ".join(
        f"{share(jobs[s])} of jobs {_WORDS[s]} and used {share(gpu_h[s])} of GPU time"
        for s in statuses
    )
    lost = [s for s in statuses if s != PASS]
    if not lost:
        return [f"{shares}."]
    return [
        f"{shares}.",
        f"Jobs that did not pass are {share(sum(jobs[s] for s in lost))} of all jobs and "
        f"{share(sum(gpu_h[s] for s in lost))} of the GPU time.",
    ]


def plot(result: Result) -> Figure:
    """Draw two stacked bars, jobs and GPU time, divided by status."""
    table = result.table
    fig, [ax] = figures.canvas(height=2.2)
    if table.empty:
        return figures.empty(fig, "no jobs")
    rows = table.set_index("status")
    statuses = figures.ordered(rows.index, list(figures.STATUS_COLORS))
    colors = {s: figures.STATUS_COLORS.get(s, figures.MUTED) for s in statuses}
    figures.job_shares(ax, rows.loc[statuses], colors, "GPU time")
    n, gpu_h = int(table["jobs"].sum()), table["gpu_h"].sum()
    figures.title(ax, f"n = {n:,} jobs, {gpu_h:,.0f} GPU hours")
    return fig


ANALYSIS = Analysis(
    name="job_status",
    question="How do jobs end, and what share of GPU time has each status?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log does not record how jobs ended.",
)
