"""Check that traces are written atomically and satisfy the schema."""

from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from philly_analysis.errors import TraceError
from philly_analysis.trace.manifest import Account, Manifest
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.writer import create_trace
from philly_analysis.workload import Workload
from tests.support.small_traces import ATTEMPTS, JOBS, PLACEMENTS, at, paper_trace


def test_files_have_the_declared_types(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    for name in ("jobs", "attempts", "machines", "placements"):
        schema = pq.read_schema(path / f"{name}.parquet")
        assert schema.names == list(TABLES[name].column_names)
        assert schema.types == TABLES[name].arrow.types


@pytest.mark.parametrize(
    ("table", "broken", "reason"),
    [
        ("jobs", JOBS.with_columns(gpus=pl.lit(-1)), "gpus fails"),
        ("jobs", JOBS.with_columns(status=pl.lit("Passed")), "status fails"),
        ("jobs", JOBS.with_columns(submitted_at=pl.lit(None)), "submitted_at is missing"),
        ("jobs", pl.concat([JOBS, JOBS]), "the key (job_id) repeats"),
        ("attempts", ATTEMPTS.with_columns(ended_at=pl.lit(at(-1))), "ended_at fails"),
        (
            "attempts",
            ATTEMPTS.with_columns(job_id=pl.lit("ghost") + pl.col("job_id")),
            "(job_id) is not in jobs",
        ),
        (
            "placements",
            PLACEMENTS.with_columns(machine_id=pl.lit("m9")),
            "(machine_id) is not in machines",
        ),
    ],
)
def test_an_invalid_row_is_refused(
    tmp_path: Path, table: str, broken: pl.DataFrame, reason: str
) -> None:
    with pytest.raises(TraceError) as error:
        paper_trace(tmp_path / "t", **{table: broken})
    assert reason in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_only_a_trace_is_replaced_and_only_by_force(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    with pytest.raises(TraceError, match="exists"):
        paper_trace(path)
    with create_trace(path, force=True) as folder:
        (folder / "manifest.json").write_text("{}")
    assert [f.name for f in path.iterdir()] == ["manifest.json"]
    precious = tmp_path / "precious"
    precious.mkdir()
    with pytest.raises(TraceError, match="not a trace"), create_trace(precious, force=True):
        pass
    assert precious.is_dir()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with create_trace(tmp_path / "t") as folder:
            (folder / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_a_row_account_must_add_up() -> None:
    assert Account("jobs", read=3, kept=2, rejected={"bad": 1}).kept == 2
    with pytest.raises(TraceError, match="1 unaccounted for"):
        Account("jobs", read=3, kept=1, rejected={"bad": 1})


def test_a_manifest_equals_its_json_read_back() -> None:
    manifest = Manifest("n", "philly", False, accounts=(Account("jobs", 3, 2, {"bad": 1}),))
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_a_workload_written_as_a_trace_is_read_back(tmp_path: Path) -> None:
    workload = Workload.from_trace(paper_trace(tmp_path / "t"))
    again = Workload.from_trace(workload.to_trace(tmp_path / "u", source="sample"))
    for table in ("jobs", "attempts", "machines", "placements"):
        written, read = (w.frames[table].sort(pl.all()) for w in (workload, again))
        assert written.equals(read)
    specs = {s.job_id: s for s in workload.specs()}
    assert set(specs) == {"a", "b", "c"}
    assert [s.censored for s in specs.values()] == [False, False, True], "c has no end yet"
    assert specs["a"].submit_s == 0
    assert [a.run_s for a in specs["b"].attempts] == [240, 360]
