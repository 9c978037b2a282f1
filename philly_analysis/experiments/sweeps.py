"""Sweeps of what-ifs: workloads, policies, loads and seeds, with policies compared in pairs.

The file is long because its result is a public class: a third of it are docstrings.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.errors import UnknownNameError
from philly_analysis.experiments.effects import ARM, effects
from philly_analysis.experiments.queue_load import QueueLoad, lacks_queue, queue_load
from philly_analysis.experiments.runs import Run, outcome_of
from philly_analysis.experiments.sweep_tables import (
    HEADLINES,
    MEASURES,
    MORE_IS_BETTER,
    WORDS,
    by_workload,
    change_facts,
    comparison,
    job_table,
    ranking,
    seeds_needed,
)
from philly_analysis.parallel import map_ordered
from philly_analysis.results import (
    FEWEST_PAIRS,
    Fact,
    Paired,
    Result,
    change_size,
    change_text,
    count,
    create_folder,
    is_clear,
    is_zero,
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

_FOR_WIDTH_PCT = 5.0
"""Half width of the intervals for which the page proposes a number of seeds."""


@dataclass(frozen=True, slots=True)
class SweepResult(Result):
    """Comparison of policies, with the compared runs.

    Attributes
    ----------
    runs
        One row per run: setting (workload), load, arm (policy and knobs), seed (month), and the
        measures of :data:`~philly_analysis.workload.outcomes.SCALARS`.
    jobs
        One row per job: setting, load, seed, job_id, gpus, and the completion time (s) by policy.
    queue_loads
        Load that makes a queue, by workload, where no job waits at the loads of the sweep.
    drawn
        Measures that the figure shows.
    """

    runs: pd.DataFrame = field(default_factory=pd.DataFrame)
    jobs: pd.DataFrame = field(default_factory=pd.DataFrame)
    queue_loads: Mapping[str, QueueLoad] = field(default_factory=dict)
    drawn: Sequence[str] = ("mean_jct_s",)

    def select(self, *measures: str) -> "SweepResult":
        """Return the result of chosen measures: in the table, as facts, and in the figure.

        Parameters
        ----------
        *measures
            Measures, as in the column ``measure`` of the table.

        Raises
        ------
        UnknownNameError
            A measure is unknown.
        """
        chosen = self.against(str(self.runs["arm"].iloc[0]), measures)
        rows = chosen.table["measure"].isin(measures)
        return replace(chosen, table=chosen.table[rows].reset_index(drop=True), drawn=measures)

    def against(self, baseline: str, measures: Sequence[str] = HEADLINES) -> "SweepResult":
        """Compare the policies with another baseline.

        Parameters
        ----------
        baseline
            Policy of the sweep, as in the column ``policy``.
        measures
            Measures whose changes are facts. The table has all measures.

        Raises
        ------
        UnknownNameError
            A policy or measure is unknown.
        """
        first = self.runs["arm"] == baseline
        ordered = pd.concat([self.runs[first], self.runs[~first]], ignore_index=True)
        compared = comparison(self.runs, baseline)
        if unknown := set(measures) - set(MEASURES):
            raise UnknownNameError("measure", min(unknown), MEASURES)
        other = result_of(ordered, measures, self.queue_loads)
        return replace(
            self, table=compared, facts=other.facts, sentences=other.sentences, runs=ordered
        )

    def seeds_for(self, within_pct: float, measure: str = "mean_jct_s") -> pd.DataFrame:
        """Return how many seeds give the intervals of changes a half width of so many percent.

        Parameters
        ----------
        within_pct
            Half width of the interval: ``5`` for ± 5 %.
        measure
            Measure whose change is estimated.

        Returns
        -------
        pandas.DataFrame
            One row per workload, load and policy: workload, load, policy, measure, seeds (so far),
            needed (null: fewer than 3 seeds, or values of zero).

        Raises
        ------
        UnknownNameError
            A measure is unknown.
        """
        if measure not in MEASURES:
            raise UnknownNameError("measure", measure, MEASURES)
        return seeds_needed(self.runs, within_pct, measure)


def sweep(planned: Sequence[Run], folder: str | Path, executor: Executor) -> SweepResult:
    """Simulate the runs that have no outcome in a folder, and compare the policies in pairs.

    Parameters
    ----------
    folder
        Folder of outcomes, one file per run, so that an interrupted sweep can be resumed.
    executor
        Executes the runs; results are equal on any.

    Returns
    -------
    SweepResult
        Table: the comparison of :func:`~philly_analysis.experiments.sweep_tables.comparison`.
    """
    folder = Path(folder)
    files = [folder / f"{run.key()}.json" for run in planned]
    create_folder(folder)
    missing = {file: run for run, file in zip(planned, files, strict=True) if not file.is_file()}
    outcomes = map_ordered(executor, outcome_of, [*missing.values()], ahead=64)
    for file, outcome in zip(missing, outcomes, strict=True):
        save_text(json.dumps(outcome, sort_keys=True), file)
    read = [json.loads(file.read_text("utf-8")) for file in files]
    rows = [
        (run.jobs.name, run.load, run.arm, run.seed, *map(outcome["measures"].get, MEASURES))
        for run, outcome in zip(planned, read, strict=True)
    ]
    times = [
        pd.DataFrame(outcome["jobs"]).assign(
            setting=run.jobs.name, load=run.load, seed=run.seed, arm=run.arm
        )
        for run, outcome in zip(planned, read, strict=True)
    ]
    compared = pd.DataFrame(rows, columns=[*ARM, *MEASURES])
    result = result_of(compared, queue_loads=_queue_loads(planned, compared))
    return replace(
        result,
        jobs=job_table(pd.concat(times, ignore_index=True)),
        synthetic=any({run.jobs: run.jobs.synthetic for run in planned}.values()),
    )


def _queue_loads(planned: Sequence[Run], compared: pd.DataFrame) -> dict[str, QueueLoad]:
    """Return the load that makes a queue, of each workload in which no job waits at any load."""
    loads: dict[str, QueueLoad] = {}
    for name, rows in compared.groupby("setting", sort=False):
        runs = [run for run in planned if run.jobs.name == name]
        if len({run.arm for run in runs}) > 1 and lacks_queue(rows["mean_wait_s"]):
            load = queue_load(max(runs, key=lambda run: run.load or 0.0))
            loads |= {str(name): load} if load else {}
    return loads


def result_of(
    runs: pd.DataFrame,
    measures: Sequence[str] = HEADLINES,
    queue_loads: Mapping[str, QueueLoad] | None = None,
) -> SweepResult:
    """Return runs with their comparison, facts and sentences.

    Parameters
    ----------
    measures
        Measures whose changes are facts.
    queue_loads
        Load that makes a queue, by workload, where no job waits at the loads of the runs.
    """
    base, *others = dict.fromkeys(runs["arm"])
    seeds = int(runs["seed"].nunique())
    seed_count = count(seeds, "seed")
    few = f"With {seed_count} there is no interval: give {FEWEST_PAIRS} or more."
    compared = comparison(runs)
    return SweepResult(
        name="sweep",
        table=compared,
        facts=(
            Fact("runs", len(runs), "runs"),
            Fact("seeds", seeds, "seeds of each"),
            *change_facts(compared, measures),
        ),
        sentences=(
            *(sentence for rows in by_workload(runs) for sentence in _sentences(rows)),
            *map(str, (queue_loads or {}).values()),
            f"{count(len(runs), 'run')}: {count(runs['setting'].nunique(), 'workload')}, "
            f"{count(len(others) + 1, 'policy', 'policies')}, {seed_count}."
            + (f" Policies are compared with {base}, on the same jobs." if others else ""),
            _more_seeds(runs),
        ),
        caveats=(few,) * (seeds < FEWEST_PAIRS),
        synthetic=True,
        question="Which policy is best, and how sure is that?",
        draw=plot,
        runs=runs,
        queue_loads=queue_loads or {},
    )


def _more_seeds(runs: pd.DataFrame) -> str:
    """Return a sentence that proposes a number of seeds; empty: there are enough, or too few."""
    needed = seeds_needed(runs, _FOR_WIDTH_PCT, "mean_jct_s")
    most = needed["needed"].max()
    if pd.isna(most) or most <= needed["seeds"].min():
        return ""
    return (
        f"Intervals of the change of the mean completion time within ± {_FOR_WIDTH_PCT:g} % need "
        f"about {count(int(most), 'seed')}."
    )


def _sentences(rows: pd.DataFrame) -> Iterator[str]:
    """Yield a workload's best policy at the highest load, and whether the next policy is worse."""
    base, *others = dict.fromkeys(rows["arm"])
    if not others:
        return
    ranked = ranking(rows)
    top = ranked[ranked["load"] == ranked["load"].max()]
    best, following = top.to_dict("records")[:2]
    at = f"{best['setting']} at a load of {best['load']:g}" if best["load"] else best["setting"]
    changes_at = top["change"].dropna()
    highest = rows[rows["load"].fillna(0.0) == best["load"]]
    if lacks_queue(highest["mean_wait_s"]):
        yield f"{at}: no job waits, so that policies have nothing to choose."
        return
    if changes_at.size and all(map(is_zero, changes_at)):
        yield f"{at}: all policies have the same mean completion time."
        return
    change, lead = best["change"], ""
    if change is not None and is_zero(change):
        lead = f", equal to the mean of {base}"
    elif change is not None and (is_clear(change) or np.isnan(change.low)):
        lead = f", {change_size(change)} below {base}{_without_interval(change)}"
    elif change is not None:
        lead = f", but not significantly below {base}: {change_text(change)}"
    yield f"{at}: {best['arm']} has the shortest mean completion time{lead}."
    gaps = effects(highest.assign(load=0.0), "mean_jct_s", str(following["arm"]), str(best["arm"]))
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


def plot(result: Any) -> Figure:
    """Draw the changes against the first policy: a panel per measure, workload and load, ranked."""
    table = result.runs
    if len(set(table["arm"])) < 2:
        return empty(canvas()[0], "no policies to compare")
    several = len(set(table["setting"])) > 1
    panels = []
    for measure in result.drawn:
        word = WORDS.get(measure, measure)
        ranked = ranking(table, measure)
        for (setting, load), rows in ranked.groupby(["setting", "load"], sort=False):
            of = f"load {load:g}" if load else "as submitted"
            words = (
                ([word] if len(result.drawn) > 1 else []) + ([setting] if several else []) + [of]
            )
            changed = rows[rows["change"].notna()]
            better = measure in MORE_IS_BETTER
            shown = [
                (literal(arm), change, effect_color(change, more=better))
                for arm, change in zip(changed["arm"], changed["change"], strict=True)
            ]
            heading = ", ".join(words)
            panels.append(Panel(heading if several else heading[:1].upper() + heading[1:], shown))
    base = literal(table["arm"].iloc[0])
    what = f"of {word} " if len(result.drawn) == 1 else ""
    return forest_panels(panels, f"change {what}against {base}, %")
