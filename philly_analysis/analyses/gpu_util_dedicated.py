"""GPU utilisation of gangs that have their servers to themselves (ATC'19, Figure 6).

Attempts alone on whole servers are rare for small gangs, and are not typical of these.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.published import beside
from philly_analysis.results import Fact, Result, count, figures, gpus, rank_association
from philly_analysis.trace import Trace

QUESTION = "How busy are the GPUs of gangs that have their servers to themselves?"
NEEDS = ("jobs", "attempts", "placements", "machines", "gpu_samples")

_CURVES = 5


def compute(trace: Trace) -> Result:
    """Give utilisation by gang size where no other job can interfere, and test its trend."""
    table = trace.answer("gpu_util_dedicated").df()
    sampled = trace.answer("sampled_attempts").select("gpus", "dedicated", "user", "mean_pct").df()
    attempts = sampled[(sampled["gpus"] > 1) & sampled["dedicated"].astype(bool)]
    trend = rank_association(attempts["gpus"], attempts["mean_pct"], attempts["user"])
    sizes = table[table["percentile"] == 50].sort_values("gpus")
    facts = (
        *(
            fact
            for row in sizes.itertuples()
            for fact in (
                Fact(f"median_{row.gpus}_pct", row.util_pct, f"median, {row.gpus} GPUs"),
                Fact(f"mean_{row.gpus}_pct", row.mean_pct, f"mean, {row.gpus} GPUs"),
                Fact(f"idle_{row.gpus}_pct", row.idle_pct, f"share at 0 %, {row.gpus} GPUs"),
            )
        ),
        *trend.facts("gang", "gang size and mean utilisation of dedicated attempts"),
    )
    each = ", ".join(
        f"{row.util_pct:.1f} % for {row.gpus} GPUs on {count(int(row.servers), 'server')}"
        for row in sizes.nlargest(_CURVES, "gpu_h").sort_values("gpus").itertuples()
    )
    said = (
        f"The median minute of a GPU whose gang holds its servers whole: {each}.",
        trend.say(
            rises="Larger gangs on servers of their own use their GPUs more",
            falls="Larger gangs on servers of their own use their GPUs less: nobody else can be to "
            "blame",
            unclear="On servers of their own, utilisation neither clearly rises nor clearly falls "
            "with gang size",
        ),
    )
    return Result(
        name="gpu_util_dedicated",
        table=table,
        facts=facts,
        sentences=said if len(sizes) else (),
        caveats=(
            "Dedicated: the attempt held every GPU of each of its servers, and no more servers "
            "than its GPUs need.",
        ),
        comparisons=beside(trace, "gpu_util_dedicated", facts),
    )


def plot(result: Result) -> Figure:
    """Draw cumulative utilisation, one curve per gang size."""
    table = result.table
    fig, [ax] = figures.canvas()
    if table.empty:
        return figures.empty(fig, "no sampled gang held its servers whole")
    sizes = table[table["percentile"] == 0].nlargest(_CURVES, "gpu_h")
    largest = sorted(int(g) for g in sizes["gpus"])
    named = table[table["gpus"].isin(largest)].assign(size=table["gpus"].astype(int).astype(str))
    figures.cdf(
        ax,
        named,
        value="util_pct",
        by="size",
        colors=figures.gang_sizes(largest),
        counts=dict(zip(named["size"], named["attempts"], strict=True)),
        say=gpus,
    )
    ax.set(xlim=(0, 100), xlabel="GPU utilisation, %", ylabel="share of GPU-minutes")
    figures.name_lines(ax)
    return fig
