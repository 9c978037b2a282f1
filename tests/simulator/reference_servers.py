"""Slow references of policies that use servers, CPUs, memory, or elastic jobs.

Independent of the package except for the profiles of models.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from philly_analysis.simulator.speed.profiles import PROFILES
from tests.simulator.reference import Policy, RefJob, Slot, World, fewest, submitted

Place = dict[int, int]
"""GPUs by server."""

Request = tuple[int, float, float]
"""GPUs, and CPUs and memory for each."""


def best_fit(world: World, gpus: int) -> Place | None:
    """The fullest server that suffices; or the emptiest, and the last one by best fit."""
    free = [world.free_on(m) for m in range(len(world.machines))]
    if one := [(n, m) for m, n in enumerate(free) if n >= gpus]:
        return {min(one)[1]: gpus}
    place: Place = {}
    for _, m in sorted((-n, m) for m, n in enumerate(free) if n):
        missing = gpus - sum(place.values())
        if missing <= free[m]:
            last = min((n, i) for i, n in enumerate(free) if n >= missing and i not in place)[1]
            return {**place, last: missing}
        place[m] = free[m]
    return None


def free_slots(world: World, m: int, but: RefJob | None = None) -> list[Slot]:
    """The GPUs of a server without a holder, or with that job as holder."""
    holders = [job for job in world.running if not job.guest and job is not but]
    held = {slot for job in holders for slot in job.slots}
    return [(m, gpu) for gpu in range(world.machines[m].gpus) if (m, gpu) not in held]


def proportional(world: World, m: int) -> tuple[float, float]:
    server = world.machines[m]
    return (server.cpus or 0.0) / server.gpus, (server.mem_gb or 0.0) / server.gpus


def total(world: World) -> tuple[float, float, float]:
    machines = world.machines
    return world.gpus, sum(m.cpus or 0.0 for m in machines), sum(m.mem_gb or 0.0 for m in machines)


def raw_request(job: RefJob) -> Request:
    return job.gpus, job.spec.cpus or 0.0, job.spec.mem_gb or 0.0


def request(world: World, job: RefJob) -> Request:
    """What a job requests, or a proportional share if empty servers have less."""
    shares = [proportional(world, m) for m in range(len(world.machines))]
    share = min(cpus for cpus, _ in shares), min(mem_gb for _, mem_gb in shares)
    if job.spec.cpus is None or job.spec.mem_gb is None:
        return job.gpus, *share
    wanted = job.gpus, job.spec.cpus / job.gpus, job.spec.mem_gb / job.gpus
    return wanted if find(World(world.machines), wanted) else (job.gpus, *share)


def find(world: World, wanted: Request) -> Place | None:
    """The fullest server with the GPUs, CPUs and memory; several for a large gang."""
    gpus, cpus, mem_gb = wanted
    room = {
        m: min(
            world.free_on(m),
            int(world.cpus(m) / cpus + 1e-6) if cpus else gpus,
            int(world.mem_gb(m) / mem_gb + 1e-6) if mem_gb else gpus,
        )
        for m in range(len(world.machines))
    }
    if gpus <= max(machine.gpus for machine in world.machines):
        fitting = [(world.free_on(m), m) for m, n in room.items() if n >= gpus]
        return {min(fitting)[1]: gpus} if fitting else None
    place: Place = {}
    for m in sorted(room, key=lambda m: (-world.free_on(m), m)):
        if count := min(room[m], gpus - sum(place.values())):
            place[m] = count
    return place if sum(place.values()) == gpus else None


class HostPolicy(Policy):
    """A policy under which jobs run as fast as their CPUs and memory allow."""

    def speed(self, world: World, job: RefJob) -> float:
        profile = PROFILES.get(job.spec.job_type or "")
        if profile is None or not job.cpus:
            return 1.0
        return float(profile.throughput(job.cpus, job.mem_gb))


class DominantShares(HostPolicy):
    """DRF, algorithm 1, continued with other owners when the poorest has no job that fits."""

    def serve(self, world: World) -> None:
        refused: set[Request] = set()
        while requesting := [job for job in world.waiting if raw_request(job) not in refused]:
            vcs = {job.spec.vc for job in requesting}
            vc = min(vcs, key=lambda vc: (self._share(world, vc), vc))
            job = min((job for job in requesting if job.spec.vc == vc), key=submitted)
            wanted = request(world, job)
            if place := find(world, wanted):
                job.place, (_, job.cpus, job.mem_gb) = place, wanted
            else:
                refused.add(raw_request(job))

    @staticmethod
    def _share(world: World, vc: str) -> float:
        vc_jobs = [job for job in world.running if job.spec.vc == vc]
        used = [
            sum(job.gpus for job in vc_jobs),
            sum(job.gpus * job.cpus for job in vc_jobs),
            sum(job.gpus * job.mem_gb for job in vc_jobs),
        ]
        shares = [round(mine / all_, 9) for mine, all_ in zip(used, total(world), strict=True)]
        return max(shares)


class Alignment(HostPolicy):
    """Tetris, sections 3.2 and 3.3: alignment less remaining work, over all pairs that fit."""

    def serve(self, world: World) -> None:
        while pairs := list(self._pairs(world)):
            mean = sum(a for a, *_ in pairs) / sum(w for _, w, *_ in pairs)
            _, _, job, place, wanted = min(
                pairs, key=lambda pair: (-round(pair[0] - mean * pair[1], 9), pair[2].nth)
            )
            job.place, (_, job.cpus, job.mem_gb) = place, wanted

    def _pairs(self, world: World) -> list[tuple[float, float, RefJob, Place, Request]]:
        """Of jobs with the same request the one with least work, and its best server."""
        first: dict[tuple[int, float | None, float | None], RefJob] = {}
        for job in sorted(world.waiting, key=lambda job: (job.remaining_s, job.nth)):
            first.setdefault((job.gpus, job.spec.cpus, job.spec.mem_gb), job)
        pairs = []
        for job in first.values():
            gpus, cpus, mem_gb = wanted = request(world, job)
            places = [
                {m: gpus}
                for m in range(len(world.machines))
                if world.free_on(m) >= gpus
                and world.cpus(m) + 1e-6 >= gpus * cpus
                and world.mem_gb(m) + 1e-6 >= gpus * mem_gb
            ]
            if gpus > max(m.gpus for m in world.machines):
                place = find(world, wanted)
                places = [place] if place else []
            if places:
                best = max(places, key=lambda p: round(self._aligned(world, p, wanted), 9))
                shares = zip((1, cpus, mem_gb), total(world), strict=True)
                work = job.remaining_s * gpus * sum(each / all_ for each, all_ in shares)
                pairs.append((self._aligned(world, best, wanted), work, job, best, wanted))
        return pairs

    @staticmethod
    def _aligned(world: World, place: Place, wanted: Request) -> float:
        aligned = 0.0
        for m, n in place.items():
            has, free = world.machines[m], (world.free_on(m), world.cpus(m), world.mem_gb(m))
            sizes = has.gpus, has.cpus or inf, has.mem_gb or inf
            for each, left, size in zip((1, *wanted[1:]), free, sizes, strict=True):
                aligned += n * each / size * left / size
        return aligned


@dataclass(kw_only=True)
class Elastic(Policy):
    """Amoeba as in vodascheduler: least remaining work first, GPUs one by one by marginal gain.

    Only the number of GPUs matters: all are of one server.
    """

    round_s: float
    pending_above: int
    most: float
    least: float
    alpha: float
    stall_s: float

    def serve(self, world: World) -> None:
        order = sorted(world.present, key=lambda job: (round(job.remaining_s, 6), job.nth))
        sizes = dict.fromkeys(order, 0)
        for job in order:
            if job.gpus <= world.gpus - sum(sizes.values()):
                sizes[job] = job.gpus
        if sum(not n for n in sizes.values()) > self.pending_above:
            sizes = {job: min(n, self._least(job)) for job, n in sizes.items()}
        while gains := [
            (-self._gain(job, n), nth, job)
            for nth, (job, n) in enumerate(sizes.items())
            if n + self._step(job, n) <= max(job.gpus, int(job.gpus * self.most))
            and self._step(job, n) <= world.gpus - sum(sizes.values())
        ]:
            job = min(gains)[2]
            sizes[job] += self._step(job, sizes[job])
        for job, n in sizes.items():
            if n != sum(job.place.values()):
                job.place = {0: n} if n else {}

    def _least(self, job: RefJob) -> int:
        return max(1, int(job.gpus * self.least))

    def _step(self, job: RefJob, n: int) -> int:
        return 1 if n else self._least(job)

    def _gain(self, job: RefJob, n: int) -> float:
        step = self._step(job, n)
        return float(((n + step) ** self.alpha - n**self.alpha) / step)

    def speed(self, world: World, job: RefJob) -> float:
        return float((sum(job.place.values()) / job.gpus) ** self.alpha)


@dataclass
class Tuned(HostPolicy):
    """Synergy-Tune, section 4.2, for single GPUs, first come, first served.

    A job gets its request if it fits. If not, it gets a proportional share, or less if it requests
    less, on the fullest server with a free GPU, whose other jobs give up what exceeds theirs. Spare
    resources go to the jobs that request more, first come, first served.
    """

    server_of: dict[RefJob, int] = field(default_factory=dict)

    def serve(self, world: World) -> None:
        touched = {m for job, m in self.server_of.items() if not job.running}
        for job in sorted(world.waiting, key=submitted):
            wanted = self._request(job)
            place = None if wanted == (inf, inf) else find(world, (1, *wanted))
            if place:
                job.cpus, job.mem_gb = wanted
            elif place := best_fit(world, 1):
                [m] = place
                share = proportional(world, m)
                for other in world.running:
                    if m in other.place:
                        other.cpus = min(other.cpus, share[0])
                        other.mem_gb = min(other.mem_gb, share[1])
                job.cpus, job.mem_gb = map(min, wanted, share)
            if place:
                job.place = place
                touched |= set(place)
        for m in touched:
            for job in sorted((job for job in world.running if m in job.place), key=submitted):
                cpus, mem_gb = self._request(job)
                if (cpus, mem_gb) != (inf, inf):
                    job.cpus += max(min(cpus - job.cpus, world.cpus(m)), 0.0)
                    job.mem_gb += max(min(mem_gb - job.mem_gb, world.mem_gb(m)), 0.0)
        self.server_of = {job: next(iter(job.place)) for job in world.running}

    @staticmethod
    def _request(job: RefJob) -> tuple[float, float]:
        if job.spec.cpus is None or job.spec.mem_gb is None:
            return inf, inf
        return job.spec.cpus, job.spec.mem_gb


class Greedy(HostPolicy):
    """Synergy-Greedy, section 3: a job that cannot have its request is skipped.

    Gangs first come, first served by GPUs: for an earlier one the latest are preempted, as many as
    hold the missing GPUs, and continue unless their GPUs are allocated meanwhile. A refused request
    is refused until the next decision. Jobs are not moved.
    """

    def serve(self, world: World) -> None:
        ran = world.running
        line = sorted(world.waiting, key=submitted)
        before: dict[RefJob, tuple[Place, list[Slot], float, float]] = {}
        refused: set[Request] = set()
        while line:
            job = line.pop(0)
            if job in before:
                if self._still_free(world, *before[job]):
                    job.place, job.slots, job.cpus, job.mem_gb = before[job]
                    continue
            elif raw_request(job) in refused:
                continue
            else:
                for other in self._victims(world, job, ran):
                    before.setdefault(other, (other.place, other.slots, other.cpus, other.mem_gb))
                    other.place, other.slots = {}, []
                    line = sorted([*line, other], key=submitted)
            wanted = request(world, job)
            if place := find(world, wanted):
                job.slots = [slot for m, n in place.items() for slot in free_slots(world, m)[:n]]
                job.place, (_, job.cpus, job.mem_gb) = place, wanted
            elif job not in before:
                refused.add(raw_request(job))

    def _victims(self, world: World, job: RefJob, ran: Sequence[RefJob]) -> list[RefJob]:
        missing, places = job.gpus - world.free, []
        for other in sorted(ran, key=submitted, reverse=True):
            if missing > 0 and other.running and submitted(other) > submitted(job):
                places.append(other)
                missing -= other.gpus
        return places if missing <= 0 else []

    def _still_free(
        self, world: World, place: Place, slots: list[Slot], cpus: float, mem_gb: float
    ) -> bool:
        return all(
            {slot for slot in slots if slot[0] == m} <= set(free_slots(world, m))
            and world.cpus(m) + 1e-6 >= count * cpus
            and world.mem_gb(m) + 1e-6 >= count * mem_gb
            for m, count in place.items()
        )


@dataclass
class Opportunistic(Policy):
    """AntMan, section 4: whole gangs first come, first served; jobs that waited long are guests."""

    patience_s: float
    below: float = 0.8

    def serve(self, world: World) -> None:
        waiting = sorted(world.waiting, key=submitted)
        for job in waiting:
            place = best_fit(world, job.gpus)
            if place is None or len(place) > fewest(world, job.gpus):
                break
            job.place, job.guest = place, False
            job.slots = [s for m, n in place.items() for s in free_slots(world, m, but=job)[:n]]
        for job in waiting[:256]:
            if not job.running and job.queued_s + self.patience_s <= world.now_s + 1e-6:
                self._place_guest(world, job)

    @staticmethod
    def _holder(world: World, slot: Slot) -> RefJob | None:
        holders = [j for j in world.running if not j.guest and slot in j.slots]
        return holders[0] if holders else None

    def _place_guest(self, world: World, job: RefJob) -> None:
        """Choose the least used GPUs of one server, or of the servers with most room."""
        taken = {slot for other in world.running if other.guest for slot in other.slots}
        open_at: dict[int, list[tuple[float, int]]] = {}
        for m, machine in enumerate(world.machines):
            open_at[m] = []
            for i in range(machine.gpus):
                holder = self._holder(world, (m, i))
                util, mem = use(holder) if holder else (0.0, 0.0)
                if (m, i) not in taken and util < self.below and mem + use(job)[1] <= 1:
                    open_at[m].append((util, i))
            open_at[m].sort()
        if job.gpus <= max(machine.gpus for machine in world.machines):
            fitting = [m for m in open_at if len(open_at[m]) >= job.gpus]
            cost = {m: sum(util for util, _ in open_at[m][: job.gpus]) for m in fitting}
            servers = [min(fitting, key=lambda m: (round(cost[m], 9), m))] if fitting else []
        else:
            most = sorted(open_at, key=lambda m: (-len(open_at[m]), m))
            servers = most[: fewest(world, job.gpus)]
        slots = [(m, i) for m in servers for _, i in open_at[m]][: job.gpus]
        if len(slots) == job.gpus:
            job.slots, job.guest = slots, True
            job.place = {m: sum(at == m for at, _ in slots) for m, _ in slots}

    def speed(self, world: World, job: RefJob) -> float:
        speed = 1.0
        for slot in job.slots if job.guest else ():
            if holder := self._holder(world, slot):
                (util, mem), (own, own_mem) = use(holder), use(job)
                if mem + own_mem > 1:
                    return 0.0
                speed = min(speed, max(0.0, 1 - util) / own)
        return speed

    def next_s(self, world: World) -> float:
        due_s = [job.queued_s + self.patience_s for job in world.waiting]
        return min((at_s for at_s in due_s if at_s > world.now_s), default=inf)


def use(job: RefJob) -> tuple[float, float]:
    return job.spec.util_frac or 0.0, job.spec.gpu_mem_frac or 0.0
