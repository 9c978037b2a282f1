"""Why jobs wait: the engine's own account, second by second."""

from collections.abc import Mapping

import polars as pl

from philly_analysis.simulator.cluster import Cluster, Grant
from philly_analysis.simulator.job import Job

CAUSES = ("fair_share", "fragmentation", "other")
"""What a job may wait for: its virtual cluster is over quota with it; within quota, the fewest
servers that could hold it have no room; or neither, and the policy has its reasons: others are
before it, it backs off, or GPUs are held idle for others."""

UNLIMITED = 1 << 60
"""Quota of a virtual cluster that has none."""

_COLUMNS = {
    "job_id": pl.String,
    "attempt": pl.Int32,
    "since_s": pl.Float64,
    "until_s": pl.Float64,
    "fair_share_s": pl.Float64,
    "fragmentation_s": pl.Float64,
    "other_s": pl.Float64,
    "cause": pl.String,
}


class Causes:
    """Clocks of what the jobs that wait are waiting for.

    All jobs of one gang size and virtual cluster wait for the same thing at the same time, so
    a clock per such pair is enough, and a wait is the difference of two readings.
    """

    def __init__(self, quotas: Mapping[str, int], cluster: Cluster) -> None:
        self._quotas = quotas
        self._cluster = cluster
        self._free = [m.gpus for m in cluster.machines]
        self._having = [self._free.count(free) for free in range(cluster.biggest + 1)]
        self._used: dict[str, int] = {}
        self._now_s = 0.0
        self._clocks: dict[tuple[str, int], list[float]] = {}
        self._waiters: dict[tuple[str, int], int] = {}
        self._open: dict[Job, tuple[float, tuple[float, ...]]] = {}
        self._rows: list[tuple[str, int, float, float, float, float, float, str]] = []

    def use(self, vc: str, grant: Grant, sign: int, now_s: float) -> None:
        """Note that a virtual cluster holds a grant from now on, or (sign -1) no longer."""
        self._advance(now_s)
        self._used[vc] = self._used.get(vc, 0) + sign * grant.gpus
        for machine, gpus in grant.shares:
            free = self._free[machine]
            self._having[free] -= 1
            free -= sign * gpus.bit_count()
            self._having[free] += 1
            self._free[machine] = free

    def open(self, job: Job, now_s: float) -> None:
        """Note that a job begins to wait."""
        self._advance(now_s)
        pair = job.vc, job.gpus
        clock = self._clocks.setdefault(pair, [0.0, 0.0, 0.0])
        self._waiters[pair] = self._waiters.get(pair, 0) + 1
        self._open[job] = now_s, tuple(clock)

    def close(self, job: Job, now_s: float) -> None:
        """Note that a job starts, which ends its wait if it waited; before its GPUs count."""
        if job not in self._open:
            return
        self._advance(now_s)
        since_s, before = self._open.pop(job)
        pair = job.vc, job.gpus
        self._waiters[pair] -= 1
        if not self._waiters[pair]:
            del self._waiters[pair]
        if now_s > since_s:
            parts = [a - b for a, b in zip(self._clocks[pair], before, strict=True)]
            fair_share_s, fragmentation_s, other_s = parts
            if other_s > (now_s - since_s) / 2:
                cause = "other"
            else:
                cause = "fair_share" if fair_share_s >= fragmentation_s else "fragmentation"
            row = (job.spec.job_id, job.started + 1, since_s, now_s)
            self._rows.append((*row, fair_share_s, fragmentation_s, other_s, cause))

    def frame(self) -> pl.DataFrame:
        """Return one row per wait longer than nothing.

        Columns: job_id, attempt (that it led to), since_s, until_s, seconds by cause (see
        :data:`CAUSES`; they add up to the wait), and cause: ``other`` if it takes more than
        half of the wait, else the longer of the two.
        """
        return pl.DataFrame(self._rows, schema=_COLUMNS, orient="row")

    def _advance(self, now_s: float) -> None:
        """Let the clocks run up to now, in the state that held till now."""
        passed_s = now_s - self._now_s
        if passed_s > 0:
            self._now_s = now_s
            room: dict[int, bool] = {}
            for vc, gpus in self._waiters:
                if self._used.get(vc, 0) + gpus > self._quotas.get(vc, UNLIMITED):
                    cause = 0
                else:
                    if gpus not in room:
                        room[gpus] = self._has_room(gpus)
                    cause = 2 if room[gpus] else 1
                self._clocks[vc, gpus][cause] += passed_s

    def _has_room(self, gpus: int) -> bool:
        """Whether the fewest servers that hold a gang could hold it beside what runs."""
        servers, room = self._cluster.fewest(gpus), 0
        for free in range(len(self._having) - 1, 0, -1):
            taken = min(servers, self._having[free])
            room += taken * free
            servers -= taken
            if room >= gpus:
                return True
            if not servers:
                return False
        return False
