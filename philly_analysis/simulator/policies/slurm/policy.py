"""Slurm's main and backfill schedulers, with limits, priorities, reservations and preemption."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import floor
from typing import ClassVar, Self

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, WAIT, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.slurm.room import End, Rooms, Timetable, Window, place
from philly_analysis.simulator.policies.slurm.settings import Settings, read_settings
from philly_analysis.simulator.policies.slurm.site import Site, site_of
from philly_analysis.simulator.policies.slurm.state import State
from philly_analysis.simulator.policies.view import Decision, Plan, View
from philly_analysis.workload import JobSpec, Machine, Workload

_WEIGHT = Bounds(0, 1e9)
_COUNT = Bounds(0, 1_000_000)
_OVERDUE_S = 1.0
"""Time after which a job that outlasts its time limit is expected to end."""


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
    SOURCE = "Slurm 22.05: slurm.conf(5), Multifactor Priority Plugin, Scheduling Configuration Guide"
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
    cred_expire: float = knob(
        120.0, "seconds that a requeued job waits (slurm.conf, AuthInfo)", within=WAIT
    )

    _site: ClassVar[Site] = Site()

    def for_workload(self, workload: Workload, machines: Sequence[Machine]) -> Self:
        """Return the policy with the limits, partitions and reservations of a workload."""
        settings = read_settings(self.settings) if self.settings else Settings()
        defaults = {f.name: f.default for f in fields(self)}
        printed = {
            name: type(defaults[name])(value)
            for name, value in settings.knobs.items()
            if getattr(self, name) == defaults[name]
        }
        configured = replace(self, **printed)
        object.__setattr__(configured, "_site", site_of(workload, machines, settings))
        return configured

    def prepare(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with the accounts and users of the jobs."""
        prepared = replace(self)
        owners = dict.fromkeys((spec.account, spec.user) for spec in specs)
        object.__setattr__(prepared, "_site", replace(self._site, owners=tuple(owners)))
        return prepared

    def group(self, job: Job, now_s: float) -> int | None:
        """Return a group of the job alone from the time on at which it is eligible."""
        return job.index if self._eligible_s(job) <= now_s else None

    def key(self, job: Job, now_s: float) -> float:
        """Return since when the job is eligible."""
        return self._eligible_s(job)

    def running_key(self, job: Job, now_s: float) -> float:
        """Return when the job reaches its time limit."""
        return self._end_s(job, now_s)

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

    def _limit_s(self, job: Job) -> float:
        """Return the time for which a job is planned to run: its time limit."""
        return job.spec.time_limit_s or self._site.longest_s(job) or job.believed_left_s(0.0)

    def _end_s(self, job: Job, now_s: float) -> float:
        return (job.started_s if job.running else now_s) + self._limit_s(job)

    def decide(self, view: View) -> Decision:
        """Start jobs in the order of priority; at the interval's end, backfill and preempt."""
        state: State = view.cached("slurm", lambda: State(self, self._site, view))
        state.refresh(view)
        if not len(view.queue):
            state.backfilled = True
            return {}
        plan = view.plan()
        order = state.order(view)
        if view.changed or view.freed:
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
            self._backfill(plan, state, waiting)
        return plan.decision

    def wake_s(self, view: View) -> float:
        """Return when to backfill, compute priorities, or see a reservation begin or end."""
        state: State | None = view.state.get("slurm")
        if state is None or not len(view.queue):
            return FOREVER
        times = [self._site.next_change_s(view.now_s)]
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
                end_s = now_s + self._limit_s(job)
                servers = self._site.servers(job, now_s, end_s, now_s)
                if self._start(plan, state, job, servers):
                    continue
            passed.add(job.vc)

    def _main(self, plan: Plan, state: State, order: Sequence[Job]) -> None:
        """Start jobs until the first of each partition that does not fit."""
        blocked, stopped, tested = 0, set[str](), 0
        now_s = plan.view.now_s
        for job in order:
            if tested >= self.default_queue_depth or plan.cluster.full and not self.preempt:
                return
            if job.vc in stopped or not state.limits.allows(job, counts=True):
                continue
            tested += 1
            if job.spec.job_id in self._site.whole_of:  # backfill alone starts heterogeneous jobs
                stopped.add(job.vc)
                blocked |= self._site.partition(job)
                continue
            servers = self._site.servers(job, now_s, now_s + self._limit_s(job), now_s) & ~blocked
            if not state.limits.allows(job):
                fits = place(plan.cluster, job.request, servers) is not None
            else:
                fits = self._start(plan, state, job, servers)
            if not fits:
                stopped.add(job.vc)
                blocked |= self._site.partition(job)

    def _start(self, plan: Plan, state: State, job: Job, servers: int) -> bool:
        """Start a job on some servers, if need be in place of jobs that it preempts."""
        allocation = place(plan.cluster, job.request, servers)
        if allocation is None and self.preempt:
            allocation = self._preempting(plan, state, job, servers)
        if allocation is None:
            return False
        plan.assign(job, allocation)
        state.limits.add(job)
        return True

    def _preempting(
        self, plan: Plan, state: State, job: Job, servers: int
    ) -> Allocation | None:
        """Requeue the running jobs of least priority that a job's QOS preempts, if it then fits."""
        rooms = Rooms(plan.cluster, job.request, servers)
        victims: list[tuple[Job, Allocation]] = []
        for victim in state.preemptable(plan.view, job):
            held = plan.allocation_of(victim)
            if held is None or not rooms.add(held):
                continue
            victims.append((victim, held))
            if chosen := rooms.counts():
                break
        else:
            return None
        for victim, held in victims:
            if any(machine in chosen for machine, _ in held.shares):
                plan.release(victim)
                state.limits.add(victim, -1)
        return place(plan.cluster, job.request, servers)

    def _backfill(self, plan: Plan, state: State, waiting: Sequence[Job]) -> None:
        """Plan a start for each job by priority; start those that can start now."""
        now_s = plan.view.now_s
        table = Timetable(now_s, self._ends(plan))
        planned: dict[str, int] = {}
        together: dict[str, dict[Job, tuple[float, int]]] = {}
        for job in waiting[: self.bf_max_job_test]:
            if not state.limits.allows(job):
                continue
            whole = self._site.whole_of.get(job.spec.job_id, "")
            parts = together.setdefault(whole, {}) if whole else {}
            from_s = max((start_s for start_s, _ in parts.values()), default=now_s)
            found = self._earliest(plan, table, job, from_s)
            if found is None:
                continue
            start_s, servers = found
            if whole:
                parts[job] = found
            elif start_s <= now_s and self._start(plan, state, job, servers):
                allocation = plan.allocation_of(job)
                if allocation is not None:
                    table.run(End(self._end_s(job, now_s), job.index, allocation))
                continue
            elif self.preempt and self._start_by_preemption(plan, state, job):
                table = Timetable(now_s, self._ends(plan), table.windows)
                continue
            most = self.bf_job_part_count_reserve
            if start_s > now_s + 60 * self.bf_window or most and planned.get(job.vc, 0) >= most:
                continue
            planned[job.vc] = planned.get(job.vc, 0) + 1
            chosen = Rooms(plan.cluster, job.request, servers).counts() if start_s <= now_s else None
            if chosen:
                servers = sum(1 << machine for machine in chosen)
            table.reserve(Window(*self._planned(start_s, job), servers))
        for whole, parts in together.items():
            self._start_together(plan, state, whole, parts)

    def _start_by_preemption(self, plan: Plan, state: State, job: Job) -> bool:
        now_s = plan.view.now_s
        servers = self._site.servers(job, now_s, now_s + self._limit_s(job), now_s)
        return self._start(plan, state, job, servers)

    def _ends(self, plan: Plan) -> Iterator[End]:
        """Yield when the jobs that run under the plan release their servers."""
        now_s = plan.view.now_s
        starting = (job for job, new in plan.decision.items() if new and not job.running)
        for job in (*plan.view.running, *starting):
            if (held := plan.allocation_of(job)) is not None:
                yield End(max(self._end_s(job, now_s), now_s + _OVERDUE_S), job.index, held)

    def _start_together(
        self, plan: Plan, state: State, whole: str, parts: Mapping[Job, tuple[float, int]]
    ) -> None:
        """Start the components of a heterogeneous job, if all can start now."""
        many = sum(1 for other in self._site.whole_of.values() if other == whole)
        if len(parts) < many or any(start_s > plan.view.now_s for start_s, _ in parts.values()):
            return
        for job, (_, servers) in parts.items():
            if not (state.limits.allows(job) and self._start(plan, state, job, servers)):
                for other in parts:
                    if plan.allocation_of(other) is not None:
                        plan.release(other)
                        state.limits.add(other, -1)
                return

    def _earliest(
        self, plan: Plan, table: Timetable, job: Job, from_s: float
    ) -> tuple[float, int] | None:
        """Return the earliest planned start of a job, and the servers that it may then use."""
        now_s, limit_s, partition = table.now_s, self._limit_s(job), self._site.partition(job)
        at_s = from_s
        while at_s < FOREVER:
            servers = self._site.servers(job, at_s, at_s + limit_s, now_s)
            servers = table.servers_at(servers, at_s, at_s + limit_s)
            later_s = min(
                table.next_change_s(partition, at_s), self._site.next_end_s(at_s, now_s)
            )
            found = table.earliest(plan.cluster, job.request, servers) if servers else None
            if found is None:
                at_s = later_s
                continue
            start_s, chosen = max(found[0], at_s), found[1]
            if start_s <= now_s:
                return start_s, servers
            if start_s > later_s:
                at_s = later_s
            elif start_s > at_s and table.taken(chosen, *self._planned(start_s, job)):
                at_s = start_s
            else:
                return start_s, chosen
        return None

    def _planned(self, start_s: float, job: Job) -> tuple[float, float]:
        """Return the planned start and end of a job, rounded to the resolution."""
        step_s = self.bf_resolution
        begin_s = floor(start_s / step_s) * step_s
        end_s = floor((start_s + self._limit_s(job)) / step_s) * step_s
        return begin_s, max(end_s, begin_s + step_s)
