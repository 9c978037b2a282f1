"""What the definitions of the archive's notebook do to run times, waits and server counts.

It measures the difference between definitions on this trace. Whether the archive's notebook or
the study is nearer to what one means by a wait is not a question that numbers decide.
"""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.published import is_philly
from philly_analysis.results import (
    Comparison,
    Fact,
    Result,
    count,
    duration,
    figures,
    gpus,
    share,
    slug,
)
from philly_analysis.study import (
    GANGS,
    LARGE_GPUS,
    NOTEBOOK,
    archive,
    curve,
    groups,
    largest_gap_pct,
)
from philly_analysis.trace import Trace

QUESTION = "What do the archive notebook's definitions do to the numbers?"
NEEDS = ("jobs", "attempts")

_QUANTITIES = ("run time", "wait")
_FEWEST = 20
"""Fewer waits than this in a virtual cluster and gang bucket are not set beside its curve."""


def compute(trace: Trace) -> Result:
    """Give both definitions' percentiles and, for the study's cluster, gaps to its curves."""
    table = trace.answer("notebook_definitions").df()
    [waits] = trace.answer("notebook_definitions_waits").df().itertuples(index=False)
    middle = table[table["percentile"] == 50]
    facts = [
        Fact("stale_waits", waits.stale, "waits that the notebook repeats from an attempt before"),
        Fact("zero_waits", waits.zeros, "waits of zero that it drops"),
        *(
            Fact(
                f"median_{quantity.replace(' ', '_')}_{definition}_{slug(gang)}_s",
                value,
                f"median {quantity}, {definition}, {gpus(gang)}",
            )
            for quantity, definition, gang, value in zip(
                middle["quantity"],
                middle["definition"],
                middle["gang"],
                middle["value_s"],
                strict=True,
            )
        ),
    ]
    said = [] if table.empty else _sentences(waits)
    caveats = []
    if {"placements", "machines"} <= trace.tables:
        large = trace.answer("notebook_locality").select("entries", "servers").df()
        jobs, repeated = len(large), int((large["entries"] > large["servers"]).sum())
        facts.append(
            Fact("servers_overcounted_jobs", repeated, "large jobs whose detail repeats a server")
        )
        if jobs:
            said.append(
                f"Of {count(jobs, 'job')} on {LARGE_GPUS} GPUs or more, {share(repeated / jobs)} "
                "have a detail that repeats a server: the notebook takes each entry for one."
            )
    else:
        caveats.append("Without placements the notebook's count of servers cannot be shown.")
    caveats.append(
        "The notebook's third rule, minutes matched as equal strings of two clocks, is shown "
        "where utilisation is."
    )
    return Result(
        name="notebook_definitions",
        table=table,
        facts=tuple(facts),
        sentences=tuple(said),
        caveats=tuple(caveats),
        comparisons=_curves(trace) if is_philly(trace) else (),
    )


def _sentences(waits: Any) -> list[str]:
    said = [
        f"The notebook drops {count(waits.zeros, 'wait')} of zero and repeats "
        f"{count(waits.stale, 'stale one')}."
    ]
    if pd.notna(waits.median_s) and pd.notna(waits.notebook_p50_s):
        said.append(
            f"By its rules the median wait is {duration(waits.notebook_p50_s)}; with zeros counted "
            f"and nothing repeated it is {duration(waits.median_s)}."
        )
    return said


def _curves(trace: Trace) -> tuple[Comparison, ...]:
    """Set the digitised curves beside the notebook's own definitions on this trace."""
    jobs = trace.manifest.rows.get("jobs", 0)
    runs = trace.answer("notebook_runs").select("gang", "run_s").df()
    waits = trace.answer("notebook_waits").select("vc", "gang", "wait_s").df()
    known = groups("queueing_delay")
    found = [
        *(
            (
                "run time",
                gang,
                curve("run_time", gang),
                runs.loc[runs["gang"] == gang, "run_s"] / 60,
            )
            for gang in groups("run_time")
        ),
        *(
            ("wait", cell, curve("queueing_delay", cell), rows["wait_s"] / 60)
            for (vc, gang), rows in waits.groupby(["vc", "gang"])
            if (cell := f"{vc} {gang}") in known and len(rows) >= _FEWEST
        ),
    ]
    return tuple(
        Comparison(
            what=f"{what}, {group}: largest gap between the curves (n = {len(values):,})",
            published=0.0,
            measured=gap,
            unit="points",
            source=NOTEBOOK,
            reason=f"the curve is of {archive()['jobs']:,} jobs, this trace holds {jobs:,}; "
            "reading error about 0.3 points",
        )
        for what, group, published, values in found
        if (gap := largest_gap_pct(published, values)) == gap
    )


def plot(result: Result) -> Figure:
    """Draw both definitions' curves per gang bucket: ours solid, the notebook's dashed."""
    table = result.table
    fig, axes = figures.canvas(2, height=3.2, sharey=True)
    if table.empty:
        return figures.empty(fig, "nothing to define")
    for ax, quantity in zip(axes, _QUANTITIES, strict=True):
        rows = table[table["quantity"] == quantity]
        for gang in figures.ordered(rows["gang"], GANGS):
            color = figures.GANG_COLORS[gang]
            for definition, style in (("ours", "-"), ("notebook", "--")):
                one = rows[(rows["gang"] == gang) & (rows["definition"] == definition)]
                ax.plot(
                    one["value_s"].clip(lower=1),
                    one["percentile"],
                    style,
                    color=color,
                    label=gpus(gang) if definition == "ours" and len(one) else None,
                )
        figures.time_axis(ax)
        figures.percent_axis(ax, "share no longer" if quantity == "run time" else "")
        ax.set_xlabel(quantity)
        figures.title(ax, f"{quantity}: ours solid, notebook dashed")
    figures.name_lines(axes)
    return fig
