"""Read exports as the programs do that they are for: each reader counts the records of a file.

A reader raises an error wherever the program's own reader would, or would misread a value.
"""

import csv
import json
import pickle
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml  # type: ignore[import-untyped]

from philly_analysis import ingest
from tests.exports.files import lines, read_swf

Kind = Callable[[str], Any]
Fields = Mapping[str, Kind]


def count(text: str) -> int:
    """Read a whole number of 0 and more, written in digits."""
    assert re.fullmatch(r"[0-9]+", text), text
    return int(text)


def positive(text: str) -> int:
    """Read a whole number of 1 and more."""
    assert count(text) > 0, text
    return int(text)


def decimal(text: str) -> float:
    """Read a decimal number of 0 and more, without an exponent."""
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)?", text), text
    return float(text)


def name(text: str) -> str:
    """Read a name that no text format breaks."""
    assert re.fullmatch(r"[A-Za-z0-9_.~:/%-]+", text), text
    return text


def among(*values: str) -> Kind:
    """Return a reader of one of some values."""

    def read(text: str) -> str:
        assert text in values, text
        return text

    return read


def clock(text: str) -> datetime:
    """Read a time, as ``strptime`` of the programs does."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")


def table(path: Path, fields: Fields, *, header: bool = True, sep: str = ",") -> list[list[Any]]:
    """Read a delimited file of these fields; at least one record, none of them quoted."""
    rows = [line.split(sep) for line in lines(path)]
    if header:
        assert rows.pop(0) == list(fields)
    assert rows
    return [[kind(v) for kind, v in zip(fields.values(), row, strict=True)] for row in rows]


def increasing(values: list[Any]) -> None:
    """Check that values do not fall."""
    assert all(one <= two for one, two in pairwise(values))


def different(values: list[Any]) -> None:
    """Check that no value repeats."""
    assert len(set(values)) == len(values)


ID_AND_TIME = {"job_id": name, "num_gpu": positive, "submit_time": count, "iterations": positive}
MODEL = {"model_name": name}
TIRESIAS = ID_AND_TIME | MODEL | {"duration": positive, "interval": count}
MURI = (
    ID_AND_TIME
    | MODEL
    | {"batch_size": positive, "duration": positive, "interval": count, "iteration_time": positive}
    | {f"resource_time_{i}": decimal for i in range(3)}
    | {"priority": among("0", "1")}
)
CLUSTER = dict.fromkeys(
    ("num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node"), positive
)
ELASTICFLOW = {
    "job_id": count,
    "submit_time": count,
    "iteration": positive,
    "model_name": name,
    "ddl": positive,
    "batch_size": positive,
    "num_gpu": positive,
    "duration": positive,
    "best_effort": among("0", "1"),
}
PAI = {
    "job_id": count,
    "user": name,
    "num_inst": positive,
    "num_gpu": positive,
    "num_cpu": decimal,
    "gpu_type": name,
    "submit_time": count,
    "duration": positive,
    "wait_time": decimal,
    "user_dur": decimal,
    "user_gpu_dur": decimal,
    "group_dur": decimal,
    "group_gpu_dur": decimal,
}
APPLICATIONS = {
    "cifar10": (128, 4096),
    "ncf": (256, 32768),
    "deepspeech2": (20, 640),
    "bert": (12, 384),
    "yolov3": (8, 512),
    "imagenet": (200, 12800),
}
"""Least batch size for a GPU, and largest batch size, of Pollux' applications."""


def gavel(out: Path, speeds: Path, *, shockwave: bool = False) -> int:
    """Read a trace as ``utils.parse_trace`` of Gavel and of Shockwave does."""
    rows = [line.split("\t") for line in lines(out)]
    rates = json.loads(speeds.read_text())["v100"]
    for row in rows:
        assert len(row) == (12 if shockwave else 10)
        job_type, command, folder, argument, needs_data, steps, scale, *_ = row
        assert f"('{job_type}', {positive(scale)})" in rates
        assert positive(steps) and folder and argument.startswith("-")
        assert needs_data == "0" or command % "data"
        assert not shockwave or (row[7] in {"static", "accordion", "gns"} and positive(row[10]))
    increasing([decimal(row[-1]) for row in rows])
    return len(rows)


