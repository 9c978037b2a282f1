"""Reasons of failure: how often, how late, on how many GPUs, at what cost (ATC'19, Table 7).

A reason is the deepest that a signature finds in the output; output without one is counted as
such, not guessed. Time to failure of a reason that strikes in long runs is long because those
runs are, not because it is slow.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.failures import NO_SIGNATURE
from philly_analysis.results import Fact, Result, count, duration, figures, share
from philly_analysis.trace import Trace

QUESTION = "Why do attempts fail, how late, and at what cost?"
NEEDS = ("jobs", "attempts", "failures")

TIER_COLORS = {
    "IF": "#c4473f",
    "IF+U": "#d9822b",
    "IF+AE+U": "#d3b94f",
    "AE": "#1b3f73",
    "AE+U": "#4fa3c7",
    "U": "#3a9a78",
    "": figures.MUTED,
}
_TIER_WORDS = {
    "IF": "infrastructure",
    "IF+U": "infrastructure or user",
    "IF+AE+U": "any tier",
    "AE": "AI engine",
    "AE+U": "AI engine or user",
    "U": "user",
    "": "no tier",
}


def compute(trace: Trace) -> Result:
    """Count failed attempts by reason, with run times to failure and GPU time."""
    table = by_frequency(trace.answer("failure_reasons").df())
    reasons = table[table["reason"] != "all"]
    total = table[table["reason"] == "all"]
    trials = int(total["trials"].sum())
    none = int(reasons.loc[reasons["reason"] == NO_SIGNATURE, "trials"].sum())
    facts = [
        Fact("trials", trials, "failed attempts whose output is known"),
        Fact("jobs", int(total["jobs"].sum()), "jobs they belong to"),
        Fact("users", int(total["users"].sum()), "users of these jobs"),
        Fact("reasons", int((reasons["reason"] != NO_SIGNATURE).sum()), "reasons that occurred"),
        Fact("no_signature_pct", 100 * none / trials if trials else None, "trials without a cause"),
        Fact("gpu_h", float(total["gpu_h"].sum()), "GPU hours until failure"),
    ]
    for tier, what in (("IF", "infrastructure"), ("AE", "AI engine"), ("U", "user")):
        held = reasons[reasons["tier"].str.split("+").map(lambda tiers, t=tier: t in tiers)]
        pct = 100 * int(held["trials"].sum()) / trials if trials else None
        facts.append(Fact(f"tier_{tier}_pct", pct, f"trials whose reason may be of the {what}"))
    return Result(
        name="failure_reasons",
        table=table,
        facts=tuple(facts),
        sentences=_sentences(reasons, trials, none),
        caveats=_caveats(trace, table),
    )


def by_frequency(table: pd.DataFrame) -> pd.DataFrame:
    """Sort rows of reasons as the study does: most frequent first, no signature and all last."""
    last = table["reason"].map({NO_SIGNATURE: 1, "all": 2}).fillna(0)
    order = table.assign(last=last).sort_values(
        ["last", "trials", "reason"], ascending=[True, False, True]
    )
    return order.drop(columns="last").reset_index(drop=True)


def _sentences(reasons: pd.DataFrame, trials: int, none: int) -> tuple[str, ...]:
    named = reasons[reasons["reason"] != NO_SIGNATURE]
    if named.empty:
        return ()
    said = []
    first = named.iloc[0]
    said.append(
        f"The most frequent reason is {first['reason']}: "
        f"{share(int(first['trials']) / trials)} of {count(trials, 'failed attempt')}."
    )
    timed = named.dropna(subset=["rtf_p50_s", "rtf_share_pct"])
    if len(timed):
        costly = timed.sort_values(["rtf_share_pct", "reason"]).iloc[-1]
        said.append(
            f"{costly['reason']} holds the largest share of the run time to failure, "
            f"{share(float(costly['rtf_share_pct']) / 100)} with "
            f"{share(int(costly['trials']) / trials)} of the attempts; half of them fail within "
            f"{duration(float(costly['rtf_p50_s']))}."
        )
    if none:
        said.append(f"{share(none / trials)} match no signature of a cause.")
    return tuple(said)


def _caveats(trace: Trace, table: pd.DataFrame) -> tuple[str, ...]:
    [silent] = trace.answer("failure_reasons_silent").df()["attempts"]
    total = table[table["reason"] == "all"]
    untimed = int((total["trials"] - total["timed"]).sum())
    return tuple(
        text
        for n, text in (
            (
                silent,
                f"{count(silent, 'attempt')} of unsuccessful jobs left no output: "
                "their reasons are not known.",
            ),
            (
                untimed,
                f"{count(untimed, 'failed attempt')} without a trusted run time: counted, "
                "not timed.",
            ),
        )
        if n
    )


def plot(result: Result) -> Figure:
    """Draw trials, run time to failure and GPU time of each reason, coloured by tier."""
    table = result.table[result.table["reason"] != "all"].iloc[::-1]
    fig, [trials, late, cost] = figures.canvas(
        3, width=9.6, height=max(2.6, 1.3 + 0.21 * len(table)), sharey=True
    )
    if table.empty:
        return figures.empty(fig, "no failed attempt has known output")
    n = int(table["trials"].sum())
    colors = [TIER_COLORS.get(tier, figures.MUTED) for tier in table["tier"]]
    for tier in figures.ordered(table["tier"], list(TIER_COLORS)):
        trials.barh(
            [table["reason"].iloc[0]],
            [0],
            color=TIER_COLORS.get(tier, figures.MUTED),
            label=_TIER_WORDS.get(tier, tier),
        )
    drawn = trials.barh(table["reason"], 100 * table["trials"] / n, color=colors)
    trials.bar_label(drawn, [f"{t:,}" for t in table["trials"]], fontsize=7, padding=2)
    trials.set_xlim(0, float((100 * table["trials"] / n).max()) * 1.22)
    trials.set_xlabel(f"share of n = {n:,} trials (%)")
    timed = table[table["timed"] > 0]
    for reason, p50, p95, tier in zip(
        timed["reason"], timed["rtf_p50_s"], timed["rtf_p95_s"], timed["tier"], strict=True
    ):
        color = TIER_COLORS.get(tier, figures.MUTED)
        late.plot([max(p50, 1), max(p95, 1)], [reason, reason], color=color, linewidth=2)
        late.plot([max(p50, 1)], [reason], marker="o", color=color, markersize=4.5)
    figures.time_axis(late, hi_s=604_800)
    late.xaxis.set_tick_params(labelsize=7)
    late.set_xlabel("run time to failure, p50 • to p95")
    shares = table["gpu_h_share_pct"].fillna(0)
    drawn = cost.barh(table["reason"], shares, color=colors)
    cost.bar_label(drawn, [f"{s:.1f}" if s else "" for s in shares], fontsize=7, padding=2)
    cost.set_xlim(0, max(float(shares.max()) * 1.18, 1))
    cost.set_xlabel("share of their GPU time (%)")
    for ax in (trials, late, cost):
        ax.grid(visible=False, axis="y")
    handles, labels = trials.get_legend_handles_labels()
    fig.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=len(labels),
        fontsize=7.5,
        frameon=False,
        handlelength=1.2,
        columnspacing=1.2,
    )
    return fig
