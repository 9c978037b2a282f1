"""Slurm's main and backfill schedulers, with limits, priorities, reservations and preemption."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil, floor
from typing import Any, ClassVar, Self

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, WAIT, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.slurm.backfill import Backfill
from philly_analysis.simulator.policies.slurm.room import place
from philly_analysis.simulator.policies.slurm.settings import Settings, read_settings
from philly_analysis.simulator.policies.slurm.site import Site, site_of
from philly_analysis.simulator.policies.slurm.starts import start
from philly_analysis.simulator.policies.slurm.state import State
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.workload import JobSpec, Machine, Workload

_WEIGHT = Bounds(0, 1e9)
_COUNT = Bounds(0, 1_000_000)


@dataclass(frozen=True)
class Slurm(Policy):
    """Slurm: partitions, hard limits, multifactor priority, backfill, preemption, reservations.

    The main scheduler starts jobs in the order of their priority when something changes, and stops
    in each partition at the first job that does not fit. The backfill scheduler then plans a start
    for each job by the time limits, and starts those that delay no planned one. A job beyond a
    limit of its account, user, QOS or partition waits, and blocks no other.

    Limits are those of the trace's table ``limits``. ``settings`` names a folder of what Slurm's
    commands print: knobs that keep their defaults, partitions, QOS, shares and reservations are
    read from there. Otherwise jobs may use the servers of their recorded pool, all accounts have
    equal shares, and no QOS precedes another. A job is considered from its recorded eligible time
    on.
    """

    name = "slurm"
    SOURCE = (
        "Slurm 22.05: slurm.conf(5), Multifactor Priority Plugin, Scheduling Configuration Guide"
    )
    fractional = True
    one_pool = True

    settings: str = knob(
        "", "folder with the output of scontrol show config, partition, reservation, and sacctmgr "
        "show assoc, qos, event -P"
    )  # fmt: skip
    PriorityWeightAge: float = knob(
        0.0, "weight of the age (slurm.conf, PriorityWeightAge)", within=_WEIGHT
    )
    PriorityMaxAge: float = knob(
        604_800.0, "age in seconds with the greatest factor (slurm.conf, PriorityMaxAge)",
        within=Bounds(1, LONG_S),
    )  # fmt: skip
    PriorityWeightFairshare: float = knob(
        0.0, "weight of the fair share (slurm.conf, PriorityWeightFairshare)", within=_WEIGHT
    )
    PriorityDecayHalfLife: float = knob(
        604_800.0,
        "seconds after which use counts half; 0: for ever (slurm.conf, PriorityDecayHalfLife)",
        within=Bounds(0, LONG_S),
    )
    PriorityCalcPeriod: float = knob(
        300.0, "seconds between computations of priorities (slurm.conf, PriorityCalcPeriod)",
        within=Bounds(10, LONG_S),
    )  # fmt: skip
    PriorityWeightJobSize: float = knob(
        0.0, "weight of the job's size (slurm.conf, PriorityWeightJobSize)", within=_WEIGHT
    )
    PriorityFavorSmall: bool = knob(
        False, "whether small jobs have the greater size factor (slurm.conf, PriorityFavorSmall)"
    )
    PriorityWeightPartition: float = knob(
        0.0, "weight of the partition's PriorityJobFactor (slurm.conf, PriorityWeightPartition)",
        within=_WEIGHT,
    )  # fmt: skip
    PriorityWeightQOS: float = knob(
        0.0, "weight of the QOS's priority (slurm.conf, PriorityWeightQOS)", within=_WEIGHT
    )
    backfill: bool = knob(True, "SchedulerType is sched/backfill, not sched/builtin (slurm.conf)")
    bf_interval: float = knob(
        30.0, "seconds between backfill cycles (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 1e6),
    )  # fmt: skip
    bf_window: float = knob(
        1440.0, "minutes that backfill plans ahead (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 43_200),
    )  # fmt: skip
    bf_resolution: float = knob(
        60.0, "seconds to which backfill rounds planned times (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 3600),
    )  # fmt: skip
    bf_max_job_test: int = knob(
        500, "jobs that a backfill cycle considers (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 1_000_000),
    )  # fmt: skip
    bf_job_part_count_reserve: int = knob(
        0, "jobs of each partition with a planned start; 0: all (slurm.conf, SchedulerParameters)",
        within=_COUNT,
    )  # fmt: skip
    batch_sched_delay: float = knob(
        3.0, "seconds between runs of the main scheduler (slurm.conf, SchedulerParameters)",
        within=Bounds(0, 3600),
    )  # fmt: skip
    default_queue_depth: int = knob(
        100, "jobs that the main scheduler considers (slurm.conf, SchedulerParameters)",
        within=Bounds(1, 1_000_000),
    )  # fmt: skip
    preempt: bool = knob(
        False, "PreemptType is preempt/qos with PreemptMode=REQUEUE (slurm.conf, PreemptType)"
    )
    epilog: float = knob(
        1.0, "seconds from a job's end until its servers are free (slurm.conf, Epilog)",
        within=Bounds(0, 3600),
    )  # fmt: skip
    cred_expire: float = knob(
        120.0, "seconds that a requeued job waits (slurm.conf, AuthInfo)", within=WAIT
    )

    _site: ClassVar[Site] = Site()

    def for_workload(self, workload: Workload, machines: Sequence[Machine]) -> Self:
        """Return the policy with the limits, partitions and reservations of a workload."""
        settings = read_settings(self.settings) if self.settings else Settings()
        printed: dict[str, Any] = {
            f.name: type(f.default)(value)
            for f in fields(self)
            if (value := settings.knobs.get(f.name)) is not None
            and getattr(self, f.name) == f.default
        }
        return replace(self, **printed).at(site_of(workload, machines, settings))

    def at(self, site: Site) -> Self:
        """Return the policy for a site."""
        configured = replace(self)
        object.__setattr__(configured, "_site", site)
        return configured

    def prepare(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with the accounts and users of the jobs."""
        owners = dict.fromkeys((spec.account, spec.user) for spec in specs)
        return self.at(replace(self._site, owners=tuple(owners)))

    def group(self, job: Job, now_s: float) -> int | None:
        """Return a group of the job alone from the time on at which it is eligible."""
        return job.index if self._eligible_s(job) <= now_s else None

    def key(self, job: Job, now_s: float) -> float:
        """Return since when the job is eligible."""
        return self._eligible_s(job)

    def running_key(self, job: Job, now_s: float) -> float:
        """Return when the job reaches its time limit."""
        return self.end_s(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job becomes eligible."""
        eligible_s = self._eligible_s(job)
        return eligible_s if not job.running and eligible_s > now_s else FOREVER

    def _eligible_s(self, job: Job) -> float:
        """Return when a waiting job may start: as recorded, or some time after it is requeued."""
        if job.started:
            return job.queued_s + self.cred_expire
        released_s = self._site.released_s.get(job.spec.job_id, 0.0)
        return max(job.queued_s, job.spec.eligible_s or 0.0, released_s)

    def limit_s(self, job: Job) -> float:
        """Return the time for which a job is planned to run: its time limit."""
        return job.spec.time_limit_s or self._site.longest_s(job) or job.believed_left_s(0.0)

    def end_s(self, job: Job, now_s: float) -> float:
        """Return when a job reaches its time limit, as if a waiting job started now."""
        return (job.started_s if job.running else now_s) + self.limit_s(job)

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
            state.change_at_s = self._site.next_change_s(view.now_s)
            if state.backfilled:  # cycles run at multiples of the interval
                cycles = ceil(view.now_s / self.bf_interval)
                state.backfill_at_s = max(state.backfill_at_s, cycles * self.bf_interval)
            state.backfilled = state.scheduled = False
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
        return plan.decision

    def wake_s(self, view: View) -> float:
        """Return when to backfill, compute priorities, or see a reservation begin or end."""
        state: State | None = view.state.get("slurm")
        if state is None or not len(view.queue):
            return FOREVER
        if not view.running and state.idle:  # nothing changes before a reservation does
            return self._site.next_change_s(view.now_s)
        times = [self._site.next_change_s(view.now_s)]
        times += [at_s for at_s, _ in state.completing]
        if not state.scheduled:
            times.append(max(state.schedule_at_s, self._next_run_s(view.now_s)))
        if self.backfill and not state.backfilled:
            times.append(max(state.backfill_at_s, view.now_s + 1e-3))
        if self.PriorityWeightFairshare:
            times.append(state.computed_s + self.PriorityCalcPeriod)
        return min(times)

    def _next_run_s(self, now_s: float) -> float:
        """Return when the main scheduler runs next: once a second at most, and once a delay.

        Half a period after whole ones: logs have whole seconds, which runs do not wait for.
        """
        period_s = max(self.batch_sched_delay, 1.0)
        return (floor(now_s / period_s + 0.5) + 0.5) * period_s

    def _submit(self, plan: Plan, state: State, order: Sequence[Job]) -> None:
        """Start new jobs that precede all others of their partitions, as at a submission."""
        new, passed = set(plan.view.changed), set[str]()
        now_s = plan.view.now_s
        for job in order if new else ():
            if job.vc in passed or not state.limits.allows(job):
                continue
            if job in new and job.spec.job_id not in self._site.whole_of:
                end_s = now_s + self.limit_s(job)
                servers = self._site.servers(job, now_s, end_s, now_s)
                if start(plan, state, job, servers):
                    continue
            passed.add(job.vc)

    def _main(self, plan: Plan, state: State, order: Sequence[Job]) -> None:
        """Start jobs until the first of each partition that does not fit."""
        blocked, stopped, tested = 0, set[str](), 0
        now_s = plan.view.now_s
        for job in order:
            if tested >= self.default_queue_depth or (plan.cluster.full and not self.preempt):
                return
            if job.vc in stopped or not state.limits.allows(job, counts=True):
                continue
            tested += 1
            if job.spec.job_id in self._site.whole_of:  # backfill alone starts heterogeneous jobs
                stopped.add(job.vc)
                blocked |= self._site.partition(job)
                continue
            servers = self._site.servers(job, now_s, now_s + self.limit_s(job), now_s) & ~blocked
            if not state.limits.allows(job):
                fits = place(plan.cluster, job.request, servers) is not None
            else:
                fits = start(plan, state, job, servers)
            if not fits:
                stopped.add(job.vc)
                blocked |= self._site.partition(job)
