"""Provide the state that a policy sees, and plans that try allocations before they are decided."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, TypeVar

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry, Queue, SortedJobs
from philly_analysis.simulator.jobs.queue_arrays import QueueArrays

T = TypeVar("T")

Decision = Mapping[Job, Allocation | None]
"""New allocations by job, None to preempt the job; other jobs keep their allocations."""

Key = Callable[[Job, float], Any]
"""Computes the priority key of a job at a time (s)."""


class View:
    """The present state of a simulation; read-only for policies.

    Attributes
    ----------
    now_s
        Seconds since the workload's origin.
    key
        The policy's priority key of waiting jobs.
    cluster
        The machines, with their free GPUs.
    queue
        Waiting jobs.
    running
        Running jobs, by ``Policy.running_key``.
    holding
        Waiting jobs that hold part of their gang.
    used
        GPU units allocated to each virtual cluster.
    quotas
        GPUs to which each virtual cluster is entitled; empty if unknown.
    changed
        Jobs that arrived, were stopped or reviewed since the last decision.
    freed
        Machines on which GPUs were released since the last decision.
    residents
        Per machine, the jobs that run there.
    touched
        Machines on which anything was allocated or released since the last decision.
    state
        The policy's own state from one decision of this simulation to the next.
    """

    def __init__(
        self, cluster: Cluster, key: Key, quotas: Mapping[str, int], kind: str | None = None
    ) -> None:
        self.now_s = 0.0
        self.cluster, self.key, self.quotas = cluster, key, quotas
        self.queue = Queue(kind)
        self.running = SortedJobs()
        self.holding: dict[Job, None] = {}
        self.used: dict[str, int] = {}
        self.changed: list[Job] = []
        self.freed: set[int] = set()
        self.touched: set[int] = set()
        self.state: dict[Any, Any] = {}
        self._plan: Plan | None = None
        self.residents: list[dict[Job, None]] = [{} for _ in cluster.machines]

    def plan(self) -> "Plan":
        """Return a plan that starts from the present and changes the cluster tentatively."""
        self.drop_plan()
        self._plan = Plan(self)
        return self._plan

    def drop_plan(self) -> None:
        """Undo the plan's changes; the engine calls this after each decision."""
        if self._plan is not None:
            self._plan = None
            self.cluster.roll_back()

    def jobs_near(self, allocations: Iterable[Allocation]) -> dict[Job, None]:
        """Return the jobs that run on machines of some allocations."""
        machines = (machine for allocation in allocations for machine, _ in allocation.shares)
        return {job: None for machine in machines for job in self.residents[machine]}

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value of the policy's state, made at the first call."""
        if key not in self.state:
            self.state[key] = make()
        value: T = self.state[key]
        return value

    def arrays(self, group: Hashable, numbers: Callable[[Job], tuple[float, ...]]) -> QueueArrays:
        """Return arrays of numbers of a group's waiting jobs."""
        jobs, arrays = self.queue.groups[group], self.state.get(group)
        if arrays is None or arrays.jobs is not jobs:
            arrays = self.state[group] = QueueArrays(jobs, numbers)
        of_group: QueueArrays = arrays
        return of_group


