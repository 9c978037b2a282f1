"""Compute histograms of utilisation over intervals of time, or list the readings in them.

A join compares each reading with each attempt. Here, readings are sorted by machine and time. The
readings of an interval are then a range, found by bisection, and its histogram is one count. The
cost is reading the samples, plus one addition per allocated minute, however jobs overlap.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa

from philly_analysis.trace.sample_reader import (
    MINUTE_US,
    NULL,
    FloatArray,
    IntArray,
    Readings,
    moment_us,
    timestamps_us,
)
from philly_analysis.trace.schema import LONGEST_READING

INTERVAL = ("machine_id", "place", "from_at", "until_at")
"""Columns of every interval: its index in the lists of readings, from 1, and its time."""

COUNTS = ("bin", "minutes", "sum_pct")
"""Columns of every count, after the interval's own keys."""

LISTED = ("since", "minutes", "pct")
"""Columns of every listed reading, after the interval's own keys."""

_ABSENT = NULL + 1
"""Value and bin of a list that ends before the index."""
_BINS = 103
_MAX_SORTED = 1 << 19
"""Counts that are sorted at once, which bounds memory."""
_CHUNK = 1 << 16
"""Readings that are counted at once: few enough for a processor's cache."""


def cut_intervals(rows: pa.Table, begins: datetime, ends: datetime) -> pa.Table:
    """Return the intervals that readings of some time may reach, cut to that time.

    Parameters
    ----------
    rows
        Intervals, sorted by start: the columns of INTERVAL, and keys of their own.
    """
    since, late = moment_us(begins), moment_us(ends + LONGEST_READING)
    rows = rows.slice(0, int(np.searchsorted(timestamps_us(rows["from_at"]), late)))
    rows = rows.filter(pa.array(timestamps_us(rows["until_at"]) > since))
    for name in ("from_at", "until_at"):
        moments = pa.array(timestamps_us(rows[name]).clip(since, late))
        index = rows.schema.get_field_index(name)
        rows = rows.set_column(index, name, moments.view(pa.timestamp("us")))
    return rows


@dataclass(frozen=True, slots=True)
class Slice:
    """Samples between two moments, and the intervals to count them over.

    Attributes
    ----------
    table, files
        The table of samples, and its files.
    begins, ends
        First moment, and the moment after the last reading, UTC.
    intervals
        Intervals by relation, with the columns of INTERVAL and keys of their own. A reading counts
        for as long as it overlaps an interval.
    listed
        Names of the relations whose intervals get a list of the readings that start in them.
    """

    table: str
    files: tuple[str, ...]
    begins: datetime
    ends: datetime
    intervals: Mapping[str, pa.Table]
    listed: frozenset[str] = frozenset()

    def count(self) -> dict[str, pa.Table]:
        """Count the samples, in any thread, process or machine that can read the files.

        Returns
        -------
        dict of pyarrow.Table
            For each relation, a row per (interval, bin): the interval's keys, ``bin`` (percent
            rounded up; null: no reading), ``minutes``, and ``sum_pct``, the readings in % times
            minutes. For listed relations, a row per (interval, reading): the interval's keys,
            ``since``, ``minutes`` that the reading covers, and ``pct``; no row without a reading.
        """
        from pyarrow.compute import unique

        names = [chunk for s in self.intervals.values() for chunk in s["machine_id"].chunks]
        machines = unique(pa.chunked_array(names, pa.string()))
        readings = Readings.of(self.table, self.files, self.begins, self.ends, machines)
        return {
            name: (_list if name in self.listed else _count)(readings, intervals, machines)
            for name, intervals in self.intervals.items()
        }


