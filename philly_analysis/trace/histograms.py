"""Counts for how long samples stood at each percent, over stretches of time; or lists them.

To bring every reading of a GPU to every attempt that held it is most of the work behind a page. An
engine of joins does it row by row. Here the readings lie machine by machine in order of time: a
stretch of time is a range of them, found by bisection, and its histogram is one count. So the time
is that of reading the samples, and of one addition for each minute held, however jobs overlap.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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

STRETCH = ("machine_id", "place", "from_at", "until_at")
"""Columns of every stretch: its place in the lists that are the readings, from 1, and its time."""

COUNTS = ("bin", "minutes", "sum_pct")
"""Columns of every count, after those that a stretch has beside STRETCH."""

LISTED = ("since", "minutes", "pct")
"""Columns of every list, after the same."""

_NONE = NULL + 1
"""What stands for a list that ends before the place; its bin is the same."""
_BINS = 103
_AT_ONCE = 1 << 19
"""Counts that are sorted at once: this bounds memory."""
_CHUNK = 1 << 16
"""Minutes counted at once: few enough to stay in a processor's cache."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of time of a relation, with the columns of STRETCH and others, by their starts."""

    rows: pa.Table
    from_us: IntArray
    until_us: IntArray

    @classmethod
    def of(cls, rows: pa.Table) -> Self:
        """Take rows that are in order of ``from_at``."""
        return cls(rows, *(timestamps_us(rows[name]) for name in ("from_at", "until_at")))

    def within(self, begins: datetime, ends: datetime) -> Self:
        """Return those that readings may have a part in which begin in some time, cut to it."""
        since, late = moment_us(begins), moment_us(ends + LONGEST_READING)
        upto = int(np.searchsorted(self.from_us, late))
        met = self.until_us[:upto] > since
        rows = self.rows.slice(0, upto).filter(pa.array(met))
        from_us = np.maximum(self.from_us[:upto][met], since)
        until_us = np.minimum(self.until_us[:upto][met], late)
        for name, moments in (("from_at", from_us), ("until_at", until_us)):
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, name, pa.array(moments).view(pa.timestamp("us")))
        return type(self)(rows, from_us, until_us)


@dataclass(frozen=True, slots=True)
class Slice:
    """Samples of some time, and the stretches to count them over; nothing in it needs a trace.

    Attributes
    ----------
    table, files
        The table of samples, and its files.
    begins, ends
        Samples from here on and before here, UTC.
    stretches
        By the name of the relation they are of, with the columns of STRETCH and others. They
        have what they share with the readings: all of those that lie within them.
    listed
        Names of those relations whose stretches have each reading that begins in them instead.
    """

    table: str
    files: tuple[str, ...]
    begins: datetime
    ends: datetime
    stretches: Mapping[str, pa.Table]
    listed: frozenset[str] = frozenset()

    def counted(self) -> dict[str, pa.Table]:
        """Count; may run in any thread, process or machine that can read the files.

        Returns
        -------
        dict of pyarrow.Table
            For each relation, a row per (stretch, bin): what the stretch has beside STRETCH,
            ``bin`` (percent rounded up; null: no reading), ``minutes``, and ``sum_pct``, the
            readings in % times minutes. Of those listed, a row per (stretch, reading): the same,
            ``since``, ``minutes`` that it stands for, and ``pct``; none where there is no reading.
        """
        names = [chunk for s in self.stretches.values() for chunk in s["machine_id"].chunks]
        machines = pc.unique(pa.chunked_array(names, pa.string()))
        readings = Readings.of(self.table, self.files, self.begins, self.ends, machines)
        return {
            name: (_listed if name in self.listed else _counted)(readings, stretches, machines)
            for name, stretches in self.stretches.items()
        }


