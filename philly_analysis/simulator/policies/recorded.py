"""Replay the trace: each attempt at its recorded time on its recorded GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, lowest_bits
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.simulator.speed.recorded import recorded_allocation
from philly_analysis.workload import SCHEDULER_ENDS

_ROUNDING_S = 1e-5
"""Delay of a run's end by rounding to microseconds, with a margin."""

_LATE = "jobs that move as soon as GPUs are free that should be free by now"


@dataclass(frozen=True)
class Recorded(Policy):
    """Replay: each attempt starts at its recorded time, on the GPUs recorded for it.

    A replay is not a scheduler but the reference for schedulers: without costs and at the recorded
    speeds the outcome is the trace itself. An attempt without a known placement, or on GPUs that
    another attempt held (as in some logs), runs as a guest.
    """

    name = "recorded"
    SOURCE = "the trace's own placements"
    steady = True
    elastic = True
    guests = True
    replays = True

    def group(self, job: Job, now_s: float) -> int | None:
        """Return a group of the job alone from its start on; none before."""
        return job.index if self._start_s(job) <= now_s else None

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when the job starts, or was preempted."""
        return self._stopped_s(job) if job.running else self._start_s(job)

    def decide(self, view: View) -> Decision:
        """Start and stop attempts that started or were stopped by now."""
        now_s = view.now_s
        stopped = [
            job
            for job in dict.fromkeys([*view.state.pop(_LATE, ()), *view.changed])
            if job.running and self._stopped_s(job) <= now_s
        ]
        moving = [job for job in stopped if self._start_s(job) <= now_s]
        plan = self._plan(view, stopped, moving)
        late = moving and min(map(self._stopped_s, moving)) > now_s - _ROUNDING_S
        if late and any(plan.allocation_of(job) is None for job in moving):
            view.state[_LATE] = moving
            plan = self._plan(view, [job for job in stopped if job not in moving], [])
        return plan.decision

    def wake_s(self, view: View) -> float:
        """Return when to check again for GPUs that should be free by now."""
        return view.now_s + _ROUNDING_S if _LATE in view.state else FOREVER

    def _plan(self, view: View, stopped: Sequence[Job], moving: Sequence[Job]) -> Plan:
        plan = view.plan()
        for job in stopped:  # all releases come first: jobs may swap GPUs
            plan.release(job)
        for job in (*moving, *view.queue):
            plan.assign(job, self._place(plan.cluster, job))
        return plan

    def _start_s(self, job: Job) -> float:
        """Return when the job's next attempt starts: as recorded, or immediately."""
        stay = job.spec.attempts[job.started].stay
        return job.queued_s if stay is None else stay.start_s

    def _stopped_s(self, job: Job) -> float:
        """Return when the scheduler stopped a running job; infinite if the job was not stopped."""
        attempt = job.spec.attempts[job.started - 1]
        last = job.started == len(job.spec.attempts)
        if last or attempt.end_reason not in SCHEDULER_ENDS or attempt.stay is None:
            return FOREVER
        return attempt.stay.end_s

    def _place(self, cluster: Cluster, job: Job) -> Allocation | None:
        """Return the allocation of the job's next attempt; None while the GPUs are not free."""
        stay = job.spec.attempts[job.started].stay
        if stay is None or not stay.shares:
            return _anywhere(cluster, job.gpus)
        allocation = recorded_allocation(stay, cluster.index_of)
        if allocation is None:
            raise SimulationError(
                f"{job} ran on {', '.join(machine for machine, *_ in stay.shares)}, which are not "
                "among the machines. Recorded placements can be replayed on the trace's own "
                "machines only."
            )
        free = cluster.free_gpus
        if all(gpus for *_, gpus in stay.shares):
            return (
                allocation
                if allocation.guest or all(not g & ~free[m] for m, g in allocation.shares)
                else None
            )
        counts = [(cluster.index_of[machine], count) for machine, count, _ in stay.shares]
        if all(free[m].bit_count() >= count for m, count in counts):
            shares = tuple((m, lowest_bits(free[m], count)) for m, count in counts)
            return allocation._replace(shares=shares)
        return allocation._replace(guest=True)


def _anywhere(cluster: Cluster, gpus: int) -> Allocation:
    """Return the first GPUs of the cluster, as a guest's."""
    shares, unplaced_gpus = [], gpus
    for machine, server in enumerate(cluster.machines):
        if count := min(unplaced_gpus, server.gpus):
            shares.append((machine, (1 << count) - 1))
            unplaced_gpus -= count
    return Allocation(tuple(shares), gpus, guest=True)
