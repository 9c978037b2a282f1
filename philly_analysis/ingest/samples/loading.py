"""Fill streamed tables from raw files of any length in bounded memory.

Raw files are read once, side by side, in blocks that threads or the workers of a cluster parse and
validate. Once an hour is complete, its repeated rows are dropped, rows of several files are joined,
and a file of the table is written. Where raw files are not in order of time, all their rows are
staged on disk first.
"""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
import pyarrow as pa

from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.samples.hourly_partitions import HourlyPartitions
from philly_analysis.ingest.samples.staging import (
    MACHINE,
    THREADS,
    OutOfOrderError,
    RowStaging,
)
from philly_analysis.ingest.samples.validate import Validator
from philly_analysis.ingest.source import Stream
from philly_analysis.ingest.sql import create_empty_view, parquet_scan
from philly_analysis.ingest.trace_builder import Rejected, TraceBuilder
from philly_analysis.trace import Table

_REJECTED_LINES = 100_000
"""Limit on the rejected lines in memory."""


def fill_streamed(builder: TraceBuilder, table: Table, files: dict[Stream, CsvFile]) -> None:
    """Fill a streamed table from one raw file, or from several files joined on the table's key.

    Earlier files of the table are not changed; a new row whose key is in an earlier file is a
    repeat. A relation such as ``gpu_samples_machines`` lists the machines of the table:
    ``machine_id``, and ``values``, the length of the longest list.
    """
    store = builder.store
    before, earlier = store.account(table.name), store.files(table.name)
    target = store.folder / table.name
    for on_disk in (False, True):
        machines: dict[str, int] = {}
        parts = [
            Part(builder, table, stream, file, machines, on_disk) for stream, file in files.items()
        ]
        with ThreadPoolExecutor(THREADS) as pool:
            rows = [part.rows for part in parts]
            hours = HourlyPartitions(pool, builder.con, table, rows, machines, earlier, target)
            try:
                _read(pool, parts, hours)
                break
            except OutOfOrderError:
                pass
        for folder in (target, builder.rejects / table.name):
            shutil.rmtree(folder, ignore_errors=True)
    hours.create_machines()
    read = before.read + sum(part.read for part in parts)
    kept = before.kept + sum(part.rows.kept for part in parts)
    for part in parts:
        part.reject_repeats()
    if parts or read:
        builder.add_account(table, read, kept)
    if not kept:
        create_empty_view(builder.con, table)
        return
    scan = parquet_scan([*earlier, *target.glob("*.parquet")], "union_by_name = true")
    builder.rows[table.name] = len(builder.con.sql(f"from {scan}").create_view(table.name))


def _read(pool: ThreadPoolExecutor, parts: Sequence["Part"], hours: HourlyPartitions) -> None:
    """Read raw files side by side: always the one that is behind in time."""
    readers = {part: part.stage(pool) for part in parts}
    while readers:
        behind = min(readers, key=lambda part: part.rows.front)
        if next(readers[behind], None) is None:
            del readers[behind]
        hours.write()


@dataclass(eq=False)
class Part:
    """A raw file of a streamed table.

    Attributes
    ----------
    machines
        Numbers of machine names, in order of first occurrence.
    on_disk
        Whether to stage its rows on disk.
    read
        Number of rows read.
    """

    builder: TraceBuilder
    table: Table
    stream: Stream
    file: CsvFile
    machines: dict[str, int]
    on_disk: bool
    read: int = 0
    _index: list[tuple[int, int]] = field(default_factory=list)
    _rejects: int = 0

    @cached_property
    def rows(self) -> RowStaging:
        """Valid rows of the file."""
        of_file = [c for c in self.table.columns if c.name in self.stream.columns]
        columns = [column.arrow.with_nullable(True) for column in of_file]
        path = self.builder.scratch / f"{self.stream.file}.arrow"
        return RowStaging(columns, path if self.on_disk else None)

    def stage(self, pool: ThreadPoolExecutor) -> Iterator[int]:
        """Stage the valid rows, and reject other rows; yield the lines of each block.

        Raises
        ------
        OutOfOrderError
            Rows belong to hours that were written.
        """
        rejected: list[tuple[int, str, str]] = []
        stream = self.stream
        parser = stream.open(self.builder.con)
        validator = Validator(self.file, self.table.name, stream.columns, parser, stream.time_error)
        for block in validator.blocks(pool, self.builder.executor):
            self._index += block.index
            self.read += block.filled
            rejected += block.rejected
            for rows in block.rows:
                machine = rows["machine"]
                numbering = self.machines
                numbers = [
                    numbering.setdefault(m, len(numbering)) for m in machine.dictionary.to_pylist()
                ]
                codes = pa.array(np.array(numbers, np.int32)[machine.indices.to_numpy()])
                self.rows.add(rows.set_column(1, MACHINE, codes))
            if len(rejected) > _REJECTED_LINES:
                self._reject(rejected)
                rejected = []
            yield block.filled
        self._reject(rejected)
        self.rows.close()

    def reject_repeats(self) -> None:
        """Reject the lines of repeated keys, and remove the staged rows."""
        numbers = np.sort(np.concatenate([np.zeros(0, np.int64), *self.rows.repeats]))
        reason = f"the key ({', '.join(self.table.key)}) repeats"
        lines = self.file.lines(self._index, numbers)
        while some := [(n, text, reason) for n, text in islice(lines, _REJECTED_LINES)]:
            self._reject(some)
        self.rows.remove()

    def _reject(self, lines: Sequence[tuple[int, str, str]]) -> None:
        """Write rejected lines, given as numbers, texts and reasons."""
        source = self.stream.file
        rows: list[Rejected] = [(source, number, reason, text) for number, text, reason in lines]
        self.builder.write_rejects(self.table, f"{source}-{self._rejects:04}", rows)
        self._rejects += 1
