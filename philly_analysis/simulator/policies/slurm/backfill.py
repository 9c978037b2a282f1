"""Plan the starts of waiting jobs by time limits, and start jobs that delay no planned start."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.slurm.options import Options
from philly_analysis.simulator.policies.slurm.room import End, Rooms, Timetable, Window
from philly_analysis.simulator.policies.slurm.site import Site
from philly_analysis.simulator.policies.slurm.starts import start
from philly_analysis.simulator.policies.slurm.state import State
from philly_analysis.simulator.policies.view import Plan

_OVERDUE_S = 1.0
"""Time after which a job that outlasts its time limit is expected to end."""

Start = tuple[float, int]
"""Planned start of a job (s), and the servers that the job may use from then on."""


class Backfill:
    """One cycle of the backfill scheduler (Slurm, sched/backfill, ``_attempt_backfill``).

    The jobs are planned in the order of priority. A planned start takes its servers as a whole.
    Jobs beyond a limit are not planned. The components of a heterogeneous job start at the end of
    the cycle, if all components can start.
    """

    def __init__(self, policy: Options, site: Site, plan: Plan, state: State) -> None:
        self._policy, self._site, self._plan, self._state = policy, site, plan, state
        self._now_s = plan.view.now_s
        self._table = Timetable(self._now_s, self._ends())
        self._planned: dict[str, int] = {}
        self._together: dict[str, dict[Job, Start]] = {}

    def run(self, waiting: Sequence[Job]) -> None:
        """Plan a start for each job; start the jobs that can start now."""
        for job in waiting[: self._policy.bf_max_job_test]:
            if self._state.limits.allows(job):
                self._consider(job)
        for whole, parts in self._together.items():
            self._start_together(whole, parts)

    def _consider(self, job: Job) -> None:
        """Start a job, or plan the job's start."""
        whole = self._site.whole_of.get(job.spec.job_id, "")
        parts = self._together.setdefault(whole, {}) if whole else {}
        from_s = max((start_s for start_s, _ in parts.values()), default=self._now_s)
        planned_start = self._earliest(job, from_s)
        if planned_start is None:
            return
        start_s, servers = planned_start
        if whole:
            parts[job] = planned_start
        elif self._start_now(job, planned_start):
            return
        most, policy = self._policy.bf_job_part_count_reserve, self._policy
        if start_s > self._now_s + 60 * policy.bf_window:
            return
        if most and self._planned.get(job.vc, 0) >= most:
            return
        self._planned[job.vc] = self._planned.get(job.vc, 0) + 1
        if start_s <= self._now_s:
            chosen = Rooms(self._plan.cluster, job.request, servers).counts()
            servers = sum(1 << machine for machine in chosen or ())
        self._table.reserve(Window(*self._rounded(start_s, job), servers))

    def _start_now(self, job: Job, planned: Start) -> bool:
        """Start a job that is planned to start now, or that may preempt others."""
        start_s, servers = planned
        plan, state, now_s = self._plan, self._state, self._now_s
        if job in state.never_run:  # nothing is planned for a job that could start
            return start_s <= now_s
        if start_s <= now_s and start(plan, state, job, servers):
            if (allocation := plan.allocation_of(job)) is not None:
                self._table.run(End(self._policy.end_s(job, now_s), job.index, allocation))
            return True
        if not self._policy.preempt:
            return False
        end_s = now_s + self._policy.limit_s(job)
        servers = self._site.servers(job, now_s, end_s, now_s)
        if not start(plan, state, job, self._table.servers_at(servers, now_s, end_s)):
            return False
        self._table = Timetable(now_s, self._ends(), self._table.windows)
        return True

    def _ends(self) -> Iterator[End]:
        """Yield when the jobs that run under the plan release their servers."""
        plan, now_s = self._plan, self._now_s
        starting = (job for job, new in plan.decision.items() if new and not job.running)
        for job in (*plan.view.running, *starting):
            if (held := plan.allocation_of(job)) is not None:
                at_s = max(self._policy.end_s(job, now_s), now_s + _OVERDUE_S)
                yield End(at_s, job.index, held)

    def _start_together(self, whole: str, parts: Mapping[Job, Start]) -> None:
        """Start the components of a heterogeneous job, if all can start now."""
        plan, state = self._plan, self._state
        many = sum(1 for other in self._site.whole_of.values() if other == whole)
        if len(parts) < many or any(start_s > plan.view.now_s for start_s, _ in parts.values()):
            return
        for job, (_, servers) in parts.items():
            if not (state.limits.allows(job) and start(plan, state, job, servers)):
                for other in parts:
                    if plan.allocation_of(other) is not None:
                        plan.release(other)
                        state.limits.add(other, -1)
                return

    def _earliest(self, job: Job, from_s: float) -> Start | None:
        """Return the earliest planned start of a job, and the servers that the job may use."""
        table, now_s = self._table, self._now_s
        limit_s, partition = self._policy.limit_s(job), self._site.partition(job)
        at_s = from_s
        while at_s < FOREVER:
            servers = self._site.servers(job, at_s, at_s + limit_s, now_s)
            servers = table.servers_at(servers, at_s, at_s + limit_s)
            later_s = min(table.next_change_s(partition, at_s), self._site.next_end_s(at_s, now_s))
            earliest_start = (
                table.earliest(self._plan.cluster, job.request, servers) if servers else None
            )
            if earliest_start is None:
                at_s = later_s
                continue
            start_s, chosen = max(earliest_start[0], at_s), earliest_start[1]
            if start_s <= now_s:
                return start_s, servers
            if start_s > later_s:
                at_s = later_s
            elif start_s > at_s and table.taken(chosen, *self._rounded(start_s, job)):
                at_s = start_s
            else:
                return start_s, chosen
        return None

    def _rounded(self, start_s: float, job: Job) -> tuple[float, float]:
        """Return the planned start and end of a job, rounded to the resolution."""
        step_s = self._policy.bf_resolution
        begin_s = floor(start_s / step_s) * step_s
        end_s = floor((start_s + self._policy.limit_s(job)) / step_s) * step_s
        return begin_s, max(end_s, begin_s + step_s)
