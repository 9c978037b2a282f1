"""Policies that are an order of jobs: first come, shortest, shortest remaining."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from itertools import accumulate, tee
from math import inf
from operator import attrgetter
from typing import Any

from philly_analysis.simulator.cluster.cluster import Grant, Leaving
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import consolidated, first_fit, seat
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Place
from philly_analysis.simulator.policies.knobs import STALL, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import Plan, View, Wish

CONSOLIDATE = "place gangs only on one server, or else on whole ones and one more for the rest"

_RUNNING = attrgetter("running")


def placed(plan: Plan, job: Job, *, consolidate: bool) -> Grant | None:
    """Find GPUs for a job: anywhere, or for a gang on the fewest servers or not at all."""
    if consolidate and job.size >= WHOLE:
        return consolidated(plan.cluster, job.gpus)
    return seat(plan.cluster, job.size)


@dataclass(frozen=True)
class Fifo(Policy):
    """First come, first served, without preemption: who cannot start blocks all behind it.

    A job that asks for a share of a GPU gets that of the fullest GPU that has as much left, and
    no share spans two.
    """

    name = "fifo"
    SOURCE = "textbook"
    parts = True

    backfill: bool = knob(False, "let jobs that fit pass a gang that does not")
    consolidate: bool = knob(False, CONSOLIDATE)
    first_fit: bool = knob(False, "consolidate, on the first servers as YARN does, not the fullest")

    def group(self, job: Job, now_s: float) -> int:
        """Return one group for all, or one per gang size and share."""
        return job.size if self.backfill else 0

    def decide(self, view: View) -> Wish:
        """Start waiting jobs in the order of their submission."""
        if view.cluster.full or not view.queue.groups:
            return {}
        plan = view.plan()
        plan.offer(lambda job: plan.grant(job, self._placed(plan, job)))
        return plan.wish

    def _placed(self, plan: Plan, job: Job) -> Grant | None:
        if self.first_fit and job.size >= WHOLE:
            return first_fit(plan.cluster, job.gpus)
        return placed(plan, job, consolidate=self.consolidate)


@dataclass(frozen=True)
class Preemptive(Policy):
    """Serves jobs by :meth:`key`, all the time: a job gives way to those before it.

    A gang that does not fit even then is passed by; jobs behind it may use what is left. Of two
    who hold shares of a GPU one may give way and the other stay.
    """

    def decide(self, view: View) -> Wish:
        """Give the GPUs to the jobs of smallest key."""
        if not self.may_change(view):
            return {}
        plan = view.plan()
        self.serve(plan)
        return plan.wish

    @property
    def anywhere(self) -> bool:
        """Whether GPUs enough are all that a job needs: who could not start then need not ask.

        If not, a gang may find servers in what others left as they made room for it in vain.
        """
        return False

    def may_change(self, view: View) -> bool:
        """Whether the first of a group fits, or would where others stopped: if not, none can."""
        heads = view.queue.heads()
        if not heads:
            return False
        came = not all(map(_RUNNING, view.changed))
        if self.anywhere and view.changed and not came and not view.freed:
            # who fits has started, so nothing changes unless one who runs fell behind the first
            first = min(heads).key
            if max([self.key(job, view.now_s) for job in view.changed]) <= first:
                return False
        elif min([head.job.size for head in heads]) <= view.cluster.widest:
            return True
        if not view.running:
            return False
        greatest = self.greatest(view)
        before = [head for head in heads if head.key < greatest]
        return bool(before) and (came or self._may_stop_others(view, before))

    def _may_stop_others(self, view: View, heads: list[Place]) -> bool:
        """Whether the running jobs behind one of these hold enough for it: one walk for all."""
        heads.sort(reverse=True)
        smallest = [*accumulate((head.job.size for head in reversed(heads)), min)]
        left = Leaving(view.cluster)
        for key, victim in self._worst(view):
            while heads[len(heads) - len(smallest)].key >= key:
                smallest.pop()
                if not smallest:
                    return False
            left.add(victim.held)
            if left.fits(smallest[-1]):
                return True
        return False

    def serve(self, plan: Plan) -> None:
        """Plan who is to run."""
        plan.offer(lambda job: self._take(plan, job))

    def _take(self, plan: Plan, job: Job) -> bool | None:
        if job.running and plan.return_to(job):
            return True
        if not plan.cluster.fits(job.size):
            key, view = plan.offered.key, plan.view
            # nor may any behind it stop others
            if not view.running or self.greatest(view) <= key:
                return None if plan.cluster.full else False
            if job.running:  # released just now: all that ranks below it is released as well
                return False
            victims = self._victims(plan, job, key)
            if not victims:
                return False
            for victim in victims:
                plan.release(victim)
        return self.place(plan, job)

    def place(self, plan: Plan, job: Job) -> bool:
        """Plan a job's start, where GPUs are enough; False when it does not fit even so."""
        raise NotImplementedError

    def greatest(self, view: View) -> Any:
        """Return the greatest key of those who run; there must be one."""
        return next(self._worst(view))[0]

    def _worst(self, view: View) -> Iterator[tuple[Any, Job]]:
        """Yield what :meth:`worst_first` does, which is worked out once a moment."""
        moment, known = (view.now_s, view.running.version), view.kept.get("worst")
        if known is None or known[0] != moment:
            known = view.kept["worst"] = moment, tee(self.worst_first(view), 1)[0]
        return tee(known[1])[1]  # from the first on, what is worked out being kept

    def worst_first(self, view: View) -> Iterator[tuple[Any, Job]]:
        """Yield the running jobs with their keys, the greatest first."""
        now_s = view.now_s
        return ((self.key(job, now_s), job) for job in reversed(view.running))

    def _victims(self, plan: Plan, job: Job, key: Any) -> list[Job]:
        """Return the jobs, worst first, whose GPUs let this one fit; none if they do not."""
        left = Leaving(plan.cluster)
        victims = []
        for greater, victim in self._worst(plan.view):
            if greater <= key:
                return []
            if (grant := plan.held(victim)) is not None:
                victims.append(victim)
                left.add(grant)
                if left.fits(job.size):
                    return victims
        return []


