"""The log itself, run again: each attempt where and when it was recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.cluster import Cluster, Grant, lowest
from philly_analysis.simulator.jobs.job import FOREVER, OF_THE_SCHEDULER, Job
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Plan, View, Wish
from philly_analysis.simulator.speed.recorded import grant_of

_ROUNDING_S = 1e-5
"""By how much a run may end later than the microsecond that was recorded, with a margin."""

_LATE = "who moves as soon as GPUs are free that others should have left by now"


@dataclass(frozen=True)
class Recorded(Policy):
    """Each attempt starts when it was recorded to start, on the GPUs that it was recorded to hold.

    It is not a scheduler but the measure of the others: without costs and at the recorded speeds
    it gives the trace back. An attempt on GPUs that another held, as logs have it now and then,
    or of which no place is known, runs as a guest.
    """

    name = "recorded"
    SOURCE = "the trace's own placements"
    elastic = True
    shares = True
    replays = True

    def group(self, job: Job, now_s: float) -> int | None:
        """Return a group of its own from its start on; none before."""
        return job.index if self._start_s(job) <= now_s else None

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when it starts, or the scheduler took its GPUs."""
        return self._stopped_s(job) if job.running else self._start_s(job)

    def decide(self, view: View) -> Wish:
        """Start whose time has come; stop whom the scheduler stopped."""
        now_s = view.now_s
        stopped = [
            job
            for job in dict.fromkeys([*view.kept.pop(_LATE, ()), *view.changed])
            if job.running and self._stopped_s(job) <= now_s
        ]
        moving = [job for job in stopped if self._start_s(job) <= now_s]
        plan = self._plan(view, stopped, moving)
        late = moving and min(map(self._stopped_s, moving)) > now_s - _ROUNDING_S
        if late and any(plan.held(job) is None for job in moving):
            view.kept[_LATE] = moving
            plan = self._plan(view, [job for job in stopped if job not in moving], [])
        return plan.wish

    def wake_s(self, view: View) -> float:
        """Return when to look again whether GPUs are free that should be by now."""
        return view.now_s + _ROUNDING_S if _LATE in view.kept else FOREVER

    def _plan(self, view: View, stopped: Sequence[Job], moving: Sequence[Job]) -> Plan:
        plan = view.plan()
        for job in stopped:  # all of them before anybody starts: they may swap GPUs
            plan.release(job)
        for job in (*moving, *view.queue):
            plan.grant(job, self._place(plan.cluster, job))
        return plan

    def _start_s(self, job: Job) -> float:
        """Return when its next attempt starts: as recorded, or at once."""
        stay = job.spec.attempts[job.started].stay
        return job.queued_s if stay is None else stay.start_s

    def _stopped_s(self, job: Job) -> float:
        """Return when the scheduler takes a running job's GPUs; infinite where it does not."""
        attempt = job.spec.attempts[job.started - 1]
        last = job.started == len(job.spec.attempts)
        if last or attempt.end_reason not in OF_THE_SCHEDULER or attempt.stay is None:
            return FOREVER
        return attempt.stay.end_s

    def _place(self, cluster: Cluster, job: Job) -> Grant | None:
        """Return what its next attempt held; None while that is not free."""
        stay = job.spec.attempts[job.started].stay
        if stay is None or not stay.shares:
            return _anywhere(cluster, job.gpus)
        grant = grant_of(stay, cluster.at)
        if grant is None:
            raise SimulationError(
                f"{job} ran on {', '.join(machine for machine, *_ in stay.shares)}, which are not "
                "among the machines at hand. Recorded placements can be run again on the trace's "
                "own machines only."
            )
        free = cluster.free_gpus
        if all(gpus for *_, gpus in stay.shares):
            return grant if grant.guest or all(not g & ~free[m] for m, g in grant.shares) else None
        if all(free[cluster.at[machine]].bit_count() >= count for machine, count, _ in stay.shares):
            shares = ((cluster.at[machine], count) for machine, count, _ in stay.shares)
            return grant._replace(shares=tuple((m, lowest(free[m], n)) for m, n in shares))
        return grant._replace(guest=True)


def _anywhere(cluster: Cluster, gpus: int) -> Grant:
    """Return the first GPUs of the cluster, as a guest's."""
    shares, left = [], gpus
    for machine, server in enumerate(cluster.machines):
        if count := min(left, server.gpus):
            shares.append((machine, (1 << count) - 1))
            left -= count
    return Grant(tuple(shares), gpus, guest=True)
