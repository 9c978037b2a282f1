"""The study's scheduler: quotas, gangs held and released, locality relaxed step by step."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, floor
from typing import NamedTuple, cast

from philly_analysis.simulator.cluster import Grant
from philly_analysis.simulator.job import FOREVER, Job
from philly_analysis.simulator.order import Place
from philly_analysis.simulator.placement import packed, part_of_gang, within_rack
from philly_analysis.simulator.policies.policy import Policy, knob
from philly_analysis.simulator.view import Plan, View, Wish

_EPS_S = 1e-6


class _Group(NamedTuple):
    """Jobs that ask for the same: of one virtual cluster, of one size, equally relaxed."""

    vc: str
    gpus: int
    step: int


@dataclass(frozen=True)
class Philly(Policy):
    """Virtual clusters share idle GPUs; gangs ask for locality, wait, back off, and relax.

    A gang asks for the fewest servers inside one rack. While its virtual cluster is within
    quota it holds what it finds for up to ``hold_s``; then it lets go, asks once with relaxed
    locality, backs off for ``backoff_s``, and begins anew, one step more relaxed each time.
    Single GPUs are taken wherever they fit best. Idle GPUs go to the virtual cluster that uses
    least of its quota; one above quota may take them too. When nearly all GPUs are in use, a
    job within quota that has waited ``hold_s`` and does not mind where it runs stops the
    youngest jobs of virtual clusters above theirs.

    Not modelled: data locality, the application master's own start-up time, and what decides
    how far a particular user's job may be relaxed.
    """

    name = "philly"
    SOURCE = "Jeon et al., ATC'19, sections 2.3 and 3.1"
    quotas = True

    hold_s: float = knob(180.0, "seconds for which an incomplete gang holds GPUs")
    backoff_s: float = knob(120.0, "seconds between letting go and asking again")
    relax: tuple[float, ...] = knob(
        (1, 2, 4), "servers of a rack per step, in multiples of the fewest; then anywhere"
    )
    preempt_above_frac: float = knob(0.9, "GPUs in use above which quota is restored by force")

    def key(self, job: Job, now_s: float) -> float:
        """Return since when it waits."""
        return job.queued_s

    def standing(self, job: Job, now_s: float) -> float:
        """Return when it started: the youngest are stopped first."""
        return job.started_s

    def group(self, job: Job, now_s: float) -> _Group | None:
        """Return virtual cluster, gang and step of locality; None while it backs off."""
        if job.gpus == 1:
            return _Group(job.vc, 1, 0)
        if not self._asks(job, now_s):
            return None
        return _Group(job.vc, job.gpus, self._step(job, now_s))

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job lets go, or asks again."""
        if job.running:
            return FOREVER
        waited_s = now_s - job.queued_s + _EPS_S
        if job.gpus == 1:  # nothing to hold or relax; only its right to preempt comes with time
            return job.queued_s + self.hold_s if waited_s < self.hold_s else FOREVER
        cycle_s = self.hold_s + self.backoff_s
        cycles = floor(waited_s / cycle_s)
        hold_ends_s = cycles * cycle_s + self.hold_s
        return job.queued_s + (hold_ends_s if waited_s < hold_ends_s else (cycles + 1) * cycle_s)

    def decide(self, view: View) -> Wish:
        """Complete gangs, start what can start, hold for what cannot, and restore quotas."""
        if not view.queue.groups and not view.holding:
            return {}
        plan = view.plan()
        freed = bool(view.freed)
        for job in view.changed:
            if job in view.holding and not self._holds(plan, job):
                plan.release(job)
                freed = True
        if freed:
            for job in list(view.holding):
                if plan.held(job) is not None:
                    plan.release(job)
                    self._start(plan, job) or self._hold(plan, job)
        # nothing freed: only a job that is new or asks anew, and first of its group, can start
        groups = view.queue.groups if freed else map(view.queue.led_by, view.changed)
        refused = self._offer(plan, cast("Iterable[_Group | None]", groups))
        for job in refused:
            if not self._restore_quota(plan, job) and self._holds(plan, job):
                self._hold(plan, job)
        return plan.wish

    def _asks(self, job: Job, now_s: float) -> bool:
        """Whether a gang is not backing off: it holds, or has just let go and relaxed."""
        waited_s = (now_s - job.queued_s + _EPS_S) % (self.hold_s + self.backoff_s)
        return waited_s <= self.hold_s + 2 * _EPS_S

    def _holds(self, plan: Plan, job: Job) -> bool:
        """Whether a gang may hold what it finds: before its time is up, and within quota."""
        waited_s = (plan.view.now_s - job.queued_s + _EPS_S) % (self.hold_s + self.backoff_s)
        return job.gpus > 1 and waited_s < self.hold_s and self._within_quota(plan, job)

    def _step(self, job: Job, now_s: float) -> int:
        waited_s = now_s - job.queued_s + _EPS_S
        steps = floor((waited_s - self.hold_s) / (self.hold_s + self.backoff_s)) + 1
        return min(max(steps, 0), len(self.relax))

    def _within_quota(self, plan: Plan, job: Job) -> bool:
        quota = plan.view.quotas.get(job.vc, plan.cluster.capacity)
        return plan.in_use(job.vc) + job.gpus <= quota

    def _use(self, plan: Plan, vc: str) -> float:
        """Return the share of its quota that a virtual cluster uses."""
        return plan.in_use(vc) / max(plan.view.quotas.get(vc, plan.cluster.capacity), 1)

    def _servers(self, plan: Plan, job: Job, step: int) -> int:
        return ceil(self.relax[step] * plan.cluster.fewest(job.gpus))

    def _search(self, plan: Plan, job: Job) -> Grant | None:
        step = 0 if job.gpus == 1 else self._step(job, plan.view.now_s)
        if job.gpus == 1 or step == len(self.relax):
            return packed(plan.cluster, job.gpus)
        servers = self._servers(plan, job, step)
        if servers == 1:
            return packed(plan.cluster, job.gpus, servers=1)
        return within_rack(plan.cluster, job.gpus, servers=servers)

    def _start(self, plan: Plan, job: Job) -> bool:
        return plan.grant(job, self._search(plan, job))

    def _hold(self, plan: Plan, job: Job) -> bool:
        step = self._step(job, plan.view.now_s)
        if step == len(self.relax):
            return plan.grant(job, part_of_gang(plan.cluster, job.gpus, servers=job.gpus))
        servers = self._servers(plan, job, step)
        racks = plan.cluster.racks
        parts = [part_of_gang(plan.cluster, job.gpus, servers=servers, among=r) for r in racks]
        found = [part for part in parts if part is not None]
        return plan.grant(job, max(found, key=lambda part: part.gpus, default=None))

    def _offer(self, plan: Plan, groups: Iterable[_Group | None]) -> list[Job]:
        """Start what fits, least served virtual cluster first; return the heads that do not."""
        orders = plan.view.queue.groups

        def asking(group: _Group, at: int) -> tuple[float, Place, _Group, int]:
            return self._use(plan, group.vc), orders[group].places[at], group, at

        heap = [asking(group, 0) for group in groups if group is not None]
        heapify(heap)
        refused: list[Job] = []
        no_room: set[tuple[int, int]] = set()
        while heap:
            use, place, group, at = heappop(heap)
            if self._use(plan, group.vc) > use:  # jobs of its virtual cluster started meanwhile
                heappush(heap, asking(group, at))
                continue
            job = place.job
            ask = group.gpus, group.step
            if (held := plan.held(job)) is not None:  # it holds, or was just completed
                started = not held.partial
            elif ask in no_room or group.gpus > plan.cluster.free:
                started = False
                refused.append(job)
            else:
                started = self._start(plan, job)
                if not started:
                    no_room.add(ask)
                    refused.append(job)
            if started and at + 1 < len(orders[group]):
                heappush(heap, asking(group, at + 1))
        return refused

    def _restore_quota(self, plan: Plan, job: Job) -> bool:
        """Stop the youngest jobs above quota for one within it; False when that is not due."""
        view, cluster = plan.view, plan.cluster
        missing = job.gpus - cluster.free
        in_use = cluster.capacity - cluster.free
        anywhere = job.gpus == 1 or self._step(job, view.now_s) == len(self.relax)
        if (
            missing <= 0
            or not anywhere
            or view.now_s - job.queued_s + _EPS_S < self.hold_s
            or in_use <= self.preempt_above_frac * cluster.capacity
            or not self._within_quota(plan, job)
        ):
            return False
        excess = {
            vc: max(0, plan.in_use(vc) - view.quotas.get(vc, cluster.capacity)) for vc in view.used
        }
        if sum(excess.values()) < missing:
            return False
        victims = []
        for victim in reversed(view.running):
            if 0 < victim.gpus <= excess[victim.vc] and plan.held(victim) is not None:
                victims.append(victim)
                excess[victim.vc] -= victim.gpus
                missing -= victim.gpus
                if missing <= 0:
                    break
        if missing > 0:
            return False
        for victim in victims:
            plan.release(victim)
        return plan.grant(job, packed(plan.cluster, job.gpus))
