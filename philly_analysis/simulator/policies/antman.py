"""AntMan: jobs that have waited long run as guests on GPUs whose holders leave capacity."""

from dataclasses import dataclass
from heapq import merge
from itertools import islice

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster, set_bits
from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.placement import pack
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import WAIT, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.simulator.speed.sharing import Sharing
from philly_analysis.simulator.speed.speed import Speed

CONSIDERED = 256
"""First waiting jobs that may become guests in one decision (chosen): bounds a decision's cost."""

_ROUNDING = 1e-12
"""Rounding of sums of shares of memory."""


@dataclass(frozen=True)
class AntMan(Policy):
    """First come, first served with whole gangs; opportunistic guests share the other GPUs.

    A job that has waited for ``convert_after_s`` becomes opportunistic: the job starts as a guest
    on GPUs of one server, or of several if the job is larger. These GPUs are idle, or have a holder
    with a utilisation below ``util_below_frac`` and memory for both jobs. Holders are guaranteed
    jobs. There is at most one guest per GPU, and guests never delay a holder. A job that requested
    several servers is never a guest. ``convert_after_s = inf`` disables sharing.

    With ``tenants`` each virtual cluster has a queue, and its jobs hold at most the quota, or a
    single gang above the quota. Jobs beyond the quota may still be guests. With ``upgrade`` a guest
    on GPUs without a holder becomes their holder, unless an earlier job of its queue waits.

    Not modelled: memory spilled to the host (a guest that does not fit makes no progress), and
    guests chosen by users.
    """

    name = "antman"
    SOURCE = "Xiao et al., AntMan, OSDI'20"
    steady = True
    guests = True

    convert_after_s: float = knob(600.0, "wait after which a job may be a guest", within=WAIT)
    util_below_frac: float = knob(
        0.8, "utilisation of the holder below which a GPU accepts a guest", within=Bounds(0, 1)
    )
    tenants: bool = knob(False, "limit virtual clusters to their quotas, in queues of their own")
    upgrade: bool = knob(False, "let guests become holders of GPUs without one")

    @property
    def quotas(self) -> bool:  # type: ignore[override]
        """Whether the policy uses the virtual clusters' quotas."""
        return self.tenants

    def group(self, job: Job, now_s: float) -> str:
        """Return one group for all jobs, or the tenant."""
        return job.vc if self.tenants else ""

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job becomes opportunistic."""
        due_s = job.queued_s + self.convert_after_s
        return due_s if not job.running and due_s > now_s else FOREVER

    def speed(self) -> Speed:
        """Return speeds by the compute that the holder of a GPU leaves to a guest."""
        return Sharing()

    def decide(self, view: View) -> Decision:
        """Start holders in the order of the queue, then guests."""
        capacity = view.cached("guests", lambda: _GuestCapacity(view.cluster))
        capacity.changed |= view.touched
        if not view.queue.groups and not self.upgrade:
            return {}
        plan = view.plan()
        if self.upgrade:
            self._upgrade(plan)
        for job in plan.offers():
            if self._may_hold(plan, job):
                self._start(plan, job)
        capacity.refresh(plan, self.util_below_frac)
        for job in self._opportunistic(plan):
            plan.assign(job, capacity.fit(job))
        return plan.decision

    def _start(self, plan: Plan, job: Job) -> None:
        """Plan the start of a gang on the requested, or the fewest possible, servers."""
        if job.request.servers:
            plan.assign(job, allocate(plan.cluster, job.request))
            return
        servers = plan.cluster.fewest_servers(job.gpus)
        plan.assign(job, pack(plan.cluster, job.gpus, servers=servers))

    def _may_hold(self, plan: Plan, job: Job) -> bool:
        """Whether a job's tenant may hold its GPUs; one gang alone may exceed the quota."""
        limit = max(plan.quota(job.vc), job.size)
        return not self.tenants or plan.in_use(job.vc) + job.size <= limit

    def _upgrade(self, plan: Plan) -> None:
        """Let guests become holders of GPUs without one, first come, first served."""
        view = plan.view
        for guest in sorted(
            (job for job in view.running if job.allocated.guest),
            key=lambda job: (self.key(job, view.now_s), job.index),
        ):
            waiting = view.queue.groups.get(self.group(guest, view.now_s))
            if waiting and waiting.first.key < self.key(guest, view.now_s):
                continue
            held = guest.allocated._replace(guest=False)
            if plan.cluster.is_free(held) and self._may_hold(plan, guest):
                plan.assign(guest, held)

    def _opportunistic(self, plan: Plan) -> list[Job]:
        """Return the opportunistic jobs among the first waiting ones."""
        groups = [jobs.entries() for jobs in plan.view.queue.groups.values()]
        waiting = [entry.job for entry in islice(merge(*groups), CONSIDERED)]
        due_s, starting = plan.view.now_s - self.convert_after_s + 1e-6, plan.decision
        return [
            job
            for job in waiting
            if job.queued_s <= due_s and job not in starting and len(job.request.servers) <= 1
        ]


