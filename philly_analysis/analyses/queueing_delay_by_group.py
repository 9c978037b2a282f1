"""Report percentiles of queueing delay by user, virtual cluster and week.

One bad day can determine a group's high percentile. Groups of few waits are excluded.
"""

from dataclasses import replace

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.exclusions import excluded
from philly_analysis.analyses.shared.percentiles_by_group import GroupPercentiles
from philly_analysis.results import Result
from philly_analysis.trace import Analysis, Trace

_WAITS = GroupPercentiles(
    "queueing_delay_by_group", "waits", "wait", "p95_s", "p95", "95th percentile of waits"
)


def compute(trace: Trace) -> Result:
    """Compute percentiles of waits per user, virtual cluster and week."""
    return replace(_WAITS.compute(trace), caveats=excluded(trace, "wait"))


def plot(result: Result) -> Figure:
    """Draw quantiles per group: the largest virtual clusters and users, and every week."""
    return _WAITS.plot(result)


ANALYSIS = Analysis(
    name="queueing_delay_by_group",
    question="Which users, virtual clusters and weeks have long waits?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="No two users, virtual clusters or weeks have 100 waits each.",
)
