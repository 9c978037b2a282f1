"""Check telemetry from raw files to GPU hours and idle time of attempts."""

import itertools
import json
import random
from datetime import UTC, datetime, timedelta
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
    spans = {}
    for number, (server, _, first, last) in list(JOBS.items())[:3]:
        begin, end = (moment(p, seconds).replace(microsecond=0) for p in (first, last))
        total = spans[number] = [0.0] * 4
        for (at, machine), (util, lasts_s) in samples.items():
            part = (min(at + timedelta(seconds=lasts_s), end) - max(at, begin)) / MINUTE
            if part > 0 and machine == server:
                for u in util:
                    for place, value in enumerate((u is not None, u is None, u == 0, u or 0)):
                        total[place] += part * value
    return spans


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seconds"),
    [(name, s) for name in FORMATS for s in (7.5, 15, 30, 60, 300)],
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


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [5, 30, 60])
def test_readings_of_neighbours_on_a_gpu_are_not_mixed(seconds: int, tmp_path: Path) -> None:
    """Run jobs one after another on one GPU: each has a constant load of its own."""
    rng, begin = random.Random(seconds), datetime(2026, 1, 5)
    edges = [0, *itertools.accumulate(rng.randint(7, 200) for _ in range(30))]
    loads = [rng.randint(1, 100) for _ in edges[1:]]
    times = [(begin + timedelta(seconds=at)).isoformat() for at in edges]
    jobs = [
        f"{n}|COMPLETED|{times[0]}|{start}|{end}|gres/gpu=1|g1"
        for n, (start, end) in enumerate(itertools.pairwise(times), 1)
    ]
    raw = write_files(tmp_path / "raw", {"sacct.txt": "\n".join([HEADER, *jobs, ""])})
    moments = range(0, edges[-1] + seconds, seconds)
    load = [
        next((u for u, end in zip(loads, edges[1:], strict=True) if at < end), 0) for at in moments
    ]
    since = begin.replace(tzinfo=UTC).timestamp()
    answer = {
        "metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "Hostname": "g1", "gpu": "0"},
        "values": [[since + at, str(u)] for at, u in zip(moments, load, strict=True)],
    }
    page = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [answer]}})
    files = write_files(tmp_path / "telemetry", {"range.json": page})
    ingest("slurm", raw, tmp_path / "t", telemetry=files)
    with Trace(tmp_path / "t") as trace:
        rows = trace.sql("select job_id, minutes, sum_pct from attempt_use").fetchall()
    # each second of an attempt counts once, with the reading that covers it
    assert {int(job): (minutes, total) for job, minutes, total in rows} == {
        n: (
            pytest.approx((end - start) / 60),
            pytest.approx(sum(load[s // seconds] for s in range(start, end)) / 60),
        )
        for n, (start, end) in enumerate(itertools.pairwise(edges), 1)
    }


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
