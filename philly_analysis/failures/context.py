"""Count the lines of a text that match a context pattern; search all texts of a batch at once."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from philly_analysis.failures.lines import Lines
from philly_analysis.failures.signature import contexts

if TYPE_CHECKING:
    import polars as pl

TAIL_LINES = 200
"""Lines at the end of a text that are searched for progress and completion."""


@dataclass(frozen=True, slots=True)
class Text:
    """One of several texts.

    Attributes
    ----------
    pieces
        Pieces of the text.
    numbers
        Line number of each piece of all texts, from 1 in each text.
    start
        Index of the text's first piece among the pieces of all texts.
    places
        Returns the pieces of all texts that match a context pattern, in order; of their tails only
        if the second argument is true.
    """

    pieces: list[str]
    numbers: "pl.Series"
    start: int
    places: Callable[[str, bool], list[int]]

    def line_number(self, at: int) -> int:
        """Return the number of a piece's line, from 1."""
        return int(self.numbers[self.start + at])

    def count(self, context: str, first: int, last: int, *, tail: bool = False) -> int:
        """Count the pieces from `first` to `last` that match; in the tail only if `tail`."""
        places = self.places(context, tail)
        end = self.start + min(last + 1, len(self.pieces))
        return bisect_left(places, end) - bisect_left(places, self.start + max(first, 0))


def texts_of(lines: Lines) -> Iterator[Text]:
    """Yield the texts; each context pattern is searched once in all texts, when first needed."""
    import polars as pl

    @cache
    def places(context: str, tail: bool) -> list[int]:
        pieces = lines.table.select("index", "text", "piece")
        if tail:
            from_end = pl.col("index").cum_count(reverse=True).over("text")
            pieces = pieces.filter(from_end <= TAIL_LINES)
        matching = pieces.filter(pl.col("piece").str.contains(contexts()[context]))
        return matching["index"].to_list()

    pieces = lines.table["piece"].to_list()
    for start, end in pairwise(lines.starts):
        yield Text(pieces[start:end], lines.table["number"], start, places)
