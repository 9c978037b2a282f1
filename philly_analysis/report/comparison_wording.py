"""Describe a comparison of traces in sentences: completion times, gang sizes, GPU time, jobs."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from philly_analysis.experiments import lacks_queue
from philly_analysis.report.comparison_figures import single_numbers
from philly_analysis.report.comparison_groups import GroupChange, changes_in
from philly_analysis.results import (
    Paired,
    Result,
    count,
    duration,
    gang_label,
    interval_text,
    is_clear,
    is_zero,
    number,
    share,
)

_TIMES = 2.0
"""Ratio from which on a change is given as one."""

_CHANGES = {
    "is shorter": "every",
    "is longer": "every",
    "is the same": "every",
    "does not change clearly": "any",
}
"""What a mean completion time does, and the word before "gang size" where it does so for all."""


def verdicts(
    table: pd.DataFrame, names: Sequence[str], changes: Mapping[str, Paired]
) -> Iterator[str]:
    """Yield a sentence per trace on the change of its mean completion time against the first."""
    single = single_numbers(table)
    base = single[names[0], "mean_jct_s"]
    for name in names[1:]:
        mean_s, change = single[name, "mean_jct_s"], changes[name]
        if not (base > 0 and mean_s > 0):
            continue
        ratio = mean_s / base
        size = share(abs(ratio - 1))
        ends = f"{interval_text(change)} %"
        if is_zero(change) or size == "0 %":
            than = "as"
        elif ratio >= _TIMES:
            than = f"{ratio:.1f} times the {duration(base)}"
            ends = f"{1 + change.low / 100:.1f} to {1 + change.high / 100:.1f} times"
        else:
            than = f"{size} {'longer' if mean_s > base else 'shorter'} than the {duration(base)}"
        chance = "" if is_clear(change) else ", which includes no change"
        bare = is_zero(change) or np.isnan(change.low)
        interval = "" if bare else f" (95 % interval {ends}{chance})"
        yield (
            f"Under {name} the mean completion time is {duration(mean_s)}, "
            f"{than} under {names[0]}{interval}."
        )


def group_sentences(result: Result) -> Iterator[str]:
    """Yield which gang sizes take shorter and longer, by trace, and how many users."""
    base, *names = dict.fromkeys(result.table["trace"])
    changes = [c for c in changes_in(result.table) if c.by == "gang"]
    for name in names:
        trace_changes = [c for c in changes if c.trace == name]
        parts = [
            f"{what} for {_sizes(some, trace_changes, every)}"
            for what, every in _CHANGES.items()
            if (some := [c for c in trace_changes if _what_changes(c.change) == what])
        ]
        if parts:
            yield f"Under {name} the mean completion time {'; '.join(parts)}."
        users = dict(result.facts).get(f"{name}_users")
        if users:
            longer = int(result.facts[f"{name}_users_longer"] or 0)
            who = f"{longer:,} of {count(int(users), 'user')}" if longer else "No user"
            has = "have" if longer > 1 else "has"
            yield f"{who} {has} a longer mean completion time under {name} than under {base}."


def _what_changes(change: Paired) -> str:
    """Return a key of :data:`_CHANGES`."""
    if is_zero(change):
        return "is the same"
    if not is_clear(change):
        return "does not change clearly"
    return "is shorter" if change.high < 0 else "is longer"


def _sizes(some: Sequence[GroupChange], trace_changes: Sequence[GroupChange], every: str) -> str:
    if 1 < len(some) == len(trace_changes):
        return f"{every} gang size"
    return f"jobs of {', '.join(gang_label(c.group) for c in some)}"


def activity_sentences(result: Result) -> Iterator[str]:
    """Yield the share of GPU time allocated and the mean queue by trace."""
    single = single_numbers(result.table)
    names = list(dict.fromkeys(result.table["trace"]))
    allocated = {n: float(single[n, "held_frac"]) for n in names}
    if not any(map(np.isnan, allocated.values())):
        numbers = ", ".join(f"{share(frac)} under {name}" for name, frac in allocated.items())
        yield numbers.replace(" under", " of the GPU time is allocated under", 1) + "."
    waiting = result.table[result.table["measure"] == "waiting_gpus"]
    queue = waiting.groupby("trace", sort=False)["value"].mean()
    if len(queue) and not queue.any():
        yield f"No job waits for GPUs under {', '.join(map(str, queue.index))}."
    elif len(queue):
        numbers = ", ".join(f"{number(float(gpus))} under {name}" for name, gpus in queue.items())
        yield f"On average jobs wait for {numbers.replace(' under', ' GPUs under', 1)}."


def without_queue(
    table: pd.DataFrame, names: Sequence[str], sizes: Mapping[str, int]
) -> Iterator[str]:
    """Yield that no job waits in any trace, and the load that would fill the smallest cluster.

    Parameters
    ----------
    sizes
        GPUs of the cluster of each trace, where they are known.
    """
    waits_s = single_numbers(table).reindex([(name, "mean_wait_s") for name in names])
    if not lacks_queue(waits_s):
        return
    yield "No job waits in any of the traces, so that policies have nothing to choose."
    busiest = table[table["measure"] == "allocated_gpus"].groupby("trace")["value"].max()
    allocated = {str(name): float(gpus) for name, gpus in busiest.items() if gpus > 0}
    factors = {name: sizes[name] / gpus for name, gpus in allocated.items() if name in sizes}
    if factors:
        name = min(factors, key=lambda trace: factors[trace])
        yield (
            f"In the busiest of 96 intervals {number(allocated[name])} of {sizes[name]:,} GPUs are "
            f"allocated under {name}: a queue needs about {factors[name]:.2g} times the load."
        )


def which_jobs(common: int, excluded: Mapping[str, int]) -> str:
    """Return a sentence on which jobs are compared; empty: all jobs of each trace."""
    if not common and (without := [name for name, n in excluded.items() if not n]):
        return f"No times can be compared: no job in {' and '.join(without)} has a known end."
    if not common:
        counts = ", ".join(f"{n:,} in {name}" for name, n in excluded.items())
        return (
            f"The traces have no job in common. Different jobs are compared ({counts}), so that "
            "differences are of workloads and clusters as well as of policies."
        )
    if not any(excluded.values()):
        return ""
    counts = ", ".join(f"{n:,} in {name}" for name, n in excluded.items() if n)
    jobs = "job that ended in each is" if common == 1 else "jobs that ended in each are"
    return f"{common:,} {jobs} compared; excluded: {counts}."
