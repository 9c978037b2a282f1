"""Compare traces by the jobs that they have in common."""

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
import pandas as pd

from philly_analysis.errors import TraceError
from philly_analysis.report.comparison_figures import plot, single_numbers
from philly_analysis.report.comparison_groups import (
    COLUMNS,
    KEY,
    GroupChange,
    change_of,
    group_changes,
    group_table,
    user_count,
    with_groups,
)
from philly_analysis.report.comparison_names import trace_names
from philly_analysis.report.comparison_wording import verdicts, which_jobs, without_queue
from philly_analysis.results import (
    NOT_KNOWN,
    Fact,
    Paired,
    Result,
    interval_facts,
    quantity,
)
from philly_analysis.trace import Trace
from philly_analysis.workload import CURVES, SCALARS, activity, measures

QUESTION = "How do completion times and waits change?"

_COUNTED = ("jobs", "attempts")
"""Units of measures that are whole numbers."""

_GRID = np.linspace(0, 100, 101)
_OF_ALL_JOBS = (
    "Allocated and idle GPU time, and the time from first submission to last end, cover all jobs "
    "of a trace, not only the common jobs."
)
_BLOCKS = (
    "Intervals come from a block bootstrap: the time of submissions is divided into 30 blocks of "
    "equal length, which are resampled whole."
)


def compare_traces(traces: Sequence[Trace], names: Sequence[str] = ()) -> Result:
    """Compare the outcomes of the same jobs in several traces.

    The compared jobs ended in each trace. Without common jobs, each trace is measured on its own
    jobs, and a sentence reports that. Measures of GPUs and the makespan cover all jobs of a trace.

    Parameters
    ----------
    traces
        Open traces; the first is the baseline.
    names
        Names of the traces; by default their folders' names and what differs between the traces.

    Returns
    -------
    Result
        Long table: trace, by and group (a gang size, virtual cluster or user; an interval of time,
        by its start, UTC; null: all jobs), measure, percentile (0-100; null for single
        numbers), value, unit. :func:`side_by_side` makes the numbers of all jobs wide.

    Raises
    ------
    TraceError
        There are fewer than two traces.
    """
    if len(traces) < 2:
        raise TraceError(f"{len(traces)} trace given, not at least two. Use compare(trace, other).")
    names = list(names) or trace_names(traces)
    reads: dict[str, None] = {}
    completions: list[pd.DataFrame] = []
    for trace in traces:
        with trace.record_reads() as read:
            completions.append(trace.answer("completions").df())
        reads |= read
    common = reduce(lambda a, b: a.merge(b, on=KEY), (ended[KEY] for ended in completions))
    excluded = {n: len(ended) - len(common) for n, ended in zip(names, completions, strict=True)}
    same = len(common) > 0
    if same:
        completions = [common.merge(ended, on=KEY) for ended in completions]
    completions = [with_groups(ended) for ended in completions]
    rows: list[tuple[str, None, None, str, float | None, float | None, str]] = []
    parts = []
    for name, trace, ended in zip(names, traces, completions, strict=True):
        with trace.record_reads() as read:
            numbers = measures(trace, ended)
            if len(ended):
                parts.append(_activity(name, trace, traces if same else [trace]))
        reads |= read
        rows += [(name, None, None, m, None, numbers.get(m), unit) for m, unit, _ in SCALARS]
        for curve in CURVES if len(ended) else ():
            at = np.percentile(ended[curve], _GRID)
            rows += [
                (name, None, None, curve, float(p), float(v), "s")
                for p, v in zip(_GRID, at, strict=True)
            ]
    changes, change_facts, groups = _changes(names, completions, same=same)
    all_jobs = pd.DataFrame(rows, columns=COLUMNS)
    tables = [all_jobs, group_table(groups, names[0]), *parts]
    table = pd.concat([t for t in tables if len(t)], ignore_index=True)
    which = which_jobs(len(common), excluded)
    sizes = {n: t.gpus for n, t in zip(names, traces, strict=True) if t.has("cluster_size")}
    return Result(
        name="comparison",
        table=table,
        facts=(
            Fact("common_jobs", len(common), "jobs that ended in all of the traces"),
            *(
                Fact(f"{n}_other_jobs", k, f"{n}: jobs that ended in it, not in all")
                for n, k in excluded.items()
            ),
            *_facts(table, names),
            *change_facts,
        ),
        sentences=(*verdicts(table, names, changes), *without_queue(table, names, sizes), which),
        caveats=(_OF_ALL_JOBS if same and any(excluded.values()) else "", _BLOCKS),
        synthetic=any(t.manifest.synthetic for t in traces),
        question=QUESTION,
        reads=tuple(reads),
        draw=plot,
    )


