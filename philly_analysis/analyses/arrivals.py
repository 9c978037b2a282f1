"""When jobs are submitted, by hour and weekday, and how much they burst.

Hours are those of UTC, not of where users live. Arrays are submitted in one second and raise all
measures of burstiness without a change of rate.
"""

import numpy as np
from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, count, figures, share
from philly_analysis.trace import Trace

QUESTION = "When are jobs submitted, and how much do arrivals burst?"
NEEDS = ("jobs",)

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def compute(trace: Trace) -> Result:
    """Give arrival rates over the week, and measures of burstiness (1, 1 and 0 % if Poisson)."""
    table = trace.answer("arrivals").df()
    [bursts] = trace.answer("arrivals_bursts").df().itertuples(index=False)
    by_hour, by_day = (
        table.groupby(part)[["jobs", "hours"]].sum().eval("jobs / hours")
        for part in ("hour", "weekday")
    )
    facts = (
        Fact("hours", bursts.hours, "hours from the first to the last submission"),
        Fact(
            "gap_cv",
            bursts.gap_cv,
            "coefficient of variation of gaps between arrivals (Poisson: 1)",
        ),
        Fact("zero_gap_pct", bursts.zero_gap_pct, "arrivals in the same second as the one before"),
        Fact(
            "hourly_dispersion",
            bursts.hourly_dispersion,
            "variance over mean of arrivals per hour (Poisson: 1)",
        ),
        Fact("peak_hour", int(by_hour.idxmax()) if len(by_hour) else None, "busiest hour, UTC"),
        Fact(
            "peak_to_trough",
            by_hour.max() / by_hour.min() if len(by_hour) == 24 and by_hour.min() else None,
            "arrivals in the busiest hour of the day over those in the quietest",
        ),
        Fact(
            "weekend_to_weekday",
            by_day[[6, 7]].mean() / by_day[[1, 2, 3, 4, 5]].mean()
            if len(by_day) == 7 and by_day.sum()
            else None,
            "arrivals per hour on Saturday and Sunday over those on other days",
        ),
    )
    fact = {f.name: f.value for f in facts}
    said = []
    if fact["peak_to_trough"] is not None:
        said.append(
            f"The busiest hour of the day (from {int(fact['peak_hour'] or 0):02d}:00 UTC) sees "
            f"{float(fact['peak_to_trough']):.1f} times the arrivals of the quietest."
        )
    if fact["weekend_to_weekday"] is not None:
        said.append(
            f"An hour of the weekend sees {float(fact['weekend_to_weekday']):.2f} times the "
            "arrivals of an hour of other days."
        )
    if fact["gap_cv"] is not None and fact["hourly_dispersion"] is not None:
        said.append(
            f"Gaps between arrivals have a coefficient of variation of {bursts.gap_cv:.1f} and "
            f"hourly counts a variance {bursts.hourly_dispersion:.1f} times their mean (a Poisson "
            f"process: 1 and 1); {share(bursts.zero_gap_pct / 100)} of arrivals share their second "
            "with the one before."
        )
    return Result(
        name="arrivals",
        table=table,
        facts=facts,
        sentences=tuple(said),
        caveats=(
            "Hours are UTC; the cluster's working day may lie elsewhere.",
            *([f"{count(bursts.flagged, 'flagged job')} left out."] if bursts.flagged else []),
        ),
    )


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