def added_up(parts: Sequence[pa.Table]) -> pa.Table:
    """Add up counts of stretches that are alike, always in the order in which they are given."""
    rows = pa.concat_tables(parts)
    alike = _alike(rows.drop_columns(list(COUNTS)))
    many = np.cumsum(np.bincount(alike))
    cuts = np.searchsorted(many, np.arange(_AT_ONCE, len(rows), _AT_ONCE)) + 1
    totals = []
    for begins, ends in pairwise(np.unique([0, *cuts, max(len(many), 1)])):
        here = (begins <= alike) & (alike < ends)
        totals.append(_added_up(rows.filter(pa.array(here)).combine_chunks(), alike[here]))
    return pa.concat_tables(totals)


def _added_up(rows: pa.Table, alike: IntArray) -> pa.Table:
    bin_, *summed = COUNTS
    bins = rows[bin_].fill_null(NULL).to_numpy()
    cell = alike * _BINS + bins
    order = np.argsort(cell, kind="stable")
    ranked = cell[order]
    begins = np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)]
    number = np.cumsum(begins) - 1
    first = order[begins]
    total = rows.drop_columns(summed).take(pa.array(first))
    for name in summed:
        values = rows[name].fill_null(0).to_numpy()[order]
        sums = np.bincount(number, values).astype(float)  # whole numbers if there are none
        mask = None if name == "minutes" else bins[first] == NULL
        total = total.append_column(name, pa.array(sums, mask=mask))
    return total


def _counted(readings: Readings, stretches: pa.Table, machines: pa.Array) -> pa.Table:
    held = _Held.of(stretches, machines)
    # readings reach into a stretch at its start, lie within it, and reach out at its end
    longest = int(readings.lasts.max(initial=0))
    first = readings.first(held.machine, held.from_us - longest + 1)
    within = readings.first(held.machine, held.from_us)
    leaving = np.maximum(readings.first(held.machine, held.until_us - longest + 1), within)
    end = np.maximum(readings.first(held.machine, held.until_us), leaving)
    found = [
        *_tallies(readings, held, first, within, clip=True),
        *_tallies(readings, held, within, leaving, clip=False),
        *_tallies(readings, held, leaving, end, clip=True),
    ]
    stretch, bins, minutes, sums = _columns(found, int, int, float, float)
    null = bins == NULL
    counts = (
        pa.array(bins.astype(np.int8), mask=null),
        pa.array(minutes),
        pa.array(sums, mask=null),
    )
    return _of_stretches(stretches, stretch, dict(zip(COUNTS, counts, strict=True)))


def _listed(readings: Readings, stretches: pa.Table, machines: pa.Array) -> pa.Table:
    held = _Held.of(stretches, machines)
    first, end = (readings.first(held.machine, at) for at in (held.from_us, held.until_us))
    found = [
        (np.repeat(chunk, n)[told], row[told], values[told])
        for chunk, n, row, values in _met(readings, held, first, end)
        for told in [values < NULL]
    ]
    stretch, row, values = _columns(found, int, int, float)
    lasts = readings.lasts[row if len(readings.lasts) > 1 else np.zeros_like(row)]
    told = (
        pa.array(readings.from_us[row]).view(pa.timestamp("us")),
        pa.array(lasts / MINUTE_US),
        pa.array(values),
    )
    return _of_stretches(stretches, stretch, dict(zip(LISTED, told, strict=True)))


def _columns(found: Sequence[tuple[Any, ...]], *kinds: type) -> list[Any]:
    """Put the columns of parts together; of these kinds where there is no part."""
    none: tuple[Any, ...] = tuple(np.empty(0, kind) for kind in kinds)
    return [np.concatenate(column) for column in zip(none, *found, strict=True)]


def _of_stretches(stretches: pa.Table, which: IntArray, told: Mapping[str, pa.Array]) -> pa.Table:
    """Put what was found of stretches beside what they have beside STRETCH."""
    rows = stretches.drop_columns(list(STRETCH)).take(pa.array(which, pa.int64()))
    for name, values in told.items():
        rows = rows.append_column(name, values)
    return rows


