"""Check which files of materialized relations are reused."""

import sys
from pathlib import Path

from philly_analysis.study import RunPolicy
from philly_analysis.trace.trace import Trace
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
