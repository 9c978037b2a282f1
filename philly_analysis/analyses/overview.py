"""What a trace holds, what was rejected on the way in, and which days it covers.

A day without samples may be a gap of the monitor rather than an idle day. Jobs before the log
became complete are survivors of a longer past, and are flagged.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside
from philly_analysis.results import Fact, Result, count, figures, number, share
from philly_analysis.trace import Trace

QUESTION = "What is in this trace, and which days does it cover?"
NEEDS = ("jobs", "attempts")

_HOLE_H = 2
"""Whole hours without a sample that make a gap worth naming."""

_SAMPLED = {"gpu_samples": "gpu_sample_hours", "host_samples": "host_sample_hours"}


def compute(trace: Trace) -> Result:
    """Count what the trace holds, day by day, with gaps in its samples and rejected rows."""
    table = trace.answer("overview").df()
    caveats: list[str] = []
    for name, relation in _SAMPLED.items():
        table[name] = pd.Series(pd.NA, table.index, "Int64")
        if name in trace.tables:
            hours = trace.answer(relation).df().sort_values("hour")
            per_day = hours.groupby(hours["hour"].dt.normalize())["samples"].sum()
            table[name] = table["day"].map(per_day).fillna(0).round().astype("int64")
            caveats += _gaps(name, hours["hour"])
    facts = _facts(trace, table)
    return Result(
        name="overview",
        table=table,
        facts=facts,
        sentences=_sentences(trace, {f.name: f.value for f in facts}),
        caveats=tuple(caveats + _flags(trace)),
        comparisons=beside(trace, "overview", facts),
    )


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
        Fact("cpu_only_jobs", log.cpu_only_jobs, "other jobs, which asked for no GPU"),
        Fact("attempts", log.attempts, "scheduling attempts that they made"),
        Fact("jobs_without_attempts", log.jobs_without_attempts, "jobs that never got an attempt"),
        Fact("jobs_running", log.jobs_running, "jobs that still ran as the log ended"),
        Fact("users", log.users, "users"),
        Fact("vcs", log.vcs, "virtual clusters"),
        Fact("machines", machines, "machines"),
        Fact("gpus", gpus, "GPUs in them"),
        Fact("days", len(table), "days from the first submission to the log's last moment"),
        Fact("gpu_h", log.gpu_h, "GPU hours held"),
        Fact("rows_read", read, "raw rows read"),
        Fact("rows_rejected", rejected, "raw rows that no table took"),
        *([Fact("rows_again", again, "raw rows that say what others say")] if again else []),
        Fact("gpu_sample_days", _days_with(table["gpu_samples"]), "days with GPU samples"),
        Fact("host_sample_days", _days_with(table["host_samples"]), "days with host samples"),
    )


def _days_with(samples: pd.Series) -> int | None:
    return None if samples.isna().all() else int((samples > 0).sum())


def _sentences(trace: Trace, fact: dict[str, float | int | str | None]) -> tuple[str, ...]:
    jobs, days = int(fact["jobs"] or 0), int(fact["days"] or 0)
    others = int(fact["cpu_only_jobs"] or 0)
    if not jobs:
        return ("The trace holds no jobs." if not others else "No job asked for GPUs.",)
    who = [
        count(int(n), word)
        for word, n in (("user", fact["users"]), ("virtual cluster", fact["vcs"]))
        if n
    ]
    said = [
        f"{count(jobs, 'job')}{' of ' + ' in '.join(who) if who else ''} made "
        f"{count(int(fact['attempts'] or 0), 'attempt')} over {count(days, 'day')} and held "
        f"{number(float(fact['gpu_h'] or 0))} GPU hours."
    ]
    if others:
        said.append(
            f"{count(others, 'other job')} asked for no GPU: findings are about the jobs that did."
        )
    if fact["jobs_without_attempts"] or fact["jobs_running"]:
        said.append(
            f"{count(int(fact['jobs_without_attempts'] or 0), 'job')} never got an attempt and "
            f"{int(fact['jobs_running'] or 0):,} still ran as the log ended."
        )
    sampled = [
        f"{word} samples on {fact[name]}"
        for word, name in (("GPU", "gpu_sample_days"), ("host", "host_sample_days"))
        if fact[name] is not None
    ]
    if sampled:
        said.append(f"There are {' and '.join(sampled)} of the {count(days, 'day')}.")
    read, rejected = int(fact["rows_read"] or 0), int(fact["rows_rejected"] or 0)
    if read:
        again = int(fact.get("rows_again") or 0)
        beside = f", and {again:,} said again what others say" if again else ""
        said.append(
            f"Of {read:,} raw rows, {rejected:,} ({share(rejected / read)}) were rejected{beside}."
        )
    return tuple(said)


def _gaps(name: str, hours: pd.Series) -> list[str]:
    """Name the longest holes between the first and the last sample."""
    what = name.replace("_", " ").replace("gpu", "GPU")
    holes = pd.DataFrame({"since": hours.shift(), "h": hours.diff().dt.total_seconds() / 3_600 - 1})
    return [
        f"No {what} for {h:,.0f} h from {since + pd.Timedelta(hours=1):%Y-%m-%d %H:%M}."
        for since, h in holes[holes["h"] >= _HOLE_H].nlargest(3, "h").itertuples(index=False)
    ]


def _flags(trace: Trace) -> list[str]:
    return [
        f"{n:,} {what} are kept but flagged: {flag.replace('_', ' ')}."
        for what, flag, n in sorted(trace.answer("flags").fetchall())
    ]


def plot(result: Result) -> Figure:
    """Draw submissions, GPUs in use and samples over the days."""
    panels = [("jobs", "jobs submitted\nper day"), ("gpus_in_use", "GPUs in use,\nmean of the day")]
    table = result.table.assign(gpus_in_use=result.table["gpu_h"] / 24)
    panels += [
        (name, f"{name.split('_')[0].replace('gpu', 'GPU')} samples\nper day")
        for name in _SAMPLED
        if not table[name].isna().all()
    ]
    fig, axes = figures.canvas(1, len(panels), height=1.35 * len(panels) + 0.3, sharex=True)
    if table.empty:
        return figures.empty(fig, "no jobs")
    for ax, (column, label) in zip(axes, panels, strict=True):
        figures.columns(ax, table["day"], table[column].astype(float), color=figures.ACCENT)
        figures.amount_axis(ax, label)
    figures.day_axis(axes[-1])
    return fig
