"""What one asks of a trace without an analysis: what it holds, and anything that SQL can say."""

import duckdb
import pandas as pd

from philly_analysis.errors import QueryError
from philly_analysis.study import RunPolicy
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import TraceLike, open_trace


def tables(trace: TraceLike | None = None) -> pd.DataFrame:
    """List all tables and columns; or what a trace holds.

    Parameters
    ----------
    trace
        An open trace, or its folder; None: the dictionary of all tables.

    Returns
    -------
    pandas.DataFrame
        One row per column of each table: table, column, type, unit, null, meaning. Of a trace one
        row per table: table, rows (null: it has no such table), read and rejected (raw rows; null
        where none were meant for it), why, one row is.
    """
    if trace is None:
        return pd.DataFrame(
            [
                (t.name, c.name, c.type, c.unit, "yes" if c.nullable else "", c.meaning)
                for t in TABLES.values()
                for c in t.columns
            ],
            columns=["table", "column", "type", "unit", "null", "meaning"],
        )
    with open_trace(trace) as held:
        accounts = {account.table: account for account in held.manifest.accounts}
        rows = []
        for name, table in TABLES.items():
            account = accounts.get(name)
            why = account.rejected.items() if account else ()
            rows.append(
                (
                    name,
                    held.manifest.rows.get(name) if name in held.tables else None,
                    account.read if account else None,
                    account.read - account.kept if account else None,
                    "; ".join(f"{n:,} {reason}" for reason, n in why),
                    table.row,
                )
            )
    columns = ["table", "rows", "read", "rejected", "why", "one row is"]
    whole = dict.fromkeys(columns[1:4], "Int64")
    return pd.DataFrame(rows, columns=columns).astype(whole)


def query(trace: TraceLike, sql: str, *, run_policy: RunPolicy | str | None = None) -> pd.DataFrame:
    """Answer a SELECT over a trace's tables and relations.

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
        The answer, whole numbers kept whole where some are null. For many rows use
        :meth:`Trace.sql`, which hands them over by column.

    Raises
    ------
    QueryError
        The text is not one SELECT, or does not run.
    MissingTableError
        It needs a table that the trace does not have.
    UnknownNameError
        It reads a name that is neither a table nor a relation.
    TraceError
        The folder is no trace, or the trace is open with another run policy.
    """
    with open_trace(trace, run_policy) as held:
        answer = held.sql(sql)
        try:
            found = pd.DataFrame(answer.fetchall(), columns=answer.columns, dtype=object)
        except (duckdb.Error, OverflowError, ValueError) as error:  # of a value, once it is there
            raise QueryError(str(error).split("\n", 1)[0]) from None
    if found.empty:
        return found
    # pandas has no whole numbers beside a null: such a column stays one of Python's objects
    told: pd.DataFrame = found.apply(lambda c: c if c.isna().any() else c.infer_objects())
    return told
