"""Report the largest cause of waiting time, in one number.

Every cause comes from the relation ``wait_causes``. The largest cause may be far from the only one.
Estimated quotas, as for every public trace, shift time between the causes quota and free GPUs.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.completeness import missing_jobs, preferred
from philly_analysis.analyses.shared.wait_cause import CAUSES, Cause, named_causes
from philly_analysis.results import (
    NOT_RECORDED,
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

_NOT_ASKED = replace(
    CAUSES["unknown"],
    advice="Collect the placements of all jobs and the list of servers: they show why jobs wait.",
)

_LACK = "the log lacks placements or the list of servers"

RESOURCES = {
    "gpus": "GPUs",
    "jobs": "jobs",
    "cpus": "CPUs",
    "mem_gb": "GB of memory",
    "servers": "servers",
}
"""Units of what limits are on."""

_NEARLY_ALL = 0.9
"""Share of a cause's waiting time above which one limit or hold is named as the only one."""

_LEAST_DRAWN = 0.001
"""Share of the waiting time that a cause in the figure exceeds."""

_FEWEST = 20
"""Fewest waits of a gang size for a comparison with other gang sizes."""


def compute(trace: Trace) -> Result:
    """Divide the waiting time by cause, and name the largest one.

    Where no cause can be tested, the answer is the share of long waits instead. A trace that lacks
    jobs of its cluster has no causes.
    """
    missing = missing_jobs(trace)
    waits, method, caveats = _waits(trace, complete=not missing)
    causes = named_causes(method)
    parts = {c: waits[f"{c}_s"].clip(lower=0) for c in CAUSES if f"{c}_s" in waits}
    wait_s = sum(parts.values(), start=pd.Series(0.0, waits.index))
    attempts, total_s = int(waits["waits"].sum()), float(wait_s.sum())
    table = _by_gang(waits, parts)
    shares = {
        cause: clustered_share((part / wait_s).fillna(0.0), waits["user"], wait_s)
        for cause, part in parts.items()
    }
    long = clustered_share(waits["long"] / waits["waits"], waits["user"], waits["waits"])
    facts = [
        Fact("quota_method", method, "source of the quotas"),
        Fact("waits", attempts, "attempts with a trusted wait"),
        Fact("wait_s", total_s, "their total waiting time"),
        *long.facts("long", "attempts that waited longer than 10 minutes"),
    ]
    asked = set(shares) != {"unknown"}
    gpu_shares = _gpu_shares(waits, parts)
    if asked:
        facts += _cause_facts(shares, gpu_shares, causes)
    if not total_s > 0:
        none = [f"No attempt waited: all {count(attempts, 'attempt')} started at once."]
        verdict = _no_waits(attempts)
        return Result("why_waits", table, facts, none if attempts else (), caveats, verdict=verdict)
    main = max(shares, key=lambda cause: shares[cause].frac)
    if asked:
        label, noun = _headline(trace, main, method)
        answer, hits, weights = shares[main], parts[main] / wait_s, wait_s
    else:
        label, noun, answer = "Waits over 10 min", "of attempts", long
        hits, weights = waits["long"] / waits["waits"], waits["waits"]
    trend = share_trend(waits["day"], hits, waits["user"], weights, "waits")
    waited = f"{count(attempts, 'attempt')} waited {duration(total_s)} in total"
    if not asked:
        waited += f", {share(long.frac)} of them longer than 10 minutes."
        lack = f"{missing}. GPUs of other jobs look free" if missing else _LACK
        others = f"The causes cannot be determined: {lack}."
    else:
        waited += f": for {share(shares[main].frac)} of that time {causes[main].meaning}."
        others = _other_causes(shares, main, causes)
    by_gpus = _heaviest_cause(gpu_shares, causes) if asked and not missing else ""
    sums = pd.DataFrame({"n": waits["waits"], "s": wait_s}).groupby(waits["gang"]).sum()
    return Result(
        "why_waits",
        table,
        [*facts, *trend.facts()],
        (waited, _gang_comparison(sums), others, by_gpus),
        caveats,
        verdict=Verdict(
            label,
            whole_percent(answer.frac),
            noun,
            answer.interval,
            _cost(waits["user"], parts[main], attempts),
            str(trend),
            _advice(waits, parts[main], causes[main] if asked else _NOT_ASKED),
        ),
    )


