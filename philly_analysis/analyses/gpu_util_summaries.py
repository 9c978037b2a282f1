"""Report GPU utilisation by gang size from the mean of each attempt.

The mean of an attempt hides its idle hours. Monitors omit attempts too short for a reading.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.gang_sizes import trend
from philly_analysis.analyses.shared.texts import CAVEATS, TRENDS
from philly_analysis.analyses.shared.utilisation_curves import plot_curves
from philly_analysis.results import Fact, Result, count, figures
from philly_analysis.trace import Analysis, Trace

_CURVES = 5


def compute(trace: Trace) -> Result:
    """Compute the mean utilisation of attempts by gang size and status, and test its trend."""
    table = trace.answer("gpu_util_summaries").df()
    size = trend(trace.answer("summarised_attempts"), "gpus", "mean_pct")
    medians = table[(table["percentile"] == 50) & table["status"].isna()]
    sizes = medians.dropna(subset="gpus").sort_values("gpus")
    facts: list[Fact] = []
    sentences: list[str] = []
    for total in medians[medians["gpus"].isna()].itertuples():
        facts = [
            Fact("attempts", int(total.attempts), "attempts with a mean utilisation"),
            Fact(
                "gpu_h",
                total.gpu_h,
                "GPU hours of attempts with a mean utilisation and a known run time",
            ),
            Fact("mean_pct", total.mean_pct, "mean utilisation, weighted by GPU hours"),
            Fact("median_pct", total.util_pct, "median of the attempts' mean utilisation"),
        ]
        by_size = ", ".join(
            f"{size.util_pct:.0f} % for {count(int(size.gpus), 'GPU')}"
            for size in sizes.nlargest(_CURVES, "attempts").sort_values("gpus").itertuples()
        )
        sentences = [
            f"The median of the attempts' mean utilisation is {total.util_pct:.0f} % ({by_size}).",
            size.sentence(**TRENDS["gpu_util_summaries"]),
        ]
    for gpus, mean, median in sizes[["gpus", "mean_pct", "util_pct"]].itertuples(index=False):
        facts += [
            Fact(f"mean_{gpus:.0f}_pct", mean, f"mean over GPU hours, {gpus:.0f} GPUs"),
            Fact(f"median_{gpus:.0f}_pct", median, f"median over attempts, {gpus:.0f} GPUs"),
        ]
    facts += size.facts("gang", "gang size and mean utilisation of an attempt")
    return Result("gpu_util_summaries", table, facts, sentences, CAVEATS["gpu_util_summaries"])


def plot(result: Result) -> Figure:
    """Draw the cumulative distribution of means over attempts, one curve per gang size."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no attempt has a utilisation summary")
    named = table[table["status"].isna() & table["gpus"].notna()]
    largest = named[named["percentile"] == 0].nlargest(_CURVES, "attempts")["gpus"]
    return plot_curves(
        named,
        "gpus",
        figures.gang_size_colors(map(int, largest)),
        quantity="mean GPU utilisation, %",
        observations="attempts",
    )


ANALYSIS = Analysis(
    name="gpu_util_summaries",
    question="How busy were the GPUs of each attempt on average, by gang size?",
    needs=("jobs", "attempts", "summaries"),
    compute=compute,
    plot=plot,
)
