"""Measure arrival rates over the week, and how bursty arrivals are.

Hours are UTC, which need not be the users' time zone. Job arrays arrive within one second and
increase every measure of burstiness without a change of the rate.
"""

import numpy as np
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, Verdict, count_note, figures, percent
from philly_analysis.trace import Analysis, Trace

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def compute(trace: Trace) -> Result:
    """Compute arrival rates over the week, and burstiness (1, 1 and 0 % for a Poisson process)."""
    table = trace.answer("arrivals").df()
    [bursts] = trace.answer("arrivals_bursts").df().itertuples(index=False)
    by_hour, by_day = (
        table.groupby(part)[["jobs", "hours"]].sum().eval("jobs / hours")
        for part in ("hour", "weekday")
    )
    peak = int(by_hour.idxmax()) if len(by_hour) else None
    ratio = weekend = None
    if len(by_hour) == 24 and by_hour.min():
        ratio = by_hour.max() / by_hour.min()
    if len(by_day) == 7 and by_day.sum():
        weekend = by_day[[6, 7]].mean() / by_day[[1, 2, 3, 4, 5]].mean()
    facts = (
        Fact("hours", bursts.hours, "hours from the first to the last submission"),
        Fact("gap_cv", bursts.gap_cv, "interarrival coefficient of variation (Poisson: 1)"),
        Fact(
            "zero_gap_pct",
            bursts.zero_gap_pct,
            "arrivals in the same second as the previous arrival",
        ),
        Fact("hourly_dispersion", bursts.hourly_dispersion, "variance over mean of hourly counts"),
        Fact("peak_hour", peak, "busiest hour, UTC"),
        Fact("peak_to_trough", ratio, "arrivals in the busiest hour of the day over the quietest"),
        Fact("weekend_to_weekday", weekend, "arrivals per hour at weekends over other days"),
    )
    sentences = []
    if ratio is not None:
        sentences.append(
            f"The busiest hour of the day (from {peak:02d}:00 UTC) has {ratio:.1f} times the "
            "arrivals of the quietest."
        )
    if weekend is not None:
        sentences.append(
            f"The arrival rate at weekends is {weekend:.2f} times the rate of other days."
        )
    if bursts.gap_cv == bursts.gap_cv and bursts.hourly_dispersion == bursts.hourly_dispersion:
        sentences.append(
            f"Interarrival times have a coefficient of variation of {bursts.gap_cv:.1f}, and "
            f"hourly counts a variance of {bursts.hourly_dispersion:.1f} times their mean (Poisson "
            f"process: 1 and 1). {percent(bursts.zero_gap_pct)} of arrivals are in the same second "
            "as the previous arrival."
        )
    caveats = (
        "Hours are UTC; the cluster's time zone may differ.",
        count_note(bursts.flagged, "flagged job", " excluded."),
    )
    verdict = None
    if ratio is not None:
        verdict = Verdict(
            f"The hour from {peak:02d}:00 UTC",
            f"{ratio:.1f} times",
            "the submissions of the quietest hour of the day",
        )
    return Result("arrivals", table, facts, sentences, caveats, verdict=verdict)


def plot(result: Result) -> Figure:
    """Draw arrivals per hour over the hours of the week."""
    table = result.table
    fig, [ax] = figures.canvas(height=2.6)
    if table.empty:
        return figures.empty(fig, "no jobs")
    x = (table["weekday"] - 1) * 24 + table["hour"]
    ax.bar(x, table["jobs_per_hour"], width=1, align="edge", color=figures.ACCENT)
    ax.set_xticks(np.arange(7) * 24 + 12, _DAYS)
    ax.set_xticks(np.arange(8) * 24, minor=True)
    ax.grid(visible=False, axis="x")
    ax.grid(visible=True, axis="x", which="minor")
    ax.set(xlim=(0, 168), ylabel="jobs per hour", xlabel="hour of the week (UTC)")
    return fig


ANALYSIS = Analysis(
    name="arrivals",
    question="When are jobs submitted, and how bursty are arrivals?",
    needs=("jobs",),
    compute=compute,
    plot=plot,
    absent="The log has too few submissions for a rate.",
)
