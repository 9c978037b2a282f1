"""Compare three definitions of a job's run time: span, sum of attempts, last attempt.

A run policy derives the run time of a job from its attempts. The policies only differ for jobs of
several attempts.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.gang_sizes import duration_curves
from philly_analysis.results import Fact, Result, count, duration, figures, share
from philly_analysis.trace import Analysis, Trace

_LABELS = {
    "span": "span: first start to last end",
    "sum": "sum of all attempts",
    "last": "last attempt",
}
_COLORS = dict(zip(_LABELS, (figures.ACCENT, figures.CYCLE[2], figures.CYCLE[1]), strict=True))


def compute(trace: Trace) -> Result:
    """Compute run times under the three policies, for all jobs and for retried jobs."""
    table = trace.answer("run_policy").df()
    middle = table[table["percentile"] == 50].set_index("policy")
    facts = [Fact("policy", trace.run_policy.value, "the policy of the other findings")]
    if table.empty:
        return Result("run_policy", table, facts)
    jobs, retried = int(table["jobs"].iloc[0]), int(table["retried"].iloc[0])
    facts += [
        Fact("jobs", jobs, "finished jobs with a run time under each policy"),
        Fact("retried", retried, "finished jobs with more than one attempt"),
    ]
    for policy in _LABELS:
        row = middle.loc[policy]
        facts += [
            Fact(f"median_{policy}_s", row["run_s"], f"median run time, {policy}"),
            Fact(
                f"median_retried_{policy}_s",
                row["retried_run_s"],
                f"median run time of jobs with more than one attempt, {policy}",
            ),
            Fact(f"total_{policy}_h", row["total_h"], f"total run time in hours, {policy}"),
        ]
    sentences = [
        f"{share(retried / jobs)} of {count(jobs, 'finished job')} had more than one attempt. "
        "The policies differ only for jobs with more than one attempt."
    ]
    if retried:
        medians = ", ".join(
            f"{duration(float(middle['retried_run_s'][p]))} as {label.partition(':')[0]}"
            for p, label in _LABELS.items()
        )
        sentences.append(f"The median run time of jobs with more than one attempt is {medians}.")
        totals = middle["total_h"]
        if totals["span"] > 0:
            sentences.append(
                f"{share(totals['sum'] / totals['span'])} of the total span is in attempts, and "
                f"{share(totals['last'] / totals['span'])} in last attempts."
            )
    caveat = "Jobs running at the end of the log are excluded."
    return Result("run_policy", table, facts, sentences, [caveat])


def plot(result: Result) -> Figure:
    """Draw run times under the three policies, for all jobs and for retried jobs."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no finished job")
    if not table["retried"].iloc[0]:
        return figures.empty(
            figures.canvas()[0], "no job has two attempts: the three policies agree"
        )
    fig, axes = figures.canvas(2, height=3.1, sharey=True)
    for ax, column, who, n in (
        (axes[0], "run_s", "all jobs", table["jobs"].iloc[0]),
        (axes[1], "retried_run_s", "retried jobs", table["retried"].iloc[0]),
    ):
        duration_curves(ax, table, column, by="policy", colors=_COLORS, label=_LABELS.__getitem__)
        ax.set_xlabel("run time")
        figures.title(ax, f"{who}  n={n:,}")
    axes[0].set_ylabel("share of jobs")
    axes[1].set_ylabel("")
    figures.label_lines(axes)
    return fig


ANALYSIS = Analysis(
    name="run_policy",
    question="How does the run policy change the run times of jobs?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
)
