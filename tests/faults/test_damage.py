"""Check that damage to a trace's files is an error, never another number."""

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from philly_analysis import Trace, analyze, verify
from philly_analysis.cli import app
from philly_analysis.errors import TraceError
from philly_analysis.trace.manifest import MANIFEST, Manifest
from philly_analysis.trace.writer import write_trace
from tests.analyses.clusters import random_tables, write_tables

QUESTION = "select count(*), sum(gpus), min(submitted_at) from jobs"
STORED = "select sum(wait_s) from waits"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tables(tmp_path / "t", random_tables(5, jobs=60))


def flip(file: Path, dice: random.Random) -> None:
    """Turn one bit over, leaving size and name; the date changes, as it does when one writes."""
    data = bytearray(file.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    file.write_bytes(data)


def replace_by(path: Path, jobs: int) -> None:
    manifest = Manifest(name="t", source="test", synthetic=True)
    write_trace(path, random_tables(6, jobs=jobs), manifest, force=True)


def cut(file: Path, dice: random.Random) -> None:
    os.truncate(file, dice.randrange(file.stat().st_size))


def remove(file: Path, dice: random.Random) -> None:
    file.unlink()


@pytest.mark.parametrize("damage", [flip, cut, remove])
@pytest.mark.parametrize("seed", range(10))
def test_damage_to_a_table_is_an_error_and_not_another_number(
    path: Path, damage: Callable[[Path, random.Random], None], seed: int
) -> None:
    with Trace(path) as trace:
        trace.sql(QUESTION).fetchall()
    damage(path / "jobs.parquet", random.Random(seed))
    with pytest.raises(TraceError, match=r"jobs\.parquet"), Trace(path) as trace:
        trace.sql(QUESTION).fetchall()


def test_a_trace_that_was_replaced_while_it_was_open_says_so(path: Path, tmp_path: Path) -> None:
    with Trace(path) as trace:
        assert trace.sql(QUESTION).fetchall()
        path.rename(tmp_path / "aside")
        with pytest.raises(TraceError, match="was replaced since it was opened"):
            trace.sql(QUESTION)
        write_tables(path, random_tables(6, jobs=9))
        with pytest.raises(TraceError, match="was replaced since it was opened"):
            trace.sql(QUESTION)
    with Trace(path) as trace:
        assert trace.sql("select count(*) from jobs").fetchall() == [(9,)]


def test_a_question_that_waits_to_be_answered_is_not_answered_by_another_trace(path: Path) -> None:
    trace = Trace(path)
    asked = trace.sql("select count(*) from jobs")
    replace_by(path, 9)
    if Path("/proc/self/fd").is_dir():
        with pytest.raises(duckdb.Error):
            asked.fetchall()
    trace.close()

    def ask() -> None:
        with Trace(path) as trace:
            asked = trace.sql("select count(*) from jobs")
            replace_by(path, 8)
            asked.fetchall()

    with pytest.raises(TraceError, match="was replaced"):
        ask()


def test_a_table_that_nobody_reads_does_not_keep_the_others_from_being_read(path: Path) -> None:
    data = bytearray((path / "attempts.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (path / "attempts.parquet").write_bytes(data)
    with Trace(path) as trace:
        assert trace.sql(QUESTION).fetchall()
        with pytest.raises(TraceError, match=r"attempts\.parquet is damaged"):
            trace.sql("select count(*) from attempts")
        with pytest.raises(TraceError, match=r"attempts\.parquet is damaged"):
            trace.sql(STORED)


@pytest.mark.parametrize("damage", [flip, cut, remove])
def test_what_was_computed_and_is_damaged_is_computed_again(
    path: Path, damage: Callable[[Path, random.Random], None]
) -> None:
    with Trace(path) as trace:
        said = trace.sql(STORED).fetchall()
    [part] = (path / "derived").glob("waits-*.parquet/*.parquet")
    damage(part, random.Random(7))
    with Trace(path) as trace:
        assert trace.sql(STORED).fetchall() == said


def test_verify_finds_what_changed_under_an_unchanged_date(path: Path) -> None:
    analyze(path, "queueing_delay")
    assert set(verify(path)["state"]) == {"intact"}
    assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 0
    stored = next((path / "derived").glob("waits-*.parquet/*.parquet"))
    for file in (path / "jobs.parquet", stored):
        stat = file.stat()
        flip(file, random.Random(1))
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (path / "attempts.parquet").unlink()
    found = verify(path).set_index("file")["state"].to_dict()
    assert found["jobs.parquet"] == "damaged"
    assert found["attempts.parquet"] == "missing"
    assert found[stored.parent.relative_to(path).as_posix()] == "damaged, removed"
    assert not stored.exists()
    done = CliRunner().invoke(app, ["verify", str(path), "--csv"])
    assert done.exit_code == 1
    assert "jobs.parquet" in done.stdout


def test_a_trace_that_is_copied_or_moved_or_older_than_digests_opens(
    path: Path, tmp_path: Path
) -> None:
    shutil.copytree(path, tmp_path / "copy", copy_function=shutil.copyfile)
    path.rename(tmp_path / "moved")
    told = Manifest.read(tmp_path / "moved")
    for place in ("copy", "moved"):
        with Trace(tmp_path / place) as trace:
            assert trace.sql(STORED).fetchall()
    (tmp_path / "copy" / MANIFEST).write_text(replace(told, digests={}).to_json())
    with Trace(tmp_path / "copy") as trace:
        assert trace.sql(STORED).fetchall()
    assert "not known" in set(verify(tmp_path / "copy")["state"])
