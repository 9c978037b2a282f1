"""Export traces in the Philly archive's layout, ingest them again and compare."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from philly_analysis import export, ingest
from philly_analysis.exports import Exported
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import Workload
from tests.exports.files import lines
from tests.exports.tiny import TINY
from tests.support import archives
from tests.support.repository import SAMPLE
from tests.support.small_traces import at as minute
from tests.support.small_traces import paper_trace

# 08:59 UTC is 01:59 PDT, 09:00 UTC is 01:00 PST: the hour that came twice
ARCHIVE = Path(__file__).with_name("archive")


def assert_traces_equal(one: Path, two: Path, *, renumbered: bool) -> None:
    with Trace(one) as first, Trace(two) as second:
        # an archive has no place for what only a simulation knows
        tables = set(first.tables) - {"known_causes"}
        assert tables == second.tables >= {"jobs", "attempts"}
        for name in tables:
            left, right = (trace.answer(name).pl() for trace in (first, second))
            if name == "machines" and left["gpus_listed"].is_null().all():
                # an archive without a list of machines gets one
                left, right = left.drop("gpus_listed"), right.drop("gpus_listed")
            if renumbered and "attempt" in left:
                position = pl.col("attempt").rank("dense").over("job_id")
                left, right = (f.with_columns(attempt=position) for f in (left, right))
            assert_frame_equal(left, right, check_row_order=False)


def round_trip(raw: Path, folder: Path, *, renumbered: bool = False) -> Exported:
    """Ingest raw files, export the trace, ingest that and compare both traces.

    Where ingest rejected an attempt of the raw log, the later ones of its job are renumbered.
    """
    ingest("philly", raw, folder / "one")
    done = export(folder / "one", "philly", folder / "again")
    ingest("philly", folder / "again", folder / "two")
    assert_traces_equal(folder / "one", folder / "two", renumbered=renumbered)
    return done


def test_ingesting_an_export_gives_the_trace(tmp_path: Path) -> None:
    done = round_trip(ARCHIVE, tmp_path)
    assert done.jobs == 3 and done.assumed[1:] == ()
    again = tmp_path / "again"
    expected = json.loads((ARCHIVE / "cluster_job_log").read_text())
    expected.sort(key=lambda job: job["submitted_time"])
    expected[1]["attempts"][0]["detail"][0]["gpus"].sort()
    assert json.loads((again / "cluster_job_log").read_text()) == expected
    for name in ("cluster_machine_list", "cluster_cpu_util", "cluster_mem_util"):
        assert (again / name).read_text() == (ARCHIVE / name).read_text()
    header, *samples = lines(again / "cluster_gpu_util")
    assert header == lines(ARCHIVE / "cluster_gpu_util")[0]
    assert "2017-11-05 01:59:00 PDT,m2,1.5,NA,0.0,99.123456789,,,,," in samples
    assert "2017-11-05 01:00:00 PST,m2,2.0,3.0,4.0,5.0,,,,," in samples


@pytest.mark.slow
def test_round_trip_of_the_bundled_sample(tmp_path: Path) -> None:
    round_trip(SAMPLE, tmp_path, renumbered=True)


@pytest.mark.real_data
@pytest.mark.parametrize("layout", [archives.multigpu_archive, archives.large_job_archive])
def test_round_trip_of_real_jobs(
    layout: Callable[[Path, Path], Path], traces: Path, tmp_path: Path
) -> None:
    round_trip(layout(traces, tmp_path / "raw"), tmp_path)


def test_a_synthetic_workload_is_placed_without_conflicts(tmp_path: Path) -> None:
    done = export(TINY, "philly", tmp_path / "raw")
    assert "placements of 6 attempts" in " ".join(done.assumed)
    ingest("philly", tmp_path / "raw", tmp_path / "trace")
    with Trace(tmp_path / "trace") as trace:
        for table, key, column, given in (
            ("jobs", ["job_id"], "submitted_at", TINY.jobs.pl()),
            ("attempts", ["job_id", "attempt"], "started_at", TINY.attempts.pl()),
        ):
            rows = trace.answer(table).pl().sort(key)
            assert rows[column].to_list() == given[column].to_list()
            assert rows["gpus"].to_list() == given["gpus"].to_list()
        twice = trace.sql(
            "select count(*) from placements as p join attempts using (job_id, attempt) "
            "join (select * from placements join attempts using (job_id, attempt)) as q "
            "on p.machine_id = q.machine_id and p.gpu = q.gpu and p.job_id < q.job_id "
            "and attempts.started_at < q.ended_at and q.started_at < attempts.ended_at"
        ).fetchall()
        assert twice == [(0,)]
        spread = trace.sql(
            "select job_id, count(distinct machine_id) as servers from placements "
            "group by all order by all"
        ).fetchall()
        assert spread == [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 2)]


def test_added_servers_have_new_names(tmp_path: Path) -> None:
    machines = pl.DataFrame({"machine_id": ["m3", "rack"], "gpus": [8, 4]})
    partly = Workload("partly", TINY.jobs.pl(), TINY.attempts.pl(), machines=machines)
    export(partly, "philly", tmp_path / "raw")
    listed = lines(tmp_path / "raw" / "cluster_machine_list")[1:]
    names = [line.split(",")[0] for line in listed]
    assert names[:3] == ["m3", "rack", "m4"] and len(set(names)) == len(names)


def test_notes_list_what_is_not_carried(tmp_path: Path) -> None:
    jobs = pl.DataFrame(
        {"job_id": ["x"], "gpus": [4], "submitted_at": [datetime(2017, 10, 3, 7, 0, 0, 400_000)]}
    )
    done = export(Workload("half", jobs, TINY.attempts.pl().clear()), "philly", tmp_path / "raw")
    assert "gang sizes of 1 jobs that have no attempt" in done.not_carried
    assert any("rounded to whole seconds" in s for s in done.not_carried)
    assert done.offered_load is None
    [entry] = json.loads((tmp_path / "raw" / "cluster_job_log").read_text())
    assert entry["submitted_time"] == "2017-10-03 07:00:00"
    assert entry["vc"] == entry["user"] == "None"
    # the archive has three statuses, and its readers select Pass
    assert entry["status"] == "Pass"
    assert "status of 1 jobs: Pass" in done.assumed


def test_samples_that_the_files_cannot_hold_are_counted(tmp_path: Path) -> None:
    samples = pl.DataFrame(
        {
            "sampled_at": [minute(m) for m in range(5)],
            "machine_id": "m0",
            "seconds": [60.0, None, 61.0, 15.0, 60.0],
            "util_pct": [[5.0] * gpus for gpus in (4, 8, 9, 8, 10)],
        }
    )
    machines = pl.DataFrame({"machine_id": ["m0", "m1"], "gpus": [10, 8]})
    trace = paper_trace(tmp_path / "trace", machines=machines, gpu_samples=samples)
    done = export(trace, "philly", tmp_path / "raw")
    assert [s for s in done.not_carried if "samples" in s] == [
        "durations of 2 samples, which a reader assumes to be a minute",
        "utilisation of GPUs beyond the 8th of a machine, in 2 samples",
    ]
