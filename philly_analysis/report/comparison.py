"""Compare traces by the jobs that they have in common, and write the page of a comparison."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.errors import TraceError
from philly_analysis.report.computing import analyze
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Card, Chapter, section
from philly_analysis.results import NOT_KNOWN, Fact, Result, duration, quantity, share, unique_names
from philly_analysis.results.figures import CYCLE, bars, canvas, cdf, label_lines, time_axis
from philly_analysis.trace import TABLES, Trace, TraceLike, is_selected, open_trace
from philly_analysis.workload import CURVES, SCALARS, measures

QUESTION = "What becomes of the jobs under each?"

_COUNTED = ("jobs", "attempts")
"""Units of measures that are whole numbers."""

_KEY = ["job_id", "submitted_at"]
"""Columns that identify a job in several traces: two clusters may use an id twice."""

_SIMULATED = re.compile(r"Simulated under (\S+)(?: \(([^()]*)\))? on ")
"""Note of a what-if on its policy and the policy's knobs."""
_GRID = np.linspace(0, 100, 101)
_OF_ALL_JOBS = (
    "Allocated and idle GPU time, and the time from first submission to last end, are of all jobs "
    "of a trace, not of the common ones alone."
)


def comparison_page(
    traces: Sequence[TraceLike | Sequence[TraceLike] | Mapping[str, TraceLike]],
    findings: Sequence[str],
    out: str | Path | None,
) -> Result:
    """Compare traces, with a page if a folder is given: see :func:`philly_analysis.compare`."""
    names: list[str] = []
    given: list[TraceLike] = []
    for one in traces:
        if isinstance(one, Mapping) and not one.keys() <= TABLES.keys():
            names += one.keys()
            given += one.values()
        else:
            given += cast("list[TraceLike]", one if isinstance(one, list | tuple) else [one])
    with ExitStack() as stack:
        sources = [stack.enter_context(open_trace(trace)) for trace in given]
        result = compare_traces(sources, names)
        shown = {finding: [analyze(t, [finding])[finding] for t in sources] for finding in findings}

    def write(result: Result, folder: Path) -> Path:
        names = list(dict.fromkeys(result.table["trace"]))
        table = in_words(result)
        part = section("comparison", result.question, result, result.plot(), shown=table)
        chapters = [_finding_chapter(each, names, name) for name, each in shown.items()]
        lede = f"The same questions, computed on {', '.join(names)}."
        cards = [Card(part.name, result.question, part)]
        return results_page("Traces side by side", lede, chapters, folder, cards=cards)

    result = replace(result, write_page=write)
    if out is not None:
        write(result, Path(out))
    return result


def _finding_chapter(results: Sequence[Result], names: Sequence[str], finding: str) -> Chapter:
    """Return a chapter with one finding on each trace, and its facts side by side."""
    meanings = {f.name: f.meaning for result in results for f in result.facts}
    values = [{f.name: f.text for f in result.facts} for result in results]
    rows = [[text, *(v.get(name, NOT_KNOWN) for v in values)] for name, text in meanings.items()]
    shown = pd.DataFrame(rows, columns=["fact", *names])
    sections = [
        section(f"{finding}-{i + 1}", name, result, result.plot(), shown=None if i else shown)
        for i, (name, result) in enumerate(zip(names, results, strict=True))
    ]
    return Chapter(results[0].question, tuple(sections))


def compare_traces(traces: Sequence[Trace], names: Sequence[str] = ()) -> Result:
    """Compare the outcomes of the same jobs in several traces.

    The jobs compared are those that ended in each trace. Without any, each trace is measured on
    its own jobs, and the first sentence reports it. Measures of GPUs and the makespan are of all
    jobs of a trace.

    Parameters
    ----------
    traces
        Open traces; the first is the baseline.
    names
        Their names; by default those of their folders and of what differs between them.

    Returns
    -------
    Result
        Long table: trace, measure, percentile (0-100; null for single numbers), value, unit.
        :func:`side_by_side` makes it wide.

    Raises
    ------
    TraceError
        There are fewer than two traces.
    """
    if len(traces) < 2:
        raise TraceError(f"{len(traces)} trace given; a comparison takes at least two.")
    names = list(names) or _names(traces)
    reads: dict[str, None] = {}
    completions: list[pd.DataFrame] = []
    for trace in traces:
        with trace.record_reads() as read:
            completions.append(trace.answer("completions").df())
        reads |= read
    common = reduce(lambda a, b: a.merge(b, on=_KEY), (ended[_KEY] for ended in completions))
    excluded = {n: len(ended) - len(common) for n, ended in zip(names, completions, strict=True)}
    rows: list[tuple[str, str, float | None, float | None, str]] = []
    for name, trace, all_ended in zip(names, traces, completions, strict=True):
        ended = all_ended.merge(common, on=_KEY) if len(common) else all_ended
        with trace.record_reads() as read:
            numbers = measures(trace, ended)
        reads |= read
        rows += [(name, m, None, numbers.get(m), unit) for m, unit, _ in SCALARS]
        for curve in CURVES if len(ended) else ():
            at = np.percentile(ended[curve], _GRID)
            rows += [(name, curve, float(p), float(v), "s") for p, v in zip(_GRID, at, strict=True)]
    table = pd.DataFrame(rows, columns=["trace", "measure", "percentile", "value", "unit"])
    which, differences = _which_jobs(len(common), excluded), _sentences(table, names)
    some_excluded = len(common) and any(excluded.values())
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
        ),
        sentences=(*differences, which) if len(common) else (which, *differences),
        caveats=(_OF_ALL_JOBS,) if some_excluded else (),
        synthetic=any(t.manifest.synthetic for t in traces),
        question=QUESTION,
        reads=tuple(reads),
        draw=plot,
    )


