"""GPU utilisation by gang size, where only means of whole attempts are known.

A mean of an attempt hides its idle hours, and monitors leave out attempts too short to be read.
"""

from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, count, figures, gpus, rank_association
from philly_analysis.trace import Trace

QUESTION = "How busy were the GPUs of each attempt on average, by gang size?"
NEEDS = ("jobs", "attempts", "summaries")

_CURVES = 5


def compute(trace: Trace) -> Result:
    """Give the attempts' mean utilisation by gang size and status, and test its trend."""
    table = trace.answer("gpu_util_summaries").df()
    attempts = trace.answer("summarised_attempts").select("gpus", "user", "mean_pct").df()
    trend = rank_association(attempts["gpus"], attempts["mean_pct"], attempts["user"])
    medians = table[(table["percentile"] == 50) & table["status"].isna()]
    sizes = medians.dropna(subset="gpus").sort_values("gpus")
    overall = medians[medians["gpus"].isna()]
    facts = [
        fact
        for row in overall.itertuples()
        for fact in (
            Fact("attempts", int(row.attempts), "attempts with a mean"),
            Fact("gpu_h", row.gpu_h, "GPU-hours that they ran for, where known"),
            Fact("mean_pct", row.mean_pct, "mean of their means over these GPU-hours"),
            Fact("median_pct", row.util_pct, "the median attempt's mean"),
        )
    ]
    facts += [
        fact
        for row in sizes.itertuples()
        for fact in (
            Fact(f"mean_{row.gpus:.0f}_pct", row.mean_pct, f"mean of means, {row.gpus:.0f} GPUs"),
            Fact(f"median_{row.gpus:.0f}_pct", row.util_pct, f"median, {row.gpus:.0f} GPUs"),
        )
    ]
    facts += trend.facts("gang", "gang size and mean utilisation of an attempt")
    said = []
    for row in overall.itertuples():
        each = ", ".join(
            f"{size.util_pct:.0f} % for {count(int(size.gpus), 'GPU')}"
            for size in sizes.nlargest(_CURVES, "attempts").sort_values("gpus").itertuples()
        )
        said = [
            f"The GPUs of the median attempt were busy {row.util_pct:.0f} % of its time, on "
            f"average ({each}).",
            trend.say(
                rises="Larger gangs use their GPUs more",
                falls="Larger gangs use their GPUs less",
                unclear="Utilisation neither clearly rises nor clearly falls with gang size",
            ),
        ]
    return Result(
        name="gpu_util_summaries",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=(
            "Means of whole attempts, as a monitor summed them up: for how much of its time a GPU "
            "was idle cannot be told from them, nor how use spreads over the minutes.",
        ),
    )


def plot(result: Result) -> Figure:
    """Draw cumulative means over attempts, one curve per gang size."""
    table = result.table
    fig, [ax] = figures.canvas()
    if table.empty:
        return figures.empty(fig, "no attempt has a summary of its GPUs")
    named = table[table["status"].isna() & table["gpus"].notna()]
    largest = sorted(named[named["percentile"] == 0].nlargest(_CURVES, "attempts")["gpus"])
    named = named[named["gpus"].isin(largest)]
    named = named.assign(size=named["gpus"].astype(int).astype(str))
    figures.cdf(
        ax,
        named,
        value="util_pct",
        by="size",
        colors=figures.gang_sizes(map(int, largest)),
        counts=dict(zip(named["size"], named["attempts"], strict=True)),
        say=gpus,
    )
    ax.set(xlim=(0, 100), xlabel="mean GPU utilisation, %", ylabel="share of attempts")
    figures.name_lines(ax)
    return fig
