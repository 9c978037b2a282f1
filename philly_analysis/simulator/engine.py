"""The clock: runs jobs on machines as a policy wishes, from event to event."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from operator import attrgetter

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.agenda import Agenda
from philly_analysis.simulator.causes import Causes
from philly_analysis.simulator.cluster import Cluster, Grant
from philly_analysis.simulator.job import FOREVER, Job
from philly_analysis.simulator.outages import Outage
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.restarts import NO_COST, Restarts
from philly_analysis.simulator.schedule import Record, Schedule
from philly_analysis.simulator.speed import AS_RECORDED, Speed
from philly_analysis.simulator.upkeep import Change, Upkeep
from philly_analysis.simulator.view import View, Wish
from philly_analysis.workload import JobSpec, Machine

_LOSES = ("preempted", "node_failure")
"""Ends of attempts before which a job has no time to save its work."""


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


def _check(jobs: Sequence[Job], machines: Sequence[Machine]) -> None:
    capacity = sum(m.gpus for m in machines)
    if not capacity:
        raise SimulationError(
            f"There is nothing to run on: {len(machines)} machines with no GPUs. "
            "Give machines, e.g. --machines 552x8."
        )
    if not jobs:
        raise SimulationError(
            "There is nothing to run: no job of the workload has a gang and attempts with both "
            "times. Give a workload with durations."
        )
    if large := [job for job in jobs if job.gpus > capacity]:
        worst = max(large, key=attrgetter("gpus"))
        raise SimulationError(
            f"{len(large):,} of {len(jobs):,} jobs ask for more GPUs than the {capacity:,} of the "
            f"{len(machines):,} machines, e.g. {worst.spec.job_id} for {worst.gpus:,}. Give more "
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
        ordered = sorted(specs, key=lambda s: (s.submit_s, s.job_id))
        self._jobs = jobs = [Job(spec, i) for i, spec in enumerate(ordered)]
        _check(jobs, machines)
        policy = policy.informed(ordered)
        self._policy, self._restarts = policy, restarts
        self._cluster = Cluster(machines, dedicated=dedicated)
        self._speed = speed.on(self._cluster.topology)
        self.view = View(self._cluster, policy.key, quotas or {})
        self._causes = Causes(quotas or {}, self._cluster)
        self._record = Record()
        self._agenda = Agenda()
        self._upkeep = Upkeep(outages, self._cluster)
        self._arrived = self._events = self._starts = 0
        self._until_done = frozenset(until_done)
        self._to_do = len(self._until_done) or len(jobs)
        self._round_at_s = self._wake_at_s = FOREVER
        self._woken = False

    def step(self) -> bool:
        """Go on to the next decision, and do as the policy wishes; False when all is done."""
        if not self.advance():
            return False
        self.apply(self._policy.decide(self.view))
        return True

    def advance(self) -> bool:
        """Go on to the next moment at which something is to be decided; False when all is done.

        Whoever decides in the policy's place reads the view, and then calls :meth:`apply`.
        """
        jobs, agenda, upkeep, view = self._jobs, self._agenda, self._upkeep, self.view
        while self._to_do:
            now_s = min(agenda.next_s, self._round_at_s, self._wake_at_s)
            if self._arrived < len(jobs):
                now_s = min(now_s, jobs[self._arrived].spec.submit_s)
            # where nothing but failures is to come, nobody will ever start
            now_s = min(now_s, upkeep.next_s if now_s < FOREVER else upkeep.repair_s)
            if now_s == FOREVER:
                break
            view.now_s = now_s
            for due in agenda.due(now_s):
                self._events += 1
                if not due.ends:
                    self._look_again(due.job, now_s)
                elif self._end(due.job, now_s) and (
                    not self._until_done or due.job.spec.job_id in self._until_done
                ):
                    self._to_do -= 1
            if upkeep.next_s <= now_s:
                for change in upkeep.due(now_s):
                    self._events += 1
                    self._put_out(change, now_s) if change.out else self._put_back(change, now_s)
            while self._arrived < len(jobs) and jobs[self._arrived].spec.submit_s <= now_s:
                self._events += 1
                self._wait(jobs[self._arrived], now_s)
                self._arrived += 1
            if self._wake_at_s <= now_s:
                self._events += 1
                self._wake_at_s, self._woken = FOREVER, True
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
            self._apply(wish, view.now_s)
        view.changed, view.freed, self._woken = [], set(), False
        wake_at_s = self._policy.wake_s(view)
        self._wake_at_s = wake_at_s if wake_at_s > view.now_s else FOREVER

    def schedule(self) -> Schedule:
        """Return what has happened so far."""
        return self._record.schedule(
            self._jobs, self._cluster.machines, self._causes, self._upkeep.seen, self._events
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

    def _wait(self, job: Job, now_s: float) -> None:
        """Let a job queue from now on."""
        job.queued_s = now_s
        self._causes.open(job, now_s)
        self._look_again(job, now_s)

    def _look_again(self, job: Job, now_s: float) -> None:
        """Sort a job anew, and let the policy decide."""
        self.view.changed.append(job)
        self._sort(job, now_s)

    def _sort(self, job: Job, now_s: float) -> None:
        """Ask the policy where a job stands from now on, and until when that holds.

        Keys are not asked for again until the job changes or is due for review: a policy whose
        word about a job changes as time goes by says so in ``review_s``.
        """
        view, policy = self.view, self._policy
        level = policy.level(job, now_s)
        if level != job.level:
            job.move_to(level, now_s)
        if job.running:
            view.running.discard(job)
            view.running.add(job, policy.standing(job, now_s))
        else:
            view.queue.file(job, policy.group(job, now_s), policy.key(job, now_s))
        self._agenda.review(job, now_s, policy.review_s(job, now_s))

    def _end(self, job: Job, now_s: float) -> bool:
        """End a job's present run; True when it was the last."""
        cut = job.over_limit(now_s)
        reason = "time_limit" if cut else job.runs[job.run].end_reason or "completed"
        grant = self._stop(job, now_s, reason)
        self._agenda.forget_review(job)
        more = job.finish_run(give_up=cut)
        if more:
            self._wait(job, now_s)
        self._tell_neighbours([grant], now_s)
        return not more

    def _put_out(self, change: Change, now_s: float) -> None:
        """Put GPUs out of use, once their jobs are off them."""
        machine, gpus, view = change.machine, change.gpus, self.view

        def hit(job: Job) -> bool:
            return any(m == machine and held & gpus for m, held in job.held.shares)

        for job in filter(hit, list(view.holding)):
            self._clear(job, None, now_s)
            self._look_again(job, now_s)
        left = []
        for job in filter(hit, list(view.residents[machine])):
            left.append(self._stop(job, now_s, "node_failure"))
            job.interrupted = True
            self._wait(job, now_s)
        self._cluster.put_out(machine, gpus)
        self._causes.out(machine, gpus.bit_count(), now_s)
        view.touched.add(machine)
        self._tell_neighbours(left, now_s)
        if change.lasts:
            self._check_what_is_left(now_s)

    def _check_what_is_left(self, now_s: float) -> None:
        left = sum(m.gpus for m in self._cluster.machines) - self._upkeep.for_good
        if large := [job for job in self._jobs if job.gpus > left and job.run < len(job.runs)]:
            raise SimulationError(
                f"{len(large):,} of {len(self._jobs):,} jobs ask for more GPUs than the {left:,} "
                f"that are not out of use for good after {now_s:,.0f} s, e.g. "
                f"{large[0].spec.job_id} for {large[0].gpus:,}. Give such outages an end, or a "
                "workload without these jobs."
            )

    def _put_back(self, change: Change, now_s: float) -> None:
        """Put GPUs to use again."""
        self._cluster.put_back(change.machine, change.gpus)
        self._causes.out(change.machine, -change.gpus.bit_count(), now_s)
        self.view.freed.add(change.machine)
        self.view.touched.add(change.machine)

    def _stop(self, job: Job, now_s: float, reason: str) -> Grant:
        """Take a job off its GPUs."""
        lost_s = self._restarts.lost_s(job, now_s) if reason in _LOSES else 0.0
        self._record.attempt(job, now_s, reason, lost_s)
        self.view.running.discard(job)
        grant = self._take_back(job, now_s)
        job.halt(now_s, lost_s)
        return grant

    def _take_back(self, job: Job, now_s: float) -> Grant:
        grant = job.held
        self._cluster.give(grant)
        self._settle(job, grant, now_s, -1)
        self.view.freed.update([machine for machine, _ in grant.shares])
        return grant

    def _settle(self, job: Job, grant: Grant, now_s: float, sign: int) -> None:
        """Count a running job's grant in (or out of) its virtual cluster and its machines."""
        if not grant.guest:
            self._causes.use(job.vc, grant, sign, now_s)
            self.view.used[job.vc] = self.view.used.get(job.vc, 0) + sign * grant.gpus
        residents, touched = self.view.residents, self.view.touched
        for machine, _ in grant.shares:
            touched.add(machine)
            if sign > 0:
                residents[machine][job] = None
            else:
                del residents[machine][job]

    def _apply(self, wish: Wish, now_s: float) -> None:
        """Compare a wish with the present, and make it so.

        First all is cleared, then taken: jobs may swap GPUs. Speeds come last, when it is settled
        who runs beside whom.
        """
        touched = [self._clear(job, grant, now_s) for job, grant in wish.items()]
        for job, grant in wish.items():
            if grant is not None:
                self._lawful(job, grant)
                self._cluster.take(grant)
                if grant.partial:
                    job.grant = grant
                    job.segment_s = now_s
                    self.view.holding[job] = None
                else:
                    self._start(job, grant, now_s)
                touched.append(grant)
        self._tell_neighbours([grant for grant in touched if grant is not None], now_s)
        for job, grant in wish.items():
            if grant is not None and not grant.partial:
                self._set_speed(job, now_s, anew=True)

    def _clear(self, job: Job, grant: Grant | None, now_s: float) -> Grant | None:
        """Take from a job what it holds, before the wish is granted."""
        if not job.running:
            if job.grant is not None:
                self._record.hold(job, now_s)
                self._cluster.give(job.grant)
                job.grant = None
                del self.view.holding[job]
            return None
        old = job.held
        same = grant is not None and grant.shares == old.shares and grant.guest == old.guest
        if same:  # the same GPUs, other CPUs
            self._record.segment(job, now_s)
            return self._take_back(job, now_s)
        reason = "preempted"
        if grant is not None:
            reason = "migrated" if grant.gpus == old.gpus else "resized"
        self._stop(job, now_s, reason)
        # who only turns guest or holder goes on where it is
        job.interrupted = grant is None or grant.shares != old.shares
        if grant is None:
            self._wait(job, now_s)
        return old

    def _lawful(self, job: Job, grant: Grant) -> None:
        whole = grant.gpus == job.gpus or self._policy.elastic or grant.partial
        counted = sum(gpus.bit_count() for _, gpus in grant.shares) == grant.gpus > 0
        if not whole or not counted or (grant.guest and not self._policy.shares):
            raise SimulationError(
                f"{type(self._policy).__name__} broke a law: {job} asks for {job.gpus} GPUs and "
                f"was granted {grant}."
            )

    def _start(self, job: Job, grant: Grant, now_s: float) -> None:
        """Let a job run on GPUs that are taken for it; or go on, if it never left them."""
        self._settle(job, grant, now_s, 1)
        if job.running:
            job.grant = grant
            return
        self._causes.close(job, now_s)
        self.view.queue.remove(job)
        self._starts += 1
        job.nth_start = self._starts
        job.begin(grant, now_s, self._policy.stall_s(job, grant))

    def _set_speed(self, job: Job, now_s: float, *, anew: bool = False) -> None:
        """Work out how fast a job runs from now on, and so when its run ends."""
        grant = job.held
        neighbours: dict[Job, None] = {}
        if self._speed.neighbourly:
            for machine, _ in grant.shares:
                neighbours |= self.view.residents[machine]
            neighbours.pop(job, None)
        speed = self._speed.of(job, grant, tuple(neighbours))
        if anew or speed != job.speed:
            self._record.segment(job, now_s)
            job.change_speed(now_s, speed)
            self._agenda.end(job, job.end_s())
            self._sort(job, now_s)

    def _tell_neighbours(self, touched: Collection[Grant], now_s: float) -> None:
        """Work out again how fast the jobs run that share machines with a change."""
        if self._speed.neighbourly:
            near: dict[Job, None] = {}
            for grant in touched:
                for machine, _ in grant.shares:
                    near |= self.view.residents[machine]
            for job in near:
                self._set_speed(job, now_s)

    def _explain_stall(self) -> None:
        waiting = [job for job in self._jobs if job.run < len(job.runs)]
        first = waiting[0]
        raise SimulationError(
            f"{type(self._policy).__name__} lets {len(waiting):,} of {len(self._jobs):,} jobs "
            f"wait for ever, e.g. {first.spec.job_id} for {first.gpus} GPUs, while "
            f"{self._cluster.free:,} of {self._cluster.capacity:,} GPUs are free. Give machines "
            "on which such a job fits."
        )
