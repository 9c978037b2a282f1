"""Run the script that collects the logs of a Slurm cluster, with commands that print real lines."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from philly_analysis import ingest, slurm_collect
from philly_analysis.errors import InputError
from philly_analysis.trace.trace import Trace
from tests.ingest.test_slurm_snapshots import (
    ASSOCIATIONS,
    HEADER,
    PARTITIONS,
    QOS,
    at,
    job,
    sacct,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the script is for Linux")
NODE = "NodeName=a1 CPUTot=32 RealMemory=128000 Gres=gpu:a100:8 Partitions=train\n"
SHOWN = job("7", "PENDING", "AssocGrpGRES", "15:59:50") + job(
    *("6", "RUNNING", "None", "15:59:00"),
    StartTime="2026-11-27T15:59:30",
    RunTime="00:00:40",
    nodes="a1",
)
EVENTS = """\
Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
lab||2026-11-27T15:45:55|Unknown||Cluster Registered TRES|
lab|a1|2026-11-27T15:51:18|2026-11-27T15:52:30|DOWN*|Not | responding|root(0)
lab|a1|2026-11-27T15:55:00|Unknown|IDLE+DRAIN|check|root(0)
lab|a1|2026-11-27T15:56:00|2026-11-27T15:57:00|IDLE+POWERED_DOWN|idle|slurm(64030)
"""
RESERVED = (
    "ReservationName=course StartTime=2026-11-27T17:53:13 EndTime=2026-11-27T17:54:13 "
    "Duration=00:01:00\n   Nodes=a[1-2] NodeCnt=2 CoreCnt=64 Features=(null)\n   TRES=cpu=64\n"
)
ENDED = [HEADER, sacct("7", "15:59:50", "16:02:20", "16:02:50"), ""]


class Cluster:
    """A folder, and commands in the place of Slurm's."""

    def __init__(self, folder: Path, prometheus: str | None = None) -> None:
        self.spool, self.bin = folder / "spool", folder / "bin"
        self.bin.mkdir()
        self.script = folder / "collect.sh"
        self.script.write_text(slurm_collect(self.spool, prometheus=prometheus) + "\n")
        self.prints("sacct", "\n".join(ENDED).replace("|", "^|^"))
        self.prints("sacctmgr", {"assoc": ASSOCIATIONS, "qos": QOS, "event": EVENTS})
        printed = {"job": SHOWN, "node": NODE, "partition": PARTITIONS, "reservation": RESERVED}
        self.prints("scontrol", printed)

    def prints(self, command: str, texts: str | dict[str, str], *, code: int = 0) -> None:
        """Let a command print a text, or the text of its second argument, and log its arguments."""
        texts = texts if isinstance(texts, dict) else {"": texts}
        for word, text in texts.items():
            (self.bin / f"{command}.{word}").write_text(text)
        choice = '"$2"' if "" not in texts else '""'
        file = self.bin / command
        file.write_text(
            f'#!/bin/sh\necho "$TZ {command} $*" >>"{self.bin}/calls"\n'
            f'cat "{self.bin}/{command}."{choice}\nexit {code}\n'
        )
        file.chmod(0o755)

    def run(self) -> int:
        path = f"{self.bin}:{os.environ['PATH']}"
        return subprocess.run(["sh", self.script], env={"PATH": path}, check=False).returncode

    @property
    def calls(self) -> list[str]:
        return (self.bin / "calls").read_text().splitlines()

    @property
    def files(self) -> list[str]:
        """Names of the visible files, with their digits as 0."""
        return sorted(re.sub(r"\d", "0", p.name) for p in self.spool.glob("*") if p.is_file())


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_the_first_run_fills_a_folder_that_ingest_reads(cluster: Cluster, tmp_path: Path) -> None:
    assert cluster.run() == 0
    day = "0000-00-00"
    names = ("associations", "events", "nodes", "partitions", "qos", "sacct", "sacct")
    listed = [*(f"{name}_{day}.txt" for name in names), f"reservations_{day}T00.txt"]
    visible = [name for name in cluster.files if not name.startswith(".")]
    assert visible == sorted([*listed, f"queue_{day}T00-00-00Z.txt.gz"])
    assert not list(cluster.spool.rglob(".new.*")) and not (cluster.spool / ".lock").exists()
    assert all(call.startswith("UTC ") for call in cluster.calls)
    before, today = (call for call in cluster.calls if " sacct " in call)
    assert (" -S now-30days " in today) and (" -E now " in before)
    states = "-s BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO "
    assert states in before and "-a -X -D -P --noconvert" in before
    manifest = ingest("slurm", cluster.spool, tmp_path / "t").manifest
    with Trace(tmp_path / "t") as trace:
        [(gpus, cpus)] = trace.sql("select gpus_listed, cpus from machines").fetchall()
        limits = trace.sql("select count(*) from limits").fetchall()
        closures = trace.sql("from server_closures order by since_at").fetchall()
    assert (gpus, cpus, limits) == (8, 32.0, [(14,)])
    assert closures == [
        ("a1", at("15:51:18"), at("15:52:30"), "down"),
        ("a1", at("15:55:00"), None, "drained"),
        ("a1", at("17:53:13"), at("17:54:13"), "reserved"),
    ]
    assert not any("passed over" in note for note in manifest.notes)
    assert any("may be deleted" in note for note in manifest.notes)


