"""Read rows of text and Parquet files: file, line, raw text and fields."""

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import gzip_errors, open_bytes
from philly_analysis.ingest.sql import parquet_scan
from philly_analysis.ingest.table.map_keys import WHITESPACE
from philly_analysis.ingest.table.table_map import FIELDS, PER_PART, Field, Layout
from philly_analysis.ingest.trace_builder import TraceBuilder

_BATCH_ROWS = 50_000
_LINE_CHARS = 1 << 20
"""Limit on the length of a line; a longer one is not read."""
_PLACE = ("source_file", "source_line", "raw", "fault")


def files_of(raw: Path, layout: Layout) -> list[Path]:
    """Return the files of a table: the only file, or the files of a folder with such a name."""
    if not raw.is_dir():
        return [raw] if raw.is_file() else []
    candidates = sorted(f for f in raw.iterdir() if f.is_file() and f.suffix != ".toml")
    names = {file: (file.name, file.name.removesuffix(".gz")) for file in candidates}
    return [file for file in candidates if any(fnmatch(name, layout.files) for name in names[file])]


def first_record(file: Path, layout: Layout) -> list[str]:
    """Return the fields of a file's first record: its header, where it has one.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    if file.name.endswith(".parquet"):
        with _parquet_errors(file):
            return list(pq.read_schema(file).names)
    return next((fields for _, _, fields in _records(file, layout)), [])


def store(
    builder: TraceBuilder,
    name: str,
    layout: Layout,
    fields: dict[str, Field],
    files: Sequence[Path],
) -> int:
    """Create a relation of rows: source_file, source_line, raw, ``fault`` and the fields as text.

    Returns
    -------
    int
        Number of rows in the files and of rows kept from earlier ingests.

    Raises
    ------
    InputError
        A file cannot be read, or lacks a column of the fields.
    """
    reader = _Reader(layout, fields)
    file = builder.scratch / f"{name}.parquet"
    with pq.ParquetWriter(file, reader.schema) as writer:
        for batch in itertools.chain.from_iterable(map(reader.batches, files)):
            writer.write_batch(batch)
    builder.con.sql(f"from {parquet_scan([file])}").create_view(name)
    return reader.rows + builder.store.merge(builder.con, name)


def raw_fields(table: str, layout: Layout) -> dict[str, Field]:
    """Return the raw columns of a mapped table.

    ``<field>_said`` is the text of a field. ``<field>_times`` is the column that multiplies a
    field of `PER_PART`. A field that the map does not define is null.
    """
    columns = {}
    for name in FIELDS[table]:
        field = layout.fields.get(name, Field())
        columns[f"{name}_said"] = field
        if name in PER_PART:
            columns[f"{name}_times"] = Field(column=field.rule.get("times"), nulls=field.nulls)
    return columns


@dataclass(slots=True)
class _Reader:
    layout: Layout
    fields: dict[str, Field]
    rows: int = 0

    @property
    def schema(self) -> pa.Schema:
        names = (*_PLACE, *self.fields)
        return pa.schema([(n, pa.int64() if n == "source_line" else pa.string()) for n in names])

    def batches(self, file: Path) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one file."""
        read = self._parquet if file.name.endswith(".parquet") else self._text
        for numbers, raws, faults, columns in read(file):
            self.rows += len(numbers)
            n = len(numbers)
            fields = [self._clean(f, columns, file, n) for f in self.fields.values()]
            place = [pa.array([file.name] * n), pa.array(numbers, pa.int64()), raws, faults]
            yield pa.record_batch([*place, *fields], self.schema)

    def _clean(self, field: Field, columns: dict[str, pa.Array], file: Path, n: int) -> pa.Array:
        import pyarrow.compute as pc

        if field.column is None:
            match = re.search(field.file_name, file.name) if field.file_name else None
            return pa.array([match[1] if match else field.value] * n, pa.string())
        text = pc.utf8_trim_whitespace(columns[field.column])
        none = pc.is_in(text, pa.array([*self.layout.nulls, *field.nulls], pa.string()))
        return pc.if_else(none, pa.scalar(None, pa.string()), text)

    def _places(self, file: Path, header: list[str]) -> dict[str, int]:
        """Return the place of each column of the fields."""
        names = [name.strip() for name in header]
        targets = {f.column: name for name, f in self.fields.items() if f.column is not None}
        for column, target in targets.items():
            if (matches := names.count(column)) != 1:
                has = "no column" if not matches else f"{matches} columns"
                raise InputError(
                    f"{file} has {has} {column!r}, where the map expects "
                    f"{target.removesuffix('_said')}. It has: {', '.join(names)[:300]}."
                )
        return {column: names.index(column) for column in targets}

    def _text(self, file: Path) -> "Iterator[_Rows]":
        records = _records(file, self.layout)
        header = list(self.layout.header)
        if not header:
            _, _, header = next(records, (0, "", []))
        places = self._places(file, header)
        short = [""] * len(header)
        while batch := list(itertools.islice(records, _BATCH_ROWS)):
            numbers, raws, rows = zip(*batch, strict=True)
            faults = [_fault(raw, row, len(header)) for raw, row in zip(raws, rows, strict=True)]
            fields = list(
                zip(*(short if f else r for r, f in zip(rows, faults, strict=True)), strict=True)
            )
            columns = {column: pa.array(fields[i], pa.string()) for column, i in places.items()}
            texts = (pa.array(values, pa.string()) for values in (raws, faults))
            yield pa.array(numbers, pa.int64()), *texts, columns

    def _parquet(self, file: Path) -> "Iterator[_Rows]":
        import pyarrow.compute as pc

        with _parquet_errors(file):
            opened = pq.ParquetFile(file)
            places = self._places(file, opened.schema_arrow.names)
            first = 1
            for batch in opened.iter_batches(_BATCH_ROWS, columns=list(places)):
                columns = {c: pc.cast(batch.column(c), pa.string()) for c in places}
                numbers = pa.array(range(first, first + len(batch)), pa.int64())
                raws = pc.binary_join_element_wise(
                    *columns.values(), ",", null_handling="replace", null_replacement=""
                )
                yield numbers, raws, pa.nulls(len(batch), pa.string()), columns
                first += len(batch)


