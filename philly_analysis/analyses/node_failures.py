"""Estimate the failure rate of servers, and test whether it differs between servers.

Failures of servers come from the log or the attempts' output. In a gang, the failed server may be
another than the named server. Failures are only observed on servers in use.
"""

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from philly_analysis.results import (
    Fact,
    Rate,
    Result,
    count,
    dispersion,
    duration,
    figures,
    interval_facts,
    number,
    share,
)
from philly_analysis.study import LAST_END
from philly_analysis.trace import Analysis, Trace

DAY_S = 86_400.0

SAME_S = 300
"""Seconds within which attempts lost on a server count as one failure."""

_SIGNIFICANT = 0.01
_NAMED = 3
_LEAST_ROWS = 8
"""Servers that the figure has space for: a few do not become thick bars."""
_SHOWN = 12


def compute(trace: Trace) -> Result:
    """Count failures by server over its days in use."""
    table = trace.answer("node_failures").df()
    if not records_failures(trace):
        table = table.head(0)
    lost = incidents(lost_attempts(trace), lost_servers(trace))
    began = lost[lost["begins"]]
    servers, machine = began["servers"], began["machine_id"]
    table["failures"] = count_by(table["machine_id"], machine[servers == 1])
    table["in_gangs"] = count_by(table["machine_id"], machine[servers > 1])
    times_days = [
        Rate(int(n), float(d)).mean_time()
        for n, d in zip(table["failures"], table["days_held"], strict=True)
    ]
    for i, column in enumerate(("mttf_days", "mttf_low_days", "mttf_high_days")):
        table[column] = [finite(t[i]) or np.nan for t in times_days]
    events = began.drop_duplicates(["job_id", "attempt"])
    rate = Rate(len(events), float(table["days_held"].sum()))
    uneven, p = dispersion(table["failures"], table["days_held"])
    per_1000 = (1000 * rate.per_unit, *(1000 * end for end in rate.interval))
    times = [finite(days * DAY_S) for days in rate.mean_time()]
    facts = (
        Fact("servers", len(table), "servers in use"),
        Fact("server_days", rate.exposure, "days in use of all servers in sum"),
        Fact(
            "lost_attempts",
            len(lost.drop_duplicates(["job_id", "attempt"])),
            "attempts lost to server failures",
        ),
        Fact("failures", rate.events, "server failures by which attempts were lost"),
        *interval_facts("per_1000_server_days{}", per_1000, "failures in 1,000 server-days"),
        *interval_facts("mttf{}_s", times, "mean time in use until a server fails"),
        Fact(
            "unevenness",
            uneven,
            "variance of failures between servers, divided by the variance of chance",
        ),
        Fact("unevenness_p", p, "p-value: equal servers fail at least as unevenly"),
    )
    order = ["failures", "in_gangs", "machine_id"]
    return Result(
        "node_failures",
        table.sort_values(order, ascending=[False, False, True]).reset_index(drop=True),
        facts,
        _sentences(table, rate, uneven, p),
        (
            basis(trace),
            "Only days with jobs on a server count: idle servers and repairs are not observed. "
            f"Attempts lost on a server within {SAME_S // 60} minutes count as one failure.",
            "The log does not name which server of a gang failed. The failure of a gang on several "
            "servers counts for the overall rate and for no server.",
        ),
    )


def records_failures(trace: Trace) -> bool:
    """Return whether server failures are recorded, in output or as a separate end reason.

    Logs with only the ends of jobs record server failures as failures of the job.
    """
    ends = trace.answer("end_reasons").df()["end_reason"].dropna()
    return "failures" in trace.tables or not set(ends) <= set(LAST_END.values())


def lost_attempts(trace: Trace) -> pd.DataFrame:
    """Return the attempts that ended by a server failure, from end reasons and output."""
    by_output = "_by_output" if "failures" in trace.tables else ""
    lost: pd.DataFrame = trace.answer(f"lost_attempts{by_output}").df()
    return lost


def lost_servers(trace: Trace) -> pd.DataFrame:
    """Return the servers of attempts that a server failure ended, a row for each."""
    if "failures" in trace.tables:
        return held_by(trace, "lost_attempts_by_output")
    servers: pd.DataFrame = trace.answer("lost_servers").df()
    return servers


def held_by(trace: Trace, relation: str) -> pd.DataFrame:
    """Return the servers of a relation's attempts: one row per attempt and server."""
    attempts = trace.answer(relation).select("job_id, attempt")
    held = trace.answer("held_servers").join(attempts, "job_id, attempt", "semi")
    servers: pd.DataFrame = held.df()
    return servers


def basis(trace: Trace) -> str:
    """Return the sentence about which attempts count as lost to a server."""
    if not records_failures(trace):
        return (
            "The log only records whether jobs completed, failed or were killed, so server "
            "failures cannot be distinguished."
        )
    recorded = "An attempt counts as lost if the scheduler records a server failure"
    if "failures" not in trace.tables:
        return (
            f"{recorded}. Failures that the scheduler records as the job's, or detects later, are "
            "missing."
        )
    return (
        f"{recorded}, or its output has an uncorrectable GPU memory error, a GPU off the bus, an "
        "NVLink error or a lost server."
    )


