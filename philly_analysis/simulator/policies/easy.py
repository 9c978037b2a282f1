"""EASY backfilling: jobs may pass the first waiting gang if they do not delay it."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import merge
from typing import cast

import numpy as np

from philly_analysis.simulator.cluster.freed_capacity import FreedCapacity
from philly_analysis.simulator.cluster.placement import allocate
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View

_EPS_S = 1e-6


@dataclass(frozen=True)
class Easy(Policy):
    """First come, first served, with backfilling and a reservation for the first waiting gang.

    The reservation is the earliest time at which enough running jobs have ended, by their
    estimates. Other jobs may start out of turn if they are estimated to end by then, or use GPUs
    that the gang does not need. Without a reservation (``fifo`` with ``backfill``) gangs starve.
    Fractions of a GPU are reserved likewise.

    Run times are known up to a factor, as users overestimate.
    """

    name = "easy"
    SOURCE = "Lifka, ANL/IBM SP, JSSPP'95; Mu'alem and Feitelson, TPDS'01"

    fractional = True

    estimate: float = knob(
        1.0, "estimated run time, in multiples of the true one", within=Bounds(1, 1000)
    )

    def running_key(self, job: Job, now_s: float) -> float:
        """Return the estimated end of its run."""
        if not job.running:
            return now_s + self._takes_s(job, now_s)
        return job.started_s + self.estimate * (job.believed_end_s() - job.started_s)

    def _takes_s(self, job: Job, now_s: float = 0.0) -> float:
        """Return the estimated run time of a waiting job (s)."""
        return self.estimate * job.believed_left_s(now_s)

    def decide(self, view: View) -> Decision:
        """Start jobs in turn, then those behind that do not delay the first waiting one."""
        if view.cluster.full or not view.queue.groups:
            return {}
        plan = view.plan()
        waiting: list[Job] = []

        def start(job: Job) -> bool | None:
            if plan.assign(job, allocate(plan.cluster, job.size)):
                return True
            waiting.append(job)
            return None

        plan.offer(start)
        if waiting and not plan.cluster.full:
            self._backfill(plan, waiting[0])
        return plan.decision

    def _backfill(self, plan: Plan, first: Job) -> None:
        starts_s, then = self._reservation(plan, first)
        now_s, cluster = plan.view.now_s, plan.cluster
        while not cluster.full:
            heads = []
            for size in cast("Iterable[int]", plan.view.queue.groups):
                if found := allocate(cluster, size):
                    spare = starts_s == np.inf or then.fits(first.size, beside=found)
                    head = self._next(plan, size, np.inf if spare else starts_s - now_s, first)
                    if head is not None:
                        heads.append((head, found))
            if not heads:
                return
            (_, _, job), found = min(heads)
            if now_s + self._takes_s(job, now_s) > starts_s + _EPS_S:
                then.add(found, -1)
            plan.assign(job, found)

    def _reservation(self, plan: Plan, first: Job) -> tuple[float, FreedCapacity]:
        """Return the estimated start of a job, and the free capacity then."""
        now_s, then = plan.view.now_s, FreedCapacity(plan.cluster)
        started = [
            Entry(self.running_key(job, now_s), job.index, job)
            for job, new in plan.decision.items()
            if new is not None
        ]
        starts_s = now_s
        for entry in merge(plan.view.running.entries(), sorted(started)):
            if entry.key > starts_s and then.fits(first.size):
                break
            if (held := plan.allocation_of(entry.job)) is not None:
                then.add(held)
            starts_s = max(entry.key, now_s)
        else:
            if not then.fits(first.size):  # not before a repair
                return np.inf, then
        return starts_s, then

    def _next(self, plan: Plan, size: int, within_s: float, first: Job) -> Entry | None:
        """Return the first waiting job of a size that ends in time."""
        arrays = plan.view.arrays(size, lambda job: (self._takes_s(job),))
        [takes_s] = arrays.columns()
        for at in np.flatnonzero(takes_s <= within_s + _EPS_S):
            entry = arrays.entries[at]
            if entry.job is not first and plan.allocation_of(entry.job) is None:
                return entry
        return None
