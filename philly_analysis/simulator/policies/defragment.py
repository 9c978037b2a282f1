"""Room for a gang that fits in number but nowhere together: smaller jobs move out of its way."""

from collections.abc import Callable, Iterator
from itertools import islice

from philly_analysis.simulator.cluster.cluster import Grant, lowest
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import packed
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.view import Plan

_TRIES = 8
"""Servers of a rack that are tried for a gang that fits on one."""


def make_room(plan: Plan, job: Job, may_move: Callable[[Job], bool]) -> bool:
    """Start a gang on the fewest servers by moving jobs from there to others; False if none can.

    Servers are tried from the emptiest on. Of those that run there, the fewest GPUs that make
    enough room move, each job that moves to the fewest servers, too: nobody is stopped, nor spread.

    Parameters
    ----------
    plan
        A plan in which the gang fits in number.
    may_move
        Whether a running job may be moved.
    """
    for servers in _choices(plan, job):
        grant, movers = _cleared(plan, job, servers, may_move)
        here = sum(plan.cluster.free_gpus[machine].bit_count() for machine in servers)
        if grant is None or sum(m.held.gpus for m in movers) > plan.cluster.free - here:
            continue
        held = {mover: plan.held(mover) for mover in movers}
        for mover in movers:
            plan.release(mover)
        if plan.cluster.all_free(grant) and plan.grant(job, grant):
            among = ~sum(1 << machine for machine in servers)
            if all(_moved(plan, mover, among) for mover in movers):
                return True
            for mover in movers:
                plan.release(mover)
            plan.release(job)
        for mover, old in held.items():
            plan.grant(mover, old)
    return False


def _choices(plan: Plan, job: Job) -> Iterator[list[int]]:
    """Yield the sets of servers to clear, emptiest first: one server of many, or the emptiest.

    Servers without a free GPU are left alone.
    """
    cluster = plan.cluster
    count = cluster.fewest(job.gpus)
    for rack in cluster.topology.racks:
        ranked = sorted(
            (m for m, free in enumerate(cluster.free_gpus) if free and rack >> m & 1),
            key=lambda m: (-cluster.free_gpus[m].bit_count(), m),
        )
        if count == 1:
            large = (m for m in ranked if cluster.machines[m].gpus >= job.gpus)
            yield from ([m] for m in islice(large, _TRIES))
        else:
            chosen = ranked[:count]
            if sum(cluster.machines[m].gpus for m in chosen) >= job.gpus:
                yield chosen


def _cleared(
    plan: Plan, job: Job, servers: list[int], may_move: Callable[[Job], bool]
) -> tuple[Grant | None, list[Job]]:
    """Return what the gang would hold on these servers, and who moves for it."""
    cluster = plan.cluster
    shares: list[tuple[int, int]] = []
    movers: list[Job] = []
    left = job.gpus
    for m in servers:
        there = cluster.machines[m].gpus
        takes = min(left, there)
        missing = (there if cluster.dedicated else takes) - cluster.free_gpus[m].bit_count()
        free = cluster.free_gpus[m]
        own = [
            (grant.gpus, other.index, other, grant)
            for other in plan.on(m)
            if other.running
            and (grant := plan.held(other)) is not None
            and grant == other.grant
            and grant.part == WHOLE
            and len(grant.shares) == 1
            and may_move(other)
        ]
        own.sort(key=lambda mover: mover[:2])
        # one job that is large enough, the smallest such, else the largest ones together
        alone = next((mover for mover in own if mover[0] >= missing), None)
        for gpus, _, other, grant in [alone] if alone and missing > 0 else reversed(own):
            if missing > 0:
                movers.append(other)
                free |= grant.shares[0][1]
                missing -= gpus
        if missing > 0:
            return None, []
        shares.append((m, lowest(free, takes)))
        left -= takes
    return Grant(tuple(shares), job.gpus), movers


def _moved(plan: Plan, mover: Job, among: int) -> bool:
    gpus = mover.held.gpus
    return plan.grant(
        mover, packed(plan.cluster, gpus, servers=plan.cluster.fewest(gpus), among=among)
    )
