"""Estimate how often hardware ends runs, and which share of a run's time is progress.

Rates have exact Poisson intervals. The effective training time ratio (ETTR) assumes times of
checkpoints and restarts, since logs do not record them.
"""

from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses import node_failures
from philly_analysis.analyses.gang_failures import Exposure, exposure, projection
from philly_analysis.analyses.node_failures import (
    basis,
    finite,
)
from philly_analysis.analyses.shared.ended_runs import (
    ENDS,
    HARDWARE,
    INFRASTRUCTURE,
    ended_attempts,
    failures_of,
    observes_failures,
    rates_row,
    time_in_use,
)
from philly_analysis.analyses.shared.failure_rate_panels import draw_causes, draw_ratios
from philly_analysis.analyses.shared.training_ratio import (
    Recovery,
    optimum_interval,
    training_ratio,
)
from philly_analysis.results import (
    Fact,
    Result,
    count,
    dispersion,
    duration,
    figures,
    interval_facts,
    number,
    share,
)
from philly_analysis.trace import Analysis, Trace

_ASSUMED = Recovery()
_REPORTED_GPUS = (8, 1_024, 16_384)
"""Gang sizes with facts: one server, and the sizes that :mod:`gang_failures` reports."""

_SIGNIFICANT = 0.01
_UNOBSERVED = (
    "The log has no server failure, and no evidence that it would record one: no output of failed "
    "attempts, and no scheduler with an end reason for server failures."
)


def compute(trace: Trace, recovery: Recovery = _ASSUMED, wait_s: float | None = None) -> Result:
    """Estimate failure rates by cause and gang size, and the effective training time ratio.

    Parameters
    ----------
    recovery
        Times of checkpoints and restarts, by default :class:`Recovery`'s.
    wait_s
        Seconds that a run waits after a failure. By default the median recorded wait of gangs of
        the run's size.
    """
    seen = exposure(trace)
    ended, used = ended_attempts(trace, seen), time_in_use(trace, seen)
    causes = _by_cause(trace, seen, failures_of(trace, seen, ended, ["tier"]), used)
    hardware = ended[ended["tier"] == "hardware"]
    sizes = failures_of(trace, seen, hardware, ["parts"])
    by_gang = _by_gang(trace, seen, sizes, used, recovery, wait_s)
    table = pd.concat([causes, by_gang], ignore_index=True).astype({"gpus": "float64"})
    observed = observes_failures(trace)
    if not (observed and seen.rate.exposure > 0):
        table = table.head(0)
    gangs = table[table["gpus"].notna()]
    by_size = dispersion(gangs["failures"], gangs["part_days"])
    by_server = _by_server(trace, seen) if observed else (np.nan, np.nan)
    times = {"checkpoint": "work between checkpoints", "write": "time to write a checkpoint",
             "restart": "time to restart"}  # fmt: skip
    facts = (
        Fact("part", seen.part, "part of a gang"),
        *_rate_facts(table, seen.part),
        *(Fact(f"{of}_s", getattr(recovery, f"{of}_s"), f"assumed {text}")
          for of, text in times.items()),
        *_ratio_facts(gangs),
        *_unevenness_facts("server", by_server, "servers"),
        *_unevenness_facts("size", by_size, "gang sizes"),
    )  # fmt: skip
    return Result(
        "reliability",
        table,
        facts,
        _sentences(table, seen.part, recovery, {"servers": by_server, "gang sizes": by_size}),
        ((basis(trace), *_assumptions(recovery, wait_s)) if observed else ()),
    )


def _assumptions(recovery: Recovery, wait_s: float | None) -> tuple[str, str]:
    """Return what the training time ratio assumes, as sentences."""
    origin = "Assumed" if recovery == _ASSUMED else "Given"
    source = " (Kokolis et al., HPCA 2025)" if recovery == _ASSUMED else ""
    wait = (
        "as long as the median recorded wait of gangs of that size"
        if wait_s is None
        else duration(wait_s)
    )
    return (
        f"The log does not record checkpoints. {origin} are a checkpoint after "
        f"{duration(recovery.checkpoint_s)} of work, {duration(recovery.write_s)} to write a "
        f"checkpoint and {duration(recovery.restart_s)} to restart{source}.",
        "The effective training time ratio assumes independent failures at a constant rate. "
        "The ratio counts failures of hardware only. The ratio with waits assumes that a run "
        f"waits after each failure {wait}.",
    )


