"""Rows of a raw file on their way into a streamed table: they wait until their hour is whole."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from philly_analysis.trace import timestamps_us

HOUR_US = 3_600_000_000
AT = pa.field("sampled_at", pa.timestamp("us"))
MACHINE = pa.field("machine", pa.int32())
KEY = (AT, MACHINE, pa.field("line", pa.int64()))
"""Columns that all staged rows begin with: when, the machine by number, on what line."""
_Numbers = npt.NDArray[np.int64]


class Names:
    """Numbers for names, in the order in which they are first met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, names: Iterable[str]) -> npt.NDArray[np.int32]:
        """Return the number of each name, new ones for names that are."""
        numbers = self._numbers
        return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)

    def array(self) -> pa.StringArray:
        """Return the names by number."""
        return pa.array(self._numbers, pa.string())


class OutOfOrderError(Exception):
    """Rows came for hours that were done with, or so mixed that memory cannot hold them."""


class Staged:
    """Rows in the order of the raw file, parted by the hour of ``sampled_at``.

    They wait in memory, where a raw file tells of one hour after the other; and else on disk.

    Attributes
    ----------
    rows
        How many there are of each hour, counted from 1970.
    front
        No row of an hour much before this one is expected any more; on disk any is.
    waiting
        How many rows are in memory.
    kept, repeats
        How many are kept in the table, and the lines of the others: known once it is written.
    """

    def __init__(self, columns: Iterable[pa.Field], path: Path | None) -> None:
        self._schema = pa.schema([*KEY, *columns])
        self._disk = None if path is None else _Disk(path, self._schema)
        self._of_hour: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._done: set[int] = set()
        self.rows: Counter[int] = Counter()
        self.front = -math.inf
        self.waiting = 0
        self.kept = 0
        self.repeats: list[_Numbers] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Put rows to those that are there.

        Raises
        ------
        OutOfOrderError
            Some are of an hour that is done.
        """
        hours = timestamps_us(batch["sampled_at"]) // HOUR_US
        if (hours[1:] < hours[:-1]).any():
            order = np.argsort(hours, kind="stable")
            batch, hours = batch.take(pa.array(order)), hours[order]
        edges = [0, *(np.flatnonzero(hours[1:] != hours[:-1]) + 1).tolist(), len(hours)]
        for begin, end in pairwise(edges):
            hour = int(hours[begin])
            if hour in self._done:
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

    def end(self) -> None:
        """Know that all rows were added."""
        self.front = math.inf
        if self._disk:
            self._disk.close()

    def done(self, hours: Iterable[int]) -> None:
        """Know that no more rows of some hours will be added."""
        self._done.update(hours)
        self.waiting -= sum(self.rows[hour] for hour in hours)

    def of(self, hours: Iterable[int]) -> pa.Table:
        """Give away the rows of some hours that are done."""
        if self._disk:
            batches = self._disk.of(hours)
        else:
            batches = list(chain.from_iterable(self._of_hour.pop(hour, ()) for hour in hours))
        return pa.Table.from_batches(batches, self._schema)

    def remove(self) -> None:
        """Remove what is on disk."""
        if self._disk:
            self._disk.path.unlink()


class _Disk:
    """A file of rows, found again by hour."""

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

    def of(self, hours: Iterable[int]) -> list[pa.RecordBatch]:
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            return [reader.get_batch(i) for hour in hours for i in self._of_hour.get(hour, ())]