def _changes(
    names: Sequence[str], completions: Sequence[pd.DataFrame], *, same: bool
) -> tuple[dict[str, Paired], list[Fact], list[GroupChange]]:
    """Return changes against the first trace: of completion times, as facts, and by group."""
    base, *others = completions
    changes: dict[str, Paired] = {}
    facts: list[Fact] = []
    groups: list[GroupChange] = []
    for name, ended in zip(names[1:], others, strict=True):
        changes[name], wait = (change_of(base, ended, curve, same=same) for curve in CURVES)
        facts += _change_facts(name, names[0], changes[name], wait)
        if same:
            longer, users = user_count(base, ended)
            facts += [
                Fact(f"{name}_users", users, f"{name}: users of the common jobs"),
                Fact(
                    f"{name}_users_longer",
                    longer,
                    f"{name}: users whose mean completion time is longer",
                ),
            ]
        groups += group_changes(name, base, ended, same=same)
    return changes, facts, groups


def _activity(name: str, trace: Trace, spanned: Sequence[Trace]) -> pd.DataFrame:
    """Return the GPUs allocated and waited for as rows of the table, over the time of traces."""
    bounds = [bound for t in spanned for bound in (t.start, t.end) if bound is not None]
    if not bounds or min(bounds) == max(bounds):
        return pd.DataFrame(columns=COLUMNS)
    long = activity(trace, min(bounds), max(bounds)).melt("at", var_name="measure")
    return long.assign(
        trace=name, by="time", group=long["at"].astype(str), percentile=None, unit="GPUs"
    )[COLUMNS]


def side_by_side(result: Result) -> pd.DataFrame:
    """Return the single numbers of a comparison, one row per measure and one column per trace."""
    table = result.table
    single = table[table["percentile"].isna() & table["by"].isna()]
    wide = single.pivot_table(
        index="measure", columns="trace", values="value", sort=False, dropna=False
    )
    order = [m for m, _, _ in SCALARS if m in wide.index]
    wide = wide.loc[order, list(dict.fromkeys(single["trace"]))]
    wide.insert(0, "meaning", [meaning for m, _, meaning in SCALARS if m in wide.index])
    wide.insert(1, "unit", [unit for m, unit, _ in SCALARS if m in wide.index])
    return wide.reset_index()


def in_words(result: Result) -> pd.DataFrame:
    """Return the single numbers of a comparison formatted with units, one column per trace."""
    wide = side_by_side(result).set_index("measure")

    def text(measure: str, value: float) -> str:
        if np.isnan(value):
            return NOT_KNOWN
        counted = wide.loc[measure, "unit"] in _COUNTED
        return f"{value:,.0f}" if counted else quantity(measure, value)

    numbers = {name: wide[name].astype(float).items() for name in wide.columns[2:]}
    columns = {name: [text(str(m), v) for m, v in values] for name, values in numbers.items()}
    return pd.DataFrame({"measure": wide["meaning"].to_list(), **columns})


def _facts(table: pd.DataFrame, names: Sequence[str]) -> Iterator[Fact]:
    single = single_numbers(table)
    for name in names:
        for measure, unit, meaning in SCALARS:
            if not np.isnan(value := single[name, measure]):
                measured = int(value) if unit in _COUNTED else float(value)
                yield Fact(f"{name}_{measure}", measured, f"{name}: {meaning}")


def _change_facts(name: str, base: str, jct: Paired, wait: Paired) -> Iterator[Fact]:
    for measure, what, of in (("jct", "completion time", jct), ("wait", "queueing delay", wait)):
        yield from interval_facts(
            f"{name}_mean_{measure}_change{{}}_pct",
            (of.effect, of.low, of.high),
            f"{name}: change of the mean {what} against {base}",
        )
