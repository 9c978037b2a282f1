"""Compare published gains on the jobs that papers assume with gains on the jobs of clusters."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from philly_analysis.experiments.experiment import CAVEATS, Row, trials
from philly_analysis.experiments.headlines import GPUS, HEADLINES, MEASURES, Headline, outcomes
from philly_analysis.experiments.job_sources import JobSource
from philly_analysis.results import Fact, Result, count, paired
from philly_analysis.results.figures import CYCLE, INK, MUTED, SOFT, canvas, darken

QUESTION = "Do published gains survive on the jobs of real clusters?"

REFERENCE = "literature"
"""The generator that papers assume: the reference of all comparisons."""

MODELS = (REFERENCE, "philly", "itp-04", "itp-07")
"""Default sources of jobs: the generator, Philly, and two other clusters."""

Floats = NDArray[np.float64]

FEWEST_MONTHS = 3
"""Minimum number of months for an interval."""

SURVIVES, GROWS, SHRINKS, TURNS = "survives", "survives, larger", "shrinks", "turns"
UNSURE, BASELINE = "cannot be said", "reference"
"""Verdicts on a gain; the generator's own is the reference."""

_COUNTED = {
    SURVIVES: "survive",
    GROWS: "survive and are larger",
    SHRINKS: "shrink",
    TURNS: "turn",
    UNSURE: "cannot be said",
}

COLORS = {
    SURVIVES: CYCLE[2],
    GROWS: CYCLE[0],
    SHRINKS: CYCLE[1],
    TURNS: CYCLE[4],
    UNSURE: MUTED,
    BASELINE: INK,
}
"""Colour of each verdict."""

