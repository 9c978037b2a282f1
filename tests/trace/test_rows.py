"""Check that the rows of a trace act as a lazy relation of DuckDB and as a frame of pandas."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import seaborn as sns

from philly_analysis.errors import NoAttributeError
from philly_analysis.trace import Rows, Trace

JOBS = pd.DataFrame(
    {
        "job_id": ["a", "b", "c"],
        "gpus": [1, 8, 4],
        "vc": ["x", "y", "x"],
        "submitted_at": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
    }
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    started = JOBS.assign(started_at=JOBS["submitted_at"], ended_at=pd.Timestamp("2020-01-04"))
    with Trace(started) as opened:
        yield opened


def test_columns_are_series_of_all_rows(trace: Trace) -> None:
    for gpus in (trace.jobs["gpus"], trace.jobs.gpus, trace["jobs"].gpus):
        assert isinstance(gpus, pd.Series)
        assert sorted(gpus) == [1, 4, 8]
    assert np.log2(trace.jobs["gpus"]).sum() == 5
    assert trace.jobs[["gpus", "vc"]].shape == (3, 2)
    assert set(trace.jobs[trace.jobs["gpus"] > 1]["job_id"]) == {"b", "c"}


def test_names_of_pandas_are_those_of_all_rows(trace: Trace) -> None:
    assert trace.jobs.groupby("vc")["gpus"].sum().to_dict() == {"x": 5, "y": 8}
    assert trace.jobs.sort_values("gpus").iloc[2]["job_id"] == "b"
    assert trace.jobs.max()["gpus"] == 8
    assert len(trace.jobs.query("gpus > 1")) == 2
    assert len(trace.jobs.merge(trace.attempts, on="job_id")) == 3
    assert trace.sql("select vc from jobs").value_counts()["x"] == 2
    assert trace.jobs.count()["gpus"] == 3 and trace.jobs[["gpus"]].mean()["gpus"] == 13 / 3
    assert isinstance(trace.jobs.to_pandas(), pd.DataFrame)
    assert isinstance(trace.jobs.to_polars(), pl.DataFrame)


def test_names_of_duckdb_stay_lazy(trace: Trace) -> None:
    large = trace.jobs.filter("gpus > 1")
    assert isinstance(large, Rows) and isinstance(large.relation, duckdb.DuckDBPyRelation)
    assert large.order("gpus").limit(1).fetchall()[0][0] == "c"
    assert large.select("gpus").groupby("gpus").size().sum() == 2
    joined = large.set_alias("l").join(trace.attempts.set_alias("r"), "l.job_id = r.job_id")
    assert len(joined) == 2
    assert trace.jobs.count("*").fetchone() == (3,) and trace.jobs.max("gpus").fetchone() == (8,)
    assert trace.jobs.order("gpus").fetchone()[1:] == trace.jobs.order("gpus").fetchall()[0][1:]
    assert trace.jobs.filter("gpus > 99").fetchone() is None
    assert not len(trace.jobs.filter("gpus > 99")) and trace.jobs.filter("gpus > 99")


def test_other_libraries_read_rows(trace: Trace) -> None:
    assert pl.DataFrame(trace.jobs).height == pa.table(trace.jobs).num_rows == 3
    ax = sns.ecdfplot(data=trace.jobs, x="gpus")
    assert len(ax.lines) == 1


def test_rows_show_themselves(trace: Trace) -> None:
    rows = trace.jobs
    assert list(rows) == rows.columns and "gpus" in rows and "nothing" not in rows
    assert {"groupby", "filter", "gpus"} <= {*dir(rows), *dir(pd.DataFrame)}
    assert len(rows.head(2)) == 2 and "<table" in rows._repr_html_() and "gpus" in repr(rows)
    with pytest.raises(NoAttributeError, match=r"Rows has no attribute 'group'\. Did you mean"):
        _ = rows.group


def test_a_bound_of_a_selection_may_be_open(trace: Trace) -> None:
    assert set(trace.between("2020-01-02").jobs["job_id"]) == {"b", "c"}
    assert set(trace.between(end="2020-01-02").jobs["job_id"]) == {"a"}
    assert len(trace.between().jobs) == 3
    assert "submitted before 2020-01-02 (UTC)" in trace.between(end="2020-01-02").name


def test_a_file_of_rows_is_written(trace: Trace, tmp_path: Path) -> None:
    trace.jobs.to_csv(tmp_path / "jobs.csv", index=False)
    assert sorted(pd.read_csv(tmp_path / "jobs.csv")["gpus"]) == [1, 4, 8]
