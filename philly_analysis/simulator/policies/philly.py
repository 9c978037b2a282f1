"""The study's scheduler: quotas, gangs held and released, locality relaxed step by step."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain
from math import ceil
from typing import NamedTuple, cast

from philly_analysis.simulator.cluster.cluster import Grant
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import nearest, packed, part_of_gang, seat, within
from philly_analysis.simulator.cluster.topology import RACK
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.ordering import Order
from philly_analysis.simulator.policies.defragment import make_room
from philly_analysis.simulator.policies.gang_requests import Patience
from philly_analysis.simulator.policies.knobs import LONG_S, PERIOD, Bounds, check_below, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Plan, View, Wish

_EPS_S = 1e-6

_AT_ONCE_S = 1e-3
"""How much later a job asks again that was stopped, or may stop one that has just started."""

_AGAIN = "to be decided again at once"
_CONCERNED = "groups that may start, hold or restore, where nothing was wished"


class _Group(NamedTuple):
    """Jobs that ask for the same: of one virtual cluster, of one size, equally relaxed."""

    vc: str
    size: int
    step: int


class _Front(NamedTuple):
    """Who of a group is the first to ask, and until when if nobody comes or goes."""

    order: Order
    version: int
    from_s: float
    job: Job | None
    until_s: float


@dataclass(frozen=True)
class Philly(Policy):
    """Virtual clusters share idle GPUs; gangs ask for locality, wait, back off, and relax.

    A gang asks for the fewest servers inside one rack. While its virtual cluster is within
    quota, the first of those that ask for the same holds what it finds for up to ``hold_s``; then
    it lets go, asks once with relaxed locality, backs off for ``backoff_s``, during which it does
    not ask, and begins anew, one step more relaxed each time. Single GPUs are taken wherever they
    fit best. Idle GPUs go to the virtual cluster that uses least of its quota; one above quota
    may take them too. When nearly all GPUs are in use, a job within quota that has waited
    ``hold_s`` stops the youngest jobs of virtual clusters above theirs: first such as leave
    theirs with its quota, then, if that is not enough, larger ones.

    Two knobs are not Philly's, but what its study asks for: more patience for locality (``asks``),
    and migration to defragment (``migrate_after_s``): a gang that fits in number but nowhere
    together has jobs moved out of its way, none of which is stopped or spread for it.

    It is a YARN with gangs: where later systems compare with the capacity scheduler that Philly ran
    (YARN-CS in AntMan), they mean this.

    Not modelled: data locality, the application master's own start-up time, and what decides
    how far a particular user's job may be relaxed.
    """

    name = "philly"
    SOURCE = "Jeon et al., ATC'19, sections 2.3 and 3.1"
    quotas = True
    parts = True

    hold_s: float = knob(
        180.0, "for how long an incomplete gang holds GPUs", unit="s", within=PERIOD
    )
    backoff_s: float = knob(120.0, "from letting go to asking again", unit="s", within=PERIOD)
    relax: tuple[float, ...] = knob(
        (1, 2, 4),
        "servers of a rack per step, in multiples of the fewest; then anywhere",
        within=Bounds(1, 1000),
        rises=True,
    )
    asks: int = knob(
        1, "times that a gang asks before it relaxes by a step", within=Bounds(1, 10_000)
    )
    preempt_above_frac: float = knob(
        0.9, "share of GPUs in use above which quota is restored by force", within=Bounds(0, 1)
    )
    migrate_after_s: float = knob(
        FOREVER,
        "for how long a job runs before it may be moved to make room for a gang; inf: never",
        unit="s",
        within=Bounds(0, LONG_S, or_else=(FOREVER,)),
    )

    def __post_init__(self) -> None:
        """Refuse rounds so far apart that gangs might never ask in one."""
        super().__post_init__()
        check_below(self, self.name, "round_s", "hold_s", 1)

    @cached_property
    def _patience(self) -> Patience:
        return Patience(self.hold_s, self.backoff_s, self.asks, len(self.relax))

    def key(self, job: Job, now_s: float) -> float:
        """Return since when it waits."""
        return job.queued_s

    def standing(self, job: Job, now_s: float) -> float:
        """Return when it started: the youngest are stopped first."""
        return job.started_s

    def group(self, job: Job, now_s: float) -> _Group:
        """Return virtual cluster, gang and step of locality."""
        return _Group(job.vc, job.size, self._patience.step(job, now_s))

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job relaxes, or (one GPU) may restore its quota."""
        if job.running:
            return FOREVER
        if job.gpus == 1:
            return job.queued_s + self.hold_s
        step = self._patience.step(job, now_s)
        return self._patience.relaxes_s(job, step) if step < len(self.relax) else FOREVER

    def decide(self, view: View) -> Wish:
        """Complete gangs, start what can start, hold for what cannot, and restore quotas."""
        if not view.queue.groups:
            return {}
        plan = view.plan()
        freed = bool(view.freed)
        for job in list(view.holding):
            if not self._patience.in_time(job, view.now_s):
                plan.release(job)
                freed = True
        if freed:
            for job in list(view.holding):
                if plan.held(job) is not None:
                    plan.release(job)
                    self._start(plan, job) or self._hold(plan, job)
        concerned = self._concerned(plan)
        refused = self._offer(plan, concerned)
        again = False
        while any(self._restore_quota(plan, head) for head, _ in refused):
            again = True
            refused = self._offer(plan, self._concerned(plan))
        entitled = [(head, line) for head, line in refused if self._within_quota(plan, head)]
        for head, line in entitled:
            self._let_hold(plan, chain([head], line))
        view.kept[_CONCERNED] = None if plan.touched else concerned
        wish = plan.wish
        if again or (entitled and self._starts_above_quota(plan, wish)):
            view.kept[_AGAIN] = True
        return wish

    def wake_s(self, view: View) -> float:
        """Return when another gang is the first to ask that may start, hold or restore its quota.

        Of those that ask for the same only the first matters: if it cannot start, none can.
        """
        if view.kept.pop(_AGAIN, False):
            return view.now_s + _AT_ONCE_S
        concerned = view.kept.pop(_CONCERNED, None)
        if concerned is None:
            concerned = self._concerned(view.plan())
            view.drop_plan()
        gangs = [group for group in concerned if group.size > WHOLE]
        return min(
            (self._front(view, group, after=True).until_s for group in gangs), default=FOREVER
        )

    def _front(self, view: View, group: _Group, *, after: bool = False) -> _Front:
        """Return the first of a group's jobs that asks now, or does right after."""
        order, front = view.queue.groups[group], view.kept.get(group)
        from_s = view.now_s + _EPS_S * (2 if after else -2)
        if (
            front is None
            or front.order is not order
            or front.from_s > from_s
            or front.version != order.version
            or front.until_s <= view.now_s + _EPS_S
        ):
            front = self._first_asking(order, from_s, view.now_s)
            view.kept[group] = front
        return front

    def _first_asking(self, order: Order, from_s: float, now_s: float) -> _Front:
        until_s, patience = FOREVER, self._patience
        for job in order:
            if job.gpus == 1:
                return _Front(order, order.version, from_s, job, until_s)
            lets_go_s = patience.lets_go_s(job, patience.cycle(job, now_s))
            if from_s <= lets_go_s:
                return _Front(order, order.version, from_s, job, min(until_s, lets_go_s))
            until_s = min(until_s, lets_go_s + self.backoff_s)
        return _Front(order, order.version, from_s, None, until_s)

    def _within_quota(self, plan: Plan, job: Job) -> bool:
        return plan.in_use(job.vc) + job.size <= plan.quota(job.vc)

    def _use(self, plan: Plan, vc: str) -> float:
        """Return the share of its quota that a virtual cluster uses."""
        return plan.in_use(vc) / max(plan.quota(vc), 1)

    def _servers(self, plan: Plan, job: Job, step: int) -> int:
        return ceil(self.relax[step] * plan.cluster.fewest(job.gpus))

    def _search(self, plan: Plan, job: Job) -> Grant | None:
        step = self._patience.step(job, plan.view.now_s)
        if job.gpus == 1:
            return seat(plan.cluster, job.size)
        if step == len(self.relax):
            return nearest(plan.cluster, job.gpus, beyond=RACK)
        servers = self._servers(plan, job, step)
        if servers == 1:
            return packed(plan.cluster, job.gpus, servers=1)
        return within(plan.cluster, job.gpus, RACK, servers=servers)

    def _start(self, plan: Plan, job: Job) -> bool:
        if plan.grant(job, self._search(plan, job)):
            return True
        if self.migrate_after_s == FOREVER or job.size < WHOLE or job.gpus > plan.cluster.free:
            return False
        before_s = plan.view.now_s - self.migrate_after_s + _EPS_S
        return make_room(plan, job, lambda other: other.started_s <= before_s)

    def _let_hold(self, plan: Plan, line: Iterable[Job]) -> None:
        """Let the first gang that may hold GPUs, of those that ask for the same, hold some."""
        if plan.cluster.free:
            for job in line:
                if job.gpus == 1 or self._patience.in_time(job, plan.view.now_s):
                    if job.gpus > 1 and plan.held(job) is None:
                        self._hold(plan, job)
                    return

    def _hold(self, plan: Plan, job: Job) -> bool:
        step = self._patience.step(job, plan.view.now_s)
        if step == len(self.relax):
            return plan.grant(job, part_of_gang(plan.cluster, job.gpus, servers=job.gpus))
        servers = self._servers(plan, job, step)
        racks = plan.cluster.topology.racks
        parts = [part_of_gang(plan.cluster, job.gpus, servers=servers, among=r) for r in racks]
        found = [part for part in parts if part is not None]
        return plan.grant(job, max(found, key=lambda part: part.gpus, default=None))

    def _concerned(self, plan: Plan) -> list[_Group]:
        """Return the groups that may start, hold or restore: there is room, or they are entitled.

        All others are passed by, however many wait in them.
        """
        groups = cast("Iterable[_Group]", plan.view.queue.groups)
        unused, widest = plan.unused(), plan.cluster.widest
        if not widest and min(unused.values(), default=0) >= 0:
            return []
        return [
            group
            for group in groups
            if group.size <= widest
            or group.size <= (unused[vc] if (vc := group.vc) in unused else plan.quota(vc))
        ]

    def _asking(self, plan: Plan, group: _Group) -> Iterator[Job]:
        """Yield the jobs of a group that do not back off."""
        front = self._front(plan.view, group).job
        if front is not None:
            yield front
            for job in plan.view.queue.groups[group]:
                if job is not front and self._patience.asks_now(job, plan.view.now_s):
                    yield job

    def _offer(self, plan: Plan, groups: Iterable[_Group]) -> list[tuple[Job, Iterator[Job]]]:
        """Start what fits, least served virtual cluster first; return who does not, and then."""
        lines = {group: self._asking(plan, group) for group in groups}
        heap: list[tuple[float, float, int, Job, _Group]] = []

        def ask(group: _Group) -> None:
            if (job := next(lines[group], None)) is not None:
                heappush(heap, (self._use(plan, group.vc), job.queued_s, job.index, job, group))

        for group in lines:
            ask(group)
        refused: list[tuple[Job, Iterator[Job]]] = []
        no_room: set[tuple[int, int]] = set()
        while heap:
            before, since_s, nth, job, group = heappop(heap)
            if (use := self._use(plan, group.vc)) > before:  # others of its cluster have started
                heappush(heap, (use, since_s, nth, job, group))
                continue
            shape = group.size, group.step
            if (held := plan.held(job)) is not None:  # it holds, or was just completed
                started = not held.partial
            else:
                fits = shape not in no_room and plan.cluster.fits(group.size)
                started = fits and self._start(plan, job)
            if not started:
                no_room.add(shape)
                refused.append((job, lines[group]))
            else:
                ask(group)
        return refused

    def _excess(self, plan: Plan) -> dict[str, int]:
        """Return the parts of GPUs that virtual clusters use above their quota, those that do."""
        return {vc: -unused for vc, unused in plan.unused().items() if unused < 0}

    def _starts_above_quota(self, plan: Plan, wish: Wish) -> bool:
        """Whether somebody starts who could be stopped again for one within quota."""
        starting = {job.vc for job, grant in wish.items() if grant and not grant.partial}
        return not starting.isdisjoint(self._excess(plan))

    def _restore_quota(self, plan: Plan, job: Job) -> bool:
        """Stop the youngest jobs above quota for one within it; False when that is not due."""
        view, cluster = plan.view, plan.cluster
        if (
            view.now_s - job.queued_s + _EPS_S < self.hold_s
            or not self._within_quota(plan, job)
            or not (excess := self._excess(plan))
            or sum(plan.in_use_by_vc().values()) / WHOLE
            <= self.preempt_above_frac * cluster.capacity
        ):
            return False
        part = plan.held(job)
        held = part.size if part is not None else 0
        if cluster.room + held + sum(map(plan.in_use, excess)) < job.size:
            return False
        if part is not None:  # what it holds already counts towards its gang
            plan.release(job)
        stopped: list[Job] = []
        started = False
        for victim in self._above_quota(plan, excess):
            plan.release(victim)
            stopped.append(victim)
            if started := cluster.fits(job.size) and self._start(plan, job):
                break
        if not started:
            plan.grant(job, part)
        for victim in stopped:  # whose GPUs it does not take goes on
            plan.return_to(victim)
        return started

    def _above_quota(self, plan: Plan, excess: dict[str, int]) -> Iterator[Job]:
        """Yield jobs to stop, the youngest first, till nobody uses more than its quota."""
        for larger in (False, True):
            for job in reversed(plan.view.running):
                if not excess:
                    return
                left = excess.get(job.vc, 0)
                if left and (larger or job.size <= left) and plan.held(job) is not None:
                    yield job
                    excess[job.vc] = left - job.size
                    if left <= job.size:
                        del excess[job.vc]
