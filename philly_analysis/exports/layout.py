"""Layouts of delimited text files: fields, separator, header and comments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a text file.

    A field is quoted only if its value contains the separator, a quote or a line break.

    Attributes
    ----------
    fields
        Name of each field, in order.
    separator
        Text between two fields.
    header
        Whether the first line names the fields.
    comment
        Prefix of comment lines, which precede the records.
    tail
        Text after the last field of each record.
    columns
        Unit and meaning of each field.
    """

    fields: Sequence[str]
    separator: str = ","
    header: bool = True
    comment: str = ""
    tail: str = ""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

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
                file.write((self.separator.join(self.fields) + "\n").encode())
            for frame in [rows] if isinstance(rows, pl.DataFrame) else rows:
                frame.select(self.fields).write_csv(
                    file,
                    include_header=False,
                    separator=self.separator,
                    line_terminator=self.tail + "\n",
                    quote_style="necessary",
                )
