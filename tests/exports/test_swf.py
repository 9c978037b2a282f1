"""Read exported SWF files back: the header, the 18 fields and a round trip."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from philly_analysis import export
from philly_analysis.workload import Workload
from tests.exports.conftest import Exporter
from tests.exports.files import read_swf
from tests.exports.tiny import TINY


def test_header_and_fields(exported: Exporter) -> None:
    done = exported("swf", gpus=16)
    assert not any("waits" in text for text in done.not_carried)
    header, queues, records = read_swf(exported.out)
    assert header["Version"] == "2.2" and header["TimeZoneString"] == "UTC"
    assert header["MaxJobs"] == header["MaxRecords"] == "5"
    assert header["MaxNodes"] == "2" and header["MaxProcs"] == "16"
    assert datetime.fromtimestamp(int(header["UnixStartTime"]), UTC).isoformat() == (
        "2017-10-03T07:00:00+00:00"
    )
    assert queues == {1: "v1", 2: "v2"}
    # the requested time of a job without a time limit is its run time
    # job submit wait run procs cpu mem req_procs req_time req_mem status user group exe queue …
    assert records == [
        [1, 0, 5, 600, 1, -1, -1, 1, 600, -1, 1, 1, -1, -1, 2, -1, -1, -1],
        [2, 10, 0, 400, 2, -1, -1, 2, 900, -1, 0, 2, -1, -1, 1, -1, -1, -1],
        [3, 20, 10, 4000, 4, -1, -1, 4, 4000, -1, 5, 1, -1, -1, 1, -1, -1, -1],
        [4, 20, 10, 36000, 8, -1, -1, 8, 36000, -1, 1, 3, -1, -1, 2, -1, -1, -1],
        [5, 1000, 100, 7200, 12, -1, -1, 12, 7200, -1, 1, 2, -1, -1, 1, -1, -1, -1],
    ]


@pytest.mark.parametrize(("policy", "run_s"), [("sum", 400), ("span", 490), ("last", 300)])
def test_run_times_follow_the_run_policy(policy: str, run_s: int, exported: Exporter) -> None:
    done = exported("swf", run_policy=policy)
    assert read_swf(exported.out)[2][1][3] == run_s
    assert done.run_policy == policy


def test_a_round_trip_keeps_the_records(tmp_path: Path) -> None:
    """Read the file into a workload and export it again: the records are the same."""
    export(TINY, "swf", tmp_path / "one.swf", gpus=16)
    header, queues, records = read_swf(tmp_path / "one.swf")
    origin = datetime.fromtimestamp(int(header["UnixStartTime"]), UTC).replace(tzinfo=None)
    status = {1: "Pass", 0: "Failed", 5: "Killed"}
    rows = [
        {
            "job_id": f"{r[0]:03}",
            "submitted_at": origin + timedelta(seconds=r[1]),
            "started_at": origin + timedelta(seconds=r[1] + r[2]),
            "ended_at": origin + timedelta(seconds=r[1] + r[2] + r[3]),
            "gpus": r[4],
            "status": status[r[10]],
            "user": f"user{r[11]}",
            "vc": queues[r[14]],
            "time_limit_s": None if r[8] < 0 else float(r[8]),
        }
        for r in records
    ]
    frame = pl.DataFrame(rows)
    again = Workload(
        name="tiny",
        jobs=frame.drop("started_at", "ended_at"),
        attempts=frame.select("job_id", "started_at", "ended_at", "gpus", attempt=pl.lit(1)),
    )
    for column in ("submitted_at", "gpus", "status", "vc"):
        assert again.jobs.pl()[column].to_list() == TINY.jobs.pl()[column].to_list()
    export(again, "swf", tmp_path / "two.swf", gpus=16)
    assert (tmp_path / "two.swf").read_bytes() == (tmp_path / "one.swf").read_bytes()


def test_memory_per_processor_and_starts_before_submission(exported: Exporter) -> None:
    early = TINY.attempts.pl().with_columns(pl.col("started_at") - pl.duration(seconds=7))
    jobs = TINY.jobs.pl().with_columns(mem_gb=pl.Series([None, 3.0, 1.0, 4.0, 6.0]))
    done = exported("swf", workload=Workload("early", jobs, early))
    records = read_swf(exported.out)[2]
    assert [r[2] for r in records] == [-1, -1, 3, 3, 93]
    # memory in KB per processor: 1.5, 0.25, 0.5, 0.5 GB
    assert [r[9] for r in records] == [-1, 1_572_864, 262_144, 524_288, 524_288]
    assert any(s.startswith("waits of 2 jobs") for s in done.not_carried)
    assert exported.read("swf") == 5
