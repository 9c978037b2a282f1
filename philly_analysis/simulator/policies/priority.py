"""Order jobs by one priority key: first come, shortest job, shortest remaining time or service."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import inf
from typing import Any

from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import first_fit as first_servers
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry
from philly_analysis.simulator.policies.knobs import STALL, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.preemption import (
    CONSOLIDATE,
    COUNTED,
    by_running_key,
    find_gpus,
    preempt_for_gpus,
)
from philly_analysis.simulator.policies.view import Decision, View

BACKFILL = "let jobs that fit pass a gang that does not"
FIRST_FIT = "consolidate, on the first servers as YARN does, not the fullest"


def start_in_order(view: View, *, consolidate: bool = False, first_fit: bool = False) -> Decision:
    """Start waiting jobs in the order of their keys, without preemption.

    Parameters
    ----------
    consolidate
        Whether gangs are placed on the fewest servers only.
    first_fit
        Whether gangs without requested servers are placed on the first servers that have room.
    """
    if view.cluster.full or not view.queue.groups:
        return {}
    plan = view.plan()
    for job in plan.offers():
        if first_fit and job.size >= GPU_UNITS and not job.request.servers:
            plan.assign(job, first_servers(plan.cluster, job.gpus))
        else:
            plan.assign(job, find_gpus(plan, job, consolidate=consolidate))
    return plan.decision


@dataclass(frozen=True)
class Fifo(Policy):
    """First come, first served, without preemption: a job that does not fit blocks later ones.

    A request for a fraction of a GPU is placed on the fullest GPU with enough room. No fraction
    spans two GPUs.
    """

    name = "fifo"
    SOURCE = "textbook"
    steady = True
    fractional = True

    backfill: bool = knob(False, BACKFILL)
    consolidate: bool = knob(False, CONSOLIDATE)
    first_fit: bool = knob(False, FIRST_FIT)

    def group(self, job: Job, now_s: float) -> Hashable:
        """Return one group for all jobs, or one per request."""
        return job.request if self.backfill else 0

    def decide(self, view: View) -> Decision:
        """Start waiting jobs in the order of submission."""
        return start_in_order(view, consolidate=self.consolidate, first_fit=self.first_fit)


@dataclass(frozen=True)
class Sjf(Policy):
    """Shortest job first, without preemption: a job that does not fit blocks all longer ones."""

    name = "sjf"
    SOURCE = "textbook; as a baseline in Helios (SC'21) and Lucid (ASPLOS'23)"
    steady = True
    fractional = True

    backfill: bool = knob(False, BACKFILL)
    consolidate: bool = knob(False, CONSOLIDATE)
    first_fit: bool = knob(False, FIRST_FIT)

    def group(self, job: Job, now_s: float) -> Hashable:
        """Return one group for all jobs, or one per request."""
        return job.request if self.backfill else 0

    def key(self, job: Job, now_s: float) -> float:
        """Return the remaining run time (s)."""
        return job.remaining_s(now_s)

    def running_key(self, job: Job, now_s: float) -> float:
        """Return the time of submission (s): running jobs are not compared."""
        return job.spec.submit_s

    def decide(self, view: View) -> Decision:
        """Start waiting jobs, the shortest first."""
        return start_in_order(view, consolidate=self.consolidate, first_fit=self.first_fit)


@dataclass(frozen=True)
class Srtf(Policy):
    """Shortest remaining time first, with preemption, whatever the gang size.

    The remaining time is wall-clock time: at the present speed of a running job, and as recorded
    plus the restart of a waiting one. Running jobs therefore keep their order until a speed
    changes.
    """

    name = "srtf"
    SOURCE = "textbook; as a baseline in Tiresias (NSDI'19) and Synergy (OSDI'22)"
    steady = True
    fractional = True

    consolidate: bool = knob(False, CONSOLIDATE)
    counted: bool = knob(False, COUNTED)
    event_s: float = knob(
        0.0,
        "work that all running jobs lose at each arrival or end, as in Muri's simulator",
        within=STALL,
    )

    def event_cost_s(self) -> float:
        """Return the knob."""
        return self.event_s

    def key(self, job: Job, now_s: float) -> float:
        """Return the time until the job's end (s)."""
        return remaining_time_s(job, now_s, self.restart_s)

    def running_key(self, job: Job, now_s: float) -> Any:
        """Return when the job would end."""
        return now_s + job.until_end_s(now_s)

    def decide(self, view: View) -> Decision:
        """Allocate GPUs to the jobs of shortest remaining time."""
        return preempt_for_gpus(
            view, by_running_key(view), consolidate=self.consolidate, counted=self.counted
        )


@dataclass(frozen=True)
class Srsf(Policy):
    """Shortest remaining service first, with preemption: remaining time times GPUs.

    The remaining service of a large gang falls faster than the remaining service of a small gang,
    so that the order of two running jobs may change.
    """

    name = "srsf"
    SOURCE = "Gu et al., Tiresias, NSDI'19, section 2: SRSF, shortest-gpu in its simulator"
    steady = True
    fractional = True

    consolidate: bool = knob(False, CONSOLIDATE)
    counted: bool = knob(False, COUNTED)

    def key(self, job: Job, now_s: float) -> float:
        """Return the GPU-seconds until the job's end."""
        return job.size / GPU_UNITS * remaining_time_s(job, now_s, self.restart_s)

    def running_key(self, job: Job, now_s: float) -> tuple[int, float]:
        """Return the job's size and end; remaining service falls equally fast at equal sizes."""
        return job.size, now_s + job.until_end_s(now_s)

    def decide(self, view: View) -> Decision:
        """Allocate GPUs to the jobs of shortest remaining service."""
        return preempt_for_gpus(
            view, _most_service_first(view), consolidate=self.consolidate, counted=self.counted
        )


def remaining_time_s(job: Job, now_s: float, restart_s: float) -> float:
    """Return the time until a job's end, with the restart of a preempted job (s)."""
    restarts = job.interrupted and not job.running
    return job.until_end_s(now_s) + (restart_s if restarts else 0.0)


def _most_service_first(view: View) -> Iterator[tuple[float, Job]]:
    """Yield the running jobs, greatest remaining service first, by merging the sizes."""
    now_s, size, key = view.now_s, inf, view.key
    behind: dict[int, Iterator[Entry]] = {}
    heap: list[tuple[float, int, Job]] = []
    while (last := next(entries := view.running.below((size,)), None)) is not None:
        behind[size := last.job.size] = entries
        heap.append((-key(last.job, now_s), -last.nth, last.job))
    heapify(heap)
    while heap:
        service, _, job = heap[0]
        yield -service, job
        entry = next(behind[job.size], None)
        if entry is not None and entry.job.size == job.size:
            heapreplace(heap, (-key(entry.job, now_s), -entry.nth, entry.job))
        else:
            heappop(heap)
