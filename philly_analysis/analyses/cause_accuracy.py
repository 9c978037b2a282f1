"""Compare the causes of waits that a log shows with the known causes of a simulation.

The log shows placements and quotas only. A simulation also records when the scheduler saw each
request, and when GPUs were reserved for other jobs.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.delay_causes import COLORS
from philly_analysis.analyses.shared.completeness import preferred
from philly_analysis.results import Fact, Result, count, duration, figures, percent
from philly_analysis.trace import Analysis, Trace

_LABELS = {
    "fair_share": "fair share",
    "fragmentation": "fragmentation",
    "start_up": "start-up",
    "other": "other",
    "held": "held",
}
_COLORS = COLORS | {"other": figures.MUTED}


def compute(trace: Trace) -> Result:
    """Compare the cause of most of each wait, by number and by waiting time."""
    table = trace.answer("cause_accuracy").df()
    table = table[table["method"] == preferred(table["method"])].drop(columns="method")
    right = table[table["cause"] == table["found"]]
    facts = [
        Fact("waits", int(table["waits"].sum()), "waits with a known cause"),
        Fact("right_pct", _pct(right, table, "waits"), "waits whose cause is found"),
        Fact("right_time_pct", _pct(right, table, "wait_s"), "their share of the waiting time"),
    ]
    facts += [
        Fact(
            f"{cause}_right_time_pct",
            _pct(right[right["cause"] == cause], table[table["cause"] == cause], "wait_s"),
            f"found share of the waiting time with the known cause {_LABELS[cause]}",
        )
        for cause in ("fair_share", "fragmentation", "start_up", "other")
    ]
    return Result("cause_accuracy", table, facts, _sentences(table, facts), _CAVEATS)


_CAVEATS = (
    "A wait has the cause of most of its time. Fragmentation includes too few free GPUs. Other: "
    "back-off, GPUs reserved for other jobs, or its turn; the log does not explain these.",
)


def _pct(part: pd.DataFrame, whole: pd.DataFrame, column: str) -> float | None:
    total = float(whole[column].sum())
    return 100 * float(part[column].sum()) / total if total > 0 else None


def _sentences(table: pd.DataFrame, facts: list[Fact]) -> list[str]:
    waits, by_count, by_time = (fact.value for fact in facts[:3])
    if by_time is None:
        return []
    sentences = [
        f"The right cause is found for {percent(float(by_time))} of the waiting time and "
        f"{percent(float(by_count or 0))} of {count(int(waits or 0), 'wait')} of this simulation."
    ]
    wrong = table[table["cause"] != table["found"]]
    if len(wrong):
        worst = wrong.sort_values("wait_s").iloc[-1]
        sentences.append(
            f"Most frequent error: {count(int(worst['waits']), 'wait')} "
            f"({duration(float(worst['wait_s']))}) with the cause “{_LABELS[worst['cause']]}”, "
            f"found as “{_LABELS[worst['found']]}”."
        )
    return sentences


def plot(result: Result) -> Figure:
    """Draw the causes found for each known cause, by waiting time."""
    fig, [ax] = figures.canvas(height=2.8)
    table = result.table
    if table.empty or not table["wait_s"].sum() > 0:
        return figures.empty(fig, "no attempt waited")
    wide = table.pivot_table(index="cause", columns="found", values="wait_s", aggfunc="sum")
    wide = wide.fillna(0.0)
    sums = wide.sum(axis=1)
    causes = [c for c in _LABELS if c in wide.index and sums[c] > 0]
    detected_causes = [c for c in _LABELS if c in wide]
    figures.stacked_shares(
        ax,
        [f"{_LABELS[c]}\n{duration(float(sums[c]))}" for c in causes],
        {_LABELS[c]: wide.loc[causes, c].tolist() for c in detected_causes},
        colors=_COLORS,
    )
    ax.set_ylabel("known cause")
    figures.legend(
        ax, title="cause found in the log", loc="lower left", bbox_to_anchor=(0, 1), ncols=5
    )
    return fig


ANALYSIS = Analysis(
    name="cause_accuracy",
    question="How well are the causes of waits found?",
    needs=("jobs", "attempts", "placements", "machines", "known_causes"),
    compute=compute,
    plot=plot,
    all_jobs=True,
)
