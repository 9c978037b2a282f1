"""What statuses, exit codes and retries alone say about failures, and what they cannot.

Exit codes are the last program's, often a wrapper's; 137 is a kill by anybody, not only for want
of memory.
"""

from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, count, duration, figures, share
from philly_analysis.trace import Trace

QUESTION = "What do statuses, exit codes and retries say about failures?"
NEEDS = ("jobs", "attempts")

SIGNALS = {
    129: "SIGHUP",
    130: "SIGINT",
    132: "SIGILL",
    134: "SIGABRT",
    135: "SIGBUS",
    136: "SIGFPE",
    137: "SIGKILL",
    139: "SIGSEGV",
    143: "SIGTERM",
    -4: "SIGILL",
    -6: "SIGABRT",
    -7: "SIGBUS",
    -8: "SIGFPE",
    -9: "SIGKILL",
    -11: "SIGSEGV",
    -15: "SIGTERM",
}
"""Exit codes that name the signal which ended the process."""

ENDINGS = {
    "retried, then passed": "#3a9a78",
    "retried, then killed": "#e0a83a",
    "retried, then unsuccessful": "#d9822b",
    "last attempt, unsuccessful": "#c4473f",
    "retried, end unknown": figures.MUTED,
}
_CODES_DRAWN = 8


def compute(trace: Trace) -> Result:
    """Count failed attempts by what became of their job and by exit code."""
    table = trace.answer("failure_statuses").df()
    groups, total = table[table["ending"] != "all"], table[table["ending"] == "all"]
    attempts = int(total["attempts"].sum())
    retried = groups[groups["ending"] != "last attempt, unsuccessful"]
    again = int(retried["attempts"].sum())
    helped = int(retried.loc[retried["ending"] == "retried, then passed", "attempts"].sum())
    coded = int(groups.loc[groups["exit_code"].notna(), "attempts"].sum())
    signalled = int(groups.loc[groups["exit_code"].isin(SIGNALS), "attempts"].sum())
    known = total.dropna(subset=["rtf_p50_s", "early_pct"])
    median, early = (
        float(known[c].sum()) if len(known) else None for c in ("rtf_p50_s", "early_pct")
    )
    facts = (
        Fact("attempts", attempts, "attempts that failed: tried again, or the last of a failure"),
        Fact("retried", again, "of these, attempts after which the job was tried again"),
        Fact("helped_pct", 100 * helped / again if again else None, "of these, jobs that passed"),
        Fact("coded_pct", 100 * coded / attempts if attempts else None, "with an exit code"),
        Fact("signalled_pct", 100 * signalled / coded if coded else None, "whose code is a signal"),
        Fact("early_pct", early, "failed within 5 minutes, of those with a known run time"),
        Fact("rtf_p50_s", median, "their median run time, where known"),
        Fact("gpu_h", float(total["gpu_h"].sum()), "GPU hours that they held"),
    )
    said = []
    if attempts:
        said.append(
            f"{count(attempts, 'attempt')} failed; the job was tried again after "
            f"{share(again / attempts)} of them"
            + (f", and passed in the end after {share(helped / again)} of these." if again else ".")
        )
        if early is not None and median is not None:
            said.append(
                f"Half of them failed within {duration(median)}, {share(early / 100)} within "
                "5 minutes."
            )
    return Result(
        name="failure_statuses",
        table=table,
        facts=facts,
        sentences=tuple(said),
        caveats=_caveats(trace, attempts, coded),
    )


def _caveats(trace: Trace, attempts: int, coded: int) -> tuple[str, ...]:
    if not attempts:
        return ()
    said = [
        "An attempt that another followed counts as failed unless the log says that it was "
        "preempted, requeued, migrated, resized or lost with its server; where it does not say, "
        "preemption hides among them.",
        "A job that its user killed may have failed too: its last attempt is not counted.",
    ]
    if "failures" not in trace.tables:
        said.append(
            "Without the attempts' output their reasons and tiers cannot be known: not whether "
            "memory, input, program or hardware failed, nor whether a retry could have helped."
        )
    if not coded:
        said.append("The log has no exit codes: signals, memory kills among them, are invisible.")
    return tuple(said)


def plot(result: Result) -> Figure:
    """Draw attempts by what became of the job; beside it the exit codes, if there are any."""
    table = result.table[result.table["ending"] != "all"]
    coded = table[table["exit_code"].notna()]
    fig, axes = figures.canvas(1 if coded.empty else 2, width=8.2, height=2.8)
    if table.empty:
        return figures.empty(fig, "no attempt failed")
    sums = table.groupby("ending")["attempts"].sum()
    endings = [e for e in ENDINGS if e in sums.index][::-1]
    drawn = axes[0].barh(endings, [sums[e] for e in endings], color=[ENDINGS[e] for e in endings])
    axes[0].set_ylim(len(endings) - max(len(endings), 3) - 0.5, len(endings) - 0.5)
    axes[0].bar_label(drawn, [f"{sums[e]:,}" for e in endings], fontsize=8, padding=2)
    axes[0].set_xlim(0, float(sums.max()) * 1.2)
    axes[0].set_xlabel("failed attempts")
    if len(coded):
        codes = coded.groupby("exit_code")["attempts"].sum()
        codes = codes.sort_values(ascending=False).head(_CODES_DRAWN).iloc[::-1]
        labels = [
            f"{int(c)}" + (f" {SIGNALS[int(c)]}" if int(c) in SIGNALS else "") for c in codes.index
        ]
        drawn = axes[1].barh(labels, codes.to_numpy(), color=figures.ACCENT)
        axes[1].bar_label(drawn, [f"{n:,}" for n in codes], fontsize=8, padding=2)
        axes[1].set_xlim(0, float(codes.max()) * 1.2)
        axes[1].set_xlabel("failed attempts")
        axes[1].set_ylabel("exit code")
    for ax in axes:
        ax.grid(visible=False, axis="y")
    return fig
