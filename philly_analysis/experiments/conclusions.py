"""Does the conclusion move? Published gains under the jobs that papers assume, and under others."""

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

from philly_analysis.experiments.effects import Row, trials
from philly_analysis.experiments.headlines import GPUS, HEADLINES, MEASURES, Headline, outcomes
from philly_analysis.experiments.workloads import Jobs
from philly_analysis.results import Fact, Result, count, paired
from philly_analysis.results.figures import CYCLE, INK, MUTED, SOFT, canvas, legible

QUESTION = "Do published gains survive on the jobs of real clusters?"

REFERENCE = "literature"
"""The generator that papers assume: what the others are held against."""

MODELS = (REFERENCE, "philly", "itp-04", "itp-07")
"""Whose jobs are taken unless told: the generator's, Philly's, and those of two other clusters."""

Floats = NDArray[np.float64]

FEWEST_MONTHS = 3
"""Months from which on there is an interval."""

SURVIVES, GROWS, SHRINKS, TURNS = "survives", "survives, larger", "shrinks", "turns"
UNSURE, HELD_AGAINST = "cannot be said", "reference"
"""What becomes of a gain; of the generator, that others are held against it."""

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
    HELD_AGAINST: INK,
}
"""Colour of each verdict."""

_PRINTED = CYCLE[3]
_LEFT, _RIGHT = -0.01, 1.03
_TICKS = (0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)

MODELLED: tuple[str, ...] = (
    f"{GPUS} GPUs: 16 servers of 8 GPUs, 24 CPUs and 500 GB, empty as the month begins. A month is "
    "28 days of jobs, gangs as drawn; larger ones than the cluster are not drawn. All its jobs "
    "count, whenever they end. Every arm of every system runs the same jobs.",
    "Offered load is what the jobs ask for over what the cluster has from the first submission to "
    "the last, and is the same in all months of all models: their rate of arrivals is conditioned "
    "on it.",
    "A gain is the ratio of the two arms, so that above 1 is better; over months it is the "
    "geometric mean, its interval Student's (95 %) of the logarithms. Each month of a model is "
    "another month that might have been; the generator's differ by chance alone.",
    "The rule. turns: the whole interval lies below 1. cannot be said: 1 lies in it. Else the "
    "interval of the difference of logarithms to the literature's generator (Welch's, 95 %) says: "
    "shrinks, when it lies below 0; survives, larger, when above; survives, when 0 lies in it.",
    "What the papers printed are best cases (“up to”) of settings that are known in part only, "
    "so that gains are not held against them but against the same simulation of the generator's "
    "jobs. Tiresias' 5.5 times are against a manager on YARN, on a cluster of 60 GPUs and in "
    "simulation.",
    "What Synergy, Amoeba and AntMan assume of jobs beside their gangs and times (models, their "
    "sensitivity and scaling, how busy they keep GPUs) is as in their own experiments, which move "
    "each assumption: philly experiment synergy amoeba antman.",
    "A queue that blocks waits for a gang to fit while GPUs idle; real gangs are larger than the "
    "generator's, so that much of what is gained over first come, first served is gained by "
    "letting smaller gangs pass. The last two rows are without that.",
    "Under first come, first served months of models wait about as long as the real windows that "
    "they were fitted to, but Philly's longer (data/waits.py), so that what is gained over it may "
    "be less on Philly's own jobs.",
    "It takes eight CPU minutes with the models taken by default (2026-11-22); --jobs divides "
    "them, --seeds asks for more or fewer months, --model for other clusters.",
    "Not modelled: locality, quotas, retries' own waits, failures, and users who submit less when "
    "they wait.",
)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied: the months' seeds; and the load that all months offer."""

    load: float = 0.9
    seeds: tuple[int, ...] = tuple(range(1, 13))


