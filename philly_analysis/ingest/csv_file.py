"""Raw CSV files: read in blocks of whole lines, each parsed at once; lines that are wrong said."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, count
from pathlib import Path
from typing import IO, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from philly_analysis.errors import InputError

_BLOCK_BYTES = 1 << 23
_PLACE_BYTES = 1 << 17
"""How far apart the lines are whose place is noted."""
LONGEST_LINE_BYTES = 64 << 20
"""No line of a log is longer, and nothing is read of one that is."""
_FEW = 64
"""Lines that are looked at one by one where some among them do not parse."""

_Numbers = npt.NDArray[np.int64]
Piece = tuple[int, int]
"""Where a block begins in its file, and how long it is."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines of a file.

    Attributes
    ----------
    first, offset
        Number of the first line, from 1, and where it begins.
    newlines
        How many there are in each :data:`_PLACE_BYTES` of it.
    """

    text: bytes
    first: int
    offset: int = 0
    newlines: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: bytes, first: int, offset: int) -> Self:
        """Count the lines of a text."""
        letters = np.frombuffer(text, np.uint8)
        # few at a time: what is compared stays in a processor's cache
        parts = (letters[at:][:_PLACE_BYTES] for at in range(0, len(text), _PLACE_BYTES))
        newlines = tuple(int(np.count_nonzero(part == ord("\n"))) for part in parts)
        return cls(text, first, offset, newlines)

    @property
    def lines(self) -> int:
        """How many there are."""
        return sum(self.newlines) + (not self.text.endswith(b"\n"))

    @property
    def numbers(self) -> _Numbers:
        """Numbers of the lines."""
        return np.arange(self.first, self.first + self.lines)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Number of a line and where in the file it begins, every so many bytes."""
        places = [(self.first, self.offset)]
        passed = accumulate(self.newlines)
        for end, number in zip(count(_PLACE_BYTES, _PLACE_BYTES), passed, strict=False):
            if after := self.text.find(b"\n", end) + 1:
                places.append((self.first + number + 1, self.offset + after))
        return places

    def texts(self, numbers: _Numbers) -> list[str]:
        """Return the lines of these numbers."""
        lines = self.text.split(b"\n")
        return [_shown(lines[number - self.first]) for number in numbers]


