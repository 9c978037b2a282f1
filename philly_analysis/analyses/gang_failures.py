"""Project and measure the mean time to failure of gangs by their size.

The projection assumes independent server failures at a constant rate. Gangs fail together through
a shared switch or in a bad week.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure

from philly_analysis.analyses.node_failures import (
    DAY_S,
    basis,
    count_by,
    finite,
    incidents,
    lost_attempts,
    lost_servers,
    records_failures,
)
from philly_analysis.results import (
    Fact,
    Rate,
    Result,
    count,
    duration,
    figures,
    interval_facts,
    number,
)
from philly_analysis.trace import Analysis, Trace

LARGEST_GPUS = 16_384
"""Largest gang size of the projection: the size of the largest published trainings."""

_REPORTED_GPUS = (1_024, 16_384)


@dataclass(frozen=True, slots=True)
class Exposure:
    """Parts that fail, their failure rate, and the losses of gangs.

    Attributes
    ----------
    part
        Part of a gang: ``server``, or ``GPU`` for a log without servers.
    gpus
        GPUs of one part.
    parts
        Number of parts observed.
    rate
        Failures of parts per day in use.
    gangs
        Gangs by number of parts: attempts, days run, attempts lost.
    """

    part: str
    gpus: int
    parts: int
    rate: Rate
    gangs: pd.DataFrame


def compute(trace: Trace) -> Result:
    """Project the mean time to failure of gangs from servers, and compare with recorded gangs."""
    seen = exposure(trace)
    table = projection(seen)
    if not records_failures(trace):
        table = table.head(0)
    several = seen.gangs[seen.gangs["parts"] > 1]
    expected = float((several["gang_days"] * several["parts"]).sum()) * seen.rate.per_unit
    lost = int(several["lost"].sum())
    reported = table[table["gpus"].isin(_REPORTED_GPUS)].to_dict("records")
    facts = (
        Fact("part", seen.part, "part of a gang"),
        Fact("parts", seen.parts, f"{seen.part}s observed"),
        Fact("failures", seen.rate.events, f"failures of {seen.part}s"),
        Fact("part_days", seen.rate.exposure, f"days in use of all {seen.part}s in sum"),
        *(
            fact
            for row in reported
            for fact in interval_facts(
                f"mttf_{row['gpus']}_gpus{{}}_s",
                [finite(row[t]) for t in _TIMES],
                f"projected mean time to failure of {row['gpus']:,} GPUs",
            )
        ),
        Fact("lost_gangs", lost, f"attempts on several {seen.part}s that were lost"),
        Fact(
            "expected_gangs",
            expected,
            f"lost attempts on several {seen.part}s that the rate of one {seen.part} predicts",
        ),
    )
    caveats = (
        "The projection assumes independent failures at equal rates. The rates of a gang's "
        f"{seen.part}s add up, so that twice as many run half as long (as in Kokolis et al., HPCA "
        "2025). Failures of a whole rack or network, or by gang size, are not included. Beyond "
        "the largest gang that ran, the projection is an extrapolation.",
        basis(trace),
        ""
        if seen.part == "server"
        else "The log names no servers: rates are per GPU, and each attempt lost with the same "
        "server counts as a failure.",
    )
    return Result("gang_failures", table, facts, _sentences(seen, table, lost, expected), caveats)


def exposure(trace: Trace) -> Exposure:
    """Return the failures and the time in use of servers, or of GPUs in a log without servers."""
    return _servers(trace) if {"placements", "machines"} <= trace.tables else _gpus(trace)


def _servers(trace: Trace) -> Exposure:
    rows = incidents(lost_attempts(trace), lost_servers(trace))
    servers = trace.answer("node_failures").df()
    days = float(servers["days_held"].sum())
    gangs = trace.answer("gang_failures").df().rename(columns={"servers": "parts"})
    sizes = trace.answer("machines").df()["gpus"]
    sizes = sizes[sizes > 0].mode()
    attempts = rows.drop_duplicates(["job_id", "attempt"])
    gangs["lost"] = count_by(gangs["parts"], attempts["servers"])
    rate = Rate(int(attempts["begins"].sum()), days)
    gpus = int(sizes.max()) if len(sizes) else 1
    return Exposure("server", gpus, len(servers), rate, gangs)


def _gpus(trace: Trace) -> Exposure:
    lost = lost_attempts(trace)
    gangs = trace.answer("gang_failures_gpus").df().rename(columns={"gpus": "parts"})
    gangs["lost"] = count_by(gangs["parts"], lost["gpus"])
    rate = Rate(len(lost), float((gangs["parts"] * gangs["gang_days"]).sum()))
    return Exposure("GPU", 1, int(gangs["parts"].max()) if len(gangs) else 0, rate, gangs)


def projection(seen: Exposure) -> pd.DataFrame:
    """Return projected and measured mean times to failure by gang size, in powers of two."""
    rows = []
    below, parts = 0, 1
    while parts * seen.gpus <= LARGEST_GPUS or parts == 1:
        ran = seen.gangs[seen.gangs["parts"].between(below + 1, parts)]
        gang_rate = Rate(int(ran["lost"].sum()), float(ran["gang_days"].sum()))
        projected, measured = (
            [DAY_S * days for days in times]
            for times in (seen.rate.mean_time(parts), gang_rate.mean_time())
        )
        attempts = int(ran["attempts"].sum())
        counts = (attempts, gang_rate.exposure, gang_rate.events)
        rows.append((parts, parts * seen.gpus, *projected, *counts, *measured))
        below, parts = parts, 2 * parts
    return pd.DataFrame(rows, columns=_COLUMNS).replace([np.inf, -np.inf], np.nan)


_TIMES = ("mttf_s", "mttf_low_s", "mttf_high_s")
_COLUMNS = [
    *("parts", "gpus", *_TIMES, "attempts", "gang_days", "lost"),
    *("seen_mttf_s", "seen_low_s", "seen_high_s"),
]


def _sentences(seen: Exposure, table: pd.DataFrame, lost: int, expected: float) -> list[str]:
    if table.empty or not seen.rate.exposure > 0:
        return []
    times = []
    for row in table[table["gpus"].isin(_REPORTED_GPUS)].to_dict("records"):
        gang = f"{row['gpus']:,} GPUs"
        if seen.part == "server":
            gang += f" ({count(row['parts'], seen.part)})"
        mean, least, most = (duration(row[t]) for t in _TIMES)
        time = f"{mean} on {gang} (95 % interval {least} to {most})"
        times.append(time if seen.rate.events else f"at least {least} on {gang}")
    sentences = []
    if times:
        observed = f"{number(seen.rate.exposure)} {seen.part}-days"
        none = f"No failure was seen in {observed}. With 95 % confidence the"
        sentences.append(
            f"{'The' if seen.rate.events else none} projected mean time to failure of a gang is "
            f"{', and '.join(times)}."
        )
    if seen.rate.events and expected > 0:
        low, high = (float(scipy.stats.poisson.ppf(q, expected)) for q in (0.025, 0.975))
        chance = "fewer than chance explains" if lost < low else "within chance"
        if lost > high:
            chance = "more than chance explains: large gangs also fail for other reasons"
        sentences.append(
            f"{count(lost, 'attempt')} on several {seen.part}s {'was' if lost == 1 else 'were'} "
            f"lost. The rate of one {seen.part} predicts {number(expected)} ({chance})."
        )
    return sentences


def plot(result: Result) -> Figure:
    """Draw projected mean times to failure with their interval, and measured times of gangs."""
    table = result.table
    fig, [ax] = figures.canvas(height=3.6)
    projected = table[table["mttf_low_s"] > 0]
    if projected.empty:
        return figures.empty(fig, "no gang ran for a known time")
    events = projected["mttf_s"].notna().any()
    top = projected["mttf_high_s"] if events else projected["mttf_low_s"] * 10
    ax.fill_between(
        projected["gpus"], projected["mttf_low_s"], top, color=figures.ACCENT, alpha=0.15
    )
    line = projected["mttf_s"] if events else projected["mttf_low_s"]
    ax.plot(projected["gpus"], line, color=figures.ACCENT)
    middle = len(projected) // 2
    ax.annotate(
        "projected, with 95 % interval" if events else "lower bound, no failure seen",
        (projected["gpus"].iloc[middle], top.iloc[middle]),
        (4, 4),
        textcoords="offset points",
        color=figures.ACCENT,
        fontsize=8.5,
    )
    ran = projected[projected["seen_mttf_s"].notna()]
    if len(ran):
        mean = ran["seen_mttf_s"]
        ends = [mean - ran["seen_low_s"], ran["seen_high_s"] - mean]
        ax.errorbar(ran["gpus"], mean, ends, fmt="o", color=figures.CYCLE[1])
        for row in ran.itertuples():
            ax.annotate(
                f"{row.lost:,}/{row.attempts:,}",
                (row.gpus, row.seen_mttf_s),
                (7, 3),
                textcoords="offset points",
                color=figures.darken(figures.CYCLE[1]),
                fontsize=8,
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
            )
    lowest = min(projected["mttf_low_s"].min(), ran["seen_low_s"].min() if len(ran) else np.inf)
    highest = max(top.max(), ran["seen_high_s"].max() if len(ran) else 0)
    ax.set_xscale("log", base=2)
    figures.time_axis(ax, lowest / 2, highest * 2, axis="y")
    ax.set_xticks(projected["gpus"], [f"{g:,}" for g in projected["gpus"]], fontsize=8)
    ax.set(xlabel="GPUs of the gang", ylabel="mean time to failure")
    figures.title(ax, "mean time to failure: projected, and of gangs that ran (dots: lost/ran)")
    return fig


ANALYSIS = Analysis(
    name="gang_failures",
    question="How long does a gang run until one of its servers fails?",
    needs=("jobs", "attempts", "attempts.end_reason or failures"),
    compute=compute,
    plot=plot,
)
