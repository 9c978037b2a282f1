"""How long a gang runs until a server of it fails, by its size: projected, and as it was seen.

The projection takes failures of servers as independent and as frequent at any age; a shared
switch or a bad week makes gangs fail together.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure

from philly_analysis.analyses.node_failures import (
    DAY_S,
    UNTOLD,
    basis,
    finite,
    incidents,
    lost_attempts,
    tells,
)
from philly_analysis.results import Fact, Rate, Result, count, duration, figures, number
from philly_analysis.trace import Trace

QUESTION = "How long does a gang run until one of its servers fails?"
NEEDS = ("jobs", "attempts", "attempts.end_reason or failures")

LARGEST_GPUS = 16_384
"""Gang size to which the projection goes: what the largest trainings are said to take."""

_SAID_GPUS = (1_024, 16_384)


@dataclass(frozen=True, slots=True)
class _Watched:
    """What fails, at which rate, and how gangs of it fared.

    Attributes
    ----------
    part
        What a gang is made of: ``server``, or ``GPU`` where the log names no servers.
    gpus
        GPUs of one part.
    parts
        Parts that were watched.
    rate
        Failures of parts over the days that they were in use.
    gangs
        By number of parts: attempts, days that they ran, attempts lost.
    """

    part: str
    gpus: int
    parts: int
    rate: Rate
    gangs: pd.DataFrame


def compute(trace: Trace) -> Result:
    """Project the mean time to failure of gangs from that of servers, and set it beside theirs."""
    seen = _servers(trace) if {"placements", "machines"} <= trace.tables else _gpus(trace)
    table = _projection(seen) if tells(trace) else _projection(seen).head(0)
    several = seen.gangs[seen.gangs["parts"] > 1]
    expected = float((several["gang_days"] * several["parts"]).sum()) * seen.rate.per_unit
    lost = int(several["lost"].sum())
    facts = (
        Fact("part", seen.part, "what a gang is made of here"),
        Fact("parts", seen.parts, f"{seen.part}s that were watched"),
        Fact("failures", seen.rate.events, "failures of them"),
        Fact("part_days", seen.rate.exposure, "days that they were in use, added up"),
        *(
            Fact(f"mttf_{row['gpus']}_gpus{end}_s", finite(row[f"mttf{end}_s"]), meaning)
            for row in table[table["gpus"].isin(_SAID_GPUS)].to_dict("records")
            for end, meaning in (
                ("", f"mean time to failure of {row['gpus']:,} GPUs, projected"),
                ("_low", "lower end of its 95 % interval"),
                ("_high", "upper end; none where no failure was seen"),
            )
        ),
        Fact("lost_gangs", lost, f"attempts on several {seen.part}s that were lost"),
        Fact("expected_gangs", expected, f"how many the rate of one {seen.part} lets expect"),
    )
    return Result(
        name="gang_failures",
        table=table,
        facts=facts,
        sentences=tuple(_sentences(seen, table, lost, expected)),
        caveats=(
            "The projection takes failures to be independent and alike: the rates of a gang's "
            f"{seen.part}s add up, so that twice as many run half as long (as in Kokolis et al., "
            "HPCA 2025). What fails a whole rack or network at once, or gangs by their size, is "
            "not in it; beyond the sizes that ran it is extrapolated.",
            basis(trace) if tells(trace) else UNTOLD,
            *(
                ()
                if seen.part == "server"
                else (
                    "The log names no servers: rates are those of one GPU, and attempts that one "
                    "server lost at once count each.",
                )
            ),
        ),
    )


def _servers(trace: Trace) -> _Watched:
    held = trace.answer("held_servers").df()
    rows = incidents(lost_attempts(trace), held)
    days = float(trace.answer("node_failures").df()["days_held"].sum())
    gangs = trace.answer("gang_failures").df().rename(columns={"servers": "parts"})
    sizes = trace.answer("machines").df()["gpus"]
    sizes = sizes[sizes > 0].mode()
    attempts = rows.drop_duplicates(["job_id", "attempt"])
    gangs["lost"] = gangs["parts"].map(attempts.groupby("servers").size()).fillna(0).astype("int64")
    return _Watched(
        part="server",
        gpus=int(sizes.max()) if len(sizes) else 1,
        parts=int(held["machine_id"].nunique()),
        rate=Rate(int(attempts["begins"].sum()), days),
        gangs=gangs,
    )


def _gpus(trace: Trace) -> _Watched:
    lost = lost_attempts(trace)
    gangs = trace.answer("gang_failures_gpus").df().rename(columns={"gpus": "parts"})
    gangs["lost"] = gangs["parts"].map(lost.groupby("gpus").size()).fillna(0).astype("int64")
    return _Watched(
        part="GPU",
        gpus=1,
        parts=int(gangs["parts"].max()) if len(gangs) else 0,
        rate=Rate(len(lost), float((gangs["parts"] * gangs["gang_days"]).sum())),
        gangs=gangs,
    )


def _projection(seen: _Watched) -> pd.DataFrame:
    """Return the mean time to failure by gang size, doubling; and that of the gangs up to it."""
    rows = []
    below, parts = 0, 1
    while parts * seen.gpus <= LARGEST_GPUS or parts == 1:
        mean, low, high = (DAY_S * t for t in seen.rate.mean_time(parts))
        ran = seen.gangs[seen.gangs["parts"].between(below + 1, parts)]
        own = Rate(int(ran["lost"].sum()), float(ran["gang_days"].sum()))
        own_mean, own_low, own_high = (DAY_S * t for t in own.mean_time())
        fared = (int(ran["attempts"].sum()), own.exposure, own.events)
        rows.append(
            (parts, parts * seen.gpus, mean, low, high, *fared, own_mean, own_low, own_high)
        )
        below, parts = parts, 2 * parts
    columns = ["parts", "gpus", "mttf_s", "mttf_low_s", "mttf_high_s", "attempts", "gang_days"]
    columns += ["lost", "seen_mttf_s", "seen_low_s", "seen_high_s"]
    return pd.DataFrame(rows, columns=columns).replace([np.inf, -np.inf], np.nan)


def _sentences(seen: _Watched, table: pd.DataFrame, lost: int, expected: float) -> list[str]:
    if table.empty or not seen.rate.exposure > 0:
        return []
    times = []
    for row in table[table["gpus"].isin(_SAID_GPUS)].to_dict("records"):
        on = f" ({count(row['parts'], seen.part)})" if seen.part == "server" else ""
        times.append(
            f"{row['gpus']:,} GPUs{on} for {duration(row['mttf_s'])} "
            f"(95 % interval {duration(row['mttf_low_s'])} to {duration(row['mttf_high_s'])})"
            if seen.rate.events
            else f"{row['gpus']:,} GPUs{on} for at least {duration(row['mttf_low_s'])}"
        )
    said = []
    if times and seen.rate.events:
        said = [
            f"Until a {seen.part} of it fails, a gang would run on average on "
            f"{', on '.join(times)}."
        ]
    elif times:
        said = [
            f"No failure was seen in {number(seen.rate.exposure)} {seen.part}-days, so with 95 % "
            f"confidence a gang would run on average on {', on '.join(times)}."
        ]
    if seen.rate.events and expected > 0:
        low, high = (float(scipy.stats.poisson.ppf(q, expected)) for q in (0.025, 0.975))
        said.append(
            f"Attempts on several {seen.part}s were lost {count(lost, 'time')}, where the rate "
            f"of one {seen.part} lets expect {number(expected)} "
            + (
                "(as chance would have it)."
                if low <= lost <= high
                else "(more than chance would have it: large gangs fail for other reasons too)."
                if lost > high
                else "(fewer than chance would have it)."
            )
        )
    return said


def plot(result: Result) -> Figure:
    """Draw the projection with its interval over gang sizes, and what gangs of each size showed."""
    table = result.table
    fig, [ax] = figures.canvas(height=3.6)
    known = table[table["mttf_low_s"] > 0]
    if known.empty:
        return figures.empty(fig, "no gang ran for a known time")
    events = known["mttf_s"].notna().any()
    top = known["mttf_high_s"] if events else known["mttf_low_s"] * 10
    ax.fill_between(known["gpus"], known["mttf_low_s"], top, color=figures.ACCENT, alpha=0.15)
    line = known["mttf_s"] if events else known["mttf_low_s"]
    ax.plot(known["gpus"], line, color=figures.ACCENT)
    middle = len(known) // 2
    ax.annotate(
        "projected, with its 95 % interval" if events else "no failure seen: at least so long",
        (known["gpus"].iloc[middle], top.iloc[middle]),
        (4, 4),
        textcoords="offset points",
        color=figures.ACCENT,
        fontsize=8.5,
    )
    ran = known[known["seen_mttf_s"].notna()]
    if len(ran):
        beyond = ran["seen_high_s"] - ran["seen_mttf_s"]
        below = ran["seen_mttf_s"] - ran["seen_low_s"]
        ax.errorbar(
            ran["gpus"], ran["seen_mttf_s"], [below, beyond], fmt="o", color=figures.CYCLE[1]
        )
        for row in ran.itertuples():
            ax.annotate(
                f"{row.lost:,}/{row.attempts:,}",
                (row.gpus, row.seen_mttf_s),
                (7, 3),
                textcoords="offset points",
                color=figures.legible(figures.CYCLE[1]),
                fontsize=8,
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
            )
    lowest = min(known["mttf_low_s"].min(), ran["seen_low_s"].min() if len(ran) else np.inf)
    highest = max(top.max(), ran["seen_high_s"].max() if len(ran) else 0)
    ax.set_xscale("log", base=2)
    figures.time_axis(ax, lowest / 2, highest * 2, axis="y")
    ax.set_xticks(known["gpus"], [f"{g:,}" for g in known["gpus"]], fontsize=8)
    ax.set(xlabel="GPUs of the gang", ylabel="mean time to failure")
    figures.title(ax, "until a gang is lost: projected, and as seen (dots: lost/ran)")
    return fig
