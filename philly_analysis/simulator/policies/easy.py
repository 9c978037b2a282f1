"""EASY: jobs may pass a gang that waits, if they do not delay its start."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import merge
from typing import cast

import numpy as np

from philly_analysis.simulator.cluster.cluster import Leaving
from philly_analysis.simulator.cluster.placement import seat
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Place
from philly_analysis.simulator.jobs.queue_arrays import Line
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Plan, View, Wish

_EPS_S = 1e-6


@dataclass(frozen=True)
class Easy(Policy):
    """First come, first served, with a reservation for the first gang that does not fit.

    The reservation is the earliest moment at which, as far as is believed, enough running jobs
    will have ended. Others may start out of turn if they are believed to end by then, or use
    GPUs that the gang will not need. Without this (``fifo`` with ``backfill``) gangs starve. Of a
    share of a GPU the same holds: who is first will find as much of one left.

    How long a run will take is known up to a factor: users overestimate.
    """

    name = "easy"
    SOURCE = "Lifka, ANL/IBM SP, JSSPP'95; Mu'alem and Feitelson, TPDS'01"

    parts = True

    estimate: float = knob(
        1.0, "run time that is believed, in multiples of the true one", within=Bounds(1, 1000)
    )

    def standing(self, job: Job, now_s: float) -> float:
        """Return when its run is believed to end: whose ends first stands first."""
        if not job.running:
            return now_s + self.estimate * job.believed_left_s(now_s)
        return job.started_s + self.estimate * (job.believed_end_s() - job.started_s)

    def decide(self, view: View) -> Wish:
        """Start jobs in turn, then those behind that delay the first that waits by nothing."""
        if view.cluster.full or not view.queue.groups:
            return {}
        plan = view.plan()
        waiting: list[Job] = []
        plan.offer(lambda job: self._in_turn(plan, job, waiting))
        if waiting and not plan.cluster.full:
            self._backfill(plan, waiting[0])
        return plan.wish

    def _in_turn(self, plan: Plan, job: Job, waiting: list[Job]) -> bool | None:
        if plan.grant(job, seat(plan.cluster, job.size)):
            return True
        waiting.append(job)
        return None

    def _backfill(self, plan: Plan, first: Job) -> None:
        starts_s, then = self._reservation(plan, first)
        now_s, cluster = plan.view.now_s, plan.cluster
        while not cluster.full:
            heads = []
            for size in cast("Iterable[int]", plan.view.queue.groups):
                if grant := seat(cluster, size):
                    spares = starts_s == np.inf or then.fits(first.size, beside=grant)
                    head = self._next(plan, size, np.inf if spares else starts_s - now_s, first)
                    if head is not None:
                        heads.append((head, grant))
            if not heads:
                return
            (_, _, job), grant = min(heads)
            if now_s + self.estimate * job.believed_left_s(now_s) > starts_s + _EPS_S:
                then.add(grant, -1)
            plan.grant(job, grant)

    def _reservation(self, plan: Plan, first: Job) -> tuple[float, Leaving]:
        """Return when a job can start, as is believed, and what will then be free."""
        now_s, then = plan.view.now_s, Leaving(plan.cluster)
        started = [
            Place(self.standing(job, now_s), job.index, job)
            for job, grant in plan.wish.items()
            if grant is not None
        ]
        starts_s = now_s
        for place in merge(plan.view.running.places(), sorted(started)):
            if place.key > starts_s and then.fits(first.size):
                break
            if (grant := plan.held(place.job)) is not None:
                then.add(grant)
            starts_s = max(place.key, now_s)
        else:
            if not then.fits(first.size):  # not before something is repaired
                return np.inf, then
        return starts_s, then

    def _next(self, plan: Plan, size: int, within_s: float, first: Job) -> Place | None:
        """Return the first of a size that the plan has not started and that ends in time."""
        line = self._line(plan.view, size)
        [takes_s] = line.columns()
        for at in np.flatnonzero(takes_s <= within_s + _EPS_S):
            place = line.places[at]
            if place.job is not first and plan.held(place.job) is None:
                return place
        return None

    def _line(self, view: View, size: int) -> Line:
        """Return the waiting jobs of a size, with how long each will run, as is believed."""
        order, line = view.queue.groups[size], view.kept.get(size)
        if line is None or not line.of(order):
            line = view.kept[size] = Line(
                order, lambda job: (self.estimate * job.believed_left_s(0.0),)
            )
        return line