class Plan:
    """A decision in progress: allocations on the cluster that the end of the plan rolls back.

    Attributes
    ----------
    cluster
        The cluster under the plan.
    offered
        The queue entry of the job that is offered GPUs.
    """

    def __init__(self, view: View) -> None:
        self.view, self.cluster = view, view.cluster
        self.used: dict[str, int] = {}
        self.cluster.begin_trial()
        self._decision: dict[Job, Allocation | None] = {}
        self._returned: list[Job] = []
        self._unused: dict[str, int] | None = None
        self.offered: Entry

    @property
    def decision(self) -> Decision:
        """The allocations of the plan that differ from the present."""
        return {job: new for job, new in self._decision.items() if new != job.allocation}

    def allocation_of(self, job: Job) -> Allocation | None:
        """Return a job's allocation under the plan."""
        return self._decision.get(job, job.allocation)

    def in_use(self, vc: str) -> int:
        """Return the GPU units allocated to a virtual cluster under the plan."""
        return self.view.used.get(vc, 0) + self.used.get(vc, 0)

    def quota(self, vc: str) -> int:
        """Return a virtual cluster's quota (GPU units): the whole cluster if unknown."""
        return self.view.quotas.get(vc, self.cluster.capacity) * GPU_UNITS

    def unused(self) -> dict[str, int]:
        """Return the unused quota (GPU units) of virtual clusters that have used any.

        Negative: use above the quota.
        """
        if self._unused is None:
            quotas, capacity = self.view.quotas, self.cluster.capacity
            used = self.in_use_by_vc() if self.used else self.view.used
            self._unused = {
                vc: quotas.get(vc, capacity) * GPU_UNITS - size for vc, size in used.items()
            }
        return self._unused

    def in_use_by_vc(self) -> dict[str, int]:
        """Return the GPU units allocated under the plan, by virtual cluster."""
        used = self.view.used.copy()
        for vc, more in self.used.items():
            used[vc] = used.get(vc, 0) + more
        return used

    @property
    def touched(self) -> set[int]:
        """Machines on which the plan allocates or releases GPUs."""
        changed = [a for job, new in self._decision.items() for a in (job.allocation, new)]
        return {machine for a in changed if a is not None for machine, _ in a.shares}

    def jobs_on(self, machine: int) -> list[Job]:
        """Return the jobs that run on a machine under the plan."""
        decision = self._decision

        def there(job: Job) -> bool:
            new = decision[job]
            return bool(new and not new.partial and machine in dict(new.shares))

        jobs = self.view.residents[machine] | dict.fromkeys(decision)
        return [job for job in jobs if job not in decision or there(job)]

    def assign(self, job: Job, allocation: Allocation | None) -> bool:
        """Plan a job's new allocation, in place of any other; return False if there is none."""
        if allocation is None:
            return False
        if (old := self.allocation_of(job)) is not None:
            self.cluster.release(old)
            self._count(job, old, -1)
        self.cluster.allocate(allocation)
        self._count(job, allocation, 1)
        self._decision[job] = allocation
        return True

    def release(self, job: Job) -> None:
        """Release a job's allocation; a job that ran is offered GPUs again."""
        if (old := self.allocation_of(job)) is not None:
            self.cluster.release(old)
            self._count(job, old, -1)
            self._decision[job] = None
            if job.running:
                self._returned.append(job)

    def restore(self, job: Job) -> bool:
        """Restore a job's present allocation, if its GPUs are still free under the plan."""
        old = job.allocation
        return old is not None and self.cluster.is_free(old) and self.assign(job, old)

    def offers(self) -> Iterator[Job]:
        """Yield waiting jobs, and jobs released meanwhile, by the priority key.

        The caller may plan the start of the job by :meth:`assign`. Behind a job that does not
        start, the rest of the job's group is skipped.
        """
        key, now_s = self.view.key, self.view.now_s
        groups = map(SortedJobs.entries, self.view.queue.groups.values())
        heap = [(next(entries), entries) for entries in groups]  # the next job of each group
        heapify(heap)
        alone: Iterator[Entry] = iter(())
        while heap or self._returned:
            while self._returned:  # a released job is a separate group
                back = self._returned.pop()
                heappush(heap, (Entry(key(back, now_s), back.index, back), alone))
            self.offered, behind = heap[0]
            job = self.offered.job
            yield job
            started = self._decision.get(job) is not None
            if started and (following := next(behind, None)) is not None:
                heapreplace(heap, (following, behind))
            else:
                heappop(heap)

    def _count(self, job: Job, allocation: Allocation, sign: int) -> None:
        if not allocation.guest and not allocation.partial:
            self.used[job.vc] = self.used.get(job.vc, 0) + sign * allocation.size
            self._unused = None