def _cause_facts(
    shares: dict[str, Share], gpu_shares: dict[str, float | None], causes: dict[str, Cause]
) -> Iterator[Fact]:
    """Yield the share of each cause in the waiting time, and in the time weighted by GPUs."""
    for cause, part in shares.items():
        yield from part.facts(cause, f"share of the waiting time: {causes[cause].meaning}")
    for cause, gpu_part in gpu_shares.items():
        yield Fact(
            f"{cause}_gpu_pct",
            None if gpu_part is None else 100 * gpu_part,
            f"share of the waiting time weighted by GPUs: {causes[cause].meaning}",
        )


def _by_gang(waits: pd.DataFrame, parts: dict[str, pd.Series]) -> pd.DataFrame:
    """Return waits and waiting times by gang size and cause."""
    rows = waits[["gang", "waits", "long"]]
    of_causes = [
        rows.assign(cause=cause, wait_s=part, gpu_wait_s=waits[f"{cause}_gpu_s"].clip(lower=0))
        for cause, part in parts.items()
    ]
    sums = pd.concat(of_causes).groupby(["gang", "cause"], as_index=False)
    return sums[["waits", "long", "wait_s", "gpu_wait_s"]].sum()


def _gpu_shares(waits: pd.DataFrame, parts: dict[str, pd.Series]) -> dict[str, float | None]:
    """Return the share of each cause in the waiting time weighted by GPUs; None: no such time."""
    weighted = {c: float(waits[f"{c}_gpu_s"].clip(lower=0).sum()) for c in parts}
    total_s = sum(weighted.values())
    return {c: seconds / total_s if total_s else None for c, seconds in weighted.items()}


def _heaviest_cause(gpu_shares: dict[str, float | None], causes: dict[str, Cause]) -> str:
    """Return a sentence on the largest cause of the waiting time weighted by GPUs."""
    parts = {cause: part for cause, part in gpu_shares.items() if part is not None}
    if not parts:
        return ""
    cause = max(parts, key=lambda name: parts[name])
    return (
        f"Weighted by GPUs, {share(parts[cause])} of the waiting time has the cause "
        f"“{causes[cause].label}”."
    )


def _headline(trace: Trace, main: str, method: str) -> tuple[str, str]:
    """Return the label of the largest cause and the noun of its share, with the limit's name."""
    cause, noun = named_causes(method)[main], "of waiting time"
    if main not in ("limit", "held"):
        return cause.headline, noun
    states = trace.answer("wait_states" if trace.has("wait_states") else "wait_states_unplaced")
    rows = states.df()
    rows = rows[(rows["method"] == method) & (rows["cause"] == main)]
    hours = rows.groupby("name")["wait_h"].sum().sort_values(ascending=False, kind="stable")
    name = str(hours.index[0])
    mostly = "" if hours.iloc[0] > _NEARLY_ALL * hours.sum() else "mostly "
    if main == "held":
        kind = "" if name == "not stated" else f" ({mostly}{name})"
        return cause.headline, f"{noun}{kind}"
    amounts = trace.answer("limit_amounts").df().set_index("limit_name")
    if name not in amounts.index:
        return cause.headline, f"{noun} ({mostly}{name})"
    limit = amounts.loc[name]
    label = {"qos": "QOS"}.get(limit["scope"], str(limit["scope"]).capitalize())
    amount = f"{limit['amount']:g} {RESOURCES[limit['resource']]}"
    estimated = "" if limit["recorded"] else ", estimated"
    return f"{label} limit", f"{noun} ({mostly}{limit['owner']}, {amount}{estimated})"


def _no_waits(waits: int) -> Verdict:
    """Return the verdict on a trace without waiting time."""
    if waits:
        return Verdict("No attempt waited", cost=f"{count(waits, 'attempt')} started at once.")
    return Verdict(
        NOT_RECORDED,
        advice="Record when jobs are submitted and when their attempts start.",
    )


