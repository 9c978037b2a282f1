"""Run time to failure by reason and by demand (ATC'19, Figure 10).

Only failures count here, so that a curve says when those that failed did so, not how likely a run
is to fail by then.
"""

from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, duration, figures, gpus, rank_association, slug
from philly_analysis.study import DEMAND_BUCKETS
from philly_analysis.trace import Trace

QUESTION = "How long do attempts run until they fail, and do larger ones fail later?"
NEEDS = ("jobs", "attempts", "failures")

DEMANDS = tuple(b.name for b in DEMAND_BUCKETS)
DEMAND_COLORS = figures.ramp(DEMANDS)
DRAWN = 5
"""Reasons with the most GPU time until failure that get a curve of their own."""


def compute(trace: Trace) -> Result:
    """Percentiles of the run time to failure, and how it changes with demand."""
    table = trace.answer("time_to_failure").df()
    failed = trace.answer("timed_failures").select("gpus", "run_s", "user").df()
    rises = rank_association(failed["gpus"], failed["run_s"], failed["user"])
    medians = table[(table["percentile"] == 50) & (table["reason"] == "all")]
    facts = (
        *(
            Fact(
                f"median_rtf_{slug(demand)}_s",
                float(run_s),
                f"median run time to failure, {demand} GPUs",
            )
            for demand, run_s in zip(medians["demand"], medians["run_s"], strict=True)
        ),
        *rises.facts("rtf_gpus", "GPUs and run time to failure"),
    )
    said: tuple[str, ...] = ()
    if len(medians):
        [half] = medians.loc[medians["demand"] == "all", "run_s"]
        said = (
            f"Half of the failed attempts fail within {duration(float(half))}.",
            rises.say(
                rises="Attempts on more GPUs fail later",
                falls="Attempts on more GPUs fail earlier",
                unclear="Run time to failure neither clearly rises nor clearly falls with GPUs",
            ),
        )
    return Result(name="time_to_failure", table=table, facts=facts, sentences=said)


def plot(result: Result) -> Figure:
    """Draw the curves of the reasons that cost most, and of all reasons by demand."""
    fig, [left, right] = figures.canvas(2, width=8.6, height=3.4, sharey=True)
    table = result.table
    if table.empty:
        return figures.empty(fig, "no failed attempt has a known run time")
    whole = table[(table["demand"] == "all") & (table["reason"] != "all")]
    costs = whole[whole["percentile"] == 0].sort_values(
        ["gpu_h", "reason"], ascending=[False, True]
    )
    top = costs["reason"].head(DRAWN).tolist()
    top_reasons = whole[whole["reason"].isin(top)]
    by_demand = table[(table["reason"] == "all") & (table["demand"] != "all")]
    for ax, rows, by, colors, panel, say in (
        (
            left,
            top_reasons,
            "reason",
            dict(zip(top, figures.CYCLE, strict=False)),
            f"the {len(top)} costliest reasons",
            str,
        ),
        (right, by_demand, "demand", DEMAND_COLORS, "all reasons, by GPUs", gpus),
    ):
        once = rows[rows["percentile"] == 0]
        n = {k: int(v) for k, v in zip(once[by], once["trials"], strict=True)}
        figures.cdf(ax, rows, value="run_s", by=by, colors=colors, counts=n, say=say)
        figures.time_axis(ax)
        ax.set_xlabel("run time to failure")
        figures.title(ax, panel)
        figures.name_lines(ax)
    left.set_ylabel("share of failed attempts")
    right.set_ylabel("")
    return fig
