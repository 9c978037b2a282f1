"""What a policy sees, and the plan on which it tries things out before it wishes them."""

from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

from philly_analysis.simulator.cluster.cluster import Cluster, Grant
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Order, Place, Queue

Wish = Mapping[Job, Grant | None]
"""Who should hold what from now on; jobs that it does not name stay as they are."""

Key = Callable[[Job, float], Any]
"""What jobs are served by, smallest first: of a job and the present (s since origin)."""


class View:
    """The present, as a policy may read it.

    Attributes
    ----------
    now_s
        Seconds since the workload's origin.
    key
        What the policy serves waiting jobs by.
    queue
        Waiting jobs.
    running
        Jobs that run, best first (see ``Policy.standing``).
    holding
        Jobs that hold part of their gang.
    used
        What each virtual cluster's jobs hold, in parts of GPUs.
    quotas
        GPUs that each virtual cluster is entitled to; empty where nobody said.
    changed
        Jobs that arrived, came back or were due for review since the last decision.
    freed
        Machines on which GPUs were given back since the last decision.
    residents
        Per machine, the jobs that run there.
    touched
        Machines on which anything was taken or given back since the last decision.
    kept
        What the policy keeps for itself from one decision of this simulation to the next.
    """

    __slots__ = (
        "_plan",
        "changed",
        "cluster",
        "freed",
        "holding",
        "kept",
        "key",
        "now_s",
        "queue",
        "quotas",
        "residents",
        "running",
        "touched",
        "used",
    )

    def __init__(
        self, cluster: Cluster, key: Key, quotas: Mapping[str, int], kind: str | None = None
    ) -> None:
        self.now_s = 0.0
        self.cluster, self.key, self.quotas = cluster, key, quotas
        self.queue = Queue(kind)
        self.running = Order()
        self.holding: dict[Job, None] = {}
        self.used: dict[str, int] = {}
        self.changed: list[Job] = []
        self.freed: set[int] = set()
        self.touched: set[int] = set()
        self.kept: dict[Any, Any] = {}
        self._plan: Plan | None = None
        self.residents: list[dict[Job, None]] = [{} for _ in cluster.machines]

    def plan(self) -> "Plan":
        """Return a plan that starts from the present: the cluster is as it would have it."""
        self.drop_plan()
        self._plan = Plan(self)
        return self._plan

    def drop_plan(self) -> None:
        """Show the present again; the engine does this after each decision."""
        if self._plan is not None:
            self._plan = None
            self.cluster.restore()


class Plan:
    """A decision in the making: grants are tried on the cluster, and taken back at its end.

    Attributes
    ----------
    cluster
        The cluster as it would be.
    offered
        Where the job stands that is offered GPUs.
    """

    __slots__ = ("_returned", "_wish", "cluster", "offered", "used", "view")

    def __init__(self, view: View) -> None:
        self.view, self.cluster = view, view.cluster
        self.used: dict[str, int] = {}
        self.cluster.attempt()
        self._wish: dict[Job, Grant | None] = {}
        self._returned: list[Job] = []

    @property
    def wish(self) -> Wish:
        """What of the plan differs from the present."""
        return {job: grant for job, grant in self._wish.items() if grant != job.grant}

    def held(self, job: Job) -> Grant | None:
        """Return what a job would hold."""
        return self._wish.get(job, job.grant)

    def in_use(self, vc: str) -> int:
        """Return what the jobs of a virtual cluster would hold, in parts of GPUs."""
        return self.view.used.get(vc, 0) + self.used.get(vc, 0)

    def quota(self, vc: str) -> int:
        """Return what a virtual cluster is entitled to, in parts of GPUs: all if nobody said."""
        return self.view.quotas.get(vc, self.cluster.capacity) * WHOLE

    def unused(self) -> dict[str, int]:
        """Return what of their quota virtual clusters would not use, of those that hold or held.

        In parts of GPUs; below zero: what one would use above its quota.
        """
        quotas, all_ = self.view.quotas, self.cluster.capacity
        used = self.in_use_by_vc() if self.used else self.view.used
        return {vc: quotas.get(vc, all_) * WHOLE - size for vc, size in used.items()}

    def in_use_by_vc(self) -> dict[str, int]:
        """Return what the jobs of each virtual cluster would hold, of those that held anything."""
        used = self.view.used.copy()
        for vc, more in self.used.items():
            used[vc] = used.get(vc, 0) + more
        return used

    @property
    def touched(self) -> set[int]:
        """Machines that the plan takes GPUs from, or gives GPUs on."""
        grants = [g for job, new in self._wish.items() for g in (job.grant, new) if g is not None]
        return {machine for grant in grants for machine, _ in grant.shares}

    def on(self, machine: int) -> list[Job]:
        """Return the jobs that would run on a machine."""
        wish = self._wish

        def there(job: Job) -> bool:
            grant = wish[job]
            return bool(grant and not grant.partial and machine in dict(grant.shares))

        jobs = self.view.residents[machine] | dict.fromkeys(wish)
        return [job for job in jobs if job not in wish or there(job)]

    def grant(self, job: Job, grant: Grant | None) -> bool:
        """Give a job what a search found; False when it found nothing."""
        if grant is None:
            return False
        if (old := self.held(job)) is not None:
            self.cluster.give(old)
            self._count(job, old, -1)
        self.cluster.take(grant)
        self._count(job, grant, 1)
        self._wish[job] = grant
        return True

    def release(self, job: Job) -> None:
        """Take from a job what it holds; a job that ran is offered GPUs again."""
        if (old := self.held(job)) is not None:
            self.cluster.give(old)
            self._count(job, old, -1)
            self._wish[job] = None
            if job.running:
                self._returned.append(job)

    def return_to(self, job: Job) -> bool:
        """Give a job back what it holds in the present, if that is still free in the plan."""
        old, cluster = job.grant, self.cluster
        if old is None or not cluster.all_free(old):
            return False
        for machine, gpus in old.shares if old.cpus or old.mem_gb else ():
            count = gpus.bit_count()
            if (
                cluster.free_cpus[machine] + 1e-6 < old.cpus * count
                or cluster.free_mem_gb[machine] + 1e-6 < old.mem_gb * count
            ):
                return False
        return self.grant(job, old)

    def offer(self, take: Callable[[Job], bool | None]) -> None:
        """Offer GPUs to waiting jobs, and to jobs released meanwhile, by the policy's key.

        The queue itself is left alone: a heap holds the next job of each group, so that the first
        of all groups is at hand and a group is gone through only as far as its jobs start.

        Parameters
        ----------
        take
            Tries to plan a job's start; after a False the rest of its group is passed over, after
            None all others are.
        """
        key, now_s, queue = self.view.key, self.view.now_s, self.view.queue
        heap: list[tuple[Place, Order | None, int]] = [
            (head, order, 0)
            for head, order in zip(queue.heads(), queue.groups.values(), strict=True)
        ]
        heapify(heap)
        while heap or self._returned:
            while self._returned:  # who had to give way asks again, as a group of its own
                back = self._returned.pop()
                heappush(heap, (Place(key(back, now_s), back.index, back), None, 0))
            place, order, before = heap[0]
            self.offered = place
            started = take(place.job)
            if started is None:
                return
            if started and order is not None and (behind := order.behind(before + 1)) is not None:
                heapreplace(heap, (behind, order, before + 1))
            else:
                heappop(heap)

    def _count(self, job: Job, grant: Grant, sign: int) -> None:
        if not grant.guest and not grant.partial:
            self.used[job.vc] = self.used.get(job.vc, 0) + sign * grant.size
