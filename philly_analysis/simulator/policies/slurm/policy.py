"""Slurm's main and backfill schedulers, with limits, priorities, reservations and preemption."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.slurm.backfill import Backfill
from philly_analysis.simulator.policies.slurm.options import Options
from philly_analysis.simulator.policies.slurm.room import place
from philly_analysis.simulator.policies.slurm.starts import start
from philly_analysis.simulator.policies.slurm.state import State
from philly_analysis.simulator.policies.view import Decision, Plan, View


@dataclass(frozen=True)
class Slurm(Options):
    """Slurm: partitions, hard limits, multifactor priority, backfill, preemption, reservations.

    The main scheduler starts jobs in the order of their priority when something changes, and stops
    in each partition at the first job that does not fit. The backfill scheduler then plans a start
    for each job by the time limits, and starts jobs that delay no planned start. A job beyond a
    limit of its account, user, QOS or partition waits, and blocks no other job.

    The trace's table ``limits`` has the limits. ``settings`` names a folder with the output of
    Slurm's commands. Partitions, QOS, shares, reservations, drained servers, the start of the
    controller, and knobs that keep their defaults are read from the folder. Otherwise jobs may use
    the servers of their recorded pool, all accounts have equal shares, and no QOS precedes another
    QOS. A job is considered from its recorded eligible time on. Jobs that never ran are planned
    until they were cancelled or the log ended.
    """

    name = "slurm"
    SOURCE = (
        "Slurm 22.05: slurm.conf(5), Multifactor Priority Plugin, Scheduling Configuration Guide"
    )
    fractional = True
    one_pool = True
    limits = holds = True

    def decide(self, view: View) -> Decision:
        """Start jobs in the order of priority; at the interval's end, backfill and preempt."""
        state: State = view.cached("slurm", lambda: State(self, self._site, view))
        state.refresh(view)
        if not len(view.queue):
            state.backfilled = True
            return {}
        plan = view.plan()
        for allocation in state.completing.values():
            if plan.cluster.is_free(allocation):
                plan.cluster.allocate(allocation)
        order = state.order(view)
        if view.changed or view.freed or view.now_s >= state.change_at_s:
            if state.backfilled:  # cycles run at multiples of the interval
                cycles = ceil(view.now_s / self.bf_interval)
                state.backfill_at_s = max(state.backfill_at_s, cycles * self.bf_interval)
            state.backfilled = state.scheduled = False
        state.change_at_s = state.next_change_s(view.now_s)
        if state.scheduled or view.now_s < state.schedule_at_s:
            self._submit(plan, state, order)
        else:
            self._main(plan, state, order)
            state.scheduled = True
            state.schedule_at_s = self._next_run_s(view.now_s)
        if self.backfill and view.now_s >= state.backfill_at_s and not state.backfilled:
            state.backfill_at_s = (floor(view.now_s / self.bf_interval) + 1) * self.bf_interval
            state.backfilled = True
            waiting = [job for job in order if plan.allocation_of(job) is None]
            Backfill(self, self._site, plan, state).run(waiting)
        state.started(plan.decision, view.now_s)
        return plan.decision

    def wake_s(self, view: View) -> float:
        """Return when to backfill, compute priorities, or see a reservation begin or end."""
        state: State | None = view.state.get("slurm")
        if state is None or not len(view.queue):
            return FOREVER
        if not view.running and state.idle:  # nothing changes before a reservation does
            return state.next_change_s(view.now_s)
        times = [state.next_change_s(view.now_s)]
        times += [at_s for at_s, _ in state.completing]
        if not state.scheduled:
            times.append(max(state.schedule_at_s, self._next_run_s(view.now_s)))
        if self.backfill and not state.backfilled:
            times.append(max(state.backfill_at_s, view.now_s + 1e-3))
        if self.PriorityWeightFairshare:
            times.append(state.compute_at_s)
        return min(times)

    def _next_run_s(self, now_s: float) -> float:
        """Return when the main scheduler runs next: once a second at most, and once a delay.

        Runs lie half a period after multiples of the period, because logs have whole seconds, which
        runs do not wait for.
        """
        period_s = max(self.batch_sched_delay, 1.0)
        return (floor(now_s / period_s + 0.5) + 0.5) * period_s

    def _submit(self, plan: Plan, state: State, order: Sequence[Job]) -> None:
        """Start new jobs that precede all others of their partitions, as at a submission."""
        new, passed = set(plan.view.changed), set[str]()
        now_s = plan.view.now_s
        for job in order if new else ():
            reserves = job.spec.job_id in self._site.reserving
            if (job.vc in passed and not reserves) or not state.limits.allows(job):
                continue
            if job in new and job.spec.job_id not in self._site.whole_of:
                end_s = now_s + self.limit_s(job)
                servers = self._site.servers(job, now_s, end_s, now_s)
                if start(plan, state, job, servers):
                    continue
            if not reserves:
                passed.add(job.vc)

    def _main(self, plan: Plan, state: State, order: Sequence[Job]) -> None:
        """Start jobs until the first of each partition that does not fit."""
        blocked, stopped, tested = 0, set[str](), 0
        now_s = plan.view.now_s
        for job in order:
            if tested >= self.default_queue_depth or (plan.cluster.full and not self.preempt):
                return
            reserves = job.spec.job_id in self._site.reserving
            if (job.vc in stopped and not reserves) or not state.limits.allows(job, counts=True):
                continue
            tested += 1
            if job.spec.job_id in self._site.whole_of:  # backfill alone starts heterogeneous jobs
                stopped.add(job.vc)
                blocked |= self._site.partition(job)
                continue
            servers = self._site.servers(job, now_s, now_s + self.limit_s(job), now_s) & ~blocked
            if job in state.never_run or not state.limits.allows(job):
                fits = place(plan.cluster, job.request, servers) is not None
            else:
                fits = start(plan, state, job, servers)
            if not fits and not reserves:  # jobs for a reservation block no partition
                stopped.add(job.vc)
                blocked |= self._site.partition(job)