def tiresias(out: Path, _: Path | None) -> int:
    """Read the folder of Tiresias: jobs, the cluster, and a thousand GPU times."""
    [_cluster] = table(out / "cluster.csv", CLUSTER)
    times = [row[0] for row in table(out / "yarn-gput1000.csv", {"duration": positive})]
    increasing(times)
    assert len(times) == 1000
    return jobs_table(out / "jobs.csv", TIRESIAS)


def jobs_table(path: Path, fields: Fields, key: str = "job_id", at: str = "submit_time") -> int:
    """Read a CSV file of jobs by submission, each once."""
    rows = [dict(zip(fields, row, strict=True)) for row in table(path, fields)]
    different([row[key] for row in rows])
    increasing([row[at] for row in rows])
    return len(rows)


def muri(out: Path, _: Path | None) -> int:
    """Read Muri's jobs, whose duration is the duration of their iterations."""
    for row in table(out, MURI):
        job = dict(zip(MURI, row, strict=True))
        needed = job["iterations"] * job["iteration_time"] * 1.015
        assert abs(needed - job["duration"]) <= job["iteration_time"] * 1.015
    return jobs_table(out, MURI)


def elasticflow(out: Path, speeds: Path) -> int:
    """Read ElasticFlow's jobs, whose models have a speed."""
    for row in table(out, ELASTICFLOW):
        job = dict(zip(ELASTICFLOW, row, strict=True))
        with (speeds / f"{job['model_name']}.csv").open() as file:
            by_batch = {r["global_batch_size"]: r for r in csv.DictReader(file)}
        assert float(by_batch[str(job["batch_size"])][str(job["num_gpu"])]) > 0
        assert job["ddl"] >= job["submit_time"]
    return jobs_table(out, ELASTICFLOW)


def pai(out: Path, _: Path | None) -> int:
    """Read the jobs of PAI's simulator."""
    return jobs_table(out, PAI)


def pollux(out: Path, _: Path | None, *, sia: bool = False) -> int:
    """Read a workload of applications, with batch sizes inside their range."""
    fields: dict[str, Kind] = {"name": name, "time": count, "application": among(*APPLICATIONS)}
    fields |= {"num_replicas": positive, "batch_size": positive}
    if sia:
        fields["category"] = among("adaptive", "scale-gpus", "rigid")
    for _name, _time, application, replicas, batch, *_category in table(out, fields):
        least, most = APPLICATIONS[application]
        assert least <= batch <= most and replicas <= 16
    return jobs_table(out, fields, "name", "time")


def generator(out: Path, _: Path | None) -> int:
    """Read the summary of jobs that Pollux' generator draws from."""
    fields: dict[str, Kind] = {"timestamp": clock, "duration": count, "num_gpus": positive}
    rows = table(out, fields | {"gpu_time": count, "cluster": name})
    increasing([row[0] for row in rows])
    assert all(duration * gpus == gpu_s for _, duration, gpus, gpu_s, _ in rows)
    return len(rows)


def synergy(out: Path, _: Path | None) -> int:
    """Read Synergy's replay trace: id, model, arrival, iterations, GPUs, without a header."""
    kinds: dict[str, Kind] = {"id": count, "model": name, "arrival": decimal}
    kinds |= {"iterations": positive, "gpus": among("1", "2", "4", "8", "16")}
    rows = table(out, kinds, header=False)
    different([row[0] for row in rows])
    increasing([row[2] for row in rows])
    return len(rows)


LOG = {"user": name, "vc": name, "gpu_num": positive}
PHILLY_STATE = {"state": among("Pass", "Killed", "Failed")}
NATIVE_STATE = {"state": among("COMPLETED", "FAILED", "CANCELLED")}
TIMES = {"submit_time": clock, "duration": positive}
NATIVE = {"job_id": name, "jobname": name, "cpu_num": count} | LOG | NATIVE_STATE | TIMES
PROFILE = {
    "dataset": name,
    "model": name,
    "batchsize": positive,
    "amp": among("0", "1"),
    **dict.fromkeys(("speed", "gpu_util", "gmem_util", "gmem"), decimal),
}


