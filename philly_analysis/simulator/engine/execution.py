"""Start, preempt, migrate and resize jobs; keep events, wait clocks and the schedule in step."""

from collections.abc import Collection, Mapping
from math import inf

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.engine.active_outages import CapacityChange
from philly_analysis.simulator.engine.event_queue import EventQueue
from philly_analysis.simulator.engine.schedule import ScheduleRecorder
from philly_analysis.simulator.engine.wait_causes import WaitClocks
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, View
from philly_analysis.simulator.speed.speed import Speed

_LOSES = ("preempted", "node_failure")
"""End reasons without time for a checkpoint."""

MAX_SETBACKS = 10_000
"""Consecutive interruptions without progress after which a simulation is aborted."""


class Execution:
    """The running state of a simulation.

    Attributes
    ----------
    view
        The state that the policy sees.
    event_queue
        Ends of runs and reviews of jobs.
    clocks
        Causes of waits.
    recorder
        The schedule so far.
    """

    def __init__(
        self,
        cluster: Cluster,
        policy: Policy,
        speed: Speed,
        quotas: Mapping[str, int],
        checkpoint_s: float,
    ) -> None:
        self._cluster, self._policy, self._checkpoint_s = cluster, policy, checkpoint_s
        self._speed = speed.on(cluster.topology)
        self.view = View(cluster, policy.key, quotas, policy.kind)
        self.event_queue = EventQueue()
        self.clocks = WaitClocks(quotas, self.view.used, cluster)
        self.recorder = ScheduleRecorder()
        self._starts = 0
        self._charged_s = -inf

    def enqueue(self, job: Job, now_s: float) -> None:
        """Let a job wait from now on."""
        job.queued_s = now_s
        self.clocks.open(job, now_s)
        self.review(job, now_s)

    def review(self, job: Job, now_s: float) -> None:
        """Recompute a job's priority, and let the policy decide."""
        self.view.changed.append(job)
        self._sort(job, now_s)

    def evaluate(self, now_s: float) -> None:
        """Sort the jobs again whose group, level or key changed since they were sorted."""
        view = self.view
        for job in (*view.queue, *view.queue.withheld, *view.running):
            if self.is_stale(job, now_s):
                self.review(job, now_s)

    def is_stale(self, job: Job, now_s: float) -> bool:
        """Whether a job's group, level or key differs from what the job is sorted by."""
        view, policy = self.view, self._policy
        if policy.level(job, now_s) != job.level:
            return True
        if job.running:
            return bool(policy.running_key(job, now_s) != view.running.key_of(job))
        group, key = view.queue.place_of(job)
        now_in = policy.group(job, now_s)
        return bool(now_in != group or (group is not None and policy.key(job, now_s) != key))

    def _sort(self, job: Job, now_s: float) -> None:
        """Sort a job by the present priority key, and schedule the job's next review."""
        view, policy = self.view, self._policy
        level = policy.level(job, now_s)
        if level != job.level:
            job.set_level(level, now_s)
        if job.running:
            view.running.discard(job)
            view.running.add(job, policy.running_key(job, now_s))
        else:
            view.queue.put(job, policy.group(job, now_s), policy.key(job, now_s))
        self.event_queue.schedule_review(job, now_s, policy.review_s(job, now_s))

    def end(self, job: Job, now_s: float) -> bool:
        """End a job's present run; return whether the run was the job's last."""
        cut = job.over_limit(now_s)
        reason = "time_limit" if cut else job.runs[job.run].end_reason or "completed"
        allocation = self._stop(job, now_s, reason)
        self.event_queue.cancel_review(job)
        more = job.finish_run(give_up=cut)
        if more:
            self.enqueue(job, now_s)
        self._update_neighbours([allocation], now_s)
        return not more

    def charge_event_cost(self, now_s: float) -> None:
        """Subtract the policy's cost of an event from the work of all running jobs."""
        lost_s = min(self._policy.event_cost_s(), now_s - self._charged_s)
        self._charged_s = now_s
        if lost_s:
            for job in list(self.view.running):
                job.lose(now_s, lost_s)
                self.event_queue.schedule_end(job, job.end_s())
                self._sort(job, now_s)

    def change_capacity(self, change: CapacityChange, now_s: float) -> None:
        """Take failed GPUs out of service, after stopping their jobs; or return GPUs to service."""
        machine, view = change.machine, self.view
        hit = self._stop_jobs(change, now_s) if change.failed else []
        self._cluster.change_capacity(machine, change.gpus, failed=change.failed)
        self.clocks.change_capacity(change, now_s)
        view.touched.add(machine)
        if not change.failed:
            view.freed.add(machine)
        self._update_neighbours(hit, now_s)

    def _stop_jobs(self, change: CapacityChange, now_s: float) -> list[Allocation]:
        """Stop the jobs on failed GPUs; return their allocations."""
        machine, gpus, view = change.machine, change.gpus, self.view

        def hit(job: Job) -> bool:
            return any(m == machine and held & gpus for m, held in job.allocated.shares)

        for job in filter(hit, list(view.holding)):
            self._clear(job, None, now_s)
            self.review(job, now_s)
        allocations = []
        for job in filter(hit, list(view.residents[machine])):
            allocations.append(self._stop(job, now_s, "node_failure"))
            job.interrupted = True
            self.enqueue(job, now_s)
        return allocations

    def _stop(self, job: Job, now_s: float, reason: str) -> Allocation:
        """End a job's attempt, and release its GPUs."""
        lost_s = self._lost_s(job, now_s) if self._checkpoint_s and reason in _LOSES else 0.0
        self.recorder.end_attempt(job, now_s, reason, lost_s)
        self.view.running.discard(job)
        allocation = self._release(job, now_s)
        job.stop(now_s, lost_s)
        return allocation

    def _lost_s(self, job: Job, now_s: float) -> float:
        """Return a job's work since its last checkpoint (s at full speed)."""
        since_start_s = job.work_s(now_s)
        done_s = job.runs[job.run].run_s - job.left_s(now_s)
        lost_s = min(done_s % self._checkpoint_s, since_start_s)
        job.setbacks = 0 if lost_s < since_start_s else job.setbacks + 1
        if job.setbacks > MAX_SETBACKS:
            raise SimulationError(
                f"{job} was stopped {MAX_SETBACKS:,} times in a row before its first checkpoint. "
                f"Give a checkpoint_s below {self._checkpoint_s:g} s, or another policy."
            )
        return lost_s

    def _release(self, job: Job, now_s: float) -> Allocation:
        allocation = job.allocated
        self._cluster.release(allocation)
        self._account(job, allocation, now_s, -1)
        self.view.freed.update([machine for machine, _ in allocation.shares])
        return allocation

    def _account(self, job: Job, allocation: Allocation, now_s: float, sign: int) -> None:
        """Add or subtract a job's allocation in the use of its virtual cluster and machines."""
        if not allocation.guest:
            self.clocks.change_use(job.vc, allocation, sign, now_s)
            self.view.used[job.vc] = self.view.used.get(job.vc, 0) + sign * allocation.size
        residents, touched = self.view.residents, self.view.touched
        for machine, _ in allocation.shares:
            touched.add(machine)
            if sign > 0:
                residents[machine][job] = None
            else:
                del residents[machine][job]

    def apply(self, decision: Decision, now_s: float) -> None:
        """Carry out a decision.

        All releases come before all allocations, since jobs may swap GPUs. Speeds are computed
        last, when all neighbours are known.
        """
        touched = [self._clear(job, new, now_s) for job, new in decision.items()]
        for job, new in decision.items():
            if new is not None:
                self._check(job, new)
                self._cluster.allocate(new)
                if new.partial:
                    job.allocation = new
                    job.segment_s = now_s
                    self.view.holding[job] = None
                else:
                    self._start(job, new, now_s)
                touched.append(new)
        self._update_neighbours([some for some in touched if some is not None], now_s)
        for job, new in decision.items():
            if new is not None and not new.partial:
                self._set_speed(job, now_s, anew=True)

    def _clear(self, job: Job, new: Allocation | None, now_s: float) -> Allocation | None:
        """Release a job's present allocation, before the job gets a new allocation or none."""
        if not job.running:
            if job.allocation is not None:
                self.recorder.end_hold(job, now_s)
                self._cluster.release(job.allocation)
                job.allocation = None
                del self.view.holding[job]
            return None
        old = job.allocated
        if new is not None and new.shares == old.shares and new.guest == old.guest:
            self.recorder.end_interval(job, now_s)  # the same GPUs, other CPUs
            return self._release(job, now_s)
        reason = "preempted"
        if new is not None:
            reason = "migrated" if new.gpus == old.gpus else "resized"
        self._stop(job, now_s, reason)
        # a job that only becomes guest or holder continues on its GPUs
        job.interrupted = new is None or new.shares != old.shares
        if new is None:
            self.enqueue(job, now_s)
        return old

    def _check(self, job: Job, new: Allocation) -> None:
        complete = new.size == job.size or self._policy.elastic or new.partial
        counted = sum(gpus.bit_count() for _, gpus in new.shares) == new.gpus > 0
        if not complete or not counted or (new.guest and not self._policy.guests):
            raise SimulationError(
                f"{type(self._policy).__name__} made an invalid decision: {job} requests "
                f"{job.gpus} GPUs and was allocated {new}."
            )
        requested = job.request.servers
        if not requested or new.partial or self._policy.replays:
            return
        counts = sorted((gpus.bit_count() for _, gpus in new.shares), reverse=True)
        if tuple(counts) != requested:
            raise SimulationError(
                f"{type(self._policy).__name__} made an invalid decision: {job} requests "
                f"{requested} GPUs by server and was allocated {counts}. Place jobs by "
                "allocate(plan.cluster, job.request)."
            )

    def _start(self, job: Job, new: Allocation, now_s: float) -> None:
        """Start a waiting job, or continue a running job, on the new allocation."""
        self._account(job, new, now_s, 1)
        if job.running:
            job.allocation = new
            return
        self.clocks.close(job, now_s)
        self.view.queue.remove(job)
        self._starts += 1
        job.nth_start = self._starts
        job.start(new, now_s, self._policy.restart_s if job.interrupted else 0.0)

    def _set_speed(self, job: Job, now_s: float, *, anew: bool = False) -> None:
        """Compute a job's speed from now on, and schedule the end of the run."""
        allocation = job.allocated
        near = self.view.jobs_near([allocation] if self._speed.neighbourly else ())
        near.pop(job, None)
        speed = self._speed.of(job, allocation, tuple(near))
        if anew or speed != job.speed:
            self.recorder.end_interval(job, now_s)
            job.change_speed(now_s, speed)
            self.event_queue.schedule_end(job, job.end_s())
            self._sort(job, now_s)

    def _update_neighbours(self, touched: Collection[Allocation], now_s: float) -> None:
        """Recompute the speeds of the jobs on machines with a changed allocation."""
        if self._speed.neighbourly:
            for job in self.view.jobs_near(touched):
                self._set_speed(job, now_s)
