"""Tables of a sweep: comparisons of policies in pairs, ranking, jobs by policy, seeds needed."""

import re
from collections.abc import Iterator, Sequence
from itertools import product, starmap
from math import inf

import numpy as np
import pandas as pd

from philly_analysis.errors import UnknownNameError
from philly_analysis.experiments.effects import ARM
from philly_analysis.results import (
    NOT_KNOWN,
    Fact,
    Paired,
    change_text,
    interval_facts,
    mean_interval,
    paired,
    pairs_for,
    quantity,
)
from philly_analysis.workload import SCALARS, bounds

MEASURES = tuple(name for name, _, _ in SCALARS)
"""Measures of each run, as in a comparison of traces."""

HEADLINES = ("mean_jct_s", "mean_wait_s", "mean_slowdown", "p99_slowdown")
"""Measures whose comparisons are facts, unless others are named."""

_EFFECT = ("change_pct", "low_pct", "high_pct", "seeds")

_SHOWN = {
    "mean_jct_s": "mean completion time",
    "p50_jct_s": "median",
    "p99_jct_s": "99th percentile",
    "mean_wait_s": "mean queueing delay",
    "p99_slowdown": "99 % slowdown",
    "held_frac": "GPU time allocated",
    "preemptions": "preemptions",
}
"""Measures in the page's table, and their headings."""

WORDS = {
    "mean_jct_s": "mean completion time",
    "p50_jct_s": "median completion time",
    "p99_jct_s": "99 % completion time",
    "mean_wait_s": "mean queueing delay",
    "p50_wait_s": "median queueing delay",
    "p99_wait_s": "99 % queueing delay",
    "mean_slowdown": "mean slowdown",
    "p99_slowdown": "99 % slowdown",
    "mean_bounded_slowdown": "mean bounded slowdown",
    "p99_bounded_slowdown": "99 % bounded slowdown",
    "makespan_s": "makespan",
    "held_frac": "GPU time allocated",
    "fragmented_frac": "fragmented idle GPU time",
    "vc_fairness": "fairness of virtual clusters",
    "lost_gpu_h": "GPU hours lost to preemption",
    "waiting_gpu_h": "GPU hours of incomplete gangs",
}
"""Names of measures in figures, if they differ from the column."""

MORE_IS_BETTER = ("held_frac", "vc_fairness")

COMPARED = (
    *("workload", "load", "policy", "measure", "unit", "seeds", "mean", "mean_low", "mean_high"),
    *("against", "difference", "low", "high", "change_pct", "low_pct", "high_pct"),
)
"""Columns of a comparison."""


def comparison(
    runs: pd.DataFrame, baseline: str | None = None, measures: Sequence[str] = MEASURES
) -> pd.DataFrame:
    """Compare each policy with a baseline, in pairs of the same jobs.

    Parameters
    ----------
    runs
        One row per run: setting, load, arm, seed, and the measures.
    baseline
        Policy that the others are compared with; by default the first.
    measures
        Measures to compare.

    Returns
    -------
    pandas.DataFrame
        One row per workload, load, policy and measure, all intervals 95 %: mean with interval
        mean_low to mean_high; difference to the baseline (against), in the unit of the measure,
        with interval low to high; change_pct, from the mean logarithm of ratios, with interval
        low_pct to high_pct. Fewer than 3 seeds have no interval; values of zero have no ratio.

    Raises
    ------
    UnknownNameError
        A policy or measure is unknown.
    """
    arms = list(dict.fromkeys(runs["arm"]))
    base = arms[0] if baseline is None else baseline
    if base not in arms:
        raise UnknownNameError("policy of the sweep", base, arms)
    if unknown := set(measures) - set(MEASURES):
        raise UnknownNameError("measure", sorted(unknown)[0], MEASURES)
    units = {name: unit for name, unit, _ in SCALARS}
    rows = []
    for (setting, load), here in runs.assign(load=runs["load"].fillna(0.0)).groupby(
        ["setting", "load"], sort=False
    ):
        by_arm = {
            arm: arm_rows.set_index("seed") for arm, arm_rows in here.groupby("arm", sort=False)
        }
        for measure, arm in product(measures, by_arm):
            values = by_arm[arm][measure].dropna().astype(float)
            if len(values):
                mean = mean_interval(values, *bounds(measure))
                change = _change(values, by_arm[base][measure].dropna().astype(float))
                rows.append(
                    (setting, load or np.nan, arm, measure, units[measure], len(values))
                    + (mean.effect, mean.low, mean.high, base, *(() if arm == base else change))
                    + (np.nan,) * (6 if arm == base else 0)
                )
    return pd.DataFrame(rows, columns=COMPARED)


def _change(values: pd.Series, base: pd.Series) -> tuple[float, ...]:
    """Return the paired difference and percent change, each with interval."""
    seeds = values.index.intersection(base.index)
    after, before = values[seeds], base[seeds]
    difference = paired(after, before)
    relative = Paired(np.nan, np.nan, np.nan, 0)
    if ((after > 0) & (before > 0)).all():
        relative = paired(after, before, relative=True)
    ends = (difference, relative)
    return tuple(value for end in ends for value in (end.effect, end.low, end.high))


