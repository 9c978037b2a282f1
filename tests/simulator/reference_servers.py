"""References of policies that look at servers, CPUs, memory, or how many GPUs a job gets.

Like ``reference``, but a job holds so many GPUs of each server, CPUs and memory with each, and runs
at a speed of its own. Nothing of the simulator is used but the profiles of models.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from philly_analysis.simulator.speed.profiles import PROFILES
from philly_analysis.workload import JobSpec, Machine
from tests.simulator.reference import Bars

Place = dict[int, int]
"""GPUs by server."""


@dataclass(eq=False)
class Runner:
    """A present job; it runs while it has a place."""

    spec: JobSpec
    nth: int
    runs_s: list[float]
    queued_s: float
    place: Place = field(default_factory=dict)
    cpus: float = 0.0
    mem_gb: float = 0.0
    speed: float = 1.0
    started_s: float = 0.0
    stalls_s: float = 0.0
    stopped: bool = False
    guest: bool = False
    slots: list[tuple[int, int]] = field(default_factory=list)
    """Which GPUs of which server, where that matters."""
    level_s: float = 0.0

    @property
    def gpus(self) -> int:
        return self.spec.gpus

    @property
    def running(self) -> bool:
        return bool(self.place)

    @property
    def remaining_s(self) -> float:
        return sum(self.runs_s)

    def ends_s(self, now_s: float) -> float:
        return now_s + self.stalls_s + self.runs_s[0] / self.speed if self.speed else inf


@dataclass
class Servers:
    """The cluster at one moment."""

    machines: Sequence[Machine]
    now_s: float = 0.0
    present: list[Runner] = field(default_factory=list)
    changed: bool = False

    def free(self, m: int) -> int:
        held = [job.place.get(m, 0) for job in self.present if not job.guest]
        return self.machines[m].gpus - sum(held)

    def cpus(self, m: int) -> float:
        used = sum(job.place.get(m, 0) * job.cpus for job in self.present)
        return (self.machines[m].cpus or 0.0) - used

    def mem_gb(self, m: int) -> float:
        used = sum(job.place.get(m, 0) * job.mem_gb for job in self.present)
        return (self.machines[m].mem_gb or 0.0) - used

    def all_free(self) -> int:
        return sum(map(self.free, range(len(self.machines))))

    @property
    def waiting(self) -> list[Runner]:
        return [job for job in self.present if not job.running]

    @property
    def running(self) -> list[Runner]:
        return [job for job in self.present if job.running]

    def best_fit(self, gpus: int) -> Place | None:
        """The fullest server that will do; or the emptiest, and the last one fitted best."""
        free = [self.free(m) for m in range(len(self.machines))]
        if one := [(n, m) for m, n in enumerate(free) if n >= gpus]:
            return {min(one)[1]: gpus}
        place: Place = {}
        for _, m in sorted((-n, m) for m, n in enumerate(free) if n):
            left = gpus - sum(place.values())
            if left <= free[m]:
                last = min((n, i) for i, n in enumerate(free) if n >= left and i not in place)[1]
                return {**place, last: left}
            place[m] = free[m]
        return None


class Policy:
    """Who holds what from now on."""

    round_s = 0.0
    stall_s = 0.0
    """What a job loses by being moved, or by having been stopped."""

    def serve(self, world: Servers) -> None:
        """Give jobs places, or take them."""
        raise NotImplementedError

    def speed(self, world: Servers, job: Runner) -> float:
        return 1.0

    def next_s(self, world: Servers) -> float:
        """When to look again though nothing arrives or ends."""
        return inf


def walk_on(specs: Sequence[JobSpec], machines: Sequence[Machine], policy: Policy) -> Bars:
    to_come = sorted(specs, key=lambda s: (s.submit_s, s.job_id))
    world, nth = Servers(machines), 0
    bars: Bars = {}
    while to_come or world.present:
        ends_s = [job.ends_s(world.now_s) for job in world.running]
        arrives_s = [to_come[0].submit_s] if to_come else []
        looks_s = policy.next_s(world)
        in_round = policy.round_s and world.changed
        rounds_s = [(world.now_s // policy.round_s + 1) * policy.round_s] if in_round else []
        next_s = min([*ends_s, *arrives_s, *rounds_s, looks_s])
        assert next_s < inf, "somebody waits for ever"
        for job in world.running:
            took_s = next_s - world.now_s
            job.runs_s[0] -= max(took_s - job.stalls_s, 0.0) * job.speed
            job.stalls_s = max(job.stalls_s - took_s, 0.0)
        world.now_s = next_s
        for job in world.running:
            if job.runs_s[0] <= 1e-7 and not job.stalls_s:
                job.runs_s.pop(0)
                world.changed = True
                how = "failed" if job.runs_s else "completed"
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, how))
                job.place, job.slots, job.queued_s = {}, [], next_s
        world.present = [job for job in world.present if job.runs_s]
        while to_come and to_come[0].submit_s <= next_s:
            spec = to_come.pop(0)
            runs_s = [attempt.run_s for attempt in spec.attempts]
            world.present.append(Runner(spec, nth, runs_s, next_s))
            world.changed = True
            nth += 1
        if policy.round_s and (next_s % policy.round_s or not world.changed):
            continue
        world.changed = False
        before = {job: (dict(job.place), list(job.slots)) for job in world.present}
        policy.serve(world)
        for m in range(len(machines)):
            assert world.free(m) >= 0 and world.cpus(m) > -1e-6 and world.mem_gb(m) > -1e-6
        for job in world.present:
            (old, held), new = before[job], job.place
            moved = old != new or held != job.slots
            if old and moved:
                same = sum(old.values()) == sum(new.values())
                how = ("migrated" if same else "resized") if new else "preempted"
                bars.setdefault(job.spec.job_id, []).append((job.started_s, next_s, how))
                job.stopped = True
                job.queued_s = job.queued_s if new else next_s
            if new and moved:
                job.stalls_s = policy.stall_s if job.stopped else 0.0
                job.started_s, job.stopped = next_s, False
        for job in world.present:
            job.speed = policy.speed(world, job) if job.place else 1.0
    return bars


Demand = tuple[int, float, float]
"""GPUs, and CPUs and memory for each."""


def demand(world: Servers, job: Runner) -> Demand:
    """What a job insists on: what it wants, or a proportional share where that cannot be had."""
    share = (
        min((m.cpus or 0.0) / m.gpus for m in world.machines),
        min((m.mem_gb or 0.0) / m.gpus for m in world.machines),
    )
    if job.spec.cpus is None or job.spec.mem_gb is None:
        return job.gpus, *share
    wants = job.gpus, job.spec.cpus / job.gpus, job.spec.mem_gb / job.gpus
    return wants if find(Servers(world.machines), wants) else (job.gpus, *share)


def find(world: Servers, want: Demand) -> Place | None:
    """The fullest server with the GPUs, CPUs and memory; a large gang takes what servers have."""
    gpus, cpus, mem_gb = want
    room = {
        m: min(
            world.free(m),
            int(world.cpus(m) / cpus + 1e-6) if cpus else gpus,
            int(world.mem_gb(m) / mem_gb + 1e-6) if mem_gb else gpus,
        )
        for m in range(len(world.machines))
    }
    if gpus <= max(machine.gpus for machine in world.machines):
        fitting = [(world.free(m), m) for m, n in room.items() if n >= gpus]
        return {min(fitting)[1]: gpus} if fitting else None
    place: Place = {}
    for m in sorted(room, key=lambda m: (-world.free(m), m)):
        if taken := min(room[m], gpus - sum(place.values())):
            place[m] = taken
    return place if sum(place.values()) == gpus else None


def by_profile(job: Runner) -> float:
    """How fast a model runs with its CPUs and memory."""
    profile = PROFILES.get(job.spec.job_type or "")
    return profile.throughput(job.cpus, job.mem_gb) if profile and job.cpus else 1.0


@dataclass
class DominantShares(Policy):
    """DRF, algorithm 1, going on with others when the poorest has no task that fits."""

    def serve(self, world: Servers) -> None:
        refused: set[Demand] = set()
        while True:
            asking = [job for job in world.waiting if self._asked(job) not in refused]
            if not asking:
                return
            vc = min({job.spec.vc for job in asking}, key=lambda vc: (self._share(world, vc), vc))
            own = [job for job in asking if job.spec.vc == vc]
            job = min(own, key=lambda job: (job.spec.submit_s, job.nth))
            wants = demand(world, job)
            if place := find(world, wants):
                job.place, (_, job.cpus, job.mem_gb) = place, wants
            else:
                refused.add(self._asked(job))

    @staticmethod
    def _asked(job: Runner) -> Demand:
        return job.gpus, job.spec.cpus or 0.0, job.spec.mem_gb or 0.0

    @staticmethod
    def _share(world: Servers, vc: str) -> float:
        own = [job for job in world.running if job.spec.vc == vc]
        return max(
            round(sum(job.gpus for job in own) / sum(m.gpus for m in world.machines), 9),
            round(
                sum(job.gpus * job.cpus for job in own)
                / sum(m.cpus or 0.0 for m in world.machines),
                9,
            ),
            round(
                sum(job.gpus * job.mem_gb for job in own)
                / sum(m.mem_gb or 0.0 for m in world.machines),
                9,
            ),
        )

    def speed(self, world: Servers, job: Runner) -> float:
        return by_profile(job)


@dataclass
class Alignment(Policy):
    """Tetris, sections 3.2 and 3.3: alignment, less the work left, over all pairs that fit."""

    def serve(self, world: Servers) -> None:
        while pairs := list(self._pairs(world)):
            mean = sum(a for a, *_ in pairs) / sum(w for _, w, *_ in pairs) if pairs else 0.0
            _, _, job, place, wants = min(
                pairs, key=lambda pair: (-round(pair[0] - mean * pair[1], 9), pair[2].nth)
            )
            job.place, (_, job.cpus, job.mem_gb) = place, wants

    def _pairs(self, world: Servers) -> list[tuple[float, float, Runner, Place, Demand]]:
        """Of jobs that want the same, only that with least left, and of servers the best."""
        first: dict[tuple[int, float | None, float | None], Runner] = {}
        for job in sorted(world.waiting, key=lambda job: (job.remaining_s, job.nth)):
            first.setdefault((job.gpus, job.spec.cpus, job.spec.mem_gb), job)
        pairs = []
        for job in first.values():
            gpus, cpus, mem_gb = wants = demand(world, job)
            places = [
                {m: gpus}
                for m in range(len(world.machines))
                if world.free(m) >= gpus
                and world.cpus(m) + 1e-6 >= gpus * cpus
                and world.mem_gb(m) + 1e-6 >= gpus * mem_gb
            ]
            if gpus > max(m.gpus for m in world.machines):
                place = find(world, wants)
                places = [place] if place else []
            if places:
                best = max(places, key=lambda p: round(self._aligned(world, p, wants), 9))
                work = (
                    job.remaining_s
                    * gpus
                    * (
                        1 / sum(m.gpus for m in world.machines)
                        + cpus / sum(m.cpus or 0.0 for m in world.machines)
                        + mem_gb / sum(m.mem_gb or 0.0 for m in world.machines)
                    )
                )
                pairs.append((self._aligned(world, best, wants), work, job, best, wants))
        return pairs

    @staticmethod
    def _aligned(world: Servers, place: Place, wants: Demand) -> float:
        total = 0.0
        for m, n in place.items():
            has = world.machines[m]
            total += n / has.gpus * world.free(m) / has.gpus
            total += n * wants[1] / (has.cpus or inf) * world.cpus(m) / (has.cpus or inf)
            total += n * wants[2] / (has.mem_gb or inf) * world.mem_gb(m) / (has.mem_gb or inf)
        return total

    def speed(self, world: Servers, job: Runner) -> float:
        return by_profile(job)


@dataclass(kw_only=True)
class Elastic(Policy):
    """Amoeba as vodascheduler has it: who has least left first, GPUs one by one by marginal gain.

    Only how many GPUs a job gets matters: all are of one server.
    """

    round_s: float
    pending_above: int
    most: float
    least: float
    alpha: float
    stall_s: float

    def serve(self, world: Servers) -> None:
        order = sorted(world.present, key=lambda job: (round(job.remaining_s, 6), job.nth))
        [server] = world.machines
        sizes = dict.fromkeys(order, 0)
        for job in order:
            if job.gpus <= server.gpus - sum(sizes.values()):
                sizes[job] = job.gpus
        if sum(not n for n in sizes.values()) > self.pending_above:
            sizes = {job: min(n, self._least(job)) for job, n in sizes.items()}
        while gains := [
            (-self._gain(job, n), nth, job)
            for nth, (job, n) in enumerate(sizes.items())
            if n + self._step(job, n) <= max(job.gpus, int(job.gpus * self.most))
            and self._step(job, n) <= server.gpus - sum(sizes.values())
        ]:
            job = min(gains)[2]
            sizes[job] += self._step(job, sizes[job])
        for job, n in sizes.items():
            if n != sum(job.place.values()):
                job.place = {0: n} if n else {}

    def _least(self, job: Runner) -> int:
        return max(1, int(job.gpus * self.least))

    def _step(self, job: Runner, n: int) -> int:
        return 1 if n else self._least(job)

    def _gain(self, job: Runner, n: int) -> float:
        step = self._step(job, n)
        return float(((n + step) ** self.alpha - n**self.alpha) / step)

    def speed(self, world: Servers, job: Runner) -> float:
        return float((sum(job.place.values()) / job.gpus) ** self.alpha)


@dataclass
class Tuned(Policy):
    """Synergy-Tune, section 4.2, for single GPUs, first come, first served.

    Who fits with what it wants gets it. Who does not takes a proportional share, or less if it
    wants less, on the fullest server with a GPU, whose others give up what they have beyond
    theirs. What becomes spare goes to those that want more, first come, first served.
    """

    gpus: dict[Runner, int] = field(default_factory=dict)

    def serve(self, world: Servers) -> None:
        """Look at the servers on which something changed."""
        left = {job: m for job, m in self.gpus.items() if not job.running}
        touched = set(left.values())
        for job in sorted(world.waiting, key=lambda job: (job.spec.submit_s, job.nth)):
            wants = self._wants(job)
            place = None if wants == (inf, inf) else find(world, (1, *wants))
            if place:
                job.cpus, job.mem_gb = wants
            elif place := world.best_fit(1):
                [m] = place
                for other in world.running:
                    if m in other.place:
                        other.cpus = min(other.cpus, self._share(world, m)[0])
                        other.mem_gb = min(other.mem_gb, self._share(world, m)[1])
                job.cpus, job.mem_gb = map(min, wants, self._share(world, m))
            if place:
                job.place = place
                touched |= set(place)
        for m in touched:
            here = [job for job in world.running if m in job.place]
            for job in sorted(here, key=lambda job: (job.spec.submit_s, job.nth)):
                cpus, mem_gb = self._wants(job)
                if (cpus, mem_gb) != (inf, inf):
                    job.cpus += max(min(cpus - job.cpus, world.cpus(m)), 0.0)
                    job.mem_gb += max(min(mem_gb - job.mem_gb, world.mem_gb(m)), 0.0)
        self.gpus = {job: next(iter(job.place)) for job in world.running}

    @staticmethod
    def _wants(job: Runner) -> tuple[float, float]:
        if job.spec.cpus is None or job.spec.mem_gb is None:
            return inf, inf
        return job.spec.cpus, job.spec.mem_gb

    @staticmethod
    def _share(world: Servers, m: int) -> tuple[float, float]:
        server = world.machines[m]
        return (server.cpus or 0.0) / server.gpus, (server.mem_gb or 0.0) / server.gpus

    def speed(self, world: Servers, job: Runner) -> float:
        return by_profile(job)


@dataclass
class Greedy(Policy):
    """Synergy-Greedy, section 3: who cannot have all that it wants is passed by, in order.

    Gangs first come, first served by GPUs: for an earlier one the latest give way, as many as make
    up the GPUs that it lacks, and go on where they were unless somebody took that meanwhile. What
    found no room finds none until the next decision. Jobs stay where they are.
    """

    def serve(self, world: Servers) -> None:
        ran = world.running
        line = sorted(world.waiting, key=self._order)
        were: dict[Runner, tuple[Place, list[tuple[int, int]], float, float]] = {}
        refused: set[Demand] = set()
        while line:
            job = line.pop(0)
            asked = job.gpus, job.spec.cpus or 0.0, job.spec.mem_gb or 0.0
            if job in were:
                if self._still_free(world, *were[job]):
                    job.place, job.slots, job.cpus, job.mem_gb = were[job]
                    continue
            elif asked in refused:
                continue
            else:
                for other in self._give_way(world, job, ran):
                    were.setdefault(other, (other.place, other.slots, other.cpus, other.mem_gb))
                    other.place, other.slots = {}, []
                    line = sorted([*line, other], key=self._order)
            wants = demand(world, job)
            if place := find(world, wants):
                free = {m: self._free_slots(world, m)[:count] for m, count in place.items()}
                job.place, (_, job.cpus, job.mem_gb) = place, wants
                job.slots = [slot for slots in free.values() for slot in slots]
            elif job not in were:
                refused.add(asked)

    @staticmethod
    def _order(job: Runner) -> tuple[float, int]:
        return job.spec.submit_s, job.nth

    def _give_way(self, world: Servers, job: Runner, ran: Sequence[Runner]) -> list[Runner]:
        missing, found = job.gpus - world.all_free(), []
        for other in sorted(ran, key=self._order, reverse=True):
            if missing > 0 and other.running and self._order(other) > self._order(job):
                found.append(other)
                missing -= other.gpus
        return found if missing <= 0 else []

    @staticmethod
    def _free_slots(world: Servers, m: int) -> list[tuple[int, int]]:
        held = {slot for job in world.running for slot in job.slots}
        return [(m, gpu) for gpu in range(world.machines[m].gpus) if (m, gpu) not in held]

    def _still_free(
        self,
        world: Servers,
        place: Place,
        slots: list[tuple[int, int]],
        cpus: float,
        mem_gb: float,
    ) -> bool:
        return all(
            {slot for slot in slots if slot[0] == m} <= set(self._free_slots(world, m))
            and world.cpus(m) + 1e-6 >= count * cpus
            and world.mem_gb(m) + 1e-6 >= count * mem_gb
            for m, count in place.items()
        )

    def speed(self, world: Servers, job: Runner) -> float:
        return by_profile(job)


@dataclass
class Opportunistic(Policy):
    """AntMan, section 4: whole gangs first come, first served; who has waited long is a guest."""

    patience_s: float
    below: float = 0.8
    looks_at: int = 256

    def serve(self, world: Servers) -> None:
        waiting = sorted(world.waiting, key=lambda job: (job.spec.submit_s, job.nth))
        for job in waiting:
            place = world.best_fit(job.gpus)
            if place is None or len(place) > self._fewest(world, job.gpus):
                break
            job.place, job.guest = place, False
            job.slots = [(m, i) for m, n in place.items() for i in self._idle(world, m, job)[:n]]
        for job in waiting[: self.looks_at]:
            if not job.running and job.queued_s + self.patience_s <= world.now_s + 1e-6:
                self._invite(world, job)

    @staticmethod
    def _fewest(world: Servers, gpus: int) -> int:
        sizes = sorted((m.gpus for m in world.machines), reverse=True)
        return next(n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) >= gpus)

    @staticmethod
    def _holder(world: Servers, slot: tuple[int, int]) -> Runner | None:
        holders = [j for j in world.running if not j.guest and slot in j.slots]
        return holders[0] if holders else None

    def _idle(self, world: Servers, m: int, starting: Runner) -> list[int]:
        taken = {
            slot
            for job in world.running
            if job is not starting and not job.guest
            for slot in job.slots
        }
        return [i for i in range(world.machines[m].gpus) if (m, i) not in taken]

    def _invite(self, world: Servers, job: Runner) -> None:
        """Put it where GPUs are used least, on one server, or on those with most room."""
        taken = {slot for other in world.running if other.guest for slot in other.slots}
        open_at: dict[int, list[tuple[float, int]]] = {}
        for m, machine in enumerate(world.machines):
            open_at[m] = []
            for i in range(machine.gpus):
                holder = self._holder(world, (m, i))
                util, mem = _use(holder) if holder else (0.0, 0.0)
                if (m, i) not in taken and util < self.below and mem + _use(job)[1] <= 1:
                    open_at[m].append((util, i))
            open_at[m].sort()
        if job.gpus <= max(machine.gpus for machine in world.machines):
            fitting = [m for m in open_at if len(open_at[m]) >= job.gpus]
            cost = {m: sum(util for util, _ in open_at[m][: job.gpus]) for m in fitting}
            servers = [min(fitting, key=lambda m: (round(cost[m], 9), m))] if fitting else []
        else:
            most = sorted(open_at, key=lambda m: (-len(open_at[m]), m))
            servers = most[: self._fewest(world, job.gpus)]
        slots = [(m, i) for m in servers for _, i in open_at[m]][: job.gpus]
        if len(slots) == job.gpus:
            job.slots, job.guest = slots, True
            job.place = {m: sum(at == m for at, _ in slots) for m, _ in slots}

    def speed(self, world: Servers, job: Runner) -> float:
        speed = 1.0
        for slot in job.slots if job.guest else ():
            if holder := self._holder(world, slot):
                (util, mem), (own, own_mem) = _use(holder), _use(job)
                if mem + own_mem > 1:
                    return 0.0
                speed = min(speed, max(0.0, 1 - util) / own)
        return speed

    def next_s(self, world: Servers) -> float:
        due_s = [job.queued_s + self.patience_s for job in world.waiting]
        return min((at_s for at_s in due_s if at_s > world.now_s), default=inf)


def _use(job: Runner) -> tuple[float, float]:
    return job.spec.util_frac or 0.0, job.spec.gpu_mem_frac or 0.0
