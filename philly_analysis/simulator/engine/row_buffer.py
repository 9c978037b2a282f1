"""Buffer rows of numbers compactly, and return them as a polars frame."""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Generic, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt
import polars as pl

_FORMATS = {int: "i", float: "d", bool: "?"}
_TYPES = {int: pl.Int32, float: pl.Float64, bool: pl.Boolean}

Row = TypeVar("Row", bound=tuple[Any, ...])


class RowBuffer(Generic[Row]):
    """A growing table of numbers: a few bytes per number, where Python objects take fifty.

    Parameters
    ----------
    row_type
        A NamedTuple of integers, floats and booleans: the columns.
    """

    def __init__(self, row_type: type[Row]) -> None:
        self._types, self._rows = get_type_hints(row_type), bytearray()
        formats = {name: f"={_FORMATS[kind]}" for name, kind in self._types.items()}
        self._row = np.dtype(list(formats.items()))
        self._pack = Struct("=" + "".join(_FORMATS[kind] for kind in self._types.values())).pack

    def add(self, row: Row) -> None:
        """Append a row."""
        self._rows += self._pack(*row)

    def frame(
        self,
        labels: Mapping[str, Sequence[str] | pl.Series] | None = None,
        order: npt.NDArray[np.intp] | None = None,
    ) -> pl.DataFrame:
        """Return the rows.

        Parameters
        ----------
        labels
            Strings of a column, by column; the column's numbers are indices of these strings.
        order
            Row numbers in the order wanted.
        """
        rows = np.frombuffer(self._rows, self._row)
        rows = rows.copy() if order is None else rows[order]
        columns = {
            name: pl.Series(name, rows[name], dtype=_TYPES[kind])
            for name, kind in self._types.items()
        }
        for name, strings in (labels or {}).items():
            columns[name] = pl.Series(name, strings, dtype=pl.String).gather(columns[name])
        return pl.DataFrame(columns)