def _cost(users: pd.Series, wait_s: pd.Series, waits: int) -> str:
    """Return the waiting time, who waited, and the mean over all attempts."""
    total_s, waited = float(wait_s.sum()), int(users[wait_s > 0].nunique())
    by = f" by {count(waited, 'user')}" if waited else ""
    return f"{duration(total_s)} of waiting{by}, {duration(total_s / waits)} per attempt."


def _advice(waits: pd.DataFrame, wait_s: pd.Series, cause: Cause) -> str:
    """Return the recommendation for a cause, and the group with most of its waiting time."""
    groups = wait_s.groupby(waits[cause.by]).sum()
    if groups.empty:
        return cause.advice
    most = str(groups.idxmax())
    who = {"gang": f"Jobs of {gang_label(most)} have", "vc": f"Virtual cluster {most} has"}.get(
        cause.by, f"Jobs of user {most} have"
    )
    most_s = float(groups.max())
    part = f"{share(most_s / float(wait_s.sum()))} of this waiting time"
    return f"{cause.advice} {who} {part}: {duration(most_s)}."


def _waits(trace: Trace, *, complete: bool) -> tuple[pd.DataFrame, str, list[str]]:
    """Return waiting seconds by user, gang and cause, the method of quotas, and a caveat."""
    if complete and trace.has("why_waits"):
        method = preferred(name for name, _ in trace.answer("quota_methods").fetchall())
        waits = trace.answer("why_waits").filter(f"method = '{method}'").df()
        estimated = method not in ("given", "none") and waits["quota_s"].sum() > 0
        caveat = f"Quotas are estimated ({method} of the GPUs in use by a virtual cluster)."
        return waits, method, [caveat] if estimated else []
    if complete and trace.has_values("jobs.eligible_at"):
        waits = trace.answer("why_waits_unplaced").df()
        if waits["unknown_s"].sum() == 0:
            stated = "Without placements, causes are the last reasons that are recorded."
            return waits, "none", [stated]
    every = trace.answer("daily_waits").order("all").df()
    unknown = {"wait_s": "unknown_s", "wait_gpu_s": "unknown_gpu_s"}
    return every.rename(columns=unknown), "none", []


def _other_causes(shares: dict[str, Share], main: str, causes: dict[str, Cause]) -> str:
    others = [cause for cause in shares if cause != main and shares[cause].frac > 0]
    others.sort(key=lambda cause: -shares[cause].frac)
    parts = "; ".join(f"{share(shares[c].frac)}, {causes[c].meaning}" for c in others)
    return f"Other causes: {parts}." if parts else ""


def _gang_comparison(sums: pd.DataFrame) -> str:
    """Compare the mean waits of the largest and the smallest gangs with enough waits."""
    sums = sums[sums["n"] >= _FEWEST]
    gangs = figures.ordered(sums.index, GANGS)
    means = [float(sums["s"][g] / sums["n"][g]) for g in gangs]
    if not gangs or not means[0] or means[-1] < 1.5 * means[0]:
        return ""
    return (
        f"The mean wait of gangs of {gang_label(gangs[-1])} is {number(means[-1] / means[0])} "
        f"times the mean wait of {gang_label(gangs[0])}: {duration(means[-1])} and "
        f"{duration(means[0])}."
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
    named = named_causes(result.fact("quota_method"))
    causes = [cause for cause in CAUSES if cause in wide and wide[cause].sum() > least_s]
    figures.stacked_shares(
        ax,
        [f"{gang_label(gang)}\n{duration(sums[gang])}" for gang in gangs],
        {named[c].label: wide.loc[gangs, c].tolist() for c in causes},
        colors={named[c].label: named[c].color for c in causes},
    )
    figures.legend(ax, loc="lower left", bbox_to_anchor=(-0.2, 1), ncols=2, fontsize=8)
    return fig


ANALYSIS = Analysis(
    name="why_waits",
    question="Why do jobs wait?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
    absent="The log has no waits: no attempt has a known submission and start.",
    all_jobs=True,
)
