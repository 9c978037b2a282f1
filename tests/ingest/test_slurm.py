"""Check ingest of Slurm accounting logs."""

import gzip
import re
from datetime import datetime
from itertools import permutations
from pathlib import Path

import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError
from philly_analysis.ingest.slurm.fields import slurm_command
from philly_analysis.ingest.slurm.node_list import expand_hosts
from philly_analysis.trace.trace import Trace

PRINTED = Path(__file__).parent / "slurm_output"
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


@pytest.mark.parametrize(
    "delimiter", ["|", "^|^", *(pytest.param(d, marks=pytest.mark.slow) for d in (";|;", "\x1f"))]
)
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


def test_fields_of_an_attempt_that_other_fields_decide(tmp_path: Path) -> None:
    """Run time of suspended jobs, clocks that step back, signals, and the user who cancelled."""
    header = "JobIDRaw|UID|User|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|Suspended"
    midnight, one, two = (f"2026-01-01T0{hour}:00:00" for hour in range(3))
    lines = (
        f"1|7|ann|COMPLETED|0:0|{midnight}|{midnight}|{midnight}|{two}|3600|01:00:00",
        f"2|7|ann|COMPLETED|3:0|{one}|{midnight}|{one}|{two}|3600|00:00:00",
        f"3|8||CANCELLED by 7|0:9|{midnight}|{one}|{one}|{two}|3600|00:00:00",
        f"4|9|bob|CANCELLED by 0|0:0|{midnight}|{midnight}|{one}|{two}|3600|00:00:00",
        f"5|9|bob|CANCELLED by 8|0:0|{midnight}|{midnight}|{one}|{two}|3600|00:00:00",
        f"6|9|bob|RUNNING|0:0|{midnight}|{midnight}|{one}|Unknown|1800|00:30:00",
    )
    ingest("slurm", write(tmp_path, *lines, header=header), tmp_path / "t")
    with Trace(tmp_path / "t") as trace:
        found = trace.sql(
            "select job_id, run_s, exit_code, ended_by, eligible_at from attempts order by all"
        ).fetchall()
    assert found == [
        ("1", 3600.0, 0, None, at("00:00:00")),
        ("2", None, 3, None, at("01:00:00")),
        ("3", None, 128 + 9, "ann", at("01:00:00")),
        ("4", None, 0, "root", at("00:00:00")),
        ("5", None, 0, "8", at("00:00:00")),
        ("6", None, 0, None, at("00:00:00")),
    ]


def test_a_servers_gpus_are_the_most_held_at_once(tmp_path: Path) -> None:
    ingest("slurm", write(tmp_path, *LINES), tmp_path / "t")
    with Trace(tmp_path / "t") as trace:
        machines = trace.sql("select machine_id, gpus from machines order by all").fetchall()
    assert machines == [("g1", 4 + 8), ("g2", 8), ("g3", 1)]


def test_what_is_no_job_is_counted(tmp_path: Path) -> None:
    step = LINES[0].replace("|1|", "|1.batch|", 1)
    bar = LINES[0].replace("a100=4", "a100=4|4")
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


def test_a_file_whose_fields_are_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fit no list of fields known here"):
        ingest("slurm", write(tmp_path, header=LINES[0][3:]), tmp_path / "t")
    header = HEADER.replace("State", "Flags").replace("End", "Priority")
    raw = write(tmp_path, *LINES, header=header)
    with pytest.raises(InputError, match="lacks the fields State, End"):
        ingest("slurm", raw, tmp_path / "t")
    with pytest.raises(InputError, match="no sacct output"):
        ingest("slurm", tmp_path / "nowhere", tmp_path / "t")


@pytest.mark.slow
@pytest.mark.parametrize(
    "delimiter", ["|", "^|^", *(pytest.param(d, marks=pytest.mark.slow) for d in (";|;", "\x1f"))]
)
def test_a_documented_list_needs_no_header(tmp_path: Path, delimiter: str) -> None:
    ingest("slurm", write(tmp_path, *LINES, delimiter=delimiter), tmp_path / "with")
    ingest(
        "slurm",
        write(tmp_path, *LINES[1:], header=LINES[0], delimiter=delimiter),
        tmp_path / "without",
    )
    for table in ("jobs", "attempts", "placements", "machines"):
        with Trace(tmp_path / "with") as one, Trace(tmp_path / "without") as other:
            assert one.sql(f"from {table}").pl().equals(other.sql(f"from {table}").pl())


