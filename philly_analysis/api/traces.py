"""Verbs that read a trace: tables, query, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import TraceLike


def tables(trace: TraceLike | None = None) -> pd.DataFrame:
    """List all tables and columns, or the tables of a trace.

    Parameters
    ----------
    trace
        Trace whose tables are listed: a folder, or an open Trace. By default the dictionary of all
        tables is listed.

    Returns
    -------
    pandas.DataFrame
        Without a trace, one row per column of each table: table, column, type, unit, null, meaning.
        With a trace, one row per table: table; rows (null: the table is absent); read and rejected,
        which count raw rows (null: the source has no such file); why rows were rejected; what one
        row is.

    Examples
    --------
    In a shell::

        philly tables my-trace
    """
    from philly_analysis.trace import tables as list_tables

    return list_tables(trace)


def verify(trace: TraceLike) -> pd.DataFrame:
    """Verify a trace's files against its checksums.

    Parameters
    ----------
    trace
        Trace to verify: a folder, a URL on object storage, or an open Trace.

    Returns
    -------
    pandas.DataFrame
        One row per file: file, bytes, state. The state is ``intact``, ``damaged``, ``missing``, or
        ``not known`` in a trace without checksums. Damaged cached results are removed and computed
        again when they are needed; their state is ``damaged, removed``.

    Raises
    ------
    TraceError
        The folder is not a trace.

    Examples
    --------
    In a shell::

        philly verify my-trace
    """
    from philly_analysis.trace import Trace
    from philly_analysis.trace import verify as check

    if not isinstance(trace, str | Path):
        trace = (trace if isinstance(trace, Trace) else Trace(trace)).path
    return check(trace)


def query(trace: TraceLike, sql: str, *, run_policy: RunPolicy | str | None = None) -> pd.DataFrame:
    """Run a SELECT on a trace's tables and relations.

    Parameters
    ----------
    trace
        Trace to query: a folder, a URL on object storage, or an open Trace.
    sql
        One SELECT over tables and relations.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default an open trace keeps its definition, and a folder has ``span``.

    Returns
    -------
    pandas.DataFrame
        The rows; columns of whole numbers stay whole where some are null. For many rows
        :meth:`Trace.sql` is faster.

    Raises
    ------
    QueryError
        The text is not one SELECT, or fails.
    MissingTableError
        The text needs a table that the trace lacks.
    UnknownNameError
        The text reads a name that is neither a table nor a relation.
    TraceError
        The folder is not a trace, or the trace is open with another run policy.

    Examples
    --------
    >>> query("my-trace", "select count(*) as jobs from jobs")
       jobs
    0   300

    In a shell::

        philly query my-trace "select vc, count(*) as jobs from jobs group by vc"
    """
    from philly_analysis.trace import query as run

    return run(trace, sql, run_policy=run_policy)