@dataclass(frozen=True)
class Ranked(Preemptive):
    """A preemptive order of jobs by GPUs alone.

    Jobs give way for GPUs, not for servers: a gang that is to be consolidated may have to wait
    though those below it hold GPUs enough.
    """

    parts = True

    consolidate: bool = knob(False, CONSOLIDATE)
    counted: bool = knob(
        False, "count GPUs first: a gang that then finds no servers has stopped others for nothing"
    )

    def decide(self, view: View) -> Wish:
        """Give the GPUs to the jobs of smallest key, as far as they find servers."""
        return self._counted(view) if self.counted else super().decide(view)

    @property
    def anywhere(self) -> bool:
        """Whether gangs may lie on any servers."""
        return not self.consolidate

    def place(self, plan: Plan, job: Job) -> bool:
        """Plan a job's start on the fullest servers that it fits on."""
        return plan.grant(job, placed(plan, job, consolidate=self.consolidate))

    def _counted(self, view: View) -> Wish:
        """Say by GPUs alone who is to run, stop all others, and only then look for servers."""
        if not view.queue.groups:
            return {}
        plan = view.plan()
        for job in view.running:
            plan.release(job)
        chosen: list[Job] = []
        left = plan.cluster.room

        def take(job: Job) -> bool:
            nonlocal left
            if job.size > left:
                return False
            left -= job.size
            chosen.append(job)
            return True

        plan.offer(take)
        for job in chosen:
            if job.running:
                plan.return_to(job)
        for job in chosen:
            if not job.running:
                self.place(plan, job)
        return plan.wish


@dataclass(frozen=True)
class Srtf(Ranked):
    """Shortest remaining time first: who needs least until its end runs, whatever its gang.

    That time is of the clock: of a running job as fast as it now runs, of another as recorded,
    with what a restart costs it. So running jobs, whose times all fall alike, keep their order
    until one's speed changes.
    """

    name = "srtf"
    SOURCE = "textbook; as a baseline in Tiresias (NSDI'19) and Synergy (OSDI'22)"

    event_s: float = knob(
        0.0,
        "work that all who run lose whenever a job comes or ends, as in Muri's simulator",
        unit="s",
        within=STALL,
    )

    def toll_s(self) -> float:
        """Return the knob."""
        return self.event_s

    def key(self, job: Job, now_s: float) -> float:
        """Return the seconds until its end."""
        restart_s = self.restart_s if job.interrupted and not job.running else 0.0
        return job.to_go_s(now_s) + restart_s

    def standing(self, job: Job, now_s: float) -> Any:
        """Return when it would end."""
        return now_s + job.to_go_s(now_s)


@dataclass(frozen=True)
class Srsf(Srtf):
    """Shortest remaining service first: as ``srtf``, by the time to go times the GPUs of the gang.

    What a large gang has to go falls faster than what a small one has, so that of two running
    jobs now one, now the other may be first.
    """

    name = "srsf"
    SOURCE = "Gu et al., Tiresias, NSDI'19, section 2: SRSF, shortest-gpu in its simulator"

    def key(self, job: Job, now_s: float) -> float:
        """Return the GPU-seconds until its end."""
        return job.size / WHOLE * super().key(job, now_s)

    def standing(self, job: Job, now_s: float) -> tuple[int, float]:
        """Return its gang, in which what is to go falls alike, and when it would end."""
        return job.size, now_s + job.to_go_s(now_s)

    def worst_first(self, view: View) -> Iterator[tuple[float, Job]]:
        """Yield the running jobs, those with most to go first: each gang size in its order."""
        now_s, lasts = view.now_s, self._lasts(view).values()
        lines = [(-self.key(last.job, now_s), -last.nth, last.job) for last in lasts]
        heapify(lines)
        behind: dict[int, Iterator[Place]] = {}
        while lines:
            key, _, job = lines[0]
            yield -key, job
            if job.size not in behind:
                behind[job.size] = view.running.below((job.size, inf))
                next(behind[job.size])  # itself
            place = next(behind[job.size], None)
            if place is not None and place.job.size == job.size:
                heapreplace(lines, (-self.key(place.job, now_s), -place.nth, place.job))
            else:
                heappop(lines)

    def _lasts(self, view: View) -> dict[int, Place]:
        """Return the last place of each gang size of those who run."""
        running, news = view.running, view.running.news()
        if news is None:
            view.kept["lasts"] = {place.job.size: place for place in running.places()}
        last: dict[int, Place] = view.kept["lasts"]
        for place, came in news or ():
            size = place.job.size
            if came and (size not in last or last[size] < place):
                last[size] = place
            elif not came and last.get(size) is place:
                before = next(running.below((size, inf)), None)
                if before is not None and before.job.size == size:
                    last[size] = before
                else:
                    del last[size]
        return last


@dataclass(frozen=True)
class Sjf(Fifo):
    """Shortest job first, without preemption: who cannot start blocks all longer ones."""

    name = "sjf"
    SOURCE = "textbook; as a baseline in Helios (SC'21) and Lucid (ASPLOS'23)"

    def key(self, job: Job, now_s: float) -> float:
        """Return the seconds that its runs still need."""
        return job.remaining_s(now_s)
