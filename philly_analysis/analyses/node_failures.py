"""Failures of servers: how often one fails, and whether the same ones do.

A failure is laid to a server where the log or the output says so: one of several servers of a
gang may be blamed for another's fault. Servers with more jobs have more occasions to be seen
failing.
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
    number,
    share,
)
from philly_analysis.study import LAST_END
from philly_analysis.trace import Trace

QUESTION = "How often does a server fail, and do the same ones?"
NEEDS = ("jobs", "attempts", "placements", "machines", "attempts.end_reason or failures")

DAY_S = 86_400.0

SAME_S = 300
"""Attempts that a server loses within so many seconds are lost to one failure of it."""

UNTOLD = (
    "The log tells only whether jobs completed, failed or were killed: a server's failure would "
    "look like any other."
)

_LEMON = 0.01
_NAMED = 3
_DRAWN = 12


def compute(trace: Trace) -> Result:
    """Count failures by server, over the days on which it was in use."""
    table = trace.answer("node_failures").df()
    if not tells(trace):
        table = table.head(0)
    lost = incidents(lost_attempts(trace), trace.answer("held_servers").df())
    began = lost[lost["begins"]]
    alone = began[began["servers"] == 1].groupby("machine_id").size()
    among = began[began["servers"] > 1].groupby("machine_id").size()
    table["failures"] = table["machine_id"].map(alone).fillna(0).astype("int64")
    table["in_gangs"] = table["machine_id"].map(among).fillna(0).astype("int64")
    for column, values in _mean_days(table).items():
        table[column] = values
    events = began.drop_duplicates(["job_id", "attempt"])
    rate = Rate(len(events), float(table["days_held"].sum()))
    mean, low, high = rate.mean_time()
    uneven, p = dispersion(table["failures"], table["days_held"])
    facts = (
        Fact("servers", len(table), "servers that jobs held"),
        Fact("server_days", rate.exposure, "days that these were held, added up"),
        Fact("lost_attempts", len(lost.drop_duplicates(["job_id", "attempt"])), "attempts lost"),
        Fact("failures", rate.events, "failures of servers that lost them"),
        Fact("per_1000_server_days", 1000 * rate.per_unit, "failures in 1,000 days of a server"),
        Fact("per_1000_server_days_low", 1000 * rate.interval[0], "lower end, 95 % interval"),
        Fact("per_1000_server_days_high", 1000 * rate.interval[1], "upper end"),
        Fact("mttf_s", finite(mean * DAY_S), "mean time in use until a server fails"),
        Fact("mttf_low_s", finite(low * DAY_S), "lower end of its 95 % interval"),
        Fact("mttf_high_s", finite(high * DAY_S), "upper end; none where no failure was seen"),
        Fact("unevenness", uneven, "variance of failures over servers, relative to chance: 1"),
        Fact("unevenness_p", p, "chance that equal servers fail at least as unevenly"),
    )
    return Result(
        name="node_failures",
        table=table.sort_values(
            ["failures", "in_gangs", "machine_id"], ascending=[False, False, True]
        ).reset_index(drop=True),
        facts=facts,
        sentences=tuple(_sentences(table, rate, len(events), uneven, p)),
        caveats=(
            basis(trace) if tells(trace) else UNTOLD,
            "Days are those on which jobs held the server: one that stands idle or is under "
            "repair is not watched. Attempts that a server loses within "
            f"{SAME_S // 60} minutes count as one failure.",
            "Which server of a gang failed is not in the log: such a failure counts for the rate "
            "of all and for no server.",
        ),
    )


def tells(trace: Trace) -> bool:
    """Tell whether a server's failure would show: in output, or as an end of its own.

    A log that knows no ends but those of jobs would call it a failure of the job.
    """
    said = trace.answer("end_reasons").df()["end_reason"].dropna()
    return "failures" in trace.tables or not set(said) <= set(LAST_END.values())


def lost_attempts(trace: Trace) -> pd.DataFrame:
    """Return the attempts that a server's failure ended, by all that the trace tells of it."""
    told = "lost_attempts_told" if "failures" in trace.tables else "lost_attempts"
    lost: pd.DataFrame = trace.answer(told).df()
    return lost


def basis(trace: Trace) -> str:
    """Say what makes an end a server's failure, and how few may be known by it."""
    if "failures" not in trace.tables:
        return (
            "An attempt was lost to a server where the scheduler says so: what it calls a failure "
            "of the job, or notices later, is not known."
        )
    return (
        "An attempt was lost to a server where the scheduler says so, or its output tells of an "
        "uncorrectable GPU memory error, a GPU off the bus, an NVLink error or a lost server."
    )


