"""Base classes of policies that preempt running jobs for jobs with a smaller priority key."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import tee
from operator import attrgetter
from typing import Any

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.freed_capacity import FreedCapacity
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.placement import allocate, pack_whole_servers
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.knobs import knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Decision, Plan, View

CONSOLIDATE = "place gangs only on one server, or else on whole ones and one more for the rest"

_RUNNING = attrgetter("running")


def find_gpus(plan: Plan, job: Job, *, consolidate: bool) -> Allocation | None:
    """Find GPUs for a job: anywhere, or for a gang on the fewest servers only."""
    if consolidate and job.size >= GPU_UNITS:
        return pack_whole_servers(plan.cluster, job.gpus)
    return allocate(plan.cluster, job.size)


@dataclass(frozen=True)
class Preemptive(Policy):
    """Serves jobs by :meth:`key` at all times, preempting those with greater keys.

    A gang that still does not fit is skipped; later jobs may use the remaining GPUs. Of two jobs
    that share a GPU one may be preempted and the other continue.
    """

    def decide(self, view: View) -> Decision:
        """Allocate GPUs to the jobs of smallest key."""
        if not self.may_change(view):
            return {}
        plan = view.plan()
        plan.offer(lambda job: self.take(plan, job))
        return plan.decision

    def may_change(self, view: View) -> bool:
        """Whether the first job of a group fits, now or after preemption."""
        heads = view.queue.heads()
        if not heads:
            return False
        if min([head.job.size for head in heads]) <= view.cluster.largest_fit:
            return True
        return bool(view.running) and min(heads).key < self.greatest(view)

    def take(self, plan: Plan, job: Job) -> bool | None:
        """Plan a job's start, if necessary by preemption: see :meth:`Plan.offer`."""
        if job.running and plan.restore(job):
            return True
        if not plan.cluster.fits(job.size):
            key, view = plan.offered.key, plan.view
            # then no job behind it may preempt others either
            if not view.running or self.greatest(view) <= key:
                return None if plan.cluster.full else False
            if job.running:  # released just now: all jobs behind it are released as well
                return False
            victims = self._victims(plan, job, key)
            if not victims:
                return False
            for victim in victims:
                plan.release(victim)
        return self.place(plan, job)

    def place(self, plan: Plan, job: Job) -> bool:
        """Plan the start of a job for which there are enough GPUs; False if it does not fit."""
        raise NotImplementedError

    def greatest(self, view: View) -> Any:
        """Return the greatest key of the running jobs; there must be one."""
        return next(self._worst(view))[0]

    def _worst(self, view: View) -> Iterator[tuple[Any, Job]]:
        """Yield the items of :meth:`worst_first`, cached for the present moment."""
        moment, known = (view.now_s, view.running.version), view.state.get("worst")
        if known is None or known[0] != moment:
            known = view.state["worst"] = moment, tee(self.worst_first(view), 1)[0]
        return tee(known[1])[1]  # from the first item on

    def worst_first(self, view: View) -> Iterator[tuple[Any, Job]]:
        """Yield the running jobs with their keys, the greatest first."""
        now_s = view.now_s
        return ((self.key(job, now_s), job) for job in reversed(view.running))

    def _victims(self, plan: Plan, job: Job, key: Any) -> list[Job]:
        """Return the jobs to preempt so that this one fits, worst first; none if it cannot."""
        freed = FreedCapacity(plan.cluster)
        victims = []
        for greater, victim in self._worst(plan.view):
            if greater <= key:
                return []
            if (held := plan.allocation_of(victim)) is not None:
                victims.append(victim)
                freed.add(held)
                if freed.fits(job.size):
                    return victims
        return []


@dataclass(frozen=True)
class PreemptiveOrder(Preemptive):
    """A preemptive order of jobs by GPUs alone.

    Jobs are preempted for GPUs, not for servers: a gang to be consolidated may have to wait even
    though the jobs behind it hold enough GPUs.
    """

    fractional = True

    consolidate: bool = knob(False, CONSOLIDATE)
    counted: bool = knob(
        False, "preempt by GPU count, even if a gang then does not fit on the servers"
    )

    def decide(self, view: View) -> Decision:
        """Allocate GPUs to the jobs of smallest key that find servers."""
        return self._counted(view) if self.counted else super().decide(view)

    def may_change(self, view: View) -> bool:
        """Whether a job may start, now or after preemption."""
        changed, heads = view.changed, view.queue.heads()
        came = not all(map(_RUNNING, changed))
        if not heads or not changed or came or view.freed or self.consolidate:
            return super().may_change(view)
        # jobs that fit have started: a change needs a running job behind the first waiting one
        after = max([self.key(job, view.now_s) for job in changed]) > min(heads).key
        return after and super().may_change(view)

    def place(self, plan: Plan, job: Job) -> bool:
        """Plan a job's start on the fullest servers on which it fits."""
        return plan.assign(job, find_gpus(plan, job, consolidate=self.consolidate))

    def _counted(self, view: View) -> Decision:
        """Choose jobs by GPU count, preempt all others, and then place the chosen ones."""
        if not view.queue.groups:
            return {}
        plan = view.plan()
        for job in view.running:
            plan.release(job)
        chosen: list[Job] = []
        left = plan.cluster.free_units

        def take(job: Job) -> bool:
            nonlocal left
            if job.size > left:
                return False
            left -= job.size
            chosen.append(job)
            return True

        plan.offer(take)
        for job in chosen:
            if job.running:
                plan.restore(job)
        for job in chosen:
            if not job.running:
                self.place(plan, job)
        return plan.decision
