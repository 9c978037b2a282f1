"""Write a file of a streamed table: join the rows of its parts, and drop repeated keys."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from philly_analysis.ingest.samples.staging import AT, KEY
from philly_analysis.ingest.sql import parquet_scan
from philly_analysis.trace import Table, timestamps_us

_GROUP_ROWS = 122_880
"""Rows of a row group, the unit that the database reads."""
_SLICES = 10_000
"""Slices of a table beyond which copying its rows is faster."""
_FIRST_ROWS = 1_000
_FEW = 20
"""Distinct values in the first rows up to which a column gets a dictionary."""
NO_ROW = -1

_Numbers = npt.NDArray[np.int64]


Written = tuple[list[int], list[_Numbers], _Numbers]
"""Rows kept of each part, the lines of repeated keys, and the longest list of each machine."""


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file of a streamed table, to be written.

    Attributes
    ----------
    names
        Names of the machines, by number.
    earlier
        Files of earlier ingests; a row whose key is in them is a repeat.
    """

    con: duckdb.DuckDBPyConnection
    table: Table
    names: pa.StringArray
    earlier: list[Path]
    path: Path

    def write(self, parts: list[pa.Table], begins: int, ends: int) -> Written:
        """Write the rows of each part, whose times are in a range."""
        before = self._before(begins, ends)
        keys = [self._keys(rows, begins) for rows in parts]
        kept_and_repeats = [
            _firsts(key, rows["line"].to_numpy(), before)
            for key, rows in zip(keys, parts, strict=True)
        ]
        firsts = [first for first, _ in kept_and_repeats]
        if len(parts) == 1:
            rows = _select(parts[0], np.sort(firsts[0]))
        else:
            rows = self._joined(parts, keys, firsts, begins)
        if len(rows):
            self._write(rows)
        repeats = [
            part["line"].to_numpy()[repeat]
            for part, (_, repeat) in zip(parts, kept_and_repeats, strict=True)
        ]
        return [len(first) for first in firsts], repeats, self._longest_of(rows)

    def _longest_of(self, rows: pa.Table) -> _Numbers:
        """Return the length of the longest list of each machine; NO_ROW: no row."""
        longest = np.full(len(self.names), NO_ROW)
        machine = rows["machine"].to_numpy().astype(np.int64)
        longest[machine] = 0
        for name in lists(self.table):
            lengths = pc.list_value_length(rows[name]).to_numpy()
            many = int(lengths.max(initial=0)) + 1
            there, length = np.divmod(np.flatnonzero(np.bincount(machine * many + lengths)), many)
            longest[there] = length  # ascending, so that the longest is assigned last
        return longest

    def _keys(self, rows: pa.Table, origin: int) -> _Numbers:
        """Combine time and machine into one number that sorts by time."""
        number: _Numbers = rows["machine"].to_numpy()
        return (timestamps_us(rows["sampled_at"]) - origin) * len(self.names) + number

    def _before(self, origin: int, end: int) -> _Numbers:
        """Return the keys of earlier rows in a range of time."""
        if not self.earlier:
            return np.zeros(0, np.int64)
        # the database skips files whose statistics are outside the range
        keys = self.con.cursor().sql(
            "select sampled_at, number as machine "
            f"from {parquet_scan(self.earlier, 'union_by_name = true')} "
            "join (select unnest($names) as machine_id, "
            "generate_subscripts($names, 1) - 1 as number) using (machine_id) "
            "where sampled_at >= make_timestamp($origin) and sampled_at < make_timestamp($end)",
            params={"names": self.names.to_pylist(), "origin": origin, "end": end},
        )
        return np.sort(self._keys(keys.to_arrow_table(), origin))

    def _joined(
        self, parts: list[pa.Table], keys: list[_Numbers], firsts: list[_Numbers], origin: int
    ) -> pa.Table:
        """Join the kept rows by key, in the order of keys; null where a part has no row."""
        sorted_keys = [key[first] for key, first in zip(keys, firsts, strict=True)]
        every = np.concatenate(sorted_keys)
        order = np.argsort(every, kind="stable")  # merges the sorted parts
        ranked = every[order]
        new = np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)]
        key = ranked[new]
        row = np.empty(len(every), np.int64)
        row[order] = np.cumsum(new) - 1
        moment, machine = np.divmod(key, len(self.names))
        columns = {"sampled_at": pa.array(moment + origin).view(AT.type)}
        columns["machine"] = pa.array(machine.astype(np.int32))
        of_parts = np.split(row, np.cumsum([len(part_keys) for part_keys in sorted_keys])[:-1])
        for rows, in_part, first in zip(parts, of_parts, firsts, strict=True):
            place = np.full(len(key), -1)
            place[in_part] = first
            taken = pa.array(place, mask=place < 0)
            for name in rows.column_names[len(KEY) :]:
                values = rows[name].combine_chunks().take(taken)
                columns[name] = pc.coalesce(columns[name], values) if name in columns else values
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
            # compression makes writing and reading of samples slower; dictionaries suffice
            compression="none",
            use_dictionary=[*self.table.key, *filter(partial(_repeats, rows), rows.column_names)],
            write_batch_size=_GROUP_ROWS,
            write_statistics=list(self.table.key),
            store_schema=False,
        )


def _firsts(keys: _Numbers, lines: _Numbers, before: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Return the first row of each key, in the order of keys, and the rows of repeated keys."""
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
    """Whether a column of numbers has few distinct numbers in its first rows."""
    some = rows[name].slice(0, _FIRST_ROWS)
    return bool(pa.types.is_floating(some.type) and pc.count_distinct(some).as_py() <= _FEW)


def lists(table: Table) -> list[str]:
    """Return the column whose lists have a value for each device, if the table has one."""
    return [c.name for c in table.columns if c.type == "double[]" and not c.nullable]


def _select(rows: pa.Table, kept: _Numbers) -> pa.Table:
    """Return some rows, by their places in ascending order."""
    if len(kept) == len(rows):
        return rows
    gaps = np.flatnonzero(np.diff(kept) != 1) + 1
    if len(gaps) > _SLICES:
        return rows.take(pa.array(kept))
    slices = [rows.slice(part[0], len(part)) for part in np.split(kept, gaps) if len(part)]
    return pa.concat_tables([rows.slice(0, 0), *slices])
