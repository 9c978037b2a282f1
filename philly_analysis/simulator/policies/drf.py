"""Dominant-resource fairness over GPUs, CPUs and memory."""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple, cast

from philly_analysis.simulator.cluster.capacity import fit
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import SortedJobs
from philly_analysis.simulator.policies.knobs import knob
from philly_analysis.simulator.policies.multi_resource import (
    DECIMALS,
    Resources,
    refused_requests,
)
from philly_analysis.simulator.policies.policy import Policy, owner
from philly_analysis.simulator.policies.synergy import full_request, within_reach
from philly_analysis.simulator.policies.view import Decision, View
from philly_analysis.simulator.speed.models import HostResources
from philly_analysis.simulator.speed.speed import Speed


class _Group(NamedTuple):
    """Jobs of one owner and request."""

    owner: str
    request: Request


_Kinds = dict[Request, dict[_Group, SortedJobs]]


@dataclass(frozen=True)
class Drf(Policy):
    """Dominant-resource fairness: the owner with the smallest dominant share is served next.

    A job gets the CPUs and memory that it requests with its GPUs, or waits, as in Synergy's
    comparison. A job that requests more than empty servers have, or nothing, gets a proportional
    share. The dominant share of an owner (user or virtual cluster) is the greatest of its shares of
    the cluster's GPUs, CPUs and memory. The owner with the smallest dominant share starts the first
    job that fits. No job is preempted.
    """

    name = "drf"
    SOURCE = "Ghodsi et al., DRF, NSDI'11, algorithm 1; as a baseline in Synergy (OSDI'22)"
    steady = True
    fractional = True
    kind = "request"

    of: str = knob("user", "owners between which resources are divided", among=("user", "vc"))

    def group(self, job: Job, now_s: float) -> _Group:
        """Return owner and request."""
        return _Group(owner(job, self.of), full_request(job))

    def speed(self) -> Speed:
        """Return speeds by CPUs and memory."""
        return HostResources()

    def decide(self, view: View) -> Decision:
        """Allocate free resources to the owners with the smallest dominant shares."""
        holders: dict[Job, Resources] = view.state.setdefault("holders", {})
        used: dict[str, Resources] = view.state.setdefault("used", {})
        changes = view.running.changes()
        changed = list(holders) if changes is None else [entry.job for entry, _ in changes]
        for job in changed:
            if not job.running and job in holders:
                name = owner(job, self.of)
                used[name] = used[name].plus(holders.pop(job), -1)
        refused = refused_requests(view)
        if view.cluster.full or not view.queue.groups:
            return {}
        entries = {
            group: jobs.entries()
            for request, groups in cast("_Kinds", view.queue.kinds).items()
            if request not in refused and view.cluster.fits(request.size)
            for group, jobs in groups.items()
        }
        if not entries:
            return {}
        plan, total = view.plan(), Resources.of_cluster(view)
        heads = {group: next(group_entries) for group, group_entries in entries.items()}
        owned: dict[str, list[_Group]] = {}
        for group in heads:
            owned.setdefault(group.owner, []).append(group)
            used.setdefault(group.owner, Resources())
        least = [(_dominant_share(used[name], total), name) for name in owned]
        heapify(least)
        while least:
            share, name = heappop(least)
            groups = [g for g in owned[name] if g in heads and g.request not in refused]
            if not groups:
                continue
            group = min(groups, key=heads.__getitem__)
            job = heads[group].job
            request = within_reach(view, job)
            allocation = fit(plan.cluster, request)
            if allocation is not None:
                plan.assign(job, allocation)
                holders[job] = Resources.of(allocation)
                used[name] = used[name].plus(holders[job])
                heads.pop(group)
                if (behind := next(entries[group], None)) is not None:
                    heads[group] = behind
                elif len(groups) == 1:
                    continue
                share = _dominant_share(used[name], total)
            else:
                refused[group.request] = request
            heappush(least, (share, name))
        return plan.decision


def _dominant_share(used: Resources, total: Resources) -> float:
    return round(max(used.shares(total)), DECIMALS)
