"""Measure how often the same reason of failure recurs in a job and for a user.

Two failures of one reason in a job may have different causes. Users of many jobs also repeat
reasons by chance.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.failure_reasons import by_frequency
from philly_analysis.results import Fact, Result, count, figures, percent
from philly_analysis.trace import Analysis, Trace

TOP = 8
"""Number of reasons over which the study computes its factors, missing signatures included."""


def compute(trace: Trace) -> Result:
    """Compute failed attempts per job and per user, for each reason and for the top reasons."""
    table = by_frequency(trace.answer("failure_repetition").df())
    reasons = table[table["reason"] != "all"]
    top = reasons.sort_values(["trials", "reason"], ascending=[False, True]).head(TOP)
    trials, jobs, users = (int(top[c].sum()) for c in ("trials", "jobs", "users"))
    total = int(reasons["trials"].sum())
    per_job, per_user = (trials / n if n else None for n in (jobs, users))
    facts = (
        Fact("top", len(top), "most frequent reasons, over which the factors are computed"),
        Fact(
            "top_trials_pct",
            100 * trials / total if total else None,
            "failed attempts with one of the most frequent reasons",
        ),
        Fact(
            "trials_per_job",
            per_job,
            "failed attempts per job and reason, over the most frequent reasons",
        ),
        Fact(
            "trials_per_user",
            per_user,
            "failed attempts per user and reason, over the most frequent reasons",
        ),
    )
    sentences = []
    if per_job and per_user:
        sentences.append(
            f"Over the {count(len(top), 'most frequent reason').removeprefix('1 ')}, the same "
            f"reason occurs {per_job:.1f} times per affected job and {per_user:.1f} times per "
            "affected user."
        )
        user_reasons = top.dropna(subset=["trials_per_user", "top_user_pct"])
        if len(user_reasons) and user_reasons["trials_per_user"].max() > 1:
            worst = user_reasons.sort_values(["trials_per_user", "reason"]).iloc[-1]
            sentences.append(
                f"{worst['reason']} recurs most for the same user: "
                f"{float(worst['trials_per_user']):.1f} times on average. One user has "
                f"{percent(float(worst['top_user_pct']))} of the failed attempts with this reason."
            )
    caveats = (
        ["A job or user with several reasons counts once for each reason."] if len(top) else []
    )
    return Result("failure_repetition", table, facts, sentences, caveats)


def plot(result: Result) -> Figure:
    """Draw trials per job and per user of each reason."""
    table = result.table[result.table["reason"] != "all"].iloc[::-1]
    fig, axes = figures.canvas(2, width=7.6, height=max(2.4, 0.9 + 0.21 * len(table)), sharey=True)
    if table.empty:
        return figures.empty(fig, "no failed attempt has known output")
    names = list(table["reason"])
    kinds = (("job", figures.ACCENT), ("user", figures.CYCLE[1]))
    for ax, (kind, color) in zip(axes, kinds, strict=True):
        values = table[f"trials_per_{kind}"].astype(float).fillna(0)
        labels = [f"{v:.1f}" if v else "?" for v in values]
        figures.hbars(ax, names, values, labels, color=color, space=1.15, fontsize=7)
        ax.set_xlabel(f"trials per {kind}")
    figures.title(axes[0], f"n = {int(table['trials'].sum()):,} trials")
    return fig


ANALYSIS = Analysis(
    name="failure_repetition",
    question="Do the same jobs and users fail repeatedly for the same reason?",
    needs=("jobs", "attempts", "failures"),
    compute=compute,
    plot=plot,
)
