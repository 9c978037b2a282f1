"""Divide waits into fair-share and fragmentation delay, by count and by time (ATC'19, Table 2).

No public trace has quotas. Quotas are estimated from the use of virtual clusters. The share of
fair-share delay depends on the estimate by tens of percentage points (see the facts). Shares by
count and by time differ because few waits are most of the waiting time.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.completeness import missing_jobs, preferred
from philly_analysis.results import (
    Fact,
    Facts,
    Result,
    count,
    count_note,
    duration,
    figures,
    gang_label,
    percent,
    slug,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace

_DECIDED = ("fair_share", "fragmentation")
CAUSES = (*_DECIDED, "held", "start_up", "unknown")
COLORS = {
    "fair share": "#8e5ea2",
    "fragmentation": "#d9822b",
    "held": "#9c8755",
    "start-up": "#5b9aa0",
    "not explained": figures.MUTED,
}
"""Colour of each cause, by its label."""
_LABELS = {"fair_share": "fair share", "start_up": "start-up", "unknown": "not explained"}
_ESTIMATES = ("p95", "p99", "peak")
_SHARES = (
    ("fair_share", "waits", "", _DECIDED, "fair-share delay among waits of known cause"),
    ("unknown", "waits", "", CAUSES, "waits of unknown cause"),
    (
        "fragmentation",
        "time_s",
        "_time",
        _DECIDED,
        "fragmentation delay in the waiting time of known cause",
    ),
    ("unknown", "time_s", "_time", CAUSES, "waiting time of unknown cause"),
    ("start_up", "waits", "", CAUSES, "waits for start-up"),
    ("start_up", "time_s", "_time", CAUSES, "start-up in all waiting time"),
)


def compute(trace: Trace) -> Result:
    """Divide waits and waiting time by cause.

    *Fair-share delay* is the time of the causes limit and quota in ``wait_causes``. *Fragmentation
    delay* is the time of too few free GPUs and of fragmentation. *Unknown* includes stranded GPUs
    and time behind other jobs, for which the study has no cause. No cause is given for a trace that
    lacks jobs of its cluster.
    """
    table = trace.answer("delay_causes").df()
    if missing := missing_jobs(trace):
        table = table.head(0)
    method = preferred(table["method"])
    ours = table[table["method"] == method]
    waited = ours[ours["cause"] != "none"]
    fragmentation_s = float(waited.loc[waited["cause"] == "fragmentation", "time_s"].sum())
    full_s = float(waited["full_s"].sum())
    first = waited["first"].astype(bool)
    subsets = {
        **{m: table[table["method"] == m] for m in _ESTIMATES if m in set(table["method"])},
        "first": waited[first],
        "retry": waited[~first],
        **{gang: waited[waited["gang"] == gang] for gang in GANGS},
    }
    not_waited = int(ours.loc[ours["cause"] == "none", "waits"].sum())
    full_pct = 100 * full_s / fragmentation_s if fragmentation_s else None
    limits = trace.answer("start_up_limits").df().set_index("method")["longest_s"]
    facts = [
        Fact("quota_method", method, "source of the quotas (see caveats)"),
        Fact("waits", int(waited["waits"].sum()), "attempts that waited"),
        Fact("no_wait", not_waited, "other attempts"),
        *(
            Fact(f"{cause}{of}_pct", _pct(waited, column, cause, among), meaning)
            for cause, column, of, among, meaning in _SHARES
        ),
        Fact("start_up_longest_s", limits.get(method), "longest wait that counts as start-up"),
        Fact("full_time_pct", full_pct, "fragmentation delay with fewer free GPUs than the gang"),
    ]
    for name, rows in subsets.items():
        which = gang_label(name) if name in GANGS else name
        meaning = f"the same, {'quota ' if name in _ESTIMATES else ''}{which}"
        value = _pct(rows, "waits", "fair_share")
        facts.append(Fact(f"fair_share_{slug(name)}_pct", value, meaning))
    if missing:
        why = f"The causes of waits cannot be determined: {missing}. GPUs of other jobs look free."
        return Result("delay_causes", table, facts, [why])
    sentences, caveats = _sentences(Facts(facts), waited), _caveats(trace, table, method)
    return Result("delay_causes", table, facts, sentences, caveats)


def _pct(
    rows: pd.DataFrame, column: str, cause: str, among: tuple[str, ...] = _DECIDED
) -> float | None:
    """Return the share of one cause among several, in percent; None without any."""
    total = float(rows.loc[rows["cause"].isin(among), column].sum())
    part = float(rows.loc[rows["cause"] == cause, column].sum())
    return 100 * part / total if total else None


def _sentences(facts: Facts, waited: pd.DataFrame) -> list[str]:
    if waited.empty:
        return ["No attempt waited."] if facts["no_wait"] else []

    def pct(name: str) -> float | None:
        value = facts[name]
        return None if value is None else float(value)

    sentences = [
        f"{count(int(waited['waits'].sum()), 'attempt')} waited "
        f"{duration(float(waited['time_s'].sum()))} in total. The cause is unknown for "
        f"{percent(pct('unknown_pct') or 0)} of the waits and "
        f"{percent(pct('unknown_time_pct') or 0)} of the waiting time."
    ]
    fair, time = pct("fair_share_pct"), pct("fragmentation_time_pct")
    if fair is not None and time is not None:
        sentences.append(
            f"Fragmentation delay is {percent(100 - fair)} of the waits and {percent(time)} of the "
            "waiting time of known cause; the rest is fair-share delay."
        )
    full = pct("full_time_pct")
    if full is not None:
        sentences.append(
            f"During {percent(full)} of the fragmentation delay the cluster had fewer free GPUs "
            "than the gang in total."
        )
    longest = facts["start_up_longest_s"]
    if longest is not None and pct("start_up_pct"):
        sentences.append(
            f"{percent(pct('start_up_pct') or 0)} of the waits and "
            f"{percent(pct('start_up_time_pct') or 0)} of the waiting time are start-up: at most "
            f"{duration(float(longest))}, with room within the quota throughout."
        )
    first, retry = pct("fair_share_first_pct"), pct("fair_share_retry_pct")
    if first is not None and retry is not None:
        sentences.append(
            f"Fair share is the cause of {percent(first)} of the waits of first attempts and of "
            f"{percent(retry)} of the waits of retries, among waits of known cause."
        )
    return sentences


def _caveats(trace: Trace, table: pd.DataFrame, method: str) -> tuple[str, ...]:
    if method == "p99":
        shares = ", ".join(
            f"{m} {'?' if pct is None else f'{pct:.1f} %'}"
            for m in _ESTIMATES
            for pct in [_pct(table[table["method"] == m], "waits", "fair_share")]
        )
        quotas = (
            "The trace has no quotas. The estimate is the 99th percentile over time of the GPUs "
            "that a virtual cluster used, from its first start to its last end. The share of "
            f"fair-share delay depends on the estimate: {shares}."
        )
    elif method == "none":
        quotas = "No quota is recorded or estimated. Fair-share delay is time at a limit."
    else:
        [without] = trace.answer("delay_causes_no_quota").df()["waits"]
        quotas = count_note(without, "attempt", " in virtual clusters without a quota.")
    [gaps] = trace.answer("placement_gaps").df().itertuples(index=False)
    return (
        quotas,
        count_note(
            gaps.overlapping,
            "placement",
            " on a GPU that another holds meanwhile: the GPU counts as used once.",
        ),
        count_note(gaps.unused_machines, "machine", " without any job: not counted as free."),
        "The study has two causes. Fair-share delay is the causes “over quota” and “limit” of the "
        "finding on why jobs wait. Fragmentation delay is “too few free GPUs” and “fragmentation”. "
        "Time behind other jobs or with stranded GPUs counts as unknown here.",
        "The cause of a wait is the cause of most of its time. Waits with untrusted times are "
        "excluded, as in the queueing delay.",
    )


def plot(result: Result) -> Figure:
    """Draw the causes of waits per gang bucket, by count and by time."""
    table = result.table
    ours = table[(table["method"] == result.fact("quota_method")) & (table["cause"] != "none")]
    fig, axes = figures.canvas(2, height=3.0, sharey=True)
    if ours.empty:
        return figures.empty(fig, "no attempt waited")
    for ax, column, label in (
        (axes[0], "waits", "share of waits"),
        (axes[1], "time_s", "share of waiting time"),
    ):
        sums = ours.astype({column: float}).pivot_table(
            index="gang", columns="cause", values=column, aggfunc="sum", fill_value=0.0
        )
        totals = sums.sum(axis="columns")
        gangs = figures.ordered(totals[totals > 0].index, GANGS)
        parts = {
            _LABELS.get(cause, cause): list(100 * sums[cause][gangs] / totals[gangs])
            for cause in CAUSES
            if cause in sums
        }
        names = [
            f"{gang}\nn={total:,.0f}" if column == "waits" else f"{gang}\n{duration(total)}"
            for gang, total in totals[gangs].items()
        ]
        figures.bars(ax, names, parts, colors=COLORS, stacked=True, label="{:.0f}")
        figures.percent_axis(ax, label)
        ax.set_xlabel("GPUs")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper left", ncols=4, fontsize=8, frameon=False)
    return fig


ANALYSIS = Analysis(
    name="delay_causes",
    question="Do jobs wait for their fair share, or because free GPUs are fragmented?",
    needs=("jobs", "attempts", "placements", "machines"),
    compute=compute,
    plot=plot,
    all_jobs=True,
)
