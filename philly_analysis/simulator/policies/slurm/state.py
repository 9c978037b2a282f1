"""Keep the state of a Slurm controller: use of shares and limits, and computed priorities."""

from collections.abc import Iterator

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.policies.slurm.limits import LimitUse
from philly_analysis.simulator.policies.slurm.options import Options
from philly_analysis.simulator.policies.slurm.priority import FairTree, Owner, size_factor
from philly_analysis.simulator.policies.slurm.site import Site
from philly_analysis.simulator.policies.view import View


class State:
    """State of the controller between decisions.

    Attributes
    ----------
    preempts
        Whether jobs preempt others.
    limits
        Use of each limit by running jobs.
    change_at_s
        Time at which a reservation next begins or ends.
    schedule_at_s
        Time at which the main scheduler may run next.
    scheduled
        Whether nothing has changed since the main scheduler ran.
    backfill_at_s
        Time at which the next backfill cycle is due.
    backfilled
        Whether nothing has changed since the previous backfill cycle.
    completing
        Allocations that ended jobs still hold, by the end of the hold and the job's number.
    computed_s
        Time at which priorities were computed.
    """

    def __init__(self, policy: Options, site: Site, view: View) -> None:
        self._policy, self._site = policy, site
        self.limits = LimitUse(site.limits)
        self._shares = FairTree(site.shares, site.owners)
        self._fair: dict[Owner, float] = self._shares.factors()
        self.preempts = policy.preempt
        self.computed_s = view.now_s
        self.backfill_at_s = view.now_s
        self.schedule_at_s = view.now_s
        self.change_at_s = site.next_change_s(view.now_s)
        self.backfilled = self.scheduled = False
        self.completing: dict[tuple[float, int], Allocation] = {}
        self._held: dict[Job, Allocation] = {}
        self._charged_s: dict[Job, float] = {}
        self._priority: dict[Job, float] = {}
        machines = view.cluster.machines
        self._servers, self._gpus = len(machines), sum(m.gpus for m in machines)
        self._cpus = sum(m.cpus or 0.0 for m in machines)
        factors = [p.job_factor for p in site.partitions.values()]
        self._most_factor = max(factors, default=1.0) or 1.0
        self._most_qos = max((q.priority for q in site.qos.values()), default=0.0) or 1.0

    @property
    def idle(self) -> bool:
        """Whether both schedulers have seen the last change."""
        backfilled = self.backfilled or not self._policy.backfill
        return backfilled and self.scheduled and not self.completing

    def refresh(self, view: View) -> None:
        """Count limits, charge use, and compute priorities where the period has passed."""
        self.limits.count(view.running)
        if self._policy.epilog:
            self._complete(view)
        policy, now_s = self._policy, view.now_s
        if not policy.PriorityWeightFairshare:
            if now_s >= self.computed_s + policy.PriorityCalcPeriod:
                self._priority.clear()
                self.computed_s = now_s
            return
        self._charge(view)
        if now_s >= self.computed_s + policy.PriorityCalcPeriod:
            if policy.PriorityDecayHalfLife:
                age_s = now_s - self.computed_s
                self._shares.decay(0.5 ** (age_s / policy.PriorityDecayHalfLife))
            self._fair = self._shares.factors()
            self._priority.clear()
            self.computed_s = now_s

    def _complete(self, view: View) -> None:
        """Keep what jobs held that ended since the last decision, while their epilogs run."""
        now_s = view.now_s
        completing = {key: held for key, held in self.completing.items() if key[0] > now_s}
        if len(completing) < len(self.completing):
            self.scheduled = self.backfilled = False
        for job, held in self._held.items():
            if not job.running and view.cluster.is_free(held):
                completing[now_s + self._policy.epilog, job.index] = held
        self.completing = completing
        self._held = {job: job.allocated for job in view.running}

    def _charge(self, view: View) -> None:
        """Charge jobs for CPU seconds, or GPU seconds where CPUs are not known."""
        now_s = view.now_s
        for job, since_s in self._charged_s.items():
            units = job.spec.cpus or job.gpus
            self._shares.charge((job.spec.account, job.spec.user), units * (now_s - since_s))
        self._charged_s = dict.fromkeys(view.running, now_s)

    def order(self, view: View) -> list[Job]:
        """Return the waiting jobs: by tier of the partition, priority, and eligible time."""
        partitions = self._site.partitions

        def key(job: Job) -> tuple[float, ...]:
            partition = partitions.get(job.vc)
            tier = partition.tier if partition else 1
            return -tier, -self.priority(job, view.now_s), job.spec.submit_s, job.index

        return sorted(view.queue, key=key)

    def priority(self, job: Job, now_s: float) -> float:
        """Return a job's priority, as last computed (Multifactor Priority Plugin)."""
        if (cached := self._priority.get(job)) is not None:
            return cached
        policy, spec = self._policy, job.spec
        age_s = max(now_s - policy.key(job, now_s), 0.0)
        age = min(age_s / policy.PriorityMaxAge, 1.0)
        size = size_factor(
            spec, self._servers, self._cpus, self._gpus, small=policy.PriorityFavorSmall
        )
        partition, qos = self._site.partitions.get(job.vc), self._site.qos.get(spec.qos)
        factor = (partition.job_factor if partition else 1.0) / self._most_factor
        of_qos = (qos.priority if qos else 0.0) / self._most_qos
        owner = spec.account, spec.user
        priority = self._priority[job] = (
            int(policy.PriorityWeightAge * age)
            + int(policy.PriorityWeightFairshare * self._fair.get(owner, 0.0))
            + int(policy.PriorityWeightJobSize * size)
            + int(policy.PriorityWeightPartition * factor)
            + int(policy.PriorityWeightQOS * of_qos)
        )
        return priority

    def preemptable(self, view: View, job: Job) -> Iterator[Job]:
        """Yield running jobs that a job's QOS preempts: least priority, then youngest first."""
        qos = self._site.qos
        preempts = qos[job.spec.qos].preempts if job.spec.qos in qos else frozenset[str]()
        if preempts:
            victims = [other for other in view.running if other.spec.qos in preempts]
            yield from sorted(victims, key=lambda o: (qos[o.spec.qos].priority, -o.started_s))
