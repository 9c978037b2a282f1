"""Sweeps of what-ifs: workloads, policies, loads and seeds, with policies compared in pairs."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from itertools import product, starmap
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments.effects import ARM, effects
from philly_analysis.experiments.runs import Run, outcome_of
from philly_analysis.parallel import map_ordered
from philly_analysis.results import (
    FEWEST_PAIRS,
    NOT_KNOWN,
    Fact,
    Paired,
    Result,
    change_size,
    change_text,
    count,
    create_folder,
    is_clear,
    is_zero,
    quantity,
    save_text,
)
from philly_analysis.results.figures import (
    Panel,
    canvas,
    effect_color,
    empty,
    forest_panels,
    literal,
)
from philly_analysis.workload import SCALARS

MEASURES = tuple(name for name, _, _ in SCALARS)
"""Measures of each run: those of a comparison of traces."""

_EFFECT = ("change_pct", "low_pct", "high_pct", "seeds")

_SHOWN = {
    "mean_jct_s": "mean completion time",
    "p50_jct_s": "median",
    "p99_jct_s": "99th percentile",
    "mean_wait_s": "mean queueing delay",
    "preemptions": "preemptions",
}
"""Measures in the page's table, and their headings."""


def sweep(planned: Sequence[Run], folder: str | Path, executor: Executor) -> Result:
    """Simulate the runs that have no outcome in a folder, and compare the policies in pairs.

    Parameters
    ----------
    folder
        Folder of outcomes, one file per run, so that an interrupted sweep can be resumed.
    executor
        Executes the runs; results are equal on any.

    Returns
    -------
    Result
        A row per run: setting (workload), load, arm (policy and knobs), seed, and the measures of
        :data:`~philly_analysis.workload.outcomes.SCALARS`.
    """
    folder = Path(folder)
    files = [folder / f"{run.key()}.json" for run in planned]
    create_folder(folder)
    missing = [run for run, file in zip(planned, files, strict=True) if not file.is_file()]
    outcomes = map_ordered(executor, outcome_of, missing, ahead=64)
    for run, outcome in zip(missing, outcomes, strict=True):
        save_text(json.dumps(outcome, sort_keys=True), folder / f"{run.key()}.json")
    rows = [
        (run.jobs.name, run.load, run.arm, run.seed, *map(json.loads(text).get, MEASURES))
        for run, text in zip(planned, (file.read_text("utf-8") for file in files), strict=True)
    ]
    return result_of(pd.DataFrame(rows, columns=[*ARM, *MEASURES]))


def result_of(table: pd.DataFrame) -> Result:
    """Return a table of runs with its facts and sentences."""
    base, *others = dict.fromkeys(table["arm"])
    seeds = int(table["seed"].nunique())
    each = count(seeds, "seed")
    few = f"With {each} there is no interval: give {FEWEST_PAIRS} or more."
    return Result(
        name="sweep",
        table=table,
        facts=(Fact("runs", len(table), "runs"), Fact("seeds", seeds, "seeds of each")),
        sentences=(
            *(sentence for rows in by_workload(table) for sentence in _sentences(rows)),
            f"{count(len(table), 'run')}: {count(table['setting'].nunique(), 'workload')}, "
            f"{count(len(others) + 1, 'policy', 'policies')}, {each}."
            + (f" Policies are compared with {base}, on the same jobs." if others else ""),
        ),
        caveats=(few,) * (seeds < FEWEST_PAIRS),
        synthetic=True,
        question="Which policy is best, and how sure is that?",
        draw=plot,
    )


