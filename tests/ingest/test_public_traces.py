"""Compare the shipped maps of public traces with plain-Python readers."""

import gzip
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.ingest.conftest import Ingest, write_files
from tests.support.public_traces import LOGS, after_epoch, csv_rows, jobs_of, marconi100_jobs
from tests.support.slow import quick_first

MINUTE = timedelta(minutes=1)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("log", "part", "name"),
    [
        ("Philly passed", "", "philly-passed"),
        ("Philly attempts", "", "philly-attempts"),
        ("Microsoft ITP", "", "itp-2021"),
        ("Microsoft ITP", "cluster10.csv.gz", "itp-2021"),
        ("Alibaba openb", "", "alibaba-openb-2023"),
        ("MIT SuperCloud", "", "mit-supercloud-2021"),
        ("ThetaGPU", "", "thetagpu-2023"),
        ("Philly first 15k", "", "philly-first-15k"),
        ("Helios 15k", "", "helios-15k"),
        ("Blue Waters 15k", "", "blue-waters-15k"),
    ],
)
def test_extracts_equal_a_plain_python_reading(
    log: str, part: str, name: str, traces: Path, ingested: Ingest
) -> None:
    expected = jobs_of(traces, log, part)
    path, _ = LOGS[log]
    raw = path.partition("/")[0] if log == "Alibaba openb" else path
    got = ingested("table", traces / raw / part, map=name)
    [jobs, *_, attempts] = got.manifest.accounts
    assert jobs.read == jobs.kept == attempts.kept == len(expected)
    rows = got.rows(
        "select submitted_at, jobs.gpus, coalesce(run_s, epoch(ended_at - started_at)), "
        "epoch(started_at - submitted_at), status from jobs join attempts using (job_id)"
    )

    def rounded(*job: Any) -> tuple[Any, ...]:
        return tuple(round(v, 3) if isinstance(v, float) else v for v in job)

    assert Counter(rounded(*job) for job in rows) == Counter(
        rounded(j.submitted_at, j.gpus, j.run_s, j.wait_s, j.status) for j in expected
    )


@pytest.mark.real_data
def test_openb_has_fractions_of_gpus_and_its_machines(traces: Path, ingested: Ingest) -> None:
    folder = traces / "alibaba-openb-2023"
    got = ingested("table", folder, map="alibaba-openb-2023")
    pods = [r for r in csv_rows(folder / "openb_pod_list_default.csv.gz") if r["num_gpu"] != "0"]
    nodes = list(csv_rows(folder / "openb_node_list_all_node.csv"))
    [(gpus,)] = got.rows("select sum(gpus * gpu_frac) from jobs")
    assert gpus == pytest.approx(sum(int(r["num_gpu"]) * int(r["gpu_milli"]) / 1000 for r in pods))
    machines = [(len(nodes), sum(int(r["gpu"]) for r in nodes))]
    assert got.rows("select count(*), sum(gpus) from machines") == machines


