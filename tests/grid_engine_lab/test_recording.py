"""Check ingest of what a real Grid Engine 8.1.9 wrote, against the times that its jobs wrote.

:mod:`tests.grid_engine_lab.lab` made the recording.
"""

from pathlib import Path
from shutil import which

import pytest

from tests.grid_engine_lab.lab import record
from tests.ingest.conftest import Ingest, Ingested

RECORDING = Path(__file__).parent / "recording"
START_UP_S = 2.5
"""Most seconds from Grid Engine's start to the first line of a job, or from its last to the end."""

GPUS = {
    "plain": 2,
    "no gpu": 0,
    "fails": 1,
    "array": 1,
    "parallel": 4,
    "limit": 1,
    "deleted": 1,
    "rescheduled": 1,
    "segfault": 1,
    "whole": 8,
    "waiting": 8,
    "after": 2,
} | {f"small {number}": number % 4 + 1 for number in range(20)}
ENDS = {
    "plain": ("Pass", "completed", 0),
    "fails": ("Failed", "failed", 3),
    "limit": ("Failed", "time_limit", 137),
    "deleted": (None, None, 137),  # a limit might have ended it likewise
    "segfault": ("Failed", "failed", 139),
}


def check(recording: Path, trace: Ingested) -> None:
    """Compare a trace with what the jobs of its recording wrote."""
    kinds = dict(line.split(" ", 1) for line in (recording / "jobs.txt").read_text().splitlines())
    wrote: dict[str, list[list[float]]] = {}
    for line in (recording / "truth.txt").read_text().splitlines():
        number, task, at, event, *_ = line.split()
        name = number if task == "undefined" else f"{number}.{task}"
        if event == "start":
            wrote.setdefault(name, []).append([float(at)])
        else:
            wrote[name][-1].append(float(at))
    rows = trace.rows(
        "select job_id, epoch(started_at), epoch(ended_at), a.gpus, status, end_reason, exit_code "
        "from attempts as a join jobs using (job_id) order by job_id, attempt"
    )
    assert sorted({job for job, *_ in rows}) == sorted(wrote)
    for job, started, ended, gpus, *end in rows:
        kind = kinds[job.split(".")[0]]
        written = wrote[job][-1]  # Grid Engine has no times of a rescheduled run
        assert gpus == GPUS[kind], kind
        assert started - 1 <= written[0] <= started + START_UP_S, kind
        if len(written) > 1:
            assert written[1] <= ended + 1 <= written[1] + 1 + START_UP_S, kind
        if kind in ENDS:
            assert tuple(end) == ENDS[kind], kind
    assert trace.account("attempts").rejected == {
        "a rescheduled run, of which Grid Engine records no times": 1
    }
    assert trace.rows("select gpus, gpus_listed, cpus from machines") == [(8, 8, 2.0)]
    held = trace.rows("select count(*) from placements where gpus is not null")
    asked = trace.rows("select count(*) from attempts where gpus > 0")
    assert held == asked  # the environment smp uses one server


def test_a_recorded_grid_engine(ingested: Ingest) -> None:
    check(RECORDING, ingested("gridengine", RECORDING / "raw"))


@pytest.mark.slow
@pytest.mark.skipif(
    not which("sge_qmaster", path="/usr/sbin"), reason="no gridengine-master on this machine"
)
def test_a_running_grid_engine(tmp_path: Path, ingested: Ingest) -> None:
    record(tmp_path / "recording")
    check(tmp_path / "recording", ingested("gridengine", tmp_path / "recording" / "raw"))
