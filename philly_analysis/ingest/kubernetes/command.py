"""Print the commands that take snapshots of a Kubernetes cluster."""

import shlex
from pathlib import Path

_OWNERS = {
    "jobsets": "jobsets.jobset.x-k8s.io",
    "ray": "rayjobs.ray.io,rayclusters.ray.io",
    "kubeflow": ",".join(
        f"{kind}jobs.kubeflow.org" for kind in ("pytorch", "tf", "mpi", "xgboost", "paddle", "jax")
    ),
    "trainjobs": "trainjobs.trainer.kubeflow.org",
    "volcano": "jobs.batch.volcano.sh,podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh",
    "podgroups": "podgroups.scheduling.x-k8s.io",
}
"""Kinds of owners of pods that a cluster may have, by the name of their file."""

_STAMP = "$(date -u +%FT%H-%M-%SZ)"


def kubectl_command(folder: str | Path = ".", context: str | None = None) -> str:
    """Return the commands; :func:`philly_analysis.api.kubectl_command` describes them."""
    kubectl = "kubectl" if context is None else f"kubectl --context={shlex.quote(context)}"
    where = shlex.quote(str(folder))

    def snapshot(kinds: str, name: str) -> str:
        return f"{kubectl} get {kinds} -A -o json | gzip > {where}/{name}_{_STAMP}.json.gz"

    return "\n".join(
        [
            "# once, and after each change of servers or quotas",
            snapshot("nodes", "nodes"),
            snapshot(
                ",".join(
                    f"{k}.kueue.x-k8s.io" for k in ("clusterqueues", "localqueues", "cohorts")
                ),
                "queues",
            ),
            "# every minute",
            snapshot("workloads.kueue.x-k8s.io", "workloads"),
            snapshot("pods,jobs", "pods"),
            "# every minute, each line whose kinds the cluster has",
            *(snapshot(kinds, name) for name, kinds in _OWNERS.items()),
        ]
    )
