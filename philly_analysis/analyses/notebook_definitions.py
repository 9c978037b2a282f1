"""Compare the definitions of the archive's notebook with ours for run times, waits and servers.

The comparison measures the effect of the definitions on this trace, not which is better.
"""

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.published import is_philly, notebook_gap
from philly_analysis.results import (
    Comparison,
    Fact,
    Result,
    count,
    duration,
    figures,
    gang_label,
    share,
    slug,
)
from philly_analysis.study import GANGS, LARGE_GPUS, archive, groups
from philly_analysis.trace import Analysis, Trace

_QUANTITIES = ("run time", "wait")
_FEWEST = 20
"""Fewest waits of a virtual cluster and gang bucket for a comparison with its curve."""


def compute(trace: Trace) -> Result:
    """Compute percentiles by both definitions and, for the study's cluster, gaps to its curves."""
    table = trace.answer("notebook_definitions").df()
    [waits] = trace.answer("notebook_definitions_waits").df().itertuples(index=False)
    facts = [
        Fact("stale_waits", waits.stale, "waits that the notebook repeats from an earlier attempt"),
        Fact("zero_waits", waits.zeros, "waits of zero, which the notebook drops"),
    ]
    for row in table[table["percentile"] == 50].to_dict("records"):
        quantity, definition, gang = row["quantity"], row["definition"], row["gang"]
        name = f"median_{quantity.replace(' ', '_')}_{definition}_{slug(gang)}_s"
        meaning = f"median {quantity}, {definition}, {gang_label(gang)}"
        facts.append(Fact(name, row["value_s"], meaning))
    sentences = []
    if len(table):
        sentences.append(
            f"The notebook drops {count(waits.zeros, 'wait')} of zero and repeats "
            f"{count(waits.stale, 'wait')} of an earlier attempt."
        )
    if len(table) and pd.notna(waits.median_s) and pd.notna(waits.notebook_p50_s):
        sentences.append(
            f"By the notebook's rules the median wait is {duration(waits.notebook_p50_s)}. With "
            f"zeros and without repetitions the median wait is {duration(waits.median_s)}."
        )
    placed = {"placements", "machines"} <= trace.tables
    if placed:
        large = trace.answer("notebook_locality").select("entries", "servers").df()
        jobs, repeated = len(large), int((large["entries"] > large["servers"]).sum())
        facts.append(Fact("servers_overcounted_jobs", repeated, "large jobs with repeated servers"))
        if jobs:
            sentences.append(
                f"{share(repeated / jobs)} of {count(jobs, 'job')} on at least {LARGE_GPUS} GPUs "
                "list a server more than once; the notebook counts each entry as a server."
            )
    caveats = (
        "" if placed else "Without placements the notebook's count of servers is unknown.",
        "The notebook's third rule, which ignores the time zones of the two clocks, is compared "
        "with the findings on utilisation.",
    )
    gaps = _curve_gaps(trace) if is_philly(trace) else []
    return Result("notebook_definitions", table, facts, sentences, caveats, gaps)


def _curve_gaps(trace: Trace) -> list[Comparison]:
    """Compare the digitised curves with the notebook's definitions on this trace."""
    jobs = trace.manifest.rows.get("jobs", 0)
    runs = trace.answer("notebook_runs").select("gang", "run_s").df()
    waits = trace.answer("notebook_waits").select("vc", "gang", "wait_s").df()
    samples = [
        ("run time", "run_time", gang, runs.loc[runs["gang"] == gang, "run_s"] / 60)
        for gang in groups("run_time")
    ]
    samples += [
        ("wait", "queueing_delay", f"{vc} {gang}", rows["wait_s"] / 60)
        for (vc, gang), rows in waits.groupby(["vc", "gang"])
        if f"{vc} {gang}" in groups("queueing_delay") and len(rows) >= _FEWEST
    ]
    gaps = (
        notebook_gap(
            name,
            group,
            values,
            f"{what}, {group}: largest gap between the curves (n = {len(values):,})",
            f"the curve has {archive()['jobs']:,} jobs, this trace {jobs:,}; reading error about "
            "0.3 points",
        )
        for what, name, group, values in samples
    )
    return [gap for gap in gaps if gap.measured == gap.measured]


def plot(result: Result) -> Figure:
    """Draw both definitions' curves per gang bucket: ours solid, the notebook's dashed."""
    table = result.table
    fig, axes = figures.canvas(2, height=3.2, sharey=True)
    if table.empty:
        return figures.empty(fig, "no run times or waits")
    for ax, quantity in zip(axes, _QUANTITIES, strict=True):
        rows = table[table["quantity"] == quantity]
        for gang in figures.ordered(rows["gang"], GANGS):
            for definition, style in (("ours", "-"), ("notebook", "--")):
                one = rows[(rows["gang"] == gang) & (rows["definition"] == definition)]
                ax.plot(
                    one["value_s"].clip(lower=1),
                    one["percentile"],
                    style,
                    color=figures.GANG_COLORS[gang],
                    label=gang_label(gang) if definition == "ours" and len(one) else None,
                )
        figures.time_axis(ax)
        figures.percent_axis(ax, "cumulative share" if quantity == "run time" else "")
        ax.set_xlabel(quantity)
        figures.title(ax, f"{quantity}: ours solid, notebook dashed")
    figures.label_lines(axes)
    return fig


ANALYSIS = Analysis(
    name="notebook_definitions",
    question="How do the archive notebook's definitions change the numbers?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    sample_counts="notebook_gpu_util_bins",
    study_only=True,
)