def _by_cause(
    trace: Trace, seen: Exposure, failures: pd.DataFrame, used: pd.DataFrame
) -> pd.DataFrame:
    """Return failures and their rates by tier and cause, causes that never occurred included."""
    causes = {"hardware": HARDWARE, "infrastructure": INFRASTRUCTURE}
    if "failures" not in trace.tables:
        causes = {"hardware": ("lost server",)}
    gpu_days = float(used["gpu_days"].sum())
    rows = []
    for tier, names in causes.items():
        of_tier = failures[failures["tier"] == tier]
        others = sorted(set(of_tier["cause"]) - set(names))
        for cause in ("all", *names, *others):
            n = len(of_tier) if cause == "all" else int((of_tier["cause"] == cause).sum())
            rates = rates_row(n, seen.rate.exposure, gpu_days)
            rows.append({"tier": tier, "cause": cause, "gpus": None, **rates})
    return pd.DataFrame(rows)


def _by_gang(
    trace: Trace,
    seen: Exposure,
    failures: pd.DataFrame,
    used: pd.DataFrame,
    recovery: Recovery,
    wait_s: float | None,
) -> pd.DataFrame:
    """Return hardware failures, times to failure and training time ratios by gang size."""
    table = projection(seen)
    rows = []
    below = 0
    for parts in table["parts"]:
        size = used["parts"].between(below + 1, parts)
        n = int(failures["parts"].between(below + 1, parts).sum())
        sums = used.loc[size, ["part_days", "gpu_days"]].sum()
        rates = rates_row(n, float(sums["part_days"]), float(sums["gpu_days"]))
        rows.append({"tier": "hardware", "cause": "all", **rates})
        below = parts
    waits_s = _median_waits(trace, table["gpus"]) if wait_s is None else wait_s
    table = pd.concat([pd.DataFrame(rows).assign(wait_s=waits_s), table], axis=1)
    for end in ENDS:
        table[f"ratio{end}"] = training_ratio(table[f"mttf{end}_s"], recovery)
    if not seen.rate.events:
        table["ratio_high"] = training_ratio(np.full(len(table), np.inf), recovery)
    table["ratio_with_wait"] = training_ratio(table["mttf_s"], recovery, table["wait_s"])
    table["optimum_s"] = optimum_interval(table["mttf_s"], recovery.write_s)
    table["optimum_ratio"] = [
        float(training_ratio(m, Recovery(s, recovery.write_s, recovery.restart_s)))
        for m, s in zip(table["mttf_s"], table["optimum_s"], strict=True)
    ]
    return table


def _median_waits(trace: Trace, sizes: "pd.Series[int]") -> list[float]:
    """Return the median waits of gangs of up to each size, larger than the size before."""
    medians = (
        f"median(wait_s) filter (gpus > {below} and gpus <= {gpus})"
        for below, gpus in pairwise((0, *sizes))
    )
    [waits_s] = trace.answer("trusted_waits").aggregate(", ".join(medians)).fetchall()
    return [np.nan if wait_s is None else wait_s for wait_s in waits_s]


def _by_server(trace: Trace, seen: Exposure) -> tuple[float, float]:
    """Return the unevenness of failures between servers, and its p-value."""
    if seen.part != "server":
        return np.nan, np.nan
    servers = node_failures.compute(trace).table
    return dispersion(servers["failures"], servers["days_held"])


def _rate_facts(table: pd.DataFrame, part: str) -> tuple[Fact, ...]:
    """Return the failures of each tier, and their rates, as facts."""
    facts: list[Fact] = []
    totals = table[(table["cause"] == "all") & table["gpus"].isna()]
    for row in totals.to_dict("records"):
        tier = str(row["tier"])
        facts.append(Fact(f"{tier}_failures", row["failures"], f"failures of {tier}"))
        for of, name in (("part", part), ("gpu", "GPU")):
            values = [row[f"per_1000_{of}_days{end}"] for end in ENDS]
            facts += interval_facts(f"{tier}_per_1000_{of}_days{{}}", values,
                                    f"failures of {tier} in 1,000 {name}-days")  # fmt: skip
    return tuple(facts)


