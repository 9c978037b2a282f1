"""Report queueing delay by virtual cluster and gang size (ATC'19, Figure 3).

A wait is the time from submission, or from the end of the previous attempt, to the start. Sources
differ in what they call submission; `wait_states` reports time held by dependencies or begin
times. The largest virtual clusters dominate quantiles over all virtual clusters.
"""

import numpy as np
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.exclusions import excluded
from philly_analysis.analyses.shared.gang_sizes import duration_curves, gang_facts, trend
from philly_analysis.analyses.shared.texts import TRENDS
from philly_analysis.results import Fact, Result, count, duration, figures, share
from philly_analysis.trace import Analysis, Trace

PANELS = 5
"""Number of virtual clusters with a panel, chosen by the number of waits."""

_FEW = 20
"""Fewest waits for a curve."""

_NAME = 12
"""Most letters of a virtual cluster's name in a panel title."""

_TOTALS = """
count(*), count(*) filter (wait_s = 0), median(wait_s), quantile_cont(wait_s, 0.9), total(wait_s),
total(held_s)
"""


def compute(trace: Trace) -> Result:
    """Compute the distribution of waits per VC and gang bucket, and test its trends."""
    table = trace.answer("queueing_delay").df()
    waits = trace.answer("trusted_waits")
    size, retry = (trend(waits, of, "wait_s") for of in ("gpus", "not first"))
    [(n, zeros, median, p90, total_s, held_s)] = waits.aggregate(_TOTALS).fetchall()
    middle = table[table["vc"].isna() & (table["percentile"] == 50)]
    facts = (
        Fact("waits", n, "attempts with a trusted wait"),
        Fact("zeros", zeros, "attempts with a wait of zero"),
        Fact("median_wait_s", median, "median wait"),
        Fact("p90_wait_s", p90, "90th percentile of waits"),
        *gang_facts("median_wait_{}_s", middle.set_index("gang")["wait_s"], "median wait"),
        *size.facts("gang", "gang size and wait"),
        *retry.facts("retry", "being a retry and wait"),
    )
    sentences = (
        (f"No attempt waited: all {count(n, 'attempt')} started when they were submitted.",)
        if n and n == zeros
        else (
            f"The median wait of {count(n, 'attempt')} is {duration(median)} and the 90th "
            f"percentile {duration(p90)}; {share(zeros / n)} of attempts did not wait.",
            size.sentence(**TRENDS["queueing_delay"]),
            retry.sentence(**TRENDS["queueing_delay_of_retries"]),
        )
        if n
        else ()
    )
    caveats = (
        "Each attempt has one wait: from submission, or from the end of the previous attempt, to "
        "the start. Waits of zero count.",
        f"{share(held_s / total_s)} of the waiting time was before jobs were eligible to run "
        "(dependencies, holds), which the scheduler does not cause."
        if n and total_s > 0 and held_s > 0
        else "",
        *excluded(trace, "wait"),
    )
    return Result("queueing_delay", table, facts, sentences, caveats)


def plot(result: Result) -> Figure:
    """Draw waits of all and of the largest virtual clusters, one curve per gang bucket."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no attempt has a trusted wait")
    sizes = table.drop_duplicates(["vc", "gang"])
    drawn = sizes[sizes["waits"] >= _FEW]
    if drawn.empty:
        return figures.empty(figures.canvas()[0], f"fewer than {_FEW} waits of any size")
    named = sizes[sizes["vc"].isin(drawn["vc"].dropna())]
    largest = named.groupby("vc")["waits"].sum().nlargest(PANELS).index.to_list()
    panels: list[str | None] = [None, *largest] if len(largest) > 1 else [None]
    columns = min(len(panels), 3)
    rows = int(np.ceil(len(panels) / columns))
    fig, axes = figures.canvas(columns, rows, height=2.5 * rows + 0.5, sharex=True, sharey=True)
    for i, (ax, vc) in enumerate(zip(axes, panels, strict=False)):
        here = table["vc"].isna() if vc is None else table["vc"] == vc
        duration_curves(ax, table[here & (table["waits"] >= _FEW)], "wait_s")
        n = int(sizes[sizes["vc"].isna() if vc is None else sizes["vc"] == vc]["waits"].sum())
        figures.title(ax, f"{'all' if vc is None else figures.shorten(vc, _NAME)}  n={n:,}")
        ax.set_ylabel("share of waits" if i % columns == 0 else "")
        if i >= len(panels) - columns:
            ax.set_xlabel("wait")
            ax.tick_params(labelbottom=True)  # also above an empty place of the grid
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figures.label_lines(axes[: len(panels)])
    return fig


ANALYSIS = Analysis(
    name="queueing_delay",
    question="How long is the queueing delay, by virtual cluster and gang size?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log has no waits: no attempt has a known submission and start.",
)
