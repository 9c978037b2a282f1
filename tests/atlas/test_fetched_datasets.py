"""Fetch, unpack and read small files in the documented format of each publisher."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from philly_analysis import atlas
from philly_analysis.atlas.datasets import known_datasets
from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.ingest import IngestOptions, ingest
from philly_analysis.ingest.downloads import catalogue
from philly_analysis.trace.trace import Trace
from tests.support.command_line import invoke
from tests.support.files import packed, zipped
from tests.support.public_traces import marconi100_jobs
from tests.support.slow import quick_first

HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
)
LUMOS = (
    ",job,user,project,state,gpu_num,cpu_num,node_num,submit_time,wait_time,run_time,wall_time,"
    "node_hour,new_status\n"
)
SLURM = (
    "id_job,id_array_job,id_array_task,id_user,kill_requid,nodes_alloc,nodelist,cpus_req,"
    "derived_ec,exit_code,gres_used,array_max_tasks,array_task_pending,constraints,flags,mem_req,"
    "partition,priority,state,timelimit,time_submit,time_eligible,time_start,time_end,"
    "time_suspended,track_steps,tres_alloc,tres_req,job_type\n"
)
ACME = (
    "job_id,user,node_num,gpu_num,cpu_num,{}type,state,submit_time,start_time,end_time,{}duration,"
    "queue,gpu_time\n"
)
PHILLY = [
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1",
        "attempts": [
            {
                "start_time": "2017-10-07 01:12:09",
                "end_time": "2017-10-07 01:13:23",
                "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}],
            },
            {"start_time": "2017-10-07 01:13:30", "end_time": "None", "detail": []},
        ],
        "submitted_time": "2017-10-07 01:11:39",
        "user": "ce2f4c",
    },
    {
        "status": "Killed",
        "vc": "ee9e8c",
        "jobid": "application_2",
        "attempts": [],
        "submitted_time": "2017-10-07 01:11:39",
        "user": "ce2f4c",
    },
]


def helios(cluster: str, last: str) -> dict[str, str]:
    """Files of a cluster: it numbers its jobs by itself, and has jobs without a GPU."""
    log = (
        "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,"
        "2020-06-10 04:55:09,36848,0\n"
        f"1425512,uVMrF,vchbv,0,16,1,{last},2020-06-09 18:41:27,2020-06-09 18:41:27,"
        "2020-06-09 18:45:36,249,0\n"
    )
    return {
        f"data/{cluster}/cluster_log.csv": HELIOS + log,
        f"data/{cluster}/cluster_gpu_number.csv": "date,vchbv,total\n2020-09-01,64,1144\n",
        f"__MACOSX/data/{cluster}/._cluster_log.csv": "\0",
    }


FILES: dict[str, dict[str, bytes | str]] = {
    "philly": {
        "trace-data.tar.gz": packed(
            {
                "trace-data/cluster_job_log": json.dumps(PHILLY),
                "trace-data/cluster_machine_list": "machineId, number of GPUs, single GPU mem\n"
                "m47,8,24GB\n",
            }
        )
    },
    "helios": {
        "data.zip": zipped(
            {"data/": ""} | helios("Venus", "FAILED") | helios("Uranus", "SUSPENDED")
        )
    },
    "acme": {
        "trace_seren.csv": ACME.format("", "") + "5778432,u5907,1,8,128,Other,FAILED,"
        "2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,117,32,"
        "936.0\n",
        "trace_kalos.csv": ACME.format("mem_per_pod_GB,shared_mem_per_pod,", "fail_time,stop_time,")
        + "dlctk6,uf794,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,"
        "2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,"
        "1152.0\n",
    },
    "itp-2021": {
        "raw-traces.tar.gz": packed(
            {
                f"cluster{n}.csv": "job_id,submission_time,duration,num_gpu\n"
                f"6b2d9ccc-{n},16566,3890,4\n"
                for n in ("01", "10")
            }
            | {"LICENSE": "MIT"}
        )
    },
    "pai": {
        f"pai_{name}.tar.gz": packed({f"pai_{name}.csv": rows})
        for name, rows in {
            "job_table": "4b3f,8cb3,5854,Terminated,4550879.0,4551416.0\n",
            "task_table": "4b3f,tensorflow,1.0,Terminated,4550881.0,4551400.0,600.0,29.3,50.0,"
            "MISC\n",
            "sensor_table": "4b3f,tensorflow,bcec,8cb3,6884,/dev/nvidia0,140.1,16.06,1.46,2.39,"
            "1.2,2.3,21.2,16.2,2922.4,3419.7\n",
            "machine_spec": "6884,MISC,96,512,8\n",
        }.items()
    },
    "alibaba-openb-2023": {
        "openb_pod_list_default.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,"
        "pod_phase,creation_time,deletion_time,scheduled_time\n"
        "openb-pod-0001,6000,12288,1,460,V100M16|V100M32,LS,Running,427061,12902960,427061\n"
        "openb-pod-0002,6000,12288,0,0,,BE,Pending,427061,427100,\n",
        "openb_node_list_all_node.csv": "sn,cpu_milli,memory_mib,gpu,model\n"
        "openb-node-0000,32000,262144,0,\n",
    },
    "alibaba-spot-2026": {
        "job_info_df.csv": "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,"
        "submit_time,duration,job_type\n437260,57,A100-SXM4-80GB,15,1,16,9589663,41060,Spot\n",
        "node_info_df.csv": "node_name,gpu_model,gpu_capacity_num,cpu_num\n0,A10,1,128\n",
    },
    # a job that never started, one that was preempted, and energy beyond 64 bits
    "mit-supercloud": {
        "slurm-log.csv": SLURM
        + "32585007376605,0,4294967294,42770100000000,-1,1,\"['r9189566-n911952']\",20,0,0,,0,0,"
        "xeon-g6,4,9223372036854784308,normal,10239,3,4294967295,1609535912,1609535912,1609808470,"
        '1609808777,0,0,"1=20,2=170000,3=18446744073709551614,4=2,5=20,1002=4",'
        '"1=20,2=170000,4=1,5=20,1002=2",OTHER\n'
        "32585007376606,0,4294967294,42770100000000,-1,0,\"['None assigned']\",20,0,0,,0,0,"
        "xeon-g6,4,9223372036854784308,normal,0,4,60,1609535912,0,0,1609535999,0,0,,"
        '"1=20,2=170000,4=1,5=20,1002=2",OTHER\n'
        "32585007376607,0,4294967294,42770100000000,-1,1,\"['r9189566-n911952']\",20,0,0,,0,0,"
        "xeon-g6,4,9223372036854784308,normal,10239,8,60,1609535912,1609535912,1609808470,"
        '1609808777,0,0,"1=20,2=170000,4=1,5=20","1=20,2=170000,4=1,5=20",OTHER\n',
    },
    "thetagpu-2023": {
        "data_thetagpu.csv": LUMOS + "0,10120170,24166353244411.0,33510060530859.0,0,1.0,0,1.0,"
        "1672529197.0,5.0,2305.54,3600.0,0.6404277777777778,Pass\n1,10120171,0.0,0.0,0,1.0,0,1.0,"
        "1672529437.0,6.0,3602.3,3600.0,1.0006388888888889,Failed\n"
    },
    "blue-waters": {
        "data_blue_waters.csv": LUMOS + "0,10120170,0.0,0.0,0,12,0,12.0,1672529197.0,5.0,2305.54,"
        "3600.0,0.64,Killed\n1,10120171,7.0,8.0,0,0,32.0,1.0,1672529197,6,60,3600.0,0.64,Pass\n"
    },
    "pm100": {"job_table.parquet": marconi100_jobs().to_parquet()},
    "cloudbrain-1": {
        "jobs_info.csv": "u_1_0,8,32,65536.0,1000,1030,1630,dgx,a-1,55.5,1000.0,20.0,4000.0\n"
        "u_1_1,8,32,65536.0,1000,1030,1630,dgx,a-2,55.5,1000.0,20.0,4000.0\n",
        "nodes.csv": "a-1,8,32768.0\n",
    },
}
"""Files of each dataset, as its publisher documents them."""

JOBS = """
select job_id, "user", gpus, status, epoch(started_at - submitted_at),
  epoch(ended_at - started_at), run_s
