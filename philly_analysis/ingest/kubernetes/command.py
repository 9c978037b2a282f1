"""Print the commands that take snapshots of a Kubernetes cluster."""

import shlex
from pathlib import Path

from philly_analysis.ingest.kubernetes.owners import JOB_OWNERS, POD_GROUPS

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
            f"owners=$({kubectl} api-resources --verbs=list -o name | {_kept()} | paste -sd,)",
            '[ -z "$owners" ] || ' + snapshot('"$owners"', "owners"),
        ]
    )


def _kept() -> str:
    """Return the command that keeps resources that own pods, PodGroups, and queues of Volcano."""
    kinds = [(kind, group) for group, of_group in JOB_OWNERS.items() for kind in of_group]
    kinds += [("PodGroup", group) for group in POD_GROUPS]
    kinds.append(("Queue", "scheduling.volcano.sh"))
    return "grep -xF " + " ".join(f"-e {kind.lower()}s.{group}" for kind, group in kinds)
