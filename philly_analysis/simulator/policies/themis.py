"""Themis: GPUs on lease go to the jobs that are furthest from a fair finish."""

from dataclasses import dataclass

from philly_analysis.simulator.job import FOREVER, Job
from philly_analysis.simulator.placement import packed
from philly_analysis.simulator.policies.policy import Policy, knob
from philly_analysis.simulator.view import Plan, View, Wish


@dataclass(frozen=True)
class Themis(Policy):
    """Finish-time fairness: the job whose sharing costs it most, relative to running alone.

    A job's rho is the time from its submission to its end if it runs from now on, over the
    time that it needs alone. Free GPUs go to the waiting jobs of highest rho; each time leases
    end, at multiples of ``lease_s``, all GPUs do.

    Not modelled: auctions and their truthfulness, the share of jobs that take part in them, and
    placement in the bids. Each job is its own application.
    """

    name = "themis"
    SOURCE = "Mahajan et al., Themis, NSDI'20"

    lease_s: float = knob(600.0, "seconds for which GPUs are leased")

    def key(self, job: Job, now_s: float) -> float:
        """Return minus rho."""
        finish_s = now_s - job.spec.submit_s + job.remaining_s(now_s)
        return -finish_s / max(job.spec.run_s, 1.0)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when leases end next, for a job that waits for that."""
        return FOREVER if job.running else (now_s // self.lease_s + 1) * self.lease_s

    def decide(self, view: View) -> Wish:
        """Divide the free GPUs, or all of them where leases end, by rho."""
        if not view.queue.groups:
            return {}
        plan = view.plan()
        if view.now_s % self.lease_s == 0:
            self._end_leases(plan)
        for job in self._by_rho(plan, list(view.queue)):
            if job.gpus <= plan.cluster.free:
                plan.grant(job, packed(plan.cluster, job.gpus))
        return plan.wish

    def _end_leases(self, plan: Plan) -> None:
        """Take their GPUs from the running jobs that would not get them again."""
        free = plan.cluster.capacity
        for job in self._by_rho(plan, [*plan.view.queue, *plan.view.running]):
            if job.gpus <= free:
                free -= job.gpus
            elif job.running:
                plan.release(job)

    def _by_rho(self, plan: Plan, jobs: list[Job]) -> list[Job]:
        now_s = plan.view.now_s
        return sorted(jobs, key=lambda job: (self.key(job, now_s), job.index))
