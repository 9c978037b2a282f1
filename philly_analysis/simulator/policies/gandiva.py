"""Gandiva: time-slice GPUs, and pack jobs that leave each other compute and memory."""

from collections.abc import Iterable
from dataclasses import dataclass

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.knobs import PERIOD, check_at_most, knob
from philly_analysis.simulator.policies.periods import next_end_s, period_ends
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.simulator.speed.sharing import Sharing
from philly_analysis.simulator.speed.speed import Speed

_ROUNDING = 1e-12
"""Rounding of sums of shares."""


@dataclass(frozen=True)
class Gandiva(Policy):
    """Time slicing: at the end of each slice the waiting jobs replace those that ran longest.

    A job starts immediately on idle GPUs. At multiples of ``quantum_s`` the GPUs go to the waiting
    jobs, in the order in which they began to wait, then to the running jobs, in the order in which
    they started. A job that does not fit is skipped; a running job without GPUs is suspended.
    Each slice is a separate attempt, so the default slice is ten of the paper's minutes.

    Then single-GPU jobs are packed. Jobs without a GPU, least utilisation first, continue as guests
    beside the single-GPU job with the least utilisation, if compute and memory of both fit. A GPU
    has at most one guest, which takes the GPU over when the holder leaves.

    Not modelled: slices within a server, servers for gangs of one size, packing of gangs, migration
    for locality, and growing and shrinking. Slices are of the whole cluster, and a job may resume
    elsewhere. The recorded utilisation decides on packing, not the measured progress.
    """

    name = "gandiva"
    SOURCE = "Xiao et al., Gandiva, OSDI'18, sections 3 and 4"
    steady = True
    guests = True

    quantum_s: float = knob(600.0, "length of a time slice", within=PERIOD)
    pack: bool = knob(True, "let single GPUs run beside others that leave them room")

    def __post_init__(self) -> None:
        """Check the bounds of the knobs, and that restarts leave time for work."""
        super().__post_init__()
        check_at_most(self, "restart_s", "quantum_s", half=True)

    def wake_s(self, view: View) -> float:
        """Return the end of the period, if a job waits."""
        return next_end_s(view, self.quantum_s)

    def key(self, job: Job, now_s: float) -> float:
        """Return since when the job waits."""
        return job.queued_s

    def running_key(self, job: Job, now_s: float) -> float:
        """Return since when the job runs."""
        return job.started_s

    def speed(self) -> Speed:
        """Return speeds by the compute that the holder of a GPU leaves to a guest."""
        return Sharing()

    def decide(self, view: View) -> Decision:
        """Start jobs on idle GPUs; at the end of a slice redistribute all GPUs."""
        plan = view.plan()
        for machine in sorted(view.freed):
            for guest in view.residents[machine]:
                self._take_over(plan, guest)
        if view.queue.groups:
            if period_ends(view.now_s, self.quantum_s, self.round_s):
                self._redistribute(plan)
            else:
                for job in plan.offers():
                    plan.assign(job, allocate(plan.cluster, job.request))
        return plan.decision

    def _take_over(self, plan: Plan, guest: Job) -> None:
        """Make a guest the holder of its GPU, if the earlier holder has left."""
        held, free = guest.allocated, plan.cluster.free_gpus
        if held.guest and all(not gpus & ~free[m] for m, gpus in held.shares):
            plan.assign(guest, held._replace(guest=False))

    def _redistribute(self, plan: Plan) -> None:
        """Allocate GPUs to waiting jobs, then to running ones; pack the others."""
        view = plan.view
        waiting = sorted(view.queue, key=lambda job: (job.queued_s, job.index))
        chosen, free = set(), view.cluster.capacity
        for job in (*waiting, *view.running):
            if job.gpus <= free:
                chosen.add(job)
                free -= job.gpus
        guests = {job: job.allocated for job in view.running if job.allocated.guest}
        for job in view.running:
            if job not in chosen or (held := plan.allocation_of(job)) is None or held.guest:
                plan.release(job)
        for job in (*waiting, *view.running):
            if job in chosen and plan.allocation_of(job) is None:
                plan.assign(job, allocate(plan.cluster, job.request))
        if self.pack:
            unplaced_jobs = [
                job for job in (*waiting, *view.running) if plan.allocation_of(job) is None
            ]
            self._pack(plan, [job for job in unplaced_jobs if job.gpus == 1], guests)

    def _pack(self, plan: Plan, jobs: Iterable[Job], guests: dict[Job, Allocation]) -> None:
        """Make jobs guests: on their present GPU, or beside the job with the least utilisation."""
        view = plan.view
        hosts = {
            held.shares: job
            for job in (*view.queue, *view.running)
            if job.gpus == 1 and (held := plan.allocation_of(job)) is not None
        }
        by_use = sorted(jobs, key=lambda job: (job.util_frac, job.queued_s, job.index))
        moving = []
        for job in by_use:
            old = guests.get(job)
            host = hosts.get(old.shares) if old is not None else None
            if old and host and host.allocation is not None and _fit(job, host):
                del hosts[old.shares]  # the guest stays beside the same job
                plan.assign(job, old)
            else:
                moving.append(job)
        places = sorted((host.util_frac, host.index, shares) for shares, host in hosts.items())
        for job in moving:
            for place in places:
                if place[0] + job.util_frac > 1 + _ROUNDING:  # nor do later hosts leave room
                    break
                if _fit(job, hosts[place[2]]):
                    places.remove(place)
                    plan.assign(job, Allocation(place[2], 1, guest=True))
                    break


def _fit(one: Job, other: Job) -> bool:
    """Whether two jobs together fit in a GPU's compute and memory."""
    return (
        one.util_frac + other.util_frac <= 1 + _ROUNDING
        and one.gpu_mem_frac + other.gpu_mem_frac <= 1 + _ROUNDING
    )
