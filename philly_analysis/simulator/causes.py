"""Why jobs wait: the engine's own account, second by second."""

from collections.abc import Mapping, Sequence

import polars as pl

from philly_analysis.simulator.job import Job

NO_QUOTA = 1 << 60


class Causes:
    """Clocks that tell how long a virtual cluster was too full, and the cluster too busy.

    All jobs of one gang size and virtual cluster wait for the same reason at the same time, so
    a clock per pair is enough, and a wait is the difference of two readings.
    """

    def __init__(self, jobs: Sequence[Job], quotas: Mapping[str, int], capacity: int) -> None:
        self._quotas = quotas
        sizes: dict[str, set[int]] = {}
        for job in jobs:
            sizes.setdefault(job.vc, set()).add(job.gpus)
        self._over_s = {vc: dict.fromkeys(sorted(gangs), 0.0) for vc, gangs in sizes.items()}
        self._short_s = dict.fromkeys(sorted({job.gpus for job in jobs}), 0.0)
        self._used = dict.fromkeys(sizes, 0)
        self._seen_s = dict.fromkeys(sizes, 0.0)
        self._free, self._free_seen_s = capacity, 0.0
        self._open: dict[Job, tuple[float, float, float]] = {}
        self._rows: list[tuple[str, int, float, float, float, float, bool]] = []

    def use(self, vc: str, gpus: int, now_s: float) -> None:
        """Note that a virtual cluster holds that many GPUs more (or fewer) from now on."""
        self._read_vc(vc, now_s)
        self._used[vc] += gpus
        self._read_cluster(now_s)
        self._free -= gpus

    def open(self, job: Job, now_s: float) -> None:
        """Note that a job begins to wait."""
        self._read_vc(job.vc, now_s)
        self._read_cluster(now_s)
        self._open[job] = (now_s, self._over_s[job.vc][job.gpus], self._short_s[job.gpus])

    def close(self, job: Job, now_s: float) -> None:
        """Note that a job starts, which ends its wait if it waited; before its GPUs count."""
        since_s, over_s, short_s = self._open.pop(job, (now_s, 0.0, 0.0))
        if now_s > since_s:
            self._read_vc(job.vc, now_s)
            self._read_cluster(now_s)
            self._rows.append(
                (
                    job.spec.job_id, job.started + 1, since_s, now_s,
                    self._over_s[job.vc][job.gpus] - over_s,
                    self._short_s[job.gpus] - short_s,
                    self._over(job.vc, job.gpus),
                )
            )  # fmt: skip

    def frame(self) -> pl.DataFrame:
        """Return one row per wait longer than nothing.

        Columns: job_id, attempt (that it led to), since_s, until_s, fair_share_s (seconds in
        which its virtual cluster's GPUs in use and its gang exceeded the quota), short_s (in
        which the cluster had fewer idle GPUs than its gang, whatever the quota), and
        over_quota_at_start.
        """
        columns = (
            "job_id", "attempt", "since_s", "until_s", "fair_share_s", "short_s",
            "over_quota_at_start",
        )  # fmt: skip
        types = (pl.String, pl.Int32, *[pl.Float64] * 4, pl.Boolean)
        return pl.DataFrame(self._rows, schema=dict(zip(columns, types, strict=True)), orient="row")

    def _over(self, vc: str, gpus: int) -> bool:
        return self._used[vc] + gpus > self._quotas.get(vc, NO_QUOTA)

    def _read_vc(self, vc: str, now_s: float) -> None:
        if (passed_s := now_s - self._seen_s[vc]) > 0:
            clocks, room = self._over_s[vc], self._quotas.get(vc, NO_QUOTA) - self._used[vc]
            for gpus in clocks:
                if gpus > room:
                    clocks[gpus] += passed_s
            self._seen_s[vc] = now_s

    def _read_cluster(self, now_s: float) -> None:
        if (passed_s := now_s - self._free_seen_s) > 0:
            for gpus in self._short_s:
                if gpus > self._free:
                    self._short_s[gpus] += passed_s
            self._free_seen_s = now_s
