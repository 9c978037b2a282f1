"""Compare the shipped maps of public traces with plain-Python readers."""

import csv
import gzip
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from philly_analysis import ingest
from philly_analysis.trace.trace import Trace

Row = dict[str, str]
Job = tuple[Any, ...]
"""submitted_at, gpus, run_s, wait_s, status: null where the table does not say."""

EPOCH = datetime(1970, 1, 1)


def at(seconds: str | float) -> datetime:
    return EPOCH + timedelta(seconds=float(seconds))


def philly_passed(row: Row) -> Job:
    submitted = datetime.fromisoformat(row["timestamp"])
    return submitted, int(row["num_gpus"]), float(row["duration"]), None, "Pass"


def philly_attempts(row: Row) -> Job:
    eastern = datetime.fromtimestamp(int(row["submit_time"]), ZoneInfo("America/New_York"))
    return eastern.replace(tzinfo=None), int(row["gpu_num"]), float(row["run_time"]), None, None


def itp(row: Row) -> Job:
    submitted = datetime(2021, 3, 4) + timedelta(seconds=int(row["submission_time"]))
    return submitted, int(row["num_gpu"]), float(row["duration"]), None, None


def openb(row: Row) -> Job:
    gone, end, began = row["deletion_time"], 12_902_960, row["scheduled_time"]
    run = float(gone) - float(began) if began and gone != str(end) else None
    wait = float(began) - float(row["creation_time"]) if began else None
    return at(row["creation_time"]), int(row["num_gpu"]), run, wait, None


def supercloud(row: Row) -> Job:
    held = dict(part.split("=") for part in row["tres_alloc"].split(","))
    gpus = int(held.get("1001", 0)) + int(held.get("1002", 0))
    submitted, began, ended = (float(row[f"time_{w}"]) for w in ("submit", "start", "end"))
    status = {"3": "Pass", "4": "Killed"}.get(row["state"], "Failed")
    return at(submitted), gpus, ended - began, began - submitted, status


def thetagpu(row: Row) -> Job:
    gpus, run, wait = (float(row[c]) for c in ("gpu_num", "run_time", "wait_time"))
    return at(row["submit_time"]), int(gpus), run, wait, row["new_status"]


def since(start: datetime) -> Callable[[Row], Job]:
    """Return a reading of rows in order, each so many seconds after the one before."""
    clock = start

    def read(row: Row) -> Job:
        nonlocal clock
        clock += timedelta(seconds=float(row["interval"]))
        return clock, int(row["gpu_num"]), float(row["run_time"]), None, row["new_status"]

    return read


def records(path: Path) -> Iterator[Row]:
    files = sorted(path.glob("*.csv*")) if path.is_dir() else [path]
    for file in files:
        text = file.read_bytes()
        text = gzip.decompress(text) if file.suffix == ".gz" else text
        yield from csv.DictReader(text.decode().splitlines())


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("raw", "file", "name", "read"),
    [
        ("philly-passed-jobs", "", "philly-passed", philly_passed),
        ("philly-attempts", "", "philly-attempts", philly_attempts),
        ("itp-2021", "", "itp-2021", itp),
        ("itp-2021/cluster10.csv.gz", "", "itp-2021", itp),
        ("alibaba-openb-2023", "openb_pod_list_default.csv.gz", "alibaba-openb-2023", openb),
        ("mit-supercloud-2021", "", "mit-supercloud-2021", supercloud),
        ("thetagpu-2023", "", "thetagpu-2023", thetagpu),
        (
            "philly-first-15k-attempts",
            "",
            "philly-first-15k",
            since(datetime(2017, 8, 7, 10, 3, 1)),
        ),
        (
            "helios-2020",
            "helios_data_training.csv.gz",
            "helios-15k",
            since(datetime(2020, 3, 31, 16)),
        ),
        ("bluewaters", "", "blue-waters-15k", since(datetime(2019, 1, 1))),
    ],
)
def test_extracts_are_read_row_by_row_as_plain_python_reads_them(
    raw: str, file: str, name: str, read: Callable[[Row], Job], traces: Path, tmp_path: Path
) -> None:
    expected = [read(row) for row in records(traces / raw / file)]
    manifest = ingest("table", traces / raw, tmp_path / "t", map=name)
    [jobs, *_, attempts] = manifest.accounts
    assert jobs.read == jobs.kept == attempts.kept == len(expected)
    with Trace(tmp_path / "t") as trace:
        found = trace.sql(
            "select submitted_at, jobs.gpus, coalesce(run_s, epoch(ended_at - started_at)), "
            "epoch(started_at - submitted_at), status "
            "from jobs join attempts using (job_id)"
        ).fetchall()

    def rounded(job: Job) -> Job:
        return tuple(round(v, 3) if isinstance(v, float) else v for v in job)

    def order(job: Job) -> str:
        return re.sub("[^0-9A-Za-z.]", " ", str(job))

    assert sorted(map(rounded, found), key=order) == sorted(map(rounded, expected), key=order)


