"""Estimate the run time of jobs by gang size, with running jobs censored (ATC'19, Figure 2).

Jobs running at the end of the log are right-censored, so that a curve may end below 100 %. The run
policy of the trace defines a job's run time, and the report names it.
"""

import duckdb
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.exclusions import excluded
from philly_analysis.analyses.shared.gang_sizes import duration_curves, gang_facts, trend
from philly_analysis.analyses.shared.texts import TRENDS
from philly_analysis.results import (
    Fact,
    Result,
    Verdict,
    count,
    duration,
    figures,
    gang_label,
    share,
)
from philly_analysis.trace import Analysis, Trace

_TOTALS = """
median(run_s), total(run_s * gpus), total(case when run_s > 86400 then run_s * gpus else 0 end)
"""


def compute(trace: Trace) -> Result:
    """Estimate the distribution of run times per gang bucket, and test its trend."""
    table = trace.answer("run_time").df()
    runs = trace.answer("trusted_runs")
    [over_week_pct] = trace.answer("run_time_over_week").df()["over_week_pct"]
    size = trend(runs, "gpus", "run_s")
    sizes = table.drop_duplicates("gang")
    jobs, censored = int(sizes["jobs"].sum()), int(sizes["censored"].sum())
    medians = table[table["percentile"] == 50].set_index("gang")["run_s"]
    facts = (
        Fact("jobs", jobs, "jobs with a trusted run time"),
        Fact("jobs_running", censored, "jobs running at the end of the log"),
        *gang_facts("median_run_{}_s", medians, "median run time"),
        Fact("over_one_week_pct", over_week_pct, "jobs of more than a week"),
        *size.facts("gang", "gang size and run time"),
    )
    sentences = []
    if len(medians):
        durations = (f"{duration(s)} on {gang_label(str(g))}" for g, s in medians.dropna().items())
        sentences = [
            f"The median run time is {', '.join(durations)}.",
            size.sentence(**TRENDS["run_time"]),
        ]
    if censored:
        sentences.append(
            f"{count(censored, 'job')} ({share(censored / jobs)}) were running at the end of the "
            "log. The run times of running jobs are censored."
        )
    caveats = (
        f"A job's run time is its {_POLICY[trace.run_policy.value]}.",
        *excluded(trace, "run time"),
    )
    return Result("run_time", table, facts, sentences, caveats, verdict=_verdict(runs))


def _verdict(runs: duckdb.DuckDBPyRelation) -> Verdict | None:
    """Return the median run time, and how much of the GPU time is in long jobs."""
    [(median_s, gpu_s, over_day_s)] = runs.aggregate(_TOTALS).fetchall()
    if median_s is None:
        return None
    return Verdict(
        "Half of the jobs end within",
        duration(median_s),
        f"jobs of more than a day have {share(over_day_s / gpu_s if gpu_s else 0.0)} of the GPU "
        "time",
    )


_POLICY = {
    "span": "first start to last end, waits between attempts included",
    "sum": "attempts' sum",
    "last": "last attempt",
}


def plot(result: Result) -> Figure:
    """Draw one cumulative curve per gang bucket, up to the last uncensored job."""
    table = result.table
    fig, [ax] = figures.canvas()
    if table.empty:
        return figures.empty(fig, "no job has a trusted run time")
    duration_curves(ax, table, "run_s", counts="jobs")
    ax.set_xlabel("run time")
    ax.set_ylabel("share of jobs")
    figures.label_lines(ax)
    return fig


ANALYSIS = Analysis(
    name="run_time",
    question="How long do jobs run, by gang size?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="No job has a known run time.",
)
