"""Run a simulation: advance from event to event, and carry out the policy's decisions."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from operator import attrgetter
from typing import TypedDict, Unpack

from philly_analysis.errors import SimulationError
from philly_analysis.results import count
from philly_analysis.simulator.cluster.allocation import Cluster
from philly_analysis.simulator.cluster.gpu_sharing import as_allocated
from philly_analysis.simulator.engine.active_outages import ActiveOutages
from philly_analysis.simulator.engine.execution import Execution
from philly_analysis.simulator.engine.outages import Outage
from philly_analysis.simulator.engine.schedule import Schedule
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.policy import Policy, is_steady
from philly_analysis.simulator.policies.view import Decision
from philly_analysis.simulator.speed.speed import AS_RECORDED, Speed
from philly_analysis.workload import JobSpec, Machine


class Options(TypedDict, total=False):
    """Options of a simulation: see :class:`Simulation`."""

    speed: Speed
    quotas: Mapping[str, int] | None
    checkpoint_s: float
    outages: Iterable[Outage]
    dedicated: bool


def run(
    specs: Iterable[JobSpec],
    machines: Sequence[Machine],
    policy: Policy,
    **options: Unpack[Options],
) -> Schedule:
    """Simulate jobs on machines; :class:`Simulation` documents parameters and errors.

    Returns
    -------
    Schedule
        The outcome; times are seconds on the clock of ``JobSpec.submit_s``.
    """
    simulation = Simulation(specs, machines, policy, **options)
    while simulation.advance():
        simulation.apply(simulation.policy.decide(simulation.view))
    return simulation.schedule()


def _check(specs: Sequence[JobSpec], machines: Sequence[Machine]) -> None:
    capacity = sum(m.gpus for m in machines)
    if not capacity:
        raise SimulationError(
            f"The {len(machines)} machines have no GPUs. Give machines, e.g. machines='552x8'."
        )
    if len(slices := {m.slices for m in machines}) > 1:
        raise SimulationError(
            f"The GPUs of one pool have different slices: {slices}. Give machines with equal "
            "slices, or separate pools."
        )
    if not specs:
        raise SimulationError(
            "No job of the workload has a gang and attempts with start and end. Give a workload "
            "with durations."
        )
    if large := [spec for spec in specs if spec.gpus > capacity]:
        worst = max(large, key=attrgetter("gpus"))
        raise SimulationError(
            f"Jobs that request more than the {count(capacity, 'GPU')} of "
            f"{count(len(machines), 'machine')}: {len(large):,} of {len(specs):,}, e.g. "
            f"{worst.job_id} for {worst.gpus:,}. Give more machines, or a workload without these "
            "jobs."
        )


class Simulation:
    """A simulation that is advanced step by step.

    Each step has four parts, in this order: scheduled events (runs end, jobs are reviewed),
    failures and repairs, arrivals, and, if GPUs became free or a job changed, the policy's
    decision. Jobs of a policy that is not steady are evaluated again before each decision. Jobs
    start and move by decisions only. Jobs stop by a decision, at their end, or when their GPUs
    fail.

    Parameters
    ----------
    specs
        The jobs, in any order.
    machines
        The cluster.
    policy
        The scheduler.
    speed
        The speed of jobs on their allocations.
    quotas
        GPUs to which each virtual cluster is entitled, for policies that use quotas.
    checkpoint_s
        Seconds of a job's recorded run between checkpoints. 0: a job loses no work. Infinite: a run
        interrupted by preemption or failure starts from the beginning. Migrated and resized jobs
        lose nothing, because they save a checkpoint first.
    outages
        Failures in the order of their start, possibly without end. Jobs that a failure hits are
        stopped, lose their work since the last checkpoint, and wait again.
    dedicated
        Whether gangs share no servers with other jobs.

    Attributes
    ----------
    view
        The state that the policy sees.
    policy
        The scheduler, prepared for the workload.

    Raises
    ------
    SimulationError
        There are no jobs or no GPUs, a gang is larger than the cluster, or the policy makes an
        invalid decision: a GPU allocated twice, an incomplete gang, a job that never starts; or
        `checkpoint_s` is negative or not a number.
    """

    def __init__(
        self,
        specs: Iterable[JobSpec],
        machines: Sequence[Machine],
        policy: Policy,
        *,
        speed: Speed = AS_RECORDED,
        quotas: Mapping[str, int] | None = None,
        checkpoint_s: float = 0.0,
        outages: Iterable[Outage] = (),
        dedicated: bool = False,
    ) -> None:
        slices = machines[0].slices if policy.fractional and machines else 1
        allocated = (as_allocated(spec, slices) for spec in specs)
        ordered = sorted(allocated, key=lambda s: (s.submit_s, s.job_id))
        _check(ordered, machines)
        if not checkpoint_s >= 0:
            raise SimulationError(
                f"checkpoint_s is {checkpoint_s:g} s; give 0 (no work is lost) or more, inf for no "
                "checkpoints."
            )
        self._specs, self._done = ordered, bytearray(len(ordered))
        self.policy = policy = policy.prepare(ordered)
        self._steady = is_steady(policy)
        self._cluster = Cluster(machines, dedicated=dedicated)
        self._execution = Execution(self._cluster, policy, speed, quotas or {}, checkpoint_s)
        self.view = self._execution.view
        self._outages = ActiveOutages(outages, self._cluster)
        self._arrived = self._events = 0
        self._to_do = len(ordered)
        self._round_at_s = self._wake_at_s = FOREVER
        self._woken = False

    def advance(self) -> bool:
        """Advance to the next decision; return False when all jobs are done.

        To decide in the policy's place, read the view and call :meth:`apply`.
        """
        specs, execution, outages, view = self._specs, self._execution, self._outages, self.view
        while self._to_do:
            now_s = min(execution.event_queue.next_s, self._round_at_s, self._wake_at_s)
            if self._arrived < len(specs):
                now_s = min(now_s, specs[self._arrived].submit_s)
            outage_s = outages.next_s
            # if only failures are to come, no job will ever start
            if outage_s < now_s and min(now_s, outages.repair_s) < FOREVER:
                now_s = outage_s
            if now_s == FOREVER:
                break
            view.now_s, before = now_s, self._events
            for event in execution.event_queue.due(now_s):
                self._events += 1
                if not event.ends:
                    execution.review(event.job, now_s)
                elif execution.end(event.job, now_s):
                    self._done[event.job.index] = True
                    self._to_do -= 1
            if outage_s <= now_s:
                for change in outages.due(now_s):
                    self._events += 1
                    execution.change_capacity(change, now_s)
                    if change.permanent:
                        self._check_capacity(now_s)
            while self._arrived < len(specs) and specs[self._arrived].submit_s <= now_s:
                self._events += 1
                # a job exists from arrival to end: a million jobs never coexist
                execution.enqueue(Job(specs[self._arrived], self._arrived), now_s)
                self._arrived += 1
            if self._wake_at_s <= now_s:
                self._events += 1
                self._wake_at_s, self._woken = FOREVER, True
            if self._events > before:
                execution.charge_event_cost(now_s)
            if (view.freed or view.changed or self._woken) and self._is_time(now_s):
                if not self._steady:
                    execution.evaluate(now_s)
                return True
        if self._to_do:
            self._raise_stalled()
        return False

    def apply(self, decision: Decision) -> None:
        """Carry out a decision at the present moment.

        Raises
        ------
        SimulationError
            The decision is invalid: see :class:`Simulation`.
        """
        view = self.view
        view.drop_plan()
        view.touched = set()
        if decision:
            self._execution.apply(decision, view.now_s)
        view.changed, view.freed, self._woken = [], set(), False
        wake_at_s = self.policy.wake_s(view)
        self._wake_at_s = wake_at_s if wake_at_s > view.now_s else FOREVER

    def stale(self) -> list[Job]:
        """Return the jobs whose group, level or key differs from what the jobs are sorted by."""
        view, now_s = self.view, self.view.now_s
        jobs = (*view.queue, *view.queue.withheld, *view.running)
        return [job for job in jobs if self._execution.is_stale(job, now_s)]

    def schedule(self) -> Schedule:
        """Return the schedule so far."""
        execution = self._execution
        return execution.recorder.schedule(
            *(self._specs, self._done, self._cluster.machines, execution.clocks),
            *(self._outages.begun, self._events),
        )

    def _is_time(self, now_s: float) -> bool:
        """Return whether the policy decides now; schedule the next round of a policy with rounds.

        Rounds without a change since the previous round are skipped.
        """
        round_s = self.policy.round_s
        if round_s and now_s != self._round_at_s:
            self._round_at_s = ceil(now_s / round_s) * round_s
            if now_s != self._round_at_s:
                return False
        self._round_at_s = FOREVER
        return True

    def _not_done(self) -> list[JobSpec]:
        return [spec for spec, done in zip(self._specs, self._done, strict=True) if not done]

    def _check_capacity(self, now_s: float) -> None:
        gpus = sum(m.gpus for m in self._cluster.machines) - self._outages.permanently_lost
        if large := [spec for spec in self._not_done() if spec.gpus > gpus]:
            raise SimulationError(
                f"{len(large):,} of {len(self._specs):,} jobs, e.g. {large[0].job_id} for "
                f"{large[0].gpus:,} GPUs, do not fit on the {gpus:,} GPUs that remain after the "
                f"permanent outages up to {now_s:,.0f} s. Give these outages an end, or a workload "
                "without these jobs."
            )

    def _raise_stalled(self) -> None:
        waiting = self._not_done()
        raise SimulationError(
            f"{type(self.policy).__name__} never starts {len(waiting):,} of {len(self._specs):,} "
            f"jobs, e.g. {waiting[0].job_id} for {waiting[0].gpus} GPUs, though "
            f"{self._cluster.free:,} of {self._cluster.capacity:,} GPUs are free. Give machines "
            "on which such a job fits."
        )
