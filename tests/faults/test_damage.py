"""Check that damage to a trace's files is an error and never changes a result."""

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from philly_analysis import Trace, analyze, verify
from philly_analysis.errors import TraceError
from philly_analysis.trace.manifest import MANIFEST, Manifest
from tests.faults.damage import flip_bit, flip_bit_keeping_date, remove, truncate
from tests.support.clusters import random_tables, write_tables
from tests.support.command_line import invoke, run
from tests.support.slow import quick_first

QUERY = "select count(*), sum(gpus), min(submitted_at) from jobs"
STORED = "select sum(wait_s) from waits"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tables(tmp_path / "t", random_tables(5, jobs=60))


def replace_by(path: Path, jobs: int) -> None:
    write_tables(path, random_tables(6, jobs=jobs), force=True)


@pytest.mark.parametrize("damage", quick_first([flip_bit, truncate, remove]))
def test_reading_a_damaged_table_is_an_error(
    path: Path, damage: Callable[[Path, random.Random], None]
) -> None:
    with Trace(path) as trace:
        trace.sql(QUERY).fetchall()
    for seed in range(10):
        damaged = shutil.copytree(path, path.with_name(f"{seed}"))
        damage(damaged / "jobs.parquet", random.Random(seed))
        with pytest.raises(TraceError, match=r"jobs\.parquet"), Trace(damaged) as trace:
            trace.sql(QUERY).fetchall()


def test_an_open_trace_that_was_replaced_is_refused(path: Path, tmp_path: Path) -> None:
    with Trace(path) as trace:
        assert trace.sql(QUERY).fetchall()
        path.rename(tmp_path / "aside")
        with pytest.raises(TraceError, match="was replaced since it was opened"):
            trace.sql(QUERY)
        write_tables(path, random_tables(6, jobs=9))
        with pytest.raises(TraceError, match="was replaced since it was opened"):
            trace.sql(QUERY)
    with Trace(path) as trace:
        assert trace.sql("select count(*) from jobs").fetchall() == [(9,)]


def test_a_pending_query_never_reads_a_replaced_trace(path: Path) -> None:
    trace = Trace(path)
    pending = trace.sql("select count(*) from jobs")
    replace_by(path, 9)
    if Path("/proc/self/fd").is_dir():
        with pytest.raises(duckdb.Error):
            pending.fetchall()
    trace.close()

    def run_query() -> None:
        with Trace(path) as trace:
            pending = trace.sql("select count(*) from jobs")
            replace_by(path, 8)
            pending.fetchall()

    with pytest.raises(TraceError, match="was replaced"):
        run_query()


def test_a_damaged_table_does_not_affect_the_others(path: Path) -> None:
    flip_bit(path / "attempts.parquet", random.Random(1))
    with Trace(path) as trace:
        assert trace.sql(QUERY).fetchall()
        with pytest.raises(TraceError, match=r"attempts\.parquet is damaged"):
            trace.sql("select count(*) from attempts")
        with pytest.raises(TraceError, match=r"attempts\.parquet is damaged"):
            trace.sql(STORED)


@pytest.mark.parametrize("damage", quick_first([flip_bit, truncate, remove]))
def test_a_damaged_relation_is_computed_again(
    path: Path, damage: Callable[[Path, random.Random], None]
) -> None:
    with Trace(path) as trace:
        before = trace.sql(STORED).fetchall()
    [part] = (path / "derived").glob("waits-*.parquet/*.parquet")
    damage(part, random.Random(7))
    with Trace(path) as trace:
        assert trace.sql(STORED).fetchall() == before


def test_verify_finds_changes_that_keep_the_date(path: Path) -> None:
    analyze(path, "queueing_delay")
    assert set(verify(path)["state"]) == {"intact"}
    run("verify", path)
    stored = next((path / "derived").glob("waits-*.parquet/*.parquet"))
    for file in (path / "jobs.parquet", stored):
        flip_bit_keeping_date(file, random.Random(1))
    (path / "attempts.parquet").unlink()
    states = verify(path).set_index("file")["state"].to_dict()
    assert states["jobs.parquet"] == "damaged"
    assert states["attempts.parquet"] == "missing"
    assert states[stored.parent.relative_to(path).as_posix()] == "damaged, removed"
    assert not stored.exists()
    done = invoke("verify", path, "--csv")
    assert done.exit_code == 1
    assert "jobs.parquet" in done.stdout


def test_a_copied_moved_or_older_trace_opens(path: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "copy", copy_function=shutil.copyfile)
    path.rename(tmp_path / "moved")
    manifest = Manifest.read(tmp_path / "moved")
    for place in ("copy", "moved"):
        with Trace(tmp_path / place) as trace:
            assert trace.sql(STORED).fetchall()
    (tmp_path / "copy" / MANIFEST).write_text(replace(manifest, digests={}).to_json())
    with Trace(tmp_path / "copy") as trace:
        assert trace.sql(STORED).fetchall()
    assert "not known" in set(verify(tmp_path / "copy")["state"])
