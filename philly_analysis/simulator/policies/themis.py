"""Themis: lease GPUs to the jobs furthest from a fair finish time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import cast

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.queue_arrays import QueueArrays
from philly_analysis.simulator.policies.knobs import PERIOD, check_at_most, knob
from philly_analysis.simulator.policies.periods import next_end_s, period_ends
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View


def _numbers(job: Job) -> tuple[float, ...]:
    """Return the numbers of rho that are constant while a job waits."""
    return job.spec.submit_s, job.until_end_s(0.0), max(job.believed_run_s, 1.0)


def _rho(arrays: QueueArrays, now_s: float) -> npt.NDArray[np.float64]:
    """Return rho of each waiting job."""
    submit_s, until_end_s, alone_s = arrays.columns()
    rho: npt.NDArray[np.float64] = (now_s - submit_s + until_end_s) / alone_s
    return rho


@dataclass(frozen=True)
class Themis(Policy):
    """Finish-time fairness: the job slowed most by sharing, relative to running alone, is next.

    A job's rho is the completion time of the job, if the job runs from now on, over the run time
    alone. Free GPUs go to the waiting jobs of highest rho. Whenever leases end, at multiples of
    ``lease_s``, all GPUs go to the jobs of highest rho.

    Not modelled: auctions and their truthfulness, the share of jobs that take part in them, and
    placement in the bids. Each job is one application.
    """

    name = "themis"
    SOURCE = "Mahajan et al., Themis, NSDI'20"

    fractional = True

    lease_s: float = knob(600.0, "length of a lease of GPUs", within=PERIOD)

    def __post_init__(self) -> None:
        """Check the bounds of the knobs, and that restarts leave time for work."""
        super().__post_init__()
        check_at_most(self, "restart_s", "lease_s", half=True)

    def wake_s(self, view: View) -> float:
        """Return the end of the period, if a job waits."""
        return next_end_s(view, self.lease_s)

    def decide(self, view: View) -> Decision:
        """Allocate the free GPUs, or all of them when leases end, by rho."""
        if not view.queue.groups:
            return {}
        requests = cast("Iterable[Request]", view.queue.groups)
        plan = view.plan()
        stopped: list[Job] = []
        if period_ends(view.now_s, self.lease_s, self.round_s):
            stopped = self._end_leases(plan, [view.arrays(r, _numbers) for r in requests])
        self._allocate_free(plan, requests)
        for job in stopped:  # a fraction of a GPU may fit on none
            plan.restore(job)
        return plan.decision

    def _end_leases(self, plan: Plan, waiting: list[QueueArrays]) -> list[Job]:
        """Release the running jobs that would not get their GPUs again, and return them."""
        now_s, running = plan.view.now_s, list(plan.view.running)
        running_rho = [
            (now_s - job.spec.submit_s + job.until_end_s(now_s)) / max(job.believed_run_s, 1.0)
            for job in running
        ]
        rho = np.concatenate([running_rho, *(_rho(arrays, now_s) for arrays in waiting)])
        jobs = [*running, *(entry.job for arrays in waiting for entry in arrays.entries)]
        free, stopped = plan.cluster.capacity * GPU_UNITS, []
        for at in np.lexsort((np.array([job.index for job in jobs]), -rho)):
            job = jobs[at]
            if job.size <= free:
                free -= job.size
            elif job.running:
                plan.release(job)
                stopped.append(job)
        return stopped

    def _allocate_free(self, plan: Plan, requests: Iterable[Request]) -> None:
        """Allocate free GPUs to the waiting jobs of highest rho that fit."""
        view, cluster = plan.view, plan.cluster
        offers = {
            request: _highest_first(view.arrays(request, _numbers), view.now_s)
            for request in requests
            if cluster.fits(request.size)
        }
        heads = [next(offer) for offer in offers.values()]
        heapify(heads)
        while heads:
            _, _, job = heappop(heads)
            started = plan.assign(job, allocate(cluster, job.request))
            if started and (behind := next(offers[job.request], None)) is not None:
                heappush(heads, behind)


def _highest_first(arrays: QueueArrays, now_s: float) -> Iterator[tuple[float, int, Job]]:
    """Yield (minus rho, number of submission, job), the highest rho first."""
    rho = _rho(arrays, now_s)
    for _ in arrays.entries:
        at = int(rho.argmax())
        yield -float(rho[at]), arrays.entries[at].nth, arrays.entries[at].job
        rho[at] = -np.inf