from jobs join attempts using (job_id, gpus) order by all
"""
READ: dict[str, list[tuple[object, ...]]] = {
    "philly": [
        ("application_1", "ce2f4c", 2, "Pass", 30.0, 74.0, None),
    ],
    "helios": [
        ("Uranus:1425511", "uXBbc", 1, "Pass", 0.0, 36848.0, None),
        ("Uranus:1425512", "uVMrF", 0, None, 0.0, 249.0, None),
        ("Venus:1425511", "uXBbc", 1, "Pass", 0.0, 36848.0, None),
        ("Venus:1425512", "uVMrF", 0, "Failed", 0.0, 249.0, None),
    ],
    "acme": [
        ("5778432", "u5907", 8, "Failed", 32.0, 117.0, None),
        ("dlctk6", "uf794", 64, "Failed", 10.0, 8.0, None),
    ],
    "itp-2021": [
        ("6b2d9ccc-01", None, 4, None, None, None, 3890.0),
        ("6b2d9ccc-10", None, 4, None, None, None, 3890.0),
    ],
    "pai": [("4b3f", "5854", 1, "Pass", 2.0, 535.0, None)],
    "alibaba-openb-2023": [
        ("openb-pod-0001", None, 1, None, 0.0, None, None),
        ("openb-pod-0002", None, 0, None, None, None, None),
    ],
    "alibaba-spot-2026": [("437260", None, 16, None, None, None, 41060.0)],
    "mit-supercloud": [
        ("32585007376605", "42770100000000", 4, "Pass", 272558.0, 307.0, None),
        ("32585007376607", "42770100000000", 0, None, 272558.0, 307.0, None),
    ],
    "thetagpu-2023": [
        ("10120170", "24166353244411.0", 1, "Pass", 5.0, 2305.54, None),
        ("10120171", None, 1, "Failed", 6.0, 3602.3, None),  # user 0.0: unknown
    ],
    "blue-waters": [
        ("10120170", None, 12, "Killed", 5.0, 2305.54, None),
        ("10120171", "7.0", 0, "Pass", 6.0, 60.0, None),
    ],
    "pm100": [
        ("1", "5", 8, "Pass", 60.0, 240.0, None),
        ("2", "6", 4, "Failed", 120.0, 420.0, None),
    ],
    "cloudbrain-1": [("1", "u", 16, None, 30.0, 600.0, None)],
}
NOT_READ_ELSEWHERE = ("helios", "mit-supercloud", "blue-waters", "pm100")
"""Those that no other test reads."""
FETCHABLE = {d.fetch: d for d in known_datasets() if d.fetch}


class Server(ThreadingHTTPServer):
    root: Path
    asked: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.asked.append(self.path)
        super().do_GET()

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the files, with their addresses and digests in the catalogue."""
    root = tmp_path_factory.mktemp("published")
    known = dict(catalogue.published())
    with Server(("127.0.0.1", 0), partial(Handler, directory=str(root))) as server:
        server.root, server.asked = root, []
        for name, files in FILES.items():
            (root / name).mkdir()
            published = []
            for file in known[name].files:
                body = files[file.name]
                body = body.encode() if isinstance(body, str) else body
                (root / name / file.name).write_bytes(body)
                sha256 = hashlib.sha256(body).hexdigest() if file.known else ""
                url = f"{server.url}/{name}/{file.name}"
                published.append(replace(file, url=url, sha256=sha256, blob="", bytes=None))
            known[name] = replace(known[name], files=tuple(published))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(catalogue, "published", lambda: known)
            yield server
        server.shutdown()


