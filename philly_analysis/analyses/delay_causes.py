"""Fair-share against fragmentation delay, by count and by waiting time (ATC'19, Table 2).

No public trace has quotas. They are estimated from what virtual clusters held, and the share of
fair-share delay moves with the estimate by tens of points, which is printed. By count and by time
the causes divide differently: few waits are most of the waiting.
"""

from collections.abc import Iterable

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside
from philly_analysis.results import Fact, Result, count, duration, figures, gpus, share, slug
from philly_analysis.study import GANGS
from philly_analysis.trace import Trace

QUESTION = "What do jobs wait for: their fair share, or GPUs close enough together?"
NEEDS = ("jobs", "attempts", "placements", "machines")

CAUSES = ("fair_share", "fragmentation", "held", "unknown")
_COLORS = {
    "fair share": "#8e5ea2",
    "fragmentation": "#d9822b",
    "held": "#9c8755",
    "unknown": figures.MUTED,
}
_PREFERRED = ("given", "p99", "none")
_ESTIMATES = ("p95", "p99", "peak")


def compute(trace: Trace) -> Result:
    """Divide waits, by count and by time, among what they were for.

    While an attempt waits, a moment counts as *fair share* when the GPUs in use by its virtual
    cluster and its own gang together exceed the quota; otherwise as *fragmentation* when the
    fewest machines that can hold the gang have no room for it; otherwise as *unknown*.
    """
    table = trace.answer("delay_causes").df()
    method = preferred(table["method"])
    ours = table[table["method"] == method]
    waited = ours[ours["cause"] != "none"]
    facts = (
        Fact("quota_method", method, "how quotas are known (see caveats)"),
        Fact("waits", int(waited["waits"].sum()), "attempts that waited"),
        Fact("no_wait", int(ours.loc[ours["cause"] == "none", "waits"].sum()), "that did not"),
        *_shares(waited),
        *(
            Fact(f"fair_share_{m}_pct", _pct(rows, "waits", "fair_share"), f"the same, quota {m}")
            for m in _ESTIMATES
            if not (rows := table[table["method"] == m]).empty
        ),
        *(
            Fact(f"fair_share_{what}_pct", _pct(part, "waits", "fair_share"), f"the same, {what}")
            for what, part in (
                ("first", waited[waited["first"]]),
                ("retry", waited[~waited["first"].astype(bool)]),
            )
        ),
        *(
            Fact(
                f"fair_share_{slug(gang)}_pct",
                _pct(waited[waited["gang"] == gang], "waits", "fair_share"),
                f"the same, {gpus(gang)}",
            )
            for gang in GANGS
        ),
    )
    return Result(
        name="delay_causes",
        table=table,
        facts=facts,
        sentences=_sentences({f.name: f.value for f in facts}, waited),
        caveats=_caveats(trace, table, method),
        comparisons=beside(trace, "delay_causes", facts),
    )


def preferred(methods: Iterable[str]) -> str:
    """Return the best of the ways in which quotas are known."""
    return next((m for m in _PREFERRED if m in set(methods)), "none")


def _shares(waited: pd.DataFrame) -> tuple[Fact, ...]:
    fragmentation_s = float(waited.loc[waited["cause"] == "fragmentation", "time_s"].sum())
    full_s = float(waited["full_s"].sum())
    return (
        Fact(
            "fair_share_pct",
            _pct(waited, "waits", "fair_share"),
            "decided waits that are for fair share",
        ),
        Fact(
            "unknown_pct",
            _pct(waited, "waits", "unknown", CAUSES),
            "waits whose cause is not in the log",
        ),
        Fact(
            "fragmentation_time_pct",
            _pct(waited, "time_s", "fragmentation"),
            "decided waiting time that is fragmentation",
        ),
        Fact(
            "unknown_time_pct",
            _pct(waited, "time_s", "unknown", CAUSES),
            "waiting time whose cause is not in the log",
        ),
        Fact(
            "full_time_pct",
            100 * full_s / fragmentation_s if fragmentation_s else None,
            "time of fragmentation with fewer GPUs free than the gang at all",
        ),
    )


