"""Jobs that hold shares of GPUs, or gangs, on one server: slow, plain, in fractions.

Every GPU's rest is looked at anew at each step. Nothing of the simulator is used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from philly_analysis.workload import JobSpec
from tests.simulator.reference import Bars, LeastAttained, Walk, Walker
from tests.simulator.reference_shares import GittinsIndices, MaxMinFairness

Place = dict[int, Fraction]
"""What is held of which GPUs."""

ONE = Fraction(1)


@dataclass(eq=False)
class Sharer(Walker):
    """A present job; it runs while it has a place."""

    place: Place = field(default_factory=dict)

    @property
    def ask(self) -> Fraction:
        """What it asks for, in GPUs."""
        return self.spec.gpus * Fraction(self.spec.gpu_frac).limit_denominator(1000)

    @property
    def gpus(self) -> int:
        return self.ask  # type: ignore[return-value] # a part of one


@dataclass
class Server:
    """What jobs hold of its GPUs."""

    gpus: int
    places: dict[Sharer, Place] = field(default_factory=dict)

    def left(self) -> list[Fraction]:
        held = [sum(p.get(i, Fraction()) for p in self.places.values()) for i in range(self.gpus)]
        assert all(share <= 1 for share in held)
        return [ONE - share for share in held]

    def find(self, ask: Fraction) -> Place | None:
        """The fullest GPU that others share and that has so much left; else free ones."""
        left = self.left()
        if ask < 1 and (shared := [(n, i) for i, n in enumerate(left) if ask <= n < 1]):
            return {min(shared)[1]: ask}
        free = [i for i, n in enumerate(left) if n == 1]
        if ask < 1:
            return {free[0]: ask} if free else None
        return dict.fromkeys(free[: int(ask)], ONE) if len(free) >= ask else None

    def takes(self, place: Place) -> bool:
        left = self.left()
        return all(left[i] >= share for i, share in place.items())


class Sharing:
    """Who holds what from now on."""

    def serve(self, walk: Walk, server: Server) -> None:
        raise NotImplementedError

    def next_s(self, walk: Walk) -> float:
        return inf

    def mark(self, walk: Walk) -> None:
        pass


def walk_shares(specs: Sequence[JobSpec], gpus: int, policy: Sharing) -> Bars:
    to_come = sorted(specs, key=lambda s: (s.submit_s, s.job_id))
    walk, server, nth = Walk(gpus), Server(gpus), 0
    bars: Bars = {}
    while to_come or walk.present:
        ends_s = [walk.now_s + job.runs_s[0] for job in walk.running]
        arrives_s = [to_come[0].submit_s] if to_come else []
        next_s = min([*ends_s, *arrives_s, policy.next_s(walk)])
        assert next_s < inf, "somebody waits for ever"
        for job in walk.running:
            job.holds_for(next_s - walk.now_s)
        walk.now_s = next_s
        for job in walk.running:
            if job.runs_s[0] <= 1e-7:
                job.runs_s.pop(0)
                how = "failed" if job.runs_s else "completed"
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, how))
                job.running, job.queued_s = False, next_s
                del server.places[job]  # type: ignore[arg-type]
        walk.present = [job for job in walk.present if job.runs_s]
        while to_come and to_come[0].submit_s <= next_s:
            spec = to_come.pop(0)
            runs_s = [attempt.run_s for attempt in spec.attempts]
            walk.present.append(Sharer(spec, nth, runs_s, next_s))
            nth += 1
        policy.mark(walk)
        before = dict(server.places)
        policy.serve(walk, server)
        server.left()
        for job in walk.present:
            assert isinstance(job, Sharer)
            old, new = before.get(job), server.places.get(job)
            if old and old != new:
                how = "migrated" if new else "preempted"
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, how))
                job.queued_s = job.queued_s if new else next_s
            if new and old != new:
                job.started_s = next_s
            job.running = bool(new)
    return bars


def sharers(jobs: Sequence[Walker]) -> list[Sharer]:
    return [job for job in jobs if isinstance(job, Sharer)]


@dataclass
class InTurn(Sharing):
    """Without preemption: whoever is next starts if it fits; who does not blocks, or is passed."""

    by: Callable[[Walker], tuple[float, int]]
    blocks: bool = True

    def serve(self, walk: Walk, server: Server) -> None:
        for job in sorted(sharers(walk.waiting), key=self.by):
            if place := server.find(job.ask):
                server.places[job] = place
            elif self.blocks:
                return


class Easy(Sharing):
    """Others may pass the first that waits where, of two worlds to come, it fits in both."""

    def serve(self, walk: Walk, server: Server) -> None:
        queue = sorted(sharers(walk.waiting), key=lambda job: (job.spec.submit_s, job.nth))
        while queue and (place := server.find(queue[0].ask)):
            server.places[queue.pop(0)] = place
        if not queue:
            return
        first, behind = queue[0], queue[1:]
        ends_s = {job: walk.now_s + job.runs_s[0] for job in server.places}
        shadow_s = next(
            at_s
            for at_s in sorted(set(ends_s.values()))
            if self._then(server, ends_s, at_s).find(first.ask)
        )
        while True:
            for job in behind:
                place = server.find(job.ask)
                if not place:
                    continue
                then = self._then(server, ends_s, shadow_s)
                then.places[job] = place
                end_s = walk.now_s + job.runs_s[0]
                if end_s <= shadow_s + 1e-6 or then.find(first.ask):
                    server.places[job], ends_s[job] = place, end_s
                    behind.remove(job)
                    break
            else:
                return

    @staticmethod
    def _then(server: Server, ends_s: dict[Sharer, float], at_s: float) -> Server:
        stay = {job: place for job, place in server.places.items() if ends_s[job] > at_s + 1e-6}
        return Server(server.gpus, stay)


@dataclass
class InOrder(Sharing):
    """Whoever is first runs: those behind it are stopped, last first, until it fits.

    Who is stopped asks again in its turn, for where it was if that is free still. Nobody is
    stopped for one that would not fit even so.
    """

    rank: Callable[[Walker], tuple[float, ...]]

    def serve(self, walk: Walk, server: Server) -> None:
        ranked = sorted(sharers(walk.present), key=lambda job: (*self.rank(job), job.nth))
        stopped: dict[Sharer, Place] = {}
        for at, job in enumerate(ranked):
            if job in server.places:
                continue
            if job in stopped and server.takes(stopped[job]):
                server.places[job] = stopped[job]
                continue
            behind = [other for other in reversed(ranked[at + 1 :]) if other in server.places]
            out: list[Sharer] = []
            while not Server(server.gpus, self._without(server, out)).find(job.ask):
                if not behind:
                    break
                out.append(behind.pop(0))
            else:
                for other in out:
                    stopped[other] = server.places.pop(other)
                place = server.find(job.ask)
                assert place
                server.places[job] = place

    @staticmethod
    def _without(server: Server, out: Sequence[Sharer]) -> dict[Sharer, Place]:
        return {job: place for job, place in server.places.items() if job not in out}


class Attained(InOrder):
    """Tiresias' queues, a share of a GPU counting as such."""

    def __init__(self, *limits: float, promote: float = 0.0) -> None:
        self.lists = LeastAttained(limits, promote)
        super().__init__(lambda job: (job.level, *self.lists.rank(job)))

    def mark(self, walk: Walk) -> None:
        self.lists.mark(walk)

    def serve(self, walk: Walk, server: Server) -> None:
        super().serve(walk, server)
        chosen: list[Walker] = [job for job in sharers(walk.present) if job in server.places]
        for queue in self.lists.queues:
            queue.sort(key=lambda job: job not in chosen)
        self.lists.chosen = chosen

    def next_s(self, walk: Walk) -> float:
        return self.lists.next_s(walk)