@pytest.fixture(scope="module")
def fetched(publisher: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fetched")
    assert catalogue.fetch_all(list(FETCHABLE), folder) == {}
    return folder


def test_all_can_be_fetched() -> None:
    assert FILES.keys() == READ.keys() == FETCHABLE.keys()
    assert FETCHABLE.keys() <= catalogue.published().keys()
    assert f"names are {', '.join(FETCHABLE)}." in " ".join(str(atlas.__doc__).split())
    for name, dataset in FETCHABLE.items():
        entry = catalogue.published()[name]
        assert (entry.source, entry.map or None) == (dataset.source, dataset.map)


@pytest.mark.parametrize(
    "name",
    quick_first(sorted(FILES, key=lambda name: name not in NOT_READ_ELSEWHERE)),
)
def test_a_dataset_is_read_in_its_publishers_format(
    name: str, fetched: Path, tmp_path: Path
) -> None:
    dataset = FETCHABLE[name]
    options = IngestOptions(dataset.source, dataset.find(fetched), tmp_path / "t", map=dataset.map)
    manifest = ingest(options)
    assert not any(account.rejected for account in manifest.accounts)
    with Trace(tmp_path / "t") as trace:
        assert trace.sql(JOBS).fetchall() == READ[name]


def test_what_is_there_is_not_fetched_again(publisher: Server, fetched: Path) -> None:
    before = len(publisher.asked)
    assert catalogue.fetch_all(list(FETCHABLE), fetched) == {}
    assert len(publisher.asked) == before
    record = fetched / "mit-supercloud" / "slurm-log.csv.sha256"
    body = (fetched / "mit-supercloud" / "slurm-log.csv").read_bytes()
    assert record.read_text() == f"{hashlib.sha256(body).hexdigest()}  slurm-log.csv\n"
    (fetched / "mit-supercloud" / "slurm-log.csv").write_bytes(body + b"\n")
    try:
        assert "not the file" in catalogue.fetch_all(["mit-supercloud"], fetched)["mit-supercloud"]
    finally:
        (fetched / "mit-supercloud" / "slurm-log.csv").write_bytes(body)


@pytest.mark.slow
def test_one_command_says_sizes_fetches_reads_in_parallel_and_answers(
    publisher: Server, tmp_path: Path
) -> None:
    words = ["atlas", "--fetch", "helios", "acme", "mit-supercloud", "--jobs", "2", "--json"]
    folder = tmp_path / "public"
    done = invoke(*words, "--datasets", folder, "--out", tmp_path / "a")
    assert done.exit_code == 0, done.output
    assert re.fullmatch(
        r"Downloading to .*: helios 0\.0 MB, acme 0\.0 MB, mit-supercloud 0\.0 MB; at least "
        r"0\.0 MB in all\. The publisher of mit-supercloud states no digest: the digest of the "
        r"first download is recorded\.\n",
        done.stderr,
    )
    clusters = {row["cluster"] for row in json.loads(done.stdout)}
    assert clusters == {"Acme", "Helios", "MIT SuperCloud"}
    assert sorted(p.name for p in folder.iterdir()) == ["acme", "helios", "mit-supercloud"]
    assert "There is no itp-2021." in (tmp_path / "a" / "atlas.html").read_text("utf-8")


@pytest.mark.slow
def test_a_dataset_that_cannot_be_fetched_leaves_the_others(
    publisher: Server, tmp_path: Path
) -> None:
    hidden = publisher.root / "acme"
    hidden.rename(hidden.with_suffix(".hidden"))
    try:
        with pytest.raises(InputError, match=r"Nothing could be fetched\. .*no such file \(404\)"):
            atlas("acme", fetch=True, datasets=tmp_path / "none")
        result = atlas(["acme", "itp-2021"], fetch=True, datasets=tmp_path)
    finally:
        hidden.with_suffix(".hidden").rename(hidden)
    [warning] = result.warnings
    assert warning.startswith("Not fetched: acme. ")
    assert set(result.table["cluster"]) == {"Microsoft ITP"}
    (tmp_path / "itp-2021" / "raw-traces.tar.gz").write_bytes(b"changed")
    with pytest.raises(InputError, match="not the file that was published"):
        atlas("itp-2021", fetch=True, datasets=tmp_path)
    with pytest.raises(UnknownNameError, match="Did you mean 'acme'"):
        atlas("acmee", fetch=True, datasets=tmp_path)
