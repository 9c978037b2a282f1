"""The scheduler of the Philly study: quotas, gang requests, relaxed locality, preemption."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain
from typing import NamedTuple, cast

from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.defragment import start_by_migration
from philly_analysis.simulator.policies.gang_requests import GangRequests
from philly_analysis.simulator.policies.knobs import PERIOD, WAIT, Bounds, check_at_most, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.relaxed_locality import find_at_step, part_at_step
from philly_analysis.simulator.policies.view import Decision, Plan, View

_EPS_S = 1e-6

_RETRY_S = 1e-3
"""Delay after which a preempted job requests GPUs again, or may preempt a job that just started."""

_DECIDE_AGAIN = "decide again"
_CANDIDATES = "candidates of the last decision, if it changed nothing"


class _Group(NamedTuple):
    """Jobs of one virtual cluster, request, size (GPU units) and step of relaxed locality."""

    vc: str
    request: Request
    size: int
    step: int


@dataclass(frozen=True)
class Philly(Policy):
    """The Philly scheduler: quotas with idle GPUs shared, gang requests with relaxed locality.

    A gang requests the fewest servers inside one rack. While its virtual cluster is within quota,
    the first gang of each size holds GPUs for up to ``hold_s``, and tries again whenever GPUs are
    freed. Then the gang releases its GPUs, requests once with relaxed locality, and backs off for
    ``backoff_s``; each further cycle is one step more relaxed. Single GPUs are placed by best fit.
    A gang that requested a number of servers, as no gang in Philly's log, neither relaxes nor holds
    GPUs. Idle GPUs go to the virtual cluster that uses the smallest share of its quota; a virtual
    cluster may exceed its quota. When nearly all GPUs are in use, a job within quota that has
    waited for ``hold_s`` preempts the youngest jobs of virtual clusters above quota. Jobs whose
    virtual cluster then still uses its quota are preempted first, larger jobs only if needed.

    Two knobs are not Philly's, but guidelines of the study. ``asks`` is the number of requests
    before locality is relaxed. ``migrate_after_s`` allows migration against fragmentation: other
    jobs move, without preemption or spreading, for a gang that fits in number but not on few
    servers.

    The policy is YARN with gangs: later systems that compare with Philly's capacity scheduler
    (YARN-CS in AntMan) mean this one.

    Not modelled: data locality, the start-up time of the application master, and the rules for how
    far a user's job may be relaxed.
    """

    name = "philly"
    SOURCE = "Jeon et al., ATC'19, sections 2.3 and 3.1"
    steady = True
    quotas = True
    fractional = True

    hold_s: float = knob(180.0, "for how long an incomplete gang holds GPUs", within=PERIOD)
    backoff_s: float = knob(120.0, "back-off between two requests of a gang", within=PERIOD)
    relax: tuple[float, ...] = knob(
        (1, 2, 4),
        "servers of a rack per step, in multiples of the fewest; then anywhere",
        within=Bounds(1, 1000),
        rises=True,
    )
    asks: int = knob(1, "requests of a gang before it relaxes by a step", within=Bounds(1, 10_000))
    preempt_above_frac: float = knob(
        0.9, "share of GPUs in use above which quotas are enforced by preemption",
        within=Bounds(0, 1),
    )  # fmt: skip
    migrate_after_s: float = knob(
        FOREVER,
        "for how long a job runs before it may be moved to make room for a gang; inf: never",
        within=WAIT,
    )

    def __post_init__(self) -> None:
        """Check the bounds of the knobs, and that each request lasts for a round."""
        super().__post_init__()
        check_at_most(self, "round_s", "hold_s")

    @cached_property
    def _requests(self) -> GangRequests:
        return GangRequests(self.hold_s, self.backoff_s, self.asks, len(self.relax))

    def key(self, job: Job, now_s: float) -> float:
        """Return since when the job waits."""
        return job.queued_s

    def running_key(self, job: Job, now_s: float) -> float:
        """Return when the job started: the youngest jobs are preempted first."""
        return job.started_s

    def group(self, job: Job, now_s: float) -> _Group:
        """Return virtual cluster, request and step of locality."""
        return _Group(job.vc, job.request, job.size, self._requests.step(job, now_s))

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting gang relaxes, or a single GPU may preempt."""
        if job.running:
            return FOREVER
        if job.gpus == 1:
            return job.queued_s + self.hold_s
        step = self._requests.step(job, now_s)
        return self._requests.relaxation_s(job, step) if step < len(self.relax) else FOREVER

    def decide(self, view: View) -> Decision:
        """Complete gangs, start jobs, hold GPUs for gangs that do not fit, and enforce quotas."""
        if not view.queue.groups:
            return {}
        plan = view.plan()
        freed = bool(view.freed)
        for job in list(view.holding):
            if not self._requests.may_hold(job, view.now_s):
                plan.release(job)
                freed = True
        if freed:
            for job in list(view.holding):
                if plan.allocation_of(job) is not None:
                    plan.release(job)
                    self._start(plan, job) or self._hold(plan, job)
        candidates = self._candidates(plan)
        refused = self._offer(plan, candidates)
        again = False
        while any(self._enforce_quota(plan, head) for head, _ in refused):
            again = True
            refused = self._offer(plan, self._candidates(plan))
        entitled = [(head, behind) for head, behind in refused if self._within_quota(plan, head)]
        for head, behind in entitled:
            self._let_hold(plan, chain([head], behind))
        view.state[_CANDIDATES] = None if plan.touched else candidates
        decision = plan.decision
        if again or (entitled and self._starts_above_quota(plan, decision)):
            view.state[_DECIDE_AGAIN] = True
        return decision

    def wake_s(self, view: View) -> float:
        """Return when another gang becomes the first requesting one of a candidate group.

        Only the first gang of a group matters: if the first cannot start, none can.
        """
        if view.state.pop(_DECIDE_AGAIN, False):
            return view.now_s + _RETRY_S
        candidates = view.state.pop(_CANDIDATES, None)
        if candidates is None:
            candidates = self._candidates(view.plan())
            view.drop_plan()
        gangs = [group for group in candidates if group.size > GPU_UNITS]
        return min(
            (self._requests.front(view, group, after=True).until_s for group in gangs),
            default=FOREVER,
        )

    def _within_quota(self, plan: Plan, job: Job) -> bool:
        return plan.in_use(job.vc) + job.size <= plan.quota(job.vc)

    def _use(self, plan: Plan, vc: str) -> float:
        """Return the used share of a virtual cluster's quota."""
        return plan.in_use(vc) / max(plan.quota(vc), 1)

    def _start(self, plan: Plan, job: Job) -> bool:
        step = self._requests.step(job, plan.view.now_s)
        if plan.assign(job, find_at_step(plan.cluster, job, self.relax, step)):
            return True
        if self.migrate_after_s == FOREVER or job.request.servers:
            return False
        if job.size < GPU_UNITS or job.gpus > plan.cluster.free:
            return False
        before_s = plan.view.now_s - self.migrate_after_s + _EPS_S
        return start_by_migration(plan, job, lambda other: other.started_s <= before_s)

    def _let_hold(self, plan: Plan, jobs: Iterable[Job]) -> None:
        """Let the first gang that may hold GPUs in a group hold some GPUs."""
        if plan.cluster.free:
            for job in jobs:
                if job.gpus == 1 or self._requests.may_hold(job, plan.view.now_s):
                    if job.gpus > 1 and plan.allocation_of(job) is None:
                        self._hold(plan, job)
                    return

    def _hold(self, plan: Plan, job: Job) -> bool:
        if job.request.servers:
            return False
        step = self._requests.step(job, plan.view.now_s)
        return plan.assign(job, part_at_step(plan.cluster, job.gpus, self.relax, step))

    def _candidates(self, plan: Plan) -> list[_Group]:
        """Return the groups whose jobs fit or are within quota: only they start, hold or preempt.

        All other groups are skipped, whatever their length.
        """
        groups = cast("Iterable[_Group]", plan.view.queue.groups)
        unused, largest = plan.unused(), plan.cluster.largest_fit
        if not largest and min(unused.values(), default=0) >= 0:
            return []
        return [
            group
            for group in groups
            if group.size <= largest
            or group.size <= (unused[vc] if (vc := group.vc) in unused else plan.quota(vc))
        ]

    def _offer(self, plan: Plan, groups: Iterable[_Group]) -> list[tuple[Job, Iterator[Job]]]:
        """Start jobs, least used quota first; return each group's refused and later jobs."""
        requesting = {group: self._requests.requesting(plan.view, group) for group in groups}
        heap: list[tuple[float, float, int, Job, _Group]] = []

        def push_next(group: _Group) -> None:
            if (job := next(requesting[group], None)) is not None:
                heappush(heap, (self._use(plan, group.vc), job.queued_s, job.index, job, group))

        for group in requesting:
            push_next(group)
        refused: list[tuple[Job, Iterator[Job]]] = []
        no_room: set[tuple[Request, int]] = set()
        while heap:
            before, since_s, nth, job, group = heappop(heap)
            if (use := self._use(plan, group.vc)) > before:  # other jobs of its cluster started
                heappush(heap, (use, since_s, nth, job, group))
                continue
            shape = group.request, group.step
            if (held := plan.allocation_of(job)) is not None:  # the job holds GPUs, or is complete
                started = not held.partial
            else:
                fits = shape not in no_room and plan.cluster.fits(group.size)
                started = fits and self._start(plan, job)
            if not started:
                no_room.add(shape)
                refused.append((job, requesting[group]))
            else:
                push_next(group)
        return refused

    def _excess(self, plan: Plan) -> dict[str, int]:
        """Return the GPU units that virtual clusters use above their quota."""
        return {vc: -unused for vc, unused in plan.unused().items() if unused < 0}

    def _starts_above_quota(self, plan: Plan, decision: Decision) -> bool:
        """Whether a starting job may be preempted right away for a job within quota."""
        starting = {job.vc for job, new in decision.items() if new and not new.partial}
        return not starting.isdisjoint(self._excess(plan))

    def _enforce_quota(self, plan: Plan, job: Job) -> bool:
        """Preempt the youngest jobs above quota for a job within quota; return whether it fits."""
        view, cluster = plan.view, plan.cluster
        if (
            view.now_s - job.queued_s + _EPS_S < self.hold_s
            or not self._within_quota(plan, job)
            or not (excess := self._excess(plan))
            or sum(plan.in_use_by_vc().values()) / GPU_UNITS
            <= self.preempt_above_frac * cluster.capacity
        ):
            return False
        part = plan.allocation_of(job)
        held = part.size if part is not None else 0
        if cluster.free_units + held + sum(map(plan.in_use, excess)) < job.size:
            return False
        if part is not None:  # GPUs that the job holds count towards its gang
            plan.release(job)
        stopped: list[Job] = []
        started = False
        for victim in self._above_quota(plan, excess):
            plan.release(victim)
            stopped.append(victim)
            if started := cluster.fits(job.size) and self._start(plan, job):
                break
        if not started:
            plan.assign(job, part)
        for victim in stopped:  # a victim continues if its GPUs are still free
            plan.restore(victim)
        return started

    def _above_quota(self, plan: Plan, excess: dict[str, int]) -> Iterator[Job]:
        """Yield jobs to preempt, youngest first, until no virtual cluster exceeds its quota."""
        for larger in (False, True):
            for job in reversed(plan.view.running):
                if not excess:
                    return
                vc_excess = excess.get(job.vc, 0)
                if (
                    vc_excess
                    and (larger or job.size <= vc_excess)
                    and plan.allocation_of(job) is not None
                ):
                    yield job
                    excess[job.vc] = vc_excess - job.size
                    if vc_excess <= job.size:
                        del excess[job.vc]
