"""Compare published gains on the jobs that papers assume with gains on the jobs of clusters."""

import re
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from philly_analysis.distributions import Floats
from philly_analysis.experiments.drawn_gains import draw_gains
from philly_analysis.experiments.experiment import CAVEATS, Row, trials
from philly_analysis.experiments.headlines import GPUS, HEADLINES, MEASURES, Headline, outcomes
from philly_analysis.experiments.job_sources import JobSource
from philly_analysis.results import Fact, Result, count, paired
from philly_analysis.results.figures import CYCLE, INK, MUTED

QUESTION = "Do published gains survive on the jobs of real clusters?"

REFERENCE = "literature"
"""The generator that papers assume: the reference of all comparisons."""

MODELS = (REFERENCE, "philly", "itp-04", "itp-07")
"""Default sources of jobs: the generator, Philly, and two other clusters."""

FEWEST_MONTHS = 3
"""Minimum number of months for an interval."""

SURVIVES, GROWS, SHRINKS, TURNS = "survives", "survives, larger", "shrinks", "turns"
UNSURE, BASELINE = "cannot be said", "reference"
"""Verdicts on a gain; the generator's own is the reference."""

_COUNTED = {
    SURVIVES: ("survives", "survive"),
    GROWS: ("survives and is larger", "survive and are larger"),
    SHRINKS: ("shrinks", "shrink"),
    TURNS: ("turns", "turn"),
    UNSURE: ("cannot be said",) * 2,
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
        Sources of jobs by name; the first source is the reference.
    executor
        Executor that runs the months; None: this process. Results are equal.

    Returns
    -------
    Result
        Table: setting (source of jobs), load, arm, seed, jobs, mean_jct_h, compute_pct and
        memory_pct (of AntMan's arms). :func:`verdicts` summarises the table.
    """
    parts = [
        trials(partial(_of_seed, name, jobs, sweep.load), sweep.seeds, MEASURES, executor)
        for name, (jobs, sweep) in sources.items()
    ]
    return result_of(pd.concat(parts, ignore_index=True))


def _of_seed(name: str, jobs: JobSource, load: float, seed: int) -> list[Row]:
    month = jobs.month(GPUS, load, seed)
    return [(name, load, arm, seed, *measures) for arm, measures in outcomes(month, seed).items()]


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the verdict on each headline for each source of jobs.

    Parameters
    ----------
    table
        Table of :func:`compute`.

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
        logs = {
            setting: _logs(trial_rows, headline) for setting, trial_rows in table.groupby("setting")
        }
        for setting in dict.fromkeys(table["setting"]):
            log_gains = logs[setting]
            mean = paired(log_gains, np.zeros(log_gains.size))
            verdict = BASELINE
            if setting != reference:
                verdict = _verdict(mean.low, mean.high, *_difference(log_gains, logs[reference]))
            rows.append(
                (
                    *(name, headline.phrase, setting, log_gains.size),
                    *np.exp(
                        [mean.effect, mean.low, mean.high, *np.quantile(log_gains, [0.05, 0.95])]
                    ),
                    *(int((log_gains > 0).sum()), verdict),
                    *(headline.printed, headline.words, headline.source),
                )
            )
    columns = ["headline", "says", "jobs_of", "months", "gain", "low", "high", "p5", "p95"]
    columns += ["better_months", "verdict", "printed", "words", "source"]
    return pd.DataFrame(rows, columns=columns)


def _logs(trial_rows: pd.DataFrame, headline: Headline) -> Floats:
    """Return the logarithm of a headline's gain for each month."""
    wide = trial_rows.pivot_table(index="seed", columns="arm", values=headline.measure)
    ratio = wide[headline.arm] / wide[headline.against]
    return np.asarray(np.log((ratio if headline.more else 1 / ratio).to_numpy(float)))


def _difference(logs: Floats, reference: Floats) -> tuple[float, float]:
    """Return Welch's 95 % interval of the difference of two means."""
    if min(logs.size, reference.size) < FEWEST_MONTHS:
        return np.nan, np.nan
    if not np.ptp(logs) + np.ptp(reference) > 0:
        return (float(logs.mean() - reference.mean()),) * 2
    low, high = stats.ttest_ind(logs, reference, equal_var=False).confidence_interval()
    return float(low), float(high)


def _verdict(low: float, high: float, less: float, more: float) -> str:
    """Return the verdict from the intervals of a gain and of the difference to the reference."""
    if high < 0:
        return TURNS
    if not low > 0:
        return UNSURE
    if more < 0:
        return SHRINKS
    return GROWS if less > 0 else SURVIVES


def result_of(table: pd.DataFrame) -> Result:
    """Return a table of months with its facts and sentences."""
    verdict_rows = _with_words(verdicts(table))
    others = verdict_rows[verdict_rows["verdict"] != BASELINE]
    low, high = int(verdict_rows["months"].min()), int(verdict_rows["months"].max())
    counted = others["verdict"].value_counts(sort=False)
    counts = (
        f"{count(verdict_rows['headline'].nunique(), 'headline')} on the jobs of "
        f"{count(others['jobs_of'].nunique(), 'cluster')}, {count(len(others), 'case')}: "
        + ", ".join(
            f"{counted[v]} {one if counted[v] == 1 else several}"
            for v, (one, several) in _COUNTED.items()
            if v in counted
        )
        + f" ({GPUS} GPUs at a load of {table['load'].iloc[0]:g}, "
        + (count(low, "month") if low == high else f"{low} to {high} months")
        + " of each)."
    )
    return Result(
        name="conclusions",
        table=table,
        facts=tuple(
            Fact(
                f"{_slug(row['headline'])}_{_slug(row['jobs_of'])}_gain",
                row["gain"],
                f"{row['headline']} on the jobs of {row['jobs']}: {row['verdict']}",
            )
            for row in verdict_rows.to_dict("records")
        ),
        sentences=(counts, *verdict_rows.groupby("headline", sort=False).apply(_sentence)),
        caveats=CAVEATS["conclusions"],
        synthetic=True,
        question=QUESTION,
    )


def _slug(text: str) -> str:
    return re.sub(r"[\W_]+", "_", text.lower()).strip("_")


def _with_words(verdict_rows: pd.DataFrame) -> pd.DataFrame:
    """Add texts: jobs (source of the jobs), times (gain with interval), printed_words."""
    figures = verdict_rows[["gain", "low", "high"]].map(
        lambda g: f"{g:.2f}" if g < 10 else f"{g:.0f}"
    )
    interval = " (" + figures["low"] + " to " + figures["high"] + ")"
    printed = "Printed: " + verdict_rows["words"] + ", " + verdict_rows["source"]
    return verdict_rows.assign(
        jobs=verdict_rows["jobs_of"].replace(REFERENCE, "the generator"),
        gained=figures["gain"],
        times=figures["gain"] + " times" + interval.where(verdict_rows["low"].notna(), ""),
        printed_words=printed.where(
            verdict_rows["source"] != "", verdict_rows["words"].str.capitalize()
        ),
    )


def _sentence(rows: pd.DataFrame) -> str:
    """Return the verdicts on a headline by source of jobs."""
    base, others = rows.iloc[0], rows.iloc[1:]
    verdicts_text = "".join(
        f"{verdict} on {', '.join(of['jobs'] + ' (' + of['gained'] + ')')}; "
        for verdict, of in others.groupby("verdict", sort=False)
    )
    return (
        f"{rows.name}: {verdicts_text}{base['gained']} times on {base['jobs']}'s jobs. "
        f"{base['printed_words']}."
    )


def verdict_table(verdict_rows: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts as text: a headline per row, a source of jobs per column."""
    verdict_rows = _with_words(verdict_rows)
    verdict = (": " + verdict_rows["verdict"]).where(verdict_rows["verdict"] != BASELINE, "")
    cells = verdict_rows.assign(
        headline=verdict_rows["headline"] + ": " + verdict_rows["says"],
        printed=verdict_rows["printed_words"],
        cell=verdict_rows["times"] + verdict,
    )
    wide = cells.pivot_table(
        index=["headline", "printed"], columns="jobs", values="cell", aggfunc="first", sort=False
    )
    return wide.rename_axis(columns=None).reset_index()


def plot(result: Result) -> Figure:
    """Draw each headline for each source of jobs, with the verdict and the printed gain."""
    return draw_gains(_with_words(verdicts(result.table)), COLORS)
