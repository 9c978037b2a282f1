"""The clock: runs jobs on machines as a policy wishes, from event to event."""

import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from operator import attrgetter

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.cluster import Cluster
from philly_analysis.simulator.cluster.gpu_sharing import as_held
from philly_analysis.simulator.engine.active_outages import Upkeep
from philly_analysis.simulator.engine.execution import Floor
from philly_analysis.simulator.engine.outages import Outage
from philly_analysis.simulator.engine.schedule import Schedule
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.restarts import NO_COST, Restarts
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Wish
from philly_analysis.simulator.speed.speed import AS_RECORDED, Speed
from philly_analysis.workload import JobSpec, Machine


def run(
    specs: Iterable[JobSpec],
    machines: Sequence[Machine],
    policy: Policy,
    *,
    speed: Speed = AS_RECORDED,
    quotas: Mapping[str, int] | None = None,
    restarts: Restarts = NO_COST,
    outages: Iterable[Outage] = (),
    dedicated: bool = False,
    until_done: Collection[str] = (),
) -> Schedule:
    """Simulate jobs on machines.

    Parameters
    ----------
    specs
        The jobs, in any order.
    machines
        Where they run.
    policy
        Who decides.
    speed
        How fast they run.
    quotas
        GPUs that each virtual cluster is entitled to, for policies that look at it.
    restarts
        What interruptions lose.
    outages
        What fails when, in the order of its beginning, maybe for ever: jobs that it hits are
        stopped, lose what they have not saved, and wait anew.
    dedicated
        Whether gangs have their servers to themselves.
    until_done
        Stop when these jobs have ended; empty: when all have. Attempts that still run then are
        not in the schedule.

    Returns
    -------
    Schedule
        What happened; times are seconds on the clock of ``JobSpec.submit_s``.

    Raises
    ------
    SimulationError
        There is nothing to simulate, a gang is larger than the cluster, or the policy breaks
        a law: a GPU held twice, a gang that is not whole, a job that never starts.
    """
    with _uncollected():
        simulation = Simulation(
            specs,
            machines,
            policy,
            speed=speed,
            quotas=quotas,
            restarts=restarts,
            outages=outages,
            dedicated=dedicated,
            until_done=until_done,
        )
        while simulation.step():
            pass
        return simulation.schedule()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let the garbage collector leave alone what is there, all jobs to come among it.

    It would go through them again and again, and find nothing: the more jobs, the longer.
    """
    if gc.get_freeze_count():  # somebody else's
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _check(specs: Sequence[JobSpec], machines: Sequence[Machine]) -> None:
    capacity = sum(m.gpus for m in machines)
    if not capacity:
        raise SimulationError(
            f"There is nothing to run on: {len(machines)} machines with no GPUs. "
            "Give machines, e.g. machines='552x8'."
        )
    if len(cuts := {m.slices for m in machines}) > 1:
        raise SimulationError(
            f"GPUs of one pool are cut into slices alike, but here into {cuts}. Give machines "
            "that are cut alike, or make them pools apart."
        )
    if not specs:
        raise SimulationError(
            "There is nothing to run: no job of the workload has a gang and attempts with both "
            "times. Give a workload with durations."
        )
    if large := [spec for spec in specs if spec.gpus > capacity]:
        worst = max(large, key=attrgetter("gpus"))
        raise SimulationError(
            f"{len(large):,} of {len(specs):,} jobs ask for more GPUs than the {capacity:,} of the "
            f"{len(machines):,} machines, e.g. {worst.job_id} for {worst.gpus:,}. Give more "
            "machines, or a workload without them."
        )


class Simulation:
    """One simulation, to be gone through moment by moment: the jobs, the cluster, what is due.

    At each moment four things happen, in this order: what is due (runs end, jobs are looked at
    again), what fails or is repaired, jobs arrive, and, if GPUs became free or a job has something
    to ask, the policy decides. Nothing but a decision starts or moves a job; it stops by one, by
    its own end, or as its GPUs fail.

    Parameters and errors are those of :func:`run`, which goes through it to its end.

    Attributes
    ----------
    view
        The present.
    """

    def __init__(
        self,
        specs: Iterable[JobSpec],
        machines: Sequence[Machine],
        policy: Policy,
        *,
        speed: Speed = AS_RECORDED,
        quotas: Mapping[str, int] | None = None,
        restarts: Restarts = NO_COST,
        outages: Iterable[Outage] = (),
        dedicated: bool = False,
        until_done: Collection[str] = (),
    ) -> None:
        slices = machines[0].slices if policy.parts and machines else 1
        held = (as_held(spec, slices) for spec in specs)
        ordered = sorted(held, key=lambda s: (s.submit_s, s.job_id))
        _check(ordered, machines)
        self._specs, self._done = ordered, bytearray(len(ordered))
        self._policy = policy = policy.informed(ordered)
        self._cluster = Cluster(machines, dedicated=dedicated)
        self._floor = Floor(self._cluster, policy, speed, quotas or {}, restarts)
        self.view = self._floor.view
        self._upkeep = Upkeep(outages, self._cluster)
        self._arrived = self._events = 0
        self._until_done = frozenset(until_done)
        self._to_do = len(self._until_done) or len(ordered)
        self._round_at_s = self._wake_at_s = FOREVER
        self._woken = False

    def step(self) -> bool:
        """Go on to the next decision, and do as the policy wishes; False when all is done."""
        if not self.advance():
            return False
        self.decide()
        return True

    def decide(self) -> None:
        """Do as the policy wishes at the present moment."""
        self.apply(self._policy.decide(self.view))

    def advance(self) -> bool:
        """Go on to the next moment at which something is to be decided; False when all is done.

        Whoever decides in the policy's place reads the view, and then calls :meth:`apply`.
        """
        specs, floor, upkeep, view = self._specs, self._floor, self._upkeep, self.view
        while self._to_do:
            now_s = min(floor.agenda.next_s, self._round_at_s, self._wake_at_s)
            if self._arrived < len(specs):
                now_s = min(now_s, specs[self._arrived].submit_s)
            # where nothing but failures is to come, nobody will ever start
            if min(now_s, upkeep.repair_s) < FOREVER:
                now_s = min(now_s, upkeep.next_s)
            if now_s == FOREVER:
                break
            view.now_s, before = now_s, self._events
            for due in floor.agenda.due(now_s):
                self._events += 1
                if not due.ends:
                    floor.look_again(due.job, now_s)
                elif floor.end(due.job, now_s):
                    self._done[due.job.index] = True
                    if not self._until_done or due.job.spec.job_id in self._until_done:
                        self._to_do -= 1
            if upkeep.next_s <= now_s:
                for change in upkeep.due(now_s):
                    self._events += 1
                    if not change.out:
                        floor.put_back(change, now_s)
                        continue
                    floor.put_out(change, now_s)
                    if change.lasts:
                        self._check_what_is_left(now_s)
            while self._arrived < len(specs) and specs[self._arrived].submit_s <= now_s:
                self._events += 1
                # made as it comes, and forgotten as it ends: a million are never there at once
                floor.wait(Job(specs[self._arrived], self._arrived), now_s)
                self._arrived += 1
            if self._wake_at_s <= now_s:
                self._events += 1
                self._wake_at_s, self._woken = FOREVER, True
            if self._events > before:
                floor.take_toll(now_s)
            if (view.freed or view.changed or self._woken) and self._is_time(now_s):
                return True
        if self._to_do and not self._until_done:
            self._explain_stall()
        return False

    def apply(self, wish: Wish) -> None:
        """Make what is wished so, at the present moment.

        Raises
        ------
        SimulationError
            The wish breaks a law: see :func:`run`.
        """
        view = self.view
        view.drop_plan()
        view.touched = set()
        if wish:
            self._floor.grant(wish, view.now_s)
        view.changed, view.freed, self._woken = [], set(), False
        wake_at_s = self._policy.wake_s(view)
        self._wake_at_s = wake_at_s if wake_at_s > view.now_s else FOREVER

    def schedule(self) -> Schedule:
        """Return what has happened so far."""
        return self._floor.record.schedule(
            *(self._specs, self._done, self._cluster.machines, self._floor.causes),
            *(self._upkeep.seen, self._events),
        )

    def _is_time(self, now_s: float) -> bool:
        """Whether the policy decides now; if it decides in rounds, see to the next one.

        A round takes place only where something waits for it; the others are skipped.
        """
        round_s = self._policy.round_s
        if not round_s or now_s == self._round_at_s:
            self._round_at_s = FOREVER
            return True
        self._round_at_s = ceil(now_s / round_s) * round_s
        if self._round_at_s == now_s:
            self._round_at_s = FOREVER
            return True
        return False

    def _not_done(self) -> list[JobSpec]:
        return [spec for spec, done in zip(self._specs, self._done, strict=True) if not done]

    def _check_what_is_left(self, now_s: float) -> None:
        left = sum(m.gpus for m in self._cluster.machines) - self._upkeep.for_good
        if large := [spec for spec in self._not_done() if spec.gpus > left]:
            raise SimulationError(
                f"{len(large):,} of {len(self._specs):,} jobs ask for more GPUs than the {left:,} "
                f"that are not out of use for good after {now_s:,.0f} s, e.g. "
                f"{large[0].job_id} for {large[0].gpus:,}. Give such outages an end, or a "
                "workload without these jobs."
            )

    def _explain_stall(self) -> None:
        waiting = self._not_done()
        first = waiting[0]
        raise SimulationError(
            f"{type(self._policy).__name__} lets {len(waiting):,} of {len(self._specs):,} jobs "
            f"wait for ever, e.g. {first.job_id} for {first.gpus} GPUs, while "
            f"{self._cluster.free:,} of {self._cluster.capacity:,} GPUs are free. Give machines "
            "on which such a job fits."
        )
