"""Decides when hours of staged rows are whole, and which of them make up a file of the table."""

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from philly_analysis.ingest.loading import parquet
from philly_analysis.ingest.samples.ordered_map import THREADS
from philly_analysis.ingest.samples.sample_file import NO_ROW, SampleFile, Written, lists
from philly_analysis.ingest.samples.staging import HOUR_US, Names, OutOfOrderError, Staged
from philly_analysis.trace import Table

_FILE_ROWS = 1_000_000
"""Rows of a file of the table, unless an hour has more."""
_HELD_ROWS = 4_000_000
"""Rows that are joined at once, on all threads together, unless a file has more."""
_WAITING_ROWS = 8_000_000
"""Rows that may wait in memory for their hours to be whole."""
_LATE_H = 2
"""By how many hours a row may come later than one of another time."""
_DAY = 24


class Hours:
    """Staged rows of one or several raw files, on their way into the files of a table."""

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        con: duckdb.DuckDBPyConnection,
        table: Table,
        parts: Sequence[Staged],
        machines: Names,
        earlier: list[Path],
        target: Path,
    ) -> None:
        self.pool = pool
        self.con = con
        self.table = table
        self.parts = parts
        self.machines = machines
        self.earlier = earlier
        self.target = target
        self._whole_until = -math.inf
        self._planned: set[int] = set()
        self._run: list[int] = []
        self._under_way: deque[tuple[int, Future[Written]]] = deque()
        self._longest: Counter[int] = Counter()

    def write(self) -> None:
        """Write the hours that are whole by now, and note in each part which rows repeat.

        Raises
        ------
        OutOfOrderError
            More rows wait for their hours to be whole than memory may hold.
        """
        until = min((part.front for part in self.parts), default=math.inf) - _LATE_H
        if until > self._whole_until:
            self._whole_until = until
            for piece in self._pieces(until):
                self._add(piece)
        if sum(part.waiting for part in self.parts) > _WAITING_ROWS:
            raise OutOfOrderError
        if until == math.inf:
            self._begin(self._run)
            while self._under_way:
                self._finish()

    def note_machines(self) -> None:
        """Create ``gpu_samples_machines``, or what fits the table: machines that have rows.

        ``values`` is how many the longest list of each holds.
        """
        there = sorted(self._longest)
        names = self.machines.array().take(pa.array(there, pa.int64()))
        longest = pa.array([self._longest[machine] for machine in there], pa.int64())
        self.con.register("written", pa.table({"machine_id": names, "n": longest}))
        length = "".join(f"len({name})" for name in lists(self.table)) or "0"
        before = f"select machine_id, {length} as n from {parquet(self.earlier)}"
        self.con.execute(
            f"create table {self.table.name}_machines as "
            f'select machine_id, max(n) as "values" from (from written '
            f"{f'union all ({before})' if self.earlier else ''}) group by machine_id"
        )
        self.con.unregister("written")

    def _pieces(self, until: float) -> Iterator[list[int]]:
        """Give hours before one that belong into one file: those of a day, unless it has more."""
        hours = sorted({h for part in self.parts for h in part.rows if h not in self._planned})
        for day, those in groupby(hours, lambda hour: hour // _DAY):
            whole = [hour for hour in those if hour < until]
            of_day = sum(self._rows(hour) for hour in range(day * _DAY, (day + 1) * _DAY))
            if of_day > _FILE_ROWS:
                yield from ([hour] for hour in whole)
            elif whole and (day + 1) * _DAY <= until:
                yield whole

    def _add(self, piece: list[int]) -> None:
        """Put hours to those of the run at hand, or begin another file with them.

        A run has few enough rows for a file, and keys that fit a number.
        """
        self._planned.update(piece)
        longest = max(_DAY, 2**62 // (HOUR_US * max(1, len(self.machines))))
        together = sorted([*self._run, *piece])
        fit = sum(map(self._rows, together)) <= _FILE_ROWS
        if fit and together[-1] - together[0] < longest:
            self._run = together
        else:
            self._begin(self._run)
            self._run = piece

    def _rows(self, hour: int) -> int:
        return max(part.rows[hour] for part in self.parts)

    def _begin(self, hours: list[int]) -> None:
        """Let a file be written as soon as there is room for its rows."""
        if not hours:
            return
        rows = sum(part.rows[hour] for hour in hours for part in self.parts)
        while self._under_way and (
            len(self._under_way) > THREADS
            or rows + sum(held for held, _ in self._under_way) > _HELD_ROWS
        ):
            self._finish()
        self.target.mkdir(exist_ok=True)
        for part in self.parts:
            part.done(hours)
        path = self.target / f"{np.datetime64(hours[0], 'h')}.parquet"
        file = SampleFile(self.con, self.table, self.machines.array(), self.earlier, path)
        self._under_way.append((rows, self.pool.submit(self._written, file, hours)))

    def _written(self, file: SampleFile, hours: list[int]) -> Written:
        given = [part.of(hours) for part in self.parts]
        return file.write(given, hours[0] * HOUR_US, (hours[-1] + 1) * HOUR_US)

    def _finish(self) -> None:
        """Wait for the file that was begun first."""
        _, under_way = self._under_way.popleft()
        written = under_way.result()
        for machine in np.flatnonzero(written.longest != NO_ROW).tolist():
            self._longest[machine] = max(self._longest[machine], int(written.longest[machine]))
        for part, count, lines in zip(self.parts, written.kept, written.repeats, strict=True):
            part.kept += count
            part.repeats.append(lines)