def test_nothing_kept_is_an_error(tmp_path: Path) -> None:
    when = ("2026-01-01T00:00:00", "2026-01-01T00:00:05", "2026-01-01T01:00:00")
    raw = write(tmp_path, record("1.0", *when), record("1.batch", *when))
    with pytest.raises(InputError, match=r"nothing in .* can be kept: 2 a step of a job"):
        ingest("slurm", raw, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def record(number: str, submit: str, start: str, end: str, **fields: str) -> str:
    """Return a line with these fields; the rest is that of a job which ran well on one GPU."""
    values = {
        "JobIDRaw": number,
        "JobID": number,
        "Partition": "gpu",
        "User": "ann",
        "State": "COMPLETED",
        "ExitCode": "0:0",
        "Submit": submit,
        "Eligible": submit,
        "Start": start,
        "End": end,
        "TimelimitRaw": "60",
        "NNodes": "1",
        "NCPUS": "1",
        "ReqTRES": "",
        "AllocTRES": "gres/gpu=1",
        "NodeList": "g1",
    } | fields
    return "|".join(values[name] for name in HEADER.split("|"))


def rows(trace: Path, sql: str) -> list[tuple[object, ...]]:
    with Trace(trace) as opened:
        return opened.sql(sql).fetchall()


def test_a_number_that_is_given_again_is_another_job(tmp_path: Path) -> None:
    first = record("7", "2025-01-01T00:00:00", "2025-01-01T00:00:05", "2025-01-01T01:00:00")
    later = record("7", "2026-01-01T00:00:00", "2026-01-01T00:00:05", "2026-01-01T01:00:00")
    other = record(
        "7", "2026-01-01T01:00:00", "2026-01-01T01:00:05", "2026-01-01T02:00:00", User="bob"
    )
    ingest("slurm", write(tmp_path, later, first, other), tmp_path / "t")
    assert rows(tmp_path / "t", "select job_id, attempt from attempts order by all") == [
        ("7", 1),
        ("7@2026-01-01T00:00:00", 1),
        ("7@2026-01-01T01:00:00", 1),
    ]
    assert rows(tmp_path / "t", "select distinct scheduler_id from jobs") == [("7",)]


@pytest.mark.slow
def test_the_latest_reading_wins_in_whatever_order_files_are_read(tmp_path: Path) -> None:
    when = ("2026-01-01T00:00:00", "2026-01-01T00:00:05")
    readings = {
        "waits": record(
            "7",
            when[0],
            "Unknown",
            "Unknown",
            State="PENDING",
            NodeList="None assigned",
            AllocTRES="",
            ReqTRES="gres/gpu=1",
        ),
        "runs": record("7", *when, "Unknown", State="RUNNING"),
        "ended": record("7", *when, "2026-01-01T01:00:00"),
    }
    for order in permutations(readings):
        raw = tmp_path / "".join(order)
        raw.mkdir()
        for i, name in enumerate(order):
            (raw / f"{i}.txt").write_text(f"{HEADER}\n{readings[name]}\n")
        manifest = ingest("slurm", raw, raw / "t")
        [account] = [a for a in manifest.accounts if a.table == "attempts"]
        assert account.rejected == {"an earlier reading of a record": 2}
        assert rows(
            raw / "t",
            "select started_at, ended_at, end_reason, status "
            "from attempts join jobs using (job_id)",
        ) == [(at("00:00:05"), at("01:00:00"), "completed", "Pass")]


def test_parts_of_gpus(tmp_path: Path) -> None:
    when = ("2026-01-01T00:00:00", "2026-01-01T00:00:05", "2026-01-01T01:00:00")
    raw = tmp_path / "raw"
    raw.mkdir()
    write(
        raw,
        record("1", *when, AllocTRES="cpu=1,gres/gpu:a100_2g.10gb=1,gres/gpu=1"),
        record("2", *when, AllocTRES="cpu=1,gres/gpu:1g.6gb=2", NodeList="g2"),
        record("3", *when, AllocTRES="cpu=1,gres/shard=2", NodeList="s1"),
        record("4", *when, AllocTRES="cpu=1,gres/shard=2", NodeList="s2"),
        record("5", *when, AllocTRES="cpu=1,gres/gpu:7g.40gb=1", NodeList="g3"),
    )
    (raw / "nodes.txt").write_text(
        "NodeName=s1 CPUTot=8 RealMemory=1000 Gres=gpu:t4:2(S:0),shard:t4:16(S:0) Partitions=gpu\n"
    )
    manifest = ingest("slurm", raw, tmp_path / "t")
    assert rows(tmp_path / "t", "select job_id, gpus, gpu_frac from jobs order by all") == [
        ("1", 1, 2 / 7),
        ("2", 2, 1 / 4),
        ("3", 1, 2 / 8),
        ("4", 0, None),
        ("5", 1, None),
    ]
    assert any(note.startswith("1 attempts held shards") for note in manifest.notes)


def test_a_heterogeneous_job_is_one_job_a_component(tmp_path: Path) -> None:
    when = ("2026-01-01T00:00:00", "2026-01-01T00:00:05", "2026-01-01T01:00:00")
    components = [record(f"{9 + i}", *when, JobID=f"9+{i}") for i in range(3)]
    ingest("slurm", write(tmp_path, *components), tmp_path / "t")
    assert rows(tmp_path / "t", "select job_id, scheduler_id from jobs order by all") == [
        ("10", "9+1"),
        ("11", "9+2"),
        ("9", "9+0"),
    ]


def test_a_file_that_was_cut_off_is_counted_and_the_rest_kept(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    whole = (PRINTED / "wide_D.txt.gz").read_bytes()
    (raw / "cut.txt.gz").write_bytes(whole[: len(whole) // 2])
    (raw / "whole.txt.gz").write_bytes(whole)
    manifest = ingest("slurm", raw, tmp_path / "t")
    assert any("cut.txt.gz was passed over" in note for note in manifest.notes)
    assert manifest.rows["attempts"] == 665


def test_the_command_asks_for_what_is_read_back(tmp_path: Path) -> None:
    command = slurm_command("2026-01-01", "2026-02-01", "alpha")
    assert " --clusters=alpha -S 2026-01-01 -E 2026-02-01 " in command
    fields = command.split(" -o ")[1].split(",")
    assert {"JobIDRaw", "Cluster", "Submit", "AllocTRES", "NodeList", "Reason"} <= set(fields)
    offered = gzip.decompress((PRINTED / "wide_D.txt.gz").read_bytes()).decode("utf-8", "replace")
    assert set(fields) <= set(offered.split("\n")[0].split("|"))


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
    assert expand_hosts(text) == named


def test_gpus_of_running_jobs_are_those_that_scontrol_showed(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "sacct.txt.gz").write_bytes((PRINTED / "wide_D_us.txt.gz").read_bytes())
    expected = set()
    for file in sorted(PRINTED.glob("running/*_scontrol_show_job_d*")):
        (raw / file.name).write_bytes(file.read_bytes())
        text = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        cluster = "alpha" if "alpha" in file.name else "beta"
        for job in re.split(r"(?:^|\n)(?=JobId=\d)", text)[1:]:
            number = job.split()[0].removeprefix("JobId=")
            for nodes, gpus in re.findall(
                r"\sNodes=(\S+) CPU_IDs=.*?GRES=gpu:\w+:\d\(IDX:(\S+)\)", job
            ):
                first, _, last = gpus.partition("-")
                for node in expand_hosts(nodes):
                    for gpu in range(int(first), int(last or first) + 1):
                        expected.add((f"{cluster}:{number}", f"{cluster}:{node}", gpu))
    assert len(expected) >= 20
    manifest = ingest("slurm", raw, tmp_path / "t")
    with Trace(tmp_path / "t") as trace:
        known = trace.sql(
            "select job_id, machine_id, gpu from placements where gpu is not null"
        ).fetchall()
        held = trace.sql(
            "select job_id, attempt, machine_id, sum(coalesce(gpus, 1)) from placements "
            "group by all"
        ).fetchall()
    assert set(known) == expected
    assert len(known) == len(expected)
    assert manifest.rows["attempts"] == 665
    ingest("slurm", raw / "sacct.txt.gz", tmp_path / "unshown")
    with Trace(tmp_path / "unshown") as trace:
        plain = trace.sql("select job_id, attempt, machine_id, gpus from placements").fetchall()
    # as many on each server as sacct says, where it says
    assert {r for r in plain if r[3] is not None} <= set(held)