JOBS = (
    "select job_id, submitted_at, started_at, ended_at, jobs.gpus, status, end_reason "
    "from jobs join attempts using (job_id) order by job_id"
)
DAY = datetime(2020, 4, 1)
SWF = after_epoch(1e9)
ACME = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
    "duration,queue,gpu_time"
)
MAPPED: dict[str, tuple[dict[str, str], dict[str, list[tuple[Any, ...]]]]] = {
    # map: files, and queries with their rows
    "helios": (
        {
            "cluster_log.csv": "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,"
            "start_time,end_time,duration,queue\n"
            "1,u1,vcA,8,64,1,COMPLETED,2020-04-01 08:00:00,2020-04-01 08:10:00,"
            "2020-04-01 09:10:00,3600,600\n"
            "2,u2,vcB,0,4,1,CANCELLED,2020-04-01 08:00:00,,2020-04-01 08:00:05,0,5\n"
            "3,u2,vcB,1,4,1,NODE_FAIL,2020-04-01 08:00:00,2020-04-01 08:00:00,"
            "2020-04-01 08:30:00,1800,0\n"
        },
        {
            JOBS: [
                ("1", DAY, DAY + 10 * MINUTE, DAY + 70 * MINUTE, 8, "Pass", "completed"),
                ("2", DAY, None, DAY + timedelta(seconds=5), 0, "Killed", "killed"),
                ("3", DAY, DAY, DAY + 30 * MINUTE, 1, "Failed", "node_failure"),
            ]
        },
    ),
    # durations are computed from the times
    "acme": (
        {
            "trace_seren.csv": f"{ACME}\ns1,u1,1,8,32,Eval,COMPLETED,2023-03-01 08:00:00+08:00,"
            "2023-03-01 08:00:10+08:00,2023-03-01 08:00:18+08:00,8,10,64\n",
            "trace_kalos.csv": f"{ACME},mem_per_pod_GB,shared_mem_per_pod,fail_time,stop_time\n"
            "k1,u2,2,16,64,Pretrain,SUSPECT,2023-06-01 00:00:00+00:00,2023-06-01 00:00:10+00:00,"
            "2023-06-01 00:00:18+00:00,18,10,288,100,10,,\n",
        },
        {
            "select job_id, cluster, job_type, jobs.submitted_at, run_s, gpu_h, jobs.status "
            "from jobs join job_runs using (job_id) order by job_id": [
                ("k1", "kalos", "Pretrain", datetime(2023, 6, 1), 8.0, 16 * 8 / 3600, None),
                ("s1", "seren", "Eval", datetime(2023, 3, 1), 8.0, 8 * 8 / 3600, "Pass"),
            ]
        },
    ),
    "spot-2026": (
        {
            "job_info_df.csv": "job_name,organization,gpu_model,cpu_request,gpu_request,"
            "worker_num,submit_time,duration,job_type\n"
            "j1,o1,A10,4,0.5,3,100,7200.0,Spot\nj2,o2,A100,8,8,2,0,10,HP\n",
            "node_info_df.csv": "gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,n1\n",
        },
        {
            "select job_id, gpus, gpu_frac, cpus, qos, gpu_h, left_out from jobs "
            "join workload_jobs using (job_id, gpus, gpu_frac) order by job_id": [
                ("j1", 3, 0.5, 12.0, "Spot", 2 * 3 * 0.5, None),
                ("j2", 16, 1.0, 16.0, "HP", 10 * 16 / 3600, None),
            ],
            "select machine_id, gpus, gpu_model, cpus from machines": [("n1", 1, "A10", 128.0)],
            "select * from waits where wait_s is not null": [],
        },
    ),
    "swf": (
        {
            "log.swf": "; Version: 2.2\n; UnixStartTime: 1000000000\n;\n"
            "  1   0  60 3600 4 -1 -1 4 7200 1048576 1 7 1 -1 2 1 -1 -1\n"
            "  2  30  -1   -1 8 -1 -1 8   -1      -1 5 7 1 -1 2 1 -1 -1\n"
            "  2  30  -1    9 8 -1 -1 8   -1      -1 3 7 1 -1 2 1 -1 -1\n"
            "  3  40   0   10 1 -1\n"
        },
        {
            JOBS: [
                ("1", SWF, SWF + MINUTE, SWF + 61 * MINUTE, 4, "Pass", None),
                ("2", SWF + MINUTE / 2, None, None, 8, "Killed", None),
            ],
            "select time_limit_s, mem_gb, vc, user from jobs where job_id = '1'": [
                (7200.0, 4 * 1048576 * 1024 / 1e9, "2", "7")
            ],
            "select source_line, reason from rejects where \"table\" = 'jobs' order by all": [
                (6, "the key (job_id) repeats"),
                (7, "6 fields where the header has 18"),
            ],
        },
    ),
}


@pytest.mark.parametrize("name", quick_first(MAPPED))
def test_maps_of_public_traces(name: str, ingested: Ingest) -> None:
    files, expected = MAPPED[name]
    got = ingested("table", files, map=name)
    for query, rows in expected.items():
        assert got.rows(query) == rows


PAI_JOBS = """a,i1,u1,Terminated,86400,93600
b,i2,u2,Running,86400,
c,i3,u2,Failed,never,1
d,i4,u2,Waiting,,
e,i5,u2,Failed,1,never
"""
PAI_TASKS = """a,ps,1,Terminated,86460,93600,600,29.3,,
a,worker,4,Terminated,86520,93600,600,10,50,V100
b,tf,2,Running,90000,,600,10,200,P100
z,tf,2,Terminated,90000,90010,600,10,100,P100
"""


