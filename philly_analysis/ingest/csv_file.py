"""Read raw CSV files in blocks of lines; parse each block at once, and reject faulty lines."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from philly_analysis.errors import InputError
from philly_analysis.ingest.line_block import Block, line_text
from philly_analysis.ingest.raw_file import gzip_errors, is_gzipped, open_bytes, read_line

_BLOCK_BYTES = 1 << 23
_FEW = 64
"""Lines that are parsed one by one where some among them are faulty."""

_Numbers = npt.NDArray[np.int64]
Span = tuple[int, int]
"""Offset and length of a block in its file."""


@dataclass(slots=True)
class ParsedBlock:
    """Rows and faulty lines of a block.

    Attributes
    ----------
    rows
        A table for each shape, with the numbers of its lines. Texts are dictionaries.
    faulty
        Number, text and reason of each faulty line.
    blank
        Number of blank lines.
    """

    rows: list[tuple[pa.Table, _Numbers]] = field(default_factory=list)
    faulty: list[tuple[int, str, str]] = field(default_factory=list)
    blank: int = 0


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A raw CSV file without quoting.

    Attributes
    ----------
    header
        Required names in the first line, without the spaces around them.
    shapes
        Columns that a row may have, the usual shape first; no two shapes have equally many columns.
        Columns in `texts` are text, columns without a name are empty, all others are numbers.
    texts
        Columns of text whose values repeat.
    nulls
        Texts for a missing number.
    """

    path: Path
    header: tuple[str, ...]
    shapes: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...]
    nulls: tuple[str, ...] = ("",)

    def check(self) -> None:
        """Check the header and the last byte.

        Raises
        ------
        InputError
            The header is another file's, or the file is truncated.
        """
        with gzip_errors(self.path), open_bytes(self.path) as file:
            first = file.readline(4096).decode("utf-8", "replace")
        names = tuple(name.strip() for name in first.strip().split(","))
        if names != self.header:
            raise InputError(
                f"{self.path}: the first line should be {','.join(self.header)!r}, and is "
                f"{first.strip()[:120]!r}. Is this the published file, with its header?"
            )
        if not is_gzipped(self.path):
            with self.path.open("rb") as file:
                file.seek(-1, 2)
                if file.read(1) != b"\n":
                    raise InputError(
                        f"{self.path} ends in the middle of a line, so it was cut off. "
                        "Fetch it again."
                    )

    def blocks(self) -> Iterator[Block]:
        """Yield the lines below the header, in blocks.

        Raises
        ------
        InputError
            The file is gzipped and truncated.
        """
        with gzip_errors(self.path), open_bytes(self.path) as file:
            offset = len(read_line(file, self.path))
            while text := file.read(_BLOCK_BYTES):
                # the rest of its last line
                text += b"" if text.endswith(b"\n") else read_line(file, self.path)
                yield Block(text, offset)
                offset += len(text)

    def spans(self, group: int) -> Iterator[tuple[Span, ...]]:
        """Yield lists of (offset, length) blocks of a file that is not gzipped.

        Workers read each list independently.
        """
        spans: list[Span] = []
        with self.path.open("rb") as file:
            offset, size = len(file.readline()), self.path.stat().st_size
            while offset < size:
                file.seek(offset + _BLOCK_BYTES - 1)
                read_line(file, self.path)  # the rest of the last line
                end = min(file.tell(), size)
                spans.append((offset, end - offset))
                offset = end
                if len(spans) == group or offset == size:
                    yield tuple(spans)
                    spans = []

    def read_spans(self, spans: tuple[Span, ...]) -> Iterator[Block]:
        """Yield the blocks of some spans."""
        with self.path.open("rb") as file:
            for offset, length in spans:
                file.seek(offset)
                yield Block(file.read(length), offset)

    def parse(self, block: Block) -> ParsedBlock:
        """Parse a block."""
        parsed = ParsedBlock()
        self._parse(parsed, block.text, np.arange(block.lines), self.shapes[0])
        return parsed

    def _parse(
        self, parsed: ParsedBlock, text: bytes, numbers: _Numbers, columns: tuple[str, ...]
    ) -> None:
        """Parse lines at once, then lines of other shapes; where that fails, in smaller parts."""
        ragged: list[csv.InvalidRow] = []
        try:
            if not text.isascii():
                text.decode()
            if b"\r" in text and text.count(b"\r") > text.count(b"\r\n") + text.endswith(b"\r"):
                raise pa.ArrowInvalid("carriage returns within lines")
            table = self._read_csv(text, columns, ragged)
            if len(table) + len(ragged) < len(numbers):
                raise pa.ArrowInvalid("blank lines")
        except (pa.ArrowInvalid, UnicodeDecodeError):
            self._parse_parts(parsed, text, numbers, columns)
            return
        place = np.array([row.number - 1 for row in ragged], np.int64)
        if len(table):
            parsed.rows.append((table, np.delete(numbers, place)))
        width = np.array([row.actual_columns for row in ragged])
        for shape in self.shapes:
            if (rows_of_shape := np.flatnonzero(width == len(shape))).size:
                lines = "\n".join(ragged[i].text for i in rows_of_shape)
                self._parse(parsed, lines.encode(), numbers[place[rows_of_shape]], shape)
        others = np.flatnonzero(~np.isin(width, [len(shape) for shape in self.shapes]))
        self._parse_each(parsed, [ragged[i].text.encode() for i in others], numbers[place[others]])

    def _parse_parts(
        self, parsed: ParsedBlock, text: bytes, numbers: _Numbers, columns: tuple[str, ...]
    ) -> None:
        """Parse lines in halves without the blank ones, or few lines one by one."""
        lines = text.removesuffix(b"\n").split(b"\n")
        filled = [i for i, line in enumerate(lines) if line.rstrip(b"\r")]
        if len(filled) == len(lines) <= _FEW:
            self._parse_each(parsed, lines, numbers)
            return
        parsed.blank += len(lines) - len(filled)
        half = len(filled) // 2
        for part in filter(None, (filled[:half], filled[half:])):
            self._parse(parsed, b"\n".join([lines[i] for i in part]), numbers[part], columns)

    def _parse_each(self, parsed: ParsedBlock, lines: list[bytes], numbers: _Numbers) -> None:
        """Parse lines one by one, and record the fault of each faulty one."""
        good: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for line, number in zip(lines, numbers.tolist(), strict=True):
            fields = line.decode("utf-8", "replace").rstrip("\r").split(",")
            columns = next((s for s in self.shapes if len(s) == len(fields)), self.shapes[-1])
            if len(self.shapes) == 1:
                # empty fields after the last column are ignored
                while len(fields) > len(columns) and not fields[-1]:
                    fields.pop()
            if reason := self._fault(line, fields, columns):
                parsed.faulty.append((number, line_text(line), reason))
            else:
                good.setdefault(columns, []).append((number, ",".join(fields)))
        for columns, rows in good.items():
            text = "\n".join(row for _, row in rows).encode()
            table = self._read_csv(text, columns, [])
            parsed.rows.append((table, np.array([number for number, _ in rows])))

    def _fault(self, line: bytes, fields: list[str], columns: tuple[str, ...]) -> str | None:
        """Return the fault of a line, or None."""
        try:
            line.decode()
        except UnicodeDecodeError:
            return "not UTF-8 text"
        for name, value in zip(columns, fields, strict=False):
            if (
                name
                and name not in self.texts
                and value not in self.nulls
                and not _is_number(value)
            ):
                return f"{name} is not a number"
        if any(fields[len(columns) :]):
            return "too many fields"
        if len(fields) != len(columns) or (not columns[-1] and fields[-1] not in self.nulls):
            return "too few fields" if len(self.shapes) == 1 else "wrong number of fields"
        return "an end of a line is in it" if b"\r" in line.rstrip(b"\r") else None

    def _read_csv(
        self, text: bytes, columns: tuple[str, ...], ragged: list[csv.InvalidRow]
    ) -> pa.Table:
        """Parse lines, and collect the lines with another number of columns.

        Raises
        ------
        pa.ArrowInvalid
            A field does not have its type.
        """

        def skip(row: csv.InvalidRow) -> str:
            ragged.append(row)
            return "skip"

        types = {name: pa.null() if name == "" else pa.float64() for name in columns}
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=columns),
            csv.ParseOptions(quote_char=False, invalid_row_handler=skip),
            csv.ConvertOptions(
                check_utf8=False,  # checked before
                column_types=types | dict.fromkeys(self.texts, _DICTIONARY),
                null_values=self.nulls,
            ),
        )

    def lines(self, index: list[tuple[int, int]], numbers: _Numbers) -> Iterator[tuple[int, str]]:
        """Look up lines by number, from 1, in ascending order.

        Parameters
        ----------
        index
            Numbers and offsets of some lines, the first one included.

        Yields
        ------
        number, text
            Number and text of each line.
        """
        nearest = np.searchsorted([first for first, _ in index], numbers, side="right") - 1
        ends = [offset for _, offset in index[1:]]
        with gzip_errors(self.path), open_bytes(self.path) as file:
            for entry in np.unique(nearest):
                first, offset = index[entry]
                file.seek(offset)
                text = file.read(ends[entry] - offset if entry < len(ends) else -1)
                in_block = numbers[nearest == entry]
                yield from zip(in_block.tolist(), Block(text).texts(in_block - first), strict=True)


_DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def _is_number(text: str) -> bool:
    try:
        pa.scalar(text.strip(" \t")).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
