"""Repetition of failures: the same reason again in the same job, and to the same user.

The same reason twice in a job may be two faults of one kind. Users with many jobs repeat reasons
by chance, too.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.failure_reasons import by_frequency
from philly_analysis.results import Fact, Result, count, figures, share
from philly_analysis.trace import Trace

QUESTION = "Do the same jobs and users fail for the same reason again and again?"
NEEDS = ("jobs", "attempts", "failures")

TOP = 8
"""The study gives the factors over its eight most frequent rows, no signature among them."""


def compute(trace: Trace) -> Result:
    """Divide failed attempts by their jobs and by their users, per reason and over the top."""
    table = by_frequency(trace.answer("failure_repetition").df())
    reasons = table[table["reason"] != "all"]
    top = reasons.sort_values(["trials", "reason"], ascending=[False, True]).head(TOP)
    trials, jobs, users = (int(top[c].sum()) for c in ("trials", "jobs", "users"))
    facts = (
        Fact("top", len(top), "most frequent rows that the factors are taken over"),
        Fact("top_trials_pct", _pct(trials, int(reasons["trials"].sum())), "trials in these rows"),
        Fact("trials_per_job", trials / jobs if jobs else None, "trials per job, over these rows"),
        Fact("trials_per_user", trials / users if users else None, "trials per user, likewise"),
    )
    return Result(
        name="failure_repetition",
        table=table,
        facts=facts,
        sentences=_sentences(top, facts),
        caveats=("A job or user with several reasons counts once in each of their rows.",)
        if len(top)
        else (),
    )


def _pct(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _sentences(top: pd.DataFrame, facts: tuple[Fact, ...]) -> tuple[str, ...]:
    value = {fact.name: fact.value for fact in facts}
    if not value["trials_per_job"] or not value["trials_per_user"]:
        return ()
    said = [
        f"Over the {count(len(top), 'most frequent row')}, the same reason returns "
        f"{value['trials_per_job']:.1f} times per job and {value['trials_per_user']:.1f} times "
        "per user."
    ]
    known = top.dropna(subset=["trials_per_user", "top_user_pct"])
    if len(known):
        worst = known.sort_values(["trials_per_user", "reason"]).iloc[-1]
        said.append(
            f"{worst['reason']} returns most to the same user, "
            f"{float(worst['trials_per_user']):.1f} times on average; one user has "
            f"{share(float(worst['top_user_pct']) / 100)} of its trials."
        )
    return tuple(said)


def plot(result: Result) -> Figure:
    """Draw trials per job and per user of each reason."""
    table = result.table[result.table["reason"] != "all"].iloc[::-1]
    fig, [per_job, per_user] = figures.canvas(
        2, width=7.6, height=max(2.4, 0.9 + 0.21 * len(table)), sharey=True
    )
    if table.empty:
        return figures.empty(fig, "no failed attempt has known output")
    for ax, column, label, color in (
        (per_job, "trials_per_job", "trials per job", figures.ACCENT),
        (per_user, "trials_per_user", "trials per user", figures.CYCLE[1]),
    ):
        values = table[column].astype(float).fillna(0)
        drawn = ax.barh(table["reason"], values, color=color)
        ax.bar_label(drawn, [f"{v:.1f}" if v else "?" for v in values], fontsize=7, padding=2)
        ax.set_xlim(0, float(values.max()) * 1.15 or 1)
        ax.set_xlabel(label)
        ax.grid(visible=False, axis="y")
    figures.title(per_job, f"n = {int(table['trials'].sum()):,} trials")
    return fig
