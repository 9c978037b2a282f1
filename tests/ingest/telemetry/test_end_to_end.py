"""Check telemetry from raw files to GPU hours and idle time of attempts."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import attempt, job, write_archive, write_files
from tests.ingest.telemetry.history import BEGINS, FORMATS, expected, history
from tests.support.command_line import invoke

MINUTE = timedelta(minutes=1)
HEADER = "JobIDRaw|State|Submit|Start|End|AllocTRES|NodeList"

# each holds a whole server; the last two share one, and it is not known how
JOBS = {
    "1": ("a01", 4, 3, 9),
    "2": ("a02", 2, 0.5, 8.25),
    "3": ("a02", 2, 12, 20),
    "4": ("a01", 2, 20, 24),
    "5": ("a01", 2, 20, 24),
}


def moment(part: float, seconds: float) -> datetime:
    """A moment as far through the history as this many of 25 parts."""
    return BEGINS + timedelta(seconds=part * 4 * seconds)


def write_jobs(folder: Path, seconds: float) -> Path:
    folder.mkdir()
    lines = [HEADER]
    for number, (server, gpus, begin, end) in JOBS.items():
        times = "|".join(moment(p, seconds).isoformat(timespec="seconds") for p in (begin, end))
        submit = BEGINS.isoformat(timespec="seconds")
        lines.append(f"{number}|COMPLETED|{submit}|{times}|gres/gpu={gpus}|{server}")
    (folder / "sacct.txt").write_text("\n".join([*lines, ""]))
    return folder


def walk(seconds: float) -> dict[str, list[float]]:
    """Minutes read, offline and idle, and the sum of percent times minutes, by job."""
    samples = expected(history(seconds), seconds)
    found = {}
    for number, (server, _, first, last) in list(JOBS.items())[:3]:
        begin, end = (moment(p, seconds).replace(microsecond=0) for p in (first, last))
        begin = begin.replace(second=0)
        end = end if end.second == 0 else end.replace(second=0) + MINUTE
        total = found[number] = [0.0] * 4
        for (at, machine), (util, lasts_s) in samples.items():
            part = (min(at + timedelta(seconds=lasts_s), end) - max(at, begin)) / MINUTE
            if part > 0 and machine == server:
                for u in util:
                    for place, value in enumerate((u is not None, u is None, u == 0, u or 0)):
                        total[place] += part * value
    return found


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        pytest.param(name, s, marks=() if (name, s) == ("range answers", 15) else pytest.mark.slow)
        for name in FORMATS
        for s in (7.5, 15, 30, 60, 300)
    ],
)
def test_hours_and_idle_time_of_whole_servers(name: str, seconds: float, tmp_path: Path) -> None:
    raw = write_jobs(tmp_path / "raw", seconds)
    files = write_files(tmp_path / "telemetry", FORMATS[name](history(seconds)))
    command = f"ingest slurm {raw} {tmp_path}/t --telemetry {files} --telemetry-clock Europe/Berlin"
    said = invoke(*command.split())
    assert said.exit_code == 0, said.output
    assert "gpu_samples" in said.output
    with Trace(tmp_path / "t") as trace:
        rows = trace.sql(
            "select job_id, minutes, offline_min, idle_min, sum_pct from attempt_use"
        ).fetchall()
        [(unknown,)] = trace.sql(
            "select n from gpu_use_gaps where reason like '%which GPUs of a shared%'"
        ).fetchall()
        inputs = [i.file for i in trace.manifest.inputs]
    assert {r[0]: list(r[1:]) for r in rows} == {
        number: pytest.approx(total, rel=1e-6) for number, total in walk(seconds).items()
    }
    assert unknown == 2
    assert inputs == ["sacct.txt", *(Path(f).name for f in sorted(files.rglob("*.*")))]


def test_two_kinds_of_samples_do_not_mix(tmp_path: Path) -> None:
    raw: Any = write_archive(
        tmp_path / "raw",
        [job("j1", [attempt(m1=2)])],
        cluster_gpu_util=["2017-10-03 00:00:00 PDT,m1,1,2,3,4,5,6,7,8,"],
    )
    files = write_files(tmp_path / "telemetry", FORMATS["scrapes"](history(300)))
    with pytest.raises(InputError, match="have GPU samples themselves"):
        ingest("philly", raw, tmp_path / "t", telemetry=files)
    assert not (tmp_path / "t").exists()
