"""Read samples as arrays of readings, sorted by server and time.

A sample without a duration covers a minute.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from philly_analysis.errors import TraceError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

NULL = 101
"""Value of a missing reading."""
MINUTE_US = 60_000_000
"""Duration of a sample that has none, microseconds."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Readings, sorted by server and time.

    Attributes
    ----------
    since, span
        Moment of the first reading, microseconds since 1970; and the length of each server's part
        of the line.
    line
        Position of each reading on a line where servers follow each other, a `span` each.
    from_us
        Start of each reading, microseconds since 1970.
    durations_us
        Duration of each reading, microseconds; of length 1 if all are equal.
    starts, lengths
        Index of the first value of each reading's list in `values`, and the number of its values.
    values
        Readings in percent, or :data:`NULL`.
    shortest
        Length of the shortest list of each server.
    """

    since: int
    span: int
    line: IntArray
    from_us: IntArray
    durations_us: IntArray
    starts: IntArray
    lengths: IntArray
    values: FloatArray
    shortest: IntArray

    @classmethod
    def of(
        cls,
        table: str,
        files: Sequence[str | Path],
        begins: datetime,
        ends: datetime,
        machines: pa.Array,
    ) -> Self:
        """Read the samples of some servers between two moments.

        Parameters
        ----------
        table
            A key of :data:`LISTS`.
        files
            Parquet files of the table, which may lack optional columns.
        machines
            Names of the servers; a server's number is its index in this array.

        Raises
        ------
        TraceError
            A file is no Parquet file.
        """
        columns, lists = LISTS[table]
        wanted = (*_KEY, *columns)
        # columns that a file lacks become null
        parts = [pa.table({name: pa.nulls(0) for name in wanted})]
        parts += [_read(file, wanted, begins, ends) for file in files]
        rows = pa.concat_tables(parts, promote_options="default")
        from_us = timestamps_us(rows["sampled_at"])
        outside = (from_us < moment_us(begins)) | (from_us >= moment_us(ends))
        machine = _machine_numbers(rows["machine_id"], machines)
        machine[outside] = len(machines)  # to filter rows would copy their lists
        # small integers, which are sorted by radix; other servers and moments come last
        number = machine.astype(np.min_scalar_type(len(machines)))
        order = np.argsort(number, kind="stable")
        many = np.bincount(number, minlength=len(machines) + 1)[:-1]
        order = order[: many.sum()]
        from_us = from_us[order]
        since = int(from_us.min()) if len(from_us) else 0
        # one more entry, for moments after the last reading
        span = int(from_us.max(initial=since)) - since + 2
        line = np.repeat(np.arange(len(machines)) * span - since, many)
        line += from_us
        if (line[1:] < line[:-1]).any():  # few are late: a stable sort is fast then
            late = np.argsort(line, kind="stable")
            order, from_us, line = order[late], from_us[late], line[late]
        durations_us = _durations_us(rows["seconds"])
        starts, lengths, values = lists(rows, order)
        shortest = np.zeros(len(machines), np.int64)
        if len(lengths):
            shortest[many > 0] = np.minimum.reduceat(lengths, (np.cumsum(many) - many)[many > 0])
        return cls(
            since,
            span,
            line,
            from_us,
            durations_us if len(durations_us) == 1 else durations_us[order],
            starts,
            lengths,
            values,
            shortest,
        )

    def first(self, machine: IntArray, moment: IntArray) -> IntArray:
        """Return the first reading of each server that begins at a moment or later."""
        after = np.clip(moment - self.since, 0, self.span - 1)
        return np.searchsorted(self.line, machine * self.span + after)


def _gpu_readings(rows: pa.Table, order: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the utilisation of each GPU: starts and lengths of the rows' lists, and all values."""
    lists = rows["util_pct"].combine_chunks()
    offsets = lists.offsets.to_numpy()
    values = lists.values.cast(pa.float64())
    values = values.fill_null(NULL) if values.null_count else values
    starts, lengths = (of[order].astype(np.int64) for of in (offsets, np.diff(offsets)))
    return starts, lengths, values.to_numpy()


def _host_readings(rows: pa.Table, order: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return CPU utilisation and the share of memory in use, as lists of two values."""
    cpu, used, total = (
        rows[name].cast(pa.float64()).to_numpy() for name in ("cpu_pct", "mem_used_gb", "mem_gb")
    )
    values = np.empty((len(cpu), 2))
    values[:, 0] = cpu
    # rounding may exceed 100
    values[:, 1] = np.minimum(100 * used / total, 100)
    values[np.isnan(values)] = NULL
    return order * 2, np.full(len(order), 2), values.reshape(-1)


_ReadLists = Callable[[pa.Table, IntArray], tuple[IntArray, IntArray, FloatArray]]
LISTS: dict[str, tuple[tuple[str, ...], _ReadLists]] = {
    "gpu_samples": (("util_pct",), _gpu_readings),
    "host_samples": (("cpu_pct", "mem_used_gb", "mem_gb"), _host_readings),
}
"""Tables of samples: the columns with readings, and the function that returns them as lists."""
_KEY = ("sampled_at", "machine_id", "seconds")


def _read(path: str | Path, columns: Sequence[str], begins: datetime, ends: datetime) -> pa.Table:
    """Read the columns that a file has of the row groups with rows between two moments."""
    try:
        with pq.ParquetFile(path, read_dictionary=["machine_id"]) as file:
            present = [name for name in columns if name in file.schema_arrow.names]
            groups = _row_groups(file.metadata, begins, ends)
            return file.read_row_groups(groups, present, use_threads=False)
    except pa.ArrowInvalid as error:
        raise TraceError(f"{path} cannot be read: {error}. Ingest the trace again.") from None


def _row_groups(file: pq.FileMetaData, begins: datetime, ends: datetime) -> list[int]:
    """Return the row groups that may have rows between two moments, by the file's statistics."""
    paths = [file.schema.column(j).path for j in range(file.num_columns)]
    at, groups = paths.index("sampled_at"), []
    for i in range(file.num_row_groups):
        bounds = file.row_group(i).column(at).statistics
        if not (bounds and bounds.has_min_max) or (bounds.max >= begins and bounds.min < ends):
            groups.append(i)
    return groups


def _machine_numbers(names: pa.ChunkedArray, machines: pa.Array) -> IntArray:
    """Return the index of each name among the servers; an unknown name has the next free index."""
    from pyarrow.compute import index_in

    numbers = [np.empty(0, np.int64)]
    for chunk in names.chunks:
        number = index_in(chunk.dictionary.cast(pa.string()), machines).fill_null(len(machines))
        numbers.append(number.to_numpy().astype(np.int64)[chunk.indices.to_numpy()])
    return np.concatenate(numbers)


def moment_us(moment: datetime) -> int:
    """Return a moment as microseconds since 1970."""
    return int(np.datetime64(moment, "us").astype(np.int64))


def timestamps_us(moments: pa.Array | pa.ChunkedArray) -> IntArray:
    """Return moments as microseconds since 1970."""
    us: IntArray = moments.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    return us


def _durations_us(seconds: pa.ChunkedArray) -> IntArray:
    """Return the durations of readings, microseconds; one number if all are equal."""
    if seconds.null_count == len(seconds):
        return np.array([MINUTE_US])
    recorded_s = seconds.fill_null(MINUTE_US / 1e6).to_numpy()
    if recorded_s.min() == recorded_s.max():
        recorded_s = recorded_s[:1]
    durations_us: IntArray = np.rint(recorded_s * 1e6).astype(np.int64)
    return durations_us
