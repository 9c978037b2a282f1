"""Rows of numbers, taken down one at a time and kept by column."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

_KINDS = {"i": pl.Int32, "d": pl.Float64}


class Columns:
    """A table in the making: eight bytes a number, where a tuple of objects takes fifty.

    Parameters
    ----------
    kinds
        By name of a column, ``i`` for whole numbers and ``d`` for others.
    """

    __slots__ = ("_appends", "_columns")

    def __init__(self, **kinds: str) -> None:
        self._columns = {name: array(kind) for name, kind in kinds.items()}
        self._appends = tuple(column.append for column in self._columns.values())

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def add(self, *row: float) -> None:
        """Take down a row."""
        for append, value in zip(self._appends, row, strict=True):
            append(value)  # type: ignore[arg-type]

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """Return the numbers of a column, which grows on by itself."""
        return np.array(self._columns[name])

    def series(self, name: str, order: npt.NDArray[np.intp] | None = None) -> pl.Series:
        """Return a column, its rows in another order."""
        numbers = self.numbers(name)
        numbers = numbers if order is None else numbers[order]
        return pl.Series(name, numbers, dtype=_KINDS[self._columns[name].typecode])

    def words(
        self, name: str, words: Sequence[str] | pl.Series, order: npt.NDArray[np.intp] | None = None
    ) -> pl.Series:
        """Return words by the places that a column has of them."""
        return pl.Series(name, words, dtype=pl.String).gather(self.series(name, order))
