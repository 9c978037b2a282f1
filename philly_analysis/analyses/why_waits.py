"""What jobs wait for, in one number: the largest part of all the time that they waited.

The largest part is named, and may be far from all. What neither placements nor quotas explain
counts as not told; where quotas are estimated from use, as for every public trace, time over
quota and time without GPUs trade places with the estimate.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from philly_analysis.analyses.delay_causes import preferred
from philly_analysis.results import (
    Fact,
    Result,
    Share,
    clustered_share,
    count,
    duration,
    figures,
    gpus,
    number,
    share,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Trace

QUESTION = "Why do jobs wait?"
NEEDS = ("jobs", "attempts")

CAUSES = {
    "full": (
        "too few GPUs free",
        "fewer GPUs were free than the gang asks for",
        "No packing shortens this part: only fewer GPU hours at busy times, or more GPUs. Those "
        "held and left idle are named below.",
    ),
    "scattered": (
        "free GPUs scattered",
        "enough GPUs were free, but on more servers than the gang needs",
        "Keep small jobs off empty servers, move them together, or let a gang spread after a while "
        "and see what that costs it in utilisation.",
    ),
    "quota": (
        "over quota",
        "its virtual cluster would have been over its quota",
        "Quotas bind, not GPUs: let virtual clusters borrow what others leave free, or raise the "
        "quotas of those that wait.",
    ),
    "held": (
        "held by its user",
        "the job was not eligible to start",
        "These jobs wait for a dependency, a hold or a start time that their users gave: nothing "
        "that a scheduler could shorten.",
    ),
    "throttled": (
        "limit reached",
        "a limit of its user, account or array kept the job",
        "Limits bind, not GPUs: raise those that keep GPUs free while jobs wait.",
    ),
    "refused": (
        "asks too much",
        "the job asked for more than it may have",
        "Tell these users when they submit: such jobs start only once limits or requests change.",
    ),
    "pending": (
        "turn and machines",
        "the job waited for its turn, or for machines",
        "Whether GPUs were free meanwhile the log does not tell: ingest placements and the list of "
        "servers to learn it.",
    ),
    "unknown": (
        "not in the log",
        "what kept the job waiting is not in the log",
        "The scheduler's own log knows the rest: priorities, limits, the length of its cycle. A "
        "trace of all jobs, with their placements and the servers, tells more.",
    ),
}
"""By cause: its name in a figure, what passed meanwhile, and what follows where it leads."""

_TOLD = 0.2
"""The part of the time waited of which the log must tell, for the answer to be a cause."""

_MOSTLY = 0.5
"""What the log does not tell is said beside the answer where it is more than this part."""

_FEWEST = 20
"""Waits of a gang size below which it is not compared with others."""

_COLORS = {
    "full": figures.ACCENT,
    "scattered": "#d9822b",
    "quota": "#8e5ea2",
    "held": "#9c8755",
    "throttled": "#8e5ea2",
    "refused": "#c4473f",
    "pending": figures.ACCENT,
    "unknown": "#c9d0d8",
}


def compute(trace: Trace) -> Result:
    """Divide the time that attempts waited by what they waited for; name the largest part.

    Where the log tells for less than a fifth of it, the answer is how many waited long instead.
    """
    found, caveats = _waits(trace)
    parts = {cause: found[f"{cause}_s"].clip(lower=0) for cause in CAUSES if f"{cause}_s" in found}
    wait_s = sum(parts.values(), start=pd.Series(0.0, found.index))
    waits, total_s = int(found["waits"].sum()), float(wait_s.sum())
    table = pd.concat(
        [
            found[["gang", "waits", "long"]].assign(cause=cause, wait_s=part)
            for cause, part in parts.items()
        ]
    )
    table = table.groupby(["gang", "cause"], as_index=False)[["waits", "long", "wait_s"]].sum()
    shares = {
        cause: clustered_share((part / wait_s).fillna(0.0), found["user"], wait_s)
        for cause, part in parts.items()
    }
    long = clustered_share(found["long"] / found["waits"], found["user"], found["waits"])
    facts = [
        Fact("waits", waits, "attempts with a trusted wait"),
        Fact("wait_s", total_s, "time that they waited, all together"),
        *long.facts("long", "attempts that waited longer than 10 minutes"),
    ]
    for cause, part in shares.items():
        facts += part.facts(cause, f"of the time waited: {CAUSES[cause][1]}")
    tells = total_s > 0 and 1 - shares["unknown"].frac >= _TOLD if "unknown" in shares else True
    known = {cause: part for cause, part in shares.items() if cause != "unknown"}
    most = max(known, key=lambda cause: known[cause].frac) if tells and total_s > 0 else "unknown"
    all_waited = f"{count(waits, 'attempt')} waited {duration(total_s)} in all"
    silent = shares["unknown"].frac if "unknown" in shares else 0.0
    untold = f", and for {share(silent)} the log does not tell why" if silent > _MOSTLY else ""
    answer = (
        f"{all_waited}; for {share(shares[most].frac)} of that time {CAUSES[most][1]}{untold}."
        if tells and total_s > 0
        else f"{all_waited}, {share(long.frac)} of them longer than 10 minutes."
    )
    waited = pd.DataFrame({"n": found["waits"], "s": wait_s})
    return Result(
        name="why_waits",
        table=table,
        facts=tuple(facts),
        sentences=(answer, *_by_gang(found["gang"], waited), *_rest(shares, most)) if waits else (),
        caveats=caveats,
        headline=(f"{most}_pct" if tells else "long_pct") if total_s > 0 else "",
        advice=CAUSES[most][2] if total_s > 0 else "",
    )


def _waits(trace: Trace) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return seconds by user, gang and cause, from the best that the trace has, and its limits."""
    if trace.has("why_waits"):
        found = trace.answer("why_waits").df()
        method = preferred(found["method"])
        quotas = {
            "given": (),
            "none": ("No quota is known or can be estimated.",),
        }.get(method, (f"Quotas are estimated ({method} of what a virtual cluster held).",))
        return found[found["method"] == method].reset_index(drop=True), quotas
    if trace.has("why_waits_told") and trace.has_values("jobs.eligible_at"):
        return trace.answer("why_waits_told").df(), ("What kept a job is what was last recorded.",)
    return (
        trace.answer("why_waits_untold").df(),
        ("Without placements and servers nothing tells what kept a job waiting.",),
    )


