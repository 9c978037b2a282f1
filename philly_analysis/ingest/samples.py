"""Fills streamed tables, so that memory stays flat however long the raw files are.

Raw files are read once, in blocks of lines that several threads parse and judge at once; the rows
that pass are staged on disk. Then, day after day, those that repeat are left out, the rows of
several files are joined, and the table's files are written, each once.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from philly_analysis.contract import Table
from philly_analysis.ingest.csv_file import Block, CsvFile
from philly_analysis.ingest.filling import (
    Fill,
    count_rejects,
    empty_view,
    parquet,
    save_rejects,
)
from philly_analysis.ingest.kept import Kept
from philly_analysis.ingest.source import NEVER, Read, Readings, Stream
from philly_analysis.ingest.staged import DAY_US, Names, Staged
from philly_analysis.manifest import Account

_THREADS = min(os.cpu_count() or 1, 8)
_FILE_ROWS = 1_000_000
"""Rows of a file of the table, unless a day has more."""
_HELD_ROWS = 4_000_000
"""Rows that are joined at once, on all threads together, unless a day has more."""
_GROUP_ROWS = 122_880
"""Rows of a row group, the least of a file that the engine reads."""
_TOLD = 100_000
"""Rejected lines that are held in memory."""
_PIECES = 10_000
"""Pieces of a table, beyond which it pays to copy its rows."""

_NO_ROW = -1
_Numbers = npt.NDArray[np.int64]
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def fill_streamed(fill: Fill, kept: Kept, table: Table, files: dict[Stream, CsvFile]) -> None:
    """Fill a streamed table from one raw file, or from several joined on its key.

    Its files of before stay as they are; a new row whose key is in them repeats it. Beside it
    stands, for the SELECTs that ask about machines, a relation such as ``gpu_samples_machines``:
    ``machine_id`` and ``values``, how many the longest of its lists holds.
    """
    before, earlier = kept.account(table.name), kept.files(table.name)
    machines = Names()
    parts = [Part(fill, table, stream, file, machines) for stream, file in files.items()]
    read = before.read + sum([part.stage() for part in parts])
    target = fill.folder / table.name
    join = _Join(fill.con, table, parts, machines, earlier, target)
    join.write()
    sound = before.kept + sum(part.kept for part in parts)
    for part in parts:
        part.reject_repeats()
    fill.con.register("written", join.machines_written())
    fill.con.execute(
        f"create table {table.name}_machines as "
        'select machine_id, max("values") as "values" '
        f"from (from written{_lists_of(table, earlier)}) group by machine_id"
    )
    fill.con.unregister("written")
    if parts or read:
        fill.accounts.append(Account(table.name, read, sound, count_rejects(fill, table)))
    if not sound:
        empty_view(fill.con, table)
        return
    written = [*earlier, *target.glob("*.parquet")]
    fill.con.sql(f"from {parquet(written, 'union_by_name = true')}").create_view(table.name)
    [(rows,)] = fill.con.sql(f"select count(*) from {table.name}").fetchall()
    fill.rows[table.name] = int(rows)


@dataclass(frozen=True, slots=True)
class _Judged:
    """What became of a block: its rows that pass, and its other lines."""

    places: list[tuple[int, int]]
    lines: int
    rows: list[pa.RecordBatch]
    wrong: list[tuple[int, str, str]]


class Part:
    """One raw file on its way into a streamed table.

    Attributes
    ----------
    staged
        Its rows that pass: columns of the table, ``machine`` by number, and ``line``.
    kept
        How many of them are kept.
    repeats
        Numbers of the lines of those that are not.
    """

    def __init__(
        self, fill: Fill, table: Table, stream: Stream, file: CsvFile, machines: Names
    ) -> None:
        self.fill = fill
        self.table = table
        self.stream = stream
        self.file = file
        self.machines = machines
        columns = [c.arrow for c in table.columns if c.name in stream.columns]
        self.schema = pa.schema([*_KEY, *(c.with_nullable(True) for c in columns)])
        self.staged = Staged(fill.scratch / f"{stream.file}.arrow", self.schema)
        self.kept = 0
        self.repeats: list[_Numbers] = []
        self._places: list[tuple[int, int]] = []
        self._rejected = 0

    def stage(self) -> int:
        """Stage the rows that pass, and reject the others; return how many were read."""
        read, wrong = 0, list[tuple[int, str, str]]()
        judge = partial(self._judge, self.stream.open(self.fill.con))
        for judged in _each(judge, self.file.blocks(), _THREADS):
            self._places += judged.places
            read += judged.lines
            wrong += judged.wrong
            for rows in judged.rows:
                machine = rows["machine"]
                numbers = self.machines.number(machine.dictionary.to_pylist())
                codes = pa.array(numbers[machine.indices.to_numpy()])
                self.staged.add(rows.set_column(1, _MACHINE, codes))
            if len(wrong) > _TOLD:
                self._reject(wrong)
                wrong = []
        self._reject(wrong)
        self.staged.close()
        return read

    def reject_repeats(self) -> None:
        """Reject the lines whose key stands on an earlier one; what was staged is done with."""
        numbers = np.sort(np.concatenate([np.zeros(0, np.int64), *self.repeats]))
        reason = f"the key ({', '.join(self.table.key)}) repeats"
        lines = self.file.lines(self._places, numbers)
        while some := [(n, text, reason) for n, text in islice(lines, _TOLD)]:
            self._reject(some)
        self.staged.remove()

    def _judge(self, read: Read, block: Block) -> _Judged:
        """Parse a block and judge its rows."""
        lines = self.file.read(block)
        rows, wrong = [], lines.wrong
        for table, numbers in lines.rows:
            readings = read(table)
            reasons = self._reasons(table, readings)
            columns = {
                "sampled_at": pa.array(readings.sampled_at).view(_AT.type),
                "machine": table["machine_id"].chunk(0),
                "line": pa.array(numbers),
                **{name: readings.columns[name] for name in self.stream.columns},
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
        return _Judged(block.places, block.lines - lines.blank, rows, wrong)

    def _reasons(self, lines: pa.Table, readings: Readings) -> dict[int, str]:
        """Say why rows are wrong, by place: those that may be are put to the table's checks."""
        machine = lines["machine_id"].chunk(0)
        nameless = [name in self.file.nulls for name in machine.dictionary.to_pylist()]
        missing = np.array(nameless)[machine.indices.to_numpy()]
        untimely = readings.sampled_at == NEVER
        [doubtful] = np.nonzero(~readings.sound | missing | untimely)
        if not len(doubtful):
            return {}
        moments = pa.array(readings.sampled_at[doubtful], _AT.type, mask=untimely[doubtful])
        names = pa.array(machine.take(pa.array(doubtful)).to_pylist(), mask=missing[doubtful])
        columns = {name: column.take(doubtful) for name, column in readings.columns.items()}
        cursor = self.fill.con.cursor()
        given = {"sampled_at": moments, "machine_id": names, **columns}
        cursor.register("doubtful", pa.table(given))
        reasons = cursor.execute(
            f"select case when sampled_at is null then $untimely else {self.table.fault_sql} end "
            f"from (select {self.table.completed(given)} from doubtful)",
            {"untimely": self.stream.untimely},
        ).fetchall()
        told = zip(doubtful.tolist(), reasons, strict=True)
        return {place: reason for place, (reason,) in told if reason is not None}

    def _reject(self, wrong: Sequence[tuple[int, str, str]]) -> None:
        """Save rejected lines: number, text and reason of each."""
        con, columns = self.fill.con, list(zip(*wrong, strict=True)) or [(), (), ()]
        con.register("wrong", pa.table(dict(zip(_REJECT.names, columns, strict=True)), _REJECT))
        save_rejects(
            self.fill,
            self.table,
            f"{self.stream.file}-{self._rejected:04}",
            f"select '{self.stream.file}' as source_file, * from wrong",
        )
        con.unregister("wrong")
        self._rejected += 1


