"""AntMan: jobs that have waited long run as guests on GPUs whose holders leave room."""

from dataclasses import dataclass
from heapq import merge
from itertools import islice

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.cluster.cluster import Cluster, Grant, bits
from philly_analysis.simulator.cluster.placement import packed
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Plan, View, Wish
from philly_analysis.simulator.speed.speed import Sharing, Speed

_ROUNDING = 1e-12
"""Of sums of shares of memory."""


@dataclass(frozen=True)
class AntMan(Policy):
    """First come, first served with whole gangs; opportunistic guests fill what is left.

    A job whose wait reaches ``convert_after_s`` turns opportunistic: it starts as a guest on
    GPUs of one server (of several, if it is larger) that are idle, or whose holder's
    utilisation is below ``util_below_frac`` and whose memory has room for both. Holders are
    guaranteed jobs; there is at most one guest per GPU, and guests never delay a holder.
    ``convert_after_s = inf`` turns sharing off.

    With ``tenants`` each virtual cluster has a queue of its own, and its jobs hold no more than its
    quota, or one gang over it; what does not start for that may still be a guest. With ``upgrade``
    a guest holds its GPUs from when nobody else does, if nobody of its queue who came before it
    waits.

    Not modelled: memory spilled to the host (a guest that does not fit stands still), and guests
    that users choose.
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
    tenants: bool = knob(False, "keep virtual clusters to their quotas, in queues of their own")
    upgrade: bool = knob(False, "let guests hold the GPUs that nobody else holds any more")
    looks_at: int = knob(
        256, "waiting jobs that are considered as guests at a time", within=Bounds(1, 100_000)
    )

    @property
    def quotas(self) -> bool:  # type: ignore[override]
        """Whether it looks at the virtual clusters' quotas."""
        return self.tenants

    def group(self, job: Job, now_s: float) -> str:
        """Return one group for all, or its tenant: who cannot start blocks those behind it."""
        return job.vc if self.tenants else ""

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job turns opportunistic."""
        due_s = job.queued_s + self.convert_after_s
        return due_s if not job.running and due_s > now_s else FOREVER

    def speed(self) -> Speed:
        """Return speeds by what the holder of a GPU leaves to its guest."""
        return Sharing()

    def decide(self, view: View) -> Wish:
        """Start whom the queue lets start, then guests."""
        room: _Room | None = view.kept.get("room")
        if room is None:
            room = view.kept["room"] = _Room(view.cluster)
        room.changed |= view.touched
        if not view.queue.groups and not self.upgrade:
            return {}
        plan = view.plan()
        if self.upgrade:
            self._upgrade(plan)
        plan.offer(
            lambda job: (
                self._may_hold(plan, job) and plan.grant(job, self._together(plan, job.gpus))
            )
        )
        room.refresh(plan, self.util_below_frac)
        for job in self._patient(plan):
            plan.grant(job, room.fit(job))
        return plan.wish

    def _together(self, plan: Plan, gpus: int) -> Grant | None:
        """Place a gang on as few servers as empty ones would take."""
        return packed(plan.cluster, gpus, servers=plan.cluster.fewest(gpus))

    def _may_hold(self, plan: Plan, job: Job) -> bool:
        """Whether a job's tenant may hold so many more GPUs: a gang over its quota, by itself."""
        may = max(plan.quota(job.vc), job.size)
        return not self.tenants or plan.in_use(job.vc) + job.size <= may

    def _upgrade(self, plan: Plan) -> None:
        """Let guests hold what nobody holds any more, first come first."""
        view = plan.view
        for guest in sorted(
            (job for job in view.running if job.held.guest),
            key=lambda job: (self.key(job, view.now_s), job.index),
        ):
            line = view.queue.groups.get(self.group(guest, view.now_s))
            head = next(iter(line)) if line else None
            if head is not None and self.key(head, view.now_s) < self.key(guest, view.now_s):
                continue
            grant = guest.held._replace(guest=False)
            if plan.cluster.all_free(grant) and self._may_hold(plan, guest):
                plan.grant(guest, grant)

    def _patient(self, plan: Plan) -> list[Job]:
        """Return the waiting jobs, first come first, that have turned opportunistic."""
        lines = [order.places() for order in plan.view.queue.groups.values()]
        waiting = [place.job for place in islice(merge(*lines), self.looks_at)]
        due_s, starting = plan.view.now_s - self.convert_after_s + 1e-6, plan.wish
        return [job for job in waiting if job.queued_s <= due_s and job not in starting]


