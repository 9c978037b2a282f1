"""Give the rows of a table or query: a lazy relation of DuckDB with the methods of pandas."""

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isroutine
from typing import TYPE_CHECKING, Any

import duckdb

from philly_analysis.errors import SuggestsNames, familiar_names, is_of_frames

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_OF_BOTH = ("aggregate", "dtypes", "filter", "join", "select", "shape")
"""Attributes that a DataFrame has, too, and that are those of the relation nevertheless."""

_AGGREGATES = ("count", "max", "mean", "median", "min", "mode", "product", "std", "sum", "var")
"""Methods of both: of the relation with an expression (``max("gpus")``), else of the DataFrame."""


class Rows(SuggestsNames):
    """The rows of a table, relation or query, read when they are needed.

    It has the methods of :class:`duckdb.DuckDBPyRelation` (``filter``, ``limit``, ``order``), which
    return further rows where they return a relation, and those of a :class:`pandas.DataFrame` of
    all rows (``groupby``, ``iloc``, ``merge``). A column is a :class:`pandas.Series`:
    ``rows["gpus"]``, ``rows.gpus``.

    Parameters
    ----------
    relation
        The relation that is read.
    """

    __slots__ = ("relation",)

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self.relation = relation

    def df(self) -> "pd.DataFrame":
        """Return all rows as a pandas DataFrame."""
        found: pd.DataFrame = self.relation.df()
        return found

    def pl(self) -> "pl.DataFrame":
        """Return all rows as a polars DataFrame."""
        found: pl.DataFrame = self.relation.pl()
        return found

    def to_arrow_table(self) -> "pa.Table":
        """Return all rows as a pyarrow Table."""
        return self.relation.to_arrow_table()

    def head(self, n: int = 5) -> "pd.DataFrame":
        """Return the first rows as a pandas DataFrame, without reading the others."""
        return Rows(self.relation.limit(n)).df()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows as tuples."""
        return self.relation.fetchall()

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the first row as a tuple; None: there are no rows."""
        return next(iter(self.relation.limit(1).fetchall()), None)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.relation.columns

    def __getitem__(self, key: Any) -> Any:
        """Return a column as a Series, or what pandas returns for the key."""
        if isinstance(key, str) and key in self.columns:
            return self.relation.select(duckdb.ColumnExpression(key)).df()[key]
        return self.df()[key]

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the relation, a column, or the attribute of the DataFrame."""
        if name in _AGGREGATES:
            return self._aggregate(name)
        if same := familiar_names("Rows", "works").get(name):
            return getattr(self, same)
        of_frame = is_of_frames(name)
        if name in _OF_BOTH or (hasattr(duckdb.DuckDBPyRelation, name) and not of_frame):
            return _returning_rows(getattr(self.relation, name), lambda rows: rows.relation)
        if name in self.columns:
            return self[name]
        if of_frame:
            return _returning_rows(getattr(self.df(), name), Rows.df)
        return super().__getattr__(name)  # type: ignore[misc]

    def _aggregate(self, name: str) -> Any:
        def method(*args: Any, **kwargs: Any) -> Any:
            if not (args and isinstance(args[0], str)):
                return getattr(self.df(), name)(*args, **kwargs)
            return Rows(getattr(self.relation, name)(*args, **kwargs))

        return method

    def __len__(self) -> int:
        return len(self.relation)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, column: object) -> bool:
        return column in self.columns

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.relation), *self.columns})

    def __repr__(self) -> str:
        return repr(self.relation)

    def _repr_html_(self) -> str:
        return str(self.relation.limit(20).df().to_html(index=False, border=0))

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.relation.__arrow_c_stream__(schema)

    def __dataframe__(self, *args: Any, **kwargs: Any) -> Any:
        frame: Any = self.df()
        return frame.__dataframe__(*args, **kwargs)


def _returning_rows(found: Any, convert: Callable[[Rows], object]) -> Any:
    """Return an attribute; a method converts rows among its arguments, and returns rows."""
    if not isroutine(found):
        return found

    @wraps(found)
    def method(*args: Any, **kwargs: Any) -> Any:
        plain = [convert(a) if isinstance(a, Rows) else a for a in args]
        named = {k: convert(a) if isinstance(a, Rows) else a for k, a in kwargs.items()}
        made = found(*plain, **named)
        return Rows(made) if isinstance(made, duckdb.DuckDBPyRelation) else made

    return method
