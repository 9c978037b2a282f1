"""Check ingest of failure output: accepted, merged, masked, attributed or rejected records."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError
from philly_analysis.trace.manifest import Account
from philly_analysis.trace.trace import Trace

Rows = list[tuple[Any, ...]]
Taken = Callable[..., tuple[Rows, Rows, Account]]

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
JOBS = [
    # job, status, attempts as (start, end), machine
    ("application_1", "Failed", [("10:00:00", "10:05:00"), ("10:06:00", "10:09:00")], "m1"),
    ("application_2", "Pass", [("11:00:00", "11:30:00"), ("11:31:00", "12:00:00")], "m1"),
    ("7_3", "Failed", [("13:00:00", "13:20:00")], "m2"),
    ("application_4", "Killed", [("13:00:00", "13:20:30")], "m3"),
    ("application_5", "Failed", [("13:00:00", "13:21:00")], "m3"),
]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Write a small raw archive."""
    folder = tmp_path / "raw"
    folder.mkdir()
    log = [
        {
            "jobid": job,
            "status": status,
            "vc": "v",
            "user": "u",
            "submitted_time": "2017-10-10 09:00:00",
            "attempts": [
                {
                    "start_time": f"2017-10-10 {start}",
                    "end_time": f"2017-10-10 {end}",
                    "detail": [{"ip": machine, "gpus": ["gpu0"]}],
                }
                for start, end in attempts
            ],
        }
        for job, status, attempts, machine in JOBS
    ]
    (folder / "cluster_job_log").write_text(json.dumps(log))
    (folder / "cluster_machine_list").write_text(
        "machineId, number of GPUs, single GPU mem\nm1,2,12GB\nm2,2,12GB\nm3,2,12GB\n"
    )
    return folder


@pytest.fixture
def taken(raw: Path, tmp_path: Path) -> Taken:
    """Ingest with the records of a folder, and give the failures, rejects and account."""

    def run(**options: Any) -> tuple[Rows, Rows, Account]:
        output = tmp_path / "output"
        manifest = ingest("philly", raw, tmp_path / "trace", failures=output, **options)
        with Trace(tmp_path / "trace") as trace:
            rows = trace.sql("select * from failures order by all").fetchall()
            rejects = trace.sql(
                "select source_file, reason, raw from rejects where \"table\" = 'failures' "
                "order by all"
            ).fetchall()
        [account] = [a for a in manifest.accounts if a.table == "failures"]
        return rows, rejects, account

    (tmp_path / "output").mkdir()
    return run


def test_streams_of_an_attempt_make_one_record_and_lines_keep_their_numbers(
    taken: Taken, tmp_path: Path
) -> None:
    folder = tmp_path / "output"
    (folder / "application_1.1.out").write_text("step 1\nstep 2\n")
    (folder / "application_1.1.err.gz").write_bytes(gzip.compress(("x\n" + OOM).encode()))
    (folder / "application_1_attempt-2.log").write_bytes("KeyError: 'ü'\n".encode("utf-16"))
    rows, rejects, account = taken()
    assert rejects == []
    assert [row[:7] for row in rows] == [
        ("application_1", 1, "GPU out of memory", "AE", None, "torch_cuda_oom", 2),
        ("application_1", 2, "Traceback from crash", "IF+AE+U", None, "python_exception", 1),
    ]
    assert (account.read, account.kept) == (2, 2)


def test_slurm_files_and_json_lines(taken: Taken, tmp_path: Path) -> None:
    folder = tmp_path / "output"
    (folder / "slurm-7_3.out").write_text(OOM)
    records = [
        {"job_id": "application_1", "attempt": 1, "text": "Segmentation fault (core dumped)"},
        {"job_id": "application_1", "text": "SyntaxError: invalid syntax"},
    ]
    (folder / "all.jsonl").write_text("\n".join(map(json.dumps, records)))
    rows, rejects, _ = taken()
    assert rejects == []
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("7_3", 1, "GPU out of memory"),
        ("application_1", 1, "Invalid memory access"),
        ("application_1", 2, "Syntax error"),
    ]


