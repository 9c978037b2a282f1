"""Rows of numbers, taken down one at a time and kept by column."""

from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

_KINDS = {"i": pl.Int32, "d": pl.Float64}


class Columns:
    """A table in the making: as many bytes as its numbers have, where objects take fifty each.

    Parameters
    ----------
    kinds
        By name of a column, ``i`` for whole numbers and ``d`` for others.
    """

    __slots__ = ("_kinds", "_pack", "_row", "_rows")

    def __init__(self, **kinds: str) -> None:
        self._kinds, self._rows = kinds, bytearray()
        self._row = np.dtype([(name, f"={kind}") for name, kind in kinds.items()])
        self._pack = Struct("=" + "".join(kinds.values())).pack

    def __len__(self) -> int:
        return len(self._rows) // self._row.itemsize

    def add(self, *row: float) -> None:
        """Take down a row."""
        self._rows += self._pack(*row)

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """Return the numbers of a column, which grows on by itself."""
        return np.frombuffer(self._rows, self._row)[name].copy()

    def series(self, name: str, order: npt.NDArray[np.intp] | None = None) -> pl.Series:
        """Return a column, its rows in another order."""
        numbers = self.numbers(name)
        numbers = numbers if order is None else numbers[order]
        return pl.Series(name, numbers, dtype=_KINDS[self._kinds[name]])

    def words(
        self, name: str, words: Sequence[str] | pl.Series, order: npt.NDArray[np.intp] | None = None
    ) -> pl.Series:
        """Return words by the places that a column has of them."""
        return pl.Series(name, words, dtype=pl.String).gather(self.series(name, order))
