"""Judges raw lines: which rows pass the checks of a streamed table, and why others do not.

Nothing here needs the trace in the making: blocks are judged in any thread, process or machine that
sees the raw file.
"""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
import pyarrow as pa

from philly_analysis.ingest.csv_file import Block, CsvFile, Piece
from philly_analysis.ingest.samples.ordered_map import in_order
from philly_analysis.ingest.samples.staging import AT
from philly_analysis.ingest.source import NEVER, Read, Readings
from philly_analysis.parallel import map_ordered, require_visible
from philly_analysis.trace import TABLES, macro_connection

_TOGETHER = 2
"""Blocks that a worker is given at once: a task costs as much as a good part of one."""
_AHEAD = 8
"""Tasks of a raw file that an executor may have at once."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a block: its rows that pass, and its other lines.

    Attributes
    ----------
    given, lines
        How many lines it had, and how many of them were not blank.
    """

    places: list[tuple[int, int]]
    given: int
    lines: int
    rows: list[pa.RecordBatch]
    wrong: list[tuple[int, str, str]]

    def moved(self, by: int) -> Self:
        """Return it with its lines numbered so much higher."""
        return type(self)(
            [(number + by, offset) for number, offset in self.places],
            self.given,
            self.lines,
            [
                rows.set_column(2, rows.schema.field(2), pa.array(rows["line"].to_numpy() + by))
                for rows in self.rows
            ],
            [(number + by, text, reason) for number, text, reason in self.wrong],
        )


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the lines of a raw file.

    Attributes
    ----------
    table, columns, read, untimely
        The table that they fill, and how: see :class:`philly_analysis.ingest.source.Stream`.
    """

    file: CsvFile
    table: str
    columns: tuple[str, ...]
    read: Read
    untimely: str

    def judged(self, pool: ThreadPoolExecutor, executor: Executor | None) -> Iterator[Judged]:
        """Judge the file's blocks, in order: by an executor's workers, if there is one.

        Threads judge a gzipped file, which can only be read from its beginning.
        """
        if self.file.gzipped:
            yield from in_order(pool, self.block, self.file.blocks())
            return
        if executor:
            done = map_ordered(executor, self.there, self.file.pieces(_TOGETHER), ahead=_AHEAD)
        else:
            done = in_order(pool, self.there, self.file.pieces(1))
        first = 2
        for judged in chain.from_iterable(done):
            yield judged.moved(first)
            first += judged.given

    def there(self, pieces: tuple[Piece, ...]) -> list[Judged]:
        """Read pieces of the file and judge each, its lines numbered from 0.

        Raises
        ------
        InputError
            The file cannot be seen from here.
        """
        require_visible([self.file.path])
        return [self.block(block) for block in self.file.read_pieces(pieces)]

    def block(self, block: Block) -> Judged:
        """Parse a block and judge its rows."""
        lines = self.file.read(block)
        rows, wrong = [], lines.wrong
        for table, numbers in lines.rows:
            readings = self.read(table)
            reasons = self._reasons(table, readings)
            columns = {
                "sampled_at": pa.array(readings.sampled_at).view(AT.type),
                "machine": table["machine_id"].chunk(0),
                "line": pa.array(numbers),
                **{name: readings.columns[name] for name in self.columns},
            }
            batch = pa.record_batch(columns)
            if reasons:
                at = numbers[list(reasons)]
                wrong += zip(at.tolist(), block.texts(at), reasons.values(), strict=True)
                passed = np.ones(len(numbers), bool)
                passed[list(reasons)] = False
                batch = batch.filter(pa.array(passed))
            if len(batch):
                rows.append(batch)
        return Judged(block.places, block.lines, block.lines - lines.blank, rows, wrong)

    def _reasons(self, lines: pa.Table, readings: Readings) -> dict[int, str]:
        """Say why rows are wrong, by place: those that may be are put to the table's checks."""
        machine = lines["machine_id"].chunk(0)
        nameless = [name in self.file.nulls for name in machine.dictionary.to_pylist()]
        missing = np.array(nameless)[machine.indices.to_numpy()]
        untimely = readings.sampled_at == NEVER
        [doubtful] = np.nonzero(~readings.sound | missing | untimely)
        if not len(doubtful):
            return {}
        moments = pa.array(readings.sampled_at[doubtful], AT.type, mask=untimely[doubtful])
        names = pa.array(machine.take(pa.array(doubtful)).to_pylist(), mask=missing[doubtful])
        columns = {name: column.take(doubtful) for name, column in readings.columns.items()}
        given = {"sampled_at": moments, "machine_id": names, **columns}
        table = TABLES[self.table]
        with macro_connection().cursor() as cursor:
            cursor.register("doubtful", pa.table(given))
            reasons = cursor.execute(
                f"select case when sampled_at is null then $untimely else {table.fault_sql} end "
                f"from (select {table.completed(given)} from doubtful)",
                {"untimely": self.untimely},
            ).fetchall()
        told = zip(doubtful.tolist(), reasons, strict=True)
        return {place: reason for place, (reason,) in told if reason is not None}