def helios(out: Path, _: Path | None, *, native: bool = False) -> int:
    """Read the log of Helios' simulator, its estimates and its nodes by virtual cluster."""
    fields = NATIVE if native else {"jobname": name} | LOG | PHILLY_STATE | TIMES
    key = next(iter(fields))
    with (out / "vc_dict_homo.pkl").open("rb") as file:
        nodes = pickle.load(file)  # noqa: S301 - written by the test
    assert all(type(n) is int and n > 0 for n in nodes.values())
    estimates(out, key)
    return cluster_log(out / "cluster_log.csv", fields, set(nodes))


def lucid(out: Path, speeds: Path, *, venus: bool = False) -> int:
    """Read the log of Lucid's simulator, whose profiles are of its own table."""
    philly = {"job_id": name} | LOG | PHILLY_STATE | TIMES
    fields = (NATIVE if venus else philly) | PROFILE
    nodes = dict(table(out / "vc_config.csv", {"": name, "num": positive}))
    with speeds.open() as file:
        measured = {tuple(row[k] for k in PROFILE if k in row) for row in csv.DictReader(file)}
    with (out / "cluster_full_log.csv").open() as file:
        assert {tuple(row[k] for k in PROFILE) for row in csv.DictReader(file)} <= measured
    fields_of_time: dict[str, Kind] = {"time": clock}
    fields_of_time |= dict.fromkeys(("submit_gpu_job", "submit_gpu_num"), count)
    fields_of_time |= dict.fromkeys(("pred_gpu_job", "pred_gpu_num"), decimal)
    jobs_table(out / "throughput_pred.csv", fields_of_time, "time", "time")
    estimates(out)
    return cluster_log(out / "cluster_full_log.csv", fields, set(nodes))


def cluster_log(path: Path, fields: Fields, vcs: set[str]) -> int:
    """Read a log of jobs of some virtual clusters; a first line may only be counted from."""
    rows = [dict(zip(fields, row, strict=True)) for row in table(path, fields)]
    assert {row["vc"] for row in rows} <= vcs
    jobs = jobs_table(path, fields, next(iter(fields)))
    return jobs - int(rows[0][next(iter(fields))] == "counted-from")


def estimates(out: Path, key: str = "job_id") -> None:
    """Read the estimated run time of each job."""
    different([row[0] for row in table(out / "lgb.csv", {key: name, "priority": count})])


def openb(out: Path, _: Path | None) -> int:
    """Read pods and nodes in the layout of Alibaba's trace of 2023, and count the jobs."""
    pods: dict[str, Kind] = {
        "name": name,
        "cpu_milli": count,
        "memory_mib": count,
        "num_gpu": positive,
        "gpu_milli": among("1000"),
        "gpu_spec": among(""),
        "qos": among("LS"),
        "pod_phase": among("Running", "Succeeded", "Failed", "Pending"),
        **dict.fromkeys(("creation_time", "deletion_time", "scheduled_time"), count),
    }
    nodes = {"sn": name, "cpu_milli": positive, "memory_mib": positive, "gpu": count, "model": name}
    jobs_table(out / "pods.csv", pods, "name", "creation_time")
    for row in table(out / "pods.csv", pods):
        created, deleted, scheduled = row[-3:]
        assert created <= scheduled <= deleted and row[3] <= 8
    listed = list(yaml.safe_load_all((out / "nodes.yaml").read_text()))
    names = [row[0] for row in table(out / "nodes.csv", nodes)]
    different(names)
    assert [node["metadata"]["name"] for node in listed] == names
    return len({re.match(r"pod-\d+", row[0])[0] for row in table(out / "pods.csv", pods)})  # type: ignore[index]