def pai(folder: Path, machines: str, **more: str) -> Path:
    tables = {"job_table": PAI_JOBS, "task_table": PAI_TASKS, "machine_spec": machines, **more}
    return write_files(folder / "raw", {f"pai_{name}.csv": text for name, text in tables.items()})


def test_pai(tmp_path: Path, ingested: Ingest) -> None:
    got = ingested("pai", pai(tmp_path, "m1,V100,96,512,8\nm2,CPU,64,512,\n"))
    assert got.rejects("jobs") == [
        (3, "start_time is not a time"),
        (4, "submitted_at is missing"),
        (5, "end_time is not a time"),
    ]
    assert "1 of 4 tasks are of jobs that the job table lacks." in got.manifest.notes
    day = datetime(1970, 1, 1, 16)  # the second day begins there, in UTC+8
    assert got.rows(
        "select job_id, gpus, gpu_frac, cpus, round(mem_gb, 3), submitted_at, status from jobs "
        "order by 1"
    ) == [("a", 4, 0.5, 30.0, 69.3, day, "Pass"), ("b", 4, 1.0, 12.0, 20.0, day, None)]
    times = [(day + MINUTE, day + 120 * MINUTE), (day + 60 * MINUTE, None)]
    assert got.rows("select started_at, ended_at from attempts order by all") == times
    machines = [("m1", 8, "V100"), ("m2", 0, None)]
    assert got.rows("select machine_id, gpus, gpu_model from machines order by all") == machines


@pytest.mark.real_data
def test_pai_machines(traces: Path, tmp_path: Path, ingested: Ingest) -> None:
    """The published file has no header; the header that was added here is a rejected row."""
    file = traces / "alibaba-pai-2020" / "pai_machine_spec.csv.gz"
    got = ingested("pai", pai(tmp_path, gzip.decompress(file.read_bytes()).decode()))
    expected = list(csv_rows(file))
    account = got.account("machines")
    assert (account.read, account.kept) == (len(expected) + 1, len(expected))
    gpus = sum(int(row["cap_gpu"] or 0) for row in expected)
    assert got.rows("select sum(gpus) from machines") == [(gpus,)]


UNREAD = {
    "swf-frontier": (
        "f.swf",
        "; UnixStartTime: 1700000000\n"
        "7 60 30 600 2 -1 -1 2 1200 -1 1 3 4 5 6 1 -1 -1 16 -1 frontier:excl:2x112\n",
    ),
    "alcf-aurora": (
        "ANL-ALCF-DJC-AURORA_20250127_20251031.csv",
        "JOB_NAME,COBALT_JOBID,QUEUED_TIMESTAMP,START_TIMESTAMP,END_TIMESTAMP,NODES_USED,"
        "WALLTIME_SECONDS,USERNAME_GENID\n"
        "7.aurora,7,2023-11-14 22:14:20,2023-11-14 22:14:50,2023-11-14 22:24:50,2,1200,3\n",
    ),
    "alcf-polaris": (
        "ANL-ALCF-DJC-POLARIS_20240101_20241231.csv",
        "JOB_NAME,QUEUED_TIMESTAMP,START_TIMESTAMP,END_TIMESTAMP,NODES_USED,WALLTIME_SECONDS,"
        "USERNAME_GENID\n"
        "7.polaris,2023-11-14 22:14:20,2023-11-14 22:14:50,2023-11-14 22:24:50,2,1200,3\n",
    ),
}
"""File and a line as their publishers describe them, of traces of which no line was at hand."""