def test_each_bad_record_is_rejected_with_its_reason(taken: Taken, tmp_path: Path) -> None:
    folder = tmp_path / "output"
    (folder / "application_1.1.out").write_text(OOM)
    (folder / "application_1.2.out").write_text("")
    (folder / "application_2.2.out").write_text("Training completed\n")
    (folder / "application_9.1.out").write_text(OOM)
    (folder / "application_1.8.out").write_text(OOM)
    (folder / "README").write_text("hello")
    (folder / "a.jsonl").write_bytes(
        b'{"job_id": "application_1", "attempt": 1, "text": "KeyError: 1"}\n'
        b"{not json\n[]\n"
        b'{"text": "x"}\n{"job_id": "7_3", "attempt": "one", "text": "x"}\n'
        b'{"job_id": "7_3", "attempt": 1, "text": " "}\n\xff\xfe\n'
    )
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(b'{"job_id": "7_3", "text"' * 999)[:-9])
    rows, rejects, account = taken()
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("application_1", 1, "Traceback from crash")
    ]
    assert [(file, reason) for file, reason, _ in rejects] == [
        ("README", "the file's name says no job"),
        ("a.jsonl", "the attempt is no number"),
        ("a.jsonl", "the line is no JSON"),
        ("a.jsonl", "the line is no JSON"),
        ("a.jsonl", "the output is empty"),
        ("a.jsonl", "the record has no job_id"),
        ("a.jsonl", "the record has no text"),
        ("application_1.1.out", "the attempt has a record already"),
        ("application_1.2.out", "the output is empty"),
        ("application_1.8.out", "the attempt is unknown"),
        ("application_2.2.out", "the attempt passed"),
        ("application_9.1.out", "the job is unknown"),
        ("b.jsonl.gz", "the compressed file is damaged"),
    ]
    assert account.read == account.kept + sum(account.rejected.values()) == 14


def test_kernel_events_are_attributed_by_machine_and_time(taken: Taken, tmp_path: Path) -> None:
    folder = tmp_path / "output"
    (folder / "7_3.1.out").write_text("RuntimeError: CUDA error: unspecified launch failure\n")
    (folder / "kern.log").write_text(
        "Oct 10 13:19:30 m2 kernel: [8.1] NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n"
        "Oct 10 13:19:30 m2 kernel: eth0 up\n"
        "Oct 10 13:20:00 m3 kernel: Out of memory: Killed process 7 (python)\n"
        "Oct 10 20:00:00 m2 kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1\n"
    )
    (folder / "m1.dmesg").write_text(
        "[12.1] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
        "[Tue Oct 10 03:08:40 2017] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    )
    rows, rejects, account = taken(clock="UTC")
    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        ("7_3", 1, "GPU ECC error", "xid_error"),
    ]
    assert [reason for _, reason, _ in rejects] == [
        "no attempt ended on the machine just then",
        "several attempts ended on the machine just then",
        "no attempt ended on the machine just then",
        "the event has no time",
    ]
    assert (account.read, account.kept) == (5, 1)


def test_kernel_event_alone_makes_a_record_and_its_clock_has_a_zone(
    taken: Taken, tmp_path: Path
) -> None:
    (tmp_path / "output" / "m1.dmesg").write_text(
        "[Tue Oct 10 03:08:40 2017] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    )
    rows, rejects, _ = taken(clock="America/Los_Angeles")
    assert rejects == []
    assert [row[:7] for row in rows] == [
        ("application_1", 2, "CUDA failure", "AE", "gpu_fell_off_bus", "fell_off_bus", 1)
    ]


def test_what_is_stored_is_masked_unless_told_otherwise(taken: Taken, tmp_path: Path) -> None:
    text = "FileNotFoundError: [Errno 2] No such file: '/home/jdoe/x' token=abcdef123456\n"
    (tmp_path / "output" / "application_1.1.out").write_text(text)
    (tmp_path / "output" / "r.jsonl").write_text('{"text": 1, "password": "hunter2hunter2"}')
    rows, rejects, _ = taken()
    assert "jdoe" not in rows[0][7]
    assert "abcdef123456" not in rows[0][7]
    assert "hunter2" not in rejects[0][2]


def test_masking_can_be_turned_off(taken: Taken, tmp_path: Path) -> None:
    (tmp_path / "output" / "application_1.1.out").write_text("OSError: '/home/jdoe/x'\n")
    rows, _, _ = taken(keep_secrets=True)
    assert "/home/jdoe/x" in rows[0][7]


def test_file_names_may_have_any_pattern(taken: Taken, tmp_path: Path) -> None:
    folder = tmp_path / "output" / "application_1" / "try2"
    folder.mkdir(parents=True)
    (folder / "stderr").write_text(OOM)
    rows, _, _ = taken(output_name=(r"(?P<job_id>[^/]+)/try(?P<attempt>\d+)/(?P<stream>\w+)",))
    assert [row[:3] for row in rows] == [("application_1", 2, "GPU out of memory")]


@pytest.mark.parametrize("pattern", ["(", r"(?P<job>\d+)"])
def test_pattern_that_cannot_be_used_is_told(taken: Taken, pattern: str) -> None:
    with pytest.raises(InputError, match="file pattern"):
        taken(output_name=(pattern,))


def test_nothing_there_is_told(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no failure output at"):
        ingest("philly", raw, tmp_path / "t", failures=tmp_path / "none")
    assert not (tmp_path / "t").exists()