class ByIndex(InOrder):
    """Gittins indices, a share of a GPU counting as such."""

    def __init__(self, indices: GittinsIndices) -> None:
        self.indices = indices
        super().__init__(indices.rank)

    def next_s(self, walk: Walk) -> float:
        return self.indices.next_s(walk)


@dataclass
class Counted(Sharing):
    """Whom a rule chooses by counting shares as if any fitted anywhere, as far as they fit."""

    rule: MaxMinFairness

    def serve(self, walk: Walk, server: Server) -> None:
        chosen = self.rule.serve(walk)
        out = [job for job in sharers(walk.running) if job not in chosen]
        out.sort(key=lambda job: (job.spec.submit_s, job.nth))
        stopped = {job: server.places.pop(job) for job in out}
        for job in sharers(chosen):
            if job not in server.places and (place := server.find(job.ask)):
                server.places[job] = place
        for job, place in stopped.items():
            if server.takes(place):
                server.places[job] = place

    def next_s(self, walk: Walk) -> float:
        return self.rule.next_s(walk)


class LeastShare(Sharing):
    """DRF where only GPUs count: the first that fits of the owner who holds least."""

    def serve(self, walk: Walk, server: Server) -> None:
        refused: set[Fraction] = set()
        while asking := [
            job
            for job in sharers(walk.waiting)
            if job not in server.places and job.ask not in refused
        ]:
            users = {job.spec.user for job in asking}
            user = min(users, key=lambda user: (self._holds(server, user), user))
            own = [job for job in asking if job.spec.user == user]
            job = min(own, key=lambda job: (job.spec.submit_s, job.nth))
            if place := server.find(job.ask):
                server.places[job] = place
            else:
                refused.add(job.ask)

    @staticmethod
    def _holds(server: Server, user: str) -> Fraction:
        own = [place for job, place in server.places.items() if job.spec.user == user]
        return sum((share for place in own for share in place.values()), Fraction())


