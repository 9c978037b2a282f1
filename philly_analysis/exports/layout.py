"""Layouts of delimited text files: one table of fields writes a file and validates its bytes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import polars as pl

from philly_analysis.exports.sanitize import PLAIN_NAME

COUNT = r"[0-9]+"
POSITIVE = r"0*[1-9][0-9]*"
DECIMAL = r"[0-9]+(?:\.[0-9]+)?"
NUMBER = rf"{DECIMAL}(?:e-?[0-9]+)?"
TIMESTAMP = r"[0-9]{4}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
NAME = PLAIN_NAME
_PATTERNS = {
    "count": COUNT,
    "positive": POSITIVE,
    "decimal": DECIMAL,
    "timestamp": TIMESTAMP,
    "name": NAME,
    "pacific_time": rf"{TIMESTAMP} P[DS]T",
    "reading": rf"{NUMBER}|NA",
    "reading_or_empty": rf"|{NUMBER}|NA",
}

_BLOCK = 1 << 26
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a text file.

    Values are never quoted: one that contains the separator fails its pattern.

    Attributes
    ----------
    fields
        Name of each field, and the pattern that the whole field must match.
    ascending
        Field whose numbers or timestamps must not fall from line to line.
    unique
        Field whose values must all differ.
    comment
        Prefix of comment lines, which precede the records.
    tail
        Ends each record, after its last field.
    """

    fields: Mapping[str, str]
    separator: str = ","
    header: bool = True
    ascending: str = ""
    unique: str = ""
    comment: str = ""
    tail: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, str], **options: Any) -> Self:
        """Return a layout whose fields may name a common pattern: count, positive, decimal, …."""
        return cls({name: _PATTERNS.get(kind, kind) for name, kind in fields.items()}, **options)

    @property
    def names(self) -> list[str]:
        """Names of the fields, in order."""
        return list(self.fields)

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
        records = self._records(pl.concat([pl.Series(dtype=pl.String), *_blocks(path)]))
        return self._split(records.slice(1) if self.header else records)

    def validate(self, path: Path) -> list[str]:
        """Return the violations of this layout in a file.

        The file is read block by block, so it may be larger than memory; only the values of
        `unique` are kept.
        """
        try:
            return self._violations(path)
        except UnicodeDecodeError as error:
            return [f"{path.name}: not UTF-8 ({error.reason})"]

    def _violations(self, path: Path) -> list[str]:
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
            if found := self._record_violations(path, records, count):
                return found
            rows = self._split(records)
            if self.unique:
                seen.append(rows[self.unique])
            if self.ascending and rows.height:
                values = rows[self.ascending]
                order = values if "-" in values[0] else values.cast(pl.Float64)
                falls = order < order.shift(1, fill_value=order[0] if last is None else last)
                if found := violations(path, values, falls, f"{self.ascending} falls", count):
                    return found
                last = order[-1]
            count += records.len()
        if not count:
            return [f"{path.name}: it has no records"]
        if self.unique:
            values = pl.concat(seen)
            return violations(path, values, values.is_duplicated(), f"{self.unique} repeats")
        return []

    def _record_violations(self, path: Path, records: pl.Series, before: int) -> list[str]:
        """Check each field of some records."""
        found = violations(path, records, records.str.contains("\r", literal=True), "CR", before)
        ends = records.str.ends_with(self.tail)
        found += violations(path, records, ~ends, f"no {self.tail!r} at the end", before)
        fields = records.str.strip_suffix(self.tail).str.count_matches(self.separator, literal=True)
        wrong = fields + 1 != len(self.fields)
        found += violations(path, records, wrong, f"not {len(self.fields)} fields", before)
        if found:
            return found
        rows = self._split(records)
        for name, pattern in self.fields.items():
            ok = rows[name].str.contains(f"^(?:{pattern})$")
            found += violations(path, rows[name], ~ok, f"{name} is not {pattern}", before)
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
    """Yield the lines of a file in blocks of some tens of megabytes."""
    rest = b""
    with path.open("rb") as file:
        for block in chain(iter(lambda: file.read(_BLOCK), b""), [b""]):
            complete, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield pl.Series(complete.decode().split("\n"), dtype=pl.String)


def violations(
    path: Path, values: pl.Series, wrong: pl.Series, rule: str, before: int = 0
) -> list[str]:
    """Return how many values violate a rule and which is the first; empty if none does.

    Parameters
    ----------
    before
        Records of the file before the first value.
    """
    wrong = wrong.fill_null(True)
    if not wrong.any():
        return []
    first = int(wrong.arg_max() or 0)
    return [
        f"{path.name}: {rule} in {int(wrong.sum()):,} records, first record {before + first + 1}: "
        f"{str(values[first])[:_SHOWN]!r}"
    ]
