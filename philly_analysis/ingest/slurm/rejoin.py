"""Takes apart lines of sacct whose free text holds the delimiter or line breaks.

A record is pieces between delimiters; each field takes one piece or, where it is free text,
several that belong together. Of all the ways to deal the pieces out, those remain in which every
other field looks as it should; if they agree on each field that is read, the record is whole.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from philly_analysis.ingest.slurm.fields import FREE, LONG, READ, matcher

MOST_LINES = 64
"""Lines over which one record may go on."""
MOST_PIECES = 400
"""Pieces that one record may fall into."""
_MOST_IN_NAME = 4
"""Delimiters that the name of a user may hold."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record put together again.

    Attributes
    ----------
    line
        Number of its first line.
    fields
        Value by name, of the fields that are read.
    fault
        Why it could not be, or None.
    """

    line: int
    raw: str
    fields: dict[str, str]
    fault: str | None = None


class Layout:
    """A header: its fields in order, and what stands between them.

    Parameters
    ----------
    users
        Names that lines without doubt show in the field User; any other, which may hold the
        delimiter, is looked at last.
    """

    def __init__(
        self, names: Sequence[str], delimiter: str, *, ends: bool = False, users: Collection[str]
    ) -> None:
        """Prepare the tests of each field."""
        self.names = [name.lower() for name in names]
        self.delimiter = delimiter
        self.ends = ends
        self._tests = [matcher(name) for name in self.names]
        self._free = [name in FREE for name in self.names]
        self._long = [delimiter == "," and name in LONG for name in self.names]
        self._named = [name in ("user", "group") for name in self.names]
        # how many pieces beyond one a field may take
        self._most = [
            MOST_PIECES if free or long else _MOST_IN_NAME if named else 0
            for free, long, named in zip(self._free, self._long, self._named, strict=True)
        ]
        self._users = users

    def split(self, text: str) -> list[str]:
        """Return the pieces of a line, without the empty one after a last delimiter."""
        if self.ends and text.endswith(self.delimiter):
            text = text[: -len(self.delimiter)]
        return text.split(self.delimiter)

    def goes_on(self, pieces: list[str]) -> bool:
        """Whether a line that is no record may be more of a text at the edge of its neighbour."""
        if FREE.isdisjoint((self.names[0], self.names[-1])) or len(pieces) > len(self.names):
            return pieces == [""]
        return len(pieces) == 1 or self._free[0] or not self._tests[0](pieces[0])

    def read(self, text: str) -> dict[str, str] | str | None:
        """Return the fields of a record that are read; why it is ambiguous; None if it is none."""
        if self.ends and not text.endswith(self.delimiter):
            return None
        pieces = self.split(text)
        if not len(self.names) <= len(pieces) <= MOST_PIECES:
            return None
        spans = self._spans(pieces, any_user=False) or self._spans(pieces, any_user=True)
        if spans is None:
            return None
        found = {}
        for name, choices in zip(self.names, spans, strict=True):
            if name in READ:
                if len(choices) > 1:
                    if name in FREE:
                        continue  # not worth the record: it is left out
                    return f"a delimiter within a text, and {name} could end in two places"
                [(start, end)] = choices
                found[name] = self.delimiter.join(pieces[start:end])
        return found

    def _spans(self, pieces: list[str], *, any_user: bool) -> list[set[tuple[int, int]]] | None:
        """Return the pieces that each field may take, over all ways to deal them out."""
        total, fields = len(pieces), len(self.names)
        spare = total - fields
        reached, steps = {0}, []
        for j in range(fields):
            step = {
                (start, end)
                for start in reached
                for end in range(start + 1, start + 2 + min(self._most[j], spare - (start - j)))
                if self._fits(j, pieces, start, end, any_user=any_user)
            }
            steps.append(step)
            reached = {end for _, end in step}
            if not reached:
                return None
        wanted = {total}
        for j in reversed(range(fields)):
            steps[j] = {span for span in steps[j] if span[1] in wanted}
            wanted = {start for start, _ in steps[j]}
            if not wanted:
                return None
        return steps

    def _fits(self, j: int, pieces: list[str], start: int, end: int, *, any_user: bool) -> bool:
        if self._free[j]:
            return True
        if self._named[j]:
            text = self.delimiter.join(pieces[start:end])
            return "\n" not in text and (any_user or text in self._users)
        if end - start == 1:
            return self._tests[j](pieces[start])
        return self._long[j] and self._tests[j](self.delimiter.join(pieces[start:end]))


def rejoin(layout: Layout, lines: Sequence[tuple[int, str]]) -> Iterator[Record]:
    """Put together the records that misshapen lines are parts of.

    Parameters
    ----------
    lines
        Number and text of the lines that are no record by themselves, in order. Where their
        numbers leave a gap stand lines that are.

    Yields
    ------
    Record
        Lines that only go on with the free text at the end or the start of a record next to them
        belong to it and yield nothing.
    """
    at = 0
    while at < len(lines):
        first, text = lines[at]
        taken, why = 0, None
        for more in range(MOST_LINES):
            if more:
                if at + more >= len(lines) or lines[at + more][0] != first + more:
                    break
                text += "\n" + lines[at + more][1]
            outcome = layout.read(text)
            if isinstance(outcome, dict):
                yield Record(first, text, outcome)
                taken = more + 1
                break
            if outcome is not None:
                why, taken = outcome, more + 1
                break
        if why is not None:
            yield Record(first, text, {}, why)
        elif not taken:
            pieces = layout.split(lines[at][1])
            if len(pieces) == len(layout.names):
                # as many fields as there should be, so that what is wrong can be said of one
                found = dict(zip(layout.names, pieces, strict=True))
                yield Record(first, lines[at][1], {n: found[n] for n in READ if n in found})
            elif not layout.goes_on(pieces):
                fault = "the number of fields is not that of the header"
                yield Record(first, lines[at][1], {}, fault)
        at += taken or 1
