"""Percentiles of run time by user, virtual cluster and week.

Weeks at either end of a log hold part of their jobs. A group of few users is as few independent
observations, however many jobs it has.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, count, duration, figures
from philly_analysis.trace import Trace

QUESTION = "Whose jobs run how long, and in which weeks?"
NEEDS = ("jobs", "attempts")

_KINDS = {"vc": "virtual cluster", "week": "week", "user": "user"}
_FEWEST = 100
"""Groups of fewer jobs are not named in words."""


def compute(trace: Trace) -> Result:
    """Give percentiles of run times per user, virtual cluster and week."""
    table = trace.answer("run_time_by_group").df()
    facts, said = [], []
    for kind, word in _KINDS.items():
        rows = table[table["kind"] == kind].sort_values(["p50_s", "name"])
        named = rows[rows["jobs"] >= _FEWEST]
        facts.append(Fact(f"{kind}s", len(rows), f"{word}s with a trusted run time"))
        if len(named) > 1:
            low, high = named.iloc[0], named.iloc[-1]
            facts += [
                Fact(f"{kind}_lowest_median_s", low["p50_s"], f"lowest median of any {word}"),
                Fact(f"{kind}_highest_median_s", high["p50_s"], f"highest median of any {word}"),
            ]
            said.append(
                f"By {word} (of at least {_FEWEST} jobs), the median run time goes from "
                f"{duration(float(low['p50_s']))} ({low['name']}) to "
                f"{duration(float(high['p50_s']))} ({high['name']})."
            )
    return Result(
        name="run_time_by_group",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=_running(table),
    )


def _running(table: pd.DataFrame) -> tuple[str, ...]:
    running = int(table.loc[table["kind"] == "week", "running"].sum())
    if not running:
        return ()
    return (
        f"{count(running, 'job')} still ran as the log ended and count with the time seen: "
        "percentiles are lower bounds, most of all in the last weeks.",
    )


def plot(result: Result) -> Figure:
    """Draw quantiles per group: the largest virtual clusters and users, and every week."""
    return figures.ranges_by_kind(result.table, _KINDS, count="jobs", label="run time")
