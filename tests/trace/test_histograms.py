"""Check sums of counts of utilisation against numbers worked out by hand."""

import pyarrow as pa
import pytest

from philly_analysis.trace import histograms
from philly_analysis.trace.histograms import sum_counts


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_counts_are_summed_once_however_many_are_sorted_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(histograms, "_MAX_SORTED", at_once)
    columns = {"job_id": pa.string(), "bin": pa.int64()}
    columns |= dict.fromkeys(("minutes", "sum_pct"), pa.float64())
    parts = [
        [("a", 10, 2.0, 18.0), ("b", 10, 1.0, 10.0), ("c", None, 3.0, None)],
        [("b", 10, 4.0, 36.0), ("a", 20, 1.0, 15.0), ("d", 5, 1.0, 5.0), ("c", None, 1.0, None)],
    ]
    schema = pa.schema(columns)
    tables = [
        pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows], schema)
        for rows in parts
    ]
    total = sum_counts(tables)
    assert sorted((tuple(row.values()) for row in total.to_pylist()), key=str) == [
        ("a", 10, 2.0, 18.0),
        ("a", 20, 1.0, 15.0),
        ("b", 10, 5.0, 46.0),
        ("c", None, 4.0, None),
        ("d", 5, 1.0, 5.0),
    ]