def _ratio_facts(gangs: pd.DataFrame) -> tuple[Fact, ...]:
    """Return the training time ratios of some gang sizes, and their best intervals, as facts."""
    facts: list[Fact] = []
    for row in gangs[gangs["gpus"].isin(_REPORTED_GPUS)].to_dict("records"):
        gpus = int(row["gpus"])
        values = [finite(100 * row[f"ratio{end}"]) for end in ENDS]
        text = f"expected effective training time ratio on {gpus:,} GPUs"
        facts += interval_facts(f"ratio_{gpus}_gpus{{}}_pct", values, text)
        best = finite(row["optimum_s"])
        facts.append(Fact(f"optimum_{gpus}_gpus_s", best, f"best work interval on {gpus:,} GPUs"))
    return tuple(facts)


def _unevenness_facts(stem: str, test: tuple[float, float], places: str) -> tuple[Fact, Fact]:
    uneven, p = test
    return (
        Fact(
            f"{stem}_unevenness",
            uneven,
            f"variance of failures between {places}, divided by the variance of chance",
        ),
        Fact(f"{stem}_unevenness_p", p, f"p-value: {places} of equal rates fail as unevenly"),
    )


def _sentences(
    table: pd.DataFrame, part: str, recovery: Recovery, tests: dict[str, tuple[float, float]]
) -> list[str]:
    sentences = [
        _rate_sentence(row, part)
        for row in table[(table["cause"] == "all") & table["gpus"].isna()].to_dict("records")
    ]
    gangs = table[table["gpus"].notna()]
    for row in gangs[gangs["gpus"].isin(_REPORTED_GPUS[1:])].to_dict("records"):
        low, high = share(row["ratio_low"]), share(row["ratio_high"])
        run = f"A run on {row['gpus']:,.0f} GPUs with a checkpoint after each "
        run += f"{duration(recovery.checkpoint_s)} of work"
        if np.isnan(row["ratio"]):
            sentences.append(f"{run} would make progress in at least {low} of its time.")
            continue
        sentences.append(
            f"{run} would make progress in {share(row['ratio'])} of its time (95 % interval {low} "
            f"to {high}), and in {share(row['optimum_ratio'])} with the best interval of "
            f"{duration(row['optimum_s'])}."
        )
    for places, (uneven, p) in tests.items():
        if np.isfinite(p):
            verdict = "differ" if p < _SIGNIFICANT else "may differ" if p < 0.05 else (
                "do not differ significantly"
            )  # fmt: skip
            sentences.append(
                f"Failure rates per {part}-day {verdict} between {places} (variance {uneven:.1f} "
                f"times the variance of equal rates, p = {p:.2g})."
            )
    return sentences


def _rate_sentence(row: Mapping[Hashable, Any], part: str) -> str:
    tier, days = row["tier"], f"{number(row['part_days'])} {part}-days"
    per, low, high = (number(row[f"per_1000_part_days{end}"]) for end in ENDS)
    if not row["failures"]:
        return (
            f"No failure of {tier} ended a run in {days} of use. With 95 % confidence the rate is "
            f"at most {high} per 1,000 {part}-days."
        )
    return (
        f"Failures of {tier} ended runs {count(int(row['failures']), 'time')} in {days} of use: "
        f"{per} per 1,000 {part}-days (95 % interval {low} to {high})."
    )


def plot(result: Result) -> Figure:
    """Draw failure rates by cause, and the training time ratio by gang size."""
    table = result.table
    fig, [causes_ax, ratios_ax] = figures.canvas(2, width=9.6, height=3.4)
    if table.empty:
        return figures.empty(fig, "no record of server failures")
    draw_causes(causes_ax, table[table["gpus"].isna()], str(result.fact("part")))
    draw_ratios(ratios_ax, table[table["gpus"].notna()])
    return fig


ANALYSIS = Analysis(
    name="reliability",
    question="How often does hardware end runs, and how much of a run's time is progress?",
    needs=("jobs", "attempts", "attempts.end_reason or failures"),
    compute=compute,
    plot=plot,
    absent=_UNOBSERVED,
)