class Leases(Sharing):
    """Themis: at each lease's end shares are counted as if any fitted anywhere, then placed."""

    def __init__(self, lease_s: float) -> None:
        self.lease_s = lease_s

    def serve(self, walk: Walk, server: Server) -> None:
        def rho(job: Walker) -> tuple[float, int]:
            finish_s = walk.now_s - job.spec.submit_s + job.remaining_s
            return -finish_s / max(job.spec.run_s, 1.0), job.nth

        stopped: dict[Sharer, Place] = {}
        if walk.now_s % self.lease_s == 0 and walk.waiting:
            free = Fraction(server.gpus)
            for job in sorted(sharers(walk.present), key=rho):
                if job.ask <= free:
                    free -= job.ask
                elif job in server.places:
                    stopped[job] = server.places.pop(job)
        for job in sorted(sharers(walk.waiting), key=rho):
            if place := server.find(job.ask):
                server.places[job] = place
        for job, place in stopped.items():
            if server.takes(place):
                server.places[job] = place

    def next_s(self, walk: Walk) -> float:
        return (walk.now_s // self.lease_s + 1) * self.lease_s if walk.waiting else inf


class Aligned(Sharing):
    """Tetris where only GPUs count: the most aligned of those that fit, less the work left."""

    def serve(self, walk: Walk, server: Server) -> None:
        while True:
            left = float(sum(server.left()))
            waiting = [job for job in sharers(walk.waiting) if job not in server.places]
            heads: dict[Fraction, Sharer] = {}
            for job in sorted(waiting, key=lambda job: (job.remaining_s, job.nth)):
                if server.find(job.ask):
                    heads.setdefault(job.ask, job)
            if not heads:
                return
            aligned = {job: float(job.ask) * left / server.gpus**2 for job in heads.values()}
            work = {job: job.remaining_s * float(job.ask) / server.gpus for job in heads.values()}
            unit = sum(aligned.values()) / (sum(work.values()) or inf)
            best = min(
                heads.values(),
                key=lambda job: (-round(aligned[job] - unit * work[job], 9), job.nth),
            )
            server.places[best] = server.find(best.ask) or {}
