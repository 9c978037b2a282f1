"""Writes a file of a streamed table: the rows of its parts joined, and without repeats."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from philly_analysis.ingest.loading import parquet
from philly_analysis.ingest.samples.staging import AT, KEY
from philly_analysis.trace import Table, timestamps_us

_GROUP_ROWS = 122_880
"""Rows of a row group, the least of a file that the engine reads."""
_PIECES = 10_000
"""Pieces of a table, beyond which it pays to copy its rows."""
_LOOKED_AT = 1_000
_FEW = 20
"""Different values of a column among the rows looked at, up to which they are said to repeat."""
NO_ROW = -1

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Written:
    """What became of rows.

    How many rows of each part are kept, on which lines stood those that repeat, and how many
    values the longest list of each machine has; NO_ROW if it has no row.
    """

    kept: list[int]
    repeats: list[_Numbers]
    longest: _Numbers


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file of a streamed table, to be written.

    Attributes
    ----------
    names
        Of the machines, by number.
    earlier
        Files that the table had before; a row whose key is in them repeats it.
    """

    con: duckdb.DuckDBPyConnection
    table: Table
    names: pa.StringArray
    earlier: list[Path]
    path: Path

    def write(self, given: list[pa.Table], begins: int, ends: int) -> Written:
        """Write the rows of each part, whose moments lie between two."""
        before = self._before(begins, ends)
        keys = [
            self._keys(timestamps_us(rows["sampled_at"]), rows["machine"], begins) for rows in given
        ]
        found = [
            _firsts(key, rows["line"].to_numpy(), before)
            for key, rows in zip(keys, given, strict=True)
        ]
        firsts = [first for first, _ in found]
        if len(given) == 1:
            rows = _only(given[0], np.sort(firsts[0]))
        else:
            rows = self._joined(given, keys, firsts, begins)
        if len(rows):
            self._write(rows)
        return Written(
            [len(first) for first in firsts],
            [part["line"].to_numpy()[again] for part, (_, again) in zip(given, found, strict=True)],
            self._longest_of(rows),
        )

    def _longest_of(self, rows: pa.Table) -> _Numbers:
        """Return how many values the longest list of each machine has, or that it has no row."""
        longest = np.full(len(self.names), NO_ROW)
        machine = rows["machine"].to_numpy().astype(np.int64)
        longest[machine] = 0
        for name in lists(self.table):
            lengths = pc.list_value_length(rows[name]).to_numpy()
            many = int(lengths.max(initial=0)) + 1
            there, length = np.divmod(np.flatnonzero(np.bincount(machine * many + lengths)), many)
            longest[there] = length  # of a machine's lengths the last, which stays, is the longest
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
        return np.sort(self._keys(timestamps_us(rows["sampled_at"]), rows["machine"], origin))

    def _joined(
        self, given: list[pa.Table], keys: list[_Numbers], firsts: list[_Numbers], origin: int
    ) -> pa.Table:
        """Join the rows that are kept, in the order of their keys; null where a part has none."""
        sorted_keys = [key[first] for key, first in zip(keys, firsts, strict=True)]
        every = np.concatenate(sorted_keys)
        order = np.argsort(every, kind="stable")  # sorted ones are merged, in one go
        ranked = every[order]
        new = np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)]
        key = ranked[new]
        row = np.empty(len(every), np.int64)
        row[order] = np.cumsum(new) - 1
        moment, machine = np.divmod(key, len(self.names))
        columns = {"sampled_at": pa.array(moment + origin).view(AT.type)}
        columns["machine"] = pa.array(machine.astype(np.int32))
        of_parts = np.split(row, np.cumsum([len(own) for own in sorted_keys])[:-1])
        for rows, own, first in zip(given, of_parts, firsts, strict=True):
            place = np.full(len(key), -1)
            place[own] = first
            taken = pa.array(place, mask=place < 0)
            for name in rows.column_names[len(KEY) :]:
                columns[name] = rows[name].combine_chunks().take(taken)
        return pa.table(columns)

    def _write(self, rows: pa.Table) -> None:
        names = [
            pa.DictionaryArray.from_arrays(chunk, self.names, safe=False)
            for chunk in rows["machine"].chunks
        ]
        machines = rows.set_column(1, "machine_id", pa.chunked_array(names))
        pq.write_table(
            machines.select([c for c in self.table.column_names if c in machines.column_names]),
            self.path,
            row_group_size=_GROUP_ROWS,
            # to press readings together takes longer than to write them, and to read them also;
            # what repeats is worth a dictionary
            compression="none",
            use_dictionary=[*self.table.key, *filter(partial(_repeats, rows), rows.column_names)],
            write_batch_size=_GROUP_ROWS,
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


def _repeats(rows: pa.Table, name: str) -> bool:
    """Tell whether a column of numbers has few different ones, by its first rows."""
    some = rows[name].slice(0, _LOOKED_AT)
    return bool(pa.types.is_floating(some.type) and pc.count_distinct(some).as_py() <= _FEW)


def lists(table: Table) -> list[str]:
    """Return the column whose lists hold a value for each device, if the table has one."""
    return [c.name for c in table.columns if c.type == "double[]" and not c.nullable]


def _only(rows: pa.Table, kept: _Numbers) -> pa.Table:
    """Return some rows, by their places in order."""
    if len(kept) == len(rows):
        return rows
    gaps = np.flatnonzero(np.diff(kept) != 1) + 1
    if len(gaps) > _PIECES:
        return rows.take(pa.array(kept))
    pieces = [piece for piece in np.split(kept, gaps) if len(piece)]
    return pa.concat_tables([rows.slice(0, 0), *(rows.slice(p[0], len(p)) for p in pieces)])
