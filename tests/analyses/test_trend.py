"""Compare rank correlations and shares from sums of the engine with those of single pairs."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from philly_analysis.analyses.shared.gang_sizes import trend
from philly_analysis.analyses.shared.user_counts import count_by_user
from philly_analysis.results import clustered_share, rank_association


@pytest.mark.parametrize("named", [1.0, 0.8, 0.0])
def test_a_trend_is_the_rank_correlation_of_pairs_by_user(named: float) -> None:
    rng = np.random.default_rng(6)
    n = 400
    gpus = rng.integers(1, 9, n)
    wait_s = np.where(rng.random(n) < 0.1, np.nan, np.floor(rng.lognormal(3, 2, n) * gpus))
    users = [f"user{u}" if rng.random() < named else None for u in rng.integers(0, 30, n)]
    rows = pd.DataFrame({"gpus": gpus, "wait_s": wait_s, "user": pd.Series(users, dtype=object)})
    with duckdb.connect() as con:
        relation = con.from_arrow(pa.Table.from_pandas(rows))
        trend_of = trend(relation, "gpus", "wait_s")
        large_gangs = trend(relation, "gpus > 4", "wait_s")
    expected = rank_association(gpus, wait_s, rows["user"])
    assert trend_of.rho == pytest.approx(spearmanr(gpus, wait_s, nan_policy="omit").statistic)
    assert (trend_of.n, trend_of.clusters) == (expected.n, expected.clusters)
    assert (trend_of.low, trend_of.high) == pytest.approx((expected.low, expected.high))
    rho = spearmanr(gpus > 4, wait_s, nan_policy="omit").statistic
    assert large_gangs.rho == pytest.approx(rho)


@pytest.mark.parametrize(("users", "wait_s"), [("abc", [5, 5, 5]), ("ab", [1, 2]), ("", [])])
def test_constant_and_few_pairs_have_no_trend(users: str, wait_s: list[float]) -> None:
    rows = pd.DataFrame({"gpus": np.arange(len(users)), "wait_s": wait_s, "user": [*users]})
    rows = rows.astype({"user": "str", "wait_s": "float64"})
    with duckdb.connect() as con:
        trend_of = trend(con.from_arrow(pa.Table.from_pandas(rows)), "gpus", "wait_s")
    assert np.isnan(trend_of.rho) and trend_of.n == trend_of.clusters == len(users)
    assert trend_of.constant == ("y" if len(users) == 3 else "")


def test_an_observation_without_a_user_is_counted_by_itself() -> None:
    rng = np.random.default_rng(7)
    failed = rng.random(300) < 0.3
    users = pd.Series([None if u == 0 else f"user{u}" for u in rng.integers(0, 9, 300)])
    rows = pa.table({"user": pa.array(users, pa.string()), "failed": failed})
    with duckdb.connect() as con:
        counts = count_by_user(con.from_arrow(rows), "failed")
    counted = clustered_share(counts["failed"], counts["user"], counts["n"])
    expected = clustered_share(failed, users)
    assert counts["n"].sum() == 300
    assert (counts.loc[counts["user"].isna(), "n"] == 1).all()
    assert counted.frac == expected.frac
    assert (counted.low, counted.high) == pytest.approx((expected.low, expected.high))
