"""What the rule that makes attempts a job's run time does to the number.

The rules differ only for jobs of several attempts; a trace without retries shows nothing.
"""

from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, count, duration, figures, share
from philly_analysis.trace import Trace

QUESTION = "What does the rule that makes attempts a job's run time do to it?"
NEEDS = ("jobs", "attempts")

_LABELS = {
    "span": "span: first start to last end",
    "sum": "sum of all attempts",
    "last": "last attempt",
}
_COLORS = dict(zip(_LABELS, (figures.ACCENT, figures.CYCLE[2], figures.CYCLE[1]), strict=True))


def compute(trace: Trace) -> Result:
    """Give run times under the three policies, for all jobs and for retried ones."""
    table = trace.answer("run_policy").df()
    middle = table[table["percentile"] == 50].set_index("policy")
    facts = [Fact("policy", trace.run_policy.value, "the policy of the other findings")]
    said = []
    if len(table):
        jobs, retried = int(table["jobs"].iloc[0]), int(table["retried"].iloc[0])
        facts += [
            Fact("jobs", jobs, "finished jobs with a run time under each policy"),
            Fact("retried", retried, "of these, jobs with more than one attempt"),
        ]
        for policy in _LABELS:
            median, again = middle["run_s"][policy], middle["retried_run_s"][policy]
            facts += [
                Fact(f"median_{policy}_s", median, f"median run time, {policy}"),
                Fact(f"median_retried_{policy}_s", again, f"the same, retried jobs, {policy}"),
                Fact(f"total_{policy}_h", middle["total_h"][policy], f"hours run, {policy}"),
            ]
        said.append(
            f"{share(retried / jobs)} of {count(jobs, 'finished job')} had more than one attempt; "
            "only for them the rule matters."
        )
        if retried:
            each = ", ".join(
                f"{duration(float(middle['retried_run_s'][p]))} as {label.partition(':')[0]}"
                for p, label in _LABELS.items()
            )
            said.append(f"Their median run time is {each}.")
            totals = middle["total_h"]
            if totals["span"] > 0:
                said.append(
                    f"Of all hours by span, {share(totals['sum'] / totals['span'])} are run in "
                    f"attempts and {share(totals['last'] / totals['span'])} in last attempts."
                )
    return Result(
        name="run_policy",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=("Jobs that still ran as the log ended are left out here.",) if said else (),
    )


def plot(result: Result) -> Figure:
    """Draw run times under the three policies, for all jobs and for retried ones."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no finished job")
    if not table["retried"].iloc[0]:
        return figures.empty(figures.canvas()[0], "no job was tried again: the three are one")
    fig, axes = figures.canvas(2, height=3.1, sharey=True)
    for ax, column, n in zip(
        axes,
        ("run_s", "retried_run_s"),
        (int(table["jobs"].iloc[0]), int(table["retried"].iloc[0])),
        strict=True,
    ):
        rows = table.assign(policy=table["policy"].map(_LABELS))
        figures.cdf(
            ax,
            rows.assign(**{column: rows[column].clip(lower=1)}),
            value=column,
            by="policy",
            colors={_LABELS[p]: color for p, color in _COLORS.items()},
        )
        figures.time_axis(ax)
        ax.set_xlabel("run time")
        who = "all jobs" if column == "run_s" else "jobs tried more than once"
        figures.title(ax, f"{who}  n={n:,}")
    axes[0].set_ylabel("share of jobs that ran no longer")
    axes[1].set_ylabel("")
    figures.name_lines(axes)
    return fig