def swf(out: Path, _: Path | None) -> int:
    """Read an SWF file by the definition of version 2.2."""
    header, _queues, records = read_swf(out)
    assert int(header["MaxJobs"]) == int(header["MaxRecords"]) == len(records)
    for n, row in enumerate(records, 1):
        assert len(row) == 18 and row[0] == n and min(row) >= -1
        assert 1 <= row[4] == row[7] <= int(header["MaxProcs"]) and row[3] >= 0
        assert row[10] in {-1, 0, 1, 2, 3, 4, 5} and min(row[11], row[14]) >= 1
    increasing([row[1] for row in records])
    return len(records)


def plain(out: Path, _: Path | None) -> int:
    """Read a CSV file, and check its columns by the dictionary in its sidecar."""
    rows = list(csv.DictReader(out.read_text().splitlines()))
    described = json.loads(out.with_name(out.name + ".json").read_text())["columns"]
    assert [column["name"] for column in described] == list(rows[0])
    assert all(column["meaning"] and column["file"] == "." for column in described)
    increasing([float(row["submit_s"]) for row in rows])
    assert all(float(row["run_s"]) >= 0 and int(row["gpus"]) >= 1 for row in rows)
    different([row["job_id"] for row in rows])
    return len(rows)


def batsim(out: Path, _: Path | None, *, profile: str) -> int:
    """Read a JSON workload as Batsim does: each job has a profile, and fits the platform."""
    workload = json.loads(out.read_text())
    assert all(p["type"] == profile and p["delay"] > 0 for p in workload["profiles"].values())
    for job in workload["jobs"]:
        assert job["subtime"] >= 0 and 0 < job["res"] <= workload["nb_res"]
        assert job["profile"] in workload["profiles"] and job.get("walltime", 1) > 0
    different([job["id"] for job in workload["jobs"]])
    return len(workload["jobs"])


def opendc(out: Path, _: Path | None) -> int:
    """Read tasks and fragments: the fragments of a task add up to its duration."""
    tasks = {t["id"]: t["duration"] for t in pq.read_table(out / "tasks.parquet").to_pylist()}
    assert min(tasks.values()) >= 1
    lasted = dict.fromkeys(tasks, 0)
    for fragment in pq.read_table(out / "fragments.parquet").to_pylist():
        assert fragment["duration"] > 0
        lasted[fragment["id"]] += fragment["duration"]
    assert lasted == tasks
    return int(pq.read_metadata(out / "tasks.parquet").num_rows)


def philly(out: Path, _: Path | None) -> int:
    """Read an archive as :func:`philly_analysis.ingest` does, which rejects none of its rows."""
    log = json.loads((out / "cluster_job_log").read_text())
    times = [clock(entry["submitted_time"]) for entry in log]
    increasing(times)
    for attempt in (attempt for entry in log for attempt in entry["attempts"]):
        assert all(re.fullmatch(r"gpu\d+", g) for part in attempt["detail"] for g in part["gpus"])
    trace = ingest("philly", out, out.with_name(out.name + ".trace"), force=True)
    assert all(account.read == account.kept for account in trace.manifest.accounts)
    return len(log)


Reader = Callable[[Path, Any], int]
READERS: dict[tuple[str, str], Reader] = {
    ("philly", "philly"): philly,
    ("gavel", "gavel"): gavel,
    ("gavel", "shockwave"): partial(gavel, shockwave=True),
    ("tiresias", "tiresias"): tiresias,
    ("tiresias", "muri"): muri,
    ("tiresias", "elasticflow"): elasticflow,
    ("tiresias", "pai"): pai,
    ("pollux", "pollux"): pollux,
    ("pollux", "generator"): generator,
    ("sia", "sia"): partial(pollux, sia=True),
    ("synergy", "replay"): synergy,
    ("helios", "helios"): helios,
    ("helios", "native"): partial(helios, native=True),
    ("lucid", "lucid"): lucid,
    ("lucid", "venus"): partial(lucid, venus=True),
    ("openb", "openb"): openb,
    ("swf", "swf"): swf,
    ("batsim", "v4"): partial(batsim, profile="delay"),
    ("batsim", "v5"): partial(batsim, profile="DelayProfile"),
    ("opendc", "opendc"): opendc,
    ("csv", "csv"): plain,
}
"""Readers by format and dialect."""
