"""Compare computed causes of waiting with the reasons that the scheduler stated meanwhile.

The computation uses limits, quotas and placements only. A limit without a record is estimated.
Servers that are reserved, drained or down look free unless
the trace has ``server_closures``.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.completeness import preferred
from philly_analysis.analyses.shared.wait_cause import CAUSES
from philly_analysis.results import Fact, Result, duration, figures, percent, share
from philly_analysis.trace import Analysis, Trace

_AGREEING = {
    "limit": ("limit",),
    "quota": ("quota",),
    "priority": ("behind", "too_few", "fragmented", "stranded", "quota"),
    "resources": ("too_few", "fragmented", "stranded"),
    "start_up": ("room",),
}
"""Computed causes that agree with each stated one."""

_STATED = {
    "limit": "a limit",
    "quota": "the quota",
    "priority": "priority",
    "resources": "resources",
    "start_up": "not considered yet",
    "held": "held",
}
_LABELS = {cause: fields.label for cause, fields in CAUSES.items()} | {"room": "nothing"}
_COLORS = {
    _LABELS[cause]: CAUSES[cause].color if cause in CAUSES else figures.MUTED for cause in _LABELS
}


def compute(trace: Trace) -> Result:
    """Add up eligible seconds by stated and computed cause."""
    table = trace.answer("stated_causes").df()
    table = table[table["method"] == preferred(table["method"])].drop(columns="method")
    table = table.reset_index(drop=True)
    agrees = pd.Series(
        [
            c in _AGREEING.get(s, ())
            for s, c in zip(table["stated"], table["computed"], strict=True)
        ],
        table.index,
        dtype=bool,
    )
    total_h = float(table["wait_h"].sum())
    facts = [
        Fact("wait_h", total_h, "hours of waiting with a stated reason, while jobs were eligible"),
        Fact("agree_pct", _pct(table, agrees), "hours whose computed cause agrees"),
    ]
    for stated in _AGREEING:
        of_reason = table["stated"] == stated
        facts.append(
            Fact(
                f"{stated}_agree_pct",
                _pct(table[of_reason], agrees[of_reason]),
                f"hours that agree, of hours with the stated reason: {_STATED[stated]}",
            )
        )
    sentences = []
    if total_h > 0:
        sentences = [
            f"The computed cause agrees with the scheduler's statement for "
            f"{percent(float(facts[1].value or 0))} of {duration(3600 * total_h)} of waiting.",
            _largest_difference(table[~agrees], total_h),
        ]
    caveats = (
        "Priority agrees with every shortage: the scheduler states it of all jobs but the first.",
        ""
        if trace.has("server_closures")
        else "Servers that are reserved, drained or down look free, as the log does not have these "
        "times. The computed cause is then nothing.",
    )
    return Result("stated_causes", table, facts, sentences, caveats)


def _pct(table: pd.DataFrame, agrees: pd.Series) -> float | None:
    total = float(table["wait_h"].sum())
    return 100 * float(table.loc[agrees, "wait_h"].sum()) / total if total else None


def _largest_difference(table: pd.DataFrame, total_h: float) -> str:
    if table.empty:
        return ""
    row = table.sort_values("wait_h").iloc[-1]
    return (
        f"Largest difference: {share(row['wait_h'] / total_h)} of the time, stated as "
        f"“{_STATED[row['stated']]}” and computed as “{_LABELS[row['computed']]}”."
    )


def plot(result: Result) -> Figure:
    """Draw the computed causes for each stated reason."""
    fig, [ax] = figures.canvas(height=2.8)
    table = result.table
    if table.empty:
        return figures.empty(fig, "no reason was stated")
    wide = table.pivot_table(index="stated", columns="computed", values="wait_h", aggfunc="sum")
    wide = wide.fillna(0.0)
    sums = wide.sum(axis=1)
    stated = [s for s in _STATED if s in wide.index and sums[s] > 0]
    computed = [c for c in _LABELS if c in wide]
    figures.stacked_shares(
        ax,
        [f"{_STATED[s]}\n{duration(3600 * float(sums[s]))}" for s in stated],
        {_LABELS[c]: wide.loc[stated, c].tolist() for c in computed},
        colors=_COLORS,
    )
    ax.set_ylabel("stated by the scheduler")
    figures.legend(ax, title="computed", loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return fig


ANALYSIS = Analysis(
    name="stated_causes",
    question="Do the computed causes of waits agree with the scheduler's own statements?",
    needs=("jobs", "attempts", "placements", "machines", "queue_states"),
    compute=compute,
    plot=plot,
    all_jobs=True,
)
