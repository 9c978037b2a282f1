"""Report GPU utilisation of gangs on dedicated servers (ATC'19, Figure 6).

Small gangs rarely fill whole servers: small gangs on dedicated servers are not typical of their
size.
"""

from matplotlib.figure import Figure

from philly_analysis.analyses.shared.gang_sizes import trend
from philly_analysis.analyses.shared.texts import CAVEATS, TRENDS
from philly_analysis.analyses.shared.utilisation_curves import plot_curves
from philly_analysis.results import Fact, Result, count, figures
from philly_analysis.trace import Analysis, Trace

_CURVES = 5


def compute(trace: Trace) -> Result:
    """Compute utilisation by gang size without interference of other jobs, and test its trend."""
    table = trace.answer("gpu_util_dedicated").df()
    dedicated = trace.answer("sampled_attempts").filter("gpus > 1 and dedicated")
    size = trend(dedicated, "gpus", "mean_pct")
    sizes = table[table["percentile"] == 50].sort_values("gpus")
    facts = (
        *(
            Fact(f"{name}_{row['gpus']}_pct", row[column], f"{meaning}, {row['gpus']} GPUs")
            for row in sizes.to_dict("records")
            for name, column, meaning in (
                ("median", "util_pct", "median"),
                ("mean", "mean_pct", "mean"),
                ("idle", "idle_pct", "share at 0 %"),
            )
        ),
        *size.facts("gang", "gang size and mean utilisation of dedicated attempts"),
    )
    medians = ", ".join(
        f"{row.util_pct:.1f} % for {row.gpus} GPUs on {count(int(row.servers), 'server')}"
        for row in sizes.nlargest(_CURVES, "gpu_h").sort_values("gpus").itertuples()
    )
    sentences = (
        f"The median utilisation over GPU-minutes of gangs on dedicated servers is {medians}.",
        size.sentence(**TRENDS["gpu_util_dedicated"]),
    )
    return Result(
        "gpu_util_dedicated",
        table,
        facts,
        sentences if len(sizes) else (),
        CAVEATS["gpu_util_dedicated"],
    )


def plot(result: Result) -> Figure:
    """Draw cumulative utilisation, one curve per gang size."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no sampled gang ran on dedicated servers")
    largest = table[table["percentile"] == 0].nlargest(_CURVES, "gpu_h")["gpus"]
    return plot_curves(table, "gpus", figures.gang_size_colors(largest))


ANALYSIS = Analysis(
    name="gpu_util_dedicated",
    question="How busy are the GPUs of gangs on dedicated servers?",
    needs=("jobs", "attempts", "placements", "machines", "gpu_samples"),
    compute=compute,
    plot=plot,
    sample_counts="gpu_use_bins",
    all_jobs=True,
)
