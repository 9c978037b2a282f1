"""Check ingest of failure output: accepted, merged, masked, attributed or rejected records."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError
from philly_analysis.ingest.failure_output import kernel_log
from philly_analysis.trace.manifest import Account
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import attempt, job, write_archive

Rows = list[tuple[Any, ...]]
Ingested = Callable[..., tuple[Rows, Rows, Account]]

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
DAY = "2017-10-10"
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
    log = [
        job(
            name,
            [attempt(f"{DAY} {start}", f"{DAY} {end}", **{machine: 1}) for start, end in attempts],
            status=status,
            submitted_time=f"{DAY} 09:00:00",
        )
        for name, status, attempts, machine in JOBS
    ]
    machines = ["m1,2,12GB", "m2,2,12GB", "m3,2,12GB"]
    return write_archive(tmp_path / "raw", log, cluster_machine_list=machines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder of failed output."""
    (tmp_path / "output").mkdir()
    return tmp_path / "output"


@pytest.fixture
def ingested(raw: Path, folder: Path, tmp_path: Path) -> Ingested:
    """Ingest with the failed output, and return the failures, rejects and account."""

    def run(**options: Any) -> tuple[Rows, Rows, Account]:
        manifest = ingest("philly", raw, tmp_path / "trace", failures=folder, **options).manifest
        with Trace(tmp_path / "trace") as trace:
            rows = trace.sql("select * from failures order by all").fetchall()
            rejects = trace.sql(
                "select source_file, reason, raw from rejects where \"table\" = 'failures' "
                "order by all"
            ).fetchall()
        [account] = [a for a in manifest.accounts if a.table == "failures"]
        return rows, rejects, account

    return run


def test_streams_of_an_attempt_make_one_record_with_line_numbers(
    ingested: Ingested, folder: Path
) -> None:
    (folder / "application_1.1.out").write_text("step 1\nstep 2\n")
    (folder / "application_1.1.err.gz").write_bytes(gzip.compress(("x\n" + OOM).encode()))
    (folder / "application_1_attempt-2.log").write_bytes("KeyError: 'ü'\n".encode("utf-16"))
    rows, rejects, account = ingested()
    assert rejects == []
    assert [row[:7] for row in rows] == [
        ("application_1", 1, "GPU out of memory", "AE", None, "torch_cuda_oom", 2),
        ("application_1", 2, "Traceback from crash", "IF+AE+U", None, "python_exception", 1),
    ]
    assert (account.read, account.kept) == (2, 2)


def test_slurm_files_and_json_lines(ingested: Ingested, folder: Path) -> None:
    (folder / "slurm-7_3.out").write_text(OOM)
    records = [
        {"job_id": "application_1", "attempt": 1, "text": "Segmentation fault (core dumped)"},
        {"job_id": "application_1", "text": "SyntaxError: invalid syntax"},
    ]
    (folder / "all.jsonl").write_text("\n".join(map(json.dumps, records)))
    rows, rejects, _ = ingested()
    assert rejects == []
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("7_3", 1, "GPU out of memory"),
        ("application_1", 1, "Invalid memory access"),
        ("application_1", 2, "Syntax error"),
    ]


def test_each_bad_record_is_rejected_with_its_reason(ingested: Ingested, folder: Path) -> None:
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
    rows, rejects, account = ingested()
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


def test_a_damaged_file_is_read_up_to_the_line_of_its_damage(
    ingested: Ingested, folder: Path, tmp_path: Path
) -> None:
    lines = [{"job_id": "application_1", "attempt": n, "text": OOM} for n in (1, 2)]
    whole = "".join(json.dumps(line) + "\n" for line in lines)
    # without the eight bytes of its checksum and length
    (folder / "a.jsonl.gz").write_bytes(gzip.compress((whole + '{"job_id": "7_3"').encode())[:-8])
    rows, _, _ = ingested()
    assert [row[:2] for row in rows] == [("application_1", 1), ("application_1", 2)]
    with Trace(tmp_path / "trace") as trace:
        rejects = trace.sql("select source_line, reason from rejects").fetchall()
    assert rejects == [(3, "the compressed file is damaged")]


def test_kernel_events_are_attributed_by_machine_and_time(ingested: Ingested, folder: Path) -> None:
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
    rows, rejects, account = ingested(clock="UTC")
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


