"""Report failures from statuses, exit codes and retries alone, without output.

An exit code is the code of the last program, often a wrapper. Code 137 is any SIGKILL, not only
a kill for lack of memory.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.texts import CAVEATS
from philly_analysis.results import Fact, Result, count, duration, figures, percent, share
from philly_analysis.trace import Analysis, Trace

_NUMBERS = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
SIGNALS = {128 + n: name for n, name in _NUMBERS.items()} | {
    -n: name for n, name in _NUMBERS.items() if n > 2
}
"""Exit codes of processes ended by a signal; -1 and -2 are common codes of programs."""

_COLORS = {
    "retried, then passed": "#3a9a78",
    "retried, then killed": "#e0a83a",
    "retried, then unsuccessful": "#d9822b",
    "last attempt, unsuccessful": "#c4473f",
    "retried, end unknown": figures.MUTED,
}
_CODES_SHOWN = 8


def compute(trace: Trace) -> Result:
    """Count failed attempts by the final outcome of their job and by exit code."""
    table = trace.answer("failure_statuses").df()
    groups, total = table[table["ending"] != "all"], table[table["ending"] == "all"]

    def sum_where(rows: "pd.Series[bool]") -> int:
        return int(groups.loc[rows, "attempts"].sum())

    attempts = int(total["attempts"].sum())
    retried = sum_where(groups["ending"] != "last attempt, unsuccessful")
    passed = sum_where(groups["ending"] == "retried, then passed")
    coded = sum_where(groups["exit_code"].notna())
    signalled = sum_where(groups["exit_code"].isin(SIGNALS))
    totals = total[["rtf_p50_s", "early_pct"]].dropna().to_numpy(float).tolist()
    median, early = totals[0] if totals else (None, None)
    passed_pct = 100 * passed / retried if retried else None
    signalled_pct = 100 * signalled / coded if coded else None
    facts = (
        Fact(
            "attempts",
            attempts,
            "failed attempts: retried, or the last attempt of an unsuccessful job",
        ),
        Fact("retried", retried, "failed attempts after which the job was retried"),
        Fact("helped_pct", passed_pct, "retried attempts whose job passed in the end"),
        Fact(
            "coded_pct",
            100 * coded / attempts if attempts else None,
            "failed attempts with an exit code",
        ),
        Fact("signalled_pct", signalled_pct, "exit codes that stand for a signal"),
        Fact(
            "early_pct",
            early,
            "failed attempts with a known run time that ran for less than 5 minutes",
        ),
        Fact("rtf_p50_s", median, "median run time to failure, where known"),
        Fact("gpu_h", float(total["gpu_h"].sum()), "GPU hours of failed attempts"),
    )
    sentences = []
    if attempts:
        sentences.append(
            f"{count(attempts, 'attempt')} failed. The job was retried after "
            f"{share(retried / attempts)} of failed attempts."
        )
        if retried:
            sentences.append(f"The job passed after {share(passed / retried)} of retries.")
        if early is not None and median is not None:
            sentences.append(
                f"The median run time to failure is {duration(median)}; {percent(early)} fail "
                "within 5 minutes."
            )
    return Result("failure_statuses", table, facts, sentences, _caveats(trace, attempts, coded))


def _caveats(trace: Trace, attempts: int, coded: int) -> tuple[str, ...]:
    if not attempts:
        return ()
    return (
        *CAVEATS["failure_statuses"],
        ""
        if "failures" in trace.tables
        else "Reasons and tiers of failures are unknown without the attempts' output: memory, "
        "input, program or hardware, and whether a retry could have helped.",
        ""
        if coded
        else "The log has no exit codes, so that signals such as out-of-memory kills are unknown.",
    )


def plot(result: Result) -> Figure:
    """Draw failed attempts by the outcome of the job, and by exit code if there are any."""
    table = result.table[result.table["ending"] != "all"]
    coded = table[table["exit_code"].notna()]
    fig, axes = figures.canvas(1 if coded.empty else 2, width=8.2, height=2.8)
    if table.empty:
        return figures.empty(fig, "no attempt failed")
    sums = table.groupby("ending")["attempts"].sum()
    sums = sums[[e for e in _COLORS if e in sums.index][::-1]]
    labels, colors = [f"{n:,}" for n in sums], [_COLORS[e] for e in sums.index]
    figures.hbars(axes[0], list(sums.index), sums, labels, color=colors)
    axes[0].set_ylim(len(sums) - max(len(sums), 3) - 0.5, len(sums) - 0.5)
    if len(coded):
        codes = coded.groupby("exit_code")["attempts"].sum()
        codes = codes.sort_values(ascending=False).head(_CODES_SHOWN).iloc[::-1]
        names = [f"{int(c)} {SIGNALS.get(int(c), '')}".strip() for c in codes.index]
        labels = [f"{n:,}" for n in codes]
        figures.hbars(axes[1], names, codes, labels, color=figures.ACCENT)
        axes[1].set_ylabel("exit code")
    for ax in axes:
        ax.set_xlabel("failed attempts")
    return fig


ANALYSIS = Analysis(
    name="failure_statuses",
    question="What do statuses, exit codes and retries show about failures?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="No attempt is known to have failed.",
)
