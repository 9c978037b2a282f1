"""Job run times by gang size, jobs that still ran included (ATC'19, Figure 2).

Jobs that still ran count as longer than they were seen to run, so that a curve may end below 100
%. What a job's run time is, the sum of its attempts or the span over them, is the run policy's
choice, and the report says which was made.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.exclusions import left_out
from philly_analysis.analyses.published import beside
from philly_analysis.results import (
    Fact,
    Result,
    count,
    duration,
    figures,
    gpus,
    rank_association,
    share,
    slug,
)
from philly_analysis.trace import Trace

QUESTION = "How long do jobs run, by gang size?"
NEEDS = ("jobs", "attempts")


def compute(trace: Trace) -> Result:
    """Estimate the distribution of run times per gang bucket, and test whether it rises."""
    table = trace.answer("run_time").df()
    runs = trace.answer("trusted_runs").select("gpus", "run_s", "user").df()
    [over_week_pct] = trace.answer("run_time_over_week").df()["over_week_pct"]
    trend = rank_association(runs["gpus"], runs["run_s"], runs["user"])
    sizes = table.drop_duplicates("gang")
    jobs, censored = int(sizes["jobs"].sum()), int(sizes["censored"].sum())
    middle = table[table["percentile"] == 50]
    medians = dict(zip(middle["gang"], middle["run_s"], strict=True))
    facts = (
        Fact("jobs", jobs, "jobs with a trusted run time"),
        Fact("jobs_running", censored, "of these, jobs that still ran as the log ended"),
        *(
            Fact(f"median_run_{slug(g)}_s", s, f"median run time, {gpus(g)}")
            for g, s in medians.items()
        ),
        Fact("over_one_week_pct", over_week_pct, "jobs that run longer than a week"),
        *trend.facts("gang", "gang size and run time"),
    )
    said = []
    if medians:
        each = ", ".join(f"{duration(s)} on {gpus(g)}" for g, s in medians.items() if s == s)
        said.append(f"The median job runs {each}.")
        said.append(
            trend.say(
                rises="Larger gangs run longer",
                falls="Larger gangs run shorter",
                unclear="Run time neither clearly rises nor clearly falls with gang size",
            )
        )
    if censored:
        said.append(
            f"{count(censored, 'job')} ({share(censored / jobs)}) still ran as the log ended; "
            "they count as longer than they were seen to run."
        )
    return Result(
        name="run_time",
        table=table,
        facts=facts,
        sentences=tuple(said),
        caveats=(
            f"A job's run time is its {_POLICY[trace.run_policy.value]}.",
            *left_out(trace, "run time"),
        ),
        comparisons=beside(trace, "run_time", facts),
    )


_POLICY = {
    "span": "first start to its last end, waits between attempts included",
    "sum": "attempts added up",
    "last": "last attempt",
}


def plot(result: Result) -> Figure:
    """Draw one cumulative curve per gang bucket; it ends where the log can no longer tell."""
    table = result.table
    fig, [ax] = figures.canvas()
    if table.empty:
        return figures.empty(fig, "no job has a trusted run time")
    figures.cdf(
        ax,
        table.assign(run_s=table["run_s"].clip(lower=1)),
        value="run_s",
        by="gang",
        colors=figures.GANG_COLORS,
        counts=dict(zip(table["gang"], table["jobs"], strict=True)),
        say=gpus,
    )
    figures.time_axis(ax)
    ax.set_xlabel("run time")
    ax.set_ylabel("share of jobs that ran no longer")
    figures.name_lines(ax)
    return fig
