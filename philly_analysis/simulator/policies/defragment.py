"""Start a gang that fits in number but not on few servers, by migrating smaller jobs."""

from collections.abc import Callable, Iterator
from itertools import islice

from philly_analysis.simulator.cluster.allocation import Allocation, lowest_bits
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import pack
from philly_analysis.simulator.cluster.topology import RACK
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.view import Plan

_TRIES = 8
"""Servers of a rack that are tried for a gang that fits on one."""


def start_by_migration(plan: Plan, job: Job, may_move: Callable[[Job], bool]) -> bool:
    """Start a gang on the fewest servers by migrating jobs away; return whether the gang starts.

    Servers are tried from the emptiest on. The jobs that move have the fewest GPUs that make enough
    room. Each of them also moves to the fewest servers: no job is preempted or spread. Jobs with
    requested servers stay.

    Parameters
    ----------
    plan
        A plan in which the gang fits in number.
    may_move
        Whether a running job may be moved.
    """
    for servers in _server_sets(plan, job):
        allocation, movers = _cleared(plan, job, servers, may_move)
        here = sum(plan.cluster.free_gpus[machine].bit_count() for machine in servers)
        if allocation is None or sum(m.allocated.gpus for m in movers) > plan.cluster.free - here:
            continue
        before = {mover: plan.allocation_of(mover) for mover in movers}
        for mover in movers:
            plan.release(mover)
        if plan.cluster.is_free(allocation) and plan.assign(job, allocation):
            among = ~sum(1 << machine for machine in servers)
            if all(_move(plan, mover, among) for mover in movers):
                return True
            for mover in movers:
                plan.release(mover)
            plan.release(job)
        for mover, old in before.items():
            plan.assign(mover, old)
    return False


def _server_sets(plan: Plan, job: Job) -> Iterator[list[int]]:
    """Yield sets of servers to clear, emptiest first: one server each, or the emptiest of a rack.

    Servers without a free GPU are skipped.
    """
    cluster = plan.cluster
    count = cluster.fewest_servers(job.gpus)
    for rack in cluster.topology.domains(RACK):
        emptiest = sorted(
            (m for m, free in enumerate(cluster.free_gpus) if free and rack >> m & 1),
            key=lambda m: (-cluster.free_gpus[m].bit_count(), m),
        )
        if count == 1:
            large = (m for m in emptiest if cluster.machines[m].gpus >= job.gpus)
            yield from ([m] for m in islice(large, _TRIES))
        else:
            chosen = emptiest[:count]
            if sum(cluster.machines[m].gpus for m in chosen) >= job.gpus:
                yield chosen


def _cleared(
    plan: Plan, job: Job, servers: list[int], may_move: Callable[[Job], bool]
) -> tuple[Allocation | None, list[Job]]:
    """Return a gang's allocation on `servers`, and the jobs that move for the gang."""
    cluster = plan.cluster
    shares: list[tuple[int, int]] = []
    movers: list[Job] = []
    unplaced_gpus = job.gpus
    for m in servers:
        size, free = cluster.machines[m].gpus, cluster.free_gpus[m]
        count = min(unplaced_gpus, size)
        missing = (size if cluster.dedicated else count) - free.bit_count()
        movable = [
            (held.gpus, other.index, other, held)
            for other in plan.jobs_on(m)
            if other.running
            and (held := plan.allocation_of(other)) is not None
            and held == other.allocation
            and held.units == GPU_UNITS
            and len(held.shares) == 1
            and not other.request.servers
            and may_move(other)
        ]
        movable.sort(key=lambda mover: mover[:2])
        # the smallest job that is large enough, else the largest jobs together
        enough = next((mover for mover in movable if mover[0] >= missing), None)
        for gpus, _, other, held in [enough] if enough and missing > 0 else reversed(movable):
            if missing > 0:
                movers.append(other)
                free |= held.shares[0][1]
                missing -= gpus
        if missing > 0:
            return None, []
        shares.append((m, lowest_bits(free, count)))
        unplaced_gpus -= count
    return Allocation(tuple(shares), job.gpus), movers


def _move(plan: Plan, mover: Job, among: int) -> bool:
    gpus = mover.allocated.gpus
    servers = plan.cluster.fewest_servers(gpus)
    return plan.assign(mover, pack(plan.cluster, gpus, servers=servers, among=among))
