"""Pods and nodes in the layout of Alibaba's cluster-trace-gpu-v2023, for FGD's simulator."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.codec import (
    Accepted,
    Content,
    Notes,
    delimited,
    read_format,
)
from philly_analysis.exports.request import Request
from philly_analysis.study import FAILED, KILLED, PASS
from philly_analysis.workload import Cluster

PODS, NODES, NODES_YAML = "pods.csv", "nodes.csv", "nodes.yaml"
_POD_GPUS = 8
_MODELS = ("P100", "T4", "V100M16", "V100M32", "A10", "G2", "G3")
_MODEL = "P100"
_MIB_PER_GB = 1024
_PHASES = {PASS: "Succeeded", FAILED: "Failed", KILLED: "Failed"}

_NODE = Path(__file__).with_name("openb_node.yaml").read_text("utf-8")


def _nodes(target: Cluster) -> pl.DataFrame:
    """Return one row per machine with GPUs; unknown CPUs and memory are a server's share by GPU."""
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
    """Return the nodes as Kubernetes objects in YAML."""
    rows = nodes.with_columns(gpu_milli=1000 * pl.col("gpu")).iter_rows(named=True)
    return "\n---\n\n".join(_NODE.format(**row) for row in rows)


def _content(request: Request) -> Content:
    jobs, server = request.jobs, request.cluster.server
    start = pl.col("submit_s") + pl.col("wait_s").clip(0).fill_null(0)
    parts = (pl.col("gpus") + _POD_GPUS - 1) // _POD_GPUS
    part = pl.col("part")
    pods = (
        jobs.with_columns(job=pl.int_range(pl.len()), parts=parts, part=pl.int_ranges(parts))
        .explode("part", empty_as_null=True, keep_nulls=True)
        .with_columns(
            num_gpu=pl.min_horizontal(pl.lit(_POD_GPUS), pl.col("gpus") - part * _POD_GPUS)
        )
        .select(
            name=pl.when(pl.col("parts") == 1)
            .then(pl.format("pod-{}", "job"))
            .otherwise(pl.format("pod-{}-{}", "job", part)),
            cpu_milli=_rounded(1000 * pl.col("cpus_due") * pl.col("num_gpu") / pl.col("gpus")),
            memory_mib=_rounded(
                _MIB_PER_GB * pl.col("mem_gb_due") * pl.col("num_gpu") / pl.col("gpus")
            ),
            num_gpu="num_gpu",
            gpu_milli=pl.lit(1000),
            gpu_spec=pl.lit(None, pl.String),
            qos=pl.lit("LS"),
            pod_phase=pl.col("status").replace_strict(_PHASES, default="Running"),
            creation_time=_rounded(pl.col("submit_s")),
            deletion_time=_rounded(start + pl.col("run_s")),
            scheduled_time=_rounded(start),
        )
    )
    nodes = _nodes(request.cluster)
    assumed = []
    if int((jobs["gpus"] > _POD_GPUS).sum()):
        assumed.append("gangs over 8 GPUs: one pod per 8 GPUs, and one for the rest")
    for column, total, unit in (("cpus", server.cpus, "CPUs"), ("mem_gb", server.mem_gb, "GB")):
        if missing := jobs[column].null_count():
            per_gpu = f"{(total or 0) / server.gpus:g} {unit}"
            assumed.append(f"{column} of {missing:,} jobs: {per_gpu} a GPU, a server's share")
    if unknown := int((nodes["model"] == _MODEL).sum()):
        assumed.append(f"GPU model of {unknown:,} nodes: {_MODEL}")
    if jobs["status"].null_count():
        assumed.append("pods of jobs without a status: Running")
    others = {NODES_YAML: _node_yaml(nodes).encode()}
    return Content({PODS: pods, NODES: nodes}, _accepted(pods), Notes(tuple(assumed)), others)


def _rounded(value: pl.Expr) -> pl.Expr:
    return value.round().cast(pl.Int64)


def _accepted(rows: pl.DataFrame) -> Accepted:
    times = rows.select(
        pl.col("num_gpu", "deletion_time", "scheduled_time").cast(pl.Int64),
        # the pods of one gang are called pod-<job>-<part>
        job=pl.col("name").str.extract(r"^(pod-\d+)"),
    )
    gpu_s = (times["num_gpu"] * (times["deletion_time"] - times["scheduled_time"])).sum()
    return Accepted(times["job"].n_unique(), float(gpu_s))


OPENB = read_format("openb", openb=delimited(_content))