def sum_counts(parts: Sequence[pa.Table]) -> pa.Table:
    """Sum the counts of intervals with equal keys, in the order of the parts."""
    rows = pa.concat_tables(parts)
    group = _group_numbers(rows.drop_columns(list(COUNTS)))
    sizes = np.cumsum(np.bincount(group))
    cuts = np.searchsorted(sizes, np.arange(_MAX_SORTED, len(rows), _MAX_SORTED)) + 1
    totals = []
    for begins, ends in pairwise(np.unique([0, *cuts, max(len(sizes), 1)])):
        chosen = (begins <= group) & (group < ends)
        totals.append(_sum_counts(rows.filter(pa.array(chosen)).combine_chunks(), group[chosen]))
    return pa.concat_tables(totals)


def _sum_counts(rows: pa.Table, group: IntArray) -> pa.Table:
    bin_, *summed = COUNTS
    bins = rows[bin_].fill_null(NULL).to_numpy()
    cell = group * _BINS + bins
    order = np.argsort(cell, kind="stable")
    ranked = cell[order]
    begins = np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)]
    number = np.cumsum(begins) - 1
    first = order[begins]
    total = rows.drop_columns(summed).take(pa.array(first))
    for name in summed:
        values = rows[name].fill_null(0).to_numpy()[order]
        sums = np.bincount(number, values).astype(float)  # bincount of none returns integers
        mask = None if name == "minutes" else bins[first] == NULL
        total = total.append_column(name, pa.array(sums, mask=mask))
    return total


def _count(readings: Readings, intervals: pa.Table, machines: pa.Array) -> pa.Table:
    arrays = _IntervalArrays.of(intervals, machines)
    # readings reach into an interval at its start, are within it, and reach out at its end
    longest = int(readings.durations_us.max(initial=0))
    first = readings.first(arrays.machine, arrays.from_us - longest + 1)
    within = readings.first(arrays.machine, arrays.from_us)
    leaving = np.maximum(readings.first(arrays.machine, arrays.until_us - longest + 1), within)
    end = np.maximum(readings.first(arrays.machine, arrays.until_us), leaving)
    tallies = [
        *_tallies(readings, arrays, first, within, clip=True),
        *_tallies(readings, arrays, within, leaving, clip=False),
        *_tallies(readings, arrays, leaving, end, clip=True),
    ]
    interval, bins, minutes, sums = _columns(tallies, int, int, float, float)
    null = bins == NULL
    counts = (
        pa.array(bins.astype(np.int8), mask=null),
        pa.array(minutes),
        pa.array(sums, mask=null),
    )
    return _with_keys(intervals, interval, dict(zip(COUNTS, counts, strict=True)))


def _list(readings: Readings, intervals: pa.Table, machines: pa.Array) -> pa.Table:
    arrays = _IntervalArrays.of(intervals, machines)
    first, end = (readings.first(arrays.machine, at) for at in (arrays.from_us, arrays.until_us))
    parts = [
        (np.repeat(chunk, n)[valid], row[valid], values[valid])
        for chunk, n, row, values in _readings_of(readings, arrays, first, end)
        for valid in [values < NULL]
    ]
    interval, row, values = _columns(parts, int, int, float)
    durations_us = readings.durations_us[
        row if len(readings.durations_us) > 1 else np.zeros_like(row)
    ]
    columns = (
        pa.array(readings.from_us[row]).view(pa.timestamp("us")),
        pa.array(durations_us / MINUTE_US),
        pa.array(values),
    )
    return _with_keys(intervals, interval, dict(zip(LISTED, columns, strict=True)))


def _columns(parts: Sequence[tuple[Any, ...]], *kinds: type) -> list[Any]:
    """Concatenate the columns of parts; without parts the columns are empty."""
    none: tuple[Any, ...] = tuple(np.empty(0, kind) for kind in kinds)
    return [np.concatenate(column) for column in zip(none, *parts, strict=True)]


