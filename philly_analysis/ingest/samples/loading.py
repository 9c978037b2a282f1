"""Fills streamed tables, so that memory stays flat however long the raw files are.

Raw files are read once, side by side, in blocks of lines that several threads, or the workers of a
cluster, parse and judge at once. As soon as an hour is whole, rows that repeat are left out, those
of several files are joined, and a file of the table is written, once. Where the raw files are not
in order of time, all their rows are staged on disk before.
"""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.loading import Fill, count_rejects, empty_view, parquet, save_rejects
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.ingest.samples.hourly_partitions import Hours
from philly_analysis.ingest.samples.ordered_map import THREADS
from philly_analysis.ingest.samples.staging import MACHINE, Names, OutOfOrderError, Staged
from philly_analysis.ingest.samples.validate import Judge
from philly_analysis.ingest.source import Stream
from philly_analysis.trace import Account, Table

_TOLD = 100_000
"""Rejected lines that are held in memory."""


def fill_streamed(fill: Fill, kept: Kept, table: Table, files: dict[Stream, CsvFile]) -> None:
    """Fill a streamed table from one raw file, or from several joined on its key.

    Its files of before stay as they are; a new row whose key is in them repeats it. Beside it
    stands, for the SELECTs that ask about machines, a relation such as ``gpu_samples_machines``:
    ``machine_id`` and ``values``, how many the longest of its lists holds.
    """
    before, earlier = kept.account(table.name), kept.files(table.name)
    target = fill.folder / table.name
    for on_disk in (False, True):
        machines = Names()
        parts = [Part(fill, table, s, file, machines, on_disk=on_disk) for s, file in files.items()]
        with ThreadPoolExecutor(THREADS) as pool:
            staged = [part.staged for part in parts]
            hours = Hours(pool, fill.con, table, staged, machines, earlier, target)
            try:
                _read(pool, parts, hours)
                break
            except OutOfOrderError:
                pass
        shutil.rmtree(target, ignore_errors=True)
        for part in parts:
            part.forget()
    hours.note_machines()
    read = before.read + sum(part.read for part in parts)
    sound = before.kept + sum(part.staged.kept for part in parts)
    for part in parts:
        part.reject_repeats()
    if parts or read:
        fill.accounts.append(Account(table.name, read, sound, count_rejects(fill, table)))
    if not sound:
        empty_view(fill.con, table)
        return
    written = [*earlier, *target.glob("*.parquet")]
    fill.con.sql(f"from {parquet(written, 'union_by_name = true')}").create_view(table.name)
    [(rows,)] = fill.con.sql(f"select count(*) from {table.name}").fetchall()
    fill.rows[table.name] = int(rows)


def _read(pool: ThreadPoolExecutor, parts: Sequence["Part"], hours: Hours) -> None:
    """Read raw files side by side: always that which is behind in time."""
    readers = {part: part.stage(pool) for part in parts}
    while readers:
        behind = min(readers, key=lambda part: part.staged.front)
        if next(readers[behind], None) is None:
            del readers[behind]
        hours.write()


class Part:
    """One raw file on its way into a streamed table.

    Attributes
    ----------
    staged
        Its rows that pass.
    read
        How many rows were read.
    """

    def __init__(
        self,
        fill: Fill,
        table: Table,
        stream: Stream,
        file: CsvFile,
        machines: Names,
        *,
        on_disk: bool,
    ) -> None:
        self.fill = fill
        self.table = table
        self.stream = stream
        self.file = file
        self.machines = machines
        columns = [c.arrow.with_nullable(True) for c in table.columns if c.name in stream.columns]
        path = fill.scratch / f"{stream.file}.arrow"
        self.staged = Staged(columns, path if on_disk else None)
        self.read = 0
        self._places: list[tuple[int, int]] = []
        self._rejects: list[Path] = []

    def stage(self, pool: ThreadPoolExecutor) -> Iterator[int]:
        """Stage the rows that pass, and reject the others; give the lines of each block.

        Raises
        ------
        OutOfOrderError
            Rows came for hours that were done with.
        """
        wrong: list[tuple[int, str, str]] = []
        stream = self.stream
        read = stream.open(self.fill.con)
        judge = Judge(self.file, self.table.name, stream.columns, read, stream.untimely)
        for judged in judge.judged(pool, self.fill.executor):
            self._places += judged.places
            self.read += judged.lines
            wrong += judged.wrong
            for rows in judged.rows:
                machine = rows["machine"]
                numbers = self.machines.number(machine.dictionary.to_pylist())
                codes = pa.array(numbers[machine.indices.to_numpy()])
                self.staged.add(rows.set_column(1, MACHINE, codes))
            if len(wrong) > _TOLD:
                self._reject(wrong)
                wrong = []
            yield judged.lines
        self._reject(wrong)
        self.staged.end()

    def forget(self) -> None:
        """Take back what was rejected: all is read once more."""
        for file in self._rejects:
            file.unlink()

    def reject_repeats(self) -> None:
        """Reject the lines whose key stands on an earlier one; what was staged is done with."""
        numbers = np.sort(np.concatenate([np.zeros(0, np.int64), *self.staged.repeats]))
        reason = f"the key ({', '.join(self.table.key)}) repeats"
        lines = self.file.lines(self._places, numbers)
        while some := [(n, text, reason) for n, text in islice(lines, _TOLD)]:
            self._reject(some)
        self.staged.remove()

    def _reject(self, wrong: Sequence[tuple[int, str, str]]) -> None:
        """Save rejected lines: number, text and reason of each."""
        con, columns = self.fill.con, list(zip(*wrong, strict=True)) or [(), (), ()]
        con.register("wrong", pa.table(dict(zip(_REJECT.names, columns, strict=True)), _REJECT))
        saved = save_rejects(
            self.fill,
            self.table,
            f"{self.stream.file}-{len(self._rejects):04}",
            f"select '{self.stream.file}' as source_file, * from wrong",
        )
        self._rejects.append(saved)
        con.unregister("wrong")


_REJECT = pa.schema([("source_line", pa.int64()), ("raw", pa.string()), ("reason", pa.string())])
