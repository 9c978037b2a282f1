"""Conservative backfilling: every waiting job has a reservation, and none is delayed."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import filterfalse, islice

from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.ordering import SortedJobs
from philly_analysis.simulator.policies.easy import (
    ESTIMATE,
    ESTIMATES,
    estimated_end_s,
    estimated_run_s,
)
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View

_EPS_S = 1e-6


@dataclass(frozen=True)
class Conservative(Policy):
    """First come, first served, with backfilling and a reservation for every waiting job.

    A job that begins to wait reserves the earliest interval for its gang and estimated run
    time, beside the running jobs and all earlier reservations. A job therefore passes
    other jobs only without delaying any. When a run does not end as estimated, all reservations
    are made again, in the order in which jobs began to wait.

    Reservations count GPUs anywhere, and GPU fractions likewise. A job whose reservation begins,
    but without a GPU for its fraction or without the requested servers, waits on. Only the first
    ``depth`` waiting jobs have reservations, as in production schedulers. Unlike EASY, later jobs
    may not start.
    """

    name = "conservative"
    SOURCE = "Mu'alem and Feitelson, TPDS'01, section 2: conservative backfilling"
    steady = True
    fractional = True

    estimate: float = knob(1.0, ESTIMATE, within=ESTIMATES)
    depth: int = knob(
        100, "waiting jobs, first come, that have a reservation", within=Bounds(1, 1_000_000)
    )

    def group(self, job: Job, now_s: float) -> int:
        """Return one group for all jobs."""
        return 0

    def key(self, job: Job, now_s: float) -> float:
        """Return since when the job waits: a retry goes to the end."""
        return job.queued_s

    def running_key(self, job: Job, now_s: float) -> float:
        """Return the estimated end of the job's run."""
        return estimated_end_s(job, self.estimate, now_s)

    def decide(self, view: View) -> Decision:
        """Make reservations for new jobs, and start the jobs whose reservation begins."""
        if not view.queue.groups:
            return {}
        now_s = view.now_s
        table: _Timetable | None = view.state.get("table")
        if table is None or not table.starts_s:  # without reservations jobs start if they fit
            first = list(islice(view.queue.groups[0], self.depth))
            if sum(job.gpus for job in first) <= view.cluster.free:
                view.state.pop("table", None)
                plan = view.plan()
                for job in first:
                    plan.assign(job, allocate(plan.cluster, job.request))
                return plan.decision
        if table is None or not table.is_valid(view):
            table = view.state["table"] = _Timetable(view)
        table.forget_before(now_s)
        for job in self._unreserved(view.queue.groups[0], table.starts_s):
            table.reserve(job, estimated_run_s(job, self.estimate, now_s))
        due = table.due(now_s + _EPS_S)
        if not due:
            return {}
        plan = view.plan()
        for job in due:
            self._start(plan, job, table)
        return plan.decision

    def _unreserved(self, jobs: SortedJobs, reserved: Mapping[Job, float]) -> list[Job]:
        """Return the jobs to reserve now, in order: the last ones, if every job has one."""
        more = min(len(jobs), self.depth) - len(reserved)
        if more <= 0:
            return []
        if len(jobs) > self.depth:
            return [*islice(filterfalse(reserved.__contains__, jobs), more)]
        return [*islice(filterfalse(reserved.__contains__, reversed(jobs)), more)][::-1]

    def _start(self, plan: Plan, job: Job, table: "_Timetable") -> None:
        if plan.assign(job, allocate(plan.cluster, job.request)):
            del table.starts_s[job]
            now_s = plan.view.now_s
            table.ends_s[job] = now_s + estimated_run_s(job, self.estimate, now_s)
        else:  # a run exceeds its estimate
            plan.view.state.pop("table", None)


class _Timetable:
    """The estimated free GPU units over time, as steps, and the reservations.

    Attributes
    ----------
    starts_s
        Start of each waiting job, in the order of reservation.
    ends_s
        Estimated end of each running job.
    """

    def __init__(self, view: View) -> None:
        self._most = view.cluster.capacity * GPU_UNITS
        self.starts_s: dict[Job, float] = {}
        self._to_start: list[tuple[float, int, Job]] = []
        self._reserved = 0
        view.running.changes()  # is_valid reads the changes from now on
        self.ends_s = {entry.job: entry.key for entry in view.running.entries()}
        running = {job: ends_s for job, ends_s in self.ends_s.items() if ends_s > view.now_s}
        self._from_s, self._free = [view.now_s], [self._most - sum(job.size for job in running)]
        for job, ends_s in running.items():  # sorted by their ends
            if self._from_s[-1] < ends_s:
                self._from_s.append(ends_s)
                self._free.append(self._free[-1])
            self._free[-1] += job.size

    def is_valid(self, view: View) -> bool:
        """Whether all runs end as estimated, and the capacity is the same."""
        running = view.running
        changes, now_s = running.changes(), view.now_s
        if changes is None or self._most != view.cluster.capacity * GPU_UNITS:
            return False
        for job, key in {entry.job: entry.key for entry, _ in changes}.items():
            if not job.running:
                if self.ends_s.pop(job, now_s) > now_s + _EPS_S:
                    return False
            elif abs(key - self.ends_s.get(job, FOREVER)) >= _EPS_S:
                return False
        return not running or running.first.key > now_s - _EPS_S

    def forget_before(self, now_s: float) -> None:
        """Remove the steps before a time."""
        past = bisect_right(self._from_s, now_s) - 1
        del self._from_s[:past], self._free[:past]
        self._from_s[0] = max(self._from_s[0], now_s)

    def due(self, by_s: float) -> list[Job]:
        """Return, once, the jobs whose reservation has begun, in the order of reservation."""
        begun = []
        while self._to_start and self._to_start[0][0] <= by_s:
            begun.append(heappop(self._to_start)[1:])
        return [job for _, job in sorted(begun)]

    def reserve(self, job: Job, takes_s: float) -> None:
        """Reserve the earliest interval in which a gang fits for so long."""
        if job.size > self._most:
            self.starts_s[job] = FOREVER
            return
        free, size, at, last = self._free, job.size, 0, 0
        while at == 0 or at < last:  # a step of the interval has too few free GPUs
            while free[at] < size:
                at += 1
            starts_s = self._from_s[at]
            last = bisect_left(self._from_s, starts_s + takes_s, at + 1)
            at += 1
            while at < last and free[at] >= size:
                at += 1
        self.starts_s[job] = starts_s
        self._reserved += 1
        heappush(self._to_start, (starts_s, self._reserved, job))
        if starts_s < starts_s + takes_s:
            begin, end = self._cut(starts_s), self._cut(starts_s + takes_s)
            free[begin:end] = [units - size for units in free[begin:end]]

    def _cut(self, at_s: float) -> int:
        """Return the index of the step that begins at a time."""
        at = bisect_right(self._from_s, at_s) - 1
        if self._from_s[at] < at_s:
            at += 1
            self._from_s.insert(at, at_s)
            self._free.insert(at, self._free[at - 1])
        return at
