"""What Prometheus' exporters call things: metrics with their units, and labels."""

import re
from collections.abc import Mapping

from philly_analysis.ingest.telemetry.readings import MIB, Series

METRICS: dict[str, tuple[str, float]] = {
    # dcgm-exporter, by the names of DCGM up to 4.5 and from 4.6 on
    "DCGM_FI_DEV_GPU_UTIL": ("util_pct", 1),
    "DCGM_FI_DEV_GPU_UTIL_RATIO": ("util_pct", 1),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("engine_pct", 100),
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": ("engine_pct", 100),
    "DCGM_FI_PROF_SM_ACTIVE": ("sm_active_pct", 100),
    "DCGM_FI_PROF_SM_UTIL_RATIO": ("sm_active_pct", 100),
    "DCGM_FI_DEV_FB_USED": ("mem_used_gb", MIB),
    "DCGM_FI_DEV_FB_TOTAL": ("mem_gb", MIB),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", 1),
    "DCGM_FI_DEV_BOARD_POWER_WATTS": ("power_w", 1),
    # the exporter of jobstats
    "nvidia_gpu_duty_cycle": ("util_pct", 1),
    "nvidia_gpu_memory_used_bytes": ("mem_used_gb", 1e-9),
    "nvidia_gpu_memory_total_bytes": ("mem_gb", 1e-9),
    "nvidia_gpu_power_usage_milliwatts": ("power_w", 1e-3),
    "nvidia_gpu_jobId": ("job", 1),
    # nvidia_gpu_exporter, which asks nvidia-smi
    "nvidia_smi_utilization_gpu_ratio": ("util_pct", 100),
    "nvidia_smi_memory_used_bytes": ("mem_used_gb", 1e-9),
    "nvidia_smi_memory_total_bytes": ("mem_gb", 1e-9),
    "nvidia_smi_power_draw_watts": ("power_w", 1),
}
"""Metrics that are read, with the measure that each is, and the factor to its unit."""

DMON: dict[str, tuple[str, float]] = {
    "GPUTL": ("util_pct", 1),
    "GRACT": ("engine_pct", 100),
    "SMACT": ("sm_active_pct", 100),
    "FBUSD": ("mem_used_gb", MIB),
    "FBTTL": ("mem_gb", MIB),
    "POWER": ("power_w", 1),
    "POWR": ("power_w", 1),
}
"""The same by the short names of ``dcgmi dmon``."""

BLANK = 0x7FFFFFF0
"""DCGM's numbers from here on stand for no value: no measure comes near them."""

_HOSTS = ("Hostname", "hostname", "node", "kubernetes_node", "nodename", "host", "instance")
_GPUS = ("gpu", "minor_number", "index", "gpu_id", "device")
_JOBS = (
    "hpc_job",
    "jobid",
    "slurm_job_id",
    "slurm_jobid",
    "slurm_job",
    "job_id",
    "exported_pod",
    "pod",
)
_LABEL_CHARS = 500
"""A longer label is damaged or hostile, and passed over."""


def series_of(labels: Mapping[str, str], hosts: tuple[str, ...]) -> Series:
    """Return whose readings these are.

    Parameters
    ----------
    labels
        The labels of a series.
    hosts
        What the file's name says of the machine, for series that do not.
    """
    told = {k: v for k, v in labels.items() if v and len(v) <= _LABEL_CHARS}
    named = [without_port(told[name]) for name in _HOSTS if name in told]
    # an address names a machine only where nothing else does
    ordered = sorted(dict.fromkeys(named or hosts), key=_is_address)
    gpu = next((told[name] for name in _GPUS if name in told), "")
    index = re.fullmatch(r"(?:/dev/)?(?:nvidia)?(\d{1,9})", gpu)
    return Series(
        hosts=tuple(ordered),
        gpu=int(index[1]) if index else None,
        uuid=told.get("UUID") or told.get("uuid"),
        bus_id=told.get("pci_bus_id"),
        model=told.get("modelName") or told.get("model_name"),
        mig_instance=told.get("GPU_I_ID"),
        mig_profile=told.get("GPU_I_PROFILE"),
        cluster=told.get("cluster"),
        jobs=tuple(dict.fromkeys(told[name] for name in _JOBS if name in told)),
    )


def metric_named(text: str) -> str | None:
    """Return the longest metric that stands in a text, such as the name of a file."""
    found = [name for name in METRICS if name in text]
    return max(found, key=len) if found else None


def without_port(instance: str) -> str:
    """Return the host of ``host:port``."""
    return re.sub(r"^\[(.*)\](:\d+)?$", r"\1", re.sub(r"(?<=[^:]):\d+$", "", instance))


def _is_address(host: str) -> bool:
    return bool(re.fullmatch(r"[\d.]+|[\da-fA-F:]*:[\da-fA-F:.]*|localhost", host))
