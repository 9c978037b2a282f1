"""Counts for how long samples stood at each percent, over stretches of time.

To bring every reading of a GPU to every attempt that held it is most of the work behind a page. An
engine of joins does it row by row. Here the readings lie machine by machine in order of time: a
stretch of time is a range of them, found by bisection, and its histogram is one count. So the time
is that of reading the samples, and of one addition for each minute held, however jobs overlap.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from philly_analysis.relations import engine, relations

Whole = NDArray[np.int64]
Real = NDArray[np.float64]

STRETCH = ("machine_id", "place", "from_at", "until_at")
"""Columns of every stretch: its place in the lists that are the readings, from 1, and its time."""

COUNTS = ("bin", "minutes", "sum_pct")
"""Columns of every count, after those that a stretch has beside STRETCH."""

_NULL, _NONE = 101, 102
"""What stands for no reading, and for a list that ends before the place; its bin is the same."""
_BINS = 103
_CHUNK = 1 << 16
"""Minutes counted at once: few enough to stay in a processor's cache."""
_US_PER_MIN = 60_000_000


@dataclass(frozen=True, slots=True)
class Slice:
    """Samples of some time, and the stretches to count them over; nothing in it needs a trace.

    Attributes
    ----------
    table, columns, files
        The table of samples, its columns as SELECTed from the files, and these.
    readings
        The relation that gives machine_id, from_us, until_us and values of each sample.
    begins, ends
        Samples from here on and before here, UTC.
    stretches
        By the name of the relation they are of, with the columns of STRETCH and others. They
        have what they share with the readings: all of those that lie within them.
    """

    table: str
    columns: str
    files: tuple[str, ...]
    readings: str
    begins: datetime
    ends: datetime
    stretches: Mapping[str, pa.Table]

    def counted(self) -> dict[str, pa.Table]:
        """Count; may run in any thread, process or machine that can read the files.

        Returns
        -------
        dict of pyarrow.Table
            For each relation, a row per (stretch, bin): what the stretch has beside STRETCH,
            ``bin`` (percent rounded up; null: no reading), ``minutes``, and ``sum_pct``, the
            readings in % times minutes.
        """
        names = [chunk for s in self.stretches.values() for chunk in s["machine_id"].chunks]
        machines = pc.unique(pa.chunked_array(names, pa.string()))
        readings = _Readings.of(self._read(machines), len(machines))
        return {
            name: _counted(readings, stretches, machines)
            for name, stretches in self.stretches.items()
        }

    def _read(self, machines: pa.Array) -> pa.Table:
        found = engine().cursor()
        try:
            return found.sql(
                f"""
                with {self.table} as (
                  select {self.columns}
                  from read_parquet($files, union_by_name = true)
                  where sampled_at >= $begins and sampled_at < $ends
                ),

                numbered as (
                  select unnest($machines) as machine_id, unnest(range(len($machines))) as machine
                ),

                readings as (
                  {relations()[self.readings].sql}
                )

                select machine, from_us, until_us, values
                from readings
                inner join numbered using (machine_id)
                """,
                params={
                    "files": list(self.files),
                    "begins": self.begins,
                    "ends": self.ends,
                    "machines": machines.to_pylist(),
                },
            ).to_arrow_table()
        finally:
            found.close()


@dataclass(frozen=True, slots=True)
class _Readings:
    """Readings, machine by machine in order of time.

    Attributes
    ----------
    line
        Where each begins on a line on which machine follows machine, a `span` each; microseconds.
    lasts
        For how long each stands, microseconds; of length 1 where all stand alike.
    starts, lengths
        Where the list of each begins in `values`, which are in the order of the files, and how
        many it has.
    shortest
        Length of the shortest list of each machine.
    """

    since: int
    span: int
    line: Whole
    from_us: Whole
    lasts: Whole
    starts: Whole
    lengths: Whole
    values: Real
    shortest: Whole

    @classmethod
    def of(cls, table: pa.Table, machines: int) -> Self:
        machine, from_us, until_us = (
            table[name].to_numpy() for name in ("machine", "from_us", "until_us")
        )
        since = int(from_us.min()) if len(from_us) else 0
        # one more than there are, for what begins after the last
        span = int(from_us.max(initial=since)) - since + 2
        # by numbers as short as can be, which are sorted by their digits
        number = machine.astype(np.min_scalar_type(machines))
        if (from_us[1:] >= from_us[:-1]).all():  # as ingest writes them
            order = np.argsort(number, kind="stable")
        else:
            order = np.lexsort((from_us, number))
        lasts = until_us - from_us
        alike = len(lasts) > 0 and lasts.min() == lasts.max()
        lists = table["values"].combine_chunks()
        offsets = lists.offsets.to_numpy()
        from_us = from_us[order]
        lengths = np.diff(offsets)
        shortest = np.zeros(machines, np.int64)
        for length in np.flatnonzero(np.bincount(lengths))[::-1]:  # what is assigned last stays
            shortest[machine[lengths == length]] = length
        line = np.repeat(
            np.arange(machines) * span - since, np.bincount(number, minlength=machines)
        )
        line += from_us
        values = lists.values.fill_null(_NULL) if lists.values.null_count else lists.values
        return cls(
            since,
            span,
            line,
            from_us,
            lasts[:1] if alike else lasts[order],
            offsets[:-1].astype(np.int64)[order],
            lengths[order],
            values.to_numpy(),
            shortest,
        )

    def first(self, machine: Whole, moment: Whole) -> Whole:
        """Return the first reading of each machine that begins at a moment or later."""
        after = np.clip(moment - self.since, 0, self.span - 1)
        return np.searchsorted(self.line, machine * self.span + after)


