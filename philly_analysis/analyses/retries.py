"""Report retries and unsuccessful jobs by gang size (ATC'19, Figure 9).

Retries are attempts of one job by the scheduler. Jobs that users submit again are new jobs.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.gang_sizes import gang_facts, trend
from philly_analysis.analyses.shared.texts import TRENDS
from philly_analysis.results import Facts, Result, count_note, figures, percent
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace


def compute(trace: Trace) -> Result:
    """Count retries and unsuccessful jobs per gang bucket, and test their trends."""
    table = trace.answer("retries").df()
    jobs = trace.answer("started_jobs")
    retried, failed = (trend(jobs, "gpus", of) for of in ("attempts", "failed"))
    sizes = table.set_index("gang")
    facts = Facts(
        (
            *gang_facts("retries_per_job_{}", sizes["retries_per_job"], "retries per job"),
            *gang_facts("retried_{}_pct", sizes["retried_pct"], "jobs with more than one attempt"),
            *gang_facts("unsuccessful_{}_pct", sizes["unsuccessful_pct"], "unsuccessful jobs"),
            *retried.facts("retries_gang", "gang size and attempts"),
            *failed.facts("unsuccessful_gang", "gang size and ending unsuccessful"),
        )
    )
    sentences = []
    if len(table):
        sentences = (
            ["No job has more than one recorded attempt."]
            if not facts["retried_all_pct"]
            else [
                f"{percent(float(facts['retried_all_pct'] or 0))} of jobs were retried, with "
                f"{float(facts['retries_per_job_all'] or 0):.2f} retries per job on average.",
                retried.sentence(**TRENDS["retries"]),
            ]
        )
        unsuccessful_pct = facts["unsuccessful_all_pct"]
        if unsuccessful_pct == 0:
            sentences += ["No job with a known status ended unsuccessfully."]
        elif unsuccessful_pct is not None:
            sentences += [
                f"{percent(float(unsuccessful_pct))} of jobs ended unsuccessfully.",
                failed.sentence(**TRENDS["unsuccessful"]),
            ]
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    caveats = (
        count_note(log.jobs_without_attempts, "job", " without an attempt excluded."),
        count_note(log.jobs_running, "job", " still running: more retries may follow."),
    )
    return Result("retries", table, facts, sentences, caveats)


def plot(result: Result) -> Figure:
    """Draw retries per job and the share of unsuccessful jobs per gang bucket."""
    order = figures.ordered(result.table["gang"], (*GANGS, "all"))
    table = result.table.set_index("gang").loc[order]
    if table.empty:
        return figures.empty(figures.canvas()[0], "no job has an attempt")
    labels = [f"{g}\nn={n:,}" for g, n in zip(order, table["jobs"], strict=True)]
    colors = [figures.GANG_COLORS.get(g, figures.MUTED) for g in order]
    panels = (
        ("retries_per_job", "retries per job", 2),
        ("unsuccessful_pct", "unsuccessful jobs (%)", 1),
    )
    shown = [panel for panel in panels if table[panel[0]].astype(float).fillna(0).any()]
    if not shown:
        return figures.empty(figures.canvas()[0], "no job has two attempts or is unsuccessful")
    fig, axes = figures.canvas(len(shown), height=2.8)
    for ax, (column, label, decimals) in zip(axes, shown, strict=True):
        heights = table[column].astype(float)
        drawn = ax.bar(labels, heights, color=colors, width=0.7)
        ax.bar_label(drawn, [f"{h:.{decimals}f}" if h == h else "?" for h in heights], fontsize=8)
        ax.set_ylabel(label)
        ax.set_xlabel("GPUs")
        ax.grid(visible=False, axis="x")
        ax.set_ylim(0, float(heights.max()) * 1.15)
    return fig


ANALYSIS = Analysis(
    name="retries",
    question="How often are jobs retried, and how often do they end unsuccessful?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="No job has an attempt.",
)
