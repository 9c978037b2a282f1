"""Print the commands that take snapshots of a Kubernetes cluster."""

import shlex
from pathlib import Path

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
            snapshot("clusterqueues.kueue.x-k8s.io,localqueues.kueue.x-k8s.io", "queues"),
            "# every minute",
            snapshot("workloads.kueue.x-k8s.io", "workloads"),
            snapshot("pods,jobs", "pods"),
        ]
    )
