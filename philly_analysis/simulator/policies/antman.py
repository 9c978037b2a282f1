"""AntMan: jobs that have waited long run as guests on GPUs whose holders leave room."""

from dataclasses import dataclass
from itertools import islice

from philly_analysis.simulator.cluster import Grant
from philly_analysis.simulator.job import FOREVER, Job
from philly_analysis.simulator.placement import packed
from philly_analysis.simulator.policies.knobs import LONG_S, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.speed import Sharing, Speed
from philly_analysis.simulator.view import Plan, View, Wish


@dataclass(frozen=True)
class AntMan(Policy):
    """First come, first served with whole gangs; opportunistic guests fill what is left.

    A job whose wait reaches ``convert_after_s`` turns opportunistic: it starts as a guest on
    GPUs of one server (of several, if it is larger) that are idle, or whose holder's
    utilisation is below ``util_below_frac`` and whose memory has room for both. Holders are
    guaranteed jobs; there is at most one guest per GPU, and guests never delay a holder.
    ``convert_after_s = inf`` turns sharing off.

    Not modelled: memory spilled to the host (a guest that does not fit stands still), quotas
    of tenants, guests that users choose, and guests that become holders again.
    """

    name = "antman"
    SOURCE = "Xiao et al., AntMan, OSDI'20"
    shares = True

    convert_after_s: float = knob(
        600.0,
        "wait after which a job may be a guest",
        unit="s",
        within=Bounds(0, LONG_S, or_else=(FOREVER,)),
    )
    util_below_frac: float = knob(
        0.8, "utilisation of the holder below which guests may come", within=Bounds(0, 1)
    )
    looks_at: int = knob(
        256, "waiting jobs that are considered as guests at a time", within=Bounds(1, 100_000)
    )

    def group(self, job: Job, now_s: float) -> int:
        """Return one group for all: a gang that cannot start blocks those behind it."""
        return 0

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job turns opportunistic."""
        due_s = job.queued_s + self.convert_after_s
        return due_s if not job.running and due_s > now_s else FOREVER

    def speed(self) -> Speed:
        """Return speeds by what the holder of a GPU leaves to its guest."""
        return Sharing()

    def decide(self, view: View) -> Wish:
        """Start whom the queue lets start, then guests."""
        if not view.queue.groups:
            return {}
        plan = view.plan()
        plan.offer(lambda job: plan.grant(job, self._together(plan, job.gpus)))
        patient = self._patient(plan)
        if patient:
            room = _Room(plan, self.util_below_frac)
            for job in patient:
                plan.grant(job, room.fit(job))
        return plan.wish

    def _together(self, plan: Plan, gpus: int) -> Grant | None:
        """Place a gang on as few servers as empty ones would take."""
        return packed(plan.cluster, gpus, servers=plan.cluster.fewest(gpus))

    def _patient(self, plan: Plan) -> list[Job]:
        """Return the waiting jobs, first come first, that have turned opportunistic."""
        waiting = list(islice(plan.view.queue.groups[0], self.looks_at))
        due_s = plan.view.now_s - self.convert_after_s + 1e-6
        return [job for job in waiting if plan.held(job) is None and job.queued_s <= due_s]


class _Room:
    """What each GPU has left for a guest."""

    def __init__(self, plan: Plan, util_below_frac: float) -> None:
        self._cluster = plan.cluster
        self._holders: list[dict[int, tuple[float, float]]] = []
        for machine, server in enumerate(plan.cluster.machines):
            open_gpus = dict.fromkeys(range(server.gpus), (0.0, 0.0))
            taken: set[int] = set()
            for job in plan.on(machine):
                grant = plan.held(job)
                mask = dict(grant.shares)[machine] if grant is not None else 0
                for gpu in open_gpus:
                    if mask >> gpu & 1:
                        if grant is not None and grant.guest:
                            taken.add(gpu)
                        else:
                            open_gpus[gpu] = (job.util_frac, job.gpu_mem_frac)
            self._holders.append(
                {
                    gpu: holder
                    for gpu, holder in open_gpus.items()
                    if gpu not in taken and holder[0] < util_below_frac
                }
            )

    def fit(self, job: Job) -> Grant | None:
        """Place a guest on the least used GPUs of as few servers as possible, and mark them."""
        fitting = [
            sorted((util, gpu) for gpu, (util, mem) in gpus.items() if mem + job.gpu_mem_frac <= 1)
            for gpus in self._holders
        ]
        if job.gpus <= self._cluster.biggest:
            whole = [m for m, gpus in enumerate(fitting) if len(gpus) >= job.gpus]
            if not whole:
                return None
            best = min(whole, key=lambda m: (sum(u for u, _ in fitting[m][: job.gpus]), m))
            return self._take(job, [(best, fitting[best][: job.gpus])])
        chosen, left = [], job.gpus
        for machine in sorted(range(len(fitting)), key=lambda m: (-len(fitting[m]), m)):
            if left and fitting[machine]:
                chosen.append((machine, fitting[machine][:left]))
                left -= len(fitting[machine][:left])
        if left or len(chosen) > self._cluster.fewest(job.gpus):
            return None
        return self._take(job, chosen)

    def _take(self, job: Job, chosen: list[tuple[int, list[tuple[float, int]]]]) -> Grant:
        shares = []
        for machine, gpus in chosen:
            for _, gpu in gpus:
                del self._holders[machine][gpu]
            shares.append((machine, sum(1 << gpu for _, gpu in gpus)))
        return Grant(tuple(shares), job.gpus, guest=True)
