"""Stage parsed rows by hour, in memory or on disk, until their hour is complete."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from philly_analysis.parallel import cores
from philly_analysis.trace import timestamps_us

THREADS = min(cores(), 8)
"""Threads that parse and write."""
HOUR_US = 3_600_000_000
AT = pa.field("sampled_at", pa.timestamp("us"))
MACHINE = pa.field("machine", pa.int32())
KEY = (AT, MACHINE, pa.field("line", pa.int64()))
"""First columns of staged rows: time, number of the machine, line."""
_Numbers = npt.NDArray[np.int64]


class OutOfOrderError(Exception):
    """Rows belong to finished hours, or too many hours are open for memory."""


class RowStaging:
    """Rows in the order of the raw file, partitioned by the hour of ``sampled_at``.

    The rows are in memory if the raw file is roughly in order of time, else on disk.

    Attributes
    ----------
    rows
        Rows of each hour since 1970.
    front
        Latest hour so far; in memory, no rows of much earlier hours are expected.
    waiting
        Rows in memory.
    kept, repeats
        Rows kept in the table, and lines of repeated keys: known once it is written.
    """

    def __init__(self, columns: Iterable[pa.Field], path: Path | None) -> None:
        self._schema = pa.schema([*KEY, *columns])
        self._disk = None if path is None else _Disk(path, self._schema)
        self._of_hour: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._finished: set[int] = set()
        self.rows: Counter[int] = Counter()
        self.front = -math.inf
        self.waiting = 0
        self.kept = 0
        self.repeats: list[_Numbers] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Raises
        ------
        OutOfOrderError
            Some belong to a finished hour.
        """
        hours = timestamps_us(batch["sampled_at"]) // HOUR_US
        if (hours[1:] < hours[:-1]).any():
            order = np.argsort(hours, kind="stable")
            batch, hours = batch.take(pa.array(order)), hours[order]
        edges = [0, *(np.flatnonzero(hours[1:] != hours[:-1]) + 1).tolist(), len(hours)]
        for begin, end in pairwise(edges):
            hour = int(hours[begin])
            if hour in self._finished:
                raise OutOfOrderError
            self.rows[hour] += end - begin
            some = batch.slice(begin, end - begin)
            if self._disk:
                self._disk.put(hour, some)
            else:
                self._of_hour[hour].append(some)
                self.waiting += end - begin
        if not self._disk:
            self.front = max(self.front, int(hours[0]))

    def close(self) -> None:
        """Mark all rows as added."""
        self.front = math.inf
        if self._disk:
            self._disk.close()

    def finish(self, hours: Iterable[int]) -> None:
        """Mark hours as finished: no row of a finished hour may be added."""
        self._finished.update(hours)
        self.waiting -= sum(self.rows[hour] for hour in hours)

    def take(self, hours: Iterable[int]) -> pa.Table:
        """Remove and return the rows of finished hours."""
        if self._disk:
            batches = self._disk.read(hours)
        else:
            batches = list(chain.from_iterable(self._of_hour.pop(hour, ()) for hour in hours))
        return pa.Table.from_batches(batches, self._schema)

    def remove(self) -> None:
        """Remove the file on disk."""
        if self._disk:
            self._disk.path.unlink()


class _Disk:
    """A file of rows, indexed by hour."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, schema)
        self._written = 0
        self._of_hour: defaultdict[int, list[int]] = defaultdict(list)

    def put(self, hour: int, rows: pa.RecordBatch) -> None:
        self._writer.write_batch(rows)
        self._of_hour[hour].append(self._written)
        self._written += 1

    def close(self) -> None:
        self._writer.close()
        self._file.close()

    def read(self, hours: Iterable[int]) -> list[pa.RecordBatch]:
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            return [reader.get_batch(i) for hour in hours for i in self._of_hour.get(hour, ())]
