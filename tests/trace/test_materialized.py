"""Check which files of materialized relations are reused."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from philly_analysis.study import RunPolicy
from philly_analysis.trace.materialized import Materializer
from philly_analysis.trace.trace import Trace
from philly_analysis.trace.week_counts import Partition
from tests.support.command_line import output_of
from tests.support.small_traces import paper_trace

_ASK = (
    "import sys; from philly_analysis.trace.trace import Trace\n"
    "with Trace(sys.argv[1]) as trace: trace.create(['free_capacity'])"
)


def test_every_process_names_materialized_files_alike(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    with Trace(path) as trace:
        trace.create(["free_capacity"])
    [before] = (path / "derived").glob("free_capacity-*.parquet")
    written_ns = before.stat().st_mtime_ns
    output_of(sys.executable, "-c", _ASK, path, PYTHONHASHSEED="1")
    [after] = (path / "derived").glob("free_capacity-*.parquet")
    assert (after.name, after.stat().st_mtime_ns) == (before.name, written_ns)


def test_a_relation_that_depends_on_the_run_policy_is_stored_by_policy(tmp_path: Path) -> None:
    """A job runs for four and for six minutes, with three minutes between."""
    path = paper_trace(tmp_path / "t")
    for _ in range(2):
        for policy, run_s in ((RunPolicy.SPAN, 780), (RunPolicy.SUM, 600), (RunPolicy.LAST, 360)):
            with Trace(path, run_policy=policy) as trace:
                jobs = trace.sql("select run_s from workload_jobs where job_id = 'b'").fetchall()
            assert jobs == [(run_s,)]


def test_a_relation_is_computed_once_by_all_that_read_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = paper_trace(tmp_path / "t")
    written: list[str] = []
    write, together = Materializer._write, Barrier(3)

    def counted(self: Materializer, samples: str | None, partitions: list[Partition]) -> None:
        written.extend(partition.relation.name for partition in partitions)
        write(self, samples, partitions)

    def read(_: int) -> list[tuple[object, ...]]:
        with Trace(path) as trace:
            together.wait()
            return trace.answer("wait_causes").order("all").fetchall()

    monkeypatch.setattr(Materializer, "_write", counted)
    with ThreadPoolExecutor(3) as readers:
        first, *others = readers.map(read, range(3))
    assert first and others == [first, first]
    assert len(written) == len(set(written)) > 5
    assert list((path / "derived").glob(".*")) == []
