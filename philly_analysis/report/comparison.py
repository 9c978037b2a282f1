"""Sets traces side by side: what became of the jobs that they have in common."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.errors import TraceError
from philly_analysis.results import NOT_KNOWN, Fact, Result, duration, quantity, share, unique_names
from philly_analysis.results.figures import CYCLE, bars, canvas, cdf, label_lines, time_axis
from philly_analysis.trace import Trace, is_selected
from philly_analysis.workload import CURVES, SCALARS, measures

QUESTION = "What becomes of the jobs under each?"

_COUNTED = ("jobs", "attempts")
"""Units of measures that are whole numbers."""

_SAME = ["job_id", "submitted_at"]
"""What jobs of two traces are the same by: two clusters may use a number twice."""

_SIMULATED = re.compile(r"Simulated under (\S+)(?: \(([^()]*)\))? on ")
"""How a what-if notes its policy and the policy's knobs."""
_GRID = np.linspace(0, 100, 101)


def answer(traces: Sequence[Trace]) -> Result:
    """Compare what became of the same jobs in several traces.

    Jobs are compared that ended in each of the traces. Where there is none, the traces are of
    different jobs: each then answers for its own, and the first sentence says so. What is said of
    GPUs, and of the time from first to last, is of all that a trace holds.

    Parameters
    ----------
    traces
        Open traces; the first is what the others are held against.

    Returns
    -------
    Result
        Long table: trace, measure, percentile (0-100; null for measures with one number),
        value, unit. :func:`side_by_side` turns the single numbers into a wide one.

    Raises
    ------
    TraceError
        There are fewer than two traces.
    """
    if len(traces) < 2:
        raise TraceError(f"{len(traces)} trace given; a comparison takes at least two.")
    names = _names(traces)
    rows: list[tuple[str, str, float | None, float | None, str]] = []
    reads: dict[str, None] = {}
    everyone: list[pd.DataFrame] = []
    for trace in traces:
        with trace.record_reads() as asked:
            everyone.append(trace.answer("completions").df())
        reads |= asked
    common = reduce(lambda a, b: a.merge(b, on=_SAME), (ended[_SAME] for ended in everyone))
    beside = {n: len(ended) - len(common) for n, ended in zip(names, everyone, strict=True)}
    for name, trace, all_ended in zip(names, traces, everyone, strict=True):
        ended = all_ended.merge(common, on=_SAME) if len(common) else all_ended
        with trace.record_reads() as asked:
            numbers = measures(trace, ended)
        reads |= asked
        rows += [(name, m, None, numbers.get(m), unit) for m, unit, _ in SCALARS]
        for curve in CURVES:
            if len(ended):
                at = np.percentile(ended[curve], _GRID)
                rows += [
                    (name, curve, float(p), float(v), "s") for p, v in zip(_GRID, at, strict=True)
                ]
    table = pd.DataFrame(rows, columns=["trace", "measure", "percentile", "value", "unit"])
    return Result(
        name="comparison",
        table=table,
        facts=(
            Fact("common_jobs", len(common), "jobs that ended in all of the traces"),
            *(
                Fact(f"{n}_other_jobs", k, f"{n}: jobs that ended beside")
                for n, k in beside.items()
            ),
            *_facts(table, names),
        ),
        sentences=_in_order(len(common), _who(len(common), beside), _sentences(table, names)),
        caveats=_caveats(len(common), beside),
        synthetic=any(t.manifest.synthetic for t in traces),
        question=QUESTION,
        reads=tuple(reads),
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
    """Return the single numbers of a comparison as people read them, a column per trace."""
    wide = side_by_side(result).set_index("measure")
    told = {
        name: [
            NOT_KNOWN if value != value else _said(str(measure), value, unit)
            for (measure, value), unit in zip(
                wide[name].astype(float).items(), wide["unit"], strict=True
            )
        ]
        for name in wide.columns[2:]
    }
    return pd.DataFrame({"measure": wide["meaning"].to_list(), **told})


def _said(measure: str, value: float, unit: str) -> str:
    return f"{value:,.0f}" if unit in _COUNTED else quantity(measure, value)


def plot(result: Result) -> Figure:
    """Draw the distributions of completion times and waits, and what became of the GPUs."""
    table = result.table
    names = list(dict.fromkeys(table["trace"]))
    colors = {name: CYCLE[i % len(CYCLE)] for i, name in enumerate(names)}
    single = table[table["percentile"].isna()].set_index(["trace", "measure"])["value"]
    counts = {n: int(single[n, "jobs"]) for n in names}
    fig, axes = canvas(3, width=11, height=3.6)
    for ax, curve, label in (
        (axes[0], "jct_s", "job completion time"),
        (axes[1], "wait_s", "time that a job did not run"),
    ):
        rows = table[table["measure"] == curve]
        rows = rows.assign(value=rows["value"].clip(lower=1))  # where the axis begins
        cdf(ax, rows, value="value", by="trace", colors=colors, counts=counts)
        time_axis(ax, 1, max(float(rows["value"].max() or 1), 60))
        ax.set(xlabel=label, ylabel="share of jobs")
    label_lines(axes[:2])
    parts = {"held": "held_frac", "fragments of idle": "fragmented_frac"}
    bars(
        axes[2],
        list(parts),
        {n: [100 * _number(single, n, m) for m in parts.values()] for n in names},
        colors=colors,
    )
    axes[2].set(ylabel="share of GPU time, %", ylim=(0, 105))
    return fig


def _number(single: "pd.Series[float]", trace: str, measure: str) -> float:
    value = single[trace, measure]
    return float("nan") if value is None else float(value)


def _in_order(common: int, who: Iterator[str], differences: Iterator[str]) -> tuple[str, ...]:
    """Say first what differs; but before that, if these are different jobs."""
    return (*differences, *who) if common else (*who, *differences)


def _names(traces: Sequence[Trace]) -> list[str]:
    """Return a name for each trace: its folder, and of a what-if the policy and what is set.

    Of the knobs those are named in which what-ifs under one policy differ; what is alike still, is
    told by the folder above it, and at last numbered.
    """
    folders = [
        t.manifest.name if is_selected(t.manifest) else t.path.name  # which is of this session
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
        told = [k for k in knobs if any(k not in others for others in rivals)]
        said = ", ".join([policy, *told]) if policy else ""
        names.append(folder if said in ("", folder) else f"{folder} ({said})")
    return unique_names(names)


def _policy(trace: Trace) -> tuple[str, tuple[str, ...]]:
    """Return the policy and the knobs under which a trace was simulated; empty: it was not."""
    for note in trace.manifest.notes:
        if found := _SIMULATED.match(note):
            return found[1], tuple(filter(None, (found[2] or "").split(", ")))
    return "", ()


def _facts(table: pd.DataFrame, names: Sequence[str]) -> Iterator[Fact]:
    single = table[table["percentile"].isna()].set_index(["trace", "measure"])["value"]
    for name in names:
        for measure, unit, meaning in SCALARS:
            value = single[name, measure]
            if value is not None and not np.isnan(value):
                known = int(value) if unit in _COUNTED else float(value)
                yield Fact(f"{name}_{measure}", known, f"{name}: {meaning}")


def _sentences(table: pd.DataFrame, names: Sequence[str]) -> Iterator[str]:
    single = table[table["percentile"].isna()].set_index(["trace", "measure"])["value"]
    base = _number(single, names[0], "mean_jct_s")
    for name in names[1:]:
        own = _number(single, name, "mean_jct_s")
        if base > 0 and own > 0:
            held = _number(single, name, "held_frac")
            change = share(abs(own / base - 1))
            than = f"{change} {'longer' if own > base else 'shorter'} than the {duration(base)}"
            yield (
                f"Under {name} the mean job takes {duration(own)}, "
                f"{'as' if change == '0 %' else than} under {names[0]}"
                + (f"; jobs hold {share(held)} of the GPU time." if held == held else ".")
            )


def _who(common: int, beside: Mapping[str, int]) -> Iterator[str]:
    """Say which jobs are compared, where a trace has others."""
    if not common:
        each = ", ".join(f"{name} {n:,}" for name, n in beside.items())
        yield (
            f"The traces have no job in common, so these are different jobs ({each}): differences "
            "are of workloads and clusters as well as of policies."
        )
    elif any(beside.values()):
        each = ", ".join(f"{n:,} in {name}" for name, n in beside.items())
        are = "job is" if common == 1 else "jobs are"
        yield f"{common:,} {are} compared that ended in each; left out are {each}."


def _caveats(common: int, beside: Mapping[str, int]) -> tuple[str, ...]:
    if common and any(beside.values()):
        return (
            "GPUs held and idle, and the time from first submission to last end, are of all jobs "
            "of a trace, not of the common ones alone.",
        )
    return ()
