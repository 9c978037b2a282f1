"""Buffer rows of numbers compactly, and return them as a polars frame."""

from collections.abc import Mapping, Sequence
from struct import Struct

import numpy as np
import numpy.typing as npt
import polars as pl

_TYPES = {"i": pl.Int32, "d": pl.Float64, "?": pl.Boolean}


class RowBuffer:
    """A growing table of numbers: a few bytes per number, where Python objects take fifty.

    Parameters
    ----------
    types
        Type by column: ``i`` for integers, ``d`` for floats, ``?`` for booleans.
    """

    def __init__(self, **types: str) -> None:
        self._types, self._rows = types, bytearray()
        self._row = np.dtype([(name, f"={kind}") for name, kind in types.items()])
        self._pack = Struct("=" + "".join(types.values())).pack

    def add(self, *row: float) -> None:
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
