"""Slow references of policies that share GPUs, in exact fractions, on one server."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import cast

from tests.simulator.reference import (
    FinishTimeFairness,
    Policy,
    Preemptive,
    RefJob,
    World,
    submitted,
    unfairness,
)
from tests.simulator.reference import InTurn as Queue
from tests.simulator.reference_shares import MaxMinFairness

Place = dict[int, Fraction]
"""Fractions by GPU."""

ONE = Fraction(1)


class SharingJob(RefJob):
    """A job that requests a fraction of a GPU, or several GPUs."""

    @property
    def gpus(self) -> Fraction:  # type: ignore[override]
        return self.spec.gpus * Fraction(self.spec.gpu_frac).limit_denominator(1000)


@dataclass
class Server:
    """What jobs hold of the GPUs."""

    gpus: int
    places: dict[RefJob, Place] = field(default_factory=dict)

    def left(self) -> list[Fraction]:
        held = [sum(p.get(i, Fraction()) for p in self.places.values()) for i in range(self.gpus)]
        assert all(share <= 1 for share in held)
        return [ONE - share for share in held]

    def find(self, job: RefJob) -> Place | None:
        """The fullest shared GPU with so much left; else free ones."""
        left, request = self.left(), Fraction(job.gpus)
        if request < 1 and (shared := [(n, i) for i, n in enumerate(left) if request <= n < 1]):
            return {min(shared)[1]: request}
        free = [i for i, n in enumerate(left) if n == 1]
        if request < 1:
            return {free[0]: request} if free else None
        return dict.fromkeys(free[: int(request)], ONE) if len(free) >= request else None

    def start(self, job: RefJob) -> bool:
        if place := self.find(job):
            self.places[job] = place
        return bool(place)

    def stop(self, jobs: Iterable[RefJob]) -> dict[RefJob, Place]:
        return {job: self.places.pop(job) for job in jobs}

    def restore(self, job: RefJob, place: Place) -> bool:
        left = self.left()
        if free := all(left[i] >= share for i, share in place.items()):
            self.places[job] = place
        return free


@dataclass
class Sharing(Policy):
    """A policy of fractions of GPUs, some by a rule that is written for whole ones."""

    rule: Policy = field(default_factory=Policy)

    def mark(self, world: World) -> None:
        self.rule.mark(world)

    def next_s(self, world: World) -> float:
        return self.rule.next_s(world)

    def place(self, world: World, server: Server) -> None:
        """Change what jobs hold."""
        raise NotImplementedError

    def serve(self, world: World) -> None:
        server = Server(world.gpus, {job: cast("Place", job.place) for job in world.running})
        self.place(world, server)
        server.left()
        for job in world.present:
            job.place = server.places.get(job, {})


@dataclass
class InTurn(Sharing):
    """Without preemption: a job that does not fit blocks later ones, or is skipped."""

    rule: Queue

    def place(self, world: World, server: Server) -> None:
        for job in sorted(world.waiting, key=self.rule.by):
            if not server.start(job) and self.rule.blocks:
                return


class Easy(Sharing):
    """Others may pass the first waiting job if it fits at its reservation with or without them."""

    def place(self, world: World, server: Server) -> None:
        queue = sorted(world.waiting, key=submitted)
        while queue and server.start(queue[0]):
            queue.pop(0)
        if not queue:
            return
        first, behind = queue[0], queue[1:]
        ends_s = {job: world.now_s + job.runs_s[0] for job in server.places}
        shadow_s = next(
            at_s
            for at_s in sorted(set(ends_s.values()))
            if self._then(server, ends_s, at_s).find(first)
        )
        while True:
            for job in behind:
                place = server.find(job)
                if not place:
                    continue
                then = self._then(server, ends_s, shadow_s)
                then.places[job] = place
                end_s = world.now_s + job.runs_s[0]
                if end_s <= shadow_s + 1e-6 or then.find(first):
                    server.places[job], ends_s[job] = place, end_s
                    behind.remove(job)
                    break
            else:
                return

    @staticmethod
    def _then(server: Server, ends_s: dict[RefJob, float], at_s: float) -> Server:
        stay = {job: place for job, place in server.places.items() if ends_s[job] > at_s + 1e-6}
        return Server(server.gpus, stay)


@dataclass
class InOrder(Sharing):
    """The first job runs: those behind it are preempted, last first, until it fits.

    A preempted job requests again in its turn, on the same GPU if that is still free. No job is
    preempted for one that would not fit even so.
    """

    rule: Preemptive

    def place(self, world: World, server: Server) -> None:
        ranked = sorted(world.present, key=lambda job: (*self.rule.rank(job), job.nth))
        stopped: dict[RefJob, Place] = {}
        for at, job in enumerate(ranked):
            if job in server.places or (job in stopped and server.restore(job, stopped[job])):
                continue
            behind = [other for other in reversed(ranked[at + 1 :]) if other in server.places]
            out: list[RefJob] = []
            while not Server(server.gpus, self._without(server, out)).find(job):
                if not behind:
                    break
                out.append(behind.pop(0))
            else:
                stopped |= server.stop(out)
                assert server.start(job)
        self.rule.settle([job for job in world.present if job in server.places])

    @staticmethod
    def _without(server: Server, out: Sequence[RefJob]) -> dict[RefJob, Place]:
        return {job: place for job, place in server.places.items() if job not in out}


@dataclass
class Counted(Sharing):
    """The jobs that a rule chooses by counting GPUs, if they fit."""

    rule: MaxMinFairness

    def place(self, world: World, server: Server) -> None:
        chosen = self.rule.choose(world)
        out = sorted((job for job in world.running if job not in chosen), key=submitted)
        stopped = server.stop(out)
        for job in chosen:
            if job not in server.places:
                server.start(job)
        for job, place in stopped.items():
            server.restore(job, place)


class LeastShare(Sharing):
    """DRF with GPUs only: the first job that fits of the owner with the least."""

    def place(self, world: World, server: Server) -> None:
        refused: set[float] = set()
        while requesting := [
            job for job in world.waiting if job not in server.places and job.gpus not in refused
        ]:
            users = {job.spec.user for job in requesting}
            user = min(users, key=lambda user: (self._holds(server, user), user))
            job = min((job for job in requesting if job.spec.user == user), key=submitted)
            if not server.start(job):
                refused.add(job.gpus)

    @staticmethod
    def _holds(server: Server, user: str) -> Fraction:
        places = [place for job, place in server.places.items() if job.spec.user == user]
        return sum((share for place in places for share in place.values()), Fraction())


@dataclass
class Leases(Sharing):
    """Themis: when leases end, fractions are counted as if any fitted anywhere, then placed."""

    rule: FinishTimeFairness

    def place(self, world: World, server: Server) -> None:
        stopped: dict[RefJob, Place] = {}
        if self.rule.leases_end(world):
            chosen = self.rule.choose(world)
            ranked = sorted(world.running, key=lambda job: unfairness(world, job))
            stopped = server.stop(job for job in ranked if job not in chosen)
        for job in sorted(world.waiting, key=lambda job: unfairness(world, job)):
            server.start(job)
        for job, place in stopped.items():
            server.restore(job, place)


class Aligned(Sharing):
    """Tetris with GPUs only: the most aligned job that fits, less the remaining work."""

    def place(self, world: World, server: Server) -> None:
        while True:
            free = float(sum(server.left()))
            waiting = [job for job in world.waiting if job not in server.places]
            heads: dict[float, RefJob] = {}
            for job in sorted(waiting, key=lambda job: (job.remaining_s, job.nth)):
                if server.find(job):
                    heads.setdefault(job.gpus, job)
            if not heads:
                return
            aligned = {job: float(job.gpus) * free / server.gpus**2 for job in heads.values()}
            work = {job: job.remaining_s * float(job.gpus) / server.gpus for job in heads.values()}
            unit = sum(aligned.values()) / (sum(work.values()) or inf)
            server.start(
                min(
                    heads.values(),
                    key=lambda job: (-round(aligned[job] - unit * work[job], 9), job.nth),
                )
            )
