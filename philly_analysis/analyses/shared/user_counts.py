"""Count observations by user, for shares with users as clusters."""

import duckdb
import pandas as pd


def count_by_user(rows: duckdb.DuckDBPyRelation, columns: str) -> pd.DataFrame:
    """Count rows by user and other columns.

    Parameters
    ----------
    rows
        Observations, with the column ``user``.
    columns
        SQL expressions, separated by commas.

    Returns
    -------
    pandas.DataFrame
        One row per combination that occurs: user, `columns` and n, the number of observations. An
        observation without a user has a row of its own, because it is a cluster of its own.
    """
    counts: pd.DataFrame = rows.aggregate(f'"user", {columns}, count(*) as n').df()
    unnamed = counts["user"].isna()
    repeated = counts.loc[counts.index.repeat(counts["n"].where(unnamed, 1))]
    return repeated.assign(n=repeated["n"].mask(repeated["user"].isna(), 1))
