"""Identify the machine, GPU and job of a Prometheus series by its labels."""

import re
from collections.abc import Iterator, Mapping

from philly_analysis.ingest.telemetry.staging import Series

_HOSTS = ("Hostname", "hostname", "node", "kubernetes_node", "nodename", "host", "instance")
_GPUS = ("gpu", "minor_number", "index", "gpu_id", "device")
_JOBS = ("hpc_job", "jobid", "slurm_job_id", "slurm_jobid", "slurm_job", "job_id")
_PODS = {"exported_pod": "exported_namespace", "pod": "namespace"}
"""Labels of a pod's name, each with the label of its namespace."""
_LABEL_CHARS = 500
"""Limit on a label; a longer one is damaged or hostile, and ignored."""


def series_of(labels: Mapping[str, str], hosts: tuple[str, ...]) -> Series:
    """Return the series of some labels.

    Parameters
    ----------
    labels
        The labels of a series.
    hosts
        Names of the machine from the file's name, for series without one.
    """
    used = {k: v for k, v in labels.items() if v and len(v) <= _LABEL_CHARS}
    named = [without_port(used[name]) for name in _HOSTS if name in used]
    # an address names a machine only where nothing else does
    ordered = sorted(dict.fromkeys(named or hosts), key=_is_address)
    gpu = next((used[name] for name in _GPUS if name in used), "")
    index = re.fullmatch(r"(?:/dev/)?(?:nvidia)?(\d{1,9})", gpu)
    return Series(
        hosts=tuple(ordered),
        gpu=int(index[1]) if index else None,
        uuid=used.get("UUID") or used.get("uuid"),
        bus_id=used.get("pci_bus_id"),
        model=used.get("modelName") or used.get("model_name"),
        mig_instance=used.get("GPU_I_ID"),
        mig_profile=used.get("GPU_I_PROFILE"),
        cluster=used.get("cluster"),
        jobs=tuple(dict.fromkeys((*(used[n] for n in _JOBS if n in used), *_pod_names(used)))),
    )


def _pod_names(labels: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of a series' pod: namespace/name, where the namespace is known, and name."""
    for label, of_namespace in _PODS.items():
        if label in labels:
            if of_namespace in labels:
                yield f"{labels[of_namespace]}/{labels[label]}"
            yield labels[label]


def without_port(instance: str) -> str:
    """Return the host of ``host:port``."""
    return re.sub(r"^\[(.*)\](:\d+)?$", r"\1", re.sub(r"(?<=[^:]):\d+$", "", instance))


def _is_address(host: str) -> bool:
    return bool(re.fullmatch(r"[\d.]+|[\da-fA-F:]*:[\da-fA-F:.]*|localhost", host))
