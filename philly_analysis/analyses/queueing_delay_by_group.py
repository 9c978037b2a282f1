"""Percentiles of queueing delay by user, virtual cluster and week.

A group's high percentile may be one bad day. Groups with few waits are left out.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.exclusions import left_out
from philly_analysis.results import Fact, Result, duration, figures
from philly_analysis.trace import Trace

QUESTION = "Who waits how long, and in which weeks?"
NEEDS = ("jobs", "attempts")

_KINDS = {"vc": "virtual cluster", "week": "week", "user": "user"}
_FEWEST = 100
"""Groups of fewer waits are not named in words."""


def compute(trace: Trace) -> Result:
    """Give percentiles of waits per user, virtual cluster and week."""
    table = trace.answer("queueing_delay_by_group").df()
    facts, said = [], []
    for kind, word in _KINDS.items():
        rows = table[table["kind"] == kind].sort_values(["p95_s", "name"])
        named = rows[rows["waits"] >= _FEWEST]
        facts.append(Fact(f"{kind}s", len(rows), f"{word}s with a trusted wait"))
        if len(named) > 1:
            low, high = named.iloc[0], named.iloc[-1]
            facts += [
                Fact(f"{kind}_lowest_p95_s", low["p95_s"], f"lowest 95th percentile of any {word}"),
                Fact(
                    f"{kind}_highest_p95_s", high["p95_s"], f"highest 95th percentile of any {word}"
                ),
            ]
            said.append(
                f"By {word} (of at least {_FEWEST} waits), the wait that 95 % do not exceed goes "
                f"from {duration(float(low['p95_s']))} ({low['name']}) to "
                f"{duration(float(high['p95_s']))} ({high['name']})."
            )
    return Result(
        name="queueing_delay_by_group",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=left_out(trace, "wait"),
    )


def plot(result: Result) -> Figure:
    """Draw quantiles per group: the largest virtual clusters and users, and every week."""
    return figures.ranges_by_kind(result.table, _KINDS, count="waits", label="wait")