@pytest.mark.real_data
def test_openb_has_parts_of_gpus_and_its_machines(traces: Path, tmp_path: Path) -> None:
    folder = traces / "alibaba-openb-2023"
    ingest("table", folder, tmp_path / "t", map="alibaba-openb-2023")
    pods = [r for r in records(folder / "openb_pod_list_default.csv.gz") if r["num_gpu"] != "0"]
    nodes = list(records(folder / "openb_node_list_all_node.csv"))
    with Trace(tmp_path / "t") as trace:
        [shares] = trace.sql("select sum(gpus * gpu_frac) from jobs").fetchall()
        [(machines, gpus)] = trace.sql("select count(*), sum(gpus) from machines").fetchall()
    assert shares[0] == pytest.approx(
        sum(int(r["num_gpu"]) * int(r["gpu_milli"]) / 1000 for r in pods)
    )
    assert (machines, gpus) == (len(nodes), sum(int(r["gpu"]) for r in nodes))


def ingested(folder: Path, name: str, **files: str) -> Trace:
    raw = folder / "raw"
    raw.mkdir()
    for file, text in files.items():
        (raw / file.replace("__", ".")).write_text(text)
    ingest("table", raw, folder / "t", map=name)
    return Trace(folder / "t")


JOBS = (
    "select job_id, submitted_at, started_at, ended_at, jobs.gpus, status, end_reason "
    "from jobs join attempts using (job_id) order by job_id"
)


def test_helios(tmp_path: Path) -> None:
    with ingested(
        tmp_path,
        "helios",
        cluster_log__csv="job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,"
        "end_time,duration,queue\n"
        "1,u1,vcA,8,64,1,COMPLETED,2020-04-01 08:00:00,2020-04-01 08:10:00,2020-04-01 09:10:00,"
        "3600,600\n"
        "2,u2,vcB,0,4,1,CANCELLED,2020-04-01 08:00:00,,2020-04-01 08:00:05,0,5\n"
        "3,u2,vcB,1,4,1,NODE_FAIL,2020-04-01 08:00:00,2020-04-01 08:00:00,2020-04-01 08:30:00,"
        "1800,0\n",
    ) as trace:
        jobs = trace.sql(JOBS).fetchall()
    day = datetime(2020, 4, 1)
    assert jobs == [
        (
            "1",
            day,
            day + timedelta(minutes=10),
            day + timedelta(minutes=70),
            8,
            "Pass",
            "completed",
        ),
        ("2", day, None, day + timedelta(seconds=5), 0, "Killed", "killed"),
        ("3", day, day, day + timedelta(minutes=30), 1, "Failed", "node_failure"),
    ]


def test_acme_durations_are_not_trusted(tmp_path: Path) -> None:
    header = (
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
        "duration,queue,gpu_time"
    )
    with ingested(
        tmp_path,
        "acme",
        trace_seren__csv=f"{header}\ns1,u1,1,8,32,Eval,COMPLETED,2023-03-01 08:00:00+08:00,"
        "2023-03-01 08:00:10+08:00,2023-03-01 08:00:18+08:00,8,10,64\n",
        trace_kalos__csv=f"{header},mem_per_pod_GB,shared_mem_per_pod,fail_time,stop_time\n"
        "k1,u2,2,16,64,Pretrain,SUSPECT,2023-06-01 00:00:00+00:00,2023-06-01 00:00:10+00:00,"
        "2023-06-01 00:00:18+00:00,18,10,288,100,10,,\n",
    ) as trace:
        runs = trace.sql(
            "select job_id, cluster, job_type, jobs.submitted_at, run_s, jobs.status "
            "from jobs join job_runs using (job_id) order by job_id"
        ).fetchall()
        [hours] = trace.sql("select list(gpu_h order by job_id) from job_runs").fetchall()
    assert runs == [
        ("k1", "kalos", "Pretrain", datetime(2023, 6, 1), 8.0, None),
        ("s1", "seren", "Eval", datetime(2023, 3, 1), 8.0, "Pass"),
    ]
    assert hours == ([16 * 8 / 3600, 8 * 8 / 3600],)


def test_spot_2026_has_run_times_and_parts_of_gpus_without_starts(tmp_path: Path) -> None:
    header = (
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,"
        "duration,job_type"
    )
    with ingested(
        tmp_path,
        "spot-2026",
        job_info_df__csv=f"{header}\nj1,o1,A10,4,0.5,3,100,7200.0,Spot\nj2,o2,A100,8,8,2,0,10,HP\n",
        node_info_df__csv="gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,n1\n",
    ) as trace:
        jobs = trace.sql(
            "select job_id, gpus, gpu_frac, cpus, qos, gpu_h, left_out from jobs "
            "join workload_jobs using (job_id, gpus, gpu_frac) order by job_id"
        ).fetchall()
        machines = trace.sql("select machine_id, gpus, gpu_model, cpus from machines").fetchall()
        assert not trace.sql("select * from waits where wait_s is not null").fetchall()
    assert jobs == [
        ("j1", 3, 0.5, 12.0, "Spot", 2 * 3 * 0.5, None),
        ("j2", 16, 1.0, 16.0, "HP", 10 * 16 / 3600, None),
    ]
    assert machines == [("n1", 1, "A10", 128.0)]


