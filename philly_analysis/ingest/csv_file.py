"""Raw CSV files: read in parallel, noting each line that does not parse, or line by line."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError

_BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A raw CSV file without quoting, and the relation of its rows.

    Attributes
    ----------
    relation
        Name of the relation: its columns are `columns`, then ``source_line`` and ``raw``, which
        only :meth:`read_numbered` fills.
    columns
        Name and DuckDB type of each field that a row may have. Rows with more fields do not parse.
    header
        The names that the first line must have, spaces around them aside.
    nulls
        Texts that stand for no value.
    commas
        Where rows differ in their number of fields: how many commas a row may have, the last at
        its end. Missing fields then read as null, and misshapen rows are found in a scan of
        their own.
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

    def read_misshapen(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the relation anew, with the rows that have a wrong number of fields.

        Lines that do not even decode are passed over here: `read` has counted and kept them.
        """
        con.execute(
            f"create or replace view {self.relation} as "
            f"select {self._fields()}, null::bigint as source_line, null::varchar as raw "
            "from (select raw, string_split(raw, ',') as f "
            f"from read_csv({_text(glob_safe(self.path))}, columns = {{'raw': 'varchar'}}, "
            "header = true, delim = '\x01', quote = '', escape = '', auto_detect = false, "
            "strict_mode = false, ignore_errors = true) "
            f"where {self.misshapen})"
        )

    def read_numbered(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the relation anew, for one query, read line by line with number and text.

        Lines that do not parse (see :meth:`unparsed`) are left out, as they are from `read`.
        """
        lines = pa.RecordBatchReader.from_batches(_LINES, self._batches())
        con.register(f"{self.relation}_lines", lines)
        con.execute(
            f"create or replace view {self.relation} as "
            f"select {self._fields()}, source_line, raw "
            f"from (select *, string_split(raw, ',') as f from {self.relation}_lines) "
            f"where source_line not in (select line from {self._rejects})"
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

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with self.open() as file:
            number = 1
            file.readline()
            while lines := file.readlines(_BATCH_BYTES):
                texts = [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines]
                numbers = range(number + 1, number + 1 + len(lines))
                yield pa.record_batch([pa.array(numbers, pa.int64()), pa.array(texts)], _LINES)
                number += len(lines)


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
