"""Final status of jobs, by count and by GPU time (ATC'19, Table 6).

A status is what the scheduler saw of the last attempt: jobs that users stop once they have what
they want are killed, and a program that fails and exits with 0 has passed. GPU time by status is
ruled by a few long jobs.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside
from philly_analysis.results import Fact, Result, count, figures, share
from philly_analysis.study import PASS, STATUSES
from philly_analysis.trace import Trace

QUESTION = "How do jobs end, and what share of GPU time goes to each end?"
NEEDS = ("jobs", "attempts")

_WORDS = dict(zip(STATUSES, ("passed", "were killed", "were unsuccessful"), strict=True))


def compute(trace: Trace) -> Result:
    """Count jobs and GPU hours by final status."""
    table = trace.answer("job_status").df()
    facts = (
        Fact("jobs", int(table["jobs"].sum()), "jobs"),
        Fact("gpu_h", float(table["gpu_h"].sum()), "GPU hours held"),
        *(
            Fact(f"{column}_{status}_pct", pct, f"share of {what}, {status}")
            for column, what in (("jobs", "jobs"), ("gpu_h", "GPU time"))
            for status, pct in zip(table["status"], table[f"{column}_pct"], strict=True)
        ),
    )
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    caveats = [
        f"{count(n, thing)} {why}"
        for n, thing, why in (
            (
                log.jobs_running,
                "job",
                "still running as the log ended: GPU time is counted up to then.",
            ),
            (log.attempts_untimed, "attempt", "of unknown end: nothing added to GPU time."),
            (log.jobs_flagged, "flagged job", "counted; their GPU time may be too small."),
        )
        if n
    ]
    return Result(
        name="job_status",
        table=table,
        facts=facts,
        sentences=_sentences(table),
        caveats=tuple(caveats),
        comparisons=beside(trace, "job_status", facts),
    )


def _sentences(table: pd.DataFrame) -> tuple[str, ...]:
    jobs = dict(zip(table["status"], table["jobs_pct"] / 100, strict=True))
    gpu_h = dict(zip(table["status"], table["gpu_h_pct"] / 100, strict=True))
    known = [s for s in _WORDS if s in jobs]
    if not known or not table["gpu_h"].sum():
        return ()
    said = [
        "; ".join(
            f"{share(jobs[s])} of jobs {_WORDS[s]} and took {share(gpu_h[s])} of GPU time"
            for s in known
        )
        + "."
    ]
    lost = [s for s in known if s != PASS]
    if lost:
        said.append(
            f"Jobs that did not pass are {share(sum(jobs[s] for s in lost))} of all jobs and "
            f"{share(sum(gpu_h[s] for s in lost))} of the GPU time."
        )
    return tuple(said)


def plot(result: Result) -> Figure:
    """Draw two stacked bars: all jobs, and all GPU time, divided by status."""
    table = result.table
    fig, [ax] = figures.canvas(height=2.2)
    if table.empty:
        return figures.empty(fig, "no jobs")
    left = [0.0, 0.0]
    for status in figures.ordered(table["status"], list(figures.STATUS_COLORS)):
        row = table[table["status"] == status]
        color = figures.STATUS_COLORS.get(status, figures.MUTED)
        values = [float(row["gpu_h_pct"].fillna(0).iloc[0]), float(row["jobs_pct"].iloc[0])]
        drawn = ax.barh(
            ["GPU time", "jobs"],
            values,
            left=left,
            height=0.6,
            label=status,
            color=color,
        )
        labels = [f"{v:.1f} %" if v >= 6 else "" for v in values]
        ax.bar_label(
            drawn, labels, label_type="center", color=figures.readable(color), fontsize=8.5
        )
        left = [a + b for a, b in zip(left, values, strict=True)]
    figures.percent_axis(ax, "share", axis="x")
    ax.grid(visible=False, axis="y")
    n, gpu_h = int(table["jobs"].sum()), table["gpu_h"].sum()
    figures.title(ax, f"n = {n:,} jobs, {gpu_h:,.0f} GPU hours")
    figures.legend(ax, beneath=True)
    return fig
