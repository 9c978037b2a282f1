"""Quotas of virtual clusters: the workload's own, else the estimates of `vc_quotas`."""

from collections.abc import Iterable

import polars as pl

from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.workload import Workload

ESTIMATE = "p99"
"""Method of ``vc_quotas`` whose estimate replaces a missing quota."""


def use_by_vc(specs: Iterable[JobSpec]) -> tuple[dict[str, float], dict[str, int]]:
    """Return the requested GPU-seconds, and the largest gang, of each virtual cluster."""
    gpu_s: dict[str, float] = {}
    largest: dict[str, int] = {}
    for spec in specs:
        gpu_s[spec.vc] = gpu_s.get(spec.vc, 0.0) + spec.gpu_s
        largest[spec.vc] = max(largest.get(spec.vc, 0), spec.gpus)
    return gpu_s, largest


def preferred_quotas(rows: pl.DataFrame, factor: float = 1.0) -> tuple[dict[str, int], bool]:
    """Return the quota of each virtual cluster in GPUs, and whether the quotas are given.

    Parameters
    ----------
    rows
        Rows of ``vc_quotas``: given quotas, or estimates.
    factor
        What estimates are multiplied by.
    """
    rows = rows.sort("vc").select("vc", "gpus", "method")
    given = {vc: gpus for vc, gpus, method in rows.iter_rows() if method == "given"}
    estimates = {
        vc: max(1, int(gpus * factor))
        for vc, gpus, method in rows.iter_rows()
        if method == ESTIMATE
    }
    return given or estimates, bool(given)


def quotas_of(workload: Workload, capacity: int) -> tuple[dict[str, int], str]:
    """Return the quota of each virtual cluster in GPUs, and a sentence on their source.

    Without quotas in the workload, the quotas are the estimates of the findings, scaled to the
    cluster.

    Parameters
    ----------
    capacity
        GPUs of the cluster that the quotas are for.
    """
    if len(workload.virtual_clusters):
        table = workload.virtual_clusters.pl()
        return dict(zip(table["vc"], table["gpus"], strict=True)), "Quotas are the workload's own."
    workload_gpus = int(workload.machines.pl()["gpus"].sum())
    factor = capacity / workload_gpus if workload_gpus else 1.0
    estimates, _ = preferred_quotas(workload.answer("vc_quotas"), factor)
    return (
        estimates,
        "Quotas are estimates: the GPUs that each virtual cluster's use did not exceed 99 % of the "
        "time, and its largest gang at least"
        + ("." if factor == 1 else f"; scaled to the cluster at hand by {factor:.3g}."),
    )
