"""Slow reference of the study's scheduler, from its sections 2.3 and 3.1, in lists."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, inf

from tests.simulator.reference import Policy, RefJob, Slot, World, fewest

EPS_S = 1e-6

Slots = list[Slot]

Refused = tuple[RefJob, list[RefJob]]
"""The refused job of a group, and those behind it."""


@dataclass
class Quotas(Policy):
    """Quotas per virtual cluster; gangs hold, back off and relax; quotas restored by force."""

    hold_s: float
    backoff_s: float
    relax: Sequence[float]
    quotas: dict[str, int]
    above: float = 0.9
    parts: dict[RefJob, Slots] = field(default_factory=dict)
    world: World = field(default_factory=lambda: World([]))
    again_s: float = inf
    ran: set[RefJob] = field(default_factory=set)
    """Jobs that ran after the last decision."""

    def serve(self, world: World) -> None:
        self.world, self.again_s = world, inf
        ran = world.running
        waiting = world.waiting
        before, self.parts = self.parts, {j: s for j, s in self.parts.items() if j in waiting}
        late = [job for job in self.parts if not self._in_time(job)]
        for job in late:
            del self.parts[job]
        if late or not self.ran <= set(ran):  # GPUs are free anew
            for job in list(self.parts):  # all are tried anew, in the order in which they hold
                del self.parts[job]
                self._start(job) or self._hold(job)
        refused, restored = self._offer(waiting), False
        while any(self._restore(head, ran) for head, _ in refused):
            refused, restored = self._offer(waiting), True
        entitled = [(head, behind) for head, behind in refused if self._within(head)]
        for head, behind in entitled:
            able = [job for job in (head, *behind) if job.gpus == 1 or self._in_time(job)]
            if able and able[0].gpus > 1 and able[0] not in self.parts:
                self._hold(able[0])
        same = {j: s for j, s in before.items() if self.parts.get(j) == s}
        self.parts = same | {j: s for j, s in self.parts.items() if j not in same}
        self.ran = set(world.running)
        over = self._excess()
        started = {j.spec.vc for j in world.running if j not in ran}
        if restored or (entitled and started & set(over)):
            self.again_s = world.now_s + 1e-3

    def next_s(self, world: World) -> float:
        moments_s, cycle_s = [self.again_s], self.hold_s + self.backoff_s
        for job in world.waiting:
            release_s = self._asked(job)[1]
            moments_s += [release_s, release_s + self.backoff_s, release_s + cycle_s]
        return min((at_s for at_s in moments_s if at_s > world.now_s + 1e-5), default=inf)

    # --- of one job

    def _asked(self, job: RefJob) -> tuple[int, float]:
        """How often it has asked before, and when it lets go this time."""
        cycle_s = self.hold_s + self.backoff_s
        cycle = floor((self.world.now_s - job.queued_s + EPS_S) / cycle_s)
        return cycle, job.queued_s + cycle * cycle_s + self.hold_s

    def _asks(self, job: RefJob) -> bool:
        return job.gpus == 1 or self.world.now_s <= self._asked(job)[1] + EPS_S

    def _in_time(self, job: RefJob) -> bool:
        return self.world.now_s < self._asked(job)[1] - EPS_S

    def _step(self, job: RefJob) -> int:
        cycle, release_s = self._asked(job)
        relaxed = cycle + (self.world.now_s >= release_s - EPS_S)
        return 0 if job.gpus == 1 else min(relaxed, len(self.relax))

    def _most_servers(self, job: RefJob) -> int:
        """How many servers it accepts at its step; as many as it has GPUs at the last."""
        if job.gpus == 1 or self._step(job) == len(self.relax):
            return job.gpus
        return ceil(self.relax[self._step(job)] * fewest(self.world, job.gpus))

    def _racks(self, job: RefJob) -> list[list[int]]:
        """Where it may be placed: in each rack; anywhere, if it is one GPU or wholly relaxed."""
        everywhere = list(range(len(self.world.machines)))
        if job.gpus == 1 or self._step(job) == len(self.relax):
            return [everywhere]
        racks: dict[str | None, list[int]] = {}
        for m in everywhere:
            racks.setdefault(self.world.machines[m].rack, []).append(m)
        return list(racks.values())

    # --- GPUs

    def _free(self) -> dict[int, list[int]]:
        taken = {slot for job in self.world.running for slot in job.slots}
        taken |= {slot for slots in self.parts.values() for slot in slots}
        return {
            m: [i for i in range(machine.gpus) if (m, i) not in taken]
            for m, machine in enumerate(self.world.machines)
        }

    def _all_free(self) -> int:
        return sum(map(len, self._free().values()))

    def _used(self, vc: str) -> int:
        return sum(job.gpus for job in self.world.running if job.spec.vc == vc)

    def _within(self, job: RefJob) -> bool:
        return self._used(job.spec.vc) + job.gpus <= self.quotas[job.spec.vc]

    def _excess(self) -> dict[str, int]:
        over = {vc: self._used(vc) - quota for vc, quota in self.quotas.items()}
        return {vc: gpus for vc, gpus in over.items() if gpus > 0}

    def _found(self, job: RefJob) -> Slots | None:
        """Fewest servers, the fullest that will do; of racks the emptiest with the fewest."""
        free, places = self._free(), []
        for rack in self._racks(job):
            servers = {m: free[m] for m in rack}
            counts: dict[int, int] = {}
            if one := [(len(gpus), m) for m, gpus in servers.items() if len(gpus) >= job.gpus]:
                counts = {min(one)[1]: job.gpus}
            else:
                for m in sorted(servers, key=lambda m: (-len(free[m]), m)):
                    missing = job.gpus - sum(counts.values())
                    if 0 < missing <= len(free[m]):
                        others = [(len(free[i]), i) for i in rack if i not in counts]
                        counts[min(r for r in others if r[0] >= missing)[1]] = missing
                    elif missing:
                        counts[m] = len(free[m])
            if sum(counts.values()) == job.gpus and len(counts) <= self._most_servers(job):
                room = sum(map(len, servers.values()))
                slots = sorted((m, i) for m, n in counts.items() for i in free[m][:n])
                places.append((len(counts), -room, slots))
        if self._most_servers(job) == 1:  # one server: racks do not matter, the fullest does
            places.sort(key=lambda f: (len(free[f[2][0][0]]), f[2][0][0]))
            return places[0][2] if places else None
        return min(places, key=lambda f: f[:2])[2] if places else None

    def _start(self, job: RefJob) -> bool:
        if slots := self._found(job):
            self._put(job, slots)
        return job.running

    @staticmethod
    def _put(job: RefJob, slots: Slots) -> None:
        job.slots = slots
        job.place = {m: sum(at == m for at, _ in slots) for m, _ in slots}

    def _hold(self, job: RefJob) -> bool:
        """Take what there is towards its gang, from the emptiest servers of one rack."""
        free, best = self._free(), Slots()
        for rack in self._racks(job):
            emptiest = sorted((m for m in rack if free[m]), key=lambda m: (-len(free[m]), m))
            slots = [(m, i) for m in emptiest[: self._most_servers(job)] for i in free[m]]
            if len(slots[: job.gpus]) > len(best):
                best = slots[: job.gpus]
        if best:
            self.parts[job] = sorted(best)
        return bool(best)

    # --- decisions

    def _offer(self, waiting: Sequence[RefJob]) -> list[Refused]:
        """Start who fits, of the virtual cluster that uses least of its quota first."""
        lines: dict[tuple[str, int, int], list[RefJob]] = {}
        for job in sorted(waiting, key=lambda job: (job.queued_s, job.nth)):
            if not job.running and self._asks(job):
                lines.setdefault((job.spec.vc, job.gpus, self._step(job)), []).append(job)
        refused: list[Refused] = []
        no_room: set[tuple[int, int]] = set()
        while lines:
            group = min(
                lines,
                key=lambda g: (
                    self._used(g[0]) / max(self.quotas[g[0]], 1),
                    lines[g][0].queued_s,
                    lines[g][0].nth,
                ),
            )
            job, *behind = lines.pop(group)
            if job in self.parts or group[1:] in no_room or not self._start(job):
                no_room.add(group[1:])
                refused.append((job, behind))
            elif behind:
                lines[group] = behind
        return refused

    def _restore(self, job: RefJob, ran: Sequence[RefJob]) -> bool:
        """Stop the youngest above quota, those that leave theirs with its quota first."""
        excess = self._excess()
        used = sum(map(self._used, self.quotas))
        held = len(self.parts.get(job, ()))
        if (
            self.world.now_s - job.queued_s + EPS_S < self.hold_s
            or not excess
            or used <= self.above * sum(m.gpus for m in self.world.machines)
            or not self._within(job)
            or self._all_free() + held + sum(map(self._used, excess)) < job.gpus
        ):
            return False
        part, stopped = self.parts.pop(job, None), []
        youngest = sorted(ran, key=lambda j: (j.started_s, j.nth), reverse=True)
        for larger in (False, True):
            for victim in youngest:
                surplus = excess.get(victim.spec.vc, 0)
                if job.running or not victim.running or surplus <= 0:
                    continue
                if larger or victim.gpus <= surplus:
                    stopped.append((victim, victim.slots))
                    victim.place, victim.slots = {}, []
                    excess[victim.spec.vc] -= victim.gpus
                    if job.gpus <= self._all_free():
                        self._start(job)
        if part is not None and not job.running:
            self.parts[job] = part
        for victim, slots in stopped:  # whose GPUs were not needed goes on
            free = self._free()
            if all(i in free[m] for m, i in slots):
                self._put(victim, slots)
        return job.running
