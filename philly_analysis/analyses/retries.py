"""Retries per job and jobs unsuccessful after all of them, by gang size (ATC'19, Figure 9).

Retries are attempts of the same job that the scheduler made. Users who submit again by hand make
new jobs, which nothing here connects.
"""

from matplotlib.figure import Figure

from philly_analysis.results import (
    Fact,
    Result,
    count,
    figures,
    gpus,
    rank_association,
    share,
    slug,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Trace

QUESTION = "How often are jobs tried again, and how often in vain?"
NEEDS = ("jobs", "attempts")


def compute(trace: Trace) -> Result:
    """Count retries and unsuccessful jobs per gang bucket, and test how they change with it."""
    table = trace.answer("retries").df()
    jobs = trace.answer("tried_jobs").select("gpus", "attempts", "failed", "user").df()
    retried = rank_association(jobs["gpus"], jobs["attempts"], jobs["user"])
    failed = rank_association(jobs["gpus"], jobs["failed"].astype("float64"), jobs["user"])
    facts = (
        *(
            Fact(f"{name}_{slug(gang)}{unit}", value, f"{what}, {gpus(gang)}")
            for name, unit, what in (
                ("retries_per_job", "", "retries per job"),
                ("retried", "_pct", "jobs with more than one attempt"),
                ("unsuccessful", "_pct", "jobs that ended unsuccessful"),
            )
            for gang, value in zip(table["gang"], table[name + unit], strict=True)
        ),
        *retried.facts("retries_gang", "gang size and attempts"),
        *failed.facts("unsuccessful_gang", "gang size and ending unsuccessful"),
    )
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    never, running = log.jobs_without_attempts, log.jobs_running
    return Result(
        name="retries",
        table=table,
        facts=facts,
        sentences=_sentences(
            {f.name: f.value for f in facts},
            retried.say(
                rises="Larger gangs are tried again more often",
                falls="Larger gangs are tried again less often",
                unclear="Retries neither clearly rise nor clearly fall with gang size",
            ),
            failed.say(
                rises="Larger gangs end unsuccessful more often",
                falls="Larger gangs end unsuccessful less often",
                unclear="The unsuccessful share neither clearly rises nor clearly falls with "
                "gang size",
            ),
        )
        if len(jobs)
        else (),
        caveats=tuple(
            text
            for n, text in (
                (never, f"{count(never, 'job')} without any attempt left out."),
                (running, f"{count(running, 'job')} still running: more retries may follow."),
            )
            if n
        ),
    )


def _sentences(
    fact: dict[str, float | int | str | None], retried: str, failed: str
) -> tuple[str, ...]:
    said = [
        f"{share(float(fact['retried_all_pct'] or 0) / 100)} of jobs were tried more than once, "
        f"{float(fact['retries_per_job_all'] or 0):.2f} retries per job on average.",
        retried,
    ]
    if fact["unsuccessful_all_pct"] is not None:
        said += [
            f"{share(float(fact['unsuccessful_all_pct']) / 100)} of jobs ended unsuccessful.",
            failed,
        ]
    return tuple(said)


def plot(result: Result) -> Figure:
    """Draw retries per job, and the unsuccessful share, side by side per gang bucket."""
    order = figures.ordered(result.table["gang"], (*GANGS, "all"))
    table = result.table.set_index("gang").loc[order]
    if table.empty:
        return figures.empty(figures.canvas()[0], "no job has an attempt")
    labels = [f"{g}\nn={n:,}" for g, n in zip(order, table["jobs"], strict=True)]
    colors = [figures.GANG_COLORS.get(g, figures.MUTED) for g in order]
    shown = [
        (column, label, decimals)
        for column, label, decimals in (
            ("retries_per_job", "retries per job", 2),
            ("unsuccessful_pct", "unsuccessful jobs (%)", 1),
        )
        if table[column].astype(float).fillna(0).any()
    ]
    if not shown:
        return figures.empty(figures.canvas()[0], "no job was tried again or is unsuccessful")
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
