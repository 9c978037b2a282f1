"""EASY backfilling: jobs may pass the first waiting gang if they do not delay it."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush, merge
from typing import ClassVar, Self, cast

import numpy as np

from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.freed_capacity import FreedCapacity
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry
from philly_analysis.simulator.policies.knobs import LONG_S, WAIT, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.workload import JobSpec

_EPS_S = 1e-6
ESTIMATE = "estimated run time, in multiples of the true one"
"""Meaning of the knob of policies that plan by run times."""
ESTIMATES = Bounds(1, 1000)
"""Bounds of the knob: users overestimate."""
_HALF_LIFE_S = 7 * 86_400.0
"""Time in which past use counts half: Slurm's default of PriorityDecayHalfLife."""


@dataclass(frozen=True)
class Easy(Policy):
    """First come, first served, with backfilling and a reservation for the first waiting gang.

    The reservation is the earliest time at which enough running jobs have ended, by their
    estimates, on as many servers as the gang requests. Other jobs may start out of turn if they end
    before the reservation by their estimates, or leave the gang enough room. Without a reservation
    (``fifo`` with ``backfill``) gangs starve. Fractions of a GPU are reserved likewise.

    Run times are known up to a factor, as users overestimate.

    The order can follow Slurm's multifactor priority, relative to the weight of the age. Each GPU
    of a job then counts as waiting time, and so does each share that the job's virtual cluster did
    not use. The share is fixed at the submission, as if no earlier job had waited.
    """

    name = "easy"
    SOURCE = (
        "Lifka, ANL/IBM SP, JSSPP'95; Mu'alem and Feitelson, TPDS'01; Slurm, priority/multifactor"
    )
    steady = True

    fractional = True

    estimate: float = knob(1.0, ESTIMATE, within=ESTIMATES)

    size_s: float = knob(
        0.0,
        "waiting time that each GPU counts as; below 0 small jobs come first",
        within=Bounds(-LONG_S, LONG_S),
    )
    share_s: float = knob(
        0.0, "waiting time that a virtual cluster without use counts as", within=WAIT
    )

    _unused: ClassVar[Mapping[str, float]] = {}

    def prepare(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with the fair-share factor of each job, if the factor counts."""
        prepared = replace(self)
        if self.share_s:
            object.__setattr__(prepared, "_unused", fair_share_factors(specs))
        return prepared

    def key(self, job: Job, now_s: float) -> float:
        """Return the submission time, moved earlier by the credit for size and fair share."""
        share = self._unused.get(job.spec.job_id, 0.0)
        return job.spec.submit_s - self.size_s * job.gpus - self.share_s * share

    def running_key(self, job: Job, now_s: float) -> float:
        """Return the estimated end of the job's run."""
        return estimated_end_s(job, self.estimate, now_s)

    def decide(self, view: View) -> Decision:
        """Start jobs in turn, then later jobs that do not delay the first waiting job."""
        if view.cluster.full or not view.queue.groups:
            return {}
        plan = view.plan()
        for job in plan.offers():
            if not plan.assign(job, allocate(plan.cluster, job.request)):
                if not plan.cluster.full:
                    self._backfill(plan, job)
                break
        return plan.decision

    def _backfill(self, plan: Plan, first: Job) -> None:
        """Start jobs behind the first waiting one, in one pass over the queue."""
        starts_s, then = self._reservation(plan, first)
        now_s, cluster, passed = plan.view.now_s, plan.cluster, plan.offered
        while not cluster.full:
            heads = []
            for request in cast("Iterable[Request]", plan.view.queue.groups):
                if allocation := allocate(cluster, request):
                    spare = starts_s == np.inf or then.fits(beside=allocation)
                    within_s = np.inf if spare else starts_s - now_s
                    head = self._next(plan, request, within_s, passed)
                    if head is not None:
                        heads.append((head, allocation))
            if not heads:
                return
            passed, allocation = min(heads)
            job = passed.job
            if now_s + estimated_run_s(job, self.estimate, now_s) > starts_s + _EPS_S:
                then.add(allocation, -1)
            plan.assign(job, allocation)

    def _reservation(self, plan: Plan, first: Job) -> tuple[float, FreedCapacity]:
        """Return the estimated start of a job, and the free capacity then."""
        now_s, then = plan.view.now_s, FreedCapacity(plan.cluster, first.request)
        started = [
            Entry(self.running_key(job, now_s), job.index, job)
            for job, new in plan.decision.items()
            if new is not None
        ]
        starts_s = now_s
        for entry in merge(plan.view.running.entries(), sorted(started)):
            if entry.key > starts_s and then.fits():
                break
            if (held := plan.allocation_of(entry.job)) is not None:
                then.add(held)
            starts_s = max(entry.key, now_s)
        else:
            if not then.fits():  # not before a repair
                return np.inf, then
        return starts_s, then

    def _next(self, plan: Plan, request: Request, within_s: float, passed: Entry) -> Entry | None:
        """Return the next waiting job of a request that is estimated to end in time."""
        arrays = plan.view.arrays(request, lambda job: (estimated_run_s(job, self.estimate, 0.0),))
        [takes_s] = arrays.columns()
        behind = bisect_right(arrays.entries, passed)
        in_time = np.flatnonzero(takes_s[behind:] <= within_s + _EPS_S)
        return arrays.entries[behind + in_time[0]] if len(in_time) else None


def estimated_run_s(job: Job, estimate: float, now_s: float) -> float:
    """Return the estimated run time of a waiting job (s).

    Parameters
    ----------
    estimate
        Estimated run time, in multiples of the run time that the policy believes.
    """
    return estimate * job.believed_left_s(now_s)


def estimated_end_s(job: Job, estimate: float, now_s: float) -> float:
    """Return the estimated end of a job's run (s), as if a waiting job started now."""
    if not job.running:
        return now_s + estimated_run_s(job, estimate, now_s)
    return job.started_s + estimate * (job.believed_end_s() - job.started_s)


def fair_share_factors(specs: Sequence[JobSpec]) -> dict[str, float]:
    """Return the fair-share factor of each job at its submission, from 0 to 1.

    The factor is 2 to the power of minus the use of the job's virtual cluster, in multiples of an
    equal share (Slurm, Multifactor Priority Plugin). Use is charged when a job ends, and decays.

    Parameters
    ----------
    specs
        Jobs in the order of submission.
    """
    used = dict.fromkeys((spec.vc for spec in specs), 0.0)
    factors: dict[str, float] = {}
    ends: list[tuple[float, int]] = []
    before_s = 0.0
    for nth, spec in enumerate(specs):
        decay = 0.5 ** ((spec.submit_s - before_s) / _HALF_LIFE_S)
        used, before_s = {vc: use * decay for vc, use in used.items()}, spec.submit_s
        while ends and ends[0][0] <= spec.submit_s:
            end_s, done = heappop(ends)
            decayed = 0.5 ** ((spec.submit_s - end_s) / _HALF_LIFE_S)
            used[specs[done].vc] += specs[done].gpu_s * decayed
        total = sum(used.values())
        share = used[spec.vc] * len(used) / total if total else 0.0
        factors[spec.job_id] = 2**-share
        heappush(ends, (spec.submit_s + spec.run_s, nth))
    return factors