def incidents(lost: pd.DataFrame, held: pd.DataFrame) -> pd.DataFrame:
    """Tell which losses of attempts begin a failure, and which go with one that was counted.

    Parameters
    ----------
    lost
        Attempts that ended with a server: job_id, attempt, ended_at.
    held
        Servers by attempt: job_id, attempt, machine_id, servers.

    Returns
    -------
    pandas.DataFrame
        One row per lost attempt and server of it, with ``begins``: true where no other attempt had
        been lost, within :data:`SAME_S` before, by any of its servers. Of attempts lost at one
        moment, the one on fewest servers says best which it was, and comes first.
    """
    rows = lost[["job_id", "attempt", "ended_at"]].merge(
        held[["job_id", "attempt", "machine_id", "servers"]], on=["job_id", "attempt"]
    )
    rows = rows.sort_values(["ended_at", "servers", "job_id", "attempt"]).reset_index(drop=True)
    since = rows.groupby("machine_id")["ended_at"].diff().dt.total_seconds()
    rows["fresh"] = since.isna() | (since > SAME_S)
    rows["begins"] = rows.groupby(["job_id", "attempt"])["fresh"].transform("all").astype(bool)
    return rows.drop(columns="fresh")


def _mean_days(table: pd.DataFrame) -> dict[str, list[float]]:
    """Return the mean days to failure of each server, and their interval; null: none to see."""
    times = [
        Rate(int(n), float(d)).mean_time()
        for n, d in zip(table["failures"], table["days_held"], strict=True)
    ]
    columns = ("mttf_days", "mttf_low_days", "mttf_high_days")
    return {c: [finite(t[i]) or np.nan for t in times] for i, c in enumerate(columns)}


def finite(value: float) -> float | None:
    """Return a number, or None for one without end or meaning."""
    return value if np.isfinite(value) else None


def _sentences(table: pd.DataFrame, rate: Rate, events: int, uneven: float, p: float) -> list[str]:
    if not rate.exposure > 0:
        return []
    mean, low, high = rate.mean_time()
    watched = f"{count(len(table), 'server')} in use for {number(rate.exposure)} days together"
    if not events:
        return [
            f"No attempt was lost to a server, of {watched}: with 95 % confidence one fails after "
            f"{duration(low * DAY_S)} in use on average, or later; if this log tells of it at all."
        ]
    said = [
        f"{watched[0].upper()}{watched[1:]} failed {count(events, 'time', 'times')}: "
        f"{number(1000 * rate.per_unit)} failures in 1,000 server-days, a mean time to failure of "
        f"{duration(mean * DAY_S)} (95 % interval {duration(low * DAY_S)} to "
        f"{duration(high * DAY_S)})."
    ]
    known = int(table["failures"].sum())
    if known >= 2 and np.isfinite(p):
        worst = table.sort_values(["failures", "machine_id"], ascending=[False, True])
        worst = worst[worst["failures"] > 1].head(_NAMED)
        listed = ", ".join(
            f"{m['machine_id']} {m['failures']:,} in {duration(DAY_S * m['days_held'])}"
            for m in worst.to_dict("records")
        )
        said.append(
            (
                "The same servers fail again and again, more than chance would have it"
                if p < _LEMON
                else "Failures fall on servers as chance would have it"
                if p >= 0.05
                else "Failures gather on some servers, perhaps more than chance would have it"
            )
            + f" (of {known:,} failures whose server is known, the variance is {uneven:.1f} times "
            f"that of equal servers, p = {p:.2g})" + (f": {listed}." if listed else ".")
        )
        hit = int((table["failures"] > 0).sum())
        said.append(f"{share(hit / len(table))} of the servers failed at all.")
    return said


def plot(result: Result) -> Figure:
    """Draw failures by server, and how many servers fail so often beside what chance gives."""
    table = result.table
    fig, [left, right] = figures.canvas(2, width=9.6, height=3.2)
    if table.empty:
        return figures.empty(fig, "nothing is known of servers in use, or of their failures")
    if not (table["failures"].sum() or table["in_gangs"].sum()):
        return figures.empty(fig, "no attempt was lost to a server")
    _servers(left, table)
    _against_chance(right, table)
    return fig


def _servers(ax: Axes, table: pd.DataFrame) -> None:
    failed = table[(table["failures"] > 0) | (table["in_gangs"] > 0)]
    rows = failed.head(_DRAWN).iloc[::-1]
    y = np.arange(len(rows))
    ax.barh(y, rows["failures"], color=figures.CYCLE[4], label="its own")
    shared = "in a gang, its own or not"
    drawn = ax.barh(y, rows["in_gangs"], left=rows["failures"], color=figures.MUTED, label=shared)
    times = [f"in {duration(DAY_S * d)}" for d in rows["days_held"]]
    ax.bar_label(drawn, times, fontsize=8, padding=2)
    ax.set_yticks(y, [figures.plain(m) for m in rows["machine_id"]], fontsize=8)
    ax.set_xlim(0, 1.5 * float((rows["failures"] + rows["in_gangs"]).max()))
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
    ax.bar(times - 0.2, seen, 0.4, color=figures.CYCLE[4], label="seen")
    ax.bar(times + 0.2, chance, 0.4, color=figures.MUTED, label="if servers were equal")
    ax.set_yscale("symlog", linthresh=1)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_xticks(times[:: max(1, len(times) // 12)])
    ax.set(xlabel="failures of a server", ylabel="servers")
    figures.legend(ax, loc="upper right")
    figures.title(ax, "do the same servers fail?")
