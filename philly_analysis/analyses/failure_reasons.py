"""Report failure reasons: frequency, run time to failure, demand and cost (ATC'19, Table 7).

The reason of a failure is the deepest error with a signature in the output; output without a
signature counts as a reason of its own. Reasons of long runs have long run times to failure.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.failures import NO_SIGNATURE
from philly_analysis.results import Fact, Result, count, count_note, duration, figures, share
from philly_analysis.trace import Analysis, Trace

_TIERS = {
    "IF": ("infrastructure", "#c4473f"),
    "IF+U": ("infrastructure or user", "#d9822b"),
    "IF+AE+U": ("any tier", "#d3b94f"),
    "AE": ("AI engine", "#1b3f73"),
    "AE+U": ("AI engine or user", "#4fa3c7"),
    "U": ("user", "#3a9a78"),
    "": ("no tier", figures.MUTED),
}
"""Label and colour of each combination of tiers."""


def compute(trace: Trace) -> Result:
    """Count failed attempts by reason, with run times to failure and GPU time."""
    table = by_frequency(trace.answer("failure_reasons").df())
    reasons, total = table[table["reason"] != "all"], table[table["reason"] == "all"]
    named = reasons[reasons["reason"] != NO_SIGNATURE]
    trials = int(total["trials"].sum())
    unknown = trials - int(named["trials"].sum())

    def pct(n: int) -> float | None:
        return 100 * n / trials if trials else None

    facts = [
        Fact("trials", trials, "failed attempts with known output"),
        Fact("jobs", int(total["jobs"].sum()), "jobs of failed attempts with known output"),
        Fact("users", int(total["users"].sum()), "users of failed attempts with known output"),
        Fact("reasons", len(named), "reasons that occurred"),
        Fact("no_signature_pct", pct(unknown), "trials without a signature"),
        Fact("gpu_h", float(total["gpu_h"].sum()), "GPU hours until failure"),
    ]
    for tier in ("IF", "AE", "U"):
        possible = reasons["tier"].str.split("+").map(lambda tiers, t=tier: t in tiers).astype(bool)
        meaning = f"trials whose reason may be in the tier {_TIERS[tier][0]}"
        facts.append(Fact(f"tier_{tier}_pct", pct(int(reasons["trials"][possible].sum())), meaning))
    sentences = []
    if len(named):
        first = named.iloc[0]
        sentences.append(
            f"The most frequent reason is {first['reason']}: "
            f"{share(int(first['trials']) / trials)} of {count(trials, 'failed attempt')}."
        )
        timed = named.dropna(subset=["rtf_p50_s", "rtf_share_pct"])
        if len(timed):
            costly = timed.sort_values(["rtf_share_pct", "reason"]).iloc[-1]
            sentences.append(
                f"{costly['reason']} has the largest share of the run time to failure: "
                f"{share(float(costly['rtf_share_pct']) / 100)} with "
                f"{share(int(costly['trials']) / trials)} of the failed attempts. The median run "
                f"time to failure for this reason is {duration(float(costly['rtf_p50_s']))}."
            )
        if unknown:
            sentences.append(
                f"{share(unknown / trials)} of the failed attempts match no signature."
            )
    [silent] = trace.answer("failure_reasons_no_output").df()["attempts"]
    untimed = int((total["trials"] - total["timed"]).sum())
    caveats = (
        count_note(silent, "attempt", " of unsuccessful jobs without output: reason unknown."),
        count_note(
            untimed, "failed attempt", " without a trusted run time: counted, but not timed."
        ),
    )
    return Result("failure_reasons", table, facts, sentences, caveats)


def by_frequency(table: pd.DataFrame) -> pd.DataFrame:
    """Sort reasons as the study does: by frequency, then no signature, then the total."""
    last = table["reason"].map({NO_SIGNATURE: 1, "all": 2}).fillna(0)
    order = table.assign(last=last).sort_values(
        ["last", "trials", "reason"], ascending=[True, False, True]
    )
    return order.drop(columns="last").reset_index(drop=True)


def plot(result: Result) -> Figure:
    """Draw trials, run time to failure and GPU time of each reason, coloured by tier."""
    table = result.table[result.table["reason"] != "all"].iloc[::-1]
    fig, [trials, times, cost] = figures.canvas(
        3, width=9.6, height=max(2.6, 1.3 + 0.21 * len(table)), sharey=True
    )
    if table.empty:
        return figures.empty(fig, "no failed attempt has known output")
    n, names = int(table["trials"].sum()), list(table["reason"])
    colors = [_TIERS.get(tier, _TIERS[""])[1] for tier in table["tier"]]
    pct, labels = 100 * table["trials"] / n, [f"{t:,}" for t in table["trials"]]
    figures.hbars(trials, names, pct, labels, color=colors, space=1.22, fontsize=7)
    trials.set_xlabel(f"share of n = {n:,} trials (%)")
    rows = zip(table["timed"], table["rtf_p50_s"], table["rtf_p95_s"], colors, strict=True)
    for y, (timed, p50, p95, color) in enumerate(rows):
        if timed > 0:
            times.plot([max(p50, 1), max(p95, 1)], [y, y], color=color, linewidth=2)
            times.plot([max(p50, 1)], [y], marker="o", color=color, markersize=4.5)
    figures.time_axis(times)
    times.xaxis.set_tick_params(labelsize=7)
    times.set_xlabel("run time to failure, p50 • to p95")
    times.grid(visible=False, axis="y")
    shares = table["gpu_h_share_pct"].fillna(0)
    labels = [f"{s:.1f}" if s else "" for s in shares]
    figures.hbars(cost, names, shares, labels, color=colors, space=1.18, fontsize=7)
    cost.set_xlim(0, max(cost.get_xlim()[1], 1))
    cost.set_xlabel("share of their GPU time (%)")
    for tier in figures.ordered(table["tier"], list(_TIERS)):
        word, color = _TIERS.get(tier, (tier, figures.MUTED))
        trials.barh([0], [0], color=color, label=word)
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


ANALYSIS = Analysis(
    name="failure_reasons",
    question="Why do attempts fail, after how long, and at what cost?",
    needs=("jobs", "attempts", "failures"),
    compute=compute,
    plot=plot,
    absent="No failed attempt has output.",
)