def side_by_side(result: Result) -> pd.DataFrame:
    """Return the single numbers of a comparison, one row per measure and one column per trace."""
    single = result.table[result.table["percentile"].isna()]
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


def plot(result: Result) -> Figure:
    """Draw the distributions of completion times and waits, and the use of GPU time."""
    table = result.table
    names = list(dict.fromkeys(table["trace"]))
    colors = {name: CYCLE[i % len(CYCLE)] for i, name in enumerate(names)}
    single = _single_numbers(table)
    counts = {n: int(single[n, "jobs"]) for n in names}
    fig, axes = canvas(3, width=11, height=3.6)
    for ax, curve, label in (
        (axes[0], "jct_s", "job completion time"),
        (axes[1], "wait_s", "queueing delay (wait)"),
    ):
        rows = table[table["measure"] == curve]
        rows = rows.assign(value=rows["value"].clip(lower=1))  # where the axis begins
        cdf(ax, rows, value="value", by="trace", colors=colors, counts=counts)
        time_axis(ax, 1, max(float(rows["value"].max() or 1), 60))
        ax.set(xlabel=label, ylabel="share of jobs")
    label_lines(axes[:2])
    parts = {"allocated": "held_frac", "idle on partly\nused servers": "fragmented_frac"}
    bars(
        axes[2],
        list(parts),
        {n: [100 * single[n, m] for m in parts.values()] for n in names},
        colors=colors,
    )
    axes[2].set(ylabel="share of GPU time, %", ylim=(0, 105))
    return fig


def _single_numbers(table: pd.DataFrame) -> "pd.Series[float]":
    """Return the single numbers of a comparison by trace and measure; NaN: not known."""
    rows = table[table["percentile"].isna()]
    return rows.set_index(["trace", "measure"])["value"].astype(float)


def _names(traces: Sequence[Trace]) -> list[str]:
    """Return a distinct name for each trace: its folder, and of a what-if its policy.

    Knobs are named where what-ifs under one policy differ in them. Equal folder names get the
    parent folder's, and remaining equal names a number.
    """
    folders = [
        t.manifest.name if is_selected(t.manifest) else t.path.name  # a subset's path is temporary
        for t in traces
    ]
    apart = len({trace.path for trace in traces}) == len(traces)
    folders = [
        f"{trace.path.parent.name}/{name}" if apart and folders.count(name) > 1 else name
        for trace, name in zip(traces, folders, strict=True)
    ]
    under = [_policy(trace) for trace in traces]
    names = []
    for folder, (policy, knobs) in zip(folders, under, strict=True):
        rivals = [others for name, others in under if name == policy]
        differing = [k for k in knobs if any(k not in others for others in rivals)]
        label = ", ".join([policy, *differing]) if policy else ""
        names.append(folder if label in ("", folder) else f"{folder} ({label})")
    return unique_names(names)


def _policy(trace: Trace) -> tuple[str, tuple[str, ...]]:
    """Return the policy and the knobs under which a trace was simulated; empty if it was not."""
    for note in trace.manifest.notes:
        if found := _SIMULATED.match(note):
            return found[1], tuple(filter(None, (found[2] or "").split(", ")))
    return "", ()


def _facts(table: pd.DataFrame, names: Sequence[str]) -> Iterator[Fact]:
    single = _single_numbers(table)
    for name in names:
        for measure, unit, meaning in SCALARS:
            if not np.isnan(value := single[name, measure]):
                known = int(value) if unit in _COUNTED else float(value)
                yield Fact(f"{name}_{measure}", known, f"{name}: {meaning}")


def _sentences(table: pd.DataFrame, names: Sequence[str]) -> Iterator[str]:
    single = _single_numbers(table)
    base = single[names[0], "mean_jct_s"]
    for name in names[1:]:
        own, allocated = single[name, "mean_jct_s"], single[name, "held_frac"]
        if base > 0 and own > 0:
            change = share(abs(own / base - 1))
            than = f"{change} {'longer' if own > base else 'shorter'} than the {duration(base)}"
            used = (
                "" if np.isnan(allocated) else f"; {share(allocated)} of the GPU time is allocated"
            )
            yield (
                f"Under {name} the mean job takes {duration(own)}, "
                f"{'as' if change == '0 %' else than} under {names[0]}{used}."
            )


def _which_jobs(common: int, excluded: Mapping[str, int]) -> str:
    """Return a sentence on which jobs are compared; empty: all jobs of each trace."""
    if not common:
        each = ", ".join(f"{name} {n:,}" for name, n in excluded.items())
        return (
            f"The traces have no job in common, so these are different jobs ({each}): differences "
            "are of workloads and clusters as well as of policies."
        )
    if not any(excluded.values()):
        return ""
    each = ", ".join(f"{n:,} in {name}" for name, n in excluded.items())
    jobs = "job that ended in each is" if common == 1 else "jobs that ended in each are"
    return f"{common:,} {jobs} compared; excluded are {each}."
