"""Parse the limits of ``sacctmgr`` on running jobs."""

import re
from typing import NamedTuple

RUNNING_LIMITS = {
    "GrpTRES": None,
    "GrpJobs": None,
    "MaxJobs": None,
    "MaxTRESPU": "user",
    "MaxJobsPU": "user",
    "MaxTRESPA": "account",
    "MaxJobsPA": "account",
}
"""For each limit on what runs at once, whose jobs count together: each user's, each account's, or
all (None). Other limits are on one job, on time, or on what waits (sacctmgr, "QOS and association
limits")."""
_AMOUNT = re.compile(r"(jobs|cpu|node|mem|gres/gpu)(?::([^=]+))?=(\d{1,15}(?:\.\d+)?)([KMGTP]?)")
_RESOURCES = {"gres/gpu": "gpus", "cpu": "cpus", "node": "servers"}
_BYTES = {"K": 1024, "": 1024**2, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
"""Bytes of a unit of memory; a number alone is in megabytes."""


class LimitAmount(NamedTuple):
    """Most of a resource that running jobs hold together.

    Attributes
    ----------
    resource
        ``jobs``, ``gpus``, ``cpus``, ``servers`` or ``mem_gb`` (10^9 bytes).
    gpu_model
        Model of the limited GPUs; None: GPUs of any model, or another resource.
    """

    resource: str
    gpu_model: str | None
    amount: float


def limit_amounts(setting: str, value: str) -> list[LimitAmount]:
    """Return the amounts in the value of a limit; other resources are left out.

    Examples
    --------
    >>> limit_amounts("GrpTRES", "cpu=64,gres/gpu:a100=4,billing=9")
    [LimitAmount(resource='cpus', gpu_model=None, amount=64.0), \
LimitAmount(resource='gpus', gpu_model='a100', amount=4.0)]
    >>> limit_amounts("MaxJobsPU", "2")
    [LimitAmount(resource='jobs', gpu_model=None, amount=2.0)]
    """
    parts = [f"jobs={value}"] if "Jobs" in setting else value.split(",")
    amounts = []
    for name, model, number, unit in (m.groups() for m in map(_AMOUNT.fullmatch, parts) if m):
        if name == "mem":
            amounts.append(LimitAmount("mem_gb", None, float(number) * (_BYTES[unit] / 1e9)))
        elif not unit and (model is None or name == "gres/gpu"):
            amounts.append(LimitAmount(_RESOURCES.get(name, name), model, float(number)))
    return amounts
