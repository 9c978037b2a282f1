"""Queueing delay by virtual cluster and gang size (ATC'19, Figure 3).

A wait runs from submission, or from the end of the attempt before, to the start. Sources differ
in what they call submission: where jobs are held by dependencies or begin times, `wait_states`
tells that part. Quantiles of all virtual clusters together are ruled by the largest.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.exclusions import left_out
from philly_analysis.results import (
    Fact,
    Result,
    count,
    duration,
    figures,
    gpus,
    rank_association,
    share,
    slug,
)
from philly_analysis.trace import Trace

QUESTION = "How long do attempts wait in queue, by virtual cluster and gang size?"
NEEDS = ("jobs", "attempts")

PANELS = 5
"""Virtual clusters with a panel of their own: those with most waits."""

_FEW = 20
"""Fewer waits than this make no curve."""

_NAME = 12
"""Letters of a virtual cluster's name above its panel."""


def compute(trace: Trace) -> Result:
    """Give the distribution of waits per VC and gang bucket, and test how they differ."""
    table = trace.answer("queueing_delay").df()
    trusted = trace.answer("trusted_waits")
    waits = trusted.select("gpus", "wait_s", "first", "held_s", "user").df()
    trend = rank_association(waits["gpus"], waits["wait_s"], waits["user"])
    retry = rank_association(~waits["first"].astype(bool), waits["wait_s"], waits["user"])
    n, zeros = len(waits), int((waits["wait_s"] == 0).sum())
    middle = table[table["vc"].isna() & (table["percentile"] == 50)]
    medians = dict(zip(middle["gang"], middle["wait_s"], strict=True))
    overall = waits["wait_s"].quantile([0.5, 0.9]).to_list()
    facts = (
        Fact("waits", n, "attempts with a trusted wait"),
        Fact("zeros", zeros, "of these, attempts that did not wait at all"),
        Fact("median_wait_s", overall[0], "median wait"),
        Fact("p90_wait_s", overall[1], "wait that 90 % do not exceed"),
        *(
            Fact(f"median_wait_{slug(g)}_s", s, f"median wait, {gpus(g)}")
            for g, s in medians.items()
        ),
        *trend.facts("gang", "gang size and wait"),
        *retry.facts("retry", "being a retry and wait"),
    )
    said = []
    if n:
        said = [
            f"Half of {count(n, 'attempt')} waited no longer than {duration(overall[0])} and "
            f"90 % no longer than {duration(overall[1])}; {share(zeros / n)} did not wait at all.",
            trend.say(
                rises="Larger gangs wait longer",
                falls="Larger gangs wait less long",
                unclear="Waits neither clearly rise nor clearly fall with gang size",
            ),
            retry.say(
                rises="Retries wait longer than first attempts",
                falls="Retries wait less long than first attempts",
                unclear="Retries and first attempts do not clearly differ in their waits",
            ),
        ]
    return Result(
        name="queueing_delay",
        table=table,
        facts=facts,
        sentences=tuple(said),
        caveats=(
            "One wait per attempt: from submission, or from the end of the attempt before, to its "
            "start. Waits of zero count.",
            *_held(waits["wait_s"], waits["held_s"]),
            *left_out(trace, "wait"),
        ),
    )


def _held(wait_s: pd.Series, held_s: pd.Series) -> tuple[str, ...]:
    total = float(wait_s.sum())
    if total <= 0 or not (held_s > 0).any():
        return ()
    return (
        f"{share(float(held_s.sum()) / total)} of the waiting time passed before jobs were "
        "eligible to run (dependencies, holds): the scheduler is not to blame for it.",
    )


def plot(result: Result) -> Figure:
    """Draw all waits, then the virtual clusters with most of them, one curve per gang bucket."""
    table = result.table
    if table.empty:
        return figures.empty(figures.canvas()[0], "no attempt has a trusted wait")
    sizes = table.drop_duplicates(["vc", "gang"])
    drawn = sizes[sizes["waits"] >= _FEW]
    if drawn.empty:
        return figures.empty(figures.canvas()[0], f"fewer than {_FEW} waits of any size")
    largest = (
        sizes[sizes["vc"].isin(drawn["vc"].dropna())]
        .groupby("vc")["waits"]
        .sum()
        .nlargest(PANELS)
        .index.to_list()
    )
    panels: list[str | None] = [None, *largest] if len(largest) > 1 else [None]
    columns = min(len(panels), 3)
    rows = int(np.ceil(len(panels) / columns))
    fig, axes = figures.canvas(columns, rows, height=2.5 * rows + 0.5, sharex=True, sharey=True)
    for i, (ax, vc) in enumerate(zip(axes, panels, strict=False)):
        here = table["vc"].isna() if vc is None else table["vc"] == vc
        rows_here = table[here & (table["waits"] >= _FEW)]
        figures.cdf(
            ax,
            rows_here.assign(wait_s=rows_here["wait_s"].clip(lower=1)),
            value="wait_s",
            by="gang",
            colors=figures.GANG_COLORS,
            say=gpus,
        )
        figures.time_axis(ax)
        n = int(sizes[sizes["vc"].isna() if vc is None else sizes["vc"] == vc]["waits"].sum())
        figures.title(ax, f"{'all' if vc is None else figures.cut(vc, _NAME)}  n={n:,}")
        ax.set_ylabel("share that waited no longer" if i % columns == 0 else "")
        if i >= len(panels) - columns:
            ax.set_xlabel("wait")
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figures.name_lines(axes[: len(panels)])
    return fig