def compute(laws: Mapping[str, tuple[Jobs, Sweep]], *, executor: Executor | None = None) -> Result:
    """Simulate every arm on the months of each law.

    Parameters
    ----------
    laws
        By name; the first is what the others are held against.
    executor
        Where the months are run; None: here. The outcome is the same.

    Returns
    -------
    Result
        Table: setting (whose jobs), load, arm, seed, jobs, mean_jct_h, compute_pct and memory_pct
        (of AntMan's arms). :func:`verdicts` says what it comes to.
    """
    parts = [
        trials(partial(_of_seed, name, law, sweep.load), sweep.seeds, MEASURES, executor)
        for name, (law, sweep) in laws.items()
    ]
    return result_of(pd.concat(parts, ignore_index=True))


def _of_seed(name: str, law: Jobs, load: float, seed: int) -> list[Row]:
    month = law.month(GPUS, load, seed)
    return [(name, load, arm, seed, *found) for arm, found in outcomes(month, seed).items()]


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Say of each headline on each law's jobs what becomes of it.

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
                verdict = HELD_AGAINST
            else:
                verdict = _verdict(mean.low, mean.high, *_difference(own, logs[reference]))
            rows.append(
                (
                    *(name, headline.says, setting, own.size),
                    *np.exp([mean.effect, mean.low, mean.high, *np.quantile(own, [0.05, 0.95])]),
                    *(int((own > 0).sum()), verdict),
                    *(headline.printed, headline.words, headline.source),
                )
            )
    columns = ["headline", "says", "jobs_of", "months", "gain", "low", "high", "p5", "p95"]
    columns += ["better_months", "verdict", "printed", "words", "source"]
    return pd.DataFrame(rows, columns=columns)


def _logs(own: pd.DataFrame, headline: Headline) -> Floats:
    """Return the logarithm of a headline's gain, month by month."""
    wide = own.pivot_table(index="seed", columns="arm", values=headline.measure)
    ratio = wide[headline.arm] / wide[headline.against]
    return np.asarray(np.log((ratio if headline.more else 1 / ratio).to_numpy(float)))


def _difference(logs: Floats, reference: Floats) -> tuple[float, float]:
    """Return Welch's 95 % interval of the difference of two means."""
    if min(logs.size, reference.size) < FEWEST_MONTHS:
        return np.nan, np.nan
    errors = np.array([x.var(ddof=1) / x.size for x in (logs, reference)])
    apart = float(logs.mean() - reference.mean())
    if not errors.sum() > 0:
        return apart, apart
    freedom = errors.sum() ** 2 / (errors**2 / [logs.size - 1, reference.size - 1]).sum()
    half = float(stats.t.ppf(0.975, freedom) * np.sqrt(errors.sum()))
    return apart - half, apart + half


def _verdict(low: float, high: float, less: float, more: float) -> str:
    """Return the verdict on a gain's interval, and on that of its difference to the reference."""
    if high < 0:
        return TURNS
    if not low > 0:
        return UNSURE
    if more < 0:
        return SHRINKS
    return GROWS if less > 0 else SURVIVES


