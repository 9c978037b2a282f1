"""Themis: GPUs on lease go to the jobs that are furthest from a fair finish."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import cast

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import seat
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.queue_arrays import Line
from philly_analysis.simulator.policies.knobs import PERIOD, check_below, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Plan, View, Wish

_EPS_S = 1e-6


def _parts(job: Job) -> tuple[float, ...]:
    """Return what rho is made of that does not change while a job waits."""
    return job.spec.submit_s, job.to_go_s(0.0), max(job.believed_run_s, 1.0)


def _rho(line: Line, now_s: float) -> npt.NDArray[np.float64]:
    """Return rho of each waiting job."""
    submit_s, to_go_s, alone_s = line.columns()
    rho: npt.NDArray[np.float64] = (now_s - submit_s + to_go_s) / alone_s
    return rho


@dataclass(frozen=True)
class Themis(Policy):
    """Finish-time fairness: the job whose sharing costs it most, relative to running alone.

    A job's rho is the time from its submission to its end if it runs from now on, over the
    time that it needs alone. Free GPUs go to the waiting jobs of highest rho; each time leases
    end, at multiples of ``lease_s``, all GPUs do.

    Not modelled: auctions and their truthfulness, the share of jobs that take part in them, and
    placement in the bids. Each job is its own application.
    """

    name = "themis"
    SOURCE = "Mahajan et al., Themis, NSDI'20"

    parts = True

    lease_s: float = knob(600.0, "for how long GPUs are leased", unit="s", within=PERIOD)

    def __post_init__(self) -> None:
        """Refuse restarts that would eat up the leases."""
        super().__post_init__()
        check_below(self, self.name, "restart_s", "lease_s", 2)

    def wake_s(self, view: View) -> float:
        """Return when leases end next, if a job waits for that."""
        return (view.now_s // self.lease_s + 1) * self.lease_s if view.queue.groups else FOREVER

    def decide(self, view: View) -> Wish:
        """Divide the free GPUs, or all of them where leases end, by rho."""
        if not view.queue.groups:
            return {}
        sizes = cast("Iterable[int]", view.queue.groups)
        plan = view.plan()
        stopped: list[Job] = []
        if self._leases_end(view.now_s):
            stopped = self._take_back(plan, [self._line(view, size) for size in sizes])
        self._give_out(plan, sizes)
        for job in stopped:  # for a share of a GPU that is on none
            plan.return_to(job)
        return plan.wish

    def _leases_end(self, now_s: float) -> bool:
        """Whether leases end now, or have ended since the last round."""
        since_s = now_s % self.lease_s
        return since_s < max(self.round_s, _EPS_S) or self.lease_s - since_s < _EPS_S

    def _take_back(self, plan: Plan, lines: list[Line]) -> list[Job]:
        """Take their GPUs from the running jobs that would not get them again; return these."""
        now_s, running = plan.view.now_s, list(plan.view.running)
        own = [
            (now_s - job.spec.submit_s + job.to_go_s(now_s)) / max(job.believed_run_s, 1.0)
            for job in running
        ]
        rho = np.concatenate([own, *(_rho(line, now_s) for line in lines)])
        jobs = [*running, *(place.job for line in lines for place in line.places)]
        free, stopped = plan.cluster.capacity * WHOLE, []
        for at in np.lexsort((np.array([job.index for job in jobs]), -rho)):
            job = jobs[at]
            if job.size <= free:
                free -= job.size
            elif job.running:
                plan.release(job)
                stopped.append(job)
        return stopped

    def _give_out(self, plan: Plan, sizes: Iterable[int]) -> None:
        """Give free GPUs to the waiting jobs of highest rho that fit."""
        now_s, cluster = plan.view.now_s, plan.cluster
        offers = {
            size: _highest_first(self._line(plan.view, size), now_s)
            for size in sizes
            if cluster.fits(size)
        }
        heads = [next(offer) for offer in offers.values()]
        heapify(heads)
        while heads:
            _, _, job = heappop(heads)
            started = plan.grant(job, seat(cluster, job.size))
            if started and (behind := next(offers[job.size], None)) is not None:
                heappush(heads, behind)

    def _line(self, view: View, size: int) -> Line:
        """Return the waiting jobs of a size."""
        order, line = view.queue.groups[size], view.kept.get(size)
        if line is None or not line.of(order):
            line = view.kept[size] = Line(order, _parts)
        return line


def _highest_first(line: Line, now_s: float) -> Iterator[tuple[float, int, Job]]:
    """Yield (minus rho, place of submission, job), the highest rho first."""
    rho = _rho(line, now_s)
    for _ in line.places:
        at = int(rho.argmax())
        yield -float(rho[at]), line.places[at].nth, line.places[at].job
        rho[at] = -np.inf