class _Room:
    """What each GPU has left for a guest, kept from decision to decision.

    Only machines on which something changed are looked at anew; a job that found no place looks
    only at those that changed since.

    Attributes
    ----------
    changed
        Machines to be looked at.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.changed = set(range(len(cluster.machines)))
        shape = len(cluster.machines), cluster.biggest
        self._util, self._mem = np.full(shape, np.inf), np.zeros(shape)
        self._open = np.zeros(len(cluster.machines), np.int64)
        self._changed_in = np.zeros(len(cluster.machines), np.int64)
        self._refused_in: dict[Job, int] = {}
        self._decision = 0
        self._lately = np.arange(0)
        self._most_mem: list[float] = []
        self._opened = False
        self._tops: npt.NDArray[np.int64] | None = None

    def refresh(self, plan: Plan, util_below_frac: float) -> None:
        """Look at the machines on which something changed since the last decision."""
        self._decision += 1
        self.changed |= plan.touched
        for machine in self.changed:
            self._look_at(plan, machine, util_below_frac)
        self._lately = np.array(sorted(self.changed), np.int64)
        self.changed = set()
        self._changed_in[self._lately] = self._decision
        self._opened = bool(self._open[self._lately].any())
        self._limit()

    def _look_at(self, plan: Plan, machine: int, util_below_frac: float) -> None:
        util, mem = self._util[machine], self._mem[machine]
        util[:], mem[:] = np.inf, 0.0
        util[: self._cluster.machines[machine].gpus] = 0.0
        taken: list[int] = []
        for job in plan.on(machine):
            grant = plan.held(job)
            held = bits(dict(grant.shares)[machine]) if grant is not None else ()
            if grant is not None and grant.guest:
                taken += held
            else:
                for gpu in held:
                    util[gpu], mem[gpu] = job.util_frac, job.gpu_mem_frac
        taken += bits(self._cluster.out.get(machine, 0))
        util[taken] = np.inf
        util[util >= util_below_frac] = np.inf
        self._open[machine] = np.isfinite(util).sum()

    def _limit(self) -> None:
        """Work out how much memory a guest of each size may use, on any machine changed lately.

        How many GPUs the most open machines have together is worked out anew when it is asked.
        """
        self._tops = None
        mem = np.where(np.isfinite(self._util[self._lately]), self._mem[self._lately], np.inf)
        least = np.sort(mem, axis=1).min(axis=0, initial=np.inf)
        self._most_mem = [1.0, *(1.0 - least + _ROUNDING).tolist()]

    def fit(self, job: Job) -> Grant | None:
        """Place a guest on the least used GPUs of as few servers as possible, and mark them."""
        if job.gpus > self._cluster.biggest:
            return self._spread(job)
        last = self._refused_in.get(job)
        if last == self._decision - 1:
            if job.gpu_mem_frac > self._most_mem[job.gpus]:
                self._refused_in[job] = self._decision
                return None
            among = self._lately
        else:
            among = np.flatnonzero((self._changed_in > (last or 0)) & (self._open >= job.gpus))
        util = np.where(self._mem[among] + job.gpu_mem_frac <= 1, self._util[among], np.inf)
        order = np.argsort(util, axis=1, kind="stable")[:, : job.gpus]
        cost = np.take_along_axis(util, order, axis=1).cumsum(axis=1)[:, -1]
        if not len(among) or not np.isfinite(cost.min()):
            self._refused_in[job] = self._decision
            return None
        best = int(cost.argmin())
        return self._take(job, [(int(among[best]), order[best].tolist())])

    def _spread(self, job: Job) -> Grant | None:
        """Place a guest that no server is large enough for, on those that have most room."""
        last, self._refused_in[job] = self._refused_in.get(job), self._decision
        if last == self._decision - 1 and not self._opened:
            return None
        if self._tops is None:
            self._tops = np.sort(self._open)[::-1].cumsum()
        if self._tops[self._cluster.fewest(job.gpus) - 1] < job.gpus:
            return None
        chosen, left = [], job.gpus
        fits = np.isfinite(self._util) & (self._mem + job.gpu_mem_frac <= 1)
        counts = fits.sum(axis=1)
        for machine in np.argsort(-counts, kind="stable")[
            : self._cluster.fewest(job.gpus)
        ].tolist():
            util = np.where(fits[machine], self._util[machine], np.inf)
            count = min(left, int(counts[machine]))
            if count:
                chosen.append((machine, np.argsort(util, kind="stable")[:count].tolist()))
                left -= count
        return None if left else self._take(job, chosen)

    def _take(self, job: Job, chosen: list[tuple[int, list[int]]]) -> Grant:
        self._refused_in.pop(job, None)
        for machine, gpus in chosen:
            self._util[machine, gpus] = np.inf
            self._open[machine] -= len(gpus)
        self._limit()
        shares = [(machine, sum(1 << gpu for gpu in gpus)) for machine, gpus in chosen]
        return Grant(tuple(shares), job.gpus, guest=True)