def incidents(lost: pd.DataFrame, held: pd.DataFrame) -> pd.DataFrame:
    """Mark the lost attempts that begin a new failure of a server.

    Parameters
    ----------
    lost
        Attempts that ended with a server: job_id, attempt, ended_at.
    held
        Servers by attempt: job_id, attempt, machine_id, servers.

    Returns
    -------
    pandas.DataFrame
        One row per lost attempt and server. ``begins`` is true if none of its servers lost
        another attempt within :data:`SAME_S` before. Among attempts lost at the same moment, the
        attempt on the fewest servers comes first.
    """
    rows = lost[["job_id", "attempt", "ended_at"]].merge(
        held[["job_id", "attempt", "machine_id", "servers"]], on=["job_id", "attempt"]
    )
    rows = rows.sort_values(["ended_at", "servers", "job_id", "attempt"]).reset_index(drop=True)
    since = rows.groupby("machine_id")["ended_at"].diff().dt.total_seconds()
    rows["fresh"] = since.isna() | (since > SAME_S)
    rows["begins"] = rows.groupby(["job_id", "attempt"])["fresh"].transform("all").astype(bool)
    return rows.drop(columns="fresh")


def count_by(keys: pd.Series, rows: pd.Series) -> pd.Series:
    """Return how many of the rows have each of the keys."""
    return keys.map(rows.value_counts()).fillna(0).astype("int64")


def finite(value: float) -> float | None:
    """Return a finite number, or None."""
    return value if np.isfinite(value) else None


def _sentences(table: pd.DataFrame, rate: Rate, uneven: float, p: float) -> list[str]:
    if not rate.exposure > 0:
        return []
    mean, low, high = (duration(days * DAY_S) for days in rate.mean_time())
    observed = f"{count(len(table), 'server')} in {number(rate.exposure)} server-days"
    if not rate.events:
        return [
            f"No attempt was lost to a failure of {observed} of use. With 95 % confidence the mean "
            f"time to failure is at least {low}, if this log records server failures at all."
        ]
    sentences = [
        f"{observed} of use failed {count(rate.events, 'time')}: {number(1000 * rate.per_unit)} "
        f"failures per 1,000 server-days, a mean time to failure of {mean} (95 % interval {low} to "
        f"{high})."
    ]
    attributed = int(table["failures"].sum())
    if attributed >= 2 and np.isfinite(p):
        worst = table.sort_values(["failures", "machine_id"], ascending=[False, True])
        listed = ", ".join(
            f"{m['machine_id']} {m['failures']:,} in {duration(DAY_S * m['days_held'])}"
            for m in worst[worst["failures"] > 1].head(_NAMED).to_dict("records")
        )
        verdict = (
            "The failure rates of servers differ"
            if p < _SIGNIFICANT
            else "The failure rates of servers do not differ significantly"
            if p >= 0.05
            else "The failure rates of servers may differ"
        )
        sentences.append(
            f"{verdict} (variance {uneven:.1f} times the variance of equal servers, p = {p:.2g}, "
            f"n = {attributed:,} failures of known servers){f': {listed}' if listed else ''}."
        )
        hit = int((table["failures"] > 0).sum())
        sentences.append(f"{share(hit / len(table))} of the servers failed at least once.")
    return sentences


def plot(result: Result) -> Figure:
    """Draw failures by server, and their distribution over servers, observed and by chance."""
    table = result.table
    fig, [servers_ax, chance_ax] = figures.canvas(2, width=9.6, height=3.2)
    if table.empty:
        return figures.empty(fig, "no server in use, or no record of failures")
    if not (table["failures"].sum() or table["in_gangs"].sum()):
        return figures.empty(fig, "no attempt was lost to a server")
    _servers(servers_ax, table)
    _against_chance(chance_ax, table)
    return fig


def _servers(ax: Axes, table: pd.DataFrame) -> None:
    failed = table[(table["failures"] > 0) | (table["in_gangs"] > 0)]
    rows = failed.head(_SHOWN).iloc[::-1]
    y = np.arange(len(rows))
    ax.barh(y, rows["failures"], color=figures.CYCLE[4], label="of this server")
    shared = "of a server of its gang"
    drawn = ax.barh(y, rows["in_gangs"], left=rows["failures"], color=figures.MUTED, label=shared)
    times = [f"in {duration(DAY_S * d)}" for d in rows["days_held"]]
    ax.bar_label(drawn, times, fontsize=8, padding=2)
    ax.set_yticks(y, [figures.literal(m) for m in rows["machine_id"]], fontsize=8)
    ax.set_xlim(0, 1.5 * float((rows["failures"] + rows["in_gangs"]).max()))
    ax.set_ylim(min(-0.5, len(rows) - _LEAST_ROWS - 0.5), len(rows) - 0.5)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.set_xlabel("failures, and time in use")
    ax.grid(visible=False, axis="y")
    figures.legend(ax, beneath=True)
    figures.title(ax, f"servers that failed, {len(rows):,} of {len(failed):,}")


def _against_chance(ax: Axes, table: pd.DataFrame) -> None:
    n = table["failures"].to_numpy(int)
    expected = n.sum() * table["days_held"].to_numpy(float) / table["days_held"].sum()
    times = np.arange(max(int(n.max()), 3) + 1)
    chance = scipy.stats.poisson.pmf(times, expected[:, None]).sum(axis=0)
    seen = np.bincount(n, minlength=len(times))
    ax.bar(times - 0.2, seen, 0.4, color=figures.CYCLE[4], label="observed")
    ax.bar(times + 0.2, chance, 0.4, color=figures.MUTED, label="expected for equal servers")
    ax.set_yscale("symlog", linthresh=1)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_xticks(times[:: max(1, len(times) // 12)])
    ax.set(xlabel="failures of a server", ylabel="servers")
    figures.legend(ax, loc="upper right")
    figures.title(ax, "servers by number of failures")


ANALYSIS = Analysis(
    name="node_failures",
    question="How often do servers fail, and do the same ones fail repeatedly?",
    needs=("jobs", "attempts", "placements", "machines", "attempts.end_reason or failures"),
    compute=compute,
    plot=plot,
)
