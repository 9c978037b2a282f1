"""Gandiva: jobs take turns on the GPUs, and two that leave each other room share one."""

from collections.abc import Iterable
from dataclasses import dataclass

from philly_analysis.simulator.cluster.cluster import Grant
from philly_analysis.simulator.cluster.placement import packed
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import PERIOD, check_below, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Plan, View, Wish
from philly_analysis.simulator.speed.speed import Sharing, Speed

_EPS_S = 1e-6
_ROUNDING = 1e-12
"""Of sums of shares."""


@dataclass(frozen=True)
class Gandiva(Policy):
    """Time slices: while jobs wait, those that have run for longest make room at each slice's end.

    A job starts at once where GPUs are idle. At multiples of ``quantum_s`` the GPUs go to those
    that wait, in the order in which they came to, then to those that run, in the order in which
    they came to run; whoever does not fit is passed by, and whoever ran and gets none is suspended.
    Each turn is an attempt of its own, so the default is ten of the paper's minutes.

    Then single GPUs are packed: those that got none, the least utilisation first, run on as guests
    beside the job on one GPU that uses its own least, if compute and memory of both fit; there is
    one guest per GPU. It takes the GPU over when the other leaves.

    Not modelled: slices within a server and servers for gangs of one size (turns are taken in the
    whole cluster, and a job may resume elsewhere), packing that is tried and undone by measured
    progress (the utilisation that jobs have decides), gangs that are packed, moves for locality,
    and growing and shrinking.
    """

    name = "gandiva"
    SOURCE = "Xiao et al., Gandiva, OSDI'18, sections 3 and 4"
    shares = True

    quantum_s: float = knob(600.0, "length of a time slice", unit="s", within=PERIOD)
    pack: bool = knob(True, "let single GPUs run beside others that leave them room")

    def __post_init__(self) -> None:
        """Refuse restarts that would eat up the slices."""
        super().__post_init__()
        check_below(self, self.name, "restart_s", "quantum_s", 2)

    def group(self, job: Job, now_s: float) -> int:
        """Return gang size."""
        return job.gpus

    def key(self, job: Job, now_s: float) -> float:
        """Return since when it waits."""
        return job.queued_s

    def standing(self, job: Job, now_s: float) -> float:
        """Return since when it runs."""
        return job.started_s

    def speed(self) -> Speed:
        """Return speeds by what the holder of a GPU leaves to its guest."""
        return Sharing()

    def wake_s(self, view: View) -> float:
        """Return when the slice ends, if a job waits for that."""
        return (view.now_s // self.quantum_s + 1) * self.quantum_s if view.queue else FOREVER

    def decide(self, view: View) -> Wish:
        """Start jobs where GPUs are idle; as a slice ends let others have their turn."""
        plan = view.plan()
        for machine in sorted(view.freed):
            for guest in view.residents[machine]:
                self._take_over(plan, guest)
        if view.queue.groups:
            if self._slice_ends(view.now_s):
                self._turn(plan)
            else:
                plan.offer(lambda job: plan.grant(job, packed(plan.cluster, job.gpus)))
        return plan.wish

    def _slice_ends(self, now_s: float) -> bool:
        """Whether a slice ends now, or has ended since the last round."""
        since_s = now_s % self.quantum_s
        return since_s < max(self.round_s, _EPS_S) or self.quantum_s - since_s < _EPS_S

    def _take_over(self, plan: Plan, guest: Job) -> None:
        """Make a guest the holder of its GPU, if it has been left."""
        grant = guest.held
        if grant.guest and all(not g & ~plan.cluster.free_gpus[m] for m, g in grant.shares):
            plan.grant(guest, grant._replace(guest=False))

    def _turn(self, plan: Plan) -> None:
        """Give the GPUs to those that wait, then to those that run; pack whom that leaves out."""
        view = plan.view
        waiting = sorted(view.queue, key=lambda job: (job.queued_s, job.index))
        chosen, free = set(), view.cluster.capacity
        for job in (*waiting, *view.running):
            if job.gpus <= free:
                chosen.add(job)
                free -= job.gpus
        guests = {job: grant for job in view.running if (grant := job.held).guest}
        for job in view.running:
            if job not in chosen or (held := plan.held(job)) is None or held.guest:
                plan.release(job)
        for job in (*waiting, *view.running):
            if job in chosen and plan.held(job) is None:
                plan.grant(job, packed(plan.cluster, job.gpus))
        if self.pack:
            left = [job for job in (*waiting, *view.running) if plan.held(job) is None]
            self._pack(plan, [job for job in left if job.gpus == 1], guests)

    def _pack(self, plan: Plan, left: Iterable[Job], guests: dict[Job, Grant]) -> None:
        """Let jobs be guests: where they are, or beside whoever uses least of a GPU."""
        view = plan.view
        hosts = {
            grant.shares: job
            for job in (*view.queue, *view.running)
            if job.gpus == 1 and (grant := plan.held(job)) is not None
        }
        by_use = sorted(left, key=lambda job: (job.util_frac, job.queued_s, job.index))
        moving = []
        for job in by_use:
            old = guests.get(job)
            host = hosts.get(old.shares) if old is not None else None
            if old is not None and host is not None and host.grant is not None and _fit(job, host):
                del hosts[old.shares]  # it stays where it is, beside the same job
                plan.grant(job, old)
            else:
                moving.append(job)
        places = sorted((host.util_frac, host.index, shares) for shares, host in hosts.items())
        for job in moving:
            for place in places:
                if place[0] + job.util_frac > 1 + _ROUNDING:  # nor do those behind leave room
                    break
                if _fit(job, hosts[place[2]]):
                    places.remove(place)
                    plan.grant(job, Grant(place[2], 1, guest=True))
                    break


def _fit(one: Job, other: Job) -> bool:
    """Whether two jobs leave each other the compute and the memory that they use."""
    return (
        one.util_frac + other.util_frac <= 1 + _ROUNDING
        and one.gpu_mem_frac + other.gpu_mem_frac <= 1 + _ROUNDING
    )
