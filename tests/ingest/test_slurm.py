"""A Slurm accounting log becomes a trace."""

from datetime import datetime
from pathlib import Path

import pytest

from philly_analysis.errors import InputError
from philly_analysis.ingest import ingest
from philly_analysis.ingest.slurm.node_list import hosts
from philly_analysis.trace import Trace

HEADER = (
    "JobIDRaw|JobID|Partition|User|State|ExitCode|Submit|Eligible|Start|End|TimelimitRaw|"
    "NNodes|NCPUS|ReqTRES|AllocTRES|NodeList"
)
# a typed and a generic count of the same GPUs; only typed ones; requeued and running; a wait
LINES = (
    "1|1|gpu|ann|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:01:00|2026-01-01T00:05:00|"
    "2026-01-01T01:05:00|120|1|8||cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=500G|g1",
    "2|2_7|gpu|bob|CANCELLED by 1001|0:15|2026-01-01T00:10:00|Unknown|2026-01-01T00:20:00|"
    "2026-01-01T00:50:00||2|16||gres/gpu:a100=8,gres/gpu:v100=8,mem=1024M|g[1-2]",
    "3|3|gpu|bob|RUNNING|0:0|2026-01-01T00:50:01|Unknown|2026-01-01T01:20:00|Unknown||1|1||"
    "gres/gpu=1|g3",
    "3|3|gpu|bob|PREEMPTED|0:0|2026-01-01T00:10:00|Unknown|2026-01-01T00:20:00|"
    "2026-01-01T00:50:00||1|1||gres/gpu=1|g3",
    "4|4|cpu|eve|PENDING|0:0|2026-01-01T00:50:01|Unknown|Unknown|Unknown||1|1|||None assigned",
)


def write(folder: Path, *lines: str, header: str = HEADER, delimiter: str = "|") -> Path:
    file = folder / "sacct.txt"
    file.write_text("".join(f"{x.replace('|', delimiter)}\n" for x in (header, *lines)))
    return file


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{clock}")


@pytest.mark.parametrize("delimiter", ["|", "^|^", ";|;", "\x1f"])
def test_records_become_jobs_and_attempts(tmp_path: Path, delimiter: str) -> None:
    ingest("slurm", write(tmp_path, *LINES, delimiter=delimiter), tmp_path / "t")
    with Trace(tmp_path / "t") as trace:
        jobs = trace.sql(
            "select job_id, vc, gpus, status, eligible_at, time_limit_s, round(mem_gb, 3) "
            "from jobs order by all"
        ).fetchall()
        attempts = trace.sql(
            "select job_id, attempt, started_at, ended_at, end_reason, exit_code "
            "from attempts order by all"
        ).fetchall()
        waits = trace.sql("select job_id, attempt, wait_s from waits order by all").fetchall()
    assert jobs == [
        ("1", "gpu", 4, "Pass", at("00:01:00"), 7200.0, 536.871),  # 500 x 2^30 bytes
        ("2", "gpu", 16, "Killed", None, None, 1.074),
        ("3", "gpu", 1, None, None, None, None),
        ("4", "cpu", 0, None, None, None, None),
    ]
    assert attempts == [
        ("1", 1, at("00:05:00"), at("01:05:00"), "completed", 0),
        ("2", 1, at("00:20:00"), at("00:50:00"), "killed", 128 + 15),
        ("3", 1, at("00:20:00"), at("00:50:00"), "preempted", 0),
        ("3", 2, at("01:20:00"), None, None, 0),
        ("4", 1, None, None, None, 0),
    ]
    assert waits == [("1", 1, 300.0), ("2", 1, 600.0), ("3", 1, 600.0), ("3", 2, 1800.0)]


def test_a_servers_gpus_are_the_most_held_at_once(tmp_path: Path) -> None:
    ingest("slurm", write(tmp_path, *LINES), tmp_path / "t")
    with Trace(tmp_path / "t") as trace:
        machines = trace.sql("select machine_id, gpus from machines order by all").fetchall()
    assert machines == [("g1", 4 + 8), ("g2", 8), ("g3", 1)]


def test_what_is_no_job_is_counted(tmp_path: Path) -> None:
    step = LINES[0].replace("|1|", "|1.batch|", 1)
    bar = LINES[0].replace("ann", "a|nn")
    when = LINES[0].replace("2026-01-01T00:00:00", "yesterday")
    back = LINES[0].replace("2026-01-01T01:05:00", "2026-01-01T00:04:00")
    manifest = ingest("slurm", write(tmp_path, *LINES, step, bar, when, back), tmp_path / "t")
    [account] = [a for a in manifest.accounts if a.table == "attempts"]
    assert (account.read, account.kept) == (9, 5)
    assert account.rejected == {
        "Submit is not a time": 1,
        "a step of a job, not a job": 1,
        "it ended before it started": 1,
        "the number of fields is not that of the header": 1,
    }
    with Trace(tmp_path / "t") as trace:
        lines = trace.sql("select source_line from rejects order by all").fetchall()
    assert lines == [(7,), (8,), (9,), (10,)]


def test_a_file_without_the_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lacks JobIDRaw, State, Submit, Start, End"):
        ingest("slurm", write(tmp_path, header=LINES[0]), tmp_path / "t")
    with pytest.raises(InputError, match="no sacct output"):
        ingest("slurm", tmp_path / "nowhere", tmp_path / "t")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("g1", ["g1"]),
        ("gpu[001-003,007],login1", ["gpu001", "gpu002", "gpu003", "gpu007", "login1"]),
        ("r[1-2]n[08-09]", ["r1n08", "r1n09", "r2n08", "r2n09"]),
        ("g[1-", []),
        ("g[1-99999999]", []),
        ("", []),
    ],
)
def test_node_lists(text: str, named: list[str]) -> None:
    assert hosts(text) == named
