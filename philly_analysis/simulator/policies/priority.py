"""Order jobs by one priority key: first come, shortest job, shortest remaining time or service."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import inf
from typing import Any

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import first_fit
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry
from philly_analysis.simulator.policies.knobs import STALL, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.preemption import CONSOLIDATE, PreemptiveOrder, find_gpus
from philly_analysis.simulator.policies.view import Decision, Plan, View


@dataclass(frozen=True)
class Fifo(Policy):
    """First come, first served, without preemption: a job that does not fit blocks later ones.

    A request for a fraction of a GPU gets it on the fullest GPU with enough left; no fraction
    spans two GPUs.
    """

    name = "fifo"
    SOURCE = "textbook"
    fractional = True

    backfill: bool = knob(False, "let jobs that fit pass a gang that does not")
    consolidate: bool = knob(False, CONSOLIDATE)
    first_fit: bool = knob(False, "consolidate, on the first servers as YARN does, not the fullest")

    def group(self, job: Job, now_s: float) -> int:
        """Return one group for all jobs, or one per requested size."""
        return job.size if self.backfill else 0

    def decide(self, view: View) -> Decision:
        """Start waiting jobs in the order of their keys."""
        if view.cluster.full or not view.queue.groups:
            return {}
        plan = view.plan()
        plan.offer(lambda job: plan.assign(job, self._find(plan, job)))
        return plan.decision

    def _find(self, plan: Plan, job: Job) -> Allocation | None:
        if self.first_fit and job.size >= GPU_UNITS:
            return first_fit(plan.cluster, job.gpus)
        return find_gpus(plan, job, consolidate=self.consolidate)


@dataclass(frozen=True)
class Sjf(Fifo):
    """Shortest job first, without preemption: a job that does not fit blocks all longer ones."""

    name = "sjf"
    SOURCE = "textbook; as a baseline in Helios (SC'21) and Lucid (ASPLOS'23)"

    def key(self, job: Job, now_s: float) -> float:
        """Return the remaining run time (s)."""
        return job.remaining_s(now_s)


@dataclass(frozen=True)
class Srtf(PreemptiveOrder):
    """Shortest remaining time first, with preemption, whatever the gang size.

    The remaining time is wall-clock time: at the present speed of a running job, and as recorded
    plus the restart of a waiting one. Running jobs therefore keep their order until a speed
    changes.
    """

    name = "srtf"
    SOURCE = "textbook; as a baseline in Tiresias (NSDI'19) and Synergy (OSDI'22)"

    event_s: float = knob(
        0.0,
        "work that all running jobs lose at each arrival or end, as in Muri's simulator",
        within=STALL,
    )

    def event_cost_s(self) -> float:
        """Return the knob."""
        return self.event_s

    def key(self, job: Job, now_s: float) -> float:
        """Return the time until its end (s)."""
        restart_s = self.restart_s if job.interrupted and not job.running else 0.0
        return job.until_end_s(now_s) + restart_s

    def running_key(self, job: Job, now_s: float) -> Any:
        """Return when it would end."""
        return now_s + job.until_end_s(now_s)


@dataclass(frozen=True)
class Srsf(Srtf):
    """Shortest remaining service first, with preemption: remaining time times GPUs.

    The remaining service of a large gang falls faster than that of a small one, so that the order
    of two running jobs may change.
    """

    name = "srsf"
    SOURCE = "Gu et al., Tiresias, NSDI'19, section 2: SRSF, shortest-gpu in its simulator"

    def key(self, job: Job, now_s: float) -> float:
        """Return the GPU-seconds until its end."""
        return job.size / GPU_UNITS * super().key(job, now_s)

    def running_key(self, job: Job, now_s: float) -> tuple[int, float]:
        """Return its size, within which the remaining service falls alike, and its end."""
        return job.size, now_s + job.until_end_s(now_s)

    def worst_first(self, view: View) -> Iterator[tuple[float, Job]]:
        """Yield the running jobs, greatest remaining service first, by merging the sizes."""
        now_s, size = view.now_s, inf
        behind: dict[int, Iterator[Entry]] = {}
        heap: list[tuple[float, int, Job]] = []
        while (last := next(entries := view.running.below((size,)), None)) is not None:
            behind[size := last.job.size] = entries
            heap.append((-self.key(last.job, now_s), -last.nth, last.job))
        heapify(heap)
        while heap:
            key, _, job = heap[0]
            yield -key, job
            entry = next(behind[job.size], None)
            if entry is not None and entry.job.size == job.size:
                heapreplace(heap, (-self.key(entry.job, now_s), -entry.nth, entry.job))
            else:
                heappop(heap)