@dataclass(frozen=True, slots=True)
class _Written:
    """What became of some days.

    How many rows of each part are kept, on which lines stood those that repeat, and how many
    values the longest list of each machine has.
    """

    kept: list[int]
    repeats: list[_Numbers]
    longest: _Numbers


class _Join:
    """Staged rows of one or several raw files, on their way into the files of a table."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        table: Table,
        parts: list[Part],
        machines: Names,
        earlier: list[Path],
        target: Path,
    ) -> None:
        self.con = con
        self.table = table
        self.parts = parts
        self.machines = machines
        self.earlier = earlier
        self.target = target
        self.names = machines.array()
        self._longest = np.full(len(machines), _NO_ROW)

    def write(self) -> None:
        """Write the rows, and note in each part which of them repeat."""
        runs = self._runs()
        if not runs:
            return
        self.target.mkdir()
        most = max(sum(p.staged.rows[day] for day in run for p in self.parts) for run in runs)
        threads = max(1, min(_THREADS, _HELD_ROWS // most))
        for written in _each(self._write, runs, threads):
            np.maximum(self._longest, written.longest, out=self._longest)
            for part, count, lines in zip(self.parts, written.kept, written.repeats, strict=True):
                part.kept += count
                part.repeats.append(lines)

    def machines_written(self) -> pa.Table:
        """Return the machines that have rows, and how many values the longest list of each has."""
        [there] = np.nonzero(self._longest != _NO_ROW)
        names = self.names.take(pa.array(there))
        return pa.table({"machine_id": names, "values": self._longest[there]})

    def _runs(self) -> list[list[int]]:
        """Put days together that have few enough rows for a file, and keys that fit a number."""
        longest = max(1, 2**62 // (DAY_US * max(1, len(self.machines))))
        runs: list[list[int]] = []
        held = 0
        for day in sorted(set(chain.from_iterable(part.staged.rows for part in self.parts))):
            rows = max(part.staged.rows[day] for part in self.parts)
            held += rows
            if runs and held <= _FILE_ROWS and day - runs[-1][0] < longest:
                runs[-1].append(day)
            else:
                runs.append([day])
                held = rows
        return runs

    def _write(self, days: list[int]) -> _Written:
        """Write a file of some days."""
        origin, end = days[0] * DAY_US, (days[-1] + 1) * DAY_US
        before = self._before(origin, end)
        given = [part.staged.of(days) for part in self.parts]
        keys = [self._keys(_moments(rows["sampled_at"]), rows["machine"], origin) for rows in given]
        found = [
            _firsts(key, rows["line"].to_numpy(), before)
            for key, rows in zip(keys, given, strict=True)
        ]
        firsts = [first for first, _ in found]
        if len(given) == 1:
            rows = _only(given[0], np.sort(firsts[0]))
        else:
            rows = self._joined(given, keys, firsts, origin)
        if len(rows):
            day = np.datetime64(days[0], "D")
            self._write_file(self.target / f"{day}.parquet", rows)
        return _Written(
            [len(first) for first in firsts],
            [part["line"].to_numpy()[again] for part, (_, again) in zip(given, found, strict=True)],
            self._longest_of(rows),
        )

    def _longest_of(self, rows: pa.Table) -> _Numbers:
        """Return how many values the longest list of each machine has, or that it has no row."""
        longest = np.full(len(self.names), _NO_ROW)
        lengths: _Numbers | int = 0
        for column in (rows[name] for name in _lists(self.table)):
            lengths = pc.list_value_length(column).to_numpy()
        np.maximum.at(longest, rows["machine"].to_numpy(), lengths)
        return longest

    def _keys(self, moments: _Numbers, machine: pa.ChunkedArray, origin: int) -> _Numbers:
        """Put moment and machine into one number, which orders by moment."""
        number: _Numbers = machine.to_numpy()
        return (moments - origin) * len(self.names) + number

    def _before(self, origin: int, end: int) -> _Numbers:
        """Return the keys of rows between two moments that the table had before."""
        if not self.earlier:
            return np.zeros(0, np.int64)
        # of files whose statistics lie outside of the span nothing is read
        found = self.con.cursor().sql(
            "select sampled_at, number as machine "
            f"from {parquet(self.earlier, 'union_by_name = true')} "
            "join (select unnest($names) as machine_id, "
            "generate_subscripts($names, 1) - 1 as number) using (machine_id) "
            "where sampled_at >= make_timestamp($origin) and sampled_at < make_timestamp($end)",
            params={"names": self.names.to_pylist(), "origin": origin, "end": end},
        )
        rows = found.to_arrow_table()
        return np.sort(self._keys(_moments(rows["sampled_at"]), rows["machine"], origin))

    def _joined(
        self, given: list[pa.Table], keys: list[_Numbers], firsts: list[_Numbers], origin: int
    ) -> pa.Table:
        """Join the rows that are kept, in the order of their keys; null where a part has none."""
        sorted_keys = [key[first] for key, first in zip(keys, firsts, strict=True)]
        # sorted ones are merged, in one go
        key = np.sort(np.concatenate(sorted_keys), kind="stable")
        key = key[np.append(True, key[1:] != key[:-1])] if len(key) else key
        moment, machine = np.divmod(key, len(self.names))
        columns = {"sampled_at": pa.array(moment + origin).view(_AT.type)}
        columns["machine"] = pa.array(machine.astype(np.int32))
        for rows, own, first in zip(given, sorted_keys, firsts, strict=True):
            place = np.full(len(key), -1)
            place[np.searchsorted(key, own)] = first
            taken = pa.array(place, mask=place < 0)
            for name in rows.column_names[len(_KEY) :]:
                columns[name] = rows[name].combine_chunks().take(taken)
        return pa.table(columns)

    def _write_file(self, path: Path, rows: pa.Table) -> None:
        names = [
            pa.DictionaryArray.from_arrays(chunk, self.names, safe=False)
            for chunk in rows["machine"].chunks
        ]
        machines = rows.set_column(1, "machine_id", pa.chunked_array(names))
        pq.write_table(
            machines.select([c for c in self.table.column_names if c in machines.column_names]),
            path,
            row_group_size=_GROUP_ROWS,
            # readings hardly compress; times and machines repeat, and are worth a dictionary
            compression="snappy",
            use_dictionary=list(self.table.key),
            write_statistics=list(self.table.key),
            store_schema=False,
        )


def _firsts(keys: _Numbers, lines: _Numbers, before: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Return the first row of each key, in the order of keys, and the rows that repeat one."""
    order = np.arange(len(keys))
    if (keys[1:] <= keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    same = np.append(False, ranked[1:] == ranked[:-1])[: len(keys)]
    if same.any():
        shared = same | np.append(same[1:], False)
        those = order[shared]
        order[shared] = those[np.lexsort((lines[those], ranked[shared]))]
    repeats = same | np.isin(ranked, before, kind="sort") if len(before) else same
    return order[~repeats], order[repeats]


def _lists(table: Table) -> list[str]:
    """Return the column whose lists hold a value for each device, if the table has one."""
    return [c.name for c in table.columns if c.type == "double[]" and not c.nullable]


def _lists_of(table: Table, files: list[Path]) -> str:
    """Return the SQL that adds machines and lengths of lists that stand in files."""
    length = "".join(f"len({name})" for name in _lists(table)) or "0"
    return f" union all select machine_id, {length} from {parquet(files)}" if files else ""


def _only(rows: pa.Table, kept: _Numbers) -> pa.Table:
    """Return some rows, by their places in order."""
    if len(kept) == len(rows):
        return rows
    gaps = np.flatnonzero(np.diff(kept) != 1) + 1
    if len(gaps) > _PIECES:
        return rows.take(pa.array(kept))
    pieces = [piece for piece in np.split(kept, gaps) if len(piece)]
    return pa.concat_tables([rows.slice(0, 0), *(rows.slice(p[0], len(p)) for p in pieces)])


def _moments(times: pa.ChunkedArray) -> _Numbers:
    moments: _Numbers = times.cast(pa.int64()).to_numpy()
    return moments


def _each(
    work: Callable[[Item], Outcome], items: Iterable[Item], threads: int
) -> Iterator[Outcome]:
    """Give the outcome of work on each item, in their order, while that on the next goes on."""
    with ThreadPoolExecutor(threads) as pool:
        under_way: deque[Future[Outcome]] = deque()
        for item in items:
            under_way.append(pool.submit(work, item))
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


_AT = pa.field("sampled_at", pa.timestamp("us"))
_MACHINE = pa.field("machine", pa.int32())
_LINE = pa.field("line", pa.int64())
_KEY = (_AT, _MACHINE, _LINE)
_REJECT = pa.schema([("source_line", pa.int64()), ("raw", pa.string()), ("reason", pa.string())])
