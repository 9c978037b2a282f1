"""Raw CSV files: read whole, in parallel, noting each line that does not parse; or some lines."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from philly_analysis.errors import InputError

_BLOCK_BYTES = 1 << 18
_NEWLINE = ord("\n")

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A raw CSV file without quoting, and the relation of its rows.

    Attributes
    ----------
    relation
        Name of the relation: its columns are `columns`, then ``source_line`` and ``raw``, which
        only :meth:`read_lines` fills.
    columns
        Name and DuckDB type of each field that a row may have. Rows with more fields do not parse.
    header
        The names that the first line must have, spaces around them aside.
    nulls
        Texts that stand for no value.
    commas
        Where rows differ in their number of fields: how many commas a row may have, the last at
        its end. Missing fields then read as null, so that misshapen rows are found by
        :meth:`find_misshapen` only.
    """

    relation: str
    path: Path
    columns: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    nulls: tuple[str, ...] = ("",)
    commas: tuple[int, ...] = ()

    def check(self) -> None:
        """Look at the first and the last bytes.

        Raises
        ------
        InputError
            The header is another file's, or the last line was cut off.
        """
        with whole(self.path), self.open() as file:
            first = file.readline(4096).decode("utf-8", "replace")
        names = tuple(name.strip() for name in first.strip().split(","))
        if names != self.header:
            raise InputError(
                f"{self.path}: the first line should be {','.join(self.header)!r}, and is "
                f"{first.strip()[:120]!r}. Is this the published file, with its header?"
            )
        if self.path.suffix != ".gz":
            with self.path.open("rb") as file:
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    raise InputError(
                        f"{self.path} ends in the middle of a line, so it was cut off. "
                        "Fetch it again."
                    )

    def open(self) -> IO[bytes]:
        """Open the file for reading bytes."""
        if self.path.suffix == ".gz":
            return gzip.open(self.path)  # type: ignore[return-value]
        return self.path.open("rb")

    def read(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the relation, read in parallel; lines that do not parse go to a side table."""
        con.execute(
            f"create or replace view {self.relation} as "
            "select *, null::bigint as source_line, null::varchar as raw "
            f"from read_csv({_text(glob_safe(self.path))}, columns = {self._struct()}, "
            "header = true, delim = ',', quote = '', escape = '', auto_detect = false, "
            f"nullstr = [{', '.join(map(_text, self.nulls))}], null_padding = {bool(self.commas)}, "
            f"store_rejects = true, rejects_table = '{self._rejects}', "
            f"rejects_scan = '{self._rejects}_scan')"
        )

    @property
    def misshapen(self) -> str:
        """Predicate on ``raw``: the row has a number of fields that no row should have."""
        # LIKE is four times as fast as counting
        shapes = (
            f"(raw like '{'%,' * n}' and raw not like '{'%,' * (n + 1)}%')" for n in self.commas
        )
        return f"not ({' or '.join(shapes)})" if self.commas else "false"

    def read_lines(self, con: duckdb.DuckDBPyConnection, numbers: _Numbers) -> None:
        """Create the relation anew, for one query: some lines, with number and text.

        Parameters
        ----------
        numbers
            Numbers of the lines, from 1, in order.
        """
        lines = pa.RecordBatchReader.from_batches(_LINES, self._lines(numbers))
        con.register(f"{self.relation}_lines", lines)
        con.execute(
            f"create or replace view {self.relation} as "
            f"select {self._fields()}, source_line, raw "
            f"from (select *, string_split(raw, ',') as f from {self.relation}_lines)"
        )

    def unparsed(self) -> str:
        """SELECT of the lines that did not parse: source_line, raw, reason; once it was read."""
        return (
            "select line as source_line, trim(first(csv_line), chr(10) || chr(13)) as raw, "
            "case first(error_type)::varchar "
            "when 'TOO MANY COLUMNS' then 'too many fields' "
            "when 'MISSING COLUMNS' then 'too few fields' "
            "when 'CAST' then first(column_name) || ' is not a number' "
            "when 'INVALID ENCODING' then 'not UTF-8 text' "
            "else lower(first(error_type)::varchar) end as reason "
            f"from {self._rejects} group by line"
        )

    @property
    def _rejects(self) -> str:
        return f"{self.relation}_unparsed"

    def _struct(self) -> str:
        return "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in self.columns) + "}"

    def _fields(self) -> str:
        nulls = ", ".join(map(_text, self.nulls))
        return ", ".join(
            f"try_cast(case when f[{i}] not in ({nulls}) then f[{i}] end as {kind}) as {name}"
            for i, (name, kind) in enumerate(self.columns, 1)
        )

    def _blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Give the file in blocks of whole lines: number of the first, how many, the bytes."""
        with whole(self.path), self.open() as file:
            number, rest = 1, b""
            while block := file.read(_BLOCK_BYTES):
                end = block.rfind(b"\n") + 1
                lines, rest = (rest + block[:end], block[end:]) if end else (b"", rest + block)
                if lines:
                    # three times as fast as to count in the bytes
                    count = int(np.count_nonzero(np.frombuffer(lines, np.uint8) == _NEWLINE))
                    yield number, count, lines
                    number += count
            if rest:
                yield number, 1, rest

    def find_blank(self) -> _Numbers:
        """Return the numbers of the lines that hold nothing."""
        found = [np.zeros(0, np.int64)]
        for first, _, block in self._blocks():
            starts, ends = _edges(block)
            last = np.frombuffer(block, np.uint8)[starts]
            found.append(first + np.flatnonzero(ends - starts <= (last == ord("\r"))))
        return np.concatenate(found)

    def find_misshapen(self) -> _Numbers:
        """Return the numbers of the lines whose number of commas no row should have."""
        found = [np.zeros(0, np.int64)]
        for first, _, block in self._blocks():
            data = np.frombuffer(block, np.uint8)
            marks = np.flatnonzero((data == ord(",")) | (data == _NEWLINE))
            ends = np.flatnonzero(data[marks] == _NEWLINE)
            if not block.endswith(b"\n"):
                ends = np.append(ends, len(marks))
            commas = np.diff(ends, prepend=-1) - 1
            right = np.logical_or.reduce([commas == n for n in self.commas])
            found.append(first + np.flatnonzero(~right))
        numbers = np.concatenate(found)
        return numbers[numbers > 1]  # the header has names of its own

    def _lines(self, numbers: _Numbers) -> Iterator[pa.RecordBatch]:
        """Give the lines of these numbers, with number and text."""
        for first, count, block in self._blocks():
            low, high = np.searchsorted(numbers, (first, first + count))
            if low == high:
                continue
            here = numbers[low:high]
            starts, ends = _edges(block)
            texts = [
                block[starts[i] : ends[i]].decode("utf-8", "replace").rstrip("\r")
                for i in here - first
            ]
            yield pa.record_batch([pa.array(here), pa.array(texts)], _LINES)


def _edges(block: bytes) -> tuple[_Numbers, _Numbers]:
    """Tell where each line of a block begins, and where it ends: at its newline or the block's."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    return np.append(0, ends[:-1] + 1), ends


_LINES = pa.schema([("source_line", pa.int64()), ("raw", pa.string())])


@contextmanager
def whole(path: Path) -> Iterator[None]:
    """Refuse a gzipped file that turns out, while it is read, to be cut off or none.

    Raises
    ------
    InputError
        It is.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} was cut off or is not gzip: {error}. Fetch it again.") from None


def glob_safe(path: Path) -> str:
    """Return a path in which the engine finds no wildcard."""
    return "".join(f"[{c}]" if c in "[*?" else c for c in str(path))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
