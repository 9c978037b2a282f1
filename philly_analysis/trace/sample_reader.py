"""Reads samples as readings: what each device of a server said, from when on and for how long.

Servers follow each other, and the readings of each are in order of time. Samples that say nothing
of how long they stand stand for a minute.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from philly_analysis.errors import TraceError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

NULL = 101
"""What stands for no reading."""
MINUTE_US = 60_000_000
"""How long a sample stands that says nothing of it."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Readings, server by server in order of time.

    Attributes
    ----------
    since, span
        Moment before which none begins, microseconds since 1970, and how long a server's part of
        the line is.
    line
        Where each begins on a line on which server follows server, a `span` each; microseconds.
    from_us
        When each begins, microseconds since 1970.
    lasts
        For how long each stands, microseconds; of length 1 where all stand alike.
    starts, lengths
        Where the list of each begins in `values`, and how many it has.
    values
        In percent, or :data:`NULL`.
    shortest
        Length of the shortest list of each server.
    """

    since: int
    span: int
    line: IntArray
    from_us: IntArray
    lasts: IntArray
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
        """Read the samples of some servers from a moment on, and before another.

        Parameters
        ----------
        table
            A key of :data:`LISTS`.
        files
            Its files in Parquet, whose columns it may lack that may be null.
        machines
            Names of the servers, which are told by their places in it.

        Raises
        ------
        TraceError
            A file is none of Parquet.
        """
        columns, lists = LISTS[table]
        rows = pa.concat_tables([_read(file, columns, begins, ends) for file in files])
        machine = _numbers(rows["machine_id"], machines)
        from_us = timestamps_us(rows["sampled_at"])
        # by numbers as short as can be, which are sorted by their digits; others come last
        number = machine.astype(np.min_scalar_type(len(machines)))
        order = np.argsort(number, kind="stable")
        many = np.bincount(number, minlength=len(machines) + 1)[:-1]
        order = order[: many.sum()]
        from_us = from_us[order]
        since = int(from_us.min()) if len(from_us) else 0
        # one more than there are, for what begins after the last
        span = int(from_us.max(initial=since)) - since + 2
        line = np.repeat(np.arange(len(machines)) * span - since, many)
        line += from_us
        if (line[1:] < line[:-1]).any():  # few are late, and those in order stay: that is quick
            late = np.argsort(line, kind="stable")
            order, from_us, line = order[late], from_us[late], line[late]
        lasts = _lasts(rows["seconds"])
        starts, lengths, values = lists(rows, order)
        shortest = np.zeros(len(machines), np.int64)
        if len(lengths):
            shortest[many > 0] = np.minimum.reduceat(lengths, (np.cumsum(many) - many)[many > 0])
        return cls(
            since,
            span,
            line,
            from_us,
            lasts if len(lasts) == 1 else lasts[order],
            starts,
            lengths,
            values,
            shortest,
        )

    def first(self, machine: IntArray, moment: IntArray) -> IntArray:
        """Return the first reading of each server that begins at a moment or later."""
        after = np.clip(moment - self.since, 0, self.span - 1)
        return np.searchsorted(self.line, machine * self.span + after)


def _gpu_lists(rows: pa.Table, order: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Give the utilisation of each GPU.

    That is where the list of each row begins and how many it has, rows in some order; all values.
    """
    lists = rows["util_pct"].combine_chunks()
    offsets = lists.offsets.to_numpy()
    values = lists.values.cast(pa.float64())
    values = values.fill_null(NULL) if values.null_count else values
    starts, lengths = (of[order].astype(np.int64) for of in (offsets, np.diff(offsets)))
    return starts, lengths, values.to_numpy()


def _host_lists(rows: pa.Table, order: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Give the use of the CPU, and memory in use over memory in total; else as of GPUs."""
    cpu, used, total = (
        rows[name].cast(pa.float64()).to_numpy() for name in ("cpu_pct", "mem_used_gb", "mem_gb")
    )
    values = np.empty((len(cpu), 2))
    values[:, 0] = cpu
    # a quotient may pass 100 by a hair
    values[:, 1] = np.minimum(100 * used / total, 100)
    values[np.isnan(values)] = NULL
    return order * 2, np.full(len(order), 2), values.reshape(-1)


_Lists = Callable[[pa.Table, IntArray], tuple[IntArray, IntArray, FloatArray]]
LISTS: dict[str, tuple[tuple[str, ...], _Lists]] = {
    "gpu_samples": (("util_pct",), _gpu_lists),
    "host_samples": (("cpu_pct", "mem_used_gb", "mem_gb"), _host_lists),
}
"""Tables of samples: the columns that say something, and how they become lists of readings."""
_KEY = ("sampled_at", "machine_id", "seconds")


def _read(path: str | Path, columns: Sequence[str], begins: datetime, ends: datetime) -> pa.Table:
    """Read the rows of a file from a moment on, and before another; what it lacks is null."""
    try:
        with pq.ParquetFile(path, read_dictionary=["machine_id"]) as file:
            wanted = [name for name in (*_KEY, *columns) if name in file.schema_arrow.names]
            groups = _groups(file.metadata, begins, ends)
            rows = _completed(file.read_row_groups(groups, wanted, use_threads=False), columns)
    except pa.ArrowInvalid as error:
        raise TraceError(f"{path} cannot be read: {error}. Ingest the trace again.") from None
    at = timestamps_us(rows["sampled_at"])
    inside = (at >= moment_us(begins)) & (at < moment_us(ends))
    return rows if inside.all() else rows.filter(pa.array(inside))


def _groups(file: pq.FileMetaData, begins: datetime, ends: datetime) -> list[int]:
    """Return the groups of rows that may have some of a time, by what the file says of them."""
    groups = []
    for i in range(file.num_row_groups):
        group = file.row_group(i)
        for column in (group.column(j) for j in range(group.num_columns)):
            if column.path_in_schema == "sampled_at":
                said = column.statistics
                if said is None or not said.has_min_max or (said.max >= begins and said.min < ends):
                    groups.append(i)
                break
    return groups


def _completed(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return rows with all columns; those that were not written are null."""
    for name in (*_KEY, *columns):
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(len(rows), pa.float64()))
    return rows.select([*_KEY, *columns])


def _numbers(names: pa.ChunkedArray, machines: pa.Array) -> IntArray:
    """Return the place of each name among those of servers; one beyond them of others."""
    found = [np.empty(0, np.int64)]
    for chunk in names.chunks:
        place = pc.index_in(chunk.dictionary.cast(pa.string()), machines).fill_null(len(machines))
        found.append(place.to_numpy().astype(np.int64)[chunk.indices.to_numpy()])
    return np.concatenate(found)


def moment_us(moment: datetime) -> int:
    """Return a moment as microseconds since 1970."""
    return int(np.datetime64(moment, "us").astype(np.int64))


def timestamps_us(moments: pa.Array | pa.ChunkedArray) -> IntArray:
    """Return moments as microseconds since 1970."""
    us: IntArray = moments.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    return us


def _lasts(seconds: pa.ChunkedArray) -> IntArray:
    """Return for how long readings stand, microseconds; one number where all stand alike."""
    if seconds.null_count == len(seconds):
        return np.array([MINUTE_US])
    known = seconds.fill_null(MINUTE_US / 1e6).to_numpy()
    if known.min() == known.max():
        known = known[:1]
    lasts: IntArray = np.rint(known * 1e6).astype(np.int64)
    return lasts
