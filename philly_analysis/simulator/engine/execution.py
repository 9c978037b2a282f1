"""What happens on the machines: jobs start and stop there, and all that keeps count is told."""

from collections.abc import Collection, Mapping
from math import inf

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.cluster import Cluster, Grant
from philly_analysis.simulator.engine.active_outages import Change
from philly_analysis.simulator.engine.event_queue import Agenda
from philly_analysis.simulator.engine.schedule import Record
from philly_analysis.simulator.engine.wait_causes import Causes
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.restarts import Restarts
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import View, Wish
from philly_analysis.simulator.speed.speed import Speed

_LOSES = ("preempted", "node_failure")
"""Ends of attempts before which a job has no time to save its work."""


class Floor:
    """The machines with the jobs on them, and those who keep count of what happens there.

    Attributes
    ----------
    view
        The present.
    agenda
        When runs end, and when the policy looks at a job again.
    causes
        Why jobs wait.
    record
        What has happened.
    """

    def __init__(
        self,
        cluster: Cluster,
        policy: Policy,
        speed: Speed,
        quotas: Mapping[str, int],
        restarts: Restarts,
    ) -> None:
        self._cluster, self._policy, self._restarts = cluster, policy, restarts
        self._speed = speed.on(cluster.topology)
        self.view = View(cluster, policy.key, quotas, policy.kind)
        self.agenda = Agenda()
        self.causes = Causes(quotas, cluster)
        self.record = Record()
        self._starts = 0
        self._tolled_s = -inf

    def wait(self, job: Job, now_s: float) -> None:
        """Let a job queue from now on."""
        job.queued_s = now_s
        self.causes.open(job, now_s)
        self.look_again(job, now_s)

    def look_again(self, job: Job, now_s: float) -> None:
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
        self.agenda.review(job, now_s, policy.review_s(job, now_s))

    def end(self, job: Job, now_s: float) -> bool:
        """End a job's present run; True when it was the last."""
        cut = job.over_limit(now_s)
        reason = "time_limit" if cut else job.runs[job.run].end_reason or "completed"
        grant = self._stop(job, now_s, reason)
        self.agenda.forget_review(job)
        more = job.finish_run(give_up=cut)
        if more:
            self.wait(job, now_s)
        self._tell_neighbours([grant], now_s)
        return not more

    def take_toll(self, now_s: float) -> None:
        """Let all who run lose what a coming or an end costs them: no more than they got done."""
        lost_s = min(self._policy.toll_s(), now_s - self._tolled_s)
        self._tolled_s = now_s
        if lost_s:
            for job in list(self.view.running):
                job.lose(now_s, lost_s)
                self.agenda.end(job, job.end_s())
                self._sort(job, now_s)

    def put_out(self, change: Change, now_s: float) -> None:
        """Put GPUs out of use, once their jobs are off them."""
        machine, gpus, view = change.machine, change.gpus, self.view

        def hit(job: Job) -> bool:
            return any(m == machine and held & gpus for m, held in job.held.shares)

        for job in filter(hit, list(view.holding)):
            self._clear(job, None, now_s)
            self.look_again(job, now_s)
        left = []
        for job in filter(hit, list(view.residents[machine])):
            left.append(self._stop(job, now_s, "node_failure"))
            job.interrupted = True
            self.wait(job, now_s)
        self._cluster.put_out(machine, gpus)
        self.causes.out(machine, gpus.bit_count(), now_s)
        view.touched.add(machine)
        self._tell_neighbours(left, now_s)

    def put_back(self, change: Change, now_s: float) -> None:
        """Put GPUs to use again."""
        self._cluster.put_back(change.machine, change.gpus)
        self.causes.out(change.machine, -change.gpus.bit_count(), now_s)
        self.view.freed.add(change.machine)
        self.view.touched.add(change.machine)

    def _stop(self, job: Job, now_s: float, reason: str) -> Grant:
        """Take a job off its GPUs."""
        lost_s = self._restarts.lost_s(job, now_s) if reason in _LOSES else 0.0
        self.record.attempt(job, now_s, reason, lost_s)
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
            self.causes.use(job.vc, grant, sign, now_s)
            self.view.used[job.vc] = self.view.used.get(job.vc, 0) + sign * grant.size
        residents, touched = self.view.residents, self.view.touched
        for machine, _ in grant.shares:
            touched.add(machine)
            if sign > 0:
                residents[machine][job] = None
            else:
                del residents[machine][job]

    def grant(self, wish: Wish, now_s: float) -> None:
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
                self.record.hold(job, now_s)
                self._cluster.give(job.grant)
                job.grant = None
                del self.view.holding[job]
            return None
        old = job.held
        same = grant is not None and grant.shares == old.shares and grant.guest == old.guest
        if same:  # the same GPUs, other CPUs
            self.record.segment(job, now_s)
            return self._take_back(job, now_s)
        reason = "preempted"
        if grant is not None:
            reason = "migrated" if grant.gpus == old.gpus else "resized"
        self._stop(job, now_s, reason)
        # who only turns guest or holder goes on where it is
        job.interrupted = grant is None or grant.shares != old.shares
        if grant is None:
            self.wait(job, now_s)
        return old

    def _lawful(self, job: Job, grant: Grant) -> None:
        whole = grant.size == job.size or self._policy.elastic or grant.partial
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
        self.causes.close(job, now_s)
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
            self.record.segment(job, now_s)
            job.change_speed(now_s, speed)
            self.agenda.end(job, job.end_s())
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
