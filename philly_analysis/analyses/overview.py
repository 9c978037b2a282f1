"""Summarise a trace: its contents, rejected rows and the days that it covers.

A day without samples may be a gap of the monitor rather than an idle day. Jobs from before the log
is complete are flagged, as only long jobs of that time are recorded.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Facts, Result, count, figures, number, share
from philly_analysis.trace import Analysis, Trace

_LEAST_GAP_H = 2
"""Shortest gap in the samples that is reported, in hours."""

_SAMPLED = {"gpu_samples": "gpu_sample_hours", "host_samples": "host_sample_hours"}


def compute(trace: Trace) -> Result:
    """Count the contents of the trace by day, gaps in its samples and rejected rows."""
    table = trace.answer("overview").df()
    caveats: list[str] = []
    for name, relation in _SAMPLED.items():
        table[name] = pd.Series(pd.NA, table.index, "Int64")
        if name in trace.tables:
            hours = trace.answer(relation).df().sort_values("hour")
            per_day = hours.groupby(hours["hour"].dt.normalize())["samples"].sum()
            table[name] = table["day"].map(per_day).fillna(0).round().astype("int64")
            caveats += _gaps(name, hours["hour"])
    facts = Facts(_facts(trace, table))
    return Result("overview", table, facts, _sentences(facts), caveats + _flags(trace))


def _facts(trace: Trace, table: pd.DataFrame) -> tuple[Fact, ...]:
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    machines = gpus = None
    if "machines" in trace.tables:
        [(machines, _, gpus)] = trace.answer("cluster_size").fetchall()
    read = sum(a.read for a in trace.manifest.accounts)
    again = sum(a.duplicates for a in trace.manifest.accounts)
    rejected = sum(sum(a.rejected.values()) for a in trace.manifest.accounts) - again
    return (
        Fact("jobs", log.jobs, "jobs submitted"),
        Fact("cpu_only_jobs", log.cpu_only_jobs, "jobs without GPUs, which the findings exclude"),
        Fact("attempts", log.attempts, "scheduling attempts of the jobs on GPUs"),
        Fact("jobs_without_attempts", log.jobs_without_attempts, "jobs without an attempt"),
        Fact("jobs_running", log.jobs_running, "jobs running at the end of the log"),
        Fact("users", log.users, "users"),
        Fact("vcs", log.vcs, "virtual clusters"),
        Fact("machines", machines, "machines"),
        Fact("gpus", gpus, "GPUs in the machines"),
        Fact("days", len(table), "days from the first submission to the end of the log"),
        Fact("gpu_h", log.gpu_h, "GPU hours of jobs"),
        Fact("rows_read", read, "raw rows read"),
        Fact("rows_rejected", rejected, "raw rows that were rejected"),
        *([Fact("rows_again", again, "raw rows that repeat other raw rows")] if again else []),
        Fact("gpu_sample_days", _days_with(table["gpu_samples"]), "days with GPU samples"),
        Fact("host_sample_days", _days_with(table["host_samples"]), "days with host samples"),
    )


def _days_with(samples: pd.Series) -> int | None:
    return None if samples.isna().all() else int((samples > 0).sum())


def _sentences(facts: Facts) -> list[str]:
    def n(name: str) -> int:
        return int(facts[name] or 0)

    jobs, others, days = n("jobs"), n("cpu_only_jobs"), count(n("days"), "day")
    if not jobs:
        return ["The trace has no jobs." if not others else "No job has GPUs."]
    who = [
        count(n(name), word)
        for name, word in (("users", "user"), ("vcs", "virtual cluster"))
        if facts[name]
    ]
    sentences = [
        f"{count(jobs, 'job')}{' of ' + ' in '.join(who) if who else ''} made "
        f"{count(n('attempts'), 'attempt')} over {days} and used "
        f"{number(float(facts['gpu_h'] or 0))} GPU hours.",
        f"{count(others, 'other job')} asked for no GPU: findings are about jobs with GPUs."
        if others
        else "",
    ]
    if n("jobs_without_attempts") or n("jobs_running"):
        sentences.append(
            f"{count(n('jobs_without_attempts'), 'job')} never started an attempt and "
            f"{n('jobs_running'):,} were running at the end of the log."
        )
    sampled = [
        f"{word} samples on {facts[name]}"
        for word, name in (("GPU", "gpu_sample_days"), ("host", "host_sample_days"))
        if facts[name] is not None
    ]
    if sampled:
        sentences.append(f"There are {' and '.join(sampled)} of the {days}.")
    read, rejected = n("rows_read"), n("rows_rejected")
    if read:
        again = next((f.value for f in facts if f.name == "rows_again"), None)
        repeated = f", and {again:,} repeat others" if again else ""
        sentences.append(
            f"{rejected:,} of {read:,} raw rows ({share(rejected / read)}) were rejected{repeated}."
        )
    return sentences


def _gaps(name: str, hours: pd.Series) -> list[str]:
    """Report the longest gaps between samples."""
    what = name.replace("_", " ").replace("gpu", "GPU")
    gaps = pd.DataFrame({"since": hours.shift(), "h": hours.diff().dt.total_seconds() / 3_600 - 1})
    return [
        f"No {what} for {h:,.0f} h from {since + pd.Timedelta(hours=1):%Y-%m-%d %H:%M}."
        for since, h in gaps[gaps["h"] >= _LEAST_GAP_H].nlargest(3, "h").itertuples(index=False)
    ]


def _flags(trace: Trace) -> list[str]:
    return [
        f"{n:,} {what} are flagged: {flag.replace('_', ' ')}."
        for what, flag, n in sorted(trace.answer("flags").fetchall())
    ]


def plot(result: Result) -> Figure:
    """Draw submissions, GPUs in use and samples over the days."""
    table = result.table.assign(gpus_in_use=result.table["gpu_h"] / 24)
    panels = [("jobs", "jobs submitted\nper day")]
    if table["gpu_h"].sum() > 0:  # not of a log without starts
        panels.append(("gpus_in_use", "GPUs in use,\nmean of the day"))
    panels += [
        (name, f"{name.split('_')[0].replace('gpu', 'GPU')} samples\nper day")
        for name in _SAMPLED
        if not table[name].isna().all()
    ]
    fig, axes = figures.canvas(1, len(panels), height=1.35 * len(panels) + 0.3, sharex=True)
    if table.empty:
        return figures.empty(fig, "no jobs")
    for ax, (column, label) in zip(axes, panels, strict=True):
        figures.daily_columns(ax, table["day"], table[column].astype(float), color=figures.ACCENT)
        figures.amount_axis(ax, label)
    figures.day_axis(axes[-1])
    return fig


ANALYSIS = Analysis(
    name="overview",
    question="What does this trace contain, and which days does it cover?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
)
