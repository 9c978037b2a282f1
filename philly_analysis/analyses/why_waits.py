"""Report the largest cause of waiting time, in one number.

The largest cause may be far from the only one. Time that neither placements nor quotas account for
is not explained, and may be the largest part. Estimated quotas, as for every public trace, shift
time between the causes quota and free GPUs.
"""

from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.completeness import missing_jobs, preferred
from philly_analysis.analyses.shared.texts import texts
from philly_analysis.results import (
    Fact,
    Result,
    Share,
    Verdict,
    clustered_share,
    count,
    duration,
    figures,
    gang_label,
    number,
    share,
    share_trend,
    whole_percent,
)
from philly_analysis.study import GANGS
from philly_analysis.trace import Analysis, Trace


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of waiting time.

    Attributes
    ----------
    label
        Its label in the figure.
    meaning
        Its meaning, after "of the waiting time:".
    advice
        Recommendation where it is the largest cause.
    by
        Column whose group with most of this waiting time is named: ``gang`` or ``vc``.
    color
        Its colour.
    """

    label: str
    meaning: str
    advice: str
    by: str = "gang"
    color: str = figures.ACCENT

    @property
    def headline(self) -> str:
        """Its label as the beginning of a headline."""
        return self.label[0].upper() + self.label[1:]


CAUSES = {cause: Cause(**fields) for cause, fields in texts("why_waits.toml").items()}
_NOT_ASKED = replace(
    CAUSES["unknown"],
    advice="Collect the placements of all jobs and the list of servers: they show why jobs wait.",
)

_LEAST_DRAWN = 0.001
"""Share of the waiting time that a cause in the figure exceeds."""

_FEWEST = 20
"""Fewest waits of a gang size for a comparison with others."""


def compute(trace: Trace) -> Result:
    """Divide the waiting time by cause, and name the largest one.

    Where no cause can be tested, the answer is the share of long waits instead. A trace that lacks
    jobs of its cluster has no causes.
    """
    missing = missing_jobs(trace)
    found, caveats = _waits(trace, known=not missing)
    parts = {cause: found[f"{cause}_s"].clip(lower=0) for cause in CAUSES if f"{cause}_s" in found}
    wait_s = sum(parts.values(), start=pd.Series(0.0, found.index))
    waits, total_s = int(found["waits"].sum()), float(wait_s.sum())
    rows = found[["gang", "waits", "long"]]
    table = pd.concat([rows.assign(cause=cause, wait_s=part) for cause, part in parts.items()])
    table = table.groupby(["gang", "cause"], as_index=False)[["waits", "long", "wait_s"]].sum()
    shares = {
        cause: clustered_share((part / wait_s).fillna(0.0), found["user"], wait_s)
        for cause, part in parts.items()
    }
    long = clustered_share(found["long"] / found["waits"], found["user"], found["waits"])
    facts = [
        Fact("waits", waits, "attempts with a trusted wait"),
        Fact("wait_s", total_s, "their total waiting time"),
        *long.facts("long", "attempts that waited longer than 10 minutes"),
    ]
    for cause, part in shares.items():
        facts += part.facts(cause, f"share of the waiting time: {CAUSES[cause].meaning}")
    if not total_s > 0:
        return Result("why_waits", table, facts, caveats=caveats, verdict=_no_waits(waits))
    main = max(shares, key=lambda cause: shares[cause].frac)
    asked = set(shares) != {"unknown"}
    if asked:
        label, noun, answer = CAUSES[main].headline, "of waiting time", shares[main]
        hits, weights = parts[main] / wait_s, wait_s
    else:
        label, noun, answer = "Waits over 10 min", "of attempts", long
        hits, weights = found["long"] / found["waits"], found["waits"]
    trend = share_trend(found["day"], hits, found["user"], weights, "waits")
    waited = f"{count(waits, 'attempt')} waited {duration(total_s)} in total"
    if missing:
        waited += f", {share(long.frac)} of them longer than 10 minutes."
        others = f"The causes cannot be determined: {missing}. GPUs of other jobs look free."
    else:
        waited += f": for {share(shares[main].frac)} of that time {CAUSES[main].meaning}."
        others = _other_causes(shares, main)
    sums = pd.DataFrame({"n": found["waits"], "s": wait_s}).groupby(found["gang"]).sum()
    return Result(
        "why_waits",
        table,
        [*facts, *trend.facts()],
        (waited, _gang_comparison(sums), others),
        caveats,
        verdict=Verdict(
            label,
            whole_percent(answer.frac),
            noun,
            answer.interval,
            _cost(found["user"], parts[main], waits),
            str(trend),
            _advice(found, parts[main], CAUSES[main] if asked else _NOT_ASKED),
        ),
    )


def _no_waits(waits: int) -> Verdict:
    """Return the verdict on a trace without waiting time."""
    if waits:
        return Verdict("No attempt waited", cost=f"{count(waits, 'attempt')} started at once.")
    return Verdict(
        "Not recorded",
        advice="Record when jobs are submitted and when their attempts start.",
    )


def _cost(users: pd.Series, wait_s: pd.Series, waits: int) -> str:
    """Return the waiting time, who waited, and the mean over all attempts."""
    total_s, waited = float(wait_s.sum()), int(users[wait_s > 0].nunique())
    by = f" by {count(waited, 'user')}" if waited else ""
    return f"{duration(total_s)} of waiting{by}, {duration(total_s / waits)} per attempt."


def _advice(found: pd.DataFrame, wait_s: pd.Series, cause: Cause) -> str:
    """Return the recommendation for a cause, and the group with most of its waiting time."""
    groups = wait_s.groupby(found[cause.by]).sum()
    if groups.empty:
        return cause.advice
    most = str(groups.idxmax())
    who = f"Jobs of {gang_label(most)} have" if cause.by == "gang" else f"VC {most} has"
    most_s = float(groups.max())
    part = f"{share(most_s / float(wait_s.sum()))} of this waiting time"
    return f"{cause.advice} {who} {part}: {duration(most_s)}."


def _waits(trace: Trace, *, known: bool) -> tuple[pd.DataFrame, list[str]]:
    """Return waiting seconds by user, gang and cause from the best relation, and its caveat."""
    if not known:
        return trace.answer("why_waits_unknown").df(), []
    if trace.has("why_waits"):
        found = trace.answer("why_waits").df()
        method = preferred(found["method"])
        caveat = {"given": "", "none": "No quota is known or can be estimated."}.get(
            method, f"Quotas are estimated ({method} of the GPUs in use by a virtual cluster)."
        )
        return found[found["method"] == method].reset_index(drop=True), [caveat]
    if trace.has("why_waits_by_reason") and trace.has_values("jobs.eligible_at"):
        return trace.answer("why_waits_by_reason").df(), ["Causes are the last recorded reasons."]
    caveat = "Without placements and servers the causes of waits are unknown."
    return trace.answer("why_waits_unknown").df(), [caveat]


def _other_causes(shares: dict[str, Share], main: str) -> str:
    others = [cause for cause in shares if cause != main and shares[cause].frac > 0]
    others.sort(key=lambda cause: -shares[cause].frac)
    rest = "; ".join(f"{share(shares[c].frac)}, {CAUSES[c].meaning}" for c in others)
    return f"Other causes: {rest}." if rest else ""


def _gang_comparison(sums: pd.DataFrame) -> str:
    """Compare the mean waits of the largest and the smallest gangs with enough waits."""
    sums = sums[sums["n"] >= _FEWEST]
    gangs = figures.ordered(sums.index, GANGS)
    means = [float(sums["s"][g] / sums["n"][g]) for g in gangs]
    if not gangs or not means[0] or means[-1] < 1.5 * means[0]:
        return ""
    return (
        f"The mean wait of gangs of {gang_label(gangs[-1])} is {number(means[-1] / means[0])} "
        f"times that of {gang_label(gangs[0])}: {duration(means[-1])} and {duration(means[0])}."
    )


def plot(result: Result) -> Figure:
    """Draw the causes of waiting time by gang size, or the share of long waits."""
    table = result.table
    fig, [ax] = figures.canvas(width=3.7, height=2.15)
    if table["wait_s"].sum() <= 0:
        return figures.empty(fig, "no attempt waited")
    if set(table["cause"]) == {"unknown"}:
        figures.gang_shares(ax, table.drop_duplicates("gang"), part="long", total="waits")
        ax.set_xlabel("GPUs, and attempts")
        figures.title(ax, "Waits longer than 10 minutes")
        return fig
    wide = table.pivot_table(index="gang", columns="cause", values="wait_s", aggfunc="sum")
    sums = wide.sum(axis=1)
    gangs = figures.ordered(wide.index[sums > 0], GANGS)
    least_s = _LEAST_DRAWN * float(sums.sum())
    causes = [cause for cause in CAUSES if cause in wide and wide[cause].sum() > least_s]
    figures.stacked_shares(
        ax,
        [f"{gang_label(gang)}\n{duration(sums[gang])}" for gang in gangs],
        {CAUSES[c].label: wide.loc[gangs, c].tolist() for c in causes},
        colors={CAUSES[c].label: CAUSES[c].color for c in causes},
    )
    figures.legend(ax, loc="lower left", bbox_to_anchor=(-0.2, 1), ncols=2, fontsize=8)
    return fig


ANALYSIS = Analysis(
    name="why_waits",
    question="Why do jobs wait?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    all_jobs=True,
)
