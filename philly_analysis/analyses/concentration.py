"""Measure how few users and virtual clusters account for most jobs and GPU time.

Shares depend on the length of the log and on accounts: a shared account counts as one user, a
person with two accounts as two.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import (
    Fact,
    Facts,
    Result,
    Verdict,
    count,
    count_note,
    figures,
    percent,
)
from philly_analysis.trace import Analysis, Trace

_MANY = 20
"""Fewest users (or virtual clusters) of which the largest tenth is reported."""
_WORDS = {"user": "user", "vc": "virtual cluster"}


def compute(trace: Trace) -> Result:
    """Rank users and virtual clusters by GPU time, with cumulative shares."""
    table = trace.answer("concentration").df()
    facts: list[Fact] = []
    sentences = []
    for kind, word in _WORDS.items():
        rows = table[table["kind"] == kind]
        many = len(rows) >= _MANY
        top = rows["gpu_h"].nlargest(max(round(len(rows) / 10), 1) if many else 1).sum()
        total = rows["gpu_h"].sum()
        top_pct = 100 * float(top / total) if total else None
        gpu_h_gini = gini(rows["gpu_h"])
        facts += [
            Fact(f"{kind}s", len(rows), f"{word}s"),
            Fact(f"{kind}_top_tenth_gpu_h_pct", top_pct, f"GPU time of the top tenth of {word}s"),
            Fact(f"{kind}_gpu_h_gini", gpu_h_gini, f"Gini coefficient of GPU time over {word}s"),
            Fact(f"{kind}_jobs_gini", gini(rows["jobs"]), f"Gini coefficient of jobs over {word}s"),
        ]
        if len(rows) > 1 and top_pct is not None:
            sentences.append(
                f"The {'top tenth' if many else 'largest'} of {count(len(rows), word)} used "
                f"{percent(top_pct)} of the GPU time (Gini coefficient {gpu_h_gini:.2f})."
            )
    [log] = trace.answer("log_totals").df().itertuples(index=False)
    unknown = " without a known user or virtual cluster."
    return Result(
        "concentration",
        table,
        facts,
        sentences,
        [count_note(log.jobs_of_nobody, "job", unknown)],
        verdict=_verdict(Facts(facts)),
    )


def _verdict(facts: Facts) -> Verdict | None:
    """Return the share of GPU time of the largest users; None: fewer than two are known."""
    users, top_pct = facts["users"], facts["user_top_tenth_gpu_h_pct"]
    if not isinstance(users, int) or users < 2 or not isinstance(top_pct, float):
        return None
    label = "A tenth of the users" if users >= _MANY else "The largest user"
    return Verdict(label, percent(top_pct), f"of the GPU time of {count(users, 'user')}")


def gini(amounts: pd.Series) -> float | None:
    """Return the Gini coefficient: 0 for equal amounts, towards 1 if one member has all.

    Mean absolute difference of all pairs over twice the mean (Gini, 1912).
    """
    x = np.sort(amounts.to_numpy(float))
    if len(x) < 2 or x.sum() <= 0:
        return None
    ranks = np.arange(1, len(x) + 1)
    return float(np.sum((2 * ranks - len(x) - 1) * x) / (len(x) * x.sum()))


def plot(result: Result) -> Figure:
    """Draw the cumulative shares of jobs and GPU time, largest users first."""
    table = result.table
    fig, axes = figures.canvas(2, height=3.2, sharey=True)
    if table.empty:
        return figures.empty(fig, "no user or virtual cluster is known")
    for ax, (kind, word) in zip(axes, _WORDS.items(), strict=True):
        rows = table[table["kind"] == kind].sort_values("rank")
        x = [0.0, *rows["members_pct"]]
        marker = "o" if len(rows) < 30 else None
        for column, label, color in (
            ("gpu_h_pct", "GPU time", figures.ACCENT),
            ("jobs_pct", "jobs", figures.CYCLE[1]),
        ):
            ax.plot(x, [0.0, *rows[column]], color=color, label=label, marker=marker, markersize=3)
        ax.plot([0, 100], [0, 100], color=figures.MUTED, linestyle=":", label="equal shares")
        figures.percent_axis(ax, f"share of {word}s, most GPU time first", axis="x")
        figures.percent_axis(ax, "cumulative share" if kind == "user" else "")
        figures.title(ax, f"{word}s  n={len(rows):,}")
    figures.label_lines(axes)
    return fig


ANALYSIS = Analysis(
    name="concentration",
    question="How concentrated are jobs and GPU time on few users and virtual clusters?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log names fewer than two users and fewer than two virtual clusters with GPU time.",
)