def test_a_later_run_of_the_hour_prints_the_queue_only(cluster: Cluster) -> None:
    assert cluster.run() == 0
    before = len(cluster.calls)
    assert cluster.run() == 0
    assert [call.split()[1:] for call in cluster.calls[before:]] == [
        ["scontrol", "show", "job", "-d"]
    ]


def test_prints_of_past_days_become_one_file_and_old_files_go(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.spool.mkdir()
    for minute, reason in enumerate(("AssocGrpGRES", "Priority")):
        text = f"# 2026-01-27T16:0{minute}:00Z\n" + job("9", "PENDING", reason, "15:59:50")
        text = text.replace("2026-11", "2026-01")
        file = cluster.spool / f"queue_2026-01-27T16-0{minute}-00Z.txt.gz"
        file.write_bytes(gzip.compress(text.encode()))
    old = cluster.spool / "sacct_2020-01-01.txt"
    old.write_text("old")
    os.utime(old, (1.6e9, 1.6e9))
    assert cluster.run() == 0
    assert not old.exists()
    [packed] = cluster.spool.glob("queue_2026-01-27*")
    assert packed.name == "queue_2026-01-27.txt.gz"
    ingest("slurm", cluster.spool, tmp_path / "t")
    with Trace(tmp_path / "t") as trace:
        rows = trace.sql("select reason from queue_states where job_id = '9' order by since_at")
        assert [reason for (reason,) in rows.fetchall()] == ["AssocGrpGRES", "Priority"]


def test_a_command_that_fails_leaves_no_file_and_is_run_again(cluster: Cluster) -> None:
    cluster.prints("sacct", "JobIDRaw^|^Sta", code=1)
    assert cluster.run() == 1
    assert not list(cluster.spool.glob("*sacct*"))
    assert "failed: jobs_between" in (cluster.spool / ".log").read_text()
    cluster.prints("sacct", "\n".join(ENDED))
    assert cluster.run() == 0
    assert len(list(cluster.spool.glob("sacct_*"))) == 2


def test_a_run_leaves_while_another_works_and_takes_the_lock_of_a_killed_one(
    cluster: Cluster,
) -> None:
    lock = cluster.spool / ".lock"
    lock.mkdir(parents=True)
    (lock / "pid").write_text(str(os.getpid()))
    assert cluster.run() == 0
    os.utime(lock, (1.6e9, 1.6e9))
    assert cluster.run() == 0
    assert not (cluster.bin / "calls").exists()
    (lock / "pid").write_text("99999999")
    os.utime(lock, (1.6e9, 1.6e9))
    assert cluster.run() == 0
    assert cluster.calls and not lock.exists()


def test_telemetry_is_queried_in_parts_without_gaps(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, prometheus="http://localhost:9090/")
    cluster.prints("curl", json.dumps({"status": "success", "data": {"result": []}}))
    assert cluster.run() == 0
    calls = [call for call in cluster.calls if " curl " in call]
    assert all("http://localhost:9090/api/v1/query_range" in call for call in calls)
    spans = [tuple(int(n) for n in re.findall(r"(?:start|end|step)=(\d+)", call)) for call in calls]
    for since, until, step in spans:
        assert (until - since) / step + 1 <= 11_000
    # each query begins a step after the one before
    assert [a[1] + a[2] for a in spans[:-1]] == [b[0] for b in spans[1:]]
    assert spans[-1][1] - spans[0][0] > 29.9 * 86400
    before = len(cluster.calls)
    assert cluster.run() == 0
    assert not any(" curl " in call for call in cluster.calls[before:])


def test_the_script_is_one_of_posix_and_names_its_line_of_the_crontab(tmp_path: Path) -> None:
    script = tmp_path / "collect.sh"
    script.write_text(slurm_collect("/srv/my logs", every_min=1, prometheus="http://x") + "\n")
    assert "\n# * * * * * /bin/sh '/srv/my logs/bin/collect.sh'\n" in script.read_text()
    assert "--append --telemetry '/srv/my logs/telemetry'\n" in script.read_text()
    subprocess.run(["sh", "-n", script], check=True)
    if check := shutil.which("shellcheck"):
        subprocess.run([check, "-s", "sh", "-S", "warning", script], check=True)
    with pytest.raises(InputError, match="every_min is 7"):
        slurm_collect(every_min=7)
    with pytest.raises(InputError, match="at least 1"):
        slurm_collect(keep_days=0)
