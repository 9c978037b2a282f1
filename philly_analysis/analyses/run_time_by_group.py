"""Report percentiles of run time by user, virtual cluster and week.

The first and the last week of a log are incomplete. Many jobs of few users are few independent
observations.
"""

from dataclasses import replace

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.percentiles_by_group import GroupPercentiles
from philly_analysis.results import Result, count_note
from philly_analysis.trace import Analysis, Trace

_RUNS = GroupPercentiles(
    "run_time_by_group", "jobs", "run time", "p50_s", "median", "median run time"
)


def compute(trace: Trace) -> Result:
    """Compute percentiles of run times per user, virtual cluster and week."""
    result = _RUNS.compute(trace)
    running = int(result.table.loc[result.table["kind"] == "week", "running"].sum())
    censored = (
        " still running at the end of the log, counted with the run time so far: percentiles are "
        "lower bounds, mainly in the last weeks."
    )
    return replace(result, caveats=(count_note(running, "job", censored),))


def plot(result: Result) -> Figure:
    """Draw quantiles per group: the largest virtual clusters and users, and every week."""
    return _RUNS.plot(result)


ANALYSIS = Analysis(
    name="run_time_by_group",
    question="Which users, virtual clusters and weeks have long jobs?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="No two users, virtual clusters or weeks have 100 run times each.",
)