def result_of(table: pd.DataFrame) -> Result:
    """Return what the months show, in facts and sentences."""
    found = verdicts(table)
    others = found[found["verdict"] != HELD_AGAINST]
    months = found["months"]
    load = float(table["load"].iloc[0])
    facts = tuple(
        Fact(
            f"{_slug(row['headline'])}_{_slug(row['jobs_of'])}_gain",
            row["gain"],
            f"{row['headline']} on the jobs of {_whose(row)}: {row['verdict']}",
        )
        for row in found.to_dict("records")
    )
    counted = others["verdict"].value_counts(sort=False)
    said = (
        f"Of {found['headline'].nunique()} headlines on the jobs of "
        f"{count(others['jobs_of'].nunique(), 'cluster')}, {len(others)} cases: "
        + ", ".join(f"{counted[v]} {words}" for v, words in _COUNTED.items() if v in counted)
        + f" ({GPUS} GPUs at a load of {load:g}, {_range(months)} months of each)."
    )
    return Result(
        name="conclusions",
        table=table,
        facts=facts,
        sentences=(said, *map(_sentence, _by_headline(found))),
        caveats=MODELLED,
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
    """Say what becomes of a headline on whose jobs, and from what."""
    base, *others = rows
    of_verdict: dict[str, list[str]] = {}
    for row in others:
        said = f"{_whose(row)} ({_figures(row['gain'])})"
        of_verdict.setdefault(row["verdict"], []).append(said)
    each = "; ".join(f"{verdict} on {', '.join(on)}" for verdict, on in of_verdict.items())
    return (
        f"{base['headline']}: {f'{each}; ' if each else ''}{_figures(base['gain'])} times on "
        f"{_whose(base)}'s jobs. {_printed(base)}."
    )


def _printed(row: Mapping[Hashable, Any]) -> str:
    """Say what was printed, and where."""
    words = str(row["words"])
    return f"Printed: {words}, {row['source']}" if row["source"] else words.capitalize()


def _whose(row: Mapping[Hashable, Any]) -> str:
    """Name whose jobs they are."""
    return "the generator" if row["jobs_of"] == REFERENCE else str(row["jobs_of"])


def _times(row: Mapping[Hashable, Any]) -> str:
    gain, low, high = (_figures(float(row[c])) for c in ("gain", "low", "high"))
    return f"{gain} times" if row["low"] != row["low"] else f"{gain} times ({low} to {high})"


def _figures(gain: float) -> str:
    return f"{gain:.2f}" if gain < 10 else f"{gain:.0f}"


def in_words(found: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts as a table to read: a headline a row, whose jobs a column."""
    rows = []
    for own in _by_headline(found):
        first = own[0]
        cells = {"headline": f"{first['headline']}: {first['says']}", "printed": _printed(first)}
        for row in own:
            said = "" if row["verdict"] == HELD_AGAINST else f": {row['verdict']}"
            cells[_whose(row)] = f"{_times(row)}{said}"
        rows.append(cells)
    return pd.DataFrame(rows)


def plot(result: Result) -> Figure:
    """Draw each headline on each law's jobs, with its verdict, and what was printed."""
    found = verdicts(result.table)
    headlines = found["headline"].nunique()
    height = 0.21 * (len(found) + 1.4 * headlines) + 0.9
    fig, [ax] = canvas(width=11.5, height=height)
    # words stand to both sides of the panel, in place of its labels
    fig.set_layout_engine("none")
    ax.set_position((0.152, 0.75 / height, 0.565, 1 - 0.8 / height))
    at = 0.0
    for headline, rows in found.groupby("headline", sort=False):
        first = rows.iloc[0]
        _words(ax, _LEFT, at, str(headline), weight="bold", ha="right")
        _words(ax, 0.005, at, str(first["says"]), color=SOFT)
        printed = first["source"] != ""
        said = f"printed: {first['words']}" if printed else str(first["words"])
        _words(ax, _RIGHT, at, said, color=_PRINTED if printed else SOFT)
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
    """Draw one headline on one law's jobs."""
    verdict = str(row["verdict"])
    color = COLORS[verdict]
    ax.plot([row["p5"], row["p95"]], [at, at], color=color, lw=0.9)
    bar = [row["low"], row["high"]]
    ax.plot(bar, [at, at], color=color, lw=4.5, alpha=0.45, solid_capstyle="butt")
    ax.plot([row["gain"]], [at], color=color, marker="o", ms=4.5)
    _words(ax, _LEFT, at, _whose(row), ha="right")
    _words(ax, _RIGHT, at, f"{_times(row).replace(' times', '×')}  {verdict}", color=legible(color))


def _words(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    across = ax.get_yaxis_transform()
    behind = {"fc": "white", "ec": "none", "pad": 0.6}
    ax.text(x, y, text, transform=across, va="center", fontsize=8.5, bbox=behind, **style)