def change_facts(compared: pd.DataFrame, measures: Sequence[str]) -> Iterator[Fact]:
    """Yield the changes of measures against the baseline, with the ends of their intervals.

    Names have the workload and the load only where there are several: ``srtf_mean_jct_change_pct``,
    ``load_0_9_srtf_mean_jct_change_low_pct``.
    """
    meanings = {name: meaning for name, _, meaning in SCALARS}
    several = [name for name in ("workload", "load") if len(compared[name].unique()) > 1]
    chosen = compared[compared["measure"].isin(measures)]
    for row in chosen[chosen["policy"] != chosen["against"]].to_dict("records"):
        where = "".join(
            f"{'load_' if name == 'load' else ''}{_word(row[name])}_"
            for name in several
            if row[name] == row[name]
        )
        short = str(row["measure"]).removesuffix("_s")
        yield from interval_facts(
            f"{where}{_word(row['policy'])}_{short}_change{{}}_pct",
            (row["change_pct"], row["low_pct"], row["high_pct"]),
            f"{row['policy']}: change of {meanings[row['measure']]}, against {row['against']}",
        )


def _word(text: object) -> str:
    return re.sub(r"\W+", "_", f"{text:g}" if isinstance(text, float) else str(text)).strip("_")


def seeds_needed(
    runs: pd.DataFrame, within_pct: float, measure: str, baseline: str | None = None
) -> pd.DataFrame:
    """Return how many seeds give the interval of a change a half width of so many percent.

    Returns
    -------
    pandas.DataFrame
        One row per workload, load and policy: seeds (so far), needed (null: fewer than 3 seeds, or
        values of zero). The deviation between seeds is estimated from the seeds so far.
    """
    arms = list(dict.fromkeys(runs["arm"]))
    base = baseline or arms[0]
    rows = []
    for (setting, load), here in runs.assign(load=runs["load"].fillna(0.0)).groupby(
        ["setting", "load"], sort=False
    ):
        wide = here.pivot_table(index="seed", columns="arm", values=measure, sort=False).dropna()
        for arm in (name for name in arms if name != base and name in wide):
            needed = pairs_for(wide[arm], wide[base], within_pct)
            rows.append((setting, load or np.nan, arm, measure, len(wide), needed))
    columns = ["workload", "load", "policy", "measure", "seeds", "needed"]
    return pd.DataFrame(rows, columns=columns).astype({"needed": "Int64"})


def by_workload(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the runs of each workload."""
    return [rows for _, rows in table.groupby("setting", sort=False)]


def ranking(table: pd.DataFrame, measure: str = "mean_jct_s") -> pd.DataFrame:
    """Rank the policies by a measure, for each workload and load.

    Returns
    -------
    pandas.DataFrame
        Columns setting, load (0: as submitted), rank (from 1), arm, change (:class:`Paired`,
        percent, against the first policy; None for it), and the means over the seeds of the
        measures on the page. Policies without a change, for want of positive values, are last.
    """
    base, *_ = table["arm"]
    compared = comparison(table, base, [measure]).dropna(subset="change_pct")
    changed = compared[["workload", "load", "policy"]].fillna({"load": 0.0})
    effects_of = starmap(Paired, compared[[*_EFFECT]].itertuples(index=False))
    change_of = dict(zip(changed.itertuples(index=False, name=None), effects_of, strict=True))
    numbers = table.assign(load=table["load"].fillna(0.0)).astype(dict.fromkeys(_SHOWN, float))
    means = numbers.groupby(ARM[:-1], sort=False)[[*_SHOWN]].mean().reset_index()
    keys = list(means[ARM[:-1]].itertuples(index=False, name=None))
    changes = [change_of.get(key) for key in keys]
    against = [
        (0.0 if arm == base else inf) if change is None else change.effect
        for (*_, arm), change in zip(keys, changes, strict=True)
    ]
    ranked = means.assign(change=pd.Series(changes, dtype=object), against=against)
    ranked = ranked.sort_values(["setting", "load", "against"], kind="stable")
    ranked["rank"] = ranked.groupby(["setting", "load"]).cumcount() + 1
    return ranked[["setting", "load", "rank", "arm", "change", *_SHOWN]].reset_index(drop=True)


def policy_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ranking as text: at each load the policy with the shortest mean time first."""
    base, *_ = table["arm"]
    rows = []
    for row in ranking(table).to_dict("records"):
        first, *other_values = (
            NOT_KNOWN if row[name] != row[name] else quantity(name, row[name]) for name in _SHOWN
        )
        change = "" if row["change"] is None else change_text(row["change"])
        key = (row["setting"], row["load"] or NOT_KNOWN, row["rank"], row["arm"])
        rows.append((*key, first, change, *other_values))
    heading, *headings = _SHOWN.values()
    names = ["workload", "load", "rank", "policy", heading, f"against {base}", *headings]
    return pd.DataFrame(rows, columns=names)


def job_table(times: pd.DataFrame) -> pd.DataFrame:
    """Return one row per job, with the job's completion time (s) by policy.

    Parameters
    ----------
    times
        One row per job and run: setting, load, seed, arm, job_id, gpus, jct_s.
    """
    key = ["setting", "load", "seed", "job_id", "gpus"]
    wide = times.fillna({"load": 0.0}).pivot_table(
        index=key, columns="arm", values="jct_s", sort=False, aggfunc="first"
    )
    wide = wide[[arm for arm in dict.fromkeys(times["arm"]) if arm in wide]]
    table = wide.rename_axis(columns=None).reset_index()
    return table.assign(load=table["load"].where(table["load"] > 0))
