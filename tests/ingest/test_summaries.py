"""Check summaries of attempts: jobstats in AdminComment, and PAI's table of sensors."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from philly_analysis.ingest.slurm.jobstats import summaries
from tests.ingest.conftest import Ingest
from tests.ingest.test_public_traces import pai
from tests.ingest.test_slurm import HEADER, LINES, write

GIB = 1024**3


# as jobstats 1.0 writes them: bytes, CPU seconds, percent
def server(gpus: int, used: int, seconds: float, percent: float) -> dict[str, Any]:
    return {
        "cpus": 8,
        "total_memory": 64 * GIB,
        "used_memory": used * GIB,
        "total_time": seconds,
        "gpu_total_memory": {str(g): 40 * GIB for g in range(gpus)},
        "gpu_used_memory": {str(g): g * GIB for g in range(gpus)},
        "gpu_utilization": {str(g): percent + 10.5 * g for g in range(gpus)},
    }


NODES = {"g1": server(8, 10, 7200.5, 0), "g2": server(1, 1, 9, 101)}
TOLD = {"gpus": 16, "total_time": 1800, "nodes": NODES}


def js1(told: object) -> str:
    return "JS1:" + base64.b64encode(gzip.compress(json.dumps(told).encode(), mtime=0)).decode()


def test_jobstats_sums_up_servers_and_gpus_and_tells_which(
    tmp_path: Path, ingested: Ingest
) -> None:
    comments = ("JS1:Short", js1(TOLD), "JS1:None", "read me", "")
    lines = [f"{line}|{comment}" for line, comment in zip(LINES, comments, strict=True)]
    got = ingested("slurm", write(tmp_path, *lines, header=f"{HEADER}|AdminComment"))
    account = got.account("summaries")
    # two servers, eight GPUs and one, of which one cannot have been so busy
    assert (account.read, account.kept) == (11, 10)
    rows = got.rows("select * from summaries order by machine_id, gpu nulls first")
    placed = got.rows(
        "select machine_id, list(gpu order by gpu), sum(gpus) from placements "
        "where job_id = '2' group by all order by all"
    )
    g1 = NODES["g1"]
    memory = (10 * GIB / 1e9, 64 * GIB / 1e9, 1800.0)
    assert rows[0] == (
        *("2", 1, "g1", None, None, None, None, None, None),
        *(7200.5 / 1800, 8.0, *memory),
    )
    for g, row in enumerate(rows[1:9]):
        util, used = g1["gpu_utilization"][str(g)], g1["gpu_used_memory"][str(g)]
        assert row == (
            *("2", 1, "g1", g, None, 1, util, used / 1e9, 40 * GIB / 1e9),
            *(None, None, None, None, 1800.0),
        )
    # of g2's eight GPUs it names but one, so that it is not known which they are
    assert placed == [("g1", list(range(8)), 8), ("g2", [None], 8)]


@pytest.mark.parametrize(
    "comment",
    [
        "JS1:abc",
        js1(TOLD).replace("JS1:", "JS1:*"),
        "JS1:" + base64.b64encode(b"no gzip").decode(),
        js1(TOLD)[:60],
        js1([]),
        js1({"nodes": {"a": {"gpu_utilization": {"x": 1}}}}),
        js1({"nodes": {"a": {"cpus": "many"}}}),
        js1("x" * (9 << 20)),
        "JS1:" + base64.b64encode(gzip.compress(b"{", mtime=0)).decode(),
    ],
)
def test_a_comment_that_cannot_be_read_is_one_fault(comment: str) -> None:
    [summary] = summaries(comment)
    assert summary["fault"] == "the summary of jobstats cannot be read"


@pytest.mark.parametrize("comment", ["JS1:", "JS1:None", "JS1:Short", js1({"nodes": {}})])
def test_a_comment_without_a_summary_has_none(comment: str) -> None:
    assert list(summaries(comment)) == []


SENSORS = """a,worker,w1,i1,m1,/dev/nvidia0,140.5,16.0,1.5,2.5,1.25,2.25,1,1,1,1
a,worker,w2,i1,m1,/dev/nvidia0,40,50,1,1,1,1,1,1,1,1
a,ps,w3,i1,m2,,600,,20,29,,,1,1,1,1
b,tf,w4,i2,m1,/dev/nvidia1,100,160,1,1,1,1,1,1,1,1
b,tf,w5,i2,m1,/dev/nvidia1,100,260,1,1,1,1,1,1,1,1
b,tf,w6,i2,m1,/dev/nvidia1,100,much,1,1,1,1,1,1,1,1
z,tf,w7,i9,m1,/dev/nvidia1,100,60,1,1,1,1,1,1,1,1
"""


def test_pai_sums_up_workers(tmp_path: Path, ingested: Ingest) -> None:
    raw = pai(tmp_path, "m1,V100,96,512,8\nm2,CPU,64,512,\n")
    (raw / "pai_sensor_table.csv").write_text(SENSORS)
    got = ingested("pai", raw)
    account = got.account("summaries")
    assert account.read == 7
    assert account.rejected == {
        "(job_id, attempt) is not in attempts": 1,
        "gpu_wrk_util is not a number": 1,
        "util_pct fails: util_pct between 0 and 100": 1,
    }
    assert got.rows(
        "select worker, machine_id, gpu, gpus, util_pct, gpu_mem_used_gb, cpus_used, cpus, "
        "mem_used_gb, round(mem_gb, 1) from summaries order by all"
    ) == [
        ("w1", "m1", 0, 1, 16.0, 2.25, 1.405, 6.0, 2.5, 10.0),
        ("w2", "m1", 0, 1, 50.0, 1.0, 0.4, 6.0, 1.0, 10.0),
        ("w3", "m2", None, None, None, None, 6.0, 6.0, 29.0, 29.3),
        # two GPUs, of which the name tells but one
        ("w4", "m1", None, 2, 80.0, 1.0, 1.0, 6.0, 1.0, 10.0),
    ]