def _counted(readings: _Readings, stretches: pa.Table, machines: pa.Array) -> pa.Table:
    machine = pc.index_in(stretches["machine_id"], machines).to_numpy().astype(np.int64)
    place = stretches["place"].to_numpy().astype(np.int64) - 1
    from_us, until_us = (
        stretches[name].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        for name in ("from_at", "until_at")
    )
    # readings reach into a stretch at its start, lie within it, and reach out at its end
    longest = int(readings.lasts.max(initial=0))
    first = readings.first(machine, from_us - longest + 1)
    within = readings.first(machine, from_us)
    leaving = np.maximum(readings.first(machine, until_us - longest + 1), within)
    end = np.maximum(readings.first(machine, until_us), leaving)
    keys = stretches.drop_columns(list(STRETCH))
    held = _Held(machine, place, _alike(keys))
    found = [
        *_tallies(readings, held, first, within, (from_us, until_us)),
        *_tallies(readings, held, within, leaving, None),
        *_tallies(readings, held, leaving, end, (from_us, until_us)),
    ]
    stretch, bins, minutes, sums = (
        np.concatenate([part[i] for part in found]) if found else np.empty(0) for i in range(4)
    )
    null = bins == _NULL
    counts = (
        pa.array(bins.astype(np.int8), mask=null),
        pa.array(minutes),
        pa.array(sums, mask=null),
    )
    rows = keys.take(pa.array(stretch, pa.int64()))
    for name, values in zip(COUNTS, counts, strict=True):
        rows = rows.append_column(name, values)
    return rows


@dataclass(frozen=True, slots=True)
class _Held:
    """Of each stretch its server, its place there, and a number that it shares with its like."""

    machine: Whole
    place: Whole
    alike: Whole


def _alike(keys: pa.Table) -> Whole:
    """Give the rows of a table numbers, those that are the same the same one."""
    numbers = np.zeros(len(keys), np.int64)
    for column in keys.columns:
        values = column.combine_chunks().dictionary_encode("encode")
        pairs = numbers * len(values.dictionary) + values.indices.to_numpy()
        numbers = pa.array(pairs).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def _tallies(
    readings: _Readings,
    held: _Held,
    first: Whole,
    end: Whole,
    clip: tuple[Whole, Whole] | None,
) -> Iterator[tuple[Whole, Whole, Real, Real]]:
    """Yield (stretch, bin, minutes, sum) of each stretch's readings from `first` to before `end`.

    Those of stretches that are alike are put together, as of one of them. With `clip`, of each
    reading only what lies between these two moments of the stretch.
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
        cell = np.ceil(values).astype(np.int64)
        _, one, number = np.unique(held.alike[chunk], return_index=True, return_inverse=True)
        cell += np.repeat(number * _BINS, n)
        lasts = readings.lasts
        if len(lasts) > 1:
            lasts = lasts[row]
        if clip is None and len(lasts) == 1:
            each = lasts[0] / _US_PER_MIN
            minutes = np.bincount(cell) * each
            sums = np.bincount(cell, values) * each
        else:
            if clip is not None:
                since, until = (np.repeat(moment[chunk], n) for moment in clip)
                begins = readings.from_us[row]
                inside = np.minimum(begins + lasts, until) - np.maximum(begins, since)
                lasts = np.maximum(inside, 0)
            weight = lasts / _US_PER_MIN
            minutes = np.bincount(cell, weight)
            sums = np.bincount(cell, weight * values)
        bins = np.arange(len(minutes)) % _BINS
        [counted] = np.nonzero((minutes > 0) & (bins != _NONE))
        yield chunk[one[counted // _BINS]], bins[counted], minutes[counted], sums[counted]
