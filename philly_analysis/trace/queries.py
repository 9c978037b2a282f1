"""List the tables of a trace, and run a query on a trace."""

from typing import TYPE_CHECKING

import duckdb

from philly_analysis.errors import QueryError
from philly_analysis.study import RunPolicy
from philly_analysis.trace.connection import first_line
from philly_analysis.trace.description import account_of_tables, dictionary
from philly_analysis.trace.opening import TraceLike, open_trace
from philly_analysis.trace.schema import TABLES

if TYPE_CHECKING:
    import pandas as pd


def tables(trace: TraceLike | None = None) -> "pd.DataFrame":
    """List all tables and columns, or the tables of a trace.

    Parameters
    ----------
    trace
        An open trace, or its folder; None: the dictionary of all tables.

    Returns
    -------
    pandas.DataFrame
        Without a trace one row per column of each table: table, column, type, unit, null, meaning.
        With a trace one row per table: table, rows (null: the table is absent), read and rejected
        (numbers of raw rows; null: the source has no raw rows for the table), why, one row is.
    """
    if trace is None:
        return dictionary(TABLES)
    with open_trace(trace) as opened:
        return account_of_tables(opened.manifest, opened.tables)


def query(
    trace: TraceLike, sql: str, *, run_policy: RunPolicy | str | None = None
) -> "pd.DataFrame":
    """Run a SELECT over a trace's tables and relations.

    Parameters
    ----------
    trace
        An open trace, or its folder.
    sql
        One SELECT over tables and relations.
    run_policy
        How attempts become a job's run time; None: as the trace was opened, ``span`` for a folder.

    Returns
    -------
    pandas.DataFrame
        The rows. Integers stay integers in columns with nulls. For many rows use
        :meth:`Trace.sql`, which returns them by column.

    Raises
    ------
    QueryError
        The text is not one SELECT, or does not run.
    MissingTableError
        The text needs a table that the trace does not have.
    UnknownNameError
        The text reads a name that is neither a table nor a relation.
    TraceError
        The folder is no trace, or the trace is open with another run policy.
    """
    import pandas as pd

    with open_trace(trace, run_policy) as opened:
        rows = opened.sql(sql)
        try:
            table = pd.DataFrame(rows.fetchall(), columns=rows.columns, dtype=object)
        except (duckdb.Error, OverflowError, ValueError) as error:  # a value cannot be converted
            raise QueryError(first_line(error)) from None
    if table.empty:
        return table
    # pandas has no integers beside nulls: such a column keeps Python objects
    typed: pd.DataFrame = table.apply(lambda c: c if c.isna().any() else c.infer_objects())
    return typed