@pytest.mark.parametrize(
    "time", ["[Tue Oct 10 03:08:40 2017]", "2017-10-10T15:38:40+05:30", "2017-10-10T10:08:40Z"]
)
def test_a_kernel_event_alone_makes_a_record_in_its_time_zone(
    ingested: Ingested, folder: Path, time: str
) -> None:
    (folder / "m1.dmesg").write_text(
        f"{time} NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    )
    rows, rejects, _ = ingested(clock="America/Los_Angeles")
    assert rejects == []
    assert [row[:7] for row in rows] == [
        ("application_1", 2, "CUDA failure", "AE", "gpu_fell_off_bus", "xid_off_bus", 1)
    ]


@pytest.mark.parametrize(
    ("text", "around", "year"),
    [
        ("Jan  1 00:00:05 m1 kernel: x", datetime(2017, 12, 31, 23), 2018),
        ("Dec 31 23:59:55 m1 kernel: x", datetime(2018, 1, 1, 1), 2017),
        ("Oct 10 12:00:00 m1 kernel: x", datetime(2017, 10, 9), 2017),
        ("Feb 29 12:00:00 m1 kernel: x", datetime(2017, 2, 1), 2016),
    ],
)
def test_a_time_without_a_year_is_in_the_nearest_one(
    text: str, around: datetime, year: int
) -> None:
    at, _ = kernel_log._parse_time(text, around, UTC)
    assert at is not None and (at.year, f"{at:%b %e %H:%M:%S}") == (year, text[:15])


@pytest.mark.parametrize("keep", [False, True])
def test_stored_output_is_masked_unless_the_user_keeps_secrets(
    keep: bool, ingested: Ingested, folder: Path
) -> None:
    text = "FileNotFoundError: [Errno 2] No such file: '/home/jdoe/x' token=abcdef123456\n"
    (folder / "application_1.1.out").write_text(text)
    (folder / "r.jsonl").write_text('{"text": 1, "password": "hunter2hunter2"}')
    [row], [reject], _ = ingested(keep_secrets=keep)
    leaks = ["/home/jdoe/x" in row[7], "abcdef123456" in row[7], "hunter2" in reject[2]]
    assert leaks == [keep] * 3


def test_file_names_may_have_any_pattern(ingested: Ingested, folder: Path) -> None:
    (folder / "application_1" / "try2").mkdir(parents=True)
    (folder / "application_1" / "try2" / "stderr").write_text(OOM)
    rows, _, _ = ingested(output_name=(r"(?P<job_id>[^/]+)/try(?P<attempt>\d+)/(?P<stream>\w+)",))
    assert [row[:3] for row in rows] == [("application_1", 2, "GPU out of memory")]


@pytest.mark.parametrize("pattern", ["(", r"(?P<job>\d+)"])
def test_an_invalid_pattern_is_refused(ingested: Ingested, pattern: str) -> None:
    with pytest.raises(InputError, match="file pattern"):
        ingested(output_name=(pattern,))


def test_a_missing_folder_is_refused(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no failure output at"):
        ingest("philly", raw, tmp_path / "t", failures=tmp_path / "none")
    assert not (tmp_path / "t").exists()


def test_output_is_found_by_every_name_that_slurm_has_for_a_job(tmp_path: Path) -> None:
    """Name the tasks of an array and the parts of a heterogeneous job as Slurm's files do."""
    ids = {"118": "118_0", "119": "118_1", "120": "120+0", "121": "120+1", "7": "7"}
    lines = [
        f"{raw}|{shown}|{cluster}|FAILED|2026-01-01T00:00:00|2026-01-01T00:00:05|2026-01-01T01:00:00"
        for cluster in ("alpha", "beta")
        for raw, shown in ids.items()
        if cluster == "alpha" or raw == "7"
    ]
    header = "JobIDRaw|JobID|Cluster|State|Submit|Start|End"
    (tmp_path / "sacct.txt").write_text("\n".join([header, *lines, ""]))
    output = tmp_path / "output"
    output.mkdir()
    for name in ("118_0", "118_1", "120", "120+1", "7", "9"):
        (output / f"slurm-{name}.out").write_text(OOM)
    (output / "more.jsonl").write_text(json.dumps({"job_id": "beta:7", "text": OOM}))
    ingest("slurm", tmp_path / "sacct.txt", tmp_path / "t", failures=output)
    with Trace(tmp_path / "t") as trace:
        failures = trace.sql("select job_id, reason from failures order by all").fetchall()
        rejects = trace.sql("select raw, reason from rejects order by all").fetchall()
    jobs = ("alpha:118", "alpha:119", "alpha:120", "alpha:121", "beta:7")
    assert failures == [(job_id, "GPU out of memory") for job_id in jobs]
    assert rejects == [
        ("7 attempt last", "the name is of several jobs"),
        ("9 attempt last", "the job is unknown"),
    ]
