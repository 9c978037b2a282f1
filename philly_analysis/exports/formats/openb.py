"""Pods and nodes as in Alibaba's openb data (cluster-trace-gpu-v2023), for FGD's simulator."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written
from philly_analysis.exports.layout import COUNT, NAME, POSITIVE, Field, Layout, broken
from philly_analysis.exports.request import Request
from philly_analysis.study import FAILED, KILLED, PASS
from philly_analysis.workload import Cluster

PODS, NODES, NODES_YAML = "pods.csv", "nodes.csv", "nodes.yaml"
_POD_GPUS = 8
_MODELS = ("P100", "T4", "V100M16", "V100M32", "A10", "G2", "G3")
_MODEL = "P100"
_MIB_PER_GB = 1024
_PHASES = {PASS: "Succeeded", FAILED: "Failed", KILLED: "Failed"}

_PODS = Layout(
    (
        Field("name", NAME),
        Field("cpu_milli", COUNT),
        Field("memory_mib", COUNT),
        Field("num_gpu", "[1-8]"),
        Field("gpu_milli", "1000"),
        Field("gpu_spec", "|V100M16|V100M32"),
        Field("qos", "LS|BE|Burstable|Guaranteed"),
        Field("pod_phase", "Running|Succeeded|Failed|Pending"),
        Field("creation_time", COUNT),
        Field("deletion_time", COUNT),
        Field("scheduled_time", COUNT),
    ),
    ascending="creation_time",
    unique="name",
)
_NODES = Layout(
    (
        Field("sn", NAME),
        Field("cpu_milli", POSITIVE),
        Field("memory_mib", POSITIVE),
        Field("gpu", COUNT),
        Field("model", "|".join(_MODELS)),
    ),
    unique="sn",
)
_NODE = """apiVersion: v1
kind: Node
metadata:
  labels:
    alibabacloud.com/gpu-card-model: {model}
    beta.kubernetes.io/os: linux
    kubernetes.io/hostname: {sn}
    kubernetes.io/os: linux
  name: {sn}
status:
  allocatable:
{resources}  capacity:
{resources}"""
_RESOURCES = """    alibabacloud.com/gpu-count: '{gpu}'
    alibabacloud.com/gpu-milli: '{gpu_milli}'
    cpu: {cpu_milli}m
    memory: {memory_mib}Mi
    pods: '1001'