def test_swf(tmp_path: Path) -> None:
    with ingested(
        tmp_path,
        "swf",
        log__swf="; Version: 2.2\n; UnixStartTime: 1000000000\n;\n"
        "  1   0  60 3600 4 -1 -1 4 7200 1048576 1 7 1 -1 2 1 -1 -1\n"
        "  2  30  -1   -1 8 -1 -1 8   -1      -1 5 7 1 -1 2 1 -1 -1\n"
        "  2  30  -1    9 8 -1 -1 8   -1      -1 3 7 1 -1 2 1 -1 -1\n"
        "  3  40   0   10 1 -1\n",
    ) as trace:
        jobs = trace.sql(JOBS).fetchall()
        [limits] = trace.sql(
            "select time_limit_s, mem_gb, vc, user from jobs where job_id = '1'"
        ).fetchall()
        reasons = trace.sql(
            "select source_line, reason from rejects where \"table\" = 'jobs' order by all"
        ).fetchall()
    start = datetime(2001, 9, 9, 1, 46, 40)
    began = start + timedelta(seconds=60)
    assert jobs == [
        ("1", start, began, began + timedelta(hours=1), 4, "Pass", None),
        ("2", start + timedelta(seconds=30), None, None, 8, "Killed", None),
    ]
    assert limits == (7200.0, 4 * 1048576 * 1024 / 1e9, "2", "7")
    assert reasons == [
        (6, "the key (job_id) repeats"),
        (7, "6 fields where the header has 18"),
    ]


PAI_JOBS = """a,i1,u1,Terminated,86400,93600
b,i2,u2,Running,86400,
c,i3,u2,Failed,never,1
"""
PAI_TASKS = """a,ps,1,Terminated,86460,93600,600,29.3,,
a,worker,4,Terminated,86520,93600,600,10,50,V100
b,tf,2,Running,90000,,600,10,200,P100
z,tf,2,Terminated,90000,90010,600,10,100,P100
"""


def pai(folder: Path, machines: str) -> Path:
    raw = folder / "raw"
    raw.mkdir()
    (raw / "pai_job_table.csv").write_text(PAI_JOBS)
    (raw / "pai_task_table.csv").write_text(PAI_TASKS)
    (raw / "pai_machine_spec.csv").write_text(machines)
    return raw


def test_pai(tmp_path: Path) -> None:
    manifest = ingest("pai", pai(tmp_path, "m1,V100,96,512,8\nm2,CPU,64,512,\n"), tmp_path / "t")
    assert manifest.accounts[0].rejected == {"start_time is not a time": 1}
    assert "1 of 4 tasks are of jobs that the job table lacks." in manifest.notes
    with Trace(tmp_path / "t") as trace:
        jobs = trace.sql(
            "select job_id, gpus, gpu_frac, round(mem_gb, 3), submitted_at, status "
            "from jobs order by all"
        ).fetchall()
        attempts = trace.sql("select started_at, ended_at from attempts order by all").fetchall()
        machines = trace.sql(
            "select machine_id, gpus, gpu_model from machines order by all"
        ).fetchall()
    day = datetime(1970, 1, 1, 16)  # the second day begins there, in UTC+8
    assert jobs == [
        ("a", 4, 0.5, 69.3, day, "Pass"),
        ("b", 4, 1.0, 20.0, day, None),
    ]
    assert attempts == [
        (day + timedelta(minutes=1), day + timedelta(hours=2)),
        (day + timedelta(hours=1), None),
    ]
    assert machines == [("m1", 8, "V100"), ("m2", 0, None)]


@pytest.mark.real_data
def test_pai_machines(traces: Path, tmp_path: Path) -> None:
    """The published file has no header; where one was added, it is a row that is rejected."""
    file = traces / "alibaba-pai-2020" / "pai_machine_spec.csv.gz"
    raw = pai(tmp_path, gzip.decompress(file.read_bytes()).decode())
    manifest = ingest("pai", raw, tmp_path / "t")
    [account] = [a for a in manifest.accounts if a.table == "machines"]
    expected = list(records(file))
    assert (account.read, account.kept) == (len(expected) + 1, len(expected))
    with Trace(tmp_path / "t") as trace:
        [(gpus,)] = trace.sql("select sum(gpus) from machines").fetchall()
    assert gpus == sum(int(row["cap_gpu"] or 0) for row in expected)