_Rows = tuple[pa.Array, pa.Array, pa.Array, dict[str, pa.Array]]


@contextmanager
def _parquet_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None


def _fault(raw: str, row: list[str], width: int) -> str | None:
    if "\ufffd" in raw:
        return "not UTF-8 text"
    if len(row) != width:
        lines = raw.rstrip("\r\n").count("\n") + 1
        over = f", over {lines:,} lines" if lines > 1 else ""
        return f"{len(row):,} fields where the header has {width:,}{over}"
    return None


def _records(file: Path, layout: Layout) -> Iterator[tuple[int, str, list[str]]]:
    """Yield first line number, text and fields of each record that is not blank."""
    pending: list[tuple[int, str]] = []

    def lines(opened: IO[str]) -> Iterator[str]:
        for number, line in enumerate(iter(lambda: opened.readline(_LINE_CHARS), ""), 1):
            if len(line) == _LINE_CHARS and not line.endswith("\n"):
                raise InputError(
                    f"{file}, line {number}, is longer than {_LINE_CHARS >> 20} MB: it is damaged, "
                    "or no table."
                )
            if not (layout.comment and line.startswith(layout.comment)):
                pending.append((number, line))
                yield line

    with gzip_errors(file), open_text(file) as opened:
        split: Iterator[list[str]]
        if layout.delimiter == WHITESPACE:
            split = (line.split() for line in lines(opened))
        else:
            split = csv.reader(lines(opened), delimiter=layout.delimiter, skipinitialspace=True)
        try:
            for row in split:
                number, raw = pending[0][0], "".join(line for _, line in pending)
                pending.clear()
                if raw.strip():
                    yield number, raw.rstrip("\r\n"), row
        except csv.Error as error:
            raise InputError(
                f"{file} cannot be read after line {pending[0][0] if pending else 0}: {error}. "
                "Is a quotation mark left open there?"
            ) from None


def open_text(file: Path) -> IO[str]:
    """Open a file, gzipped or not, as text."""
    return io.TextIOWrapper(open_bytes(file), "utf-8-sig", "replace", newline="")
