"""Why jobs wait: the engine's own account, second by second."""

from collections.abc import Mapping

import polars as pl

from philly_analysis.simulator.cluster.cluster import Cluster, Grant
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE, Parted
from philly_analysis.simulator.engine.row_buffer import Columns
from philly_analysis.simulator.jobs.job import Job

CAUSES = ("fair_share", "fragmentation", "other")
"""What a job may wait for: its virtual cluster is over quota with it; within quota, the fewest
servers that could hold it have no room; or neither, and the policy has its reasons: others are
before it, it backs off, or GPUs are held idle for others."""

UNLIMITED = 1 << 60
"""Quota of a virtual cluster that has none."""


class _Clock:
    """What all jobs of one virtual cluster and gang size wait for, and for how long so far."""

    __slots__ = ("cause", "parts_s", "since_s", "waiters")

    def __init__(self) -> None:
        self.parts_s = [0.0] * len(CAUSES)
        self.cause, self.since_s, self.waiters = -1, 0.0, 0

    def read(self, now_s: float) -> tuple[float, ...]:
        """Return the seconds by cause."""
        if self.cause >= 0:
            self.parts_s[self.cause] += now_s - self.since_s
            self.since_s = now_s
        return tuple(self.parts_s)


class Causes:
    """Clocks of what the jobs that wait are waiting for.

    All jobs of one gang size, or share, and virtual cluster wait for the same thing at the same
    time, so a clock per such pair is enough, and a wait is the difference of two readings. A clock
    is set only when its virtual cluster's use, or whether there is room for its gang, changes.
    """

    def __init__(self, quotas: Mapping[str, int], cluster: Cluster) -> None:
        self._quotas = quotas
        self._cluster = cluster
        self._free = [m.gpus for m in cluster.machines]
        self._having = [self._free.count(free) for free in range(cluster.biggest + 1)]
        self._most = cluster.biggest
        self._used: dict[str, int] = {}
        self._clocks: dict[str, dict[int, _Clock]] = {}
        self._ticking: dict[str, dict[int, _Clock]] = {}
        self._parted = Parted()
        self._needs: dict[int, tuple[int, int]] = {}
        self._room: dict[int, bool] = {}
        self._sizes: dict[int, int] = {}
        self._now_s = 0.0
        self._changed_vcs: set[str] = set()
        self._open: dict[Job, tuple[float, tuple[float, ...]]] = {}
        self._rows = Columns(
            job_id="i",
            attempt="i",
            since_s="d",
            until_s="d",
            fair_share_s="d",
            fragmentation_s="d",
            other_s="d",
            cause="i",
        )

    def use(self, vc: str, grant: Grant, sign: int, now_s: float) -> None:
        """Note that a virtual cluster holds a grant from now on, or (sign -1) no longer."""
        self._go_to(now_s)
        self._used[vc] = self._used.get(vc, 0) + sign * grant.size
        self._changed_vcs.add(vc)
        if grant.part < WHOLE and not self._parted.add(grant.shares[0], -sign * grant.part):
            return
        alone = self._cluster.dedicated and grant.gpus > 1
        for machine, gpus in grant.shares:
            if alone:  # all of the server that is in use goes with its gang
                there = self._cluster.in_use(machine) if sign < 0 else 0
                self._give(machine, there - self._free[machine])
            else:
                self._give(machine, -sign * gpus.bit_count())

    def out(self, machine: int, gpus: int, now_s: float) -> None:
        """Note that so many GPUs of a machine go out of use, or (below zero) come back."""
        self._go_to(now_s)
        self._changed_vcs.update(self._clocks)
        if not self._cluster.alone >> machine & 1:
            self._give(machine, -gpus)

    def _give(self, machine: int, gpus: int) -> None:
        before = self._free[machine]
        self._free[machine] = free = before + gpus
        self._having[before] -= 1
        self._having[free] += 1
        if free > self._most:
            self._most = free

    def open(self, job: Job, now_s: float) -> None:
        """Note that a job begins to wait."""
        self._go_to(now_s)
        own, asked = self._clocks.setdefault(job.vc, {}), job.size
        clock = own.get(asked)
        if clock is None:
            clock = own[asked] = _Clock()
        clock.waiters += 1
        self._ticking.setdefault(job.vc, {})[asked] = clock
        if asked not in self._room:
            self._room[asked] = self._has_room(asked, self._most_free())
        self._sizes[asked] = self._sizes.get(asked, 0) + 1
        self._changed_vcs.add(job.vc)
        self._open[job] = now_s, clock.read(now_s)

    def close(self, job: Job, now_s: float) -> None:
        """Note that a job starts, which ends its wait if it waited; before its GPUs count."""
        if job not in self._open:
            return
        self._go_to(now_s)
        since_s, before = self._open.pop(job)
        asked = job.size
        clock = self._clocks[job.vc][asked]
        parts = [a - b for a, b in zip(clock.read(now_s), before, strict=True)]
        self._sizes[asked] -= 1
        if not self._sizes[asked]:
            del self._sizes[asked], self._room[asked]
        clock.waiters -= 1
        if not clock.waiters:
            clock.cause = -1
            del self._ticking[job.vc][asked]
        if now_s > since_s:
            fair_share_s, fragmentation_s, other_s = parts
            if other_s > (now_s - since_s) / 2:
                cause = 2
            else:
                cause = 0 if fair_share_s >= fragmentation_s else 1
            self._rows.add(job.index, job.started + 1, since_s, now_s, *parts, cause)

    def frame(self, ids: pl.Series) -> pl.DataFrame:
        """Return one row per wait longer than nothing.

        Columns: job_id, attempt (that it led to), since_s, until_s, seconds by cause (see
        :data:`CAUSES`; they add up to the wait), and cause: ``other`` if it takes more than
        half of the wait, else the longer of the two.

        Parameters
        ----------
        ids
            Identifiers of the jobs, in the order of submission.
        """
        numbers = ("attempt", "since_s", "until_s", *(f"{cause}_s" for cause in CAUSES))
        return pl.DataFrame(
            [
                self._rows.words("job_id", ids),
                *map(self._rows.series, numbers),
                self._rows.words("cause", CAUSES),
            ]
        )

    def _go_to(self, now_s: float) -> None:
        """Set the clocks by what had changed when time went on from the moment before."""
        if now_s > self._now_s and self._changed_vcs:
            if self._room:
                self._turn()
            self._changed_vcs.clear()
        self._now_s = now_s

    def _turn(self) -> None:
        """Set the clocks of those who wait by what has changed."""
        most, now_s = self._most_free(), self._now_s
        turned = [asked for asked, had in self._room.items() if self._has_room(asked, most) != had]
        for asked in turned:
            self._room[asked] = not self._room[asked]
        for vc in self._ticking if turned else self._changed_vcs & self._ticking.keys():
            clocks = self._ticking[vc]
            unused = self._quotas.get(vc, UNLIMITED) * WHOLE - self._used.get(vc, 0)
            for asked in clocks if vc in self._changed_vcs else clocks.keys() & turned:
                clock = clocks[asked]
                cause = 0 if asked > unused else 2 if self._room[asked] else 1
                if cause != clock.cause:
                    clock.read(now_s)
                    clock.cause, clock.since_s = cause, now_s

    def _most_free(self) -> int:
        """Return the free GPUs of the emptiest server."""
        having, most = self._having, self._most
        while most and not having[most]:
            most -= 1
        self._most = most
        return most

    def _has_room(self, asked: int, most: int) -> bool:
        """Whether the fewest servers that hold so many parts of GPUs could, beside what runs.

        The emptiest server has `most` GPUs free.
        """
        if asked < WHOLE and self._parted.best(asked) is not None:
            return True
        needs = self._needs.get(asked)
        if needs is None:
            gpus = -(-asked // WHOLE)
            needs = self._needs[asked] = gpus, self._cluster.fewest(gpus)
        gpus, servers = needs
        if most * servers < gpus:
            return False
        if gpus == 1 or (servers == 1 and not self._cluster.dedicated):
            return True
        room, having = 0, self._having
        if self._cluster.dedicated and gpus > 1:  # only empty servers count
            whole = [
                m.gpus
                for m, free in zip(self._cluster.machines, self._free, strict=True)
                if free == m.gpus
            ]
            having = [whole.count(free) for free in range(len(having))]
        for free in range(len(having) - 1, 0, -1):
            if having[free]:
                taken = min(servers, having[free])
                room += taken * free
                servers -= taken
                if room >= gpus or not servers:
                    return room >= gpus
        return False