_PRINTED = CYCLE[3]
_LEFT, _RIGHT = -0.01, 1.03
_TICKS = (0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class MonthSweep:
    """Seeds of the months, and the load that every month offers."""

    load: float = 0.9
    seeds: tuple[int, ...] = tuple(range(1, 13))


def compute(
    sources: Mapping[str, tuple[JobSource, MonthSweep]], *, executor: Executor | None = None
) -> Result:
    """Simulate every arm on the months of each source of jobs.

    Parameters
    ----------
    sources
        By name; the first is the reference.
    executor
        Runs the months; None: this process. Results are equal.

    Returns
    -------
    Result
        Table: setting (source of jobs), load, arm, seed, jobs, mean_jct_h, compute_pct and
        memory_pct (of AntMan's arms). :func:`verdicts` summarises it.
    """
    parts = [
        trials(partial(_of_seed, name, jobs, sweep.load), sweep.seeds, MEASURES, executor)
        for name, (jobs, sweep) in sources.items()
    ]
    return result_of(pd.concat(parts, ignore_index=True))


def _of_seed(name: str, jobs: JobSource, load: float, seed: int) -> list[Row]:
    month = jobs.month(GPUS, load, seed)
    return [(name, load, arm, seed, *found) for arm, found in outcomes(month, seed).items()]


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the verdict on each headline for each source of jobs.

    Parameters
    ----------
    table
        Of :func:`compute`.

    Returns
    -------
    pandas.DataFrame
        Columns headline, says, jobs_of, months, gain (1: none), low, high (95 % interval over
        months), p5, p95 (quantiles of single months), better_months (of them above 1), verdict,
        printed (gain; null: not printed), words, source.
    """
    reference, *_ = dict.fromkeys(table["setting"])
    rows = []
    for name, headline in HEADLINES.items():
        logs = {setting: _logs(own, headline) for setting, own in table.groupby("setting")}
        for setting in dict.fromkeys(table["setting"]):
            own = logs[setting]
            mean = paired(own, np.zeros(own.size))
            if setting == reference:
                verdict = BASELINE
            else:
                verdict = _verdict(mean.low, mean.high, *_difference(own, logs[reference]))
            rows.append(
                (
                    *(name, headline.phrase, setting, own.size),
                    *np.exp([mean.effect, mean.low, mean.high, *np.quantile(own, [0.05, 0.95])]),
                    *(int((own > 0).sum()), verdict),
                    *(headline.printed, headline.words, headline.source),
                )
            )
    columns = ["headline", "says", "jobs_of", "months", "gain", "low", "high", "p5", "p95"]
    columns += ["better_months", "verdict", "printed", "words", "source"]
    return pd.DataFrame(rows, columns=columns)


def _logs(own: pd.DataFrame, headline: Headline) -> Floats:
    """Return the logarithm of a headline's gain for each month."""
    wide = own.pivot_table(index="seed", columns="arm", values=headline.measure)
    ratio = wide[headline.arm] / wide[headline.against]
    return np.asarray(np.log((ratio if headline.more else 1 / ratio).to_numpy(float)))


def _difference(logs: Floats, reference: Floats) -> tuple[float, float]:
    """Return Welch's 95 % interval of the difference of two means."""
    if min(logs.size, reference.size) < FEWEST_MONTHS:
        return np.nan, np.nan
    errors = np.array([x.var(ddof=1) / x.size for x in (logs, reference)])
    difference = float(logs.mean() - reference.mean())
    if not errors.sum() > 0:
        return difference, difference
    freedom = errors.sum() ** 2 / (errors**2 / [logs.size - 1, reference.size - 1]).sum()
    half = float(stats.t.ppf(0.975, freedom) * np.sqrt(errors.sum()))
    return difference - half, difference + half


def _verdict(low: float, high: float, less: float, more: float) -> str:
    """Return the verdict from the intervals of a gain and of its difference to the reference."""
    if high < 0:
        return TURNS
    if not low > 0:
        return UNSURE
    if more < 0:
        return SHRINKS
    return GROWS if less > 0 else SURVIVES


def result_of(table: pd.DataFrame) -> Result:
    """Return a table of months with its facts and sentences."""
    found = verdicts(table)
    others = found[found["verdict"] != BASELINE]
    months = found["months"]
    load = float(table["load"].iloc[0])
    facts = tuple(
        Fact(
            f"{_slug(row['headline'])}_{_slug(row['jobs_of'])}_gain",
            row["gain"],
            f"{row['headline']} on the jobs of {_source(row)}: {row['verdict']}",
        )
        for row in found.to_dict("records")
    )
    counted = others["verdict"].value_counts(sort=False)
    counts = (
        f"Of {found['headline'].nunique()} headlines on the jobs of "
        f"{count(others['jobs_of'].nunique(), 'cluster')}, {len(others)} cases: "
        + ", ".join(f"{counted[v]} {words}" for v, words in _COUNTED.items() if v in counted)
        + f" ({GPUS} GPUs at a load of {load:g}, {_range(months)} months of each)."
    )
    return Result(
        name="conclusions",
        table=table,
        facts=facts,
        sentences=(counts, *map(_sentence, _by_headline(found))),
        caveats=CAVEATS["conclusions"],
        synthetic=True,
        question=QUESTION,
    )


def _range(months: "pd.Series[int]") -> str:
    low, high = int(months.min()), int(months.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _slug(text: str) -> str:
    return "_".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def _by_headline(found: pd.DataFrame) -> Iterator[list[dict[Hashable, Any]]]:
    for _, rows in found.groupby("headline", sort=False):
        yield rows.to_dict("records")


def _sentence(rows: Sequence[Mapping[Hashable, Any]]) -> str:
    """Return the verdicts on a headline by source of jobs."""
    base, *others = rows
    of_verdict: dict[str, list[str]] = {}
    for row in others:
        source = f"{_source(row)} ({_figures(row['gain'])})"
        of_verdict.setdefault(row["verdict"], []).append(source)
    each = "; ".join(f"{verdict} on {', '.join(on)}" for verdict, on in of_verdict.items())
    return (
        f"{base['headline']}: {f'{each}; ' if each else ''}{_figures(base['gain'])} times on "
        f"{_source(base)}'s jobs. {_printed(base)}."
    )


def _printed(row: Mapping[Hashable, Any]) -> str:
    """Return the printed gain and its place."""
    words = str(row["words"])
    return f"Printed: {words}, {row['source']}" if row["source"] else words.capitalize()


def _source(row: Mapping[Hashable, Any]) -> str:
    """Return the name of a source of jobs."""
    return "the generator" if row["jobs_of"] == REFERENCE else str(row["jobs_of"])


def _times(row: Mapping[Hashable, Any]) -> str:
    gain, low, high = (_figures(float(row[c])) for c in ("gain", "low", "high"))
    return f"{gain} times" if row["low"] != row["low"] else f"{gain} times ({low} to {high})"


def _figures(gain: float) -> str:
    return f"{gain:.2f}" if gain < 10 else f"{gain:.0f}"


def verdict_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts as text: a headline per row, a source of jobs per column."""
    rows = []
    for own in _by_headline(found):
        first = own[0]
        cells = {"headline": f"{first['headline']}: {first['says']}", "printed": _printed(first)}
        for row in own:
            verdict = "" if row["verdict"] == BASELINE else f": {row['verdict']}"
            cells[_source(row)] = f"{_times(row)}{verdict}"
        rows.append(cells)
    return pd.DataFrame(rows)


def plot(result: Result) -> Figure:
    """Draw each headline for each source of jobs, its verdict and the printed gain."""
    found = verdicts(result.table)
    headlines = found["headline"].nunique()
    height = 0.21 * (len(found) + 1.4 * headlines) + 0.9
    fig, [ax] = canvas(width=11.5, height=height)
    # text on both sides of the panel replaces its labels
    fig.set_layout_engine("none")
    ax.set_position((0.152, 0.75 / height, 0.565, 1 - 0.8 / height))
    at = 0.0
    for headline, rows in found.groupby("headline", sort=False):
        first = rows.iloc[0]
        _text(ax, _LEFT, at, str(headline), weight="bold", ha="right")
        _text(ax, 0.005, at, str(first["says"]), color=SOFT)
        printed = first["source"] != ""
        words = f"printed: {first['words']}" if printed else str(first["words"])
        _text(ax, _RIGHT, at, words, color=_PRINTED if printed else SOFT)
        if printed:
            between = (at + 0.5, at + len(rows) + 0.5)
            ax.plot([first["printed"]] * 2, between, color=_PRINTED, ls=":", lw=1.6)
        for i, row in enumerate(rows.to_dict("records"), 1):
            _row(ax, at + i, row)
        at += len(rows) + 1.4
    ax.axvline(1, color=INK, lw=0.9)
    ax.set(xscale="log", ylim=(at - 0.7, -0.7), yticks=[])
    low = float(found["p5"].min())
    high = float(np.nanmax(found[["p95", "high", "printed"]].to_numpy(float)))
    ax.set_xlim(min(low, 0.9) / 1.1, high * 1.1)
    ticks = [tick for tick in _TICKS if min(low, 0.9) <= tick <= high * 1.1]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(
        "times better than without it; 1: no gain\n"
        "dot and bar: mean over months, 95 %; line: nine of ten months; dotted: as printed"
    )
    return fig


def _row(ax: Axes, at: float, row: Mapping[Hashable, Any]) -> None:
    """Draw one headline for one source of jobs."""
    verdict = str(row["verdict"])
    color = COLORS[verdict]
    ax.plot([row["p5"], row["p95"]], [at, at], color=color, lw=0.9)
    bar = [row["low"], row["high"]]
    ax.plot(bar, [at, at], color=color, lw=4.5, alpha=0.45, solid_capstyle="butt")
    ax.plot([row["gain"]], [at], color=color, marker="o", ms=4.5)
    _text(ax, _LEFT, at, _source(row), ha="right")
    _text(ax, _RIGHT, at, f"{_times(row).replace(' times', '×')}  {verdict}", color=darken(color))


def _text(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    across = ax.get_yaxis_transform()
    behind = {"fc": "white", "ec": "none", "pad": 0.6}
    ax.text(x, y, text, transform=across, va="center", fontsize=8.5, bbox=behind, **style)
