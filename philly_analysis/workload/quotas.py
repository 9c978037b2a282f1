"""What each virtual cluster is entitled to: its quota, or the estimate of `vc_quotas`."""

import polars as pl

from philly_analysis.workload.workload import Workload

ESTIMATE = "p99"
"""The method of ``vc_quotas`` that stands for a quota wherever none is given."""


def quotas_of(workload: Workload, capacity: int) -> tuple[dict[str, int], str]:
    """Return GPUs by virtual cluster, and where the numbers come from.

    A workload that names no quotas gets the estimates that the findings use; on another cluster
    than its own they are scaled with the size.

    Parameters
    ----------
    capacity
        GPUs of the cluster that the quotas are for.
    """
    if workload.virtual_clusters.height:
        table = workload.virtual_clusters
        return dict(zip(table["vc"], table["gpus"], strict=True)), "Quotas are the workload's own."
    found = workload.answer("vc_quotas").filter(pl.col("method") == ESTIMATE).sort("vc")
    own = int(workload.machines["gpus"].sum())
    factor = capacity / own if own else 1.0
    return (
        {vc: max(1, int(gpus * factor)) for _, vc, gpus in found.iter_rows()},
        "Quotas are estimates: the GPUs that each virtual cluster's use did not exceed 99 % of the "
        "time, and its largest gang at least"
        + ("." if factor == 1 else f"; scaled to the cluster at hand by {factor:.3g}."),
    )