@pytest.mark.parametrize(
    ("name", "gpus"), [("swf-frontier", 16), ("alcf-aurora", 12), ("alcf-polaris", 8)]
)
def test_a_described_trace_is_read_and_detected(
    name: str, gpus: int, tmp_path: Path, ingested: Ingest
) -> None:
    file, text = UNREAD[name]
    got = ingested("auto", write_files(tmp_path / "raw", {file: text}))
    assert got.rows(
        "select jobs.gpus, jobs.servers, time_limit_s, submitted_at, "
        "epoch(started_at - submitted_at), coalesce(run_s, epoch(ended_at - started_at)) "
        "from jobs join attempts using (job_id)"
    ) == [(gpus, 2, 1200, datetime(2023, 11, 14, 22, 14, 20), 30, 600)]
    assert "No row of this trace was at hand" in " ".join(got.manifest.notes)


def test_jobs_of_marconi100_are_read_as_parquet(tmp_path: Path, ingested: Ingest) -> None:
    (tmp_path / "raw").mkdir()
    marconi100_jobs().to_parquet(tmp_path / "raw" / "job_table.parquet")
    got = ingested("auto", tmp_path / "raw")
    assert got.rows(
        "select job_id, jobs.gpus, servers, time_limit_s, status, epoch(ended_at - started_at) "
        "from jobs join attempts using (job_id) order by 1"
    ) == [("1", 8, 2, 3600, "Pass", 240), ("2", 4, 1, None, "Failed", 420)]


def test_jobs_of_kestrel_are_read_as_parquet(tmp_path: Path, ingested: Ingest) -> None:
    """Columns that the map does not read are there as well; the second row has an offset."""
    (tmp_path / "raw").mkdir()
    pl.DataFrame(
        {
            "id": ["7", "8"],
            "account_hash": ["x", "x"],
            "partition": ["gpu-h100", "gpu-h100"],
            "qos": ["normal", "high"],
            "gpus_requested": [8, 4],
            "processors_req": [128, 64],
            "nodes_req": [2, 1],
            "memory_req": ["1", "1"],
            "submit_time": ["2025-07-01 12:00:00", "2025-07-01 12:00:00-06:00"],
            "start_time": ["2025-07-01 12:00:30", "2025-07-01 12:01:00-06:00"],
            "end_time": ["2025-07-01 12:10:30", "2025-07-01 12:02:00-06:00"],
            "state_simple": ["COMPLETED", "TIMEOUT"],
        }
    ).write_parquet(tmp_path / "raw" / "part-0.parquet")
    got = ingested("auto", tmp_path / "raw")
    assert got.rows(
        "select job_id, jobs.gpus, servers, submitted_at, epoch(ended_at - started_at), end_reason "
        "from jobs join attempts using (job_id) order by 1"
    ) == [
        ("7", 8, 2, datetime(2025, 7, 1, 19), 600, "completed"),
        ("8", 4, 1, datetime(2025, 7, 1, 18), 60, "time_limit"),
    ]


def test_tasks_of_cloudbrain_are_gangs(tmp_path: Path, ingested: Ingest) -> None:
    """The file has no header; a job of two tasks is one gang, and a faulty task is part of none."""
    raw = {
        "jobs_info.csv": "u_1_0,8,32,65536.0,1000,1030,1630,dgx,a-1,55.5,1000.0,20.0,4000.0\n"
        "u_1_1,8,32,65536.0,1000,1031,1630,dgx,a-2,55.5,1000.0,20.0,4000.0\n"
        "u_1_2,8,32,many,1000,1031,1630,dgx,a-2,55.5,1000.0,20.0,4000.0\n"
        "v_2_0,1,4,8192.0,1100,1105,1165,debug,b-2,0.0,0.0,20.0,100.0\n",
        "nodes.csv": "a-1,8,32768.0\nb-2,4,16384.0\n",
    }
    got = ingested("auto", write_files(tmp_path / "raw", raw))
    assert got.rows(
        "select job_id, user, vc, jobs.gpus, cpus, mem_gb, epoch(started_at - submitted_at), "
        "epoch(ended_at - started_at) from jobs join attempts using (job_id) order by 1"
    ) == [("1", "u", "dgx", 16, 64, 131.072, 31, 599), ("2", "v", "debug", 1, 4, 8.192, 5, 60)]
    assert got.rows("select machine_id, gpus from machines order by 1") == [("a-1", 8), ("b-2", 4)]
    assert got.account("jobs").rejected == {
        "a part of a job: its GPUs count for the whole": 1,
        "mem_gb is not a number": 1,
    }