def _rest(shares: dict[str, Share], most: str) -> tuple[str, ...]:
    said = {most} | {c for c in ("unknown",) if c in shares and shares[c].frac > _MOSTLY}
    others = [cause for cause in shares if cause not in said and shares[cause].frac > 0]
    others.sort(key=lambda cause: -shares[cause].frac)
    if most == "unknown":
        if not shares[most].frac > 0:  # nobody waited at all
            return ()
        return (f"The log does not tell why for {share(shares[most].frac)} of that time.",)
    rest = "; ".join(f"{share(shares[c].frac)}, {CAUSES[c][1]}" for c in others[:2])
    return (f"For the rest: {rest}.",) if rest else ()


def _by_gang(gang: pd.Series, waited: pd.DataFrame) -> tuple[str, ...]:
    """Say how much longer the largest gangs wait than the smallest, of those with enough waits."""
    sums = waited.groupby(gang).sum()
    sums = sums[sums["n"] >= _FEWEST]
    gangs = figures.ordered(sums.index, GANGS)
    means = [float(sums["s"][g] / sums["n"][g]) for g in gangs]
    if len(gangs) < 2 or not means[0] or means[-1] < 1.5 * means[0]:
        return ()
    return (
        f"On average gangs of {gpus(gangs[-1])} wait {number(means[-1] / means[0])} times as long "
        f"as {gpus(gangs[0])}: {duration(means[-1])} against {duration(means[0])}.",
    )


def plot(result: Result) -> Figure:
    """Divide the waiting time of each gang size by cause; or show which waits were long."""
    table = result.table
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    if table["wait_s"].sum() <= 0:
        return figures.empty(fig, "nobody waited")
    if result.headline == "long_pct":
        return _long(fig, ax, table)
    wide = table.pivot_table(index="gang", columns="cause", values="wait_s", aggfunc="sum")
    gangs = figures.ordered(wide.index[wide.sum(axis=1) > 0], GANGS)
    causes = [cause for cause in CAUSES if cause in wide and wide[cause].sum() > 0]
    sums = wide.sum(axis=1)
    figures.shares(
        ax,
        [f"{gpus(gang)}\n{duration(sums[gang])}" for gang in gangs],
        {CAUSES[c][0]: wide.loc[gangs, c].tolist() for c in causes},
        colors={CAUSES[c][0]: _COLORS[c] for c in causes},
    )
    figures.legend(ax, loc="lower left", bbox_to_anchor=(-0.2, 1), ncols=2, fontsize=8)
    return fig


def _long(fig: Figure, ax: Axes, table: pd.DataFrame) -> Figure:
    figures.gang_bars(ax, table.drop_duplicates("gang"), part="long", whole="waits")
    ax.set_xlabel("GPUs, and attempts")
    figures.title(ax, "Waited longer than 10 minutes")
    return fig
