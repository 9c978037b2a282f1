"""Preempt running jobs for waiting jobs with a smaller priority key."""

from collections.abc import Callable, Iterator
from functools import partial
from heapq import merge
from itertools import tee
from operator import attrgetter
from typing import Any

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.capacity import allocate, has_room
from philly_analysis.simulator.cluster.freed_capacity import FreedCapacity
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import pack_whole_servers
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry
from philly_analysis.simulator.policies.view import Decision, Plan, View

CONSOLIDATE = "place gangs only on one server, or else on whole ones and one more for the rest"
"""Meaning of the knob of policies that consolidate gangs."""

COUNTED = "preempt by GPU count, even if a gang then does not fit on the servers"
"""Meaning of the knob of policies that preempt by GPU count."""

_RUNNING = attrgetter("running")

Find = Callable[[Plan, Job], Allocation | None]
"""Returns GPUs for a job for which there are enough; None if the job does not fit the servers."""


def find_gpus(plan: Plan, job: Job, *, consolidate: bool) -> Allocation | None:
    """Find GPUs for a job as requested, or for a gang without servers on the fewest only."""
    if consolidate and job.size >= GPU_UNITS and not job.request.servers:
        return pack_whole_servers(plan.cluster, job.gpus)
    return allocate(plan.cluster, job.request)


def by_running_key(view: View) -> Iterator[tuple[Any, Job]]:
    """Yield the running jobs with their priority keys, in reverse order of their running keys."""
    now_s = view.now_s
    return ((view.key(job, now_s), job) for job in reversed(view.running))


class Victims:
    """Running jobs with their priority keys, the greatest key first.

    Each key is computed once, when a reader first needs it.
    """

    __slots__ = ("_items",)

    def __init__(self, worst_first: Iterator[tuple[Any, Job]]) -> None:
        self._items = tee(worst_first, 1)[0]

    def __iter__(self) -> Iterator[tuple[Any, Job]]:
        return tee(self._items)[1]  # from the first job on

    @property
    def greatest(self) -> Any:
        """The greatest key; there must be a running job."""
        return next(iter(self))[0]


def may_start(view: View, victims: Victims) -> bool:
    """Whether the first job of a group fits, now or after preemption."""
    heads = view.queue.heads()
    if not heads:
        return False
    if min([head.job.size for head in heads]) <= view.cluster.largest_fit:
        return True
    return bool(view.running) and min(heads).key < victims.greatest


def serve(plan: Plan, victims: Victims, find: Find | None = None) -> None:
    """Plan the start of jobs by the priority key, preempting running jobs with greater keys.

    A gang that still does not fit is skipped; later jobs may use the remaining GPUs. Of two jobs
    that share a GPU one may be preempted and the other continue. By default a job is placed on as
    few servers as possible.
    """
    cluster, view = plan.cluster, plan.view
    for job in plan.offers():
        if job.running and plan.restore(job):
            continue
        if not has_room(cluster, job.request):
            key = plan.offered.key
            # then no later job may preempt others either
            if not view.running or victims.greatest <= key:
                if cluster.full:
                    return
                continue
            if job.running:  # released just now: all later jobs are released as well
                continue
            chosen = _chosen_victims(plan, job, key, victims)
            if not chosen:
                continue
            for victim in chosen:
                plan.release(victim)
        plan.assign(job, find(plan, job) if find else allocate(cluster, job.request))


def _chosen_victims(plan: Plan, job: Job, key: Any, victims: Victims) -> list[Job]:
    """Return the jobs to preempt so that a job fits, worst first; none if the job cannot fit."""
    freed = FreedCapacity(plan.cluster, job.request)
    chosen = []
    for greater, victim in victims:
        if greater <= key:
            return []
        if (held := plan.allocation_of(victim)) is not None:
            chosen.append(victim)
            freed.add(held)
            if freed.fits():
                return chosen
    return []


def preempt_for_gpus(
    view: View,
    worst_first: Iterator[tuple[Any, Job]] | None = None,
    *,
    consolidate: bool = False,
    counted: bool = False,
) -> Decision:
    """Allocate GPUs to the jobs of smallest key, where jobs are preempted for GPUs alone.

    A gang to be consolidated may have to wait even though later jobs hold enough GPUs.

    Parameters
    ----------
    worst_first
        Running jobs with their priority keys, the greatest first; by default in reverse order of
        their running keys.
    consolidate
        Whether gangs are placed on the fewest servers only.
    counted
        Whether jobs are preempted by GPU count, even if a gang then does not fit.
    """
    if counted:
        return _preempt_by_count(view, consolidate=consolidate)
    victims = Victims(by_running_key(view) if worst_first is None else worst_first)
    if not _may_change(view, victims, consolidate=consolidate):
        return {}
    plan = view.plan()
    serve(plan, victims, partial(find_gpus, consolidate=True) if consolidate else None)
    return plan.decision


def _may_change(view: View, victims: Victims, *, consolidate: bool) -> bool:
    """Whether a job may start, now or after preemption."""
    changed, heads = view.changed, view.queue.heads()
    came = not all(map(_RUNNING, changed))
    if not heads or not changed or came or view.freed or consolidate:
        return may_start(view, victims)
    # jobs that fit have started: a change needs a running job behind the first waiting job
    after = max([view.key(job, view.now_s) for job in changed]) > min(heads).key
    return after and may_start(view, victims)


def _preempt_by_count(view: View, *, consolidate: bool) -> Decision:
    """Choose jobs by GPU count, preempt all others, and then place the chosen ones."""
    if not view.queue.groups:
        return {}
    plan = view.plan()
    for job in view.running:
        plan.release(job)
    chosen = _chosen_by_count(view, plan.cluster.free_units)
    for job in chosen:
        if job.running:
            plan.restore(job)
    for job in chosen:
        if not job.running:
            plan.assign(job, find_gpus(plan, job, consolidate=consolidate))
    return plan.decision


def _chosen_by_count(view: View, free_units: int) -> list[Job]:
    """Return the jobs of smallest key that fit in number of GPU units."""
    now_s, chosen = view.now_s, []
    running = sorted(Entry(view.key(job, now_s), job.index, job) for job in view.running)
    waiting = (jobs.entries() for jobs in view.queue.groups.values())
    # the jobs of a group have one size: if one job does not fit, no job of the group fits
    for entry in merge(running, *waiting):
        if entry.job.size <= free_units:
            free_units -= entry.job.size
            chosen.append(entry.job)
            if not free_units:
                break
    return chosen
