"""Split records of sacct whose free text contains the delimiter or line breaks.

A record is a list of pieces between delimiters. A field takes one piece, or several if it is free
text. An assignment of pieces to fields is valid if each field that is no free text matches its
pattern. The record is unambiguous if all valid assignments agree on every field that is read.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from philly_analysis.ingest.slurm.fields import FREE, LONG, READ, Matcher, matcher

MOST_LINES = 64
"""Limit on the lines of a record."""
MOST_PIECES = 400
"""Limit on the pieces of a record."""
_MOST_IN_NAME = 4
"""Limit on the delimiters in the name of a user."""
_PEOPLE = frozenset(("user", "group"))
_ONE_LINE = re.compile(r"[^\n]*").fullmatch


@dataclass(frozen=True, slots=True)
class Record:
    """A record.

    Attributes
    ----------
    line
        Number of the record's first line.
    fields
        Values of the fields that are read, by name.
    fault
        Reason why the record cannot be read, or None.
    """

    line: int
    raw: str
    fields: dict[str, str]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """Layout of a file: fields, delimiter, whether lines end in a delimiter, and header lines."""

    names: tuple[str, ...]
    delimiter: str
    ends: bool
    lines: int = 1


class Layout:
    """The fields of a file in order, and their delimiter, to split its records.

    Parameters
    ----------
    users
        Users of complete records. Other names, which may contain the delimiter, are tried last.
    """

    def __init__(self, header: Header, users: Collection[str]) -> None:
        """Compile the test of each field."""
        self.names = [name.lower() for name in header.names]
        self.delimiter, self.ends = header.delimiter, header.ends
        # pieces that a field may take beyond the first
        self._most = [
            MOST_PIECES
            if name in FREE or (name in LONG and self.delimiter == ",")
            else _MOST_IN_NAME
            if name in _PEOPLE
            else 0
            for name in self.names
        ]
        # tests of the fields: users of complete records, then users of any name
        self._tests_by_users, self._tests = (
            [
                None if name in FREE else is_user if name in _PEOPLE else matcher(name)
                for name in self.names
            ]
            for is_user in (users.__contains__, _ONE_LINE)
        )

    def split(self, text: str) -> list[str]:
        """Return the pieces of a line, without the empty one after a last delimiter."""
        if self.ends and text.endswith(self.delimiter):
            text = text[: -len(self.delimiter)]
        return text.split(self.delimiter)

    def is_continuation(self, pieces: list[str]) -> bool:
        """Whether a line may continue a free text at the edge of the record beside it."""
        if FREE.isdisjoint((self.names[0], self.names[-1])) or len(pieces) > len(self.names):
            return pieces == [""]
        return len(pieces) == 1 or self.names[0] in FREE or not matcher(self.names[0])(pieces[0])

    def parse(self, text: str) -> dict[str, str] | str | None:
        """Return the fields of a record; the reason if it is ambiguous; None if it is no record."""
        if self.ends and not text.endswith(self.delimiter):
            return None
        pieces = self.split(text)
        if not len(self.names) <= len(pieces) <= MOST_PIECES:
            return None
        spans = self._spans(pieces, self._tests_by_users) or self._spans(pieces, self._tests)
        if spans is None:
            return None
        values = {}
        for name, choices in zip(self.names, spans, strict=True):
            if name in READ:
                if len(choices) > 1:
                    if name in FREE:
                        continue  # an ambiguous free text is dropped, the record kept
                    return f"a delimiter within a text, and {name} could end in two places"
                [(start, end)] = choices
                values[name] = self.delimiter.join(pieces[start:end])
        return values

    def _spans(
        self, pieces: list[str], tests: list[Matcher | None]
    ) -> list[set[tuple[int, int]]] | None:
        """Return the pieces that each field takes, over all valid assignments.

        A field takes any text if its test is None.
        """
        total, fields = len(pieces), len(self.names)
        spare = total - fields
        starts, spans = {0}, []
        for j, fits in enumerate(tests):
            of_field = set()
            for start in starts:
                for end in range(start + 1, start + 2 + min(self._most[j], spare - (start - j))):
                    if fits is None or fits(self.delimiter.join(pieces[start:end])):
                        of_field.add((start, end))
            spans.append(of_field)
            starts = {end for _, end in of_field}
            if not starts:
                return None
        ends = {total}
        for j in reversed(range(fields)):
            spans[j] = {span for span in spans[j] if span[1] in ends}
            ends = {start for start, _ in spans[j]}
            if not ends:
                return None
        return spans


def rejoin(layout: Layout, lines: Sequence[tuple[int, str]]) -> Iterator[Record]:
    """Join incomplete lines to records.

    Parameters
    ----------
    lines
        Numbers and texts of the lines that are no complete records, in order.

    Yields
    ------
    Record
        Lines that continue a free text of an adjacent record yield nothing.
    """
    at = 0
    while at < len(lines):
        first, text = lines[at]
        outcome, taken = layout.parse(text), 1
        for number, line in lines[at + 1 : at + MOST_LINES]:
            if outcome is not None or number != first + taken:
                break
            text += "\n" + line
            outcome, taken = layout.parse(text), taken + 1
        if isinstance(outcome, dict):
            yield Record(first, text, outcome)
        elif outcome is not None:
            yield Record(first, text, {}, outcome)
        else:
            taken = 1
            pieces = layout.split(lines[at][1])
            if len(pieces) == len(layout.names):
                # the number of fields is right: one field is at fault
                values = dict(zip(layout.names, pieces, strict=True))
                yield Record(first, lines[at][1], {n: values[n] for n in READ if n in values})
            elif not layout.is_continuation(pieces):
                fault = "the line has another number of fields than the header"
                yield Record(first, lines[at][1], {}, fault)
        at += taken