def _with_keys(intervals: pa.Table, which: IntArray, columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return columns computed of some intervals, beside the intervals' keys."""
    rows = intervals.drop_columns(list(INTERVAL)).take(pa.array(which, pa.int64()))
    for name, values in columns.items():
        rows = rows.append_column(name, values)
    return rows


@dataclass(frozen=True, slots=True)
class _IntervalArrays:
    """Server, index in its lists, times and group of each interval; equal keys are one group."""

    machine: IntArray
    index: IntArray
    from_us: IntArray
    until_us: IntArray
    group: IntArray

    @classmethod
    def of(cls, intervals: pa.Table, machines: pa.Array) -> Self:
        """Read intervals; servers are numbered by their places in `machines`."""
        from pyarrow.compute import index_in

        return cls(
            index_in(intervals["machine_id"], machines).to_numpy().astype(np.int64),
            intervals["place"].to_numpy().astype(np.int64) - 1,
            timestamps_us(intervals["from_at"]),
            timestamps_us(intervals["until_at"]),
            _group_numbers(intervals.drop_columns(list(INTERVAL))),
        )


def _group_numbers(keys: pa.Table) -> IntArray:
    """Return a number per row, equal for equal rows."""
    numbers = np.zeros(len(keys), np.int64)
    for nth, column in enumerate(keys.columns):
        values = column.combine_chunks().dictionary_encode("encode")
        numbers = numbers * len(values.dictionary) + values.indices.to_numpy()
        if nth:  # keeps the numbers small
            numbers = pa.array(numbers).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def _readings_of(
    readings: Readings, arrays: _IntervalArrays, first: IntArray, end: IntArray
) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
    """Yield intervals, the number of readings of each from `first` to before `end`, rows, values.

    Few intervals are yielded at a time. Intervals without readings are not yielded.
    """
    [some] = np.nonzero(end > first)
    if not len(some):
        return
    # sorted, so that the lists of a server stay in the processor's cache
    some = some[np.argsort(first[some], kind="stable")]
    upto = np.cumsum((end - first)[some])
    cuts = np.searchsorted(upto, np.arange(_CHUNK, upto[-1], _CHUNK))
    for chunk in np.split(some, np.unique(cuts)):
        n = (end - first)[chunk]
        row = np.repeat(first[chunk] - (np.cumsum(n) - n), n)
        row += np.arange(len(row))
        at = readings.starts[row]
        index = arrays.index[chunk]
        nth = np.repeat(index, n)
        at += nth
        if (readings.shortest[arrays.machine[chunk]] > index).all():
            values = readings.values[at]
        else:
            has = nth < readings.lengths[row]
            values = np.where(has, readings.values[np.where(has, at, 0)], _ABSENT)
        yield chunk, n, row, values


def _tallies(
    readings: Readings, arrays: _IntervalArrays, first: IntArray, end: IntArray, *, clip: bool
) -> Iterator[tuple[IntArray, IntArray, FloatArray, FloatArray]]:
    """Yield (interval, bin, minutes, sum) of the readings from `first` to before `end`.

    Counts of intervals in one group are summed, and stored under one interval of the group.

    Parameters
    ----------
    clip
        Count only the part of each reading within the interval.
    """
    for chunk, n, row, values in _readings_of(readings, arrays, first, end):
        cell = np.ceil(values).astype(np.int64)
        _, one, number = np.unique(arrays.group[chunk], return_index=True, return_inverse=True)
        cell += np.repeat(number * _BINS, n)
        durations_us = readings.durations_us
        if len(durations_us) > 1:
            durations_us = durations_us[row]
        if not clip and len(durations_us) == 1:
            minutes_each = durations_us[0] / MINUTE_US
            minutes = np.bincount(cell) * minutes_each
            sums = np.bincount(cell, values) * minutes_each
        else:
            if clip:
                since, until = (np.repeat(at[chunk], n) for at in (arrays.from_us, arrays.until_us))
                begins = readings.from_us[row]
                inside = np.minimum(begins + durations_us, until) - np.maximum(begins, since)
                durations_us = np.maximum(inside, 0)
            weight = durations_us / MINUTE_US
            minutes = np.bincount(cell, weight)
            sums = np.bincount(cell, weight * values)
        bins = np.arange(len(minutes)) % _BINS
        [some] = np.nonzero((minutes > 0) & (bins != _ABSENT))
        yield chunk[one[some // _BINS]], bins[some], minutes[some], sums[some]