"""


def _nodes(target: Cluster) -> pl.DataFrame:
    """Return one row per machine with GPUs; CPUs and memory that are not known by GPU."""
    server = target.server
    machines = [m for m in target.machines if m.gpus]
    return pl.DataFrame(
        {
            "sn": [f"node-{i:04}" for i in range(len(machines))],
            "cpu_milli": [
                round(1000 * (m.cpus or (server.cpus or 0) * m.gpus / server.gpus))
                for m in machines
            ],
            "memory_mib": [
                round(_MIB_PER_GB * (m.mem_gb or (server.mem_gb or 0) * m.gpus / server.gpus))
                for m in machines
            ],
            "gpu": [m.gpus for m in machines],
            "model": [m.gpu_model if m.gpu_model in _MODELS else _MODEL for m in machines],
        }
    )


def _node_yaml(nodes: pl.DataFrame) -> str:
    """Return the nodes as Kubernetes objects, as the simulator wants them."""
    documents = []
    for row in nodes.iter_rows(named=True):
        resources = _RESOURCES.format(gpu_milli=1000 * row["gpu"], **row)
        documents.append(_NODE.format(resources=resources, **row))
    return "\n---\n\n".join(documents)


def _write(request: Request, folder: Path) -> Written:
    jobs, server = request.jobs, request.cluster.server
    per_gpu_cpu = (server.cpus or 0) / server.gpus
    per_gpu_gb = (server.mem_gb or 0) / server.gpus
    start = pl.col("submit_s") + pl.col("wait_s").clip(0).fill_null(0)
    parts = (pl.col("gpus") + _POD_GPUS - 1) // _POD_GPUS
    part = pl.col("part")
    pods = (
        jobs.with_columns(
            job=pl.int_range(pl.len()),
            parts=parts,
            part=pl.int_ranges(parts),
        )
        .explode("part", empty_as_null=True, keep_nulls=True)
        .with_columns(
            num_gpu=pl.min_horizontal(pl.lit(_POD_GPUS), pl.col("gpus") - part * _POD_GPUS)
        )
        .select(
            name=pl.when(pl.col("parts") == 1)
            .then(pl.format("pod-{}", "job"))
            .otherwise(pl.format("pod-{}-{}", "job", part)),
            cpu_milli=(1000 * pl.col("cpus_due") * pl.col("num_gpu") / pl.col("gpus"))
            .round()
            .cast(pl.Int64),
            memory_mib=(_MIB_PER_GB * pl.col("mem_gb_due") * pl.col("num_gpu") / pl.col("gpus"))
            .round()
            .cast(pl.Int64),
            num_gpu="num_gpu",
            gpu_milli=pl.lit(1000),
            gpu_spec=pl.lit(""),
            qos=pl.lit("LS"),
            pod_phase=pl.col("status").replace_strict(_PHASES, default="Running"),
            creation_time=pl.col("submit_s").round().cast(pl.Int64),
            deletion_time=(start + pl.col("run_s")).round().cast(pl.Int64),
            scheduled_time=start.round().cast(pl.Int64),
        )
    )
    _PODS.write(pods, folder / PODS)
    nodes = _nodes(request.cluster)
    _NODES.write(nodes, folder / NODES)
    (folder / NODES_YAML).write_text(_node_yaml(nodes), "utf-8")
    assumed = ["every pod is latency-sensitive (LS) and takes any GPU model"]
    if int((jobs["gpus"] > _POD_GPUS).sum()):
        assumed.append("gangs over 8 GPUs: one pod per 8 GPUs, and one for the rest")
    for column, share in (("cpus", f"{per_gpu_cpu:g} CPUs"), ("mem_gb", f"{per_gpu_gb:g} GB")):
        if missing := jobs[column].null_count():
            assumed.append(f"{column} of {missing:,} jobs: {share} a GPU, a server's share")
    if unknown := int((nodes["model"] == _MODEL).sum()):
        assumed.append(f"GPU model of {unknown:,} nodes: {_MODEL}")
    if jobs["status"].null_count():
        assumed.append("pods of jobs without a status: Running")
    return Written(jobs=jobs.height, assumed=tuple(assumed))


def _faults(folder: Path, _: Path | None) -> list[str]:
    found = [*_PODS.faults(folder / PODS), *_NODES.faults(folder / NODES)]
    if found:
        return found
    path, rows = folder / PODS, _PODS.read(folder / PODS)
    times = rows.select(pl.col("creation_time", "scheduled_time", "deletion_time").cast(pl.Int64))
    early = times["scheduled_time"] < times["creation_time"]
    gone = times["deletion_time"] < times["scheduled_time"]
    found += broken(path, rows["scheduled_time"], early, "scheduled before creation")
    found += broken(path, rows["deletion_time"], gone, "deleted before it was scheduled")
    names = [
        line.removeprefix("  name: ")
        for line in (folder / NODES_YAML).read_text("utf-8").split("\n")
        if line.startswith("  name: ")
    ]
    if names != _NODES.read(folder / NODES)["sn"].to_list():
        found.append(f"{NODES_YAML}: its nodes are not those of {NODES}")
    return found


def _taken(request: Request, folder: Path) -> Taken:
    rows = _PODS.read(folder / PODS)
    times = rows.select(
        pl.col("num_gpu", "deletion_time", "scheduled_time").cast(pl.Int64),
        # the pods of one gang are called pod-<job>-<part>
        job=pl.col("name").str.extract(r"^(pod-\d+)"),
    )
    gpu_s = (times["num_gpu"] * (times["deletion_time"] - times["scheduled_time"])).sum()
    return Taken(times["job"].n_unique(), float(gpu_s))


_RUN = """git clone https://github.com/hkust-adsl/kubernetes-scheduler-simulator
cd kubernetes-scheduler-simulator && git checkout 8f3d641 && make
mkdir data/export && cp $$OUT/nodes.yaml data/export && cp $$OUT/pods.csv data/csv/export.csv
(cd data && python pod_csv_to_yaml.py csv/export.csv)
sed 's#example/test-cluster#data/export#; s#ratio: 0.9#ratio: 0#' \\
  example/test-cluster-config.yaml > export-config.yaml
bin/simon apply --extended-resources gpu -f export-config.yaml \\
  -s example/test-scheduler-config.yaml"""

OPENB = Format(
    "openb",
    (
        Dialect(
            name="openb",
            program=Program(
                "FGD's Kubernetes scheduler simulator; tools for cluster-trace-gpu-v2023",
                source="hkust-adsl/kubernetes-scheduler-simulator 8f3d641",
                needs="Go 1.19 (dependencies are in the repository), Python with pandas and pyyaml",
                command=_RUN,
                rules="every pod, in the order of the file",
            ),
            carries="creation, scheduling and deletion, GPUs, CPU and memory demand; nodes",
            write=_write,
            taken=_taken,
            faults=_faults,
            not_carried=(
                "names of jobs (numbered by submission, then id) and of machines (in order)",
                "users, virtual clusters, attempts and placements; Failed and Killed are one",
                "time, for the simulator: it places pods in file order until the cluster is full",
            ),
            folder=True,
        ),
    ),
)
