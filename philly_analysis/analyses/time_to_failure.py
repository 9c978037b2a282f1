"""Report the run time to failure by reason and by demand (ATC'19, Figure 10).

The curves are conditional on failure: they do not show how likely a run is to fail by a time.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.gang_sizes import duration_curves, trend
from philly_analysis.analyses.shared.texts import TRENDS
from philly_analysis.results import Fact, Result, duration, figures, slug
from philly_analysis.study import DEMAND_BUCKETS
from philly_analysis.trace import Analysis, Trace

_DEMAND_COLORS = figures.ramp([bucket.name for bucket in DEMAND_BUCKETS])
_REASONS = 5
"""Number of reasons with a curve, chosen by GPU time until failure."""


def compute(trace: Trace) -> Result:
    """Compute percentiles of the run time to failure, and test its trend with demand."""
    table = trace.answer("time_to_failure").df()
    size = trend(trace.answer("timed_failures"), "gpus", "run_s")
    middle = table[(table["percentile"] == 50) & (table["reason"] == "all")]
    medians = {d: float(s) for d, s in zip(middle["demand"], middle["run_s"], strict=True)}
    facts = (
        *(
            Fact(f"median_rtf_{slug(d)}_s", s, f"median run time to failure, {d} GPUs")
            for d, s in medians.items()
        ),
        *size.facts("rtf_gpus", "GPUs and run time to failure"),
    )
    sentences = []
    if medians:
        sentences = [
            f"The median run time to failure is {duration(medians['all'])}.",
            size.sentence(**TRENDS["time_to_failure"]),
        ]
    return Result("time_to_failure", table, facts, sentences)


def plot(result: Result) -> Figure:
    """Draw curves of the costliest reasons, and of all reasons by demand."""
    fig, [reasons_ax, demand_ax] = figures.canvas(2, width=8.6, height=3.4, sharey=True)
    table = result.table
    if table.empty:
        return figures.empty(fig, "no failed attempt has a known run time")
    reasons = table[(table["demand"] == "all") & (table["reason"] != "all")]
    costs = reasons[reasons["percentile"] == 0].sort_values(
        ["gpu_h", "reason"], ascending=[False, True]
    )
    top = costs["reason"].head(_REASONS).tolist()
    duration_curves(
        reasons_ax,
        reasons[reasons["reason"].isin(top)],
        "run_s",
        by="reason",
        colors=dict(zip(top, figures.CYCLE, strict=False)),
        counts="trials",
        label=str,
    )
    duration_curves(
        demand_ax,
        table[(table["reason"] == "all") & (table["demand"] != "all")],
        "run_s",
        by="demand",
        colors=_DEMAND_COLORS,
        counts="trials",
    )
    panels = (
        (reasons_ax, f"the {len(top)} costliest reasons"),
        (demand_ax, "all reasons, by GPUs"),
    )
    for ax, panel in panels:
        ax.set_xlabel("run time to failure")
        figures.title(ax, panel)
        figures.label_lines(ax)
    reasons_ax.set_ylabel("share of failed attempts")
    demand_ax.set_ylabel("")
    return fig


ANALYSIS = Analysis(
    name="time_to_failure",
    question="How long do attempts run until they fail, and do larger ones fail later?",
    needs=("jobs", "attempts", "failures"),
    compute=compute,
    plot=plot,
    absent="No failed attempt has a known reason and run time.",
)
