"""Delimited text: one table of fields both writes a file and checks every byte rule of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl

from philly_analysis.exports.sanitize import SAFE

COUNT = r"[0-9]+"
POSITIVE = r"0*[1-9][0-9]*"
DECIMAL = r"[0-9]+(?:\.[0-9]+)?"
NUMBER = rf"{DECIMAL}(?:e-?[0-9]+)?"
TIMESTAMP = r"[0-9]{4}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
NAME = SAFE

_BLOCK = 1 << 26
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a line: its name, and the pattern that the whole of it must match."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a text file.

    Nothing is ever quoted: a value that held the separator would break its line, and fails its
    pattern.

    Attributes
    ----------
    ascending
        Field whose numbers or timestamps must not fall from line to line.
    unique
        Field whose values must all differ.
    comment
        Lines that start with it stand before the others and are no records.
    tail
        Ends each record, after its last field.
    """

    fields: tuple[Field, ...]
    separator: str = ","
    header: bool = True
    ascending: str = ""
    unique: str = ""
    comment: str = ""
    tail: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the fields, in order."""
        return [f.name for f in self.fields]

    def write(
        self,
        rows: pl.DataFrame | Iterable[pl.DataFrame],
        path: Path,
        *,
        comments: tuple[str, ...] = (),
    ) -> None:
        """Write one line per row, of the columns named like the fields."""
        with path.open("wb") as file:
            file.write("".join(f"{self.comment}{c}\n" for c in comments).encode())
            if self.header:
                file.write((self.separator.join(self.names) + "\n").encode())
            for frame in [rows] if isinstance(rows, pl.DataFrame) else rows:
                frame.select(self.names).write_csv(
                    file,
                    include_header=False,
                    separator=self.separator,
                    line_terminator=self.tail + "\n",
                    quote_style="never",
                )

    def read(self, path: Path) -> pl.DataFrame:
        """Return the fields of each line as text; lines with too few fields end in nulls."""
        blocks = list(_blocks(path))
        lines = pl.concat(blocks) if blocks else pl.Series(dtype=pl.String)
        records = self._records(lines)
        return self._split(records.slice(1) if self.header else records)

    def faults(self, path: Path) -> list[str]:
        """Say what breaks the rules of this layout; empty when nothing does.

        The file is read block by block, so it may be larger than memory; only the values of
        `unique` are kept.
        """
        try:
            return self._faults(path)
        except UnicodeDecodeError as error:
            return [f"{path.name}: not UTF-8 ({error.reason})"]

    def _faults(self, path: Path) -> list[str]:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - 1, 0))
            if file.read() != b"\n":
                return [f"{path.name}: the last line does not end"]
        header = self.separator.join(self.names) if self.header else None
        count, last, seen = 0, None, []
        for lines in _blocks(path):
            records = self._records(lines)
            if header is not None and records.len():
                if records[0] != header:
                    return [f"{path.name}: the first line is not {header!r}"]
                header, records = None, records.slice(1)
            if found := self._record_faults(path, records, count):
                return found
            rows = self._split(records)
            if self.unique:
                seen.append(rows[self.unique])
            if self.ascending and rows.height:
                values = rows[self.ascending]
                order = values if "-" in values[0] else values.cast(pl.Float64)
                falls = order < order.shift(1, fill_value=order[0] if last is None else last)
                if found := broken(path, values, falls, f"{self.ascending} falls", count):
                    return found
                last = order[-1]
            count += records.len()
        if not count:
            return [f"{path.name}: it has no records"]
        if self.unique:
            values = pl.concat(seen)
            return broken(path, values, values.is_duplicated(), f"{self.unique} repeats")
        return []

    def _record_faults(self, path: Path, records: pl.Series, before: int) -> list[str]:
        """Check the fields of some records, one by one."""
        found = broken(path, records, records.str.contains("\r", literal=True), "CR", before)
        ends = records.str.ends_with(self.tail)
        found += broken(path, records, ~ends, f"no {self.tail!r} at the end", before)
        fields = records.str.strip_suffix(self.tail).str.count_matches(self.separator, literal=True)
        wrong = fields + 1 != len(self.fields)
        found += broken(path, records, wrong, f"not {len(self.fields)} fields", before)
        if found:
            return found
        rows = self._split(records)
        for field in self.fields:
            ok = rows[field.name].str.contains(f"^(?:{field.pattern})$")
            rule = f"{field.name} is not {field.pattern}"
            found += broken(path, rows[field.name], ~ok, rule, before)
        return found

    def _records(self, lines: pl.Series) -> pl.Series:
        return lines.filter(~lines.str.starts_with(self.comment)) if self.comment else lines

    def _split(self, records: pl.Series) -> pl.DataFrame:
        records = records.str.strip_suffix(self.tail)
        if len(self.fields) == 1:
            return records.to_frame(self.names[0])
        parts = records.str.split_exact(self.separator, len(self.fields) - 1)
        return parts.struct.rename_fields(self.names).struct.unnest()


def _blocks(path: Path) -> Iterator[pl.Series]:
    """Yield the lines of a file, some tens of megabytes at a time."""
    rest = b""
    with path.open("rb") as file:
        for block in chain(iter(lambda: file.read(_BLOCK), b""), [b""]):
            whole, newline, part = (rest + block).rpartition(b"\n")
            rest = part
            if newline:
                yield pl.Series(whole.decode().split("\n"), dtype=pl.String)


def broken(
    path: Path, values: pl.Series, wrong: pl.Series, rule: str, before: int = 0
) -> list[str]:
    """Say how many values break a rule, and which is the first; empty when none does.

    Parameters
    ----------
    before
        Records of the file that stand before the first value.
    """
    wrong = wrong.fill_null(True)
    if not wrong.any():
        return []
    first = int(wrong.arg_max() or 0)
    return [
        f"{path.name}: {rule} in {int(wrong.sum()):,} records, first record {before + first + 1}: "
        f"{str(values[first])[:_SHOWN]!r}"
    ]
