"""Give the rows of a table or query, with the methods of DuckDB, pandas and polars."""

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isroutine
from typing import TYPE_CHECKING, Any, NoReturn

import duckdb

from philly_analysis.errors import (
    NoAttributeError,
    QueryError,
    SuggestsNames,
    UnknownNameError,
    familiar_names,
)
from philly_analysis.trace.connection import first_line

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_LAZY = ("aggregate", "dtypes", "filter", "join", "select", "shape")
"""Attributes that DataFrames have, too, and that are those of the relation nevertheless."""

_AGGREGATES = ("count", "max", "mean", "median", "min", "mode", "product", "std", "sum", "var")
"""Methods of both: of the relation with an expression (``max("gpus")``), else of the DataFrame."""


class Names(list[str], SuggestsNames):
    """Names of columns: a list that also answers to ``tolist``."""


class Rows(SuggestsNames):
    """The rows of a table, relation or query, read when they are needed.

    It has the methods of :class:`duckdb.DuckDBPyRelation` (``filter``, ``limit``, ``order``), which
    return further rows where they return a relation, and those of a DataFrame of all rows, of
    pandas (``groupby``, ``iloc``, ``merge``) or polars (``with_columns``, ``height``). A call that
    one library does not take is passed to the next. A column is a :class:`pandas.Series`:
    ``rows["gpus"]``, ``rows.gpus``.

    Parameters
    ----------
    rows
        The relation that is read, or a frame of polars.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: "duckdb.DuckDBPyRelation | pl.DataFrame") -> None:
        self._rows = rows

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        """The relation that is read."""
        if not isinstance(self._rows, duckdb.DuckDBPyRelation):
            return duckdb.connect().from_arrow(self._rows)
        return self._rows

    def df(self) -> "pd.DataFrame":
        """Return all rows as a pandas DataFrame."""
        found: pd.DataFrame = self.relation.df()
        return found

    def pl(self) -> "pl.DataFrame":
        """Return all rows as a polars DataFrame."""
        if isinstance(self._rows, duckdb.DuckDBPyRelation):
            found: pl.DataFrame = self._rows.pl()
            return found
        return self._rows

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
        return Names(self._rows.columns)

    def __getitem__(self, key: Any) -> Any:
        """Return a column as a Series, or what pandas returns for the key.

        Raises
        ------
        UnknownNameError
            There is no such column.
        """
        if isinstance(key, str) and key in self.columns:
            return self.relation.select(duckdb.ColumnExpression(key)).df()[key]
        try:
            return self.df()[key]
        except KeyError:
            raise UnknownNameError("column", str(key), self.columns) from None

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the relation, a column, or the attribute of a DataFrame."""
        if same := familiar_names("Rows", "works").get(name):
            return getattr(self, same)
        owners = [] if name.startswith("_") else _owners(name)
        if name in self.columns and _relation not in owners[:1]:
            return self[name]
        if not owners:
            return super().__getattr__(name)  # type: ignore[misc]
        found = getattr(owners[0](self), name)
        return wraps(found)(self._method(name)) if isroutine(found) else found

    def _method(self, name: str) -> Callable[..., Any]:
        """Return a method that converts rows among its arguments, and returns rows."""

        def method(*args: Any, **kwargs: Any) -> Any:
            lazy = name in _AGGREGATES and bool(args) and isinstance(args[0], str)
            refused: list[Exception] = []
            for owner in _owners(name, lazy=lazy):
                plain = [owner(a) if isinstance(a, Rows) else a for a in args]
                named = {k: owner(a) if isinstance(a, Rows) else a for k, a in kwargs.items()}
                try:
                    made = getattr(owner(self), name)(*plain, **named)
                except Exception as error:  # noqa: BLE001 - of any library; the first one is raised
                    refused.append(error)
                else:
                    return Rows(made) if isinstance(made, duckdb.DuckDBPyRelation) else made
            [first, *_] = refused
            if isinstance(first, KeyError):
                raise UnknownNameError("column", str(first.args[0]), self.columns) from first
            raise QueryError(f"{name}(): {first_line(first)}") from first

        return method

    def __len__(self) -> int:
        return len(self._rows)

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

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.pl(),)  # a copy, and what another process gets

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise NoAttributeError("Rows are no array: pandas would lose the names. Use .df().")

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(schema)

    def __dataframe__(self, *args: Any, **kwargs: Any) -> Any:
        frame: Any = self.df()
        return frame.__dataframe__(*args, **kwargs)


def _relation(rows: Rows) -> duckdb.DuckDBPyRelation:
    return rows.relation


def _owners(name: str, *, lazy: bool = False) -> list[Callable[[Rows], Any]]:
    """Return the conversions of rows to objects that have an attribute, the best one first."""
    import pandas as pd
    import polars as pl

    lazy = lazy or name in _LAZY or not hasattr(pd.DataFrame, name)
    pandas = (pd.DataFrame, Rows.df)
    others = [(duckdb.DuckDBPyRelation, _relation), (pl.DataFrame, Rows.pl)]
    owners = [*others, pandas] if lazy else [pandas, *others]
    return [convert for kind, convert in owners if hasattr(kind, name)]