@dataclass(frozen=True, slots=True)
class _Held:
    """Of each stretch its server, its place there, its time, and a number shared by its like."""

    machine: IntArray
    place: IntArray
    from_us: IntArray
    until_us: IntArray
    alike: IntArray

    @classmethod
    def of(cls, stretches: pa.Table, machines: pa.Array) -> Self:
        """Read stretches; servers are told by their places among `machines`."""
        return cls(
            pc.index_in(stretches["machine_id"], machines).to_numpy().astype(np.int64),
            stretches["place"].to_numpy().astype(np.int64) - 1,
            timestamps_us(stretches["from_at"]),
            timestamps_us(stretches["until_at"]),
            _alike(stretches.drop_columns(list(STRETCH))),
        )


def _alike(keys: pa.Table) -> IntArray:
    """Give the rows of a table numbers, those that are the same the same one."""
    numbers = np.zeros(len(keys), np.int64)
    for nth, column in enumerate(keys.columns):
        values = column.combine_chunks().dictionary_encode("encode")
        numbers = numbers * len(values.dictionary) + values.indices.to_numpy()
        if nth:  # numbers of pairs, as small again as can be
            numbers = pa.array(numbers).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def _met(
    readings: Readings, held: _Held, first: IntArray, end: IntArray
) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
    """Yield stretches, how many readings each has from `first` to before `end`, which and values.

    Few at a time: those that have none are left out.
    """
    [some] = np.nonzero(end > first)
    if not len(some):
        return
    # places of a server one after the other, so that its lists are still at hand
    some = some[np.argsort(first[some], kind="stable")]
    upto = np.cumsum((end - first)[some])
    cuts = np.searchsorted(upto, np.arange(_CHUNK, upto[-1], _CHUNK))
    for chunk in np.split(some, np.unique(cuts)):
        n = (end - first)[chunk]
        row = np.repeat(first[chunk] - (np.cumsum(n) - n), n)
        row += np.arange(len(row))
        at = readings.starts[row]
        place = held.place[chunk]
        nth = np.repeat(place, n)
        at += nth
        if (readings.shortest[held.machine[chunk]] > place).all():
            values = readings.values[at]
        else:
            has = nth < readings.lengths[row]
            values = np.where(has, readings.values[np.where(has, at, 0)], _NONE)
        yield chunk, n, row, values


def _tallies(
    readings: Readings, held: _Held, first: IntArray, end: IntArray, *, clip: bool
) -> Iterator[tuple[IntArray, IntArray, FloatArray, FloatArray]]:
    """Yield (stretch, bin, minutes, sum) of each stretch's readings from `first` to before `end`.

    Those of stretches that are alike are put together, as of one of them. With `clip`, of each
    reading only what lies in the stretch.
    """
    for chunk, n, row, values in _met(readings, held, first, end):
        cell = np.ceil(values).astype(np.int64)
        _, one, number = np.unique(held.alike[chunk], return_index=True, return_inverse=True)
        cell += np.repeat(number * _BINS, n)
        lasts = readings.lasts
        if len(lasts) > 1:
            lasts = lasts[row]
        if not clip and len(lasts) == 1:
            each = lasts[0] / MINUTE_US
            minutes = np.bincount(cell) * each
            sums = np.bincount(cell, values) * each
        else:
            if clip:
                since, until = (np.repeat(at[chunk], n) for at in (held.from_us, held.until_us))
                begins = readings.from_us[row]
                inside = np.minimum(begins + lasts, until) - np.maximum(begins, since)
                lasts = np.maximum(inside, 0)
            weight = lasts / MINUTE_US
            minutes = np.bincount(cell, weight)
            sums = np.bincount(cell, weight * values)
        bins = np.arange(len(minutes)) % _BINS
        [counted] = np.nonzero((minutes > 0) & (bins != _NONE))
        yield chunk[one[counted // _BINS]], bins[counted], minutes[counted], sums[counted]