@dataclass(slots=True)
class Lines:
    """What became of the lines of a block, blank ones aside.

    Attributes
    ----------
    rows
        A table for each shape, with the numbers of its lines. Texts are dictionaries.
    wrong
        Number, text and reason of each line that is no row.
    blank
        How many lines were blank.
    """

    rows: list[tuple[pa.Table, _Numbers]] = field(default_factory=list)
    wrong: list[tuple[int, str, str]] = field(default_factory=list)
    blank: int = 0


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A raw CSV file without quoting.

    Attributes
    ----------
    header
        The names that the first line must have, spaces around them aside.
    shapes
        The columns that a row may have, the usual ones first; another shape has another number
        of them. Those named in `texts` are text, those without a name hold nothing, all others
        are numbers.
    texts
        Columns of text that repeats from row to row.
    nulls
        What stands for no number.
    """

    path: Path
    header: tuple[str, ...]
    shapes: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...]
    nulls: tuple[str, ...] = ("",)

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

    @property
    def gzipped(self) -> bool:
        """Tell whether it can only be read from its beginning."""
        return self.path.suffix == ".gz"

    def open(self) -> IO[bytes]:
        """Open the file for reading bytes."""
        if self.gzipped:
            return gzip.open(self.path)  # type: ignore[return-value]
        return self.path.open("rb")

    def blocks(self) -> Iterator[Block]:
        """Give the lines below the header.

        Raises
        ------
        InputError
            The file is gzipped and was cut off.
        """
        with whole(self.path), self.open() as file:
            first, offset = 2, len(read_line(file, self.path))
            while text := file.read(_BLOCK_BYTES):
                # the rest of its last line
                text += b"" if text.endswith(b"\n") else read_line(file, self.path)
                block = Block.of(text, first, offset)
                yield block
                first, offset = first + block.lines, offset + len(text)

    def pieces(self, together: int) -> Iterator[tuple[Piece, ...]]:
        """Say where the blocks are that :meth:`blocks` gives, several at once, reading little.

        Only of a file that is not gzipped.
        """
        pieces: list[Piece] = []
        with self.path.open("rb") as file:
            offset, size = len(file.readline()), self.path.stat().st_size
            while offset < size:
                file.seek(offset + _BLOCK_BYTES - 1)
                read_line(file, self.path)  # the rest of the last line
                end = min(file.tell(), size)
                pieces.append((offset, end - offset))
                offset = end
                if len(pieces) == together or offset == size:
                    yield tuple(pieces)
                    pieces = []

    def read_pieces(self, pieces: tuple[Piece, ...]) -> Iterator[Block]:
        """Give blocks by where they are; the lines of each are numbered from 0."""
        with self.path.open("rb") as file:
            for offset, length in pieces:
                file.seek(offset)
                yield Block.of(file.read(length), 0, offset)

    def read(self, block: Block) -> Lines:
        """Parse a block."""
        lines = Lines()
        self._read(lines, block.text, block.numbers, self.shapes[0])
        return lines

    def _read(self, lines: Lines, text: bytes, numbers: _Numbers, columns: tuple[str, ...]) -> None:
        """Parse lines at once, and then those of another shape; or fewer, where that fails."""
        odd: list[csv.InvalidRow] = []
        try:
            if not text.isascii():
                text.decode()
            if b"\r" in text and text.count(b"\r") > text.count(b"\r\n") + text.endswith(b"\r"):
                raise pa.ArrowInvalid("ends of lines within lines")
            table = self._parse(text, columns, odd)
            if len(table) + len(odd) < len(numbers):
                raise pa.ArrowInvalid("blank lines")
        except (pa.ArrowInvalid, UnicodeDecodeError):
            self._read_fewer(lines, text, numbers, columns)
            return
        place = np.array([row.number - 1 for row in odd], np.int64)
        if len(table):
            lines.rows.append((table, np.delete(numbers, place)))
        width = np.array([row.actual_columns for row in odd])
        for shape in self.shapes:
            if (those := np.flatnonzero(width == len(shape))).size:
                rows = "\n".join(odd[i].text for i in those).encode()
                self._read(lines, rows, numbers[place[those]], shape)
        others = np.flatnonzero(~np.isin(width, [len(shape) for shape in self.shapes]))
        self._read_each(lines, [odd[i].text.encode() for i in others], numbers[place[others]])

    def _read_fewer(
        self, lines: Lines, text: bytes, numbers: _Numbers, columns: tuple[str, ...]
    ) -> None:
        """Parse lines without those that are blank, or in halves, or one by one."""
        given = text.removesuffix(b"\n").split(b"\n")
        held = [i for i, line in enumerate(given) if line.rstrip(b"\r")]
        if len(held) < len(given):
            lines.blank += len(given) - len(held)
            parts: list[list[int] | slice] = [held] if held else []
            texts = [[given[i] for i in held]]
        elif len(given) > _FEW:
            half = len(given) // 2
            parts = [slice(half), slice(half, None)]
            texts = [given[:half], given[half:]]
        else:
            self._read_each(lines, given, numbers)
            return
        for part, some in zip(parts, texts, strict=False):
            self._read(lines, b"\n".join(some), numbers[part], columns)

    def _read_each(self, lines: Lines, given: list[bytes], numbers: _Numbers) -> None:
        """Look at lines one by one: say what is wrong with them, or parse them."""
        good: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for line, number in zip(given, numbers.tolist(), strict=True):
            fields = line.decode("utf-8", "replace").rstrip("\r").split(",")
            columns = next((s for s in self.shapes if len(s) == len(fields)), self.shapes[-1])
            if len(self.shapes) == 1:
                # empty fields beyond the last one are none
                while len(fields) > len(columns) and not fields[-1]:
                    fields.pop()
            if reason := self._fault(line, fields, columns):
                lines.wrong.append((number, _shown(line), reason))
            else:
                good.setdefault(columns, []).append((number, ",".join(fields)))
        for columns, rows in good.items():
            text = "\n".join(row for _, row in rows).encode()
            table = self._parse(text, columns, [])
            lines.rows.append((table, np.array([number for number, _ in rows])))

    def _fault(self, line: bytes, fields: list[str], columns: tuple[str, ...]) -> str | None:
        """Say why a line is no row."""
        try:
            line.decode()
        except UnicodeDecodeError:
            return "not UTF-8 text"
        for name, value in zip(columns, fields, strict=False):
            if name and name not in self.texts and value not in self.nulls and not _number(value):
                return f"{name} is not a number"
        if any(fields[len(columns) :]):
            return "too many fields"
        if len(fields) != len(columns) or (not columns[-1] and fields[-1]):
            return "too few fields" if len(self.shapes) == 1 else "wrong number of fields"
        return "an end of a line is in it" if b"\r" in line.rstrip(b"\r") else None

    def _parse(self, text: bytes, columns: tuple[str, ...], odd: list[csv.InvalidRow]) -> pa.Table:
        """Parse lines; put aside those with another number of columns.

        Raises
        ------
        pa.ArrowInvalid
            A field does not have its type.
        """

        def put_aside(row: csv.InvalidRow) -> str:
            odd.append(row)
            return "skip"

        types = {name: pa.null() if name == "" else pa.float64() for name in columns}
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=columns),
            csv.ParseOptions(quote_char=False, invalid_row_handler=put_aside),
            csv.ConvertOptions(
                check_utf8=False,  # it was looked at
                column_types=types | dict.fromkeys(self.texts, _DICTIONARY),
                null_values=self.nulls,
            ),
        )

    def lines(self, places: list[tuple[int, int]], numbers: _Numbers) -> Iterator[tuple[int, str]]:
        """Look up lines by number, from 1, in order; `places` say where some of them begin.

        Yields
        ------
        number, text
            Of each line.
        """
        nearest = np.searchsorted([first for first, _ in places], numbers, side="right") - 1
        ends = [offset for _, offset in places[1:]]
        with whole(self.path), self.open() as file:
            for place in np.unique(nearest):
                first, offset = places[place]
                file.seek(offset)
                text = file.read(ends[place] - offset if place < len(ends) else -1)
                here = numbers[nearest == place]
                yield from zip(here.tolist(), Block(text, first).texts(here), strict=True)


def read_line(file: IO[bytes], path: Path) -> bytes:
    """Read one line, with its end.

    Raises
    ------
    InputError
        It is longer than that of any log.
    """
    line = file.readline(LONGEST_LINE_BYTES)
    if len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
        raise InputError(
            f"{path} has a line of more than {LONGEST_LINE_BYTES >> 20} MB, as no log has. "
            "It is damaged, or something else."
        )
    return line


_DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def _number(text: str) -> bool:
    try:
        pa.scalar(text.strip(" \t")).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")


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