def by_workload(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the runs of each workload."""
    return [rows for _, rows in table.groupby("setting", sort=False)]


def changes(table: pd.DataFrame, measures: Sequence[str] = MEASURES) -> pd.DataFrame:
    """Return the percent change of measures by each policy against the first one.

    Returns
    -------
    pandas.DataFrame
        Columns setting, load, arm, measure, change_pct, low_pct, high_pct (95 % interval over
        seeds, of the mean logarithm of ratios), seeds. Measures without positive values in a pair
        have no ratio and are excluded.
    """
    base, *others = dict.fromkeys(table["arm"])
    # grouping drops missing values: 0 marks runs without a load
    numbered = table.assign(load=table["load"].fillna(0.0))
    found = []
    for measure, arm in product(measures, others):
        with_ratio = numbered.where(numbered[measure] > 0).dropna(subset=[measure])
        rows = effects(with_ratio, measure, arm, base).rename(columns={"effect_pct": "change_pct"})
        found.append(rows.assign(arm=arm, measure=measure))
    columns = ["setting", "load", "arm", "measure", "change_pct", "low_pct", "high_pct", "seeds"]
    if not found:
        return pd.DataFrame(columns=columns)
    together = pd.concat(found, ignore_index=True)[columns]
    return together.assign(load=together["load"].where(together["load"] > 0))


def ranking(table: pd.DataFrame) -> pd.DataFrame:
    """Rank the policies by their mean completion time, for each workload and load.

    Returns
    -------
    pandas.DataFrame
        Columns setting, load (0: as submitted), rank (from 1), arm, change (:class:`Paired`,
        percent, against the first policy; None for it), and the means over the seeds of the
        measures on the page. Policies without a change, for want of positive times, are last.
    """
    base, *_ = table["arm"]
    jct = changes(table, ["mean_jct_s"])
    changed = jct[ARM[:-1]].fillna({"load": 0.0}).itertuples(index=False, name=None)
    effects_of = starmap(Paired, jct[[*_EFFECT]].itertuples(index=False))
    change_of = dict(zip(changed, effects_of, strict=True))
    numbers = table.assign(load=table["load"].fillna(0.0)).astype(dict.fromkeys(_SHOWN, float))
    means = numbers.groupby(ARM[:-1], sort=False)[[*_SHOWN]].mean().reset_index()
    keys = list(means[ARM[:-1]].itertuples(index=False, name=None))
    found = [change_of.get(key) for key in keys]
    against = [
        (0.0 if arm == base else inf) if change is None else change.effect
        for (*_, arm), change in zip(keys, found, strict=True)
    ]
    ranked = means.assign(change=pd.Series(found, dtype=object), against=against)
    ranked = ranked.sort_values(["setting", "load", "against"], kind="stable")
    ranked["rank"] = ranked.groupby(["setting", "load"]).cumcount() + 1
    return ranked[["setting", "load", "rank", "arm", "change", *_SHOWN]].reset_index(drop=True)


def policy_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ranking as text: at each load the policy with the shortest mean time first."""
    base, *_ = table["arm"]
    rows = []
    for row in ranking(table).to_dict("records"):
        first, *rest = (
            NOT_KNOWN if row[name] != row[name] else quantity(name, row[name]) for name in _SHOWN
        )
        change = "" if row["change"] is None else change_text(row["change"])
        key = (row["setting"], row["load"] or NOT_KNOWN, row["rank"], row["arm"])
        rows.append((*key, first, change, *rest))
    heading, *headings = _SHOWN.values()
    names = ["workload", "load", "rank", "policy", heading, f"against {base}", *headings]
    return pd.DataFrame(rows, columns=names)


def _sentences(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the best policy of a workload at its highest load, and whether the next is worse."""
    base, *others = dict.fromkeys(rows["arm"])
    if not others:
        return
    ranked = ranking(rows)
    top = ranked[ranked["load"] == ranked["load"].max()]
    best, following = top.to_dict("records")[:2]
    at = f"{best['setting']} at a load of {best['load']:g}" if best["load"] else best["setting"]
    changes_at = top["change"].dropna()
    if changes_at.size and all(map(is_zero, changes_at)):
        yield f"{at}: all policies have the same mean completion time."
        return
    change, lead = best["change"], ""
    if change is not None and is_zero(change):
        lead = f", equal to that of {base}"
    elif change is not None and (is_clear(change) or np.isnan(change.low)):
        lead = f", {change_size(change)} below {base}{_without_interval(change)}"
    elif change is not None:
        lead = f", but not significantly below {base}: {change_text(change)}"
    yield f"{at}: {best['arm']} has the shortest mean completion time{lead}."
    here = rows[rows["load"].fillna(0.0) == best["load"]]
    gaps = effects(here.assign(load=0.0), "mean_jct_s", str(following["arm"]), str(best["arm"]))
    for gap in (Paired(*row) for row in gaps.iloc[:, 2:].itertuples(index=False)):
        if is_zero(gap):
            yield f"The next, {following['arm']}, is as fast."
        elif is_clear(gap) or np.isnan(gap.low):
            longer = f"{change_size(gap)} longer{_without_interval(gap)}"
            yield f"The next, {following['arm']}, takes {longer}."
        else:
            yield f"The next, {following['arm']}, is not significantly slower: {change_text(gap)}."


def _without_interval(change: Paired) -> str:
    return ", without an interval" if np.isnan(change.low) else ""


def plot(result: Result) -> Figure:
    """Draw the changes against the first policy: a panel per workload and load, ranked."""
    table = result.table
    if len(set(table["arm"])) < 2:
        return empty(canvas()[0], "no policies to compare")
    several = len(set(table["setting"])) > 1
    panels = []
    for (setting, load), rows in ranking(table).groupby(["setting", "load"], sort=False):
        of = f"load {load:g}" if load else "as submitted"
        changed = rows[rows["change"].notna()]
        shown = [
            (literal(arm), change, effect_color(change))
            for arm, change in zip(changed["arm"], changed["change"], strict=True)
        ]
        panels.append(Panel(f"{setting}, {of}" if several else of.capitalize(), shown))
    base = literal(table["arm"].iloc[0])
    return forest_panels(panels, f"change of mean completion time against {base}, %")