class _GuestCapacity:
    """The utilisation and memory left for a guest on each GPU, kept between decisions.

    Only changed machines are evaluated again. A refused job considers only machines that changed
    since the refusal.

    Attributes
    ----------
    changed
        Machines to evaluate.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.changed = set(range(len(cluster.machines)))
        shape = len(cluster.machines), cluster.largest_server
        self._util, self._mem = np.full(shape, np.inf), np.zeros(shape)
        self._open = np.zeros(len(cluster.machines), np.int64)
        self._changed_in = np.zeros(len(cluster.machines), np.int64)
        self._refused_in: dict[Job, int] = {}
        self._decision = 0
        self._recent = np.arange(0)
        self._most_mem: list[float] = []
        self._opened = False
        self._tops: npt.NDArray[np.int64] | None = None

    def refresh(self, plan: Plan, util_below_frac: float) -> None:
        """Evaluate the machines that changed since the last decision."""
        self._decision += 1
        self.changed |= plan.touched
        for machine in self.changed:
            self._evaluate(plan, machine, util_below_frac)
        self._recent = np.array(sorted(self.changed), np.int64)
        self.changed = set()
        self._changed_in[self._recent] = self._decision
        self._opened = bool(self._open[self._recent].any())
        self._limit()

    def _evaluate(self, plan: Plan, machine: int, util_below_frac: float) -> None:
        util, mem = self._util[machine], self._mem[machine]
        util[:], mem[:] = np.inf, 0.0
        util[: self._cluster.machines[machine].gpus] = 0.0
        closed: list[int] = []
        for job in plan.jobs_on(machine):
            held = plan.allocation_of(job)
            gpus = set_bits(dict(held.shares)[machine]) if held is not None else ()
            if held is not None and held.guest:
                closed += gpus
            else:
                for gpu in gpus:
                    util[gpu], mem[gpu] = job.util_frac, job.gpu_mem_frac
        closed += set_bits(self._cluster.out_of_service[machine])
        util[closed] = np.inf
        util[util >= util_below_frac] = np.inf
        self._open[machine] = np.isfinite(util).sum()

    def _limit(self) -> None:
        """Compute the most memory of a guest of each size on a recently changed machine.

        The open GPUs of the most open machines together are computed on demand.
        """
        self._tops = None
        mem = np.where(np.isfinite(self._util[self._recent]), self._mem[self._recent], np.inf)
        least = np.sort(mem, axis=1).min(axis=0, initial=np.inf)
        self._most_mem = [1.0, *(1.0 - least + _ROUNDING).tolist()]

    def fit(self, job: Job) -> Allocation | None:
        """Place a guest on the least used GPUs of as few servers as possible, and close them."""
        if job.gpus > self._cluster.largest_server:
            return self._spread(job)
        last = self._refused_in.get(job)
        if last == self._decision - 1:
            if job.gpu_mem_frac > self._most_mem[job.gpus]:
                self._refused_in[job] = self._decision
                return None
            among = self._recent
        else:
            among = np.flatnonzero((self._changed_in > (last or 0)) & (self._open >= job.gpus))
        util = np.where(self._mem[among] + job.gpu_mem_frac <= 1, self._util[among], np.inf)
        order = np.argsort(util, axis=1, kind="stable")[:, : job.gpus]
        cost = np.take_along_axis(util, order, axis=1).cumsum(axis=1)[:, -1]
        if not len(among) or not np.isfinite(cost.min()):
            self._refused_in[job] = self._decision
            return None
        best = int(cost.argmin())
        return self._close(job, [(int(among[best]), order[best].tolist())])

    def _spread(self, job: Job) -> Allocation | None:
        """Place a guest larger than any server on the servers with the most open GPUs."""
        last, self._refused_in[job] = self._refused_in.get(job), self._decision
        if last == self._decision - 1 and not self._opened:
            return None
        if self._tops is None:
            self._tops = np.sort(self._open)[::-1].cumsum()
        servers = self._cluster.fewest_servers(job.gpus)
        if self._tops[servers - 1] < job.gpus:
            return None
        chosen, unplaced_gpus = [], job.gpus
        fits = np.isfinite(self._util) & (self._mem + job.gpu_mem_frac <= 1)
        counts = fits.sum(axis=1)
        for machine in np.argsort(-counts, kind="stable")[:servers].tolist():
            util = np.where(fits[machine], self._util[machine], np.inf)
            count = min(unplaced_gpus, int(counts[machine]))
            if count:
                chosen.append((machine, np.argsort(util, kind="stable")[:count].tolist()))
                unplaced_gpus -= count
        return None if unplaced_gpus else self._close(job, chosen)

    def _close(self, job: Job, chosen: list[tuple[int, list[int]]]) -> Allocation:
        self._refused_in.pop(job, None)
        for machine, gpus in chosen:
            self._util[machine, gpus] = np.inf
            self._open[machine] -= len(gpus)
        self._limit()
        shares = [(machine, sum(1 << gpu for gpu in gpus)) for machine, gpus in chosen]
        return Allocation(tuple(shares), job.gpus, guest=True)
