"""Attribute waits to fair-share delay, fragmentation delay, or other causes, as they occur."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from philly_analysis.simulator.cluster.allocation import Allocation, Cluster
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.engine.active_outages import CapacityChange
from philly_analysis.simulator.engine.row_buffer import RowBuffer
from philly_analysis.simulator.jobs.job import Job

CAUSES = ("fair_share", "fragmentation", "other")
"""Causes of a wait. Fair share: the job would exceed its virtual cluster's quota. Fragmentation:
within quota, the job does not fit on the fewest servers that could hold it. Other: the job waits
behind other jobs or backs off, or GPUs are reserved for other jobs."""

UNLIMITED = 1 << 60
"""Quota of a virtual cluster without one."""


class _Clock:
    """Seconds by cause for all jobs of one virtual cluster and size, since the first waited."""

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


class _WaitRow(NamedTuple):
    """A row of :meth:`WaitClocks.frame`: the job and the cause are numbers."""

    job_id: int
    attempt: int
    since_s: float
    until_s: float
    fair_share_s: float
    fragmentation_s: float
    other_s: float
    cause: int


class WaitClocks:
    """Clocks of the causes of waits.

    All jobs of one size and virtual cluster wait for the same cause at the same time. One clock
    per size and virtual cluster is therefore enough. A wait is the difference of two readings of a
    clock. A clock is updated only if the use of its virtual cluster, or the room for its size,
    changes.

    Parameters
    ----------
    quotas, used
        GPUs to which each virtual cluster is entitled, and GPU units allocated to each. The caller
        changes `used` after each :meth:`change_use`.
    """

    def __init__(
        self, quotas: Mapping[str, int], used: Mapping[str, int], cluster: Cluster
    ) -> None:
        self._quotas, self._used = quotas, used
        # as if incomplete gangs held nothing; CPUs and memory do not matter
        gpus_only = [replace(m, cpus=None, mem_gb=None) for m in cluster.machines]
        self._cluster = Cluster(gpus_only, dedicated=cluster.dedicated)
        self._clocks: dict[str, dict[int, _Clock]] = {}
        self._ticking: dict[str, dict[int, _Clock]] = {}
        self._fits: dict[int, bool] = {}
        self._waiting: dict[int, int] = {}
        self._now_s = 0.0
        self._changed_vcs: set[str] = set()
        self._open: dict[Job, tuple[float, tuple[float, ...]]] = {}
        self._rows = RowBuffer(_WaitRow)

    def change_use(self, vc: str, allocation: Allocation, sign: int, now_s: float) -> None:
        """Record that a virtual cluster gains an allocation, or (sign -1) loses the allocation."""
        self._advance(now_s)
        self._changed_vcs.add(vc)
        if sign > 0:
            self._cluster.allocate(allocation)
        else:
            self._cluster.release(allocation)

    def change_capacity(self, change: CapacityChange, now_s: float) -> None:
        """Record that GPUs of a machine fail or return to service."""
        self._advance(now_s)
        self._changed_vcs.update(self._clocks)
        self._cluster.change_capacity(change.machine, change.gpus, failed=change.failed)

    def open(self, job: Job, now_s: float) -> None:
        """Record that a job begins to wait."""
        self._advance(now_s)
        size = job.size
        clock = self._clocks.setdefault(job.vc, {}).setdefault(size, _Clock())
        clock.waiters += 1
        self._ticking.setdefault(job.vc, {})[size] = clock
        if size not in self._fits:
            self._fits[size] = self._fits_now(size, self._most_free())
        self._waiting[size] = self._waiting.get(size, 0) + 1
        self._changed_vcs.add(job.vc)
        self._open[job] = now_s, clock.read(now_s)

    def close(self, job: Job, now_s: float) -> None:
        """Record that a job starts, before the job's GPUs are counted."""
        if job not in self._open:
            return
        self._advance(now_s)
        since_s, before = self._open.pop(job)
        size = job.size
        clock = self._clocks[job.vc][size]
        parts = [a - b for a, b in zip(clock.read(now_s), before, strict=True)]
        self._waiting[size] -= 1
        if not self._waiting[size]:
            del self._waiting[size], self._fits[size]
        clock.waiters -= 1
        if not clock.waiters:
            clock.cause = -1
            del self._ticking[job.vc][size]
        if now_s > since_s:
            fair_share_s, fragmentation_s, other_s = parts
            if other_s > (now_s - since_s) / 2:
                cause = 2
            else:
                cause = 0 if fair_share_s >= fragmentation_s else 1
            self._rows.add(
                _WaitRow(
                    job_id=job.index,
                    attempt=job.started + 1,
                    since_s=since_s,
                    until_s=now_s,
                    fair_share_s=fair_share_s,
                    fragmentation_s=fragmentation_s,
                    other_s=other_s,
                    cause=cause,
                )
            )

    def frame(self, ids: pl.Series) -> pl.DataFrame:
        """Return one row per wait longer than zero.

        Columns: job_id, attempt (that ended the wait), since_s, until_s, seconds by cause (see
        :data:`CAUSES`; the seconds add up to the wait), and cause. The cause is ``other`` if more
        than half of the wait is ``other``, else the longer of fair share and fragmentation.

        Parameters
        ----------
        ids
            Identifiers of the jobs, in the order of submission.
        """
        return self._rows.frame({"job_id": ids, "cause": CAUSES})

    def _advance(self, now_s: float) -> None:
        """Update the clocks by the changes at the previous moment, if time has advanced."""
        before_s, self._now_s = self._now_s, now_s
        if now_s <= before_s or not self._changed_vcs:
            return
        changed_vcs, self._changed_vcs = self._changed_vcs, set()
        if not self._fits:  # no job waits
            return
        most = self._most_free()
        changed = [size for size, fits in self._fits.items() if self._fits_now(size, most) != fits]
        for size in changed:
            self._fits[size] = not self._fits[size]
        for vc in self._ticking if changed else changed_vcs & self._ticking.keys():
            clocks = self._ticking[vc]
            unused = self._quotas.get(vc, UNLIMITED) * GPU_UNITS - self._used.get(vc, 0)
            for size in clocks if vc in changed_vcs else clocks.keys() & changed:
                clock = clocks[size]
                cause = 0 if size > unused else 2 if self._fits[size] else 1
                if cause != clock.cause:
                    clock.read(before_s)
                    clock.cause, clock.since_s = cause, before_s

    def _most_free(self) -> int:
        """Return the free GPUs of the emptiest server."""
        return max(
            (free for free, machines in enumerate(self._cluster.by_free) if machines), default=0
        )

    def _fits_now(self, size: int, most: int) -> bool:
        """Whether a request fits on the fewest servers; the emptiest has `most` free GPUs."""
        cluster = self._cluster
        if size < GPU_UNITS and cluster.shared.best(size) is not None:
            return True
        gpus = -(-size // GPU_UNITS)
        servers = cluster.fewest_servers(gpus)
        if most * servers < gpus:
            return False
        if gpus == 1 or (servers == 1 and not cluster.dedicated):
            return True
        usable = cluster.usable_servers(gpus)
        for free in range(most, 0, -1):
            count = min(servers, (cluster.by_free[free] & usable).bit_count())
            gpus -= count * free
            servers -= count
        return gpus <= 0