def _pct(
    rows: pd.DataFrame,
    column: str,
    cause: str,
    among: tuple[str, ...] = ("fair_share", "fragmentation"),
) -> float | None:
    """Share of one cause among several, in percent; None where there is nothing to divide."""
    total = float(rows.loc[rows["cause"].isin(among), column].sum())
    part = float(rows.loc[rows["cause"] == cause, column].sum())
    return 100 * part / total if total else None


def _sentences(fact: dict[str, float | int | str | None], waited: pd.DataFrame) -> tuple[str, ...]:
    if waited.empty:
        return ("No attempt waited.",) if fact["no_wait"] else ()
    total_s = float(waited["time_s"].sum())
    said = [
        f"{count(int(fact['waits'] or 0), 'attempt')} waited, {duration(total_s)} in all; the log "
        f"does not explain {share(float(fact['unknown_pct'] or 0) / 100)} of the waits and "
        f"{share(float(fact['unknown_time_pct'] or 0) / 100)} of the waiting time."
    ]
    if fact["fair_share_pct"] is not None and fact["fragmentation_time_pct"] is not None:
        fragmentation = 1 - float(fact["fair_share_pct"]) / 100
        time_frac = float(fact["fragmentation_time_pct"]) / 100
        said.append(
            f"Of the rest, {share(fragmentation)} of the waits and {share(time_frac)} of the time "
            "are fragmentation, the others fair share."
        )
    if fact["full_time_pct"] is not None:
        said.append(
            f"During {share(float(fact['full_time_pct']) / 100)} of the time of fragmentation the "
            "cluster had fewer GPUs free than the gang, wherever they lay."
        )
    first, retry = fact["fair_share_first_pct"], fact["fair_share_retry_pct"]
    if first is not None and retry is not None:
        said.append(
            f"Fair share explains {share(float(first) / 100)} of the decided waits of first "
            f"attempts and {share(float(retry) / 100)} of those of retries."
        )
    return tuple(said)


def _caveats(trace: Trace, table: pd.DataFrame, method: str) -> tuple[str, ...]:
    said = []
    if method == "p99":
        range_pct = [
            f"{m} {'?' if pct is None else f'{pct:.1f} %'}"
            for m in _ESTIMATES
            for pct in [_pct(table[table["method"] == m], "waits", "fair_share")]
        ]
        said.append(
            "The trace gives no quotas: a virtual cluster's quota is taken as the GPUs that its "
            "use did not exceed 99 % of the time from its first start to its last end. The share "
            f"of fair share depends on it: {', '.join(range_pct)}."
        )
    elif method == "none":
        said.append("No virtual cluster is known, so nothing can be laid to fair share.")
    else:
        [without] = trace.answer("delay_causes_unquoted").df()["waits"]
        if without:
            said.append(f"{count(without, 'attempt')} in virtual clusters without a quota.")
    [gaps] = trace.answer("placement_gaps").df().itertuples(index=False)
    if gaps.overlapping:
        said.append(
            f"{count(gaps.overlapping, 'placement overlaps', 'placements overlap')} another on the "
            "same GPU; such a GPU counts as in use once."
        )
    if gaps.unused_machines:
        said.append(
            f"{count(gaps.unused_machines, 'machine')} never held a job in this log and "
            f"{'counts' if gaps.unused_machines == 1 else 'count'} as free throughout."
        )
    said.append(
        "A wait has the cause of most of its time; where most of it is unexplained, none. Waits "
        "whose times are not trusted are left out, as in the queueing delay."
    )
    return tuple(said)


def plot(result: Result) -> Figure:
    """Draw the causes of waits per gang bucket, by count and by time."""
    method = result.fact("quota_method")
    table = result.table
    ours = table[(table["method"] == method) & (table["cause"] != "none")]
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
            cause.replace("_", " "): list(100 * sums[cause][gangs] / totals[gangs])
            for cause in CAUSES
            if cause in sums
        }
        names = [
            f"{gang}\nn={total:,.0f}" if column == "waits" else f"{gang}\n{duration(total)}"
            for gang, total in totals[gangs].items()
        ]
        figures.bars(ax, names, parts, colors=_COLORS, stacked=True, label="{:.0f}")
        figures.percent_axis(ax, label)
        ax.set_xlabel("GPUs")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper left", ncols=4, fontsize=8, frameon=False)
    return fig
