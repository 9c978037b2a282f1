"""Keep the state of a Slurm controller: use of shares and limits, and computed priorities."""

from collections.abc import Iterator
from math import floor

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.slurm.limits import LimitUse
from philly_analysis.simulator.policies.slurm.never_ran import NeverRan
from philly_analysis.simulator.policies.slurm.options import Options
from philly_analysis.simulator.policies.slurm.priority import FairTree, Owner, size_factor
from philly_analysis.simulator.policies.slurm.site import Site
from philly_analysis.simulator.policies.view import Decision, View


class State:
    """State of the controller between decisions.

    Attributes
    ----------
    preempts
        Whether jobs preempt others.
    limits
        Use of each limit by running jobs.
    change_at_s
        Time at which a reservation next begins or ends, or a job leaves that never starts.
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
    never_run
        Waiting jobs that never start.
    computed_s, compute_at_s
        Times at which priorities were computed, and are due.
    """

    def __init__(self, policy: Options, site: Site, view: View) -> None:
        self._policy, self._site = policy, site
        self.limits = LimitUse(site.limits)
        self._shares = FairTree(site.shares, site.owners)
        self._fair: dict[Owner, float] = self._shares.factors()
        self.preempts = policy.preempt
        period_s = policy.PriorityCalcPeriod
        since_s = 0.0 if site.booted_s is None else (view.now_s - site.booted_s) % period_s
        self.computed_s = view.now_s - since_s
        self.compute_at_s = self.computed_s + period_s
        self.backfill_at_s = view.now_s
        self.schedule_at_s = view.now_s
        self.change_at_s = site.next_change_s(view.now_s)
        self.backfilled = self.scheduled = False
        self.completing: dict[tuple[float, int], Allocation] = {}
        self._running: dict[Job, tuple[float, Allocation]] = {}
        self.never_run: frozenset[Job] = frozenset()
        self._coming = sorted(site.never_ran, key=lambda n: n.since_s, reverse=True)
        self._in_vain: list[NeverRan] = []
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
        if view.now_s >= self.compute_at_s:
            self._compute(view.now_s)
        ended = [job for job in self._running if not job.running]
        completing = {key: held for key, held in self.completing.items() if key[0] > view.now_s}
        if len(completing) < len(self.completing):
            self.scheduled = self.backfilled = False
        for job in ended:
            started_s, held = self._running.pop(job)
            self._charge(job, started_s, view.now_s)
            free_s = view.now_s + self._policy.epilog
            if free_s > view.now_s and view.cluster.is_free(held):
                completing[free_s, job.index] = held
        self.completing = completing

    def started(self, decision: Decision, now_s: float) -> None:
        """Note which jobs start, and on what."""
        for job, held in decision.items():
            if held is not None:
                self._running[job] = now_s, held

    def _compute(self, now_s: float) -> None:
        """Decay and charge use up to the last time at which priorities are due; clear priorities.

        Slurm first decays use, then charges running jobs (``_decay_thread``, ``fair_tree_decay``).
        """
        policy = self._policy
        period_s = policy.PriorityCalcPeriod
        at_s = self.compute_at_s + period_s * floor((now_s - self.compute_at_s) / period_s)
        self._shares.decay(self._decayed(at_s - self.computed_s))
        for job, (started_s, _) in self._running.items():
            self._charge(job, started_s, at_s)
        self.computed_s, self.compute_at_s = at_s, at_s + period_s
        if policy.PriorityWeightFairshare:
            self._fair = self._shares.factors()
        self._priority.clear()

    def _charge(self, job: Job, started_s: float, until_s: float) -> None:
        """Charge a job for CPU seconds, or GPU seconds where CPUs are not known.

        Use since the last computation counts less the longer it lasts (``_apply_new_usage``).
        """
        run_s = max(until_s - max(started_s, self.computed_s), 0.0)
        units = job.spec.cpus or job.gpus
        used = units * run_s * self._decayed(run_s)
        self._shares.charge((job.spec.account, job.spec.user), used)

    def _decayed(self, age_s: float) -> float:
        """Return how much use of an age counts."""
        half_s = self._policy.PriorityDecayHalfLife
        return 0.5 ** (age_s / half_s) if half_s else 1.0

    def order(self, view: View) -> list[Job]:
        """Return the waiting jobs: by tier of the partition, priority, and eligible time."""
        partitions = self._site.partitions

        def key(job: Job) -> tuple[float, ...]:
            partition = partitions.get(job.vc)
            tier = partition.tier if partition else 1
            return -tier, -self.priority(job, view.now_s), job.spec.submit_s, job.index

        return sorted((*view.queue, *self._waiting_in_vain(view.now_s)), key=key)

    def _waiting_in_vain(self, now_s: float) -> frozenset[Job]:
        """Return the jobs that wait now and never start."""
        while self._coming and self._coming[-1].since_s <= now_s:
            self._in_vain.append(self._coming.pop())
        if any(n.until_s <= now_s for n in self._in_vain):
            self._in_vain = [n for n in self._in_vain if n.until_s > now_s]
        self.never_run = frozenset(n.job for n in self._in_vain)
        return self.never_run

    def next_change_s(self, now_s: float) -> float:
        """Return when a reservation begins or ends, or a job that never starts leaves the queue."""
        leaves_s = min((n.until_s for n in self._in_vain), default=FOREVER)
        return min(self._site.next_change_s(now_s), leaves_s)

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
