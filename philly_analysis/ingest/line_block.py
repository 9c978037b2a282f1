"""Number and look up the lines of a block of a text file."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count

import numpy as np
import numpy.typing as npt

_INDEX_BYTES = 1 << 17
"""Distance between the lines whose offset is recorded."""


@dataclass(frozen=True)
class Block:
    """Consecutive lines of a file, numbered from 0.

    Attributes
    ----------
    offset
        Offset of the first line in the file.
    """

    text: bytes
    offset: int = 0

    @cached_property
    def newlines(self) -> list[int]:
        """Number of newlines in each :data:`_INDEX_BYTES` of the text, which fit a CPU cache.

        Unlike bytes.count, NumPy lets other threads run.
        """
        letters = np.frombuffer(self.text, np.uint8)
        parts = (letters[at:][:_INDEX_BYTES] for at in range(0, len(self.text), _INDEX_BYTES))
        return [int(np.count_nonzero(part == ord("\n"))) for part in parts]

    @property
    def lines(self) -> int:
        """Number of lines."""
        return sum(self.newlines) + (not self.text.endswith(b"\n"))

    @property
    def index(self) -> list[tuple[int, int]]:
        """Numbers and offsets of some lines, about :data:`_INDEX_BYTES` apart."""
        index = [(0, self.offset)]
        passed = accumulate(self.newlines)
        for end, number in zip(count(_INDEX_BYTES, _INDEX_BYTES), passed, strict=False):
            if after := self.text.find(b"\n", end) + 1:
                index.append((number + 1, self.offset + after))
        return index

    def texts(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return the lines with these numbers."""
        lines = self.text.split(b"\n")
        return [line_text(lines[number]) for number in numbers]


def line_text(line: bytes) -> str:
    """Return a line as text, without the carriage return at its end."""
    return line.decode("utf-8", "replace").rstrip("\r")
