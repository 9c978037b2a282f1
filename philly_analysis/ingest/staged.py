"""Rows of a raw file on their way into a streamed table: on disk, and found again by hour."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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


class Staged:
    """Rows in the order of the raw file, parted by the hour of ``sampled_at``.

    Attributes
    ----------
    rows
        How many there are of each hour, counted from 1970.
    kept, repeats
        How many are kept in the table, and the lines of the others: known once it is written.
    """

    def __init__(self, path: Path, columns: Iterable[pa.Field]) -> None:
        self._path = path
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, pa.schema([*KEY, *columns]))
        self._written = 0
        self._of_hour: defaultdict[int, list[int]] = defaultdict(list)
        self.rows: Counter[int] = Counter()
        self.kept = 0
        self.repeats: list[_Numbers] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Put rows to those that are there."""
        hours = batch["sampled_at"].cast(pa.int64()).to_numpy() // HOUR_US
        if (hours[1:] < hours[:-1]).any():
            order = np.argsort(hours, kind="stable")
            batch, hours = batch.take(pa.array(order)), hours[order]
        edges = [0, *(np.flatnonzero(hours[1:] != hours[:-1]) + 1).tolist(), len(hours)]
        for begin, end in pairwise(edges):
            hour = int(hours[begin])
            self._writer.write_batch(batch.slice(begin, end - begin))
            self._of_hour[hour].append(self._written)
            self._written += 1
            self.rows[hour] += end - begin

    def close(self) -> None:
        """End the file: from now on it is read."""
        self._writer.close()
        self._file.close()

    def of(self, hours: Iterable[int]) -> pa.Table:
        """Return the rows of some hours."""
        with pa.OSFile(str(self._path)) as file, pa.ipc.open_file(file) as reader:
            batches = [reader.get_batch(i) for hour in hours for i in self._of_hour.get(hour, ())]
            return pa.Table.from_batches(batches, reader.schema)

    def remove(self) -> None:
        """Remove the file."""
        self._path.unlink()
