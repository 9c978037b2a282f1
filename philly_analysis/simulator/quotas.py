"""What each virtual cluster is entitled to: its quota, or an estimate of it."""

from collections.abc import Sequence

from philly_analysis.workload import JobSpec, Workload


def quotas_of(
    workload: Workload, specs: Sequence[JobSpec], capacity: int
) -> tuple[dict[str, int], str]:
    """Return GPUs by virtual cluster, and where the numbers come from.

    A workload that names no quotas gets estimates: the cluster is divided in proportion to the
    GPU time that each virtual cluster's jobs ask for, by largest remainder, and nobody gets
    less than its largest gang.

    Parameters
    ----------
    capacity
        GPUs of the cluster.
    """
    if workload.virtual_clusters.height:
        table = workload.virtual_clusters
        return dict(zip(table["vc"], table["gpus"], strict=True)), "Quotas are the workload's own."
    asked: dict[str, float] = {}
    largest: dict[str, int] = {}
    for spec in specs:
        asked[spec.vc] = asked.get(spec.vc, 0.0) + spec.gpus * spec.run_s
        largest[spec.vc] = max(largest.get(spec.vc, 0), spec.gpus)
    total = sum(asked.values()) or 1.0
    exact = {vc: capacity * gpu_s / total for vc, gpu_s in sorted(asked.items())}
    quotas = {vc: int(gpus) for vc, gpus in exact.items()}
    short = capacity - sum(quotas.values()) if asked else 0
    for vc in sorted(exact, key=lambda v: quotas[v] - exact[v])[:short]:
        quotas[vc] += 1
    return (
        {vc: max(gpus, largest[vc]) for vc, gpus in quotas.items()},
        "Quotas are estimates: the GPUs divided by the GPU time that each virtual cluster asks "
        "for, and no quota below its largest gang.",
    )
