"""Validate lines of a raw file: rows that pass a table's checks, and reasons for rejecting others.

Blocks are validated in any thread, process or machine that can read the raw file.
"""

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

import numpy as np
import pyarrow as pa

from philly_analysis.ingest.csv_file import Block, CsvFile, Span
from philly_analysis.ingest.raw_file import is_gzipped
from philly_analysis.ingest.samples.staging import AT, THREADS
from philly_analysis.ingest.source import NO_TIME, ParsedRows, Parser
from philly_analysis.parallel import InlineExecutor, map_ordered, require_visible
from philly_analysis.trace import TABLES, macro_connection

_BLOCKS_PER_TASK = 2
"""Blocks of a worker's task, whose overhead is large beside one block."""
_AHEAD = 8
"""Tasks of a raw file that workers may have at once."""


@dataclass(frozen=True, slots=True)
class ValidatedBlock:
    """Valid rows and rejected lines of a block.

    Attributes
    ----------
    index
        Numbers and offsets of some lines of the block.
    lines, filled
        Number of lines of the block, and number of lines that are not blank.
    """

    index: list[tuple[int, int]]
    lines: int
    filled: int
    rows: list[pa.RecordBatch]
    rejected: list[tuple[int, str, str]]

    def renumbered(self, by: int) -> Self:
        """Return the block with its line numbers increased."""
        return replace(
            self,
            index=[(number + by, offset) for number, offset in self.index],
            rows=[
                rows.set_column(2, rows.schema.field(2), pa.array(rows["line"].to_numpy() + by))
                for rows in self.rows
            ],
            rejected=[(number + by, text, reason) for number, text, reason in self.rejected],
        )


@dataclass(frozen=True, slots=True)
class Validator:
    """Validates the lines of a raw file.

    Attributes
    ----------
    table, columns, parser, time_error
        The table and its columns, see :class:`philly_analysis.ingest.source.Stream`.
    """

    file: CsvFile
    table: str
    columns: tuple[str, ...]
    parser: Parser
    time_error: str

    def blocks(self, threads: Executor, workers: Executor) -> Iterator[ValidatedBlock]:
        """Validate the file's blocks in order, by threads if the workers are this process.

        A gzipped file can only be read from its start, so threads validate it.
        """
        here = isinstance(workers, InlineExecutor)
        done: Iterator[ValidatedBlock]
        if is_gzipped(self.file.path):
            done = map_ordered(threads, self.block, self.file.blocks(), ahead=THREADS + 1)
        else:
            group, ahead = (1, THREADS + 1) if here else (_BLOCKS_PER_TASK, _AHEAD)
            spans = self.file.spans(group)
            done = chain.from_iterable(
                map_ordered(threads if here else workers, self.spans, spans, ahead=ahead)
            )
        first = 2
        for block in done:
            yield block.renumbered(first)
            first += block.lines

    def spans(self, spans: tuple[Span, ...]) -> list[ValidatedBlock]:
        """Read and validate blocks of the file.

        Raises
        ------
        InputError
            The file cannot be read by this worker.
        """
        require_visible([self.file.path])
        return [self.block(block) for block in self.file.read_spans(spans)]

    def block(self, block: Block) -> ValidatedBlock:
        """Parse a block and validate its rows."""
        lines = self.file.parse(block)
        rows, rejected = [], lines.faulty
        for table, numbers in lines.rows:
            parsed = self.parser(table)
            reasons = self._reasons(table, parsed)
            columns = {
                "sampled_at": pa.array(parsed.sampled_at).view(AT.type),
                "machine": table["machine_id"].chunk(0),
                "line": pa.array(numbers),
                **{name: parsed.columns[name] for name in self.columns},
            }
            batch = pa.record_batch(columns)
            if reasons:
                at = numbers[list(reasons)]
                rejected += zip(at.tolist(), block.texts(at), reasons.values(), strict=True)
                passed = np.ones(len(numbers), bool)
                passed[list(reasons)] = False
                batch = batch.filter(pa.array(passed))
            if len(batch):
                rows.append(batch)
        filled = block.lines - lines.blank
        return ValidatedBlock(block.index, block.lines, filled, rows, rejected)

    def _reasons(self, lines: pa.Table, parsed: ParsedRows) -> dict[int, str]:
        """Return the reasons for rejecting rows, by place; run the checks where they may fail."""
        machine = lines["machine_id"].chunk(0)
        null_names = [name in self.file.nulls for name in machine.dictionary.to_pylist()]
        missing = np.array(null_names)[machine.indices.to_numpy()]
        timeless = parsed.sampled_at == NO_TIME
        [doubtful] = np.nonzero(~parsed.valid | missing | timeless)
        if not len(doubtful):
            return {}
        times = pa.array(parsed.sampled_at[doubtful], AT.type, mask=timeless[doubtful])
        names = pa.array(machine.take(pa.array(doubtful)).to_pylist(), mask=missing[doubtful])
        columns = {name: column.take(doubtful) for name, column in parsed.columns.items()}
        rows = {"sampled_at": times, "machine_id": names, **columns}
        table = TABLES[self.table]
        with macro_connection().cursor() as cursor:
            cursor.register("doubtful", pa.table(rows))
            reasons = cursor.execute(
                f"select case when sampled_at is null then $time_error else {table.fault_sql} end "
                f"from (select {table.completed(rows)} from doubtful)",
                {"time_error": self.time_error},
            ).fetchall()
        faults = zip(doubtful.tolist(), reasons, strict=True)
        return {place: reason for place, (reason,) in faults if reason is not None}
