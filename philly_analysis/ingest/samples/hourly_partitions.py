"""Write complete hours of staged rows to the files of a streamed table."""

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from philly_analysis.ingest.samples.sample_file import NO_ROW, SampleFile, Written, lists
from philly_analysis.ingest.samples.staging import (
    HOUR_US,
    THREADS,
    OutOfOrderError,
    RowStaging,
)
from philly_analysis.ingest.sql import create_table, parquet_scan
from philly_analysis.trace import Table

_FILE_ROWS = 1_000_000
"""Limit on the rows of a file, unless an hour has more."""
_WRITING_ROWS = 4_000_000
"""Limit on the rows that are written at once, on all threads, unless a file has more."""
_WAITING_ROWS = 8_000_000
"""Limit on the rows in memory whose hours are incomplete."""
_LATE_H = 2
"""Hours by which a row may be late."""
_DAY = 24


@dataclass(slots=True)
class HourlyPartitions:
    """Complete hours of the staged rows of one or several raw files, and the files for them."""

    pool: ThreadPoolExecutor
    con: duckdb.DuckDBPyConnection
    table: Table
    parts: Sequence[RowStaging]
    machines: dict[str, int]
    earlier: list[Path]
    target: Path
    _complete_until: float = -math.inf
    _planned: set[int] = field(default_factory=set)
    _hours: list[int] = field(default_factory=list)
    _under_way: deque[tuple[int, Future[Written]]] = field(default_factory=deque)
    _longest: Counter[int] = field(default_factory=Counter)

    def write(self) -> None:
        """Write the complete hours, and record the repeated rows in each part.

        Raises
        ------
        OutOfOrderError
            More rows are in incomplete hours than memory may hold.
        """
        until = min((part.front for part in self.parts), default=math.inf) - _LATE_H
        if until > self._complete_until:
            self._complete_until = until
            for hours in self._complete(until):
                self._add(hours)
        if sum(part.waiting for part in self.parts) > _WAITING_ROWS:
            raise OutOfOrderError
        if until == math.inf:
            self._begin()
            while self._under_way:
                self._finish()

    def create_machines(self) -> None:
        """Create the relation of machines with rows, such as ``gpu_samples_machines``.

        ``values`` is the length of a machine's longest list.
        """
        present = sorted(self._longest)
        names = pa.array(self.machines, pa.string()).take(pa.array(present, pa.int64()))
        longest = pa.array([self._longest[machine] for machine in present], pa.int64())
        create_table(self.con, "written", pa.table({"machine_id": names, "n": longest}))
        length = "".join(f"len({name})" for name in lists(self.table)) or "0"
        before = f"select machine_id, {length} as n from {parquet_scan(self.earlier)}"
        self.con.execute(
            f"create table {self.table.name}_machines as "
            f'select machine_id, max(n) as "values" from (from written '
            f"{f'union all ({before})' if self.earlier else ''}) group by machine_id"
        )
        self.con.execute("drop table written")

    def _complete(self, until: float) -> Iterator[list[int]]:
        """Yield complete hours for a file: a day's hours, or one hour of a day with many rows."""
        hours = sorted({h for part in self.parts for h in part.rows if h not in self._planned})
        for day, those in groupby(hours, lambda hour: hour // _DAY):
            complete = [hour for hour in those if hour < until]
            of_day = sum(self._rows(hour) for hour in range(day * _DAY, (day + 1) * _DAY))
            if of_day > _FILE_ROWS:
                yield from ([hour] for hour in complete)
            elif complete and (day + 1) * _DAY <= until:
                yield complete

    def _add(self, hours: list[int]) -> None:
        """Add hours to the current file, or start another file if they do not fit.

        The rows of a file are limited, and so is its range of time: keys fit into a number.
        """
        self._planned.update(hours)
        longest = max(_DAY, 2**62 // (HOUR_US * max(1, len(self.machines))))
        merged = sorted([*self._hours, *hours])
        fit = sum(map(self._rows, merged)) <= _FILE_ROWS
        if fit and merged[-1] - merged[0] < longest:
            self._hours = merged
        else:
            self._begin()
            self._hours = hours

    def _rows(self, hour: int) -> int:
        return max(part.rows[hour] for part in self.parts)

    def _begin(self) -> None:
        """Submit the writing of the current file once memory allows its rows."""
        if not (hours := self._hours):
            return
        rows = sum(part.rows[hour] for hour in hours for part in self.parts)
        while self._under_way and (
            len(self._under_way) > THREADS
            or rows + sum(n for n, _ in self._under_way) > _WRITING_ROWS
        ):
            self._finish()
        self.target.mkdir(exist_ok=True)
        for part in self.parts:
            part.finish(hours)
        path = self.target / f"{np.datetime64(hours[0], 'h')}.parquet"
        names = pa.array(self.machines, pa.string())
        file = SampleFile(self.con, self.table, names, self.earlier, path)
        self._under_way.append((rows, self.pool.submit(self._written, file, hours)))

    def _written(self, file: SampleFile, hours: list[int]) -> Written:
        rows = [part.take(hours) for part in self.parts]
        return file.write(rows, hours[0] * HOUR_US, (hours[-1] + 1) * HOUR_US)

    def _finish(self) -> None:
        """Wait for the file that was submitted first."""
        _, under_way = self._under_way.popleft()
        kept, repeats, longest = under_way.result()
        for machine in np.flatnonzero(longest != NO_ROW).tolist():
            self._longest[machine] = max(self._longest[machine], int(longest[machine]))
        for part, count, lines in zip(self.parts, kept, repeats, strict=True):
            part.kept += count
            part.repeats.append(lines)
